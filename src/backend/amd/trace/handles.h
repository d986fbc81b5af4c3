/* handles.h - gives small numbers for the runtime's handles (streams, executable graphs), so that
 * no address is in the log.
 *
 * A handle keeps its number for the life of the process, also if the runtime uses its address
 * again. Programs have few handles. No lock. Called by any thread. */
#ifndef GPUFL_BACKEND_AMD_TRACE_HANDLES_H
#define GPUFL_BACKEND_AMD_TRACE_HANDLES_H

#include <stdatomic.h>
#include <stdint.h>

enum { HANDLES_MOST = 1 << 12 };

/* Holds the handles; if all are 0, no handle is known. A handle is stored with a compare-and-swap
 * and never removed. */
struct handles {
    _Atomic uint64_t handle[HANDLES_MOST]; /* relaxed: it points to nothing */
};

/* Returns the number of a handle, from 1, in the order of first use; 0: there is no room. [hot] */
static inline uint32_t handles_number(struct handles *h, uint64_t handle)
{
    for (uint32_t at = 0; at < HANDLES_MOST; at++) {
        uint64_t there = atomic_load_explicit(&h->handle[at], memory_order_relaxed);
        if (!there &&
            atomic_compare_exchange_strong_explicit(&h->handle[at], &there, handle,
                                                    memory_order_relaxed, memory_order_relaxed))
            return at + 1;
        if (there == handle)
            return at + 1;
    }
    return 0;
}

#endif
