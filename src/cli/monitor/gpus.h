/* gpus.h - draws GPUs on a canvas: four lines each, or one. Functions without state. Called by one
 * thread only. */
#ifndef GPUFL_CLI_MONITOR_GPUS_H
#define GPUFL_CLI_MONITOR_GPUS_H

#include "cli/monitor/screen.h"

enum { GPU_PANEL = 4 }; /* lines of a GPU if there is room */

/* The functions draw GPU g from that row on, over all columns, in four lines or in one. past: of
 * the GPU. */
void gpu_panel(const struct seen_gpu *g, const struct past *past, struct canvas *c, int row);
void gpu_line(const struct seen_gpu *g, const struct past *past, struct canvas *c, int row);

#endif
