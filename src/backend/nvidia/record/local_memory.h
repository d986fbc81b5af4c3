/* local_memory.h - how much local memory a thread of a kernel has: spilled registers, and arrays.
 *
 * CUPTI's kernel records have a member for it and leave it 0 (CUDA 13.0 on an H200); their
 * total is what the device has reserved by then, whatever this kernel needs. The driver knows it
 * of each function, and a launch shows the function: it is asked at its first launch. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_LOCAL_MEMORY_H
#define GPUFL_BACKEND_NVIDIA_RECORD_LOCAL_MEMORY_H

#include <stdint.h>

/* A launch of a function, or of a kernel of a library, whose name is symbol (mangled); NULL: not
 * known, and ignored. [hot] */
void local_memory_launch(void *launched, const char *symbol);

/* Bytes a thread of the kernel has, the most where several have that name; CELL_NULL: no launch
 * of it was seen, or the driver did not say. [any] */
int64_t local_memory_find(const char *symbol);

#endif
