/* turns.c - see turns.h. */
#include "capture/threads/turns.h"

#include "base/clock.h"
#include "capture/threads/gate.h"
#include "capture/threads/threads.h"

#include <stdatomic.h>
#include <stddef.h>

enum { EVERY_NS = 1000000000, MOST = 64 /* threads that are looked at in a second */ };

static int64_t looked; /* time of the last look; 0: none in this session */

void turns_share(const int64_t *worked, uint32_t *parts, int n, int64_t passed)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += worked[i] < passed ? worked[i] : passed;
    int64_t whole = sum > passed ? passed : sum;
    for (int i = 0; i < n; i++) {
        int64_t own = worked[i] < passed ? worked[i] : passed;
        int64_t part = n == 1 || whole <= 0 ? TURN_WHOLE / n : own * TURN_WHOLE / whole;
        parts[i] = part > TURN_LEAST ? (uint32_t)part : TURN_LEAST;
    }
}

void turns_begin(void)
{
    looked = 0;
}

/* Returns true if the thread has captured since the last look at it. *worked: how long it has
 * worked since then, ns; -1: this is the first look, or the thread is gone. */
static bool looked_at(struct thread_state *t, int64_t *worked)
{
    uint64_t captured = atomic_load_explicit(&t->counters.launches_captured, memory_order_relaxed);
    if (captured == t->turn_captured)
        return false;
    int64_t cpu = clock_cpu_of_thread(t->tid);
    *worked = cpu >= 0 && t->turn_session == gate_session() ? cpu - t->turn_cpu : -1;
    t->turn_captured = captured;
    t->turn_session = gate_session();
    t->turn_cpu = cpu;
    return true;
}

void turns_look(int64_t now)
{
    struct thread_state *seen[MOST];
    int64_t worked[MOST];
    uint32_t parts[MOST];
    int n = 0;
    if (looked && now - looked < EVERY_NS)
        return;
    int64_t passed = looked ? now - looked : 0;
    looked = now;
    for (struct thread_state *t = threads_first(); t && n < MOST; t = t->next)
        if (atomic_load_explicit(&t->session, memory_order_acquire) == gate_session() &&
            !atomic_load_explicit(&t->dead, memory_order_acquire) && looked_at(t, &worked[n]) &&
            worked[n] >= 0)
            seen[n++] = t;
    if (!passed || !n)
        return;
    turns_share(worked, parts, n, passed);
    for (int i = 0; i < n; i++)
        atomic_store_explicit(&seen[i]->turn, parts[i], memory_order_relaxed);
}
