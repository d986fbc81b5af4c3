/* pc_library.h - the functions of CUPTI's PC Sampling API, beside those that every trace
 * needs: a library without them (before CUDA 11.3) traces all the same. Any thread. */
#ifndef GPUFL_BACKEND_NVIDIA_PC_LIBRARY_H
#define GPUFL_BACKEND_NVIDIA_PC_LIBRARY_H

#include "backend/nvidia/cupti.h"
#include "backend/nvidia/pc_abi.h"

struct pc_library { /* functions by name; those that are not required may be NULL */
#define PC_MEMBER(required, result, name, arguments) result(*name) arguments;
    CUPTI_PC_FUNCTIONS(PC_MEMBER)
#undef PC_MEMBER
};

/* Fills it from the copy of CUPTI that is in use. GPUFL_E_UNAVAILABLE with what is missing. */
int pc_library_open(struct pc_library *out, const struct cupti *c, struct err *e);

#endif
