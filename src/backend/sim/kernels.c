/* kernels.c - has the table of kernels.h. */
#include "backend/sim/kernels.h"

const struct sim_kernel_info sim_kernels[SIM_KERNEL_COUNT] = {
#define KERNEL(id, registers, shared, dynamic, block, grid, usual, name)                           \
    {name, registers, shared, dynamic, block, grid, usual},
#include "backend/sim/kernels.def"
};
