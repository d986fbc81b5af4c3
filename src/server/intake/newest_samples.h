/* newest_samples.h - the newest samples of a session's host and GPUs, and of a monitor's processes,
 * parts of GPUs (MIG) and counts.
 *
 * Collected while the session is loaded, from rows of `host_metric` and `device_metric`
 * whichever client wrote them: of each GPU, and of the host, the newest known value of each column.
 * A sampler reads some of them less often than others, and leaves them unknown in the rows between;
 * a value that is older than NEWEST_KEPT_S when the newest row comes is unknown. After a commit
 * they go to the fleet (fleet.h), if something of them is new. The fleet gets the highest and the
 * lowest value of each column among the processes and the parts of a GPU, with whose it is: that is
 * bounded however many there are, and all that a rule of alerts needs. One session's loader. */
#ifndef GPUFL_SERVER_INTAKE_NEWEST_SAMPLES_H
#define GPUFL_SERVER_INTAKE_NEWEST_SAMPLES_H

#include "server/intake/registry.h"

struct fleet;

/* gpufl-monitor reads the slowest of them once a minute. */
enum { NEWEST_KEPT_S = 130, NEWEST_CELLS = 8, NEWEST_MEMBERS = 4096 /* processes and parts */ };

/* A process on a GPU, or a part of one, with its newest row. */
struct newest_member {
    bool is_part;
    int64_t device, key; /* key: process id, or number of the GPU instance */
    int64_t cells[NEWEST_CELLS];
    int32_t at; /* s: time of that row */
};

struct newest_gpu {
    int64_t id; /* of the log; 0: free */
    int64_t cells[COL_device_metric_COUNT];
    int32_t at[COL_device_metric_COUNT]; /* s: time of the row that each cell is of */
};

struct newest_samples {
    bool changed;    /* since the fleet got it */
    int64_t newest;  /* time of the newest row of any record; CELL_NULL: none */
    bool host_known; /* host has a row */
    int64_t host[COL_host_metric_COUNT];
    int32_t host_at[COL_host_metric_COUNT]; /* as newest_gpu.at */
    struct newest_gpu gpus[REGISTRY_GPUS];
    struct newest_member *members; /* owned; NULL: no monitor's session */
    size_t member_count, member_cap;
    bool monitor_known; /* monitor has a row */
    int64_t monitor[COL_monitor_COUNT];
    int32_t monitor_at; /* as newest_gpu.at */
};

void newest_samples_init(struct newest_samples *l);
void newest_samples_fini(struct newest_samples *l);
void newest_samples_batch(struct newest_samples *l, const struct wire_batch *b);

/* Reports to the fleet, if something is new: the host and every GPU that the registry knows by its
 * UUID. Times become the host's clock since the epoch, never later than now; where that
 * is not known yet, all of it waits. */
void newest_samples_tell(struct newest_samples *l, const struct registry *r, struct fleet *f,
                         const char *workspace, const char *session, int64_t now);

#endif
