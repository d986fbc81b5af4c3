/* handle_number.h - gives a number in place of a handle of the driver, so that the log has no
 * address. A handle always has the same number. [any] */
#ifndef GPUFL_BACKEND_COMMON_HANDLE_NUMBER_H
#define GPUFL_BACKEND_COMMON_HANDLE_NUMBER_H

#include <stdint.h>

/* Returns the number of a handle; 0 for handle 0. */
static inline int64_t handle_number(uint64_t handle)
{
    return handle ? (int64_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 33 | 1) : 0;
}

#endif
