/* cuda.h - NVIDIA's driver API, as far as it can be asked without waking it.
 *
 * Nothing here calls cuInit or makes a context: that breaks programs that fork
 * afterwards and is the program's business. A libcuda that the program has not
 * loaded is opened only where its version is needed.
 *
 * Threads: a thread of ours calls these functions only after the program has launched, copied or
 * waited, so that cuInit has returned; a thread of the program's calls them at any time. */
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

/* The driver's library if this process has loaded it, else NULL. */
const struct cuda *cuda_loaded(void);

/* Like cuda_loaded, but loads the library where needed (no other effect on the process). */
const struct cuda *cuda_load(struct err *e);

/* The calling thread's context; NULL: it has none, or another thread has destroyed it, after which
 * the driver still names it (seen with driver 580), and CUPTI must not be given it. */
cuda_context cuda_current(void);

/* True where the device of the driver's ordinal has a living primary context; false also where an
 * old driver cannot say. Makes none. */
bool cuda_primary_lives(const struct cuda *c, int ordinal);

/* The program works with a device: this thread has a context, or a device its primary one. */
bool cuda_in_use(void);

/* Highest CUDA version of the driver, 1000 x major + 10 x minor; 0: not known. */
int cuda_version(const struct cuda *c);

/* Fills what the driver says of its device `ordinal` (its own numbering, after
 * CUDA_VISIBLE_DEVICES): hardware columns of row and name, uuid, pci, arch,
 * vendor of text; other cells stay. GPUFL_E_STATE before initialization. */
int cuda_describe(const struct cuda *c, int ordinal, struct device_row *row,
                  struct device_text *text);

#endif
