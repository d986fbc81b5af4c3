/* snapshot.h - reads a monitor's line of JSON, which has its values at one moment.
 *
 * The line comes from another process: texts are cut and cleaned of control characters, counts are
 * bounded, and missing values are unknown (CELL_NULL, ""). Called by one thread only. */
#ifndef GPUFL_CLI_MONITOR_SNAPSHOT_H
#define GPUFL_CLI_MONITOR_SNAPSHOT_H

#include "base/err.h"
#include "wire/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEEN_GPUS_MOST = 64, SEEN_PROCESSES_MOST = 4096 };

struct seen_gpu {
    int64_t index; /* the driver's; CELL_NULL: it is not listed */
    bool up;       /* it answers */
    char uuid[96], name[128], driver[64];
    char vendor[16]; /* nvidia, amd, …; "": it was not reported */
    int64_t parts;   /* MIG; 0: it is not divided */
    int64_t xids,
        last_xid; /* XID errors since the monitor began; the code listed last, -1: other */
    struct device_metric_row row;
};

struct seen_process {
    int64_t gpu; /* place in gpus */
    int64_t pid, uid;
    int64_t memory_used, sm_util; /* bytes, % */
    char name[64], user[40];
    char container[72], pod[40], pod_name[160], job[24];
    char session[40]; /* of gpufl; "": unknown */
    char scope[96];   /* the innermost one that is open there; "": unknown */
};

struct snapshot {
    char monitor[32], host[72], session[40], log[512], problem[384];
    int64_t interval_ms, age_ms;
    int64_t cpu, memory_used, memory_total; /* of the host: 0.01 %, bytes, bytes */
    struct seen_gpu *gpus;                  /* owned */
    size_t gpu_count, gpu_cap;
    struct seen_process *processes; /* owned */
    size_t process_count, process_cap;
};

void snapshot_fini(struct snapshot *s);

/* Reads the line into s, whose memory is used again. GPUFL_E_INVAL: the line is not a monitor's. */
int snapshot_read(struct snapshot *s, const char *text, size_t len, struct err *e);

/* Adds the names of users. With `sessions`, also searches for the sessions of this user's
 * processes, of a bounded number of them: a monitor of another user may not see these. */
void snapshot_complete(struct snapshot *s, const char *proc, bool sessions);

#endif
