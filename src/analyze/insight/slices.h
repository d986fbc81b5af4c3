/* slices.h - makes findings about time in which other processes used the GPU in the middle of
 * kernels. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_INSIGHT_SLICES_H
#define GPUFL_ANALYZE_INSIGHT_SLICES_H

#include "analyze/insight/insight.h"

/* Adds the finding about other processes, with the idle time that they caused; *found says whether
 * one was added. Without slices there is no finding. 0 or GPUFL_E_NOMEM. */
int insight_slices(const struct model *m, struct insights *to, bool *found);

#endif
