/* page.h - keeps the values of /metrics: the newest ones of every GPU, of the host, and of
 * workloads.
 *
 * The sampling thread writes the values, the page's thread reads them, under one lock, which is
 * never held during a call of the driver. A value that the driver gives at a lower rate stays until
 * it is too old; an unknown value is left out. Processes are summed by workload (GPU, container,
 * pod, job, session). The number of workloads is bounded, so that labels do not grow with all
 * processes there ever were; processes that find no room are counted. The live view (live.h) shows
 * single processes.
 */
#ifndef GPUFL_MONITORD_PAGE_H
#define GPUFL_MONITORD_PAGE_H

#include "base/buf.h"
#include "monitord/gpus.h"
#include "monitord/journal.h"
#include "monitord/processes.h"
#include "wire/record.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { WORKLOADS_MOST = 256, XIDS_MOST = 32, PARTS_OF_GPU = 8 };

struct shown_xid {
    int64_t code; /* -1: all others */
    uint64_t count;
};

struct shown_gpu {
    int index; /* -1: not listed */
    bool lost;
    char uuid[96], name[128], pci[32], driver[64], vendor[16];
    int64_t cells[COL_device_metric_COUNT];
    int64_t at[COL_device_metric_COUNT]; /* steady ns of each cell */
    struct shown_xid xids[XIDS_MOST];
    int xid_count;
    int64_t last_xid; /* CELL_NULL: none */
    struct device_instance parts[PARTS_OF_GPU];
    int part_count;
};

struct shown_workload {
    int gpu;
    char container[72], pod[40], pod_name[OWNER_POD_NAME], job[24], session[TRACED_SESSION];
    int64_t processes;
    int64_t memory_used; /* bytes; CELL_NULL: unknown for one of the processes */
    int64_t sm_util;     /* % of the busiest process; CELL_NULL: unknown */
};

struct shown_process {
    int gpu;
    struct device_process now;
    struct owner owner;
};

struct page {
    pthread_mutex_t lock;
    int64_t stale_ns;       /* age at which a cell is no longer shown */
    struct shown_gpu *gpus; /* owned; GPUS_MOST; guarded by lock, as all below */
    int count;
    struct shown_workload *workloads; /* owned; WORKLOADS_MOST */
    int workload_count;
    uint64_t workloads_omitted;      /* processes that found no room among the workloads */
    struct shown_process *processes; /* owned */
    size_t process_count, process_cap;
    struct host_metric_row host;
    struct monitor_row counts;
    int64_t round_at; /* steady ns of the last round; 0: none yet */
    char problem[384];
};

int page_init(struct page *p, int64_t interval_ns);
void page_fini(struct page *p);

/* ---- [sampling thread] */
void page_gpus(struct page *p, const struct gpus *g);
void page_sample(struct page *p, int gpu, const struct device_metric_row *row, int64_t now);
void page_xid(struct page *p, int gpu, int64_t code, int64_t count);
void page_parts(struct page *p, int gpu, const struct device_instance *parts, int count);
void page_processes(struct page *p, const struct processes *t);
void page_round(struct page *p, const struct host_metric_row *host,
                const struct monitor_row *counts, const char *problem, int64_t now);
void page_counts(struct page *p, const struct monitor_row *counts); /* between two rounds */

/* ---- [page's thread] */
void page_fill(void *arg, struct buf *out);
bool page_healthy(void *arg, char *why, size_t size);

#endif
