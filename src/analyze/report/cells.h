/* cells.h - cells that the tables of samples and of counted instructions share, "-" where
 * nothing is known. Owner's thread. */
#ifndef GPUFL_ANALYZE_REPORT_CELLS_H
#define GPUFL_ANALYZE_REPORT_CELLS_H

#include "analyze/common/grid.h"
#include "analyze/report/page.h"

/* A stall reason's name. */
const char *report_cells_reason(const struct model *m, uint32_t reason);

/* 0 is nothing. */
void report_cells_put_count(struct grid *g, int64_t n);

/* parts of wholes in percent, where both metrics are known. v: NULL, none is. */
void report_cells_put_share(struct grid *g, const struct sass_values *v, enum sass_metric part,
                            double parts, enum sass_metric whole, double wholes);

/* Active threads of a warp; sectors of global memory that were needed; wavefronts of shared
 * memory for each one that would do. */
void report_cells_put_threads(struct grid *g, const struct sass_values *v, int64_t warp);
void report_cells_put_sectors(struct grid *g, const struct sass_values *v);
void report_cells_put_waves(struct grid *g, const struct sass_values *v);

#endif
