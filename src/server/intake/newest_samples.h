/* newest_samples.h - the newest samples of a session's host and GPUs, and of a monitor's processes,
 * parts of GPUs (MIG) and counts.
 *
 * While a session is loaded, the newest known value of each column of `host_metric` and
 * `device_metric` is kept, for the host and each GPU, from any client. A sampler reads some values
 * less often than others, and leaves them unknown in the rows between; a value that is older than
 * NEWEST_KEPT_S when the newest row comes counts as unknown. After a commit the fleet (fleet.h)
 * gets the values, if some are new. Among the processes and the parts of a GPU the fleet gets only
 * the highest and the lowest value of each column, and whose they are: the size is bounded, and
 * rules of alerts need no more. Used by one session's loader thread. */
#ifndef GPUFL_SERVER_INTAKE_NEWEST_SAMPLES_H
#define GPUFL_SERVER_INTAKE_NEWEST_SAMPLES_H

#include "server/intake/registry.h"

struct fleet;

/* gpufl-monitor reads the rarest values once a minute. */
enum { NEWEST_KEPT_S = 130, NEWEST_CELLS = 8, NEWEST_MEMBERS = 4096 /* processes and parts */ };

/* This is a process on a GPU, or a part of a GPU, with its newest row. */
struct newest_member {
    bool is_part;
    int64_t device, key; /* key: process id, or number of the GPU instance */
    int64_t cells[NEWEST_CELLS];
    int32_t at; /* s: time of that row */
};

struct newest_gpu {
    int64_t id; /* in the log */
    int64_t cells[COL_device_metric_COUNT];
    int32_t at[COL_device_metric_COUNT]; /* s: time of each cell's row */
};

struct newest_samples {
    bool changed;    /* since the fleet got the values */
    int64_t newest;  /* time of the newest row of any record; CELL_NULL: none */
    bool host_known; /* host has a row */
    int64_t host[COL_host_metric_COUNT];
    /* Like newest_gpu.at. */
    int32_t host_at[COL_host_metric_COUNT];
    struct newest_gpu *gpus; /* owned: REGISTRY_GPUS at most; NULL: no samples of GPUs */
    size_t gpu_count, gpu_cap;
    struct newest_member *members; /* owned; NULL: not a monitor's session */
    size_t member_count, member_cap;
    bool monitor_known; /* monitor has a row */
    int64_t monitor[COL_monitor_COUNT];
    int32_t monitor_at; /* as newest_gpu.at */
};

void newest_samples_init(struct newest_samples *l);
void newest_samples_fini(struct newest_samples *l);
void newest_samples_batch(struct newest_samples *l, const struct wire_batch *b);

/* Gives the fleet, if something is new, the host and every GPU whose UUID the registry knows. Times
 * become ns since the Unix epoch by the host's clock, at most now; until that clock is known,
 * nothing is given. */
void newest_samples_report(struct newest_samples *l, const struct registry *r, struct fleet *f,
                           const char *workspace, const char *session, int64_t now);

#endif
