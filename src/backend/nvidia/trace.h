/* trace.h - has the Trace engine's state, shared by its files.
 *
 * A process has one trace, because CUPTI has one subscriber, and its buffer callbacks
 * have no pointer of ours. The trace is static and never freed, so that a callback that
 * comes after close finds `live` NULL and no freed memory. Sinks must outlive their
 * sessions, too, because a callback may still be inside one. */
#ifndef GPUFL_BACKEND_NVIDIA_TRACE_H
#define GPUFL_BACKEND_NVIDIA_TRACE_H

#include "backend/backend.h"
#include "backend/common/buffers.h"
#include "backend/nvidia/engine/engine.h"
#include "backend/nvidia/library/cupti.h"

#include <stdatomic.h>
#include <sys/types.h>

struct records; /* the decoder: records.h */

/* Says whether CUPTI is attached to the program, in sessions with windows. */
enum attach_state {
    ATTACH_NONE,    /* at most subscribed: outside of windows, and nothing is left of them */
    ATTACH_OPENING, /* a window is being opened; attached or not */
    ATTACH_OPEN,    /* attached; a window is open or, with engines that suspend, was a while ago */
    ATTACH_SHUT,    /* attached; all kinds are off, records are still to be taken */
    ATTACH_FORCING, /* like ATTACH_SHUT, and CUPTI is made to deliver the remaining records */
    ATTACH_FLUSHED, /* CUPTI has delivered them, and no window was open meanwhile */
    /* Records are taken: the next driver call that returns finalizes CUPTI, if that is safe
     * (detach_now). */
    ATTACH_ENDING,
    ATTACH_FINALIZING, /* a call finalizes CUPTI */
    ATTACH_RETURNING,  /* CUPTI is finalized, and is subscribed to again */
    ATTACH_SUSPENDING, /* engines that stay attached give back what they hold: suspend.h */
    ATTACH_OVER        /* the session ends, and CUPTI is not finalized any more */
};

/* Says whether CUPTI has ended itself (cupti_fatal.h): from FATAL_KNOWN on the reason can be read.
 * The value only grows. */
enum cupti_fatal { FATAL_NOT, FATAL_NOW, FATAL_KNOWN };

struct trace {
    const struct cupti *cupti;
    struct sink *sink;          /* of the session [owner, collector] */
    struct trace_config config; /* of the session [owner, collector] */
    /* NULL: not subscribed; kept while a context is sampled. Written by the owner, or by the thread
     * that has set one of the exclusive values of `attach_state`. */
    cupti_subscriber subscriber;
    bool fork_watched;           /* on_fork_child is registered [owner] */
    pid_t process;               /* that subscribed [owner] */
    _Atomic(struct sink *) live; /* where callbacks report, NULL: nowhere. Release, acquire */
    _Atomic int64_t since;       /* ns: when `live` was set; entries before are not ours */
    _Atomic bool time_graphs;    /* graph launches are reported at their exit too */
    _Atomic bool waits;          /* calls that wait are reported */
    _Atomic bool plain;    /* launches of kernels are only counted: no engine but Trace. Relaxed */
    _Atomic bool gated;    /* they are only counted, at the driver's gate, too: yield.h. Relaxed */
    _Atomic bool windowed; /* config.windows, for callbacks during the next open. Relaxed */
    _Atomic uint32_t window; /* number of the open one, whose calls have records; 0: none is */
    _Atomic uint32_t last_window;
    _Atomic int first_launches;     /* that are awaited or under way: engine/time.h. Relaxed */
    _Atomic bool floor;             /* only counting: see trace_ops.floor */
    _Atomic(struct buffers *) pool; /* NULL: none yet */
    struct buffers_list pools;      /* all that were made in this process */
    _Atomic int64_t callback_ns;    /* spent in sampled callbacks */
    int64_t clock_ns;               /* how long reading the clock takes; set by the first open */
    _Atomic int32_t captures;       /* about how many streams are being captured into graphs */
    _Atomic uint64_t kinds;         /* bit per activity kind that is on; SYNC: for waits.c */
    _Atomic bool wants_records;     /* the session wants records, so CUPTI gets buffers */
    _Atomic bool recording;         /* switched: a window is open, and kinds may be on */
    _Atomic int statuses[CUPTI_KIND_LIMIT]; /* result of enabling, by kind */
    _Atomic int attach_state;               /* enum attach_state */
    _Atomic bool
        suspends; /* between windows ATTACH_OPEN, too: suspend.h. Relaxed: set before callbacks */
    _Atomic bool passing; /* launches outside of windows are reported */
    _Atomic bool gone;    /* CUPTI has been finalized, and nothing subscribed to it since */
    _Atomic uint64_t finalized, not_finalized;
    _Atomic uint32_t ids_before; /* see trace_id; relaxed: set before CUPTI is attached */
    _Atomic int fatal; /* enum cupti_fatal; lasts as long as the process. Release, acquire */
    char fatal_why[sizeof((struct err *)0)->text];
    _Atomic bool handed; /* fatal because the program uses CUPTI. Release before fatal, acquire */
    _Atomic uint64_t drains; /* rounds of the collector, counted at their end */
    _Atomic bool answered;   /* to cupti_fatal_look */
    bool fatal_said;         /* it was reported to the session [collector] */
    bool unquiet;            /* object_calls_quiet kept CUPTI from being detached [collector] */
    bool kinds_said;      /* said that kernels cannot be recorded in windows [a window's opener] */
    bool graph_cuts_said; /* said that graphs were cut short [collector] */
    bool no_ids;          /* the program pushes no operation ids, it seems [collector] */
    _Atomic bool peer_calls;      /* the program copied between devices, and there is no record */
    bool peers_said;              /* that was said in this session [collector] */
    _Atomic int64_t shut_since;   /* ns: when a window was last closed, or its engine suspended */
    bool announced;               /* said in this session who else wants CUPTI [collector] */
    _Atomic bool announce;        /* statuses changed: drain reports them to the sink */
    _Atomic bool announce_holder; /* CUPTI is held, before anything of it is used */
    bool flush_failed;            /* said in this session that a flush failed [collector] */
    bool dropped_failed;          /* said that dropped records cannot be asked for [collector] */
    bool stopped;                 /* its last drain is the session's last [collector] */
    _Atomic bool quiet;           /* see trace_ops.quiet; release by the owner, acquire by stop */
    struct nv_engine engines[NV_ENGINES]; /* by enum nv_engine_id */
    struct nv_calls calls;                /* functions of running engines at calls of the driver */
    bool detaches; /* the session has windows, between which CUPTI is detached: detach.h [owner] */
    bool switched; /* it has windows, and CUPTI stays attached, or is detached later [owner] */
    _Atomic bool kernels_instead; /* no engine samples or counts, so kernels are recorded */
    struct queue_node *taken;     /* buffers between take and drain [collector] */
    struct records *records;      /* owned */
    uint64_t codeless;            /* defined functions whose code was not seen [collector] */
    _Atomic bool fault_seen;      /* in this session: faults.h. Relaxed */
    _Atomic unsigned suspicions;  /* that CUPTI has ended itself: cupti_fatal.h */
    unsigned suspicions_examined; /* how many of them were [collector, or the owner after it] */
};

extern const struct trace_ops nvidia_trace;

/* This is the trace of this process. */
extern struct trace the_trace;

/* Reports to the running session's sink that an engine (enum engine_bit) began, or failed to.
 * [any] */
void trace_began(struct trace *t, unsigned engine);

/* Returns the session's correlation id for one of CUPTI's, which begin again each time CUPTI is
 * attached. [any] */
static inline uint32_t trace_id(const struct trace *t, uint32_t correlation)
{
    return atomic_load_explicit(&t->ids_before, memory_order_relaxed) + correlation;
}

/* Returns true in a child of the process that attached: nothing may call CUPTI there. [any] */
bool trace_forked(const struct trace *t);

/* Returns true in such a child, and if CUPTI has ended itself. [any] */
bool trace_mute(const struct trace *t);

#endif
