/* clock.c - reads the system's clocks, behind one pointer that the simulation may set.
 *
 * The pointer is published before a session starts and never while one runs, so
 * relaxed loads suffice: the start of threads after that orders the store. */
#include "base/clock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static _Atomic(int64_t (*)(void)) source; /* NULL: the system's monotonic clock */
static _Atomic int64_t source_real_base;  /* clock_real at monotonic 0 of source */

static int64_t clock_read(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t clock_mono(void)
{
    int64_t (*replaced)(void) = atomic_load_explicit(&source, memory_order_relaxed);
    if (__builtin_expect(replaced != NULL, 0))
        return replaced();
    return clock_read(CLOCK_MONOTONIC);
}

int64_t clock_real(void)
{
    int64_t (*replaced)(void) = atomic_load_explicit(&source, memory_order_relaxed);
    if (replaced)
        return replaced() + atomic_load_explicit(&source_real_base, memory_order_relaxed);
    return clock_read(CLOCK_REALTIME);
}

int64_t clock_thread_cpu(void)
{
    return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

/* This is how the kernel numbers the clocks of threads; clock_getcpuclockid(3) makes only those of
 * processes. */
int64_t clock_cpu_of_thread(int32_t tid)
{
    enum { PER_THREAD = 4, SCHED = 2 };
    clockid_t clock = (clockid_t)(~(uint32_t)tid << 3 | PER_THREAD | SCHED);
    struct timespec ts;
    if (clock_gettime(clock, &ts))
        return -1;
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t clock_process_cpu(void)
{
    return clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

/* The thread may lose the CPU between two readings: the narrowest try wins. */
static struct clock_pair pair_of_system(void)
{
    enum { TRIES = 8 };
    struct clock_pair best = {0, 0, INT64_MAX};
    for (int i = 0; i < TRIES; i++) {
        int64_t before = clock_read(CLOCK_MONOTONIC);
        int64_t real = clock_read(CLOCK_REALTIME);
        int64_t after = clock_read(CLOCK_MONOTONIC);
        if (after - before < best.uncertainty)
            best = (struct clock_pair){before + (after - before) / 2, real, after - before};
    }
    return best;
}

struct clock_pair clock_pair_read(void)
{
    int64_t (*replaced)(void) = atomic_load_explicit(&source, memory_order_relaxed);
    if (!replaced)
        return pair_of_system();
    int64_t now = replaced();
    int64_t base = atomic_load_explicit(&source_real_base, memory_order_relaxed);
    return (struct clock_pair){now, base + now, 0};
}

void clock_set_source(int64_t (*mono)(void), int64_t real_base)
{
    atomic_store_explicit(&source_real_base, mono ? real_base : 0, memory_order_relaxed);
    atomic_store_explicit(&source, mono, memory_order_relaxed);
}

bool clock_is_system(void)
{
    return atomic_load_explicit(&source, memory_order_relaxed) == NULL;
}
