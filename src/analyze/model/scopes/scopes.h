/* scopes.h - keeps the tree of scopes by name, with wall, GPU and waiting time.
 *
 * Every instance of a scope is added to the node of its path, so that memory grows with the number
 * of different paths; an instance takes only 4 bytes, which lead to its node. A child's row comes
 * before its parent's, since rows are written when a scope ends. Until the parent's row comes, the
 * child is under a node without a name, which is then merged into the tree. Rows of kernels, copies
 * and waits may come before or after those of scopes; those of launch configurations come before
 * the kernels that refer to them. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SCOPES_SCOPES_H
#define GPUFL_ANALYZE_MODEL_SCOPES_SCOPES_H

#include "analyze/common/histogram.h"
#include "analyze/model/scopes/kernels.h"
#include "base/keyed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_SCOPES_TAKES                                                                           \
    (MODEL_TAKES(scope) | MODEL_TAKES(scope_open) | MODEL_TAKES(kernel) | MODEL_TAKES(memcpy) |    \
     MODEL_TAKES(memset) | MODEL_TAKES(sync) | MODEL_TAKES(graph_run))

/* Holds the sums of a path. Times in ns. */
struct scope_sum {
    uint64_t calls;                   /* calls that ended */
    uint64_t open;                    /* calls that did not end */
    int64_t wall, wall_min, wall_max; /* of calls that ended; min and max where calls > 0 */
    uint64_t kernels;
    uint64_t inherited; /* kernels launched by a thread without a scope of its own */
    int64_t gpu;        /* of kernels */
    int64_t copy;       /* of copies and fills */
    uint64_t waits;
    int64_t wait;        /* synchronizations that block the host */
    int64_t repeat;      /* iterations of benchmark loops */
    int64_t repeat_wall; /* of calls that had iterations */
    uint32_t tag;        /* id of model.names; 0: none */
    uint32_t tags;       /* 0, 1, or 2: several different */
};

struct scope_node {
    uint32_t parent, child, next; /* nodes; 0: none. Node 0 is the root */
    uint32_t name;                /* id of model.names; SCOPE_PENDING: not known yet */
    uint32_t handle;              /* its own handle */
    uint32_t depth;               /* 0: outermost; after finish */
    struct scope_sum self;        /* of this path alone */
    struct histogram walls;       /* ns of calls that ended */
    struct scope_sum all;  /* gpu, copy, wait and counts of the whole subtree; after finish */
    uint32_t first_kernel; /* index of its first item in by_kernel.items; after finish */
    uint32_t kernel_names; /* number of its items there */
};

/* Counts the number of rows of a kind, and of rows whose scope is in the log. */
struct scope_join {
    uint64_t rows, known;
};

enum scope_activity {
    SCOPE_KERNELS,
    SCOPE_GRAPHS, /* whole launches */
    SCOPE_COPIES,
    SCOPE_FILLS,
    SCOPE_WAITS,
    SCOPE_ACTIVITIES
};

struct sum_scopes {
    struct scope_node *nodes; /* owned; [0] is the root: what no scope covers */
    size_t node_count, node_cap;
    uint32_t free_node; /* list of free nodes by next */
    size_t live;        /* nodes in use */
    uint32_t *handles;  /* owned: handle to node, or to another handle with SCOPE_FORWARD set */
    size_t handle_count, handle_cap;
    uint32_t *instances; /* owned: instance to handle and flags, 0: not seen; until finish */
    size_t instance_count, instance_cap;
    uint32_t *slots; /* owned: named nodes by parent and name, 0: free */
    size_t slot_count, slot_used;
    uint32_t *stack; /* owned: for walks of the tree, since scopes may nest to any depth */
    size_t stack_cap;
    struct keyed waiting; /* see inherited.h; until finish */
    uint32_t last_tag;    /* id of model.names, of the scope that was asked for last */
    bool last_library;    /* the tag is a library's */
    struct scope_kernels by_kernel;
    uint32_t other, lost; /* names: "(other)", "(not recorded)" */
    struct scope_join joins[SCOPE_ACTIVITIES];
    uint64_t invalid; /* rows without a usable interval or instance */
    bool more_paths;  /* than SCOPE_NODES: the further ones are in "(other)" */
};

void sum_scopes_init(struct model *m);
void sum_scopes_fini(struct model *m);
int sum_scopes_batch(struct model *m, const struct wire_batch *b);
int sum_scopes_merge(struct model *into, const struct model *from, int64_t shift);
int sum_scopes_finish(struct model *m);

/* Makes the root of the tree if there is none. 0 or GPUFL_E_NOMEM. */
int sum_scopes_ensure(struct model *m);

/* Returns false if no row of that kind has its scope in the log, or where it is unknown whether
 * there were rows: the sums of scopes are then unknown, not 0. */
bool sum_scopes_known(const struct model *m, enum scope_activity a);

#endif
