/* slices.h - the time that other processes had in the middle of kernels. Owner's thread. */
#ifndef GPUFL_ANALYZE_INSIGHT_SLICES_H
#define GPUFL_ANALYZE_INSIGHT_SLICES_H

#include "analyze/insight/insight.h"

/* Adds the finding about other processes, with the idle time that they are to blame for; *found:
 * there is one. Without slices there is none. 0 or GPUFL_E_NOMEM. */
int insight_slices(const struct model *m, struct insights *to, bool *found);

#endif
