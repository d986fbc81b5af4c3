/* samples.c - see samples.h. State is in static memory, because there is one session at a time. The
 * thread's own state is passed to it and back by thread_start and thread_join. */
#include "capture/samples/samples.h"

#include "base/clock.h"
#include "base/process/fd_thread.h"
#include "base/process/thread.h"
#include "base/ring.h"
#include "capture/log/messages.h"
#include "capture/records/sink.h"
#include "capture/samples/frames.h"
#include "capture/samples/look.h"
#include "capture/samples/rate.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/collector_wake.h"
#include "capture/threads/threads.h"
#include "monitor/steady.h"

#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LOOKS_RING = 4096,           /* looks between two drains: 200 ms of all looks at 1000 Hz fit */
    WAKE_BELOW = LOOKS_RING / 2, /* room at which the collector is woken */
    TRIES_MOST = 4               /* looks at a thread that goes on */
};

#define LATE_NS       1000000      /* a look that is later counts as late */
#define SHUT_NS       1000000000ll /* between two looks at the gate while no window is open */
#define LATE_REPORTED 20           /* if one look in so many is late, a message says so ... */
#define LATE_LEAST    100          /* ... from so many looks on */

/* Describes a sample that the collector has not taken yet. */
struct looked {
    int64_t start, late;   /* ns */
    int64_t state, number; /* see struct look */
    int32_t tid;
    uint32_t stack;   /* of stack.h; 0: not known */
    uint32_t quality; /* see schema/records.def */
    bool torn;        /* there is no stack, because the thread ran on at each attempt */
    char name[16];    /* of the thread; "": not known */
};

/* Holds what is shared with the thread while it runs. */
static struct {
    struct thread thread;
    struct ring ring; /* of struct looked: the thread pushes, the collector pops */
    sem_t wakes;
    _Atomic bool stop;
    _Atomic bool open; /* looks are taken; published by the sem_post that follows the store */
    _Atomic uint64_t torn, no_thread, no_memory, late; /* relaxed: one writer */
    _Atomic int64_t cpu_ns;                            /* relaxed: one writer */
} me;

/* Holds what the owner uses before the thread starts, and the collector after it has ended. */
static struct {
    bool asked, running, prepared; /* the options want it; it was started; wakes is made */
    const char *lack;              /* why the thread does not run although it was asked for */
    int64_t hz;
} session;

/* Holds what the thread alone uses. */
static struct {
    struct looks looks;
    struct frames frames;
    struct rate rate;
    struct thread_seen seen[SAMPLES_THREADS + 3];
    struct look round[SAMPLES_THREADS + 3];
    struct looked found[SAMPLES_THREADS + 3];
    uint64_t turn;
    int32_t first;   /* kernel id of the process's first thread */
    bool first_gone; /* that thread has ended, the process goes on */
    bool said;       /* a message has said that states are not known */
} own;

/* ---- the thread ------------------------------------------------------------------------------ */

static void push(const struct looked *l)
{
    if (!ring_push(&me.ring, l)) {
        counter_add(&me.no_memory, 1);
        collector_wake();
        return;
    }
    if (l->late > LATE_NS)
        counter_add(&me.late, 1);
    if (ring_room(&me.ring, WAKE_BELOW) < WAKE_BELOW)
        collector_wake();
}

static bool rests(void *look)
{
    return looks_rests(look);
}

/* Reads the native frames of a blocked thread that has no frames of Python. A thread that has not
 * run since such an attempt has none. */
static void read_native(struct look *k, struct frames_look *f)
{
    const struct stack_blocked_at at = {(uintptr_t)k->sp, (uintptr_t)k->pc, rests, k};
    if (k->still && k->resting->walked)
        return;
    k->resting->walked = true;
    f->stack = frames_blocked(&own.frames, &at);
    f->torn = k->moved;
    f->quality = f->stack ? FRAMES_NATIVE : f->torn ? FRAMES_OUTER : f->quality;
}

/* Reads the thread's frames. A thread that has not run since the look before has the same ones. */
static struct frames_look read_frames(size_t i, int64_t now)
{
    struct look *k = &own.round[i];
    struct look_thread *t = k->resting;
    if (k->still && t->stack)
        return (struct frames_look){.stack = t->stack, .quality = t->quality};
    struct frames_look f = frames_read(&own.frames, &own.seen[i].python, now);
    /* Not at the first look: with very many threads each look is one, and all must have a turn. */
    if (t && !f.stack && !f.torn && t->opened != own.looks.round)
        read_native(k, &f);
    if (t) {
        t->stack = f.torn ? 0 : f.stack;
        t->quality = f.quality;
    }
    return f;
}

static void look_once(size_t i, int64_t due)
{
    int64_t now = steady_ns(), late = now - due;
    own.found[i] =
        (struct looked){.start = clock_mono(), .late = late > 0 ? late : 0, .tid = own.seen[i].tid};
    memcpy(own.found[i].name, own.seen[i].name, sizeof own.found[i].name);
    own.round[i] = looks_first(&own.looks, own.seen[i].tid);
    if (own.round[i].gone)
        return;
    struct look *k = &own.round[i];
    if (k->state == HOST_BLOCKED && k->number == SYS_futex && stack_other_gil(k->first))
        k->state = HOST_GIL;
    const struct frames_look f = read_frames(i, now);
    own.found[i].stack = f.stack;
    own.found[i].quality = f.quality;
    own.found[i].torn = f.torn;
}

/* Looks again if the thread went on while its native stack was read: short waits would be missing
 * more often than long ones. */
static void look_first(size_t i, int64_t due)
{
    for (int tries = 0; tries < TRIES_MOST; tries++) {
        look_once(i, due);
        if (!own.round[i].moved)
            break;
    }
    if (!own.round[i].gone && !own.found[i].stack)
        counter_add(own.found[i].torn ? &me.torn : &me.no_thread, 1);
}

static void look_last(size_t i)
{
    struct look *k = &own.round[i];
    if (k->gone) {
        counter_add(&me.no_thread, 1);
        own.first_gone |= own.seen[i].tid == own.first;
        return;
    }
    looks_last(k);
    own.found[i].state = k->state;
    own.found[i].number = k->number;
    push(&own.found[i]);
}

/* Adds the process's first thread, if it has not used the GPU. */
static size_t add_first(size_t n)
{
    bool elsewhere = false; /* Python's main thread is not the process's first */
    for (size_t i = 0; i < n; i++) {
        if (own.seen[i].tid == own.first)
            return n;
        elsewhere |= own.seen[i].python.thread_id == own.frames.main.thread_id;
    }
    if (own.first_gone)
        return n;
    own.seen[n] = (struct thread_seen){.tid = own.first};
    if (!elsewhere)
        own.seen[n].python = own.frames.main;
    return n + 1;
}

/* Adds the thread that holds the GIL, if a thread of the round waits for the GIL and the holder is
 * not in the round: it does not use the GPU itself, but delays a thread that does. */
static size_t add_holder(size_t n, int64_t due)
{
    struct thread_seen *to = &own.seen[n];
    size_t waits = 0;
    while (waits < n && (own.round[waits].gone || own.round[waits].state != HOST_GIL))
        waits++;
    *to = (struct thread_seen){.tid = 0};
    if (waits == n || !frames_holder(&own.frames, own.round[waits].first, &to->python, &to->tid))
        return n;
    for (size_t i = 0; i < n; i++)
        if (own.seen[i].tid == to->tid)
            return n;
    look_first(n, due);
    return n + 1;
}

/* Removes the threads that are inside calls that wait from the round. */
static size_t drop_waiting(size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!own.seen[i].waits)
            own.seen[kept++] = own.seen[i];
    return kept;
}

static void look_round(int64_t due)
{
    int64_t woke = steady_ns();
    looks_round(&own.looks, woke);
    frames_try(&own.frames, woke);
    size_t n = add_first(threads_look(own.seen, SAMPLES_THREADS, own.first, &own.turn));
    n = drop_waiting(n);
    for (size_t i = 0; i < n; i++)
        look_first(i, due);
    n = add_holder(n, due);
    for (size_t i = 0; i < n; i++)
        looks_clock(&own.round[i]);
    for (size_t i = 0; i < n; i++)
        look_last(i);
}

/* Waits until the time (steady ns); false: the thread was woken before. */
static bool wait_until(int64_t due)
{
    struct timespec at = steady_timespec(due);
    int rc;
    while ((rc = sem_clockwait(&me.wakes, CLOCK_MONOTONIC, &at)) && errno == EINTR)
        continue;
    return rc != 0;
}

static bool goes_on(void)
{
    return !atomic_load_explicit(&me.stop, memory_order_relaxed) && gate_is_on();
}

static bool is_open(void)
{
    return atomic_load_explicit(&me.open, memory_order_relaxed) &&
           !atomic_load_explicit(&capture_gate.floor, memory_order_relaxed);
}

static void say_shut(void)
{
    if (own.said || !own.looks.why)
        return;
    own.said = true;
    message_say(SEVERITY_NOTE, "host_samples_state",
                "samples of threads do not say what the threads were doing: %s", own.looks.why);
}

static void *samples_main(void *unused)
{
    (void)unused;
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0); /* 1 ns; the default makes looks 50 us late */
    looks_open(&own.looks, fd_thread_own_table());
    frames_open(&own.frames);
    rate_begin(&own.rate, session.hz, steady_ns(), clock_thread_cpu(), (uint64_t)clock_real());
    while (goes_on()) {
        say_shut();
        int64_t now = steady_ns();
        int64_t due = is_open() ? rate_next(&own.rate, now) : now + SHUT_NS;
        if (!wait_until(due) || !is_open())
            continue;
        look_round(due);
        int64_t cpu = clock_thread_cpu();
        atomic_store_explicit(&me.cpu_ns, cpu, memory_order_relaxed);
        (void)rate_measure(&own.rate, steady_ns(), cpu);
    }
    looks_close(&own.looks);
    frames_close(&own.frames);
    atomic_store_explicit(&me.cpu_ns, clock_thread_cpu(), memory_order_relaxed);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void refuse(const char *why)
{
    session.lack = why;
    message_say(SEVERITY_WARNING, "host_samples", "no samples of the program's threads: %s", why);
}

static void counts_clear(void)
{
    _Atomic uint64_t *counts[] = {&me.torn, &me.no_thread, &me.no_memory, &me.late};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        atomic_store_explicit(counts[i], 0, memory_order_relaxed);
    atomic_store_explicit(&me.cpu_ns, 0, memory_order_relaxed);
}

void samples_begin(const struct options *o, enum gpufl_engine engine, bool traced, bool windowed)
{
    counts_clear();
    session.asked =
        o->host_samples_hz > 0 && o->enable_stack_trace && engine != GPUFL_ENGINE_MONITOR;
    session.lack = traced ? NULL : "nothing was traced";
    if (!clock_is_system())
        session.lack = "the session has a simulated clock, on which threads do nothing";
    if (strcasecmp(o->log_format, "gpuflight") == 0)
        session.lack = "the public client's format has no rows for them";
    session.hz = o->host_samples_hz;
    if (!session.asked || session.lack)
        return;
    memset(&own, 0, sizeof own);
    own.first = (int32_t)getpid();
    if (!session.prepared && sem_init(&me.wakes, 0, 0)) {
        refuse("no semaphore can be made");
        return;
    }
    session.prepared = true;
    if (ring_init(&me.ring, LOOKS_RING, sizeof(struct looked))) {
        refuse("there is no memory");
        return;
    }
    atomic_fetch_add_explicit(&capture_gate.looks, 1, memory_order_relaxed);
    atomic_store_explicit(&me.stop, false, memory_order_relaxed);
    atomic_store_explicit(&me.open, !windowed, memory_order_relaxed);
    session.running = true;
    if (thread_start(&me.thread, "gpufl-stacks", 0, samples_main, NULL)) {
        session.running = false;
        ring_fini(&me.ring);
        refuse(thread_refusal());
    }
}

void samples_window(bool open)
{
    if (!session.running)
        return;
    if (open)
        atomic_fetch_add_explicit(&capture_gate.looks, 1, memory_order_relaxed);
    atomic_store_explicit(&me.open, open, memory_order_relaxed);
    sem_post(&me.wakes);
}

void samples_stop(void)
{
    if (!session.running)
        return;
    atomic_store_explicit(&me.stop, true, memory_order_relaxed);
    sem_post(&me.wakes);
    thread_join(&me.thread);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void write_row(const struct looked *l)
{
    struct host_sample_row row = {
        .start = l->start,
        .late = l->late,
        .thread = l->tid,
        .stack = stacking_row(capture_sink.writer, l->stack),
        .state = l->state,
        .syscall = l->number,
        .quality = l->stack || l->quality ? l->quality : CELL_NULL,
    };
    ids_thread(&capture_sink.ids, l->tid, *l->name ? l->name : NULL);
    sink_put_whole(RECORD_host_sample, &row);
}

void samples_drain(void)
{
    const struct looked *l;
    if (!session.running)
        return;
    for (uint32_t i = 0; i < LOOKS_RING && (l = ring_peek(&me.ring)); i++) {
        write_row(l);
        ring_pop(&me.ring);
    }
}

bool samples_counts(struct samples_counts *out)
{
    *out = (struct samples_counts){
        .torn = atomic_load_explicit(&me.torn, memory_order_relaxed),
        .no_thread = atomic_load_explicit(&me.no_thread, memory_order_relaxed),
        .no_memory = atomic_load_explicit(&me.no_memory, memory_order_relaxed),
        .late = atomic_load_explicit(&me.late, memory_order_relaxed),
        .cpu_ns = atomic_load_explicit(&me.cpu_ns, memory_order_relaxed),
    };
    return session.asked && !session.lack;
}

static void say_late(uint64_t rows)
{
    uint64_t late = atomic_load_explicit(&me.late, memory_order_relaxed);
    if (rows >= LATE_LEAST && late * LATE_REPORTED > rows)
        message_say(SEVERITY_NOTE, "host_samples_late",
                    "%" PRIu64 " of %" PRIu64 " samples of the program's threads came more than "
                    "1 ms late, because the machine had no core free: shares of lines that rest "
                    "on samples may be off by several points",
                    late, rows);
}

static void conclude(void)
{
    uint64_t rows = capture_sink.recorded[RECORD_host_sample];
    bool asked = session.asked;
    const char *status = "collected", *reason = "";
    if (!asked) {
        status = "not_requested";
    } else if (session.lack) {
        status = "unavailable";
        reason = session.lack;
    } else if (!rows) {
        status = "enabled_no_data";
        reason = "the capture ended before the first sample, or no window was open";
    } else if (own.looks.why) {
        status = "partial";
        reason = own.looks.why;
    } else if (own.frames.never) {
        status = "partial";
        reason = "no stacks: frames of this version of Python cannot be read from another thread";
    } else if (atomic_load_explicit(&me.no_memory, memory_order_relaxed)) {
        status = "partial";
        reason = "some samples found no room";
    }
    feature_conclude(FEATURE_host_samples, asked, status, reason);
    say_late(rows);
}

void samples_end(void)
{
    conclude();
    if (session.running)
        ring_fini(&me.ring);
    session.running = false;
}

void samples_forget(void)
{
    memset(&me, 0, sizeof me); /* the ring is not freed */
    memset(&session, 0, sizeof session);
}
