/* start.h - makes findings about idle time at the start, before the GPU had done 1 % of its work.
 * Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_INSIGHT_START_H
#define GPUFL_ANALYZE_INSIGHT_START_H

#include "analyze/insight/insight.h"

/* Returns the ns between the first work of a session without a steady part and the moment at which
 * its only GPU had done 1 % of its work; 0: none, or unknown. *until: that moment. */
int64_t insight_start_idle(const struct model *m, int64_t *until);

/* Marks a finding whose idle time is in that start as one that happens once in a program: its
 * severity becomes LOW, and it is no answer. 0 or GPUFL_E_NOMEM. */
int insight_mark_start(const struct model *m, struct insight *i);

#endif
