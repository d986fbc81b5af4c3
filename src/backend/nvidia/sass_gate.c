/* sass_gate.c - see sass_gate.h. Who enters counts itself and then looks whether the gate is
 * shut; who shuts it does so and then looks at the counts: one of the two sees the other. */
#include "backend/nvidia/sass_gate.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static const int64_t PATIENCE = 10000000000; /* ns: longer than this no launch is held up */

/* Calls, sequentially consistent, as shut; by session: who entered in one leaves it there, also where the
 * next begins meanwhile. */
enum { SESSIONS = 8 };
static _Atomic uint64_t begun[SESSIONS], ended[SESSIONS];
static _Atomic bool shut;
static _Atomic uint64_t session = 1; /* relaxed: set before callbacks come */
static __thread uint64_t inside;     /* the session in which this thread entered; 0: it has not */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* opened, or the last call returned */

static void tell(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Holds the lock; false: the time is over. */
static bool wait_until(int64_t deadline)
{
    struct timespec at = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
    return pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &at) == 0;
}

void sass_gate_begin(void)
{
    uint64_t next = atomic_load(&session) + 1;
    atomic_store(&begun[next % SESSIONS], 0);
    atomic_store(&ended[next % SESSIONS], 0);
    atomic_store(&session, next);
}

static void wait_outside(uint64_t in, int64_t deadline)
{
    atomic_fetch_add(&ended[in % SESSIONS], 1);
    tell();
    pthread_mutex_lock(&lock);
    while (atomic_load(&shut) && wait_until(deadline))
        continue;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&begun[in % SESSIONS], 1);
}

void sass_gate_enters(void)
{
    int64_t deadline = 0;
    uint64_t now_in = atomic_load_explicit(&session, memory_order_relaxed);
    atomic_fetch_add(&begun[now_in % SESSIONS], 1);
    while (__builtin_expect(atomic_load(&shut), 0)) {
        int64_t now = clock_mono();
        deadline = deadline ? deadline : now + PATIENCE;
        if (now >= deadline)
            break;
        wait_outside(now_in, deadline);
    }
    inside = now_in;
}

void sass_gate_leaves(void)
{
    uint64_t in = inside;
    inside = 0;
    if (!in || atomic_load_explicit(&session, memory_order_relaxed) - in >= SESSIONS)
        return; /* its place is another's */
    atomic_fetch_add(&ended[in % SESSIONS], 1);
    if (__builtin_expect(atomic_load(&shut), 0))
        tell();
}

/* Calls of other threads are under way. Ended first: what returns in between is still counted. */
static bool busy(void)
{
    uint64_t in = atomic_load(&session), returned = atomic_load(&ended[in % SESSIONS]);
    return atomic_load(&begun[in % SESSIONS]) - returned > (inside == in);
}

bool sass_gate_shut(int64_t patience)
{
    int64_t deadline = clock_mono() + patience;
    atomic_store(&shut, true);
    pthread_mutex_lock(&lock);
    bool alone = !busy();
    while (!alone && patience && wait_until(deadline))
        alone = !busy();
    pthread_mutex_unlock(&lock);
    return alone; /* who comes from here on is counted for a moment, and waits outside */
}

void sass_gate_open(void)
{
    atomic_store(&shut, false);
    tell();
}
