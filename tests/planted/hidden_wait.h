/* hidden_wait.h - has a helper that waits, inlined wherever it is called. */
#ifndef GPUFL_TESTS_PLANTED_HIDDEN_WAIT_H
#define GPUFL_TESTS_PLANTED_HIDDEN_WAIT_H

#include "gpu.h"

static inline __attribute__((always_inline)) void settle(gpu_stream stream)
{
    GPU(cuStreamSynchronize(stream)); /* PLANTED: sync-in-inline */
}

#endif
