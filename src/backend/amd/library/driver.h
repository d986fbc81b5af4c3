/* driver.h - AMD's kernel driver, as files show it: whether it is there, whether this user may use
 * it, and what it says of its GPUs.
 *
 * Any thread; nothing is kept. */
#ifndef GPUFL_BACKEND_AMD_LIBRARY_DRIVER_H
#define GPUFL_BACKEND_AMD_LIBRARY_DRIVER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Folder before /dev and /sys; "" except in tests, which set it before anything is asked. */
extern const char *amd_root;

/* The kernel driver is loaded. The libraries are opened only then: ROCm SMI prints to the terminal
 * where there is none. */
bool amd_driver_loaded(void);

/* 0, or why this user cannot compute on the GPUs, with what to do: /dev/kfd is missing
 * (GPUFL_E_UNAVAILABLE), or may not be opened (GPUFL_E_PERM). Metrics need neither. */
int amd_driver_may_compute(struct err *e);

/* Version of the driver: its own, or the kernel's, with "Linux " before. */
void amd_driver_version(char *text, size_t size);

struct amd_node {   /* of the kernel's topology; unknown numbers are 0 */
    int64_t units;  /* compute units */
    int64_t target; /* 90402 is gfx942, 100300 gfx1030 */
    int64_t mhz;    /* greatest clock */
};

/* The GPU at a place on the bus (domain, bus << 8 | device << 3 | function). If a GPU is in parts:
 * the first one. False: the kernel does not say. */
bool amd_driver_node(uint32_t domain, uint32_t location, struct amd_node *out);

/* The kernel shows a GPU that programs can compute on. */
bool amd_driver_has_gpu(void);

/* "gfx942" of a target; "" where unknown. */
void amd_target_name(int64_t target, char *text, size_t size);

#endif
