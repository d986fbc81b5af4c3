/* driver_gate.c - see driver_gate.h. */
#include "backend/nvidia/engine/driver_gate.h"

#include "backend/nvidia/engine/time.h"
#include "base/clock.h"
#include "base/process/program_thread.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum { PAUSES = 20000, PAUSE = 50000 /* ns */ };
/* Limits, in ns, how long threads inside are waited for; after a failure there is no wait for
 * AGAIN_…. */
enum { DRAIN = 500000, DRAIN_PAUSE = 10000, AGAIN_LEAST = 50000000, AGAIN_MOST = 1000000000 };

/* Calls are counted by session: a call leaves the session in which it entered, also if the next
 * session has begun meanwhile. */
enum { SESSIONS = 8 };
static struct {
    _Atomic int64_t inside[SESSIONS];
    _Atomic unsigned threads; /* that have ever entered. Relaxed */
    _Atomic bool shut;
    _Atomic unsigned session; /* relaxed: set before the first callback of a session */

    struct {           /* used by the thread that shuts the gate */
        int64_t next;  /* ns: when threads inside may be waited for again */
        int64_t again; /* ns: for how long they are not, after the next failure */
    } draining;
} me;

static __thread struct {
    unsigned session, depth; /* depth: calls in which this thread is */
    bool shuts;
} mine;

void driver_gate_open(void)
{
    unsigned next = atomic_load(&me.session) + 1;
    next += next == 0; /* 0: a thread that never entered */
    atomic_store(&me.inside[next % SESSIONS], 0);
    atomic_store(&me.session, next);
    me.draining.next = me.draining.again = 0;
    atomic_store(&me.shut, false);
}

/* Waits until the gate is open. False: that takes too long. */
static bool wait_for_open(void)
{
    for (int i = 0; i < PAUSES; i++) {
        if (!atomic_load(&me.shut))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    }
    return false;
}

void driver_gate_enter(void)
{
    unsigned current = atomic_load_explicit(&me.session, memory_order_relaxed);
    if (mine.shuts)
        return;
    if (mine.session != current) {
        if (!mine.session)
            atomic_fetch_add_explicit(&me.threads, 1, memory_order_relaxed);
        mine.session = current;
        mine.depth = 0;
    }
    if (mine.depth++)
        return;
    _Atomic int64_t *calls = &me.inside[current % SESSIONS];
    atomic_fetch_add(calls, 1);
    while (atomic_load(&me.shut)) { /* again if it was shut once more meanwhile */
        atomic_fetch_sub(calls, 1);
        int64_t begin = engine_time_begin();
        bool open = wait_for_open();
        engine_time_end(begin);
        atomic_fetch_add(calls, 1);
        if (!open)
            return;
    }
}

bool driver_gate_is_inside(void)
{
    return mine.depth && mine.session == atomic_load_explicit(&me.session, memory_order_relaxed);
}

bool driver_gate_is_own(void)
{
    return atomic_load_explicit(&me.threads, memory_order_relaxed) == (mine.session != 0);
}

bool driver_gate_leave(void)
{
    unsigned current = atomic_load_explicit(&me.session, memory_order_relaxed);
    if (mine.shuts || !mine.depth || --mine.depth)
        return false;
    if (current - mine.session < SESSIONS) /* else its counter belongs to another session */
        atomic_fetch_sub(&me.inside[mine.session % SESSIONS], 1);
    return mine.session == current;
}

/* Returns true if no thread is inside; the gate is shut. */
static bool is_empty(void)
{
    _Atomic int64_t *calls = &me.inside[atomic_load(&me.session) % SESSIONS];
    int64_t now = clock_mono(), until = now + DRAIN;
    bool empty = !atomic_load(calls);
    if (empty || now < me.draining.next)
        return empty;
    while (!empty && clock_mono() < until) {
        nanosleep(&(struct timespec){.tv_nsec = DRAIN_PAUSE}, NULL);
        empty = !atomic_load(calls);
    }
    if (empty || !me.draining.again)
        me.draining.again = AGAIN_LEAST;
    else if (me.draining.again < AGAIN_MOST)
        me.draining.again *= 2;
    me.draining.next = empty ? 0 : clock_mono() + me.draining.again;
    return empty;
}

bool driver_gate_shut(void (*fn)(void *arg), void *arg)
{
    bool open = false;
    if (!atomic_compare_exchange_strong(&me.shut, &open, true))
        return false;
    bool alone = is_empty();
    if (alone) {
        ON_PROGRAM_THREAD;
        int64_t begin = engine_time_begin();
        mine.shuts = true;
        fn(arg);
        mine.shuts = false;
        engine_time_end(begin);
    }
    atomic_store(&me.shut, false);
    return alone;
}
