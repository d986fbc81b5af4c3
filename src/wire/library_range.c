/* library_range.c - see library_range.h. */
#include "wire/library_range.h"

#include <stddef.h>
#include <strings.h>

/* Lists domains as the libraries' sources spell them; letters count as equal in either case. TSL
 * and xprof: XLA's (JAX, TensorFlow). CCCL: CUB and Thrust. */
static const char *const domains[] = {
    "NCCL",      "com.nvidia.nccl.proxy",
    "RCCL",      "TSL",
    "xprof",     "tensorflow-core",
    "CCCL",      "cuBLAS",
    "cuDNN",     "cuFFT",
    "cuML",      "cuSOLVER",
    "DALI",      "cuSPARSE",
    "NVSHMEM",   "raft",
    "MPI",       "TensorRT",
    "libcudf",   "libcuspatial",
    "libkvikio", "cuVS",
    "UCX",       "librmm",
};

bool library_range(const char *tag)
{
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++)
        if (!strcasecmp(tag, domains[i]))
            return true;
    return false;
}
