/* kinds.h - finds a kernel's library and what the kernel does by its name, with kinds.def.
 *
 * A name shows only what its authors put into it. A kernel that no row fits is the program's own
 * and has no kind. [any] */
#ifndef GPUFL_SYMBOL_NAMES_KINDS_H
#define GPUFL_SYMBOL_NAMES_KINDS_H

#include <stdint.h>

enum kernel_kind {
    KERNEL_PRODUCT = 1 << 0,     /* of matrices, or a convolution */
    KERNEL_FLOAT32 = 1 << 1,     /* … of float32 without tensor cores */
    KERNEL_TF32 = 1 << 2,        /* … of float32 with them */
    KERNEL_LAYOUT = 1 << 3,      /* converts NCHW to NHWC, or back */
    KERNEL_CAST = 1 << 4,        /* float32 to 16 bits */
    KERNEL_SOFTMAX = 1 << 5,     /* or its derivative */
    KERNEL_ATTENTION = 1 << 6,   /* whole */
    KERNEL_ELEMENTWISE = 1 << 7, /* one operation of eager PyTorch */
    KERNEL_FOREACH = 1 << 8,     /* one operation on a list of tensors */
};

/* Returns the kinds in the lower 16 bits, the library above them; 0 for a kernel that no row
 * fits. */
uint32_t kinds_of(const char *demangled);

/* Returns the library in kinds_of's result: "cuBLAS", …; NULL: the kernel is the program's own. */
const char *kinds_library(uint32_t kinds);

#endif
