/* collector_wake.c - see collector_wake.h. The semaphore is in static memory, because a thread
 * that passed the gate late may still wake the collector after the session's end. */
#include "capture/threads/collector_wake.h"

#include "base/err.h"
#include "capture/threads/threads.h"
#include "monitor/steady.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>

static sem_t wakes;              /* posted at most once between two waits by collector_wake */
static _Atomic bool asked;       /* a post is on its way */
static _Atomic uint64_t steps;   /* steps of work done; relaxed: only a change matters */
static _Atomic int64_t expected; /* ns that the next step may take; relaxed */
static bool prepared;

int collector_wake_prepare(void)
{
    if (!prepared && sem_init(&wakes, 0, 0))
        return GPUFL_E_NOMEM;
    prepared = true;
    return 0;
}

void collector_wake(void)
{
    /* Pairs with the exchange in collector_wake_wait: the later of the two exchanges sees the
     * earlier one. */
    if (!atomic_exchange_explicit(&asked, true, memory_order_acq_rel))
        sem_post(&wakes);
}

void collector_wake_now(void)
{
    sem_post(&wakes);
}

bool collector_wake_wait(int64_t due)
{
    struct timespec at = steady_timespec(due);
    while (sem_clockwait(&wakes, CLOCK_MONOTONIC, &at) && errno == EINTR)
        continue;
    /* The flag is cleared before any ring is read. */
    return atomic_exchange_explicit(&asked, false, memory_order_acq_rel);
}

void collector_step(void)
{
    counter_add(&steps, 1);
}

void collector_expect(int64_t ns)
{
    atomic_store_explicit(&expected, ns, memory_order_relaxed);
    collector_step();
}

uint64_t collector_steps(void)
{
    return atomic_load_explicit(&steps, memory_order_relaxed);
}

int64_t collector_expected(void)
{
    return atomic_load_explicit(&expected, memory_order_relaxed);
}

void collector_wake_begin(void)
{
    atomic_store_explicit(&expected, 0, memory_order_relaxed);
}

void collector_wake_forget(void)
{
    prepared = false;
    atomic_store_explicit(&asked, false, memory_order_relaxed);
}
