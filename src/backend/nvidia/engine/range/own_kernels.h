/* own_kernels.h - recognizes kernels that CUPTI's Range Profiler launches itself: one after every
 * range, in its own stream. Their records look like the program's, with a correlation id that no
 * launch of the program had.
 *
 * A record belongs to the profiler if the record has the name of such a kernel and the program
 * launched no kernel with the record's id. The program may have a kernel of that name, too. The
 * program's threads report launches; the collector asks about records. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_OWN_KERNELS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_OWN_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/* Reports that the program launches a kernel of this name; NULL: unknown. [hot] */
void own_kernels_launch(const char *name, uint32_t correlation);

/* Returns true if a record, which is not of a graph's node, is that of a profiler's kernel.
 * [collector] */
bool own_kernels_is(const char *name, uint32_t correlation);

#endif
