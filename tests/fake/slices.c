/* slices.c - acts as another process on the fake GPU, which takes turns with this one.
 *
 * FAKE_CUDA_SLICE_US=2000: of 4 ms the program has the first two, and the other process the rest.
 * Work that would begin in a slice of the other process waits for the program's next slice; work
 * that has begun runs to its end. Not set: the program has the GPU alone. Called by any thread. */
#include "driver.h"

#include <stdlib.h>

static _Atomic int64_t slice = -1; /* ns; -1: not read yet */

int64_t slices_begin(int64_t ns)
{
    int64_t each = atomic_load_explicit(&slice, memory_order_relaxed);
    if (each < 0) {
        const char *us = getenv("FAKE_CUDA_SLICE_US");
        each = us ? atoll(us) * 1000 : 0;
        atomic_store_explicit(&slice, each, memory_order_relaxed); /* all threads read the same */
    }
    return each > 0 && ns / each % 2 ? (ns / each + 1) * each : ns;
}
