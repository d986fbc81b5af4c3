/* nvml.h - NVIDIA's management library, opened once and shared.
 *
 * nvml_get opens libnvidia-ml and initializes it for the first user; nvml_put of
 * the last one shuts it down (the library counts its users itself: the host
 * program's own use of it is not disturbed). Needs no GPU context and never loads
 * libcuda or libcupti. Any thread; the functions of the table may be called from
 * any thread between get and put. */
#ifndef GPUFL_BACKEND_NVIDIA_NVML_H
#define GPUFL_BACKEND_NVIDIA_NVML_H

#include "backend/nvidia/nvml_abi.h"
#include "base/err.h"

#include <stdbool.h>

struct nvml { /* functions by name; those that are not required may be NULL */
#define NVML_MEMBER(required, result, name, arguments) result(*name) arguments;
    NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
    char path[256]; /* of the library */
};

/* GPUFL_E_UNAVAILABLE, _PERM or _VENDOR with what to do. [any] */
int nvml_get(const struct nvml **out, struct err *e);
void nvml_put(void); /* once for every nvml_get that returned 0 [any] */

#endif
