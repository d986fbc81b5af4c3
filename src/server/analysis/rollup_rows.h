/* rollup_rows.h - turns a final report into what its session adds to the sums of kernels, scopes
 * and lines (meta_rollup_put). Texts lie in the region. */
#ifndef GPUFL_SERVER_ANALYSIS_ROLLUP_ROWS_H
#define GPUFL_SERVER_ANALYSIS_ROLLUP_ROWS_H

#include "analyze/report/report.h"
#include "base/region.h"
#include "meta/meta.h"

enum {
    ROLLUP_NAMES = 32, /* kernels, scopes and lines of a session that keep their names */
    ROLLUP_LABEL_MAX =
        256, /* bytes of an application or host with its NUL: they are part of keys */
};

/* The rows with most time of each kind, and one row without a name for the others of that kind. No
 * rows where the start of the session is not known. 0 or NOMEM. */
int analysis_rollups(const struct report *r, struct region *memory, struct meta_rollup_part **out,
                     size_t *count);

#endif
