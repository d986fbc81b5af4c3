/* rollup_rows.h - makes from a final report what its session adds to the sums of kernels, scopes
 * and lines (meta_rollup_put). Texts are in the region. */
#ifndef GPUFL_SERVER_ANALYSIS_ROLLUP_ROWS_H
#define GPUFL_SERVER_ANALYSIS_ROLLUP_ROWS_H

#include "analyze/report/report.h"
#include "base/region.h"
#include "meta/meta.h"

enum {
    ROLLUP_NAMES = 32, /* kernels, scopes and lines of a session with rows of their own */
    ROLLUP_LABEL_MAX =
        256, /* bytes of an application or host with its NUL: they are part of keys */
};

/* Makes the rows with most time of each kind, and one row without a name for the others of that
 * kind. There are no rows if the start of the session is unknown. 0 or GPUFL_E_NOMEM. */
int analysis_rollups(const struct report *r, struct region *memory, struct meta_rollup_part **out,
                     size_t *count);

#endif
