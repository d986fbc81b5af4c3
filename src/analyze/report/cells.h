/* cells.h - writes cells that the tables of samples and of SASS metrics share; "-" where a value is
 * unknown. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_REPORT_CELLS_H
#define GPUFL_ANALYZE_REPORT_CELLS_H

#include "analyze/common/grid.h"
#include "analyze/report/page.h"

/* Returns a stall reason's name. */
const char *report_cells_reason(const struct model *m, uint32_t reason);

/* Puts a count; "-" for 0. */
void report_cells_put_count(struct grid *g, int64_t n);

/* Puts parts of wholes in percent if both metrics are known. v NULL: none is known. */
void report_cells_put_share(struct grid *g, const struct sass_values *v, enum sass_metric part,
                            double parts, enum sass_metric whole, double wholes);

/* The functions put the active threads of a warp; the share of sectors of global memory that was
 * needed; and wavefronts of shared memory for each one that was needed. */
void report_cells_put_threads(struct grid *g, const struct sass_values *v, int64_t warp);
void report_cells_put_sectors(struct grid *g, const struct sass_values *v);
void report_cells_put_waves(struct grid *g, const struct sass_values *v);

#endif
