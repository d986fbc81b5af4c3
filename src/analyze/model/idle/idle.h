/* idle.h - why the GPU was idle: every gap gets its causes.
 *
 * Idle time of a device is the session's length without the union of its kernels, copies and fills.
 * If the session has windows of capture, only gaps inside a window count. A gap lies between the
 * end of one piece of work and the start of the next, which some thread launched. If the row does
 * not name that thread, it is found from the number of launches that each thread counts. What that
 * thread did in the gap is the cause:
 *   - calls in which the thread was blocked, for their time inside the gap;
 *   - the call in which the gap began, or which returned before the gap and was followed by no
 *     launch. Such a call is also the cause of the time after its return, up to its own length:
 *     without the call the thread could have launched that much earlier;
 *   - for the rest the thread itself, which launched late. If the log says when the launch began
 *     (captured.h), the time from then on belongs to the launch. If the launch began before the
 *     gap, the work was queued, or another process used the GPU (others.h). Time in which an engine
 *     of the profiler kept the thread (engines.h) is taken out first and is in no other part.
 *
 * If several threads may have launched, or the thread was in no such call, a call of another thread
 * counts if the gap began in it and it returned in the gap. The parts of a gap always sum up to the
 * gap, the times of all causes to the idle time, and the rows by line (lines.h) to the time of each
 * cause. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_IDLE_H
#define GPUFL_ANALYZE_MODEL_IDLE_IDLE_H

#include "analyze/model/idle/captured.h"
#include "analyze/model/idle/cause.h"
#include "analyze/model/idle/changed.h"
#include "analyze/model/idle/engines.h"
#include "analyze/model/idle/gap_list.h"
#include "analyze/model/idle/lines.h"
#include "analyze/model/idle/others.h"
#include "analyze/model/idle/parts.h"
#include "analyze/model/idle/spans.h"
#include "analyze/model/system/devices.h"
#include "analyze/model/threads/activity.h"
#include "analyze/model/threads/holders.h"
#include "analyze/model/threads/looks.h"
#include "base/buf.h"
#include "base/keyed.h"

struct model;
struct wire_batch;

#define SUM_IDLE_TAKES                                                                             \
    (MODEL_TAKES(kernel) | MODEL_TAKES(graph_run) | MODEL_TAKES(memcpy) | MODEL_TAKES(memset) |    \
     MODEL_TAKES(overhead) | MODEL_TAKES(launch) | MODEL_TAKES(host_sample) |                      \
     MODEL_TAKES(device_metric))

#define IDLE_BACK_TO_BACK 4000ll     /* ns: what the GPU itself needs between two kernels */
#define IDLE_LAUNCHES     100000ll   /* ns: a host that does nothing but launch is not slower */
#define IDLE_WORK         10000000ll /* ns: a host that takes longer was not about to launch */

struct idle_sum {
    uint64_t gaps; /* gaps in which the cause has a part */
    int64_t time;  /* ns */
    struct idle_longest longest;
};

struct idle_device {
    struct idle_spans spans; /* while the session is read */
    struct idle_sum causes[IDLE_CAUSES];
    int64_t watched;         /* ns: the length of the sessions in which the device worked, summed */
    int64_t steady;          /* ns of it in steady parts; sessions without one count whole */
    int64_t after;           /* ns after its last work in sessions with a steady part */
    int64_t start_up_engine; /* ns of IDLE_START_UP in which an engine kept the program */
    bool any;                /* the device worked in some session */
    bool shared;             /* at some moment another process had a context on it */
};

struct idle_thread; /* the calls of a thread, while gaps are blamed */

struct sum_idle {
    struct idle_device *devices; /* owned; by index in model.devices */
    size_t device_count, device_cap;
    size_t max_spans;              /* spans of a device */
    struct idle_engines engines;   /* while the session is read */
    struct keyed calls;            /* ns by stack of the log and call, until model_finish ends */
    struct idle_captured captured; /* like looks, others and parts: while the session is read */
    struct idle_looks looks;
    struct idle_others others;
    struct idle_parts parts;
    struct idle_lines lines;   /* after finish, like the next */
    struct idle_gap_list gaps; /* in order after finish; its stacks are ids of the log */
    struct idle_stretches stretches[ACTIVITIES];
    struct idle_stretches loads;             /* calls that load or unload code */
    struct idle_changed changed[ACTIVITIES]; /* after finish: of compilers */
    struct idle_holders holders;             /* after finish: of the interpreter's lock */
    struct idle_thread *threads;             /* owned: while gaps are blamed */
    size_t thread_count;
    size_t waits;                /* number of waits when `threads` was made */
    int64_t doubtful;            /* ns of work in gaps that were reported already */
    int64_t ended;               /* ns: end of the last work, until finish; INT64_MIN: none */
    bool unknown_device;         /* some work has no device in the log: it has no gaps */
    struct idle_device *current; /* the device whose gaps are being reported */
};

void sum_idle_init(struct model *m);
void sum_idle_fini(struct model *m);
int sum_idle_batch(struct model *m, const struct wire_batch *b);
int sum_idle_merge(struct model *into, const struct model *from, int64_t shift);
int sum_idle_finish(struct model *m);

const char *sum_idle_key(enum idle_cause c);  /* "host_sync", … */
const char *sum_idle_text(enum idle_cause c); /* for people: "the host waited for the GPU", … */
/* Returns the cause's one name for people: "host waits", … Bars, tables and titles have it. */
const char *sum_idle_name(enum idle_cause c);

/* Sums the idle time of all devices by cause, and in total; returns how many devices. Concurrent
 * sessions count separately. */
unsigned sum_idle_total(const struct model *m, struct idle_sum causes[IDLE_CAUSES], int64_t *all);

/* sum_idle_steady is like sum_idle_total, for the share base (steps/steps.h) alone: if that is the
 * steady part, IDLE_START_UP and the time after a device's last work are left out.
 * sum_idle_start_up_engine: the time of engines in IDLE_START_UP. */
int64_t sum_idle_start_up_engine(const struct model *m); /* ns, of all devices */
unsigned sum_idle_steady(const struct model *m, struct idle_sum causes[IDLE_CAUSES], int64_t *all);

/* Copies the causes of one device without the time that is outside the share base. */
void sum_idle_device_steady(const struct model *m, const struct idle_device *d,
                            struct idle_sum causes[IDLE_CAUSES]);

/* Returns true if idle time of that cause belongs to the share base. */
bool sum_idle_counts(const struct model *m, enum idle_cause c);

/* Returns how long sessions observed the devices that worked, ns in the share base, summed like the
 * idle time. */
int64_t sum_idle_watched(const struct model *m);

/* Returns true if idle time is a number, also 0: a device was watched, or it is known that none
 * worked.
 */
bool sum_idle_is_known(const struct model *m);

/* Holds what GPUs did in the observed time while they were not idle. unknown: in windows of
 * capture, the time before the first work and after the last. */
struct idle_busy {
    int64_t kernels, any; /* ns with a kernel; ns with a kernel, copy or fill */
    int64_t unknown;      /* ns */
};
void sum_idle_busy(const struct model *m, int64_t idle, struct idle_busy *out);

/* Appends an idle time with its share of the observed time: "9.54 s (71.2 % of the run)". */
void sum_idle_put(const struct model *m, int64_t ns, struct buf *out);

/* Returns an idle time as a part of the run: that of an average device in an average session. */
int64_t sum_idle_of_run(const struct model *m, int64_t ns);

#endif
