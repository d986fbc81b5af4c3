/* driver_gate.c - see driver_gate.h. */
#include "backend/nvidia/driver_gate.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum { PAUSES = 20000, PAUSE = 50000 /* ns */ };
/* ns: those inside are waited for so long, and after that was for nothing not again for so long. */
enum { DRAIN = 500000, DRAIN_PAUSE = 10000, AGAIN_LEAST = 50000000, AGAIN_MOST = 1000000000 };

static _Atomic int64_t inside; /* calls */
static _Atomic bool shut;
static _Atomic unsigned session; /* relaxed: set before the first callback of a session */

static struct {    /* of who shuts it */
    int64_t next;  /* ns: when those inside may be waited for */
    int64_t again; /* ns: how long not, after the next time that it is for nothing */
} draining;

static __thread struct {
    unsigned session, depth; /* calls that this thread is inside of */
    bool shuts;
} mine;

void driver_gate_open(void)
{
    atomic_store(&inside, 0);
    atomic_fetch_add(&session, 1);
    draining.next = draining.again = 0;
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

bool driver_gate_is_inside(void)
{
    return mine.depth && mine.session == atomic_load_explicit(&session, memory_order_relaxed);
}

bool driver_gate_leave(void)
{
    if (mine.shuts || !mine.depth ||
        mine.session != atomic_load_explicit(&session, memory_order_relaxed) || --mine.depth)
        return false;
    atomic_fetch_sub(&inside, 1);
    return true;
}

/* Shut: nobody is inside, or is any more. */
static bool is_empty(void)
{
    int64_t now = clock_mono(), until = now + DRAIN;
    bool empty = !atomic_load(&inside);
    if (empty || now < draining.next)
        return empty;
    while (!empty && clock_mono() < until) {
        nanosleep(&(struct timespec){.tv_nsec = DRAIN_PAUSE}, NULL);
        empty = !atomic_load(&inside);
    }
    if (empty || !draining.again)
        draining.again = AGAIN_LEAST;
    else if (draining.again < AGAIN_MOST)
        draining.again *= 2;
    draining.next = empty ? 0 : clock_mono() + draining.again;
    return empty;
}

bool driver_gate_shut(void (*fn)(void *arg), void *arg)
{
    bool open = false;
    if (!atomic_compare_exchange_strong(&shut, &open, true))
        return false;
    bool alone = is_empty();
    if (alone) {
        mine.shuts = true;
        fn(arg);
        mine.shuts = false;
    }
    atomic_store(&shut, false);
    return alone;
}
