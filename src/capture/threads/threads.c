/* threads.c - see threads.h.
 *
 * The list's head is exchanged by threads that enter (release) and read by the
 * collector and the sampler (acquire). Only the collector takes elements out; it
 * leaves the head element for another time, so that it never contends with an
 * entering thread. The sampler reads the list too (threads_any_scope), and takes
 * the reaping lock for it. */
#include "capture/threads/threads.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/process/thread.h"
#include "capture/threads/collector_wake.h"
#include "capture/threads/exits.h"

#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

enum { DEATHS = 64 }; /* threads that end between two wake-ups of the collector */

struct capture_gate capture_gate;
__thread struct thread_state *thread_here
    __attribute__((visibility("hidden"), tls_model("initial-exec")));
struct thread_counters threads_orphans;

static _Atomic(struct thread_state *) first;
static _Atomic uint64_t instances_taken; /* scope ids given out in blocks */
static struct counts ended;              /* of threads that were freed; guarded by reaping */
static pthread_mutex_t reaping = PTHREAD_MUTEX_INITIALIZER; /* never taken on program threads */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Atomic unsigned deaths; /* of threads, for the collector to be woken */
static bool key_made;
static void (*thread_ends)(struct thread_state *t); /* set before the key is made */

/* Notes that the thread ends. Calls that it still makes in other destructors get a new state. */
static void thread_ended(void *p)
{
    struct thread_state *t = p;
    thread_here = NULL;
    thread_ends(t);
    atomic_store_explicit(&t->dead, true, memory_order_release);
    if (atomic_fetch_add_explicit(&deaths, 1, memory_order_relaxed) % DEATHS == DEATHS - 1 &&
        gate_is_on())
        collector_wake(); /* so that the state of these threads is freed */
}

static void key_make(void)
{
    key_made = pthread_key_create(&key, thread_ended) == 0;
}

int threads_init(void (*ends)(struct thread_state *t))
{
    if (!thread_ends)
        thread_ends = ends;
    pthread_once(&key_once, key_make);
    return key_made ? 0 : GPUFL_E_NOMEM;
}

static struct thread_state *thread_make(void)
{
    size_t align = _Alignof(struct thread_state);
    void *memory = mem_zalloc(sizeof(struct thread_state) + align);
    if (!memory)
        return NULL;
    struct thread_state *t = (void *)(((uintptr_t)memory + align - 1) & ~(uintptr_t)(align - 1));
    t->memory = memory;
    t->tid = thread_id();
    prctl(PR_GET_NAME, t->name);
    return t;
}

static void thread_free(struct thread_state *t)
{
    if (atomic_load_explicit(&t->has_ring, memory_order_relaxed))
        ring_fini(&t->ring);
    mem_free(t->open);
    mem_free(t->scopes);
    mem_free(t->memory);
}

/* Makes the thread's state belong to the running session. */
static void thread_renew(struct thread_state *t)
{
#define C(name) atomic_store_explicit(&t->counters.name, 0, memory_order_relaxed);
    THREAD_COUNTERS(C)
#undef C
    t->window_scope = 0;
    t->rule = (struct launch_rule){0};
    atomic_store_explicit(&t->turn, 0, memory_order_relaxed);
    atomic_store_explicit(&t->waits, 0, memory_order_relaxed);
    atomic_store_explicit(&t->depth, 0, memory_order_relaxed);
    atomic_store_explicit(&t->session, gate_session(), memory_order_release);
}

void threads_note_python(struct thread_state *t)
{
    struct stack_other_thread python;
    if (!stack_other_self(&python))
        python = (struct stack_other_thread){.thread_id = (uint64_t)pthread_self()};
    atomic_store_explicit(&t->python_id, python.thread_id, memory_order_relaxed);
    atomic_store_explicit(&t->python, python.state, memory_order_release);
}

struct thread_state *threads_enter(void)
{
    struct thread_state *t = thread_here;
    if (t) {
        thread_renew(t);
        threads_note_python(t);
        collector_wake();
        return t;
    }
    exits_watch_thread();
    t = thread_make();
    if (!t || pthread_setspecific(key, t)) {
        if (t)
            thread_free(t);
        return NULL;
    }
    thread_renew(t);
    threads_note_python(t);
    thread_here = t;
    t->next = atomic_load_explicit(&first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&first, &t->next, t, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    collector_wake(); /* a launch may follow: see pace.h */
    return t;
}

bool threads_ring_make(struct thread_state *t)
{
    if (ring_init(&t->ring, RING_SLOTS, sizeof(struct slot)))
        return false;
    atomic_store_explicit(&t->has_ring, true, memory_order_release);
    return true;
}

bool threads_open_grow(struct thread_state *t)
{
    return mem_grow(&t->open, &t->open_cap, t->open_cap ? t->open_cap + 1 : 64, sizeof *t->open,
                    OPEN_MOST) == 0;
}

uint64_t threads_instances(uint64_t n)
{
    return atomic_fetch_add_explicit(&instances_taken, n, memory_order_relaxed) + 1;
}

struct thread_state *threads_first(void)
{
    return atomic_load_explicit(&first, memory_order_acquire);
}

static bool thread_is_of_session(struct thread_state *t)
{
    return atomic_load_explicit(&t->session, memory_order_acquire) == gate_session();
}

static void counts_add(struct counts *out, const struct thread_counters *c)
{
#define C(name) out->name += atomic_load_explicit(&c->name, memory_order_relaxed);
    THREAD_COUNTERS(C)
#undef C
}

void threads_sum(struct counts *out)
{
    pthread_mutex_lock(&reaping);
    *out = ended;
    pthread_mutex_unlock(&reaping);
    counts_add(out, &threads_orphans);
    for (struct thread_state *t = threads_first(); t; t = t->next)
        if (thread_is_of_session(t))
            counts_add(out, &t->counters);
}

bool threads_any_scope(void)
{
    bool any = false;
    pthread_mutex_lock(&reaping);
    for (struct thread_state *t = threads_first(); t && !any; t = t->next)
        any = thread_is_of_session(t) && !atomic_load_explicit(&t->dead, memory_order_relaxed) &&
              atomic_load_explicit(&t->depth, memory_order_relaxed) > 0;
    pthread_mutex_unlock(&reaping);
    return any;
}

/* Returns true for a thread that may be looked at. Caller holds the lock. */
static bool thread_lives(struct thread_state *t)
{
    return thread_is_of_session(t) && !atomic_load_explicit(&t->dead, memory_order_acquire);
}

static void thread_see(struct thread_state *t, struct thread_seen *out)
{
    uint32_t waits = atomic_load_explicit(&t->waits, memory_order_relaxed);
    out->tid = t->tid;
    out->waits = waits && waits == atomic_load_explicit(&capture_gate.looks, memory_order_relaxed);
    memcpy(out->name, t->name, sizeof out->name);
    /* If state and id are of different notes, the reader finds out: it compares the id with
     * memory. */
    out->python.state = atomic_load_explicit(&t->python, memory_order_acquire);
    out->python.thread_id = atomic_load_explicit(&t->python_id, memory_order_relaxed);
}

/* Turns are counted in places from the list's end, which new threads do not change. */
size_t threads_look(struct thread_seen *out, size_t most, int32_t always, uint64_t *turn)
{
    size_t living = 0, n = 0, others = 0;
    pthread_mutex_lock(&reaping);
    struct thread_state *head = threads_first();
    for (struct thread_state *t = head; t; t = t->next)
        living += thread_lives(t);
    size_t place = living;
    for (struct thread_state *t = head; t && place; t = t->next) {
        if (!thread_lives(t))
            continue;
        bool its_turn = (--place + living - *turn % living) % living < most && others < most;
        if (t->tid != always && !its_turn)
            continue;
        others += t->tid != always;
        thread_see(t, &out[n++]);
    }
    pthread_mutex_unlock(&reaping);
    if (living > most)
        *turn += most;
    return n;
}

bool threads_alone(void)
{
    bool alone = true;
    pthread_mutex_lock(&reaping);
    for (struct thread_state *t = threads_first(); t && alone; t = t->next)
        alone = t == thread_here || atomic_load_explicit(&t->dead, memory_order_relaxed);
    pthread_mutex_unlock(&reaping);
    return alone;
}

static bool thread_is_done(struct thread_state *t)
{
    return atomic_load_explicit(&t->dead, memory_order_acquire) &&
           (!atomic_load_explicit(&t->has_ring, memory_order_relaxed) || !ring_peek(&t->ring));
}

void threads_reap(void (*fn)(void *arg, struct thread_state *t), void *arg)
{
    struct thread_state *before = threads_first();
    while (before && before->next) {
        struct thread_state *t = before->next;
        if (!thread_is_done(t)) {
            before = t;
            continue;
        }
        fn(arg, t);
        pthread_mutex_lock(&reaping);
        if (thread_is_of_session(t))
            counts_add(&ended, &t->counters);
        before->next = t->next;
        pthread_mutex_unlock(&reaping);
        thread_free(t);
    }
}

void threads_begin_session(void)
{
    pthread_mutex_lock(&reaping);
    memset(&ended, 0, sizeof ended);
    pthread_mutex_unlock(&reaping);
#define C(name) atomic_store_explicit(&threads_orphans.name, 0, memory_order_relaxed);
    THREAD_COUNTERS(C)
#undef C
}

void threads_forget(void)
{
    atomic_store_explicit(&first, NULL, memory_order_relaxed);
    thread_here = NULL;
    if (key_made)
        pthread_setspecific(key, NULL);
    pthread_mutex_init(&reaping, NULL);
    thread_id_forget();
}
