/* driver_gate.c - see driver_gate.h. */
#include "backend/nvidia/driver_gate.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum { PAUSES = 20000, PAUSE = 50000 /* ns */ };

static _Atomic int64_t inside; /* calls */
static _Atomic bool shut;
static _Atomic unsigned session; /* relaxed: set before the first callback of a session */

static __thread struct {
    unsigned session, depth; /* calls that this thread is inside of */
    bool shuts;
} mine;

void driver_gate_open(void)
{
    atomic_store(&inside, 0);
    atomic_fetch_add(&session, 1);
    atomic_store(&shut, false);
}

/* Until it is open; false: that takes too long. */
static bool await(void)
{
    for (int i = 0; i < PAUSES; i++) {
        if (!atomic_load(&shut))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    }
    return false;
}

void driver_gate_enter(void)
{
    unsigned current = atomic_load_explicit(&session, memory_order_relaxed);
    if (mine.shuts)
        return;
    if (mine.session != current) {
        mine.session = current;
        mine.depth = 0;
    }
    if (mine.depth++)
        return;
    atomic_fetch_add(&inside, 1);
    while (atomic_load(&shut)) { /* again where it was shut once more meanwhile */
        atomic_fetch_sub(&inside, 1);
        bool open = await();
        atomic_fetch_add(&inside, 1);
        if (!open)
            return;
    }
}

bool driver_gate_leave(void)
{
    if (mine.shuts || !mine.depth ||
        mine.session != atomic_load_explicit(&session, memory_order_relaxed) || --mine.depth)
        return false;
    atomic_fetch_sub(&inside, 1);
    return true;
}

bool driver_gate_shut(void (*fn)(void *arg), void *arg)
{
    bool open = false;
    if (!atomic_compare_exchange_strong(&shut, &open, true))
        return false;
    bool alone = !atomic_load(&inside);
    if (alone) {
        mine.shuts = true;
        fn(arg);
        mine.shuts = false;
    }
    atomic_store(&shut, false);
    return alone;
}
