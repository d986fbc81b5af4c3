/* idle.h - why the GPU had nothing to do: each idle gap, blamed.
 *
 * Idle is the session's length less the union of kernels, copies and fills of a
 * device; where the session has windows of capture, the gaps that lie in one. A gap lies between the end of one piece of work and the start of the
 * next, which some thread launched: where its row does not tell which one, it is found
 * by the launches that threads count at each call. What it did in the gap is to blame:
 *   - calls in which it was blocked, for as long as they lie in the gap;
 *   - the call in which the gap began, or that returned before it with nothing
 *     launched since, also for what follows its return, up to its own length: that
 *     much earlier could the thread have launched without it;
 *   - for the rest the thread itself, which launched late.
 * Before all of these come stretches in which an engine of the profiler kept the thread
 * (engines.h): they are in no other part.
 * Where it may have been one of several, or it was in no such call, a call of another thread
 * in which the gap began and which returned in it stands in. The parts of a gap
 * always sum up to it, and so do the shares of all causes to the idle time.
 * Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_IDLE_H
#define GPUFL_ANALYZE_MODEL_IDLE_IDLE_H

#include "analyze/model/idle/engines.h"
#include "analyze/model/idle/spans.h"
#include "analyze/model/system/devices.h"
#include "base/buf.h"
#include "base/keyed.h"

struct model;
struct wire_batch;

#define SUM_IDLE_TAKES                                                                             \
    (MODEL_TAKES(kernel) | MODEL_TAKES(graph_run) | MODEL_TAKES(memcpy) | MODEL_TAKES(memset) |    \
     MODEL_TAKES(overhead))

#define IDLE_BACK_TO_BACK 4000ll     /* ns: what the GPU itself needs between two kernels */
#define IDLE_LAUNCHES     100000ll   /* ns: a host that does nothing but launch is not slower */
#define IDLE_WORK         10000000ll /* ns: longer than that the host was not about to launch */

enum idle_cause {
    IDLE_SYNC,    /* the host waited for the GPU */
    IDLE_COPY,    /* … in a copy or fill that returns when done */
    IDLE_MEMORY,  /* … in an allocation or a free */
    IDLE_CODE,    /* … in a load of code */
    IDLE_QUEUED,  /* work had been launched, but waited for an event, a stream or a device */
    IDLE_BETWEEN, /* back to back */
    IDLE_SLOW,    /* the host launched more slowly than the GPU ran */
    IDLE_LATE,    /* the host did something else before it launched */
    IDLE_NOTHING, /* nothing was submitted for long */
    IDLE_BEFORE,  /* before the first work */
    IDLE_AFTER,   /* after the last work */
    IDLE_ENGINE,  /* an engine of the profiler kept the host: wherever that was */
    IDLE_CAUSES,
};

struct idle_sum {
    uint64_t gaps; /* in which the cause has a part */
    int64_t time;  /* ns */
};

/* Launches that ended a gap, by stack. */
struct idle_launch {
    uint32_t node, cause; /* in model.stacks; enum idle_cause */
    uint64_t gaps;        /* not of the key */
    int64_t time;
};

struct idle_device {
    struct idle_spans spans; /* while the session is read */
    struct idle_sum causes[IDLE_CAUSES];
    int64_t watched; /* ns: the length of the sessions in which it did something, summed */
    bool any;        /* there was one */
};

struct idle_thread; /* the calls of a thread, while gaps are blamed */

struct sum_idle {
    struct idle_device *devices; /* owned; by index in model.devices */
    size_t device_count, device_cap;
    size_t max_spans;            /* of a device */
    struct idle_engines engines; /* while the session is read */
    struct keyed calls;          /* ns by stack of the log and call, until model_finish ends */
    struct keyed by_stack;       /* the same of launches, by stack of the log and cause */
    struct keyed launches;       /* struct idle_launch; after finish */
    struct idle_thread *threads; /* owned: while gaps are blamed */
    size_t thread_count;
    size_t waits;                /* that the threads were made of */
    int64_t doubtful;            /* ns of work that came after its gap had been told */
    bool unknown_device;         /* work of devices that the log does not tell apart: not blamed */
    struct idle_device *telling; /* whose gaps are being told */
};

void sum_idle_init(struct model *m);
void sum_idle_fini(struct model *m);
int sum_idle_batch(struct model *m, const struct wire_batch *b);
int sum_idle_merge(struct model *into, const struct model *from, int64_t shift);
int sum_idle_finish(struct model *m);

const char *sum_idle_key(enum idle_cause c);  /* "host_sync", … */
const char *sum_idle_text(enum idle_cause c); /* for people */

/* Idle time of all devices by cause and in all, and how many devices that is. Of sessions that ran
 * at the same time each counts its own. */
unsigned sum_idle_total(const struct model *m, struct idle_sum causes[IDLE_CAUSES], int64_t *all);

/* How long sessions watched the devices that worked, summed as the idle time is. */
int64_t sum_idle_watched(const struct model *m);

/* Appends so much of the idle time, and its share of what was watched: "9.54 s (71.2 % of the run)". */
void sum_idle_put(const struct model *m, int64_t ns, struct buf *out);

/* What part of the run so much of that is: of a device on average, in one session on average. */
int64_t sum_idle_of_run(const struct model *m, int64_t ns);

#endif
