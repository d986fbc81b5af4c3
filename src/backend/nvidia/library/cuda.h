/* cuda.h - opens NVIDIA's driver API, as far as it can be used without initializing the driver.
 *
 * No function here calls cuInit or makes a context, which would break programs that fork
 * later. A libcuda that the program has not loaded is opened only if its version is
 * needed.
 *
 * Threads: a thread of ours calls these functions only after the program has launched, copied or
 * waited, so that cuInit has returned; a thread of the program may call them at any time. */
#ifndef GPUFL_BACKEND_NVIDIA_LIBRARY_CUDA_H
#define GPUFL_BACKEND_NVIDIA_LIBRARY_CUDA_H

#include "backend/backend.h"
#include "backend/nvidia/abi/cuda.h"

#include <stdbool.h>

struct cuda { /* functions by name; those that are not required may be NULL */
#define CUDA_MEMBER(required, result, name, arguments) result(*name) arguments;
    CUDA_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
    char path[256]; /* of the library */
};

/* Returns the driver's library if this process has loaded it, else NULL. */
const struct cuda *cuda_loaded(void);

/* Does what cuda_loaded does, but loads the library if needed, without another effect on the
 * process. */
const struct cuda *cuda_load(struct err *e);

/* Returns the calling thread's context; NULL: it has none, or another thread has destroyed the
 * context. The driver still returns a destroyed context (seen with driver 580), which must not be
 * passed to CUPTI. */
cuda_context cuda_current(void);

/* Returns true if the device of the driver's ordinal has a living primary context; false also if an
 * old driver cannot say. Makes no context. */
bool cuda_primary_lives(const struct cuda *c, int ordinal);

/* Returns true if the program works with a device: this thread has a context, or a device has its
 * primary context. */
bool cuda_in_use(void);

/* Returns the highest CUDA version of the driver, 1000 x major + 10 x minor; 0: not known. */
int cuda_version(const struct cuda *c);

/* Describes the driver's device `ordinal` (its own numbering, after CUDA_VISIBLE_DEVICES):
 * fills hardware columns of row, and name, uuid, pci, arch and vendor of text; other cells
 * stay. GPUFL_E_STATE: the driver is not initialized. */
int cuda_describe(const struct cuda *c, int ordinal, struct device_row *row,
                  struct device_text *text);

#endif
