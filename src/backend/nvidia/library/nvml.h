/* nvml.h - opens NVIDIA's management library once, and shares it.
 *
 * nvml_get opens libnvidia-ml and initializes it for the first user; nvml_put of
 * the last user shuts it down. The library counts its users itself, so the program's own
 * use is not disturbed. No GPU context is needed, and libcuda and libcupti are never
 * loaded. The functions of the table may be called from any thread between get and put.
 *
 * The first nvml_get of a process must not run while another thread is inside cuInit. Measured on
 * H100s (driver 580.159.04) in programs that are linked with CUPTI: nvmlInit on another thread
 * takes a recursive mutex of libcuda and never releases it, and cuInit waits for the mutex for
 * ever. This also happens after cuDeviceGetCount works, because cuInit then still runs CUPTI's part
 * (23 of 24 runs). nvmlInit is safe on the thread that is inside cuInit, on which the driver calls
 * InitializeInjection (10 of 10 runs), and on any thread seconds later. It takes 7 to 10 ms there.
 * A session therefore opens NVML on the thread that begins the session, before the session starts
 * threads of its own. */
#ifndef GPUFL_BACKEND_NVIDIA_LIBRARY_NVML_H
#define GPUFL_BACKEND_NVIDIA_LIBRARY_NVML_H

#include "backend/nvidia/abi/nvml.h"
#include "base/err.h"

#include <stdbool.h>

struct nvml { /* functions by name; those that are not required may be NULL */
#define NVML_MEMBER(required, result, name, arguments) result(*name) arguments;
    NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
    char path[256]; /* of the library */
};

/* Opens the library for one more user, or returns GPUFL_E_UNAVAILABLE, _PERM or _VENDOR with what
 * to do. [owner: see above; any, after cuInit] */
int nvml_get(const struct nvml **out, struct err *e);
void nvml_put(void); /* once for every nvml_get that returned 0 [any] */

#endif
