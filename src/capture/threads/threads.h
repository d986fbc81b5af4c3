/* threads.h - holds the state that the capture keeps for each of the program's threads.
 *
 * The state is made on a thread's first launch or scope, found through one thread-local
 * pointer, and linked into a list that grows only at its head. Only the thread writes the
 * upper half, only the collector the lower one; a ring and counters connect them. The
 * collector frees the state once the thread has ended and its ring is empty.
 *
 * A thread that outlives a session renews its state when it enters the next one:
 * the state and every slot have the number of their session. */
#ifndef GPUFL_CAPTURE_THREADS_THREADS_H
#define GPUFL_CAPTURE_THREADS_THREADS_H

#include "base/ring.h"
#include "capture/threads/gate.h"
#include "capture/threads/launch_rule.h"
#include "stack/other/other.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RING_SLOTS = 16384,   /* of 32 bytes; allocated with a thread's first scope */
    NAME_CACHE = 64,      /* entries, a power of two */
    OPEN_MOST = 8192,     /* scopes open at once on a thread: half a ring */
    INSTANCE_BLOCK = 4096 /* scope ids a thread takes at a time */
};

enum slot_kind {
    SLOT_BEGIN,  /* id: name, instance, tick, tag */
    SLOT_BENCH,  /* before its BEGIN; id: repeat, tag: warmup */
    SLOT_END,    /* instance, tick */
    SLOT_JOIN,   /* id: correlation, instance, tag: enum launch_kind, stack: of stack.h */
    SLOT_LAUNCH, /* a launch outside scopes; id: correlation, instance: stack, tick, tag: as JOIN */
    SLOT_GRAPH,  /* before its GRAPH_WHAT; id: correlation, instance, time: start, duration */
    SLOT_GRAPH_WHAT, /* time: kernels (CELL_NULL unknown), instance: graph */
    SLOT_WAIT,       /* before its WAIT_WHAT; id: correlation, instance, time: start, duration */
    SLOT_LEAVE,      /* a scope of any thread, alone: instance, tick */
    SLOT_LONG,       /* a captured launch; id: correlation, instance: stack, tick, tag: own ticks */
    SLOT_SUMMED,     /* like LONG, for LAUNCH_SUM; tag: sum, own ticks in the lower half */
    SLOT_WAIT_WHAT,  /* id: stack, instance: context, stream, time: bytes or event; wait_pack */
    SLOT_MARK,       /* id: name, instance: payload, tick, tag: mark_pack */
};

struct slot {
    uint16_t kind;    /* enum slot_kind */
    uint16_t session; /* low bits of gate_session() when the slot was pushed */
    uint32_t id;
    uint64_t instance;
    union {
        uint64_t tick;  /* of tick_now */
        int64_t time;   /* ns */
        uint64_t stack; /* of stacks_capture */
    };
    union {
        uint64_t tag; /* name id */
        int64_t duration;
    };
};

_Static_assert(sizeof(struct slot) == 32, "two to a cache line");

/* Holds the parts of a wait that have no field of their own in its slots. */
struct wait_packed {
    uint32_t call, device;
    bool async, sync;
    uint64_t launches;
};

static inline uint64_t wait_pack(struct wait_packed p)
{
    return p.launches << 24 | (uint64_t)(p.device & 0xff) << 16 | (uint64_t)p.sync << 9 |
           (uint64_t)p.async << 8 | p.call;
}

static inline struct wait_packed wait_unpack(uint64_t tag)
{
    return (struct wait_packed){.call = tag & 0xff,
                                .async = tag >> 8 & 1,
                                .sync = tag >> 9 & 1,
                                .device = tag >> 16 & 0xff,
                                .launches = tag >> 24};
}
_Static_assert((RING_SLOTS & (RING_SLOTS - 1)) == 0, "rings are powers of two");

struct name_cached {
    const char *given; /* the pointer that the program passed, by which the entry is found */
    const char *text;  /* the name table's copy, with which the text is compared */
    uint32_t id;
};

/* Lists the counts of one thread in one session; written by the thread, summed by the collector. */
#define THREAD_COUNTERS(C)                                                                         \
    C(launches)                                                                                    \
    C(launches_outside) /* of windows; not in the ledger */                                        \
    C(graph_launches)                                                                              \
    C(graph_kernels)                                                                               \
    C(graph_unknown)                                                                               \
    C(scopes_opened)                                                                               \
    C(scopes_lost)                                                                                 \
    C(joins_lost)                                                                                  \
    C(waits_recorded)                                                                              \
    C(waits_lost)                                                                                  \
    C(marks_recorded)                                                                              \
    C(marks_lost)                                                                                  \
    C(names_other)                                                                                 \
    C(launches_captured)                                                                           \
    C(captures_lost)                                                                               \
    C(stack_ticks) /* spent capturing stacks, of tick.h */

struct thread_counters {
#define C(name) _Atomic uint64_t name;
    THREAD_COUNTERS(C)
#undef C
};

struct counts {
#define C(name) uint64_t name;
    THREAD_COUNTERS(C)
#undef C
};

/* Describes a scope as the collector sees it between begin and end. */
struct scope_seen {
    uint64_t instance, parent;
    int64_t start;
    uint32_t name, tag, repeat, warmup;
    uint32_t flushes; /* boundaries seen while open */
    bool library;     /* a library's own range (wire/library_range.h) */
};

struct thread_state {
    /* owner's thread */
    struct ring ring;         /* of struct slot */
    _Atomic bool has_ring;    /* released once the ring can be used */
    _Atomic uint32_t session; /* this state is of that session; released by thread_renew */
    _Atomic uint32_t depth;   /* open scopes; others read it relaxed */
    _Atomic uint32_t waits; /* capture_gate.looks, inside a call that waits; 0: outside; relaxed */
    _Atomic uintptr_t python; /* the thread's PyThreadState; 0: not known; released after its id */
    _Atomic uint64_t python_id; /* as in struct stack_other_thread */
    uint64_t *open;             /* owned: instances of open scopes, outermost first */
    size_t open_cap;
    uint64_t next_instance, last_instance; /* ids left in the thread's block */
    uint64_t window_scope;                 /* the scope that opened a window; 0: none */
    uint32_t range_name;                   /* of the last scope that counters received */
    uint64_t left_seen;      /* how many scopes ended by other threads are known here */
    uint64_t woke;           /* the ring's head when this thread last woke the collector */
    struct launch_rule rule; /* of launches that are captured */
    int32_t tid;
    char name[16]; /* of the thread, when the state was made */
    struct name_cached names[NAME_CACHE];
    struct thread_counters counters;

    /* shared */
    struct thread_state *next; /* constant once linked, except that the collector unlinks */
    _Atomic bool dead;         /* the thread has ended: released in its destructor */
    _Atomic uint32_t turn;     /* the thread's part of a second for captures; 0: all; relaxed */
    void *memory;              /* the allocation in which this struct is aligned */

    /* collector */
    uint64_t limit;        /* slots up to here are older than the newest knot of the curve */
    uint32_t seen_session; /* the fields below belong to that session */
    int64_t now;           /* the latest time of a slot, ns */
    int64_t left;          /* when a scope of the program ended last, ns; INT64_MIN: none has */
    struct scope_seen *scopes;
    size_t scope_count, scope_cap;
    struct slot prefix;    /* the first slot of a pair */
    uint32_t turn_session; /* of the fields below; see turns.h */
    uint64_t turn_captured;
    int64_t turn_cpu; /* processor time, ns; -1: not known */
};

extern __thread struct thread_state *thread_here
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Returns this thread's state in the running session; NULL: out of memory. [hot] */
struct thread_state *threads_enter(void);

static inline struct thread_state *thread_self(void)
{
    struct thread_state *t = thread_here;
    if (__builtin_expect(
            t && atomic_load_explicit(&t->session, memory_order_relaxed) == gate_session(), 1))
        return t;
    return threads_enter();
}

static inline void counter_add(_Atomic uint64_t *c, uint64_t n)
{
    atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Notes that the calling thread is inside a call that will be recorded as a wait, or has left it.
 * If the end of such a call is never reported, because a window has closed, the note does not
 * count in the next window. [hot] */
static inline void threads_wait(struct thread_state *t, bool inside)
{
    uint32_t looks = inside ? atomic_load_explicit(&capture_gate.looks, memory_order_relaxed) : 0;
    atomic_store_explicit(&t->waits, looks, memory_order_relaxed);
}

/* Notes which Python thread the calling thread is. A thread may become a Python thread after its
 * first call of the vendor's library, and get another thread state later. [hot, at waits] */
void threads_note_python(struct thread_state *t);

/* Makes a thread's ring; false: out of memory. [hot, once a thread] */
bool threads_ring_make(struct thread_state *t);

static inline bool threads_ring(struct thread_state *t)
{
    return __builtin_expect(atomic_load_explicit(&t->has_ring, memory_order_relaxed), 1) ||
           threads_ring_make(t);
}

/* Makes room for one more open scope. [hot, rarely] */
bool threads_open_grow(struct thread_state *t);

/* Returns the first of n scope ids that no other thread has. [hot, once in INSTANCE_BLOCK] */
uint64_t threads_instances(uint64_t n);

/* Prepares for threads, before every session; the first call counts. ends: called on a thread that
 * ends, to close what it has open. 0 or GPUFL_E_NOMEM. [owner] */
int threads_init(void (*ends)(struct thread_state *t));

/* Returns the list's first element. [collector, sampler] */
struct thread_state *threads_first(void);

/* Adds up the counters of the session's threads, ended ones included. [collector] */
void threads_sum(struct counts *out);

/* Holds the counts of threads for whose state there was no memory. [hot] */
extern struct thread_counters threads_orphans;

/* Returns true if a scope is open on any thread. [any] */
bool threads_any_scope(void);

/* Returns true if no other living thread has recorded anything in any session. [any] */
bool threads_alone(void);

/* Describes a thread of the session as another thread sees it. */
struct thread_seen {
    int32_t tid;
    bool waits;                       /* inside a call that is recorded as a wait */
    char name[16];                    /* of the thread, when its state was made */
    struct stack_other_thread python; /* its thread_id; state 0: not known */
};

/* Copies living threads of the session to `out`, which has room for most + 1: `always` (a kernel
 * id) if it is among them, and `most` others. If there are more, threads take turns. turn: 0 at the
 * first call; the function keeps its place in it. Returns how many were copied. Takes the lock of
 * threads_any_scope. [sampler] */
size_t threads_look(struct thread_seen *out, size_t most, int32_t always, uint64_t *turn);

/* Frees the state of threads that have ended and whose rings are drained; fn is called for each
 * before that. [collector] */
void threads_reap(void (*fn)(void *arg, struct thread_state *t), void *arg);

/* Sets the counters of ended threads to 0, when a session starts. [owner] */
void threads_begin_session(void);

/* Forgets the other threads in a forked child, where they are gone, without freeing their state. */
void threads_forget(void);

#endif
