/* driver.h - reads AMD's kernel driver, from files in /dev and /sys: whether it is loaded, whether
 * this user may use it, and how it describes its GPUs.
 *
 * Called by any thread; nothing is kept. */
#ifndef GPUFL_BACKEND_AMD_LIBRARY_DRIVER_H
#define GPUFL_BACKEND_AMD_LIBRARY_DRIVER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names the folder before /dev and /sys; "" except in tests, which set it before anything is
 * asked. */
extern const char *amd_root;

/* Returns true if the kernel driver is loaded. The libraries are opened only then, because without
 * the driver ROCm SMI prints to the terminal. */
bool amd_driver_loaded(void);

/* Returns 0, or why this user cannot compute on the GPUs, with what to do: /dev/kfd is missing
 * (GPUFL_E_UNAVAILABLE), or may not be opened (GPUFL_E_PERM). Metrics need neither. */
int amd_driver_may_compute(struct err *e);

/* Writes the version of the driver: its own, or that of the kernel after "Linux ". */
void amd_driver_version(char *text, size_t size);

struct amd_node {   /* of the kernel's topology; unknown numbers are 0 */
    int64_t units;  /* compute units */
    int64_t target; /* 90402 is gfx942, 100300 gfx1030 */
    int64_t mhz;    /* greatest clock */
};

/* Finds the GPU at a place on the bus (domain, bus << 8 | device << 3 | function). If the GPU has
 * parts, the first part. False: the kernel does not describe it. */
bool amd_driver_node(uint32_t domain, uint32_t location, struct amd_node *out);

/* Returns true if the kernel shows a GPU that programs can compute on. */
bool amd_driver_has_gpu(void);

/* Writes the name of a target, such as "gfx942"; "" if it is unknown. */
void amd_target_name(int64_t target, char *text, size_t size);

#endif
