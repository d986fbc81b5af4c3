/* bench_captures.c - what a launch costs if the library considers it for a capture (idle_stacks),
 * without a GPU: the call that a backend makes for a plain kernel, with captures off and on in
 * turns, in one session. It also measures one capture with its stack.
 *
 * Prints one JSON object, ns per launch: the median and the least of the rounds, and the median of
 * the differences within a round. Launches of a few ns are hardly ever captured: "captured" says
 * how many were. tick: the time of one reading of the counter. capture: the time of a launch when
 * each is captured, from a stack of few frames; "lost" is 0 if there was room for all.
 *
 *   bench_captures [--rounds N] */
#include <gpufl/gpufl.h>

#include "backend/backend.h"
#include "capture/records/captures.h"
#include "capture/session/session.h"
#include "tests/unit/support/still_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LAUNCHES = 2000000, CAPTURES = 2000, ROUNDS_MAX = 1000, FAILED = 1 };

static const struct trace_ops trace = {.open = still_open,
                                       .start = still_start,
                                       .stop = still_stop,
                                       .flush = still_flush,
                                       .take = still_nothing,
                                       .drain = still_nothing,
                                       .cost = still_cost,
                                       .close = still_nothing};

const struct backend backend_none = {.name = "bench", .probe = still_probe, .trace = &trace};

void *backend_tool(const struct tool_call *c)
{
    (void)c;
    return NULL;
}

const struct backend *backend_other(const struct backend *b)
{
    (void)b;
    return NULL;
}

const struct backend *backend_select(enum gpufl_backend kind, struct err *e)
{
    (void)kind, (void)e;
    return &backend_none;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double launches(int n)
{
    int64_t start = now_ns();
    for (int i = 0; i < n; i++)
        still_sink->ops->kernel(still_sink, (uint32_t)i);
    return (double)(now_ns() - start) / n;
}

static double ticks(int n)
{
    uint64_t sum = 0;
    int64_t start = now_ns();
    for (int i = 0; i < n; i++) {
        sum += tick_now();
        __asm__ volatile("" : "+r"(sum));
    }
    return (double)(now_ns() - start) / n;
}

/* Makes each launch the first one after captures were resumed, so that it is captured. */
static double captures(int n)
{
    int64_t start = now_ns();
    for (int i = 0; i < n; i++) {
        captures_resume();
        still_sink->ops->kernel(still_sink, (uint32_t)i);
        thread_here->rule.left = 0; /* else the launch is known to be short */
    }
    return (double)(now_ns() - start) / n;
}

static int ascending(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static void put(const char *name, double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, ascending);
    printf("\"%s\":{\"median\":%.2f,\"least\":%.2f},", name, v[n / 2], v[0]);
}

int main(int argc, char **argv)
{
    static double off[ROUNDS_MAX], on[ROUNDS_MAX], more[ROUNDS_MAX], taken[ROUNDS_MAX],
        tick[ROUNDS_MAX];
    char dir[] = "/tmp/gpufl-bench-captures.XXXXXX", command[64];
    int rounds = argc == 3 && !strcmp(argv[1], "--rounds") ? atoi(argv[2]) : 101;
    struct gpufl_options o;
    struct counts counts;
    if (rounds < 1 || rounds > ROUNDS_MAX || !mkdtemp(dir))
        return FAILED;
    gpufl_options_init(&o, sizeof o);
    o.log_path = dir;
    o.enable_stack_trace = true;
    o.profiling_engine = GPUFL_ENGINE_TRACE;
    if (gpufl_init(&o) || !captures_on())
        return FAILED;
    launches(LAUNCHES);
    for (int i = 0; i < rounds; i++) {
        captures_pause(true);
        off[i] = launches(LAUNCHES);
        captures_pause(false);
        on[i] = launches(LAUNCHES);
        more[i] = on[i] - off[i];
        tick[i] = ticks(LAUNCHES);
    }
    threads_sum(&counts);
    for (int i = 0; i < rounds; i++) {
        taken[i] = captures(CAPTURES);
        (void)session_flush(); /* makes room */
    }
    uint64_t captured = counts.launches_captured;
    threads_sum(&counts);
    printf("{");
    put("off", off, rounds);
    put("on", on, rounds);
    put("difference", more, rounds);
    put("tick", tick, rounds);
    put("capture", taken, rounds);
    printf("\"captured\":%llu,\"launches\":%llu,\"lost\":%llu}\n", (unsigned long long)captured,
           (unsigned long long)LAUNCHES * (2 * (unsigned)rounds + 1),
           (unsigned long long)counts.captures_lost);
    gpufl_shutdown();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) ? FAILED : 0;
}
