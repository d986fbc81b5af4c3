/* start.h - idle time before the GPU had anything to do to speak of. Owner's thread. */
#ifndef GPUFL_ANALYZE_INSIGHT_START_H
#define GPUFL_ANALYZE_INSIGHT_START_H

#include "analyze/insight/insight.h"

/* ns between the first work of a session without a steady part and the moment until which its only
 * GPU had done 1 % of its work; 0: none, or nobody knows. *until: that moment. */
int64_t insight_start_idle(const struct model *m, int64_t *until);

/* Makes a finding whose idle time is of that start one that a program pays once: LOW, and no
 * answer. 0 or GPUFL_E_NOMEM. */
int insight_mark_start(const struct model *m, struct insight *i);

#endif
