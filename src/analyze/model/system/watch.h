/* watch.h - sums up what gpufl-monitor recorded of each GPU: the processes that held it, when no
 * kernel ran on it, when heat or the hardware slowed its clocks, and what failed.
 *
 * Only sessions of a monitor have the rows for this part. A GPU is idle, or slowed, between two
 * consecutive samples that both say so. Time between samples that are not consecutive (the monitor
 * was stopped, the GPU was lost) is neither. Idle time counts in stretches of a minute or more,
 * which also limits their number. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SYSTEM_WATCH_H
#define GPUFL_ANALYZE_MODEL_SYSTEM_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_WATCH_TAKES                                                                            \
    (MODEL_TAKES(gpu_process) | MODEL_TAKES(gpu_event) | MODEL_TAKES(device_metric) |              \
     MODEL_TAKES(monitor))

/* Lists the bits of device_metric.throttle for heat or hardware: a slowdown, both kinds of heat, a
 * power brake. A power cap alone is normal for a GPU. */
enum { WATCH_HEAT = 32 | 64, WATCH_HARDWARE = 8 | 128 };

struct watch_span {
    int64_t from, to; /* ns on the model's clock */
};

struct watch_spans {
    struct watch_span *items; /* owned; after finish in order */
    size_t count, cap;
    int64_t open; /* begin of the span that goes on; CELL_NULL: none */
};

/* Describes a process on a GPU. Names are ids of model.names; 0: unknown, or none. */
struct watch_process {
    uint32_t device; /* index in model.devices */
    uint32_t name, pod, pod_name, job;
    int64_t pid, uid;       /* uid CELL_NULL: unknown */
    struct watch_span time; /* to CELL_NULL: until the session's end */
};

/* Counts equal events of a GPU. */
struct watch_event {
    uint32_t device, kind; /* kind: name */
    int64_t code;          /* CELL_NULL: none */
    int64_t count, first, last;
};

struct watch_device {
    int64_t at, step;          /* ns of the newest sample; the least time between two. 0: unknown */
    bool was_idle, was_slowed; /* at that sample */
    int64_t seen;              /* ns between consecutive samples */
    int64_t heat, hardware;    /* ns of `slowed` with a reason of that kind */
    int64_t lost, lost_since;  /* ns without an answer; since when, CELL_NULL: it answers */
    struct watch_spans idle, slowed;
    int64_t held, held_idle;   /* ns; after finish: a process had a context, and no kernel ran */
    struct watch_span longest; /* after finish: stretch of held_idle */
};

struct sum_watch {
    bool is_monitor;              /* the rows are a monitor's */
    struct watch_device *devices; /* owned; by index in model.devices */
    size_t device_count, device_cap;
    struct watch_process *processes; /* owned; after finish by device and begin */
    size_t process_count, process_cap;
    size_t *open; /* owned: indexes in processes of those that go on */
    size_t open_count, open_cap;
    struct watch_event *events; /* owned */
    size_t event_count, event_cap;
    int64_t slept;     /* ns that the machine slept, at least; from one monitor's counter */
    int64_t missed;    /* rounds of sampling that did not take place; from that monitor, too */
    uint64_t left_out; /* processes, events and stretches for which there was no room */
};

void sum_watch_init(struct model *m);
void sum_watch_fini(struct model *m);
int sum_watch_batch(struct model *m, const struct wire_batch *b);
int sum_watch_merge(struct model *into, const struct model *from, int64_t shift);
int sum_watch_finish(struct model *m);

/* Returns the ns that both cover. The list is sorted, and its spans do not overlap. */
int64_t sum_watch_overlap(struct watch_span x, const struct watch_spans *s);

/* Returns the process that was on the GPU for most of these spans, its times summed; NULL: none.
 * *time gets that sum, ns. */
const struct watch_process *sum_watch_who(const struct model *m, uint32_t device,
                                          const struct watch_spans *s, int64_t *time);

#endif
