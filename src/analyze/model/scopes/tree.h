/* tree.h - the tree of scopes.h: nodes, handles, instances.
 *
 * Nodes are merged as parents become known; handles survive that, by forwarding.
 * All functions may move the arrays: hold indexes, not pointers. Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_SCOPES_TREE_H
#define GPUFL_ANALYZE_MODEL_SCOPES_TREE_H

#include "analyze/model/scopes/scopes.h"

#include <stdbool.h>

#define SCOPE_PENDING UINT32_MAX /* name of a node whose row has not come */

enum {
    SCOPE_NODES = 200000,      /* distinct paths; further ones go to "(other)" */
    SCOPE_INSTANCES = 1 << 27, /* largest instance that is followed */
};

#define SCOPE_OPEN  (1u << 31) /* flags of instances[]: seen open, seen ended */
#define SCOPE_ENDED (1u << 30)

/* The root exists after it. 0 or GPUFL_E_NOMEM, as all below. */
int scope_tree_ensure(struct sum_scopes *s);
void scope_tree_free(struct sum_scopes *s);

/* The node that an instance belongs to, a nameless one where its row has not come.
 * The root for 0 and for instances beyond the ceiling. */
int scope_tree_instance(struct sum_scopes *s, int64_t instance, uint32_t *node);

/* Names an instance's node and puts it under its parent's. */
int scope_tree_place(struct sum_scopes *s, int64_t instance, int64_t parent, uint32_t name,
                     uint32_t *node);

/* The child of that name, made where it is missing. */
int scope_tree_child(struct sum_scopes *s, uint32_t parent, uint32_t name, uint32_t *node);

/* The node of a handle; the way is shortened for the next time. */
uint32_t scope_tree_node(struct sum_scopes *s, uint32_t handle);

/* Sets a flag of an instance that is known. */
void scope_tree_flag(struct sum_scopes *s, int64_t instance, uint32_t flag);

/* Nameless nodes go under "(not recorded)" of the root. */
int scope_tree_adopt(struct sum_scopes *s);

/* The next node of a walk in which parents come before children; false at its end.
 * *node is the root at first. */
bool scope_tree_next(const struct sum_scopes *s, uint32_t *node);

/* b into a. */
void scope_tree_add(struct scope_sum *a, const struct scope_sum *b);

#endif
