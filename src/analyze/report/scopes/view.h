/* view.h - chooses the scopes worth showing, in the order of a tree.
 *
 * These are the `top` scopes with the longest wall or GPU time, whichever is longer, and the scopes
 * around them. Among siblings the longest comes first. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_REPORT_SCOPES_VIEW_H
#define GPUFL_ANALYZE_REPORT_SCOPES_VIEW_H

#include "analyze/model/scopes/scopes.h"

struct model;

struct scope_view {
    uint32_t *nodes;   /* owned */
    uint32_t *numbers; /* owned; by node: its index in nodes + 1; 0: not shown, or not a scope */
    size_t count;
    size_t all; /* number of all scopes */
};

/* Opens a view. top: 0 for all. After sum_scopes_finish. 0 or GPUFL_E_NOMEM. */
int scope_view_open(struct scope_view *v, const struct model *m, size_t top);
void scope_view_close(struct scope_view *v);

#endif
