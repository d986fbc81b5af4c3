/* bench_monitor_day.c - writes the log of a day within minutes: the monitor's rounds run with a
 * clock that jumps.
 *
 * Usage: bench_monitor_day DIR ROUNDS INTERVAL_MS; over the fake management library. Prints the
 * rounds, the rows lost, and the bytes before compression. */
#include "base/clock.h"
#include "monitord/monitor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Each reading of the clock advances it by LOOK ns, and by less than MORE ns in addition, so that
 * the window of PCIe's counters is over at the first reading. */
enum { LOOK = 2100000, MORE = 400000 };

static int64_t now = 1000000000;

static int64_t jumping(void)
{
    return now += LOOK + random() % MORE;
}

int main(int argc, char **argv)
{
    static struct monitor m;
    struct monitor_options o = {.log_path = argc > 1 ? argv[1] : ".",
                                .name = "gpufl-monitor",
                                .run_dir = argc > 1 ? argv[1] : ".",
                                .process_interval = 5000000000,
                                .write_interval = 5000000000,
                                .rotate = 8 << 20};
    long rounds = argc > 2 ? atol(argv[2]) : 1000;
    o.interval = (argc > 3 ? atol(argv[3]) : 1000) * 1000000;
    struct err e = {0};
    /* The day begins at midnight. */
    clock_set_source(jumping, INT64_C(1795824000000000000));
    if (monitor_init(&m, &o, backend_nvidia.devices) || rundir_open(&m.rundir, o.run_dir, &e) ||
        journal_open(&m.journal, &o, "nvidia", NULL, &e)) {
        fprintf(stderr, "bench_monitor_day: %s%s\n", m.gpus.problem, e.text);
        return 1;
    }
    if (events_start(&m.events, &m.gpus, NULL))
        return 1;
    int64_t due = now;
    for (long i = 0; i < rounds; i++) {
        monitor_round(&m, due);
        due += o.interval;
        now = now < due ? due : now;
        if (i % (o.write_interval / o.interval) == 0)
            journal_flush(&m.journal, false);
    }
    journal_flush(&m.journal, false);
    struct journal_counts counts;
    journal_counts(&m.journal, &counts);
    printf("%ld rounds, %" PRIu64 " rows lost, %" PRIu64 " bytes, %" PRIu64 " sessions, %" PRId64
           " samples\n",
           rounds, counts.rows_lost, counts.bytes, counts.sessions, m.counts.device_samples);
    events_stop(&m.events);
    journal_close(&m.journal, "bench");
    rundir_close(&m.rundir);
    monitor_fini(&m);
    return 0;
}
