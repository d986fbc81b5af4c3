/* kernels.c - see range/kernels.h. */
#include "backend/nvidia/engine/range/kernels.h"

#include "backend/nvidia/engine/range/inside.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/process/program_thread.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static const struct range_plan plan_kernels = {RANGE_KERNELS, REPLAY_KERNEL, RANGE_PASSES_MOST, 1};

/* Returns true if this launch is counted: it is then one less of those that are left of its
 * kernel. */
static bool wanted(struct trace *t, const char *name)
{
    bool outside = t->switched && !atomic_load_explicit(&t->window, memory_order_relaxed);
    if (!name || outside || !ranges_enter(true))
        return false;
    ranges_renew(t);
    uint32_t *left = ranging.opened && !ranging.failed ? range_pick(&ranging.pick, name) : NULL;
    bool yes = left && ranges_ready(t, &plan_kernels);
    if (yes)
        --*left;
    ranges_leave();
    return yes;
}

/* Begins counting for a single launch. */
static void repeat_begins(struct trace *t)
{
    if (!ranges_enter(true))
        return;
    int result = ranging.at.context ? range_context_start(&ranging.at) : CUPTI_OK;
    if (result != CUPTI_OK)
        ranges_fail_on(t, result, "to begin counting kernels");
    ranging.ranges[0] = (struct range){.start = clock_mono()};
    ranges_leave();
}

static void take_kernel(const char *name, uint32_t correlation)
{
    const char *own;
    struct range_result *to = &ranging.results[ranging.result_count];
    char *kernel = ranging.result_count < RANGE_RESULTS ? mem_strdup(name) : NULL;
    if (!kernel || range_context_values(&ranging.at, 0, &own, to->values) != CUPTI_OK) {
        mem_free(kernel);
        ranging.lost++;
        return;
    }
    to->source = RANGE_SOURCE_KERNEL;
    to->kernel = kernel;
    to->launch = correlation;
    to->start = ranging.ranges[0].start;
    ranges_name_metrics(to);
    for (size_t i = 0; i < to->count; i++)
        if (strcmp(ranging.at.host.names[i], METRIC_TIME) == 0)
            ranging.repeated[ranging.repeated_count++ % RANGE_REPEATED] =
                (struct range_repeated){correlation, to->start, (int64_t)to->values[i]};
    ranging.result_count++;
}

static void repeat_ends(struct trace *t, const char *name, uint32_t correlation, bool launched)
{
    size_t count = 0;
    if (!ranges_enter(true))
        return;
    int result = ranging.at.started ? range_context_stop(&ranging.at, &count) : CUPTI_OK;
    if (result != CUPTI_OK)
        ranges_fail_on(t, result, "to count kernels");
    else if (launched && count == 1)
        take_kernel(name, correlation);
    else
        ranging.lost += launched;
    ranges_leave();
}

/* Takes the lock. If CUPTI ends meanwhile, the thread that has the lock may never return, so the
 * wait has a limit. */
static bool lock(struct trace *t, bool alone)
{
    int rc = ETIMEDOUT;
    while (rc == ETIMEDOUT && !cupti_fatal(t)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        rc = alone ? pthread_rwlock_timedwrlock(&ranging.launches, &until)
                   : pthread_rwlock_timedrdlock(&ranging.launches, &until);
        if (rc == ETIMEDOUT)
            cupti_fatal_suspect();
    }
    return rc == 0;
}

void range_kernels_begin(struct trace *t, const char *name)
{
    if (range_thread.launching != LAUNCH_NONE)
        return;        /* the library repeats it */
    ON_PROGRAM_THREAD; /* until the launch itself */
    bool counts = wanted(t, name);
    if (!lock(t, counts))
        return;
    range_thread.launching = counts ? LAUNCH_COUNTED : LAUNCH_UNCOUNTED;
    if (counts)
        repeat_begins(t);
}

void range_kernels_end(struct trace *t, const char *name, uint32_t correlation, bool done)
{
    ON_PROGRAM_THREAD;
    if (range_thread.launching == LAUNCH_COUNTED && !cupti_fatal(t))
        repeat_ends(t, name, correlation, done);
    range_thread.launching = LAUNCH_NONE;
    pthread_rwlock_unlock(&ranging.launches);
}

bool range_kernels_times(uint32_t correlation, int64_t *start, int64_t *duration)
{
    const struct range_repeated *found = NULL;
    if (!ranges_enter(true))
        return false;
    for (size_t i = 0; i < RANGE_REPEATED && i < ranging.repeated_count && !found; i++)
        if (ranging.repeated[i].launch == correlation)
            found = &ranging.repeated[i];
    if (found) {
        *start = found->start;
        *duration = found->duration;
    }
    ranges_leave();
    return found != NULL;
}
