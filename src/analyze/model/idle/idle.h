/* idle.h - why the GPU was idle: every gap gets its causes.
 *
 * Idle time is the session's length less the union of kernels, copies and fills of a device;
 * where the session has windows of capture, the gaps inside one. A gap lies between the end of
 * one piece of work and the start of the next, which some thread launched. Where the row does not
 * name that thread, it is found by the launches that threads count at each call. What the thread
 * did in the gap is to blame:
 *   - calls in which it was blocked, for as long as they lie in the gap;
 *   - the call in which the gap began, or that returned before it with nothing launched since,
 *     also for what follows its return, up to its own length: the thread could have launched that
 *     much earlier without it;
 *   - for the rest the thread itself, which launched late. Where the log says when the launch
 *     began (captured.h), what follows is the launch's, and what was launched before the gap began
 *     was queued, or another process used the GPU (others.h). Before all of these come stretches
 *     in which an engine of the profiler kept the thread (engines.h): they are in no other part.
 *
 * Where several threads may have launched, or the thread was in no such call, a call of another
 * thread counts in which the gap began and which returned in it. The parts of a gap always sum up
 * to it, the shares of all causes to the idle time, and the rows by line (lines.h) to the time of
 * each cause. Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_IDLE_H
#define GPUFL_ANALYZE_MODEL_IDLE_IDLE_H

#include "analyze/model/idle/activity.h"
#include "analyze/model/idle/captured.h"
#include "analyze/model/idle/cause.h"
#include "analyze/model/idle/engines.h"
#include "analyze/model/idle/gap_list.h"
#include "analyze/model/idle/holders.h"
#include "analyze/model/idle/lines.h"
#include "analyze/model/idle/looks.h"
#include "analyze/model/idle/others.h"
#include "analyze/model/idle/parts.h"
#include "analyze/model/idle/spans.h"
#include "analyze/model/system/devices.h"
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
#define IDLE_WORK         10000000ll /* ns: longer than that the host was not about to launch */

struct idle_sum {
    uint64_t gaps; /* gaps in which the cause has a part */
    int64_t time;  /* ns */
    struct idle_longest longest;
};

struct idle_device {
    struct idle_spans spans; /* while the session is read */
    struct idle_sum causes[IDLE_CAUSES];
    int64_t watched;         /* ns: the length of the sessions in which it did something, summed */
    int64_t steady;          /* ns of it: the steady parts; of sessions without one the whole */
    int64_t after;           /* ns after its last work in sessions with a steady part */
    int64_t start_up_engine; /* ns of IDLE_START_UP in which an engine kept the program */
    bool any;                /* there was one */
    bool shared;             /* at some moment another process had a context on it */
};

struct idle_thread; /* the calls of a thread, while gaps are blamed */

struct sum_idle {
    struct idle_device *devices; /* owned; by index in model.devices */
    size_t device_count, device_cap;
    size_t max_spans;              /* spans of a device */
    struct idle_engines engines;   /* while the session is read */
    struct keyed calls;            /* ns by stack of the log and call, until model_finish ends */
    struct idle_captured captured; /* as all down to parts: while the session is read */
    struct idle_looks looks;
    struct idle_others others;
    struct idle_parts parts;
    struct idle_lines lines;   /* after finish, as the next */
    struct idle_gap_list gaps; /* in order after finish; its stacks are ids of the log */
    struct idle_stretches stretches[ACTIVITIES];
    struct idle_stretches loads; /* calls that load or unload code */
    struct idle_holders holders; /* after finish: of the interpreter's lock */
    struct idle_thread *threads; /* owned: while gaps are blamed */
    size_t thread_count;
    size_t waits;                /* number of waits that the threads were made from */
    int64_t doubtful;            /* ns of work in gaps that were reported already */
    int64_t ended;               /* ns: end of the last work, until finish; INT64_MIN: none */
    bool unknown_device;         /* work of devices that the log does not name: it has no gaps */
    struct idle_device *current; /* the device whose gaps are being reported */
};

void sum_idle_init(struct model *m);
void sum_idle_fini(struct model *m);
int sum_idle_batch(struct model *m, const struct wire_batch *b);
int sum_idle_merge(struct model *into, const struct model *from, int64_t shift);
int sum_idle_finish(struct model *m);

const char *sum_idle_key(enum idle_cause c);  /* "host_sync", … */
const char *sum_idle_text(enum idle_cause c); /* for people */

/* Sums the idle time of all devices by cause and in all; returns how many devices. Sessions that
 * ran at the same time count each on its own. */
unsigned sum_idle_total(const struct model *m, struct idle_sum causes[IDLE_CAUSES], int64_t *all);

/* sum_idle_steady is sum_idle_total for the share base (steps/steps.h): where that
 * is the steady part, without IDLE_START_UP, and without what follows a device's last work. */
int64_t sum_idle_start_up_engine(const struct model *m); /* ns, of all devices */
unsigned sum_idle_steady(const struct model *m, struct idle_sum causes[IDLE_CAUSES], int64_t *all);

/* Takes the time that shares do not refer to out of the causes of one device. */
void sum_idle_device_steady(const struct model *m, const struct idle_device *d,
                            struct idle_sum causes[IDLE_CAUSES]);

/* True where idle time of that cause belongs to the share base. */
bool sum_idle_counts(const struct model *m, enum idle_cause c);

/* How long sessions observed the devices that worked, as far as it is in the share base, summed as
 * the idle time is: ns. */
int64_t sum_idle_watched(const struct model *m);

/* True where idle time is a number, also 0: a device was watched, or it is known that none worked.
 */
bool sum_idle_is_known(const struct model *m);

/* What GPUs did in that time while they were not idle. unknown: of windows of capture, nothing is
 * known of what ran before the first work in one and after the last. */
struct idle_busy {
    int64_t kernels, any; /* ns with a kernel; with a kernel, copy or fill */
    int64_t unknown;      /* ns */
};
void sum_idle_busy(const struct model *m, int64_t idle, struct idle_busy *out);

/* Appends an idle time and its share of the observed time: "9.54 s (71.2 % of the run)". */
void sum_idle_put(const struct model *m, int64_t ns, struct buf *out);

/* The part of the run that an idle time is: on an average device, in an average session. */
int64_t sum_idle_of_run(const struct model *m, int64_t ns);

#endif
