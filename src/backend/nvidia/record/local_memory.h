/* local_memory.h - how much local memory a thread of a kernel has: spilled registers, and arrays.
 *
 * CUPTI's kernel records have a member for this number, but it is always 0 (CUDA 13.0 on an H200).
 * Their total is what the device has reserved by then, whatever this kernel needs. The driver knows
 * the number for each function, so it is asked at the function's first launch. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_LOCAL_MEMORY_H
#define GPUFL_BACKEND_NVIDIA_RECORD_LOCAL_MEMORY_H

#include <stdint.h>

/* Notes a launch of a function, or of a kernel of a library, with the mangled name symbol; NULL:
 * the name is not known, and the launch is ignored. [hot] */
void local_memory_launch(void *launched, const char *symbol);

/* Returns the number of bytes of local memory of a thread of the kernel; the greatest number if
 * several kernels have this name. CELL_NULL: no launch was seen, or the driver does not know.
 * [any] */
int64_t local_memory_find(const char *symbol);

#endif
