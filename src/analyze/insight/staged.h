/* staged.h - finds copies from pinned memory that the host fills at the same line. Called by the
 * owner's thread only. */
#ifndef GPUFL_ANALYZE_INSIGHT_STAGED_H
#define GPUFL_ANALYZE_INSIGHT_STAGED_H

#include "analyze/insight/insight.h"

/* Adds one finding for each such line. 0 or GPUFL_E_NOMEM. */
int insight_staged(const struct model *m, struct insights *to);

#endif
