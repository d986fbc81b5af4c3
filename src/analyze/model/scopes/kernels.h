/* kernels.h - says which kernels ran in a scope: launches and time by path and name.
 *
 * Items have the handle of a scope's node (tree.h), since nodes are merged while the log is read:
 * two scopes become one, and items that have become equal are merged before the table grows. So the
 * table has about as many items as there are different pairs, however many scopes were opened.
 * Beyond SCOPE_PAIRS new pairs are left out: a scope's own sum then exceeds the sum of its kernels
 * here. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SCOPES_KERNELS_H
#define GPUFL_ANALYZE_MODEL_SCOPES_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sum_scopes;

enum { SCOPE_PAIRS = 1 << 20 };

struct scope_kernel {
    uint32_t handle; /* handle of the scope's node; after finish the node itself */
    uint32_t name;   /* id of model.names, mangled; 0: not known */
    uint64_t count;
    int64_t ns; /* on the GPU */
};

struct scope_kernels {
    struct scope_kernel *items; /* owned; after finish by node, longest first */
    size_t count, cap;
    uint32_t *slots;   /* owned: index in items + 1 by handle and name, 0: free; until finish */
    size_t slot_count; /* a power of two, or 0 */
    size_t last;       /* index of the pair that was last added to */
    bool full;         /* no new pairs are taken */
};

/* Adds launches of a kernel in a scope. 0 or GPUFL_E_NOMEM. */
int scope_kernels_add(struct sum_scopes *s, const struct scope_kernel *more);

/* Sorts the pairs, and sets in every node where its own begin. 0 or GPUFL_E_NOMEM. */
int scope_kernels_finish(struct sum_scopes *s);

void scope_kernels_fini(struct scope_kernels *k);

#endif
