/* gap.h - divides one gap in a device's work among its causes (idle.h has the rules). Called by the
 * owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_GAP_H
#define GPUFL_ANALYZE_MODEL_IDLE_GAP_H

#include "analyze/model/idle/idle.h"

struct idle_span;
struct idle_thread;
struct model;
struct wait_list;

/* Holds idle time of a call, by its stack's id in the log. */
struct idle_blame {
    uint32_t stack, what; /* id of the log; wait.call */
    uint64_t gaps;        /* not of the key */
    int64_t time;
};

/* Describes a gap while its causes are found: gap.c finds calls, host.c the rest. */
struct idle_gap {
    struct model *m;
    struct idle_device *device;
    const struct wait_list *list;
    int64_t start, end;
    int64_t left;              /* ns without a cause yet */
    uint32_t thread;           /* launched the work that ended the gap; 0: unknown */
    struct idle_thread *calls; /* of that thread; NULL: none are known */
    const struct idle_span *before, *after;
    const struct idle_span *spans_end;    /* spans from after on are in order up to it */
    const struct idle_capture *launch;    /* the launch that ended the gap; NULL: no row */
    const struct idle_capture *following; /* the next of its thread that has a row; NULL: none */
    struct {                              /* where `thread` is unknown: estimated */
        const struct idle_capture *row;   /* of the thread; NULL: unknown */
        struct idle_thread *calls;
    } near;
    bool queued;   /* the work that ended the gap had been launched before the gap began */
    bool shared;   /* other processes had a context on the device */
    uint32_t seen; /* causes that have a part in it: bits */
    struct idle_main {
        int64_t ns;
        uint32_t cause, stack, flags;
    } main; /* the longest part so far */
    int code;
};

/* Finds the causes of the gap between two spans of the device m->idle.current; spans from `after`
 * on are in order up to `end`. arg: the model. A gap in which the GPU's work is unknown is left
 * out. 0 or GPUFL_E_NOMEM. */
int idle_gap_blame(void *arg, const struct idle_span *before, const struct idle_span *after,
                   const struct idle_span *end);

/* Adds a part of the gap to a cause; a cause may get several parts. */
void idle_gap_part(struct idle_gap *g, enum idle_cause c, int64_t ns);

/* Notes a part of the gap with one line or none: the longest such part represents the gap in the
 * list. */
void idle_gap_main(struct idle_gap *g, enum idle_cause c, uint32_t stack, uint32_t flags,
                   int64_t ns);

/* Puts the gap into the list of gaps. 0 or GPUFL_E_NOMEM. */
int idle_gap_keep(const struct idle_gap *g);

/* Adds one gap, or a part of one. */
void idle_gap_add(struct idle_sum *s, int64_t ns);

/* Returns true if rows of launches show that the launch which ended the gap began before the gap,
 * and 20 us or longer before the gap's end: a launch on an idle GPU takes that at most. */
bool idle_gap_was_submitted(const struct idle_gap *g);

/* Finds the causes of what is left of the gap, which no call explains. */
void idle_gap_blame_host(struct idle_gap *g);

/* Finds the causes of idle time of m->idle.current before the steady part. thread: launched what
 * followed; 0: unknown. 0 or GPUFL_E_NOMEM. */
int idle_gap_blame_start(struct model *m, uint32_t thread, int64_t start, int64_t end);

/* Finds the lines of the time before the first work of the session, or after its last, from looks
 * at the main thread. ns: that time without the time of engines. 0 or GPUFL_E_NOMEM. */
int idle_gap_blame_edge(struct model *m, enum idle_cause c, int64_t start, int64_t end, int64_t ns);

#endif
