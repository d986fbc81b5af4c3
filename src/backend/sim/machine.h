/* machine.h - has the parts of the simulated machine, for the files of this folder.
 *
 * One machine a process. Locks, outermost first: machine.lock, sim_thread.lock,
 * then one of sim_device.lock or sim_trace.lock. No lock is held while a host
 * thread waits for the collector or for the clock. */
#ifndef GPUFL_BACKEND_SIM_MACHINE_H
#define GPUFL_BACKEND_SIM_MACHINE_H

#include "backend/backend.h"
#include "backend/sim/sim.h"
#include "backend/sim/tally.h"

#include <pthread.h>
#include <stdatomic.h>

#define SIM_CONCURRENCY_MAX 32
#define SIM_EPOCH           1000000000000ll /* virtual monotonic ns at which a machine starts */

struct sim_record;
struct sim_buffer;
struct sim_trace;

struct sim_device {
    pthread_mutex_t lock;
    int64_t stream_end[SIM_STREAMS_MAX];     /* when the last work queued ends; guarded by lock */
    int64_t slot_end[SIM_CONCURRENCY_MAX];   /* kernels that run at once; guarded by lock */
    int64_t engine_end[2];                   /* copies in, copies out; guarded by lock */
    int64_t busy_ns, busy_until;             /* union of kernel intervals; guarded by lock */
    int64_t copied_in, copied_out, moved_ns; /* bytes, bytes, ns of copies; guarded by lock */
    int64_t memory_used;                     /* bytes; guarded by lock */
    uint64_t next_address;                   /* guarded by lock */
};

struct sim_graph {
    unsigned count;
    struct sim_work *nodes; /* owned */
};

struct sim_machine {
    struct sim_config config;
    bool driven;          /* made by sim_open: no workload thread of our own */
    bool scripted;        /* some error of records or buffers is on */
    pthread_mutex_t lock; /* threads, graphs */
    struct sim_thread *threads;
    unsigned thread_count;
    unsigned graph_count;
    struct sim_graph graphs[SIM_GRAPHS_MAX];
    struct sim_trace *opened;     /* by a session, started or not; guarded by lock */
    struct sim_tally closed;      /* of threads that ended; guarded by lock */
    _Atomic int64_t now;          /* latest time of any thread */
    _Atomic uint32_t correlation; /* next id */
    _Atomic uint64_t samples;     /* reported by the session's engines; stored by its collector,
                                          loaded by sim_tally_read: relaxed, a statistic */
    _Atomic uint64_t metric_rows; /* like samples */
    _Atomic(struct sim_trace *) trace; /* where records go; NULL: nowhere.
                                          Stored by start and stop, loaded under a thread's lock */
    struct sim_device devices[SIM_DEVICES_MAX];
};

enum { SIM_HELD_MAX = 64 }; /* records of a thread that come late */

struct sim_thread {
    struct sim_machine *machine;
    struct sim_thread *next; /* guarded by machine.lock */
    pthread_mutex_t lock;    /* between this thread and the collector's flush */
    int64_t now;             /* own thread only */
    uint64_t random;         /* own thread only: state */
    int64_t stretch;         /* own thread only: of kernels' usual times, SIM_STRETCH_ONE = 1 */
    int64_t stretch_others;  /* own thread only: of everything else, likewise */
    uint32_t external_kind;  /* own thread only */
    uint64_t external_id;    /* own thread only */
    unsigned depth;          /* own thread only: number of functions on its stack */
    struct sink_frame frames[SIM_FRAMES_MAX]; /* own thread only: outermost first */
    int64_t event;                            /* own thread only: the last event's number */
    struct sim_buffer *buffer;                /* being filled; guarded by lock */
    unsigned outstanding;    /* buffers delivered and not drained; guarded by sim_trace.lock */
    struct sim_record *held; /* SIM_HELD_MAX late records; guarded by lock */
    unsigned held_count;     /* guarded by lock */
    uint64_t kernels_seen;   /* kernel records so far, for scripted errors; guarded by lock */
    uint64_t buffers_seen;   /* delivered; guarded by lock */
    uint64_t requests;       /* for a buffer, on behalf of a kernel; guarded by lock */
    uint64_t shuffled;       /* buffers; guarded by lock */
    uint64_t shuffle;        /* state of that random sequence; guarded by lock */
    struct sim_tally tally;  /* own thread only */
};

/* Gets the process's machine; if there is none, makes it from GPUFL_SIM. [any] */
int sim_machine_get(struct sim_machine **out, struct err *e);

/* Returns the machine if there is one. [any] */
struct sim_machine *sim_machine_peek(void);

/* Returns the time of the system's monotonic clock, ns, whatever the source of clock.h is. [any] */
int64_t sim_clock_system(void);

/* Returns the time on the machine's clock for a thread that drives nothing. [any] */
int64_t sim_machine_now(const struct sim_machine *m);

/* Lets the machine's clock reach a thread's time. [hot] */
static inline void sim_machine_publish(struct sim_machine *m, int64_t now)
{
    int64_t seen = atomic_load_explicit(&m->now, memory_order_relaxed);
    while (seen < now && !atomic_compare_exchange_weak_explicit(
                             &m->now, &seen, now, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Returns the next number of a splitmix64 sequence. */
static inline uint64_t sim_mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Waits, on the real clock at most limit ns, until everything queued has ended. [owner] */
void sim_machine_finish(struct sim_machine *m, int64_t limit);

/* Returns true if the n-th record or buffer (from 0) gets an error that hits one in `every`. */
static inline bool sim_hit(int64_t every, uint64_t n)
{
    return every > 0 && n % (uint64_t)every == (uint64_t)every - 1;
}

#endif
