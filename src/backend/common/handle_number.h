/* handle_number.h - a number in place of a handle of the driver's. A handle has one number, and the
 * log has no address. [any] */
#ifndef GPUFL_BACKEND_COMMON_HANDLE_NUMBER_H
#define GPUFL_BACKEND_COMMON_HANDLE_NUMBER_H

#include <stdint.h>

/* 0 for a handle that is 0. */
static inline int64_t handle_number(uint64_t handle)
{
    return handle ? (int64_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 33 | 1) : 0;
}

#endif
