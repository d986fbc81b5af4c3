/* activity.h - makes activity records of the simulated GPU, and brings them to the collector.
 *
 * Each host thread fills its own buffer; full buffers are queued in order, taken and
 * drained by the collector, and used again. In a lossless machine a thread waits
 * for the drain before it goes on, or fills at most one more buffer: the simulated
 * device can wait, so no record is lost for lack of room. Otherwise records beyond
 * the pool's limit are lost and counted. */
#ifndef GPUFL_BACKEND_SIM_ACTIVITY_H
#define GPUFL_BACKEND_SIM_ACTIVITY_H

#include "backend/sim/counters.h"
#include "backend/sim/drain.h"
#include "backend/sim/machine.h"
#include "backend/sim/profile.h"

struct sim_buffer {
    struct sim_buffer *next;  /* guarded by sim_trace.lock */
    struct sim_thread *owner; /* NULL: its thread ended; guarded by sim_trace.lock */
    unsigned count;           /* records */
    unsigned events;          /* slots used in capture's rings since the buffer before */
    int64_t complete;         /* when the last of its work ends */
    struct sim_record records[];
};

struct sim_buffers {
    struct sim_buffer *head, *tail;
};

struct sim_trace {
    struct sink *sink;
    struct sim_machine *machine;
    struct trace_config config;
    unsigned capacity;    /* records of a buffer */
    unsigned most;        /* buffers */
    pthread_mutex_t lock; /* lists, allocated, waiting, running */
    pthread_cond_t moved; /* outstanding or waiting was lowered, or running changed */
    struct sim_buffers free, ready;
    struct sim_buffers taken; /* changed by the collector only, under lock */
    unsigned allocated;
    unsigned waiting; /* threads that wait for the collector: close waits for them */
    bool running;
    _Atomic bool floor;
    _Atomic int64_t callback_ns; /* measured callbacks, summed, relaxed: a statistic */
    struct sim_drain drain;      /* collector only */
    struct sim_profile profile;  /* collector only */
    struct sim_counters counters;
};

/* Limits the operations of one thread in a buffer. At most twice as many may be on their way to the
 * collector, and capture's rings hold more than that. */
#define SIM_WINDOW 4096

/* Adds the slots of a buffer beyond its capacity: late records, ones of an unknown kind, the
 * hand-over's own. */
#define SIM_BUFFER_SPARE (SIM_HELD_MAX + SIM_NODES_MAX + 1)

#define SIM_COST_SAMPLE 64 /* one launch callback in this many is measured */

/* [hot] Begins work that makes up to n records and n ring events; returns with
 * t->lock held and room for them. The trace is NULL if no session records. */
struct sim_trace *sim_activity_begin(struct sim_thread *t, unsigned n);
void sim_activity_end(struct sim_thread *t);

/* Reports a launch on this thread, between begin and end. [hot] */
void sim_activity_launch(struct sim_trace *a, const struct launch *l);

/* Adds a record, or loses it as scripted, between begin and end. [hot] */
void sim_activity_put(struct sim_thread *t, struct sim_trace *a, const struct sim_record *r);

/* Delivers the thread's buffer. wait: waits until the collector has drained it. False: it was not
 * drained. Called by the thread itself, without locks. */
bool sim_activity_drain(struct sim_thread *t, bool wait);

/* Queues the thread's buffer for the collector. t->lock held. */
void sim_activity_hand_over(struct sim_trace *a, struct sim_thread *t);

/* Moves the thread's late records into its buffer. t->lock held. */
void sim_activity_release_held(struct sim_thread *t);

/* The functions keep a list in the order first in, first out. sim_trace.lock held. */
void sim_buffers_push(struct sim_buffers *l, struct sim_buffer *b);
struct sim_buffer *sim_buffers_pop(struct sim_buffers *l);

#endif
