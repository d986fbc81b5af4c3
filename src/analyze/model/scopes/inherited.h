/* inherited.h - which scope gets work of a thread that had no scope of its own.
 *
 * A kernel's row names the scope of another thread then, and says so. Such a kernel stays in the
 * scope only if the program opened the scope, and if the scope ended. Otherwise the kernel goes to
 * the nearest scope around it that the program opened and of which every call ended, or outside
 * all scopes. A log has the end of a scope after the kernels, so that they wait at a node of their
 * own until the end comes, or until the log is read.
 *
 * A library's range of which no call ended holds no work at all: the library has returned, and its
 * thread went on. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SCOPES_INHERITED_H
#define GPUFL_ANALYZE_MODEL_SCOPES_INHERITED_H

#include <stdbool.h>
#include <stdint.h>

struct model;
struct sum_scopes;

/* Finds the node for kernels that inherited a scope's instance. 0 or GPUFL_E_NOMEM, like the
 * functions below. */
int scope_inherited_node(struct sum_scopes *s, int64_t instance, uint32_t *node);

/* Notes that an instance of this node ended. */
int scope_inherited_ended(struct sum_scopes *s, int64_t instance, uint32_t node);

/* Moves what waits to its scope. Call when it is known which scopes are open. */
int scope_inherited_finish(struct model *m);

/* Returns true if a tag, an id of model.names, is that of a library's ranges. */
bool scope_tag_is_library(struct model *m, uint32_t tag);

#endif
