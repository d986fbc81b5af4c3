/* cgroup.h - reads the CPU limit of a process's control group, and how often it stopped threads.
 *
 * A limit is a quota of CPU time for each period (cgroup v2: cpu.max, v1: cpu.cfs_quota_us). When a
 * group has used up its quota, all of its threads are stopped until the next period. Limits of
 * parent groups apply, too: the lowest of those that are visible in the process's mount of control
 * groups counts. A limit of a group that a container cannot see is not known.
 *
 * Files are opened once and read again from the start. Called by one thread only. */
#ifndef GPUFL_MONITOR_CGROUP_H
#define GPUFL_MONITOR_CGROUP_H

#include "base/file/file.h"

#include <stdbool.h>
#include <stdint.h>

enum cgroup_file { CGROUP_STAT, CGROUP_QUOTA, CGROUP_PERIOD, CGROUP_FILES };

struct cgroup {
    int fd[CGROUP_FILES]; /* -1: there is none */
    struct file_id id[CGROUP_FILES];
    bool v2;
};

/* Counts since the group exists; CELL_NULL: unknown. */
struct cgroup_cpu {
    int64_t limit; /* % x 100 of a core; CELL_NULL: none, or unknown */
    int64_t periods, throttled;
    int64_t throttled_time; /* ns, summed over cores */
};

/* Opens the group of a process. proc: "/proc", or a directory like it; process: its name there
 * ("self", "4711"). 0 or GPUFL_E_NOMEM; a group that is not found is unknown. */
int cgroup_open(struct cgroup *g, const char *proc, const char *process);
void cgroup_close(struct cgroup *g);

void cgroup_read(struct cgroup *g, struct cgroup_cpu *out);

#endif
