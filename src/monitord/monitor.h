/* monitor.h - makes the rounds of sampling: when each value is read, and where it is written.
 *
 * One thread reads the driver and /proc at absolute deadlines, which do not drift; missed rounds
 * are counted. Events are taken when they come, ten times a second at most. Each round samples
 * every GPU and the host; processes, parts (MIG) and the counts are read at lower rates. A driver
 * that does not answer blocks this thread alone: the page, the log and the end of the program still
 * work. */
#ifndef GPUFL_MONITORD_MONITOR_H
#define GPUFL_MONITORD_MONITOR_H

#include "backend/backend.h"
#include "base/process/thread.h"
#include "monitor/host.h"
#include "monitord/announced.h"
#include "monitord/events.h"
#include "monitord/gpus.h"
#include "monitord/journal.h"
#include "monitord/live.h"
#include "monitord/page.h"
#include "monitord/processes.h"
#include "monitord/rundir.h"

struct monitor {
    const struct monitor_options *options;
    struct gpus gpus;
    struct events events;
    struct announced announced;
    struct processes processes;
    struct page page;
    struct journal journal;
    struct rundir rundir;
    struct live live;
    struct host host;

    struct thread thread;
    struct wakeup wake;  /* of the thread: to end, or to take events */
    struct wakeup ended; /* by the thread */
    _Atomic bool stop;

    uint64_t generation; /* of the session that was described; the thread's, as all below */
    struct role_holder self;
    struct monitor_row counts;
    int64_t processes_due, parts_due, counts_due; /* steady ns */
    struct event_seen seen[EVENTS_MOST];
};

/* Prepares all but the log and the run folder, and opens the driver. 0, or the code of the driver,
 * with the sentence in m->gpus.problem; the monitor can run without a driver. [main] */
int monitor_init(struct monitor *m, const struct monitor_options *o, const struct device_ops *ops);

/* Begins the rounds. The log and the run folder must be open. [main] */
int monitor_start(struct monitor *m);

/* Makes one round, for the thread and for benchmarks. */
void monitor_round(struct monitor *m, int64_t now);

/* Ends the rounds; false: the driver does not answer, and the thread remains in its call. [main] */
bool monitor_stop(struct monitor *m);
void monitor_fini(struct monitor *m);

#endif
