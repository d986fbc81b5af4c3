/* path.h - finds scopes by the text of their path, "outer|inner" (common/scope_text.h).
 *
 * While a log is read, rows hold handles of scopes (tree.h), which mean nothing in another model.
 * After sum_scopes_finish they hold a path's name, which means one scope in all models. Called by
 * the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SCOPES_PATH_H
#define GPUFL_ANALYZE_MODEL_SCOPES_PATH_H

#include <stdbool.h>
#include <stdint.h>

struct model;

/* Finds the handle of a scope's instance; *handle 0: outside all scopes. inherited: for work of a
 * thread that had no scope of its own (inherited.h). Call while a log is read. 0 or
 * GPUFL_E_NOMEM. */
int scope_path_handle(struct model *m, int64_t instance, bool inherited, uint32_t *handle);

/* Finds the name of a handle's path; *name 0: outside all scopes. Call after sum_scopes_finish. 0
 * or GPUFL_E_NOMEM. */
int scope_path_name(struct model *m, uint32_t handle, uint32_t *name);

/* Returns the node of a path's name in a finished model; 0: there is none. */
uint32_t scope_path_node(const struct model *m, uint32_t name);

#endif
