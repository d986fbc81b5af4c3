/* find.h - finds librocprofiler-sdk.
 *
 * Places are tried in this order: GPUFL_ROCPROFILER_PATH (the library or its folder; if it is set,
 * no other place is tried), ROCPROFILER_REGISTER_LIBRARY, LD_LIBRARY_PATH, ROCM_PATH/lib, and where
 * packages install it. */
#ifndef GPUFL_BACKEND_AMD_FIND_H
#define GPUFL_BACKEND_AMD_FIND_H

#include <stdbool.h>
#include <stddef.h>

/* This is the sentence for a machine without the library. */
#define AMD_NO_SDK                                                                                 \
    "rocprofiler-sdk was not found: install it (ROCm 6.2 or later) or set GPUFL_ROCPROFILER_PATH"

/* Writes the path of the library to path; false: it was not found. Loads nothing. Called by any
 * thread. */
bool amd_find_sdk(char *path, size_t size);

#endif
