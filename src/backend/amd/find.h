/* find.h - where librocprofiler-sdk is.
 *
 * In this order: GPUFL_ROCPROFILER_PATH (the library, or its folder; nothing else is looked at
 * then), ROCPROFILER_REGISTER_LIBRARY, LD_LIBRARY_PATH, ROCM_PATH/lib, where packages put it. */
#ifndef GPUFL_BACKEND_AMD_FIND_H
#define GPUFL_BACKEND_AMD_FIND_H

#include <stdbool.h>
#include <stddef.h>

/* The sentence for a machine without it. */
#define AMD_NO_SDK                                                                                 \
    "rocprofiler-sdk was not found: install it (ROCm 6.2 or later) or set GPUFL_ROCPROFILER_PATH"

/* Puts the path of the library; false: there is none here. Loads nothing. Any thread. */
bool amd_find_sdk(char *path, size_t size);

#endif
