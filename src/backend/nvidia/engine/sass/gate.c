/* gate.c - see sass/gate.h. A thread that enters first counts itself and then checks whether the
 * gate is shut; the thread that shuts it checks the counts afterwards: so one of the two sees the
 * other. */
#include "backend/nvidia/engine/sass/gate.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static const int64_t PATIENCE = 10000000000; /* ns: the longest wait of a launch */

/* Calls are counted by session, sequentially consistent like `shut`: a call leaves the session in
 * which it entered, also if the next session has begun meanwhile. */
enum { SESSIONS = 8 };
static struct {
    _Atomic uint64_t begun[SESSIONS], ended[SESSIONS];
    _Atomic bool shut;
    _Atomic uint64_t session; /* relaxed: set before callbacks come */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* opened, or the last call returned */
} me = {.session = 1, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static __thread uint64_t inside; /* the session in which this thread entered; 0: it has not */

static void notify(void)
{
    pthread_mutex_lock(&me.lock);
    pthread_cond_broadcast(&me.changed);
    pthread_mutex_unlock(&me.lock);
}

/* Waits, with the lock. False: the time is over. */
static bool wait_until(int64_t deadline)
{
    struct timespec at = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
    return pthread_cond_clockwait(&me.changed, &me.lock, CLOCK_MONOTONIC, &at) == 0;
}

void sass_gate_begin(void)
{
    uint64_t next = atomic_load(&me.session) + 1;
    atomic_store(&me.begun[next % SESSIONS], 0);
    atomic_store(&me.ended[next % SESSIONS], 0);
    atomic_store(&me.session, next);
}

static void wait_outside(uint64_t in, int64_t deadline)
{
    atomic_fetch_add(&me.ended[in % SESSIONS], 1);
    notify();
    pthread_mutex_lock(&me.lock);
    while (atomic_load(&me.shut) && wait_until(deadline))
        continue;
    pthread_mutex_unlock(&me.lock);
    atomic_fetch_add(&me.begun[in % SESSIONS], 1);
}

void sass_gate_enters(void)
{
    int64_t deadline = 0;
    uint64_t now_in = atomic_load_explicit(&me.session, memory_order_relaxed);
    atomic_fetch_add(&me.begun[now_in % SESSIONS], 1);
    while (__builtin_expect(atomic_load(&me.shut), 0)) {
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
    if (!in || atomic_load_explicit(&me.session, memory_order_relaxed) - in >= SESSIONS)
        return; /* its counter belongs to another session */
    atomic_fetch_add(&me.ended[in % SESSIONS], 1);
    if (__builtin_expect(atomic_load(&me.shut), 0))
        notify();
}

/* Returns true if calls of other threads are running. The ended calls are read first, so that a
 * call that returns in between still counts as running. */
static bool busy(void)
{
    uint64_t in = atomic_load(&me.session), returned = atomic_load(&me.ended[in % SESSIONS]);
    return atomic_load(&me.begun[in % SESSIONS]) - returned > (inside == in);
}

bool sass_gate_shut(int64_t patience)
{
    int64_t deadline = clock_mono() + patience;
    atomic_store(&me.shut, true);
    pthread_mutex_lock(&me.lock);
    bool alone = !busy();
    while (!alone && patience && wait_until(deadline))
        alone = !busy();
    pthread_mutex_unlock(&me.lock);
    return alone; /* a thread that comes from here on is counted briefly, and waits outside */
}

void sass_gate_open(void)
{
    atomic_store(&me.shut, false);
    notify();
}
