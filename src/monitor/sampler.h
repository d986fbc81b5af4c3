/* sampler.h - samples devices and the host at an interval, on a thread of its own.
 *
 * The thread reads all metrics at absolute deadlines, so that the interval does not drift: from
 * start to end, or only while a scope or a window is open. Rows wait in a bounded queue until the
 * collector takes them. The device library is opened on the thread that opens the sampler, and then
 * called on the sampler's thread only, so that a driver that hangs stops nothing but metrics. The
 * calls of each vendor are in device_ops.
 *
 * Where sessions share their samples (roles.h), the host and each GPU are sampled by one of their
 * processes at a time. The others sample only themselves, and name the process that does the rest.
 * When a window opens in such a process, the newest sample is one interval old at most. */
#ifndef GPUFL_MONITOR_SAMPLER_H
#define GPUFL_MONITOR_SAMPLER_H

#include "backend/backend.h"
#include "monitor/roles.h"

#include <stdbool.h>
#include <stdint.h>

struct sampler_config {
    const struct device_ops *devices; /* NULL: none */
    int64_t interval_ns;
    bool continuous;
    int pid;                     /* whose CPU and memory are sampled; 0: this process's */
    bool (*in_scope)(void *arg); /* [sampler] is a scope open anywhere? */
    void (*wake)(void *arg);     /* [any] the queue fills up */
    void *arg;
    const char *folder;      /* of the roles; NULL: this process samples all. Copied */
    bool keep_folder;        /* when the last process leaves it */
    bool any_monitor;        /* a monitor's samples are enough, however often it takes them */
    struct role_holder self; /* how this process describes itself there */
};

/* From `time` on, another process samples a device or the host. */
struct sampler_change {
    int64_t time;
    int device; /* the driver's index; -1: the host */
    bool ours;  /* this session, again */
    struct role_holder holder;
};

/* Takes rows for the collector; times are clock_mono's. */
struct sampler_visitor {
    void *arg;
    /* A device as its driver describes it; index is the one of device_metric rows. */
    void (*device)(void *arg, int index, const struct device_row *row,
                   const struct device_text *text);
    /* device_metric: column device holds the driver's index; host_metric; window: name is
     * the id given to sampler_window, 0 for scopes. */
    void (*row)(void *arg, enum record_type type, const int64_t *row);
    /* This session begins or ceases to use another session's samples. May be NULL. */
    void (*change)(void *arg, const struct sampler_change *c);
};

/* Holds the outcome of the sampler, for the session's record. */
struct sampler_status {
    int64_t device_samples, host_samples; /* rows queued */
    int64_t device_failures;              /* samples that failed */
    int failed, failed_first; /* devices with a failed sample; the driver's index of the first */
    int64_t dropped;          /* rows for which the queue had no room */
    int64_t devices_relied, host_relied; /* samples left to another session */
    char holder[ROLE_SESSION];           /* that session, the last one; "" */
    int64_t cpu_ns;                      /* of the thread */
    int devices;                         /* opened; -1: not yet */
    char problem[384];                   /* why devices cannot be sampled; "" */
};

struct sampler;

/* Opens the device library, which some vendors allow on the program's thread only (nvml.h), and
 * starts the sampler's thread. 0 or GPUFL_E_NOMEM. [owner] */
int sampler_open(struct sampler **out, const struct sampler_config *c);

/* Opens and closes a window; false: a close without an open, or too many names. [any] */
bool sampler_window(struct sampler *s, uint32_t name, bool open);

/* Gives all queued rows to the visitor, which removes them from the queue. [collector] */
void sampler_drain(struct sampler *s, const struct sampler_visitor *v);
void sampler_status(struct sampler *s, struct sampler_status *out); /* [any] */

/* Stops the thread and waits for it; queued rows can still be drained. A continuous sampler has
 * taken at least one sample by then. [owner] */
void sampler_stop(struct sampler *s);
void sampler_close(struct sampler *s); /* [owner] */

#endif
