/* own_kernels.h - kernels that CUPTI's Range Profiler launches for itself: one after every range,
 * in a stream of its own. Their records look like the program's, under a correlation id that no
 * launch of the program had.
 *
 * So a record is the profiler's where it has such a kernel's name and the program, which may have
 * one of that name, too, launched none with this id. The program's threads report launches, the
 * collector asks about records. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_OWN_KERNELS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_OWN_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/* The program launches a kernel of this name; NULL: unknown. [hot] */
void own_kernels_launch(const char *name, uint32_t correlation);

/* A record, which is not of a graph's node, is of the profiler's kernel. [collector] */
bool own_kernels_is(const char *name, uint32_t correlation);

#endif
