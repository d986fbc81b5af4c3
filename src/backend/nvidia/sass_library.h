/* sass_library.h - the functions of CUPTI's SASS Metrics API, beside those that every trace
 * needs: a library without them (before CUDA 12.8) traces all the same. Any thread. */
#ifndef GPUFL_BACKEND_NVIDIA_SASS_LIBRARY_H
#define GPUFL_BACKEND_NVIDIA_SASS_LIBRARY_H

#include "backend/nvidia/cupti.h"
#include "backend/nvidia/sass_abi.h"

struct sass_library { /* functions by name; those that are not required may be NULL */
#define SASS_MEMBER(required, result, name, arguments) result(*name) arguments;
    CUPTI_SASS_FUNCTIONS(SASS_MEMBER)
#undef SASS_MEMBER
};

/* Fills it from the copy of CUPTI that is in use. GPUFL_E_UNAVAILABLE with what is missing. */
int sass_library_open(struct sass_library *out, const struct cupti *c, struct err *e);

#endif
