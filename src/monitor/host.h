/* host.h - reads CPU and memory of the host and of this process, from /proc, and the CPU limit of
 * the process's control group.
 *
 * Files are opened once and read again from the start. Shares and counts are differences to the
 * sample before; the first sample has none. Where another process samples the host (roles.h), only
 * the values of this process are read. Called by one thread only. */
#ifndef GPUFL_MONITOR_HOST_H
#define GPUFL_MONITOR_HOST_H

#include "base/file/file.h"
#include "monitor/cgroup.h"
#include "wire/record.h"

#include <stdbool.h>
#include <stdint.h>

enum host_file {
    HOST_STAT,
    HOST_MEMINFO,
    HOST_SELF_STAT,
    HOST_SELF_STATM,
    HOST_VMSTAT,
    HOST_PRESSURE,
    HOST_FILES
};

/* Holds counters since the host or the process started; CELL_NULL: unknown. */
struct host_counters {
    int64_t faults_major;
    int64_t swap_in, swap_out; /* bytes */
    int64_t memory_waits;      /* ns */
    struct cgroup_cpu cpu;
};

struct host_ticks {
    bool host, process_known; /* what could be read */
    int64_t busy, total;      /* ticks of all cores since the host started */
    int64_t process;          /* ticks of this process */
    int64_t time;             /* steady ns at which process was read */
    struct host_counters counters;
};

struct host {
    int fd[HOST_FILES];            /* -1: cannot be read */
    struct file_id id[HOST_FILES]; /* of the files that fd refers to */
    struct cgroup group;
    char text[1 << 14]; /* contents of vmstat while it is read */
    struct host_ticks before;
};

/* Opens a host. proc: "/proc", or a directory like it. pid: the process whose CPU and memory are
 * read; 0: this one. 0 or GPUFL_E_NOMEM; host_close must be called in both cases. */
int host_open(struct host *h, const char *proc, int pid);
void host_close(struct host *h);

/* Fills all columns but time; values that cannot be read, or are not wanted, are CELL_NULL. now:
 * steady ns. whole: the host, too, not only this process. False: nothing was read. */
bool host_sample(struct host *h, int64_t now, bool whole, struct host_metric_row *row);

#endif
