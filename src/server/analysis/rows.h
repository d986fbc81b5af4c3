/* rows.h - turns a report into rows of tables: findings, history, use by day. Texts are in the
 * region. */
#ifndef GPUFL_SERVER_ANALYSIS_ROWS_H
#define GPUFL_SERVER_ANALYSIS_ROWS_H

#include "analyze/report/report.h"
#include "base/region.h"
#include "meta/meta.h"
#include "store/store.h"

/* Makes the rows of the findings in order. 0 or GPUFL_E_NOMEM. */
int analysis_findings(const struct report *r, const char *session, struct region *memory,
                      struct meta_finding **out, size_t *count);

/* Makes rows of the question kernel_history: one for each kernel, launch shape and device, one for
 * each scope, and one for the session. 0 or GPUFL_E_NOMEM. */
int analysis_history(const struct report *r, const char *session, struct region *memory,
                     struct store_chunk *out);

/* Makes the rows of each GPU's use on each day, weighted by the session's part of the day. 0 or
 * GPUFL_E_NOMEM. */
int analysis_usage(const struct report *r, struct region *memory, struct meta_usage **out,
                   size_t *count);

/* Returns the part of the session's time in which a GPU worked; NAN: unknown. */
double analysis_busy(const struct report *r);

/* Returns the number of the session's kernels; META_NONE: unknown. */
int64_t analysis_kernels(const struct report *r);

#endif
