/* tree.h - keeps the tree of scopes.h: nodes, handles, instances.
 *
 * Nodes are merged when parents become known; handles stay valid, because a merged node's handle
 * refers to the other's. All functions may move the arrays: keep indexes, not pointers. Called by
 * the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SCOPES_TREE_H
#define GPUFL_ANALYZE_MODEL_SCOPES_TREE_H

#include "analyze/model/scopes/scopes.h"

#include <stdbool.h>

#define SCOPE_PENDING UINT32_MAX /* name of a node whose row has not come */

enum {
    SCOPE_NODES = 200000,      /* different paths; further ones go to "(other)" */
    SCOPE_INSTANCES = 1 << 27, /* the largest instance number that is followed */
};

#define SCOPE_OPEN    (1u << 31) /* flags of instances[]: seen open, seen ended */
#define SCOPE_ENDED   (1u << 30)
#define SCOPE_LIBRARY (1u << 29) /* a library's own range */

/* Makes the root if there is none. 0 or GPUFL_E_NOMEM, like all functions below. */
int scope_tree_ensure(struct sum_scopes *s);
void scope_tree_free(struct sum_scopes *s);

/* Finds the node of an instance, or makes one without a name if its row has not come. 0, and an
 * instance beyond the ceiling, give the root. */
int scope_tree_instance(struct sum_scopes *s, int64_t instance, uint32_t *node);

/* Names the node of an instance and puts it under its parent's node. */
int scope_tree_place(struct sum_scopes *s, int64_t instance, int64_t parent, uint32_t name,
                     uint32_t *node);

/* Finds the child with that name, or makes it. */
int scope_tree_child(struct sum_scopes *s, uint32_t parent, uint32_t name, uint32_t *node);

/* Returns the node of a handle. Shortens the chain of forwarded handles. */
uint32_t scope_tree_node(struct sum_scopes *s, uint32_t handle);

/* Sets a flag of an instance that is known. */
void scope_tree_flag(struct sum_scopes *s, int64_t instance, uint32_t flag);

/* Returns the flags of an instance; 0: none. */
uint32_t scope_tree_flags(const struct sum_scopes *s, int64_t instance);

/* Makes a node without a name and without an instance, and returns its handle. */
int scope_tree_pending(struct sum_scopes *s, uint32_t *handle);

/* Merges `from`, which has no parent, into a node of the tree, and frees `from`. */
int scope_tree_merge(struct sum_scopes *s, uint32_t into, uint32_t from);

/* Makes the handle of a node that of another node: what refers to the node by its handle refers to
 * the other one from then on. */
int scope_tree_leave(struct sum_scopes *s, uint32_t node, uint32_t into);

/* Moves nodes without a name under "(not recorded)" of the root. */
int scope_tree_adopt(struct sum_scopes *s);

/* Moves *node to the next node of a walk in which parents come before children; false at the end.
 * Begin with the root. */
bool scope_tree_next(const struct sum_scopes *s, uint32_t *node);

/* Adds b to a. */
void scope_tree_add(struct scope_sum *a, const struct scope_sum *b);

#endif
