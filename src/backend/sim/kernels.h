/* kernels.h - what the simulated GPU can run: enum sim_kernel and its table,
 * from kernels.def. Constant. */
#ifndef GPUFL_BACKEND_SIM_KERNELS_H
#define GPUFL_BACKEND_SIM_KERNELS_H

#include <stdint.h>

enum sim_kernel {
#define KERNEL(id, registers, shared, dynamic, block, grid, usual, name) SIM_KERNEL_##id,
#include "backend/sim/kernels.def"
    SIM_KERNEL_COUNT
};

struct sim_kernel_info {
    const char *name;        /* mangled */
    uint32_t registers;      /* of a thread */
    uint32_t shared_static;  /* bytes */
    uint32_t shared_dynamic; /* bytes, as the workload launches it */
    uint32_t block;          /* threads, as the workload launches it */
    uint32_t grid;           /* blocks, as the workload launches it */
    int64_t usual;           /* ns */
};

extern const struct sim_kernel_info sim_kernels[SIM_KERNEL_COUNT];

#endif
