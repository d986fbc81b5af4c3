/* shortage.h - says what a CPU limit and a lack of memory cost, for rules about idle time that
 * these two may have caused. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_INSIGHT_SHORTAGE_H
#define GPUFL_ANALYZE_INSIGHT_SHORTAGE_H

#include "analyze/insight/insight.h"

/* Returns the ns of the run that the GPU was idle because a CPU limit stopped the host, at most; 0:
 * not worth a finding, or unknown. */
int64_t insight_cpu_limit_ns(const struct model *m);

/* Subtracts from a finding the idle time that the CPU limit caused, and says so in the text. ns:
 * the finding's time in gaps in which the host was late. Without a finding about a limit nothing
 * changes. */
void insight_less_cpu_limit(const struct model *m, struct insight *i, int64_t ns, struct buf *out);

/* Appends "The CPU limit of 2 cores … stopped its threads in 45 % of 400 periods, …" */
void insight_put_stopped(const struct model *m, struct buf *out);

/* Appends how many pages were read from a disk, and what went through swap. False: unknown. */
bool insight_put_paging(const struct model *m, struct buf *out);

#endif
