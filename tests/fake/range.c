/* range.c - has the Range Profiler of the fake profiling library: user ranges of one context, in
 * one pass or several, or every kernel that is launched between start and stop, in as many as its
 * metrics take.
 *
 * The value of a range's n-th metric is n times the kernels launched in it, so that a session must
 * find its program's launches; for a kernel it is n times the x extent of its grid. A kernel of the
 * library's own runs after each user range, and a kernel that is repeated has a record without
 * length. At the end of the process the file that FAKE_RANGE_TOTALS names gets the ranges and
 * kernels that were given, and whether the context was freed.
 *
 * Words of FAKE_CUPTI:
 *   range-privileges  insufficient privileges
 *   range-old         the device cannot be profiled
 *   range-slow=N      it takes N ms to begin counting
 *   range-held        another tool holds the device's counters
 *
 * Like the real library, this one answers calls out of order with an error. Other mistakes of a
 * client end the process. */
#include "cupti.h"

#include "backend/nvidia/abi/profiler.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    bool privileges, old, held;
    int slow; /* ms */
} script;     /* constant once it is read */

void range_script(const char *word)
{
    script.privileges |= !strcmp(word, "range-privileges");
    script.old |= !strcmp(word, "range-old");
    script.held |= !strcmp(word, "range-held");
    (void)sscanf(word, "range-slow=%d", &script.slow);
}

enum { IMAGE_MARK = 0x4a9e, WRONG_ORDER = 7, NAME = 32 };

struct range {
    char name[NAME];
    uint64_t kernels;
};

struct image {
    uint32_t mark;
    bool clear;
    size_t room, count;
    struct range ranges[];
};

static struct range_object {
    bool enabled, configured, started, open;
    bool kernels;          /* each is a range */
    uint32_t passes, pass; /* of user ranges: to be made, and made */
    uint32_t context;      /* number */
    struct image *image;
    size_t pushed;
    unsigned repeated;    /* since the program began */
    struct range *ranges; /* since the last start */
    size_t room;
} profiler; /* guarded by lock */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool range_kernel(const struct fake_op *op)
{
    pthread_mutex_lock(&lock);
    bool ours = profiler.started && op->context == profiler.context;
    bool repeated = ours && profiler.kernels;
    client_must(!repeated || !op->graph,
                "a graph is launched while kernels are repeated, and is lost");
    client_must(!repeated || profiler.pushed < profiler.room, "more kernels than were asked for");
    if (repeated) {
        struct range *r = &profiler.ranges[profiler.pushed++];
        snprintf(r->name, sizeof r->name, "%u", profiler.repeated++);
        r->kernels = op->grid[0];
    } else if (ours && profiler.open) {
        profiler.ranges[profiler.pushed - 1].kernels++;
    }
    pthread_mutex_unlock(&lock);
    return repeated;
}

bool range_value(const void *image, size_t index, double *value)
{
    const struct image *i = image;
    if (i->mark != IMAGE_MARK || index >= i->count)
        return false;
    *value = (double)i->ranges[index].kernels;
    return true;
}

#if FAKE_CUPTI_VERSION >= 130000 /* the older copy is one of before CUDA 12.6 */

static pid_t process; /* that enabled first; guarded by lock */
static uint64_t given_ranges, given_kernels;

#define SIZED(p, type, last)                                                                       \
    client_must((p)->size == PROFILER_SIZE(type, last), #type ": another size")

bool range_enabled(void)
{
    pthread_mutex_lock(&lock);
    bool on = profiler.enabled;
    pthread_mutex_unlock(&lock);
    return on;
}

void range_context_destroyed(uint32_t context)
{
    pthread_mutex_lock(&lock);
    client_must(!profiler.enabled || profiler.context != context,
                "a context is destroyed while its ranges are counted");
    pthread_mutex_unlock(&lock);
}

/* Runs after the client's own handlers, since this library was loaded later. */
__attribute__((destructor)) static void write_totals(void)
{
    const char *path = process == getpid() ? getenv("FAKE_RANGE_TOTALS") : NULL;
    FILE *f = path ? fopen(path, "we") : NULL;
    if (!f)
        return;
    fprintf(f, "%llu %llu %d\n", (unsigned long long)given_ranges,
            (unsigned long long)given_kernels, !profiler.enabled);
    fclose(f);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

EXPORT int cuptiRangeProfilerEnable(struct range_enable_params *p)
{
    SCRIPTED(cuptiRangeProfilerEnable);
    int64_t from = now_ns();
    while (now_ns() - from < script.slow * 1000000LL)
        sched_yield();
    SIZED(p, range_enable_params, object);
    if (script.privileges || script.old || script.held)
        return script.privileges ? CUPTI_E_PRIVILEGES
               : script.old      ? CUPTI_E_NOT_SUPPORTED
                                 : CUPTI_E_HARDWARE_BUSY;
    pthread_mutex_lock(&lock);
    client_must(!profiler.enabled, "ranges are enabled twice");
    process = process ? process : getpid();
    profiler = (struct range_object){.enabled = true, .context = FAKE_CONTEXT_AT(p->context)};
    p->object = &profiler;
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

EXPORT int cuptiRangeProfilerDisable(struct range_object_params *p)
{
    SCRIPTED(cuptiRangeProfilerDisable);
    SIZED(p, range_object_params, object);
    pthread_mutex_lock(&lock);
    client_must(p->object == &profiler && profiler.enabled,
                "ranges that are not enabled are disabled");
    free(profiler.ranges);
    profiler = (struct range_object){.enabled = false};
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

EXPORT int cuptiRangeProfilerGetCounterDataSize(struct range_image_size_params *p)
{
    SCRIPTED(cuptiRangeProfilerGetCounterDataSize);
    SIZED(p, range_image_size_params, bytes);
    client_must(p->ranges && p->nodes >= p->ranges && p->count, "an image of nothing");
    p->bytes = sizeof(struct image) + p->ranges * sizeof(struct range);
    return CUPTI_OK;
}

EXPORT int cuptiRangeProfilerCounterDataImageInitialize(struct range_image_params *p)
{
    struct image *image = (struct image *)p->image;
    SCRIPTED(cuptiRangeProfilerCounterDataImageInitialize);
    SIZED(p, range_image_params, image);
    image->mark = IMAGE_MARK;
    image->room = (p->bytes - sizeof *image) / sizeof(struct range);
    image->count = 0;
    return CUPTI_OK;
}

EXPORT int cuptiRangeProfilerSetConfig(struct range_config_params *p)
{
    SCRIPTED(cuptiRangeProfilerSetConfig);
    SIZED(p, range_config_params, level);
    bool kernels = p->kind == RANGE_KERNELS && p->replay == REPLAY_KERNEL;
    if ((!kernels && (p->kind != RANGE_USER || p->replay != REPLAY_USER)) || p->levels != 1 ||
        p->least_level != 1)
        return WRONG_ORDER;
    pthread_mutex_lock(&lock);
    client_must(p->object == &profiler && profiler.enabled && !profiler.started,
                "ranges are configured out of order");
    profiler.image = (struct image *)p->image;
    client_must(profiler.image->mark == IMAGE_MARK, "the image is not initialized");
    free(profiler.ranges);
    profiler.ranges = calloc(p->ranges, sizeof *profiler.ranges);
    profiler.room = p->ranges;
    profiler.kernels = kernels;
    profiler.passes = kernels ? 1 : config_passes(p->config);
    profiler.pass = 0;
    profiler.configured = true;
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

EXPORT int cuptiRangeProfilerStart(struct range_object_params *p)
{
    SCRIPTED(cuptiRangeProfilerStart);
    SIZED(p, range_object_params, object);
    pthread_mutex_lock(&lock);
    bool right = profiler.configured && !profiler.started;
    profiler.pass = profiler.pass == profiler.passes ? 0 : profiler.pass;
    if (right)
        profiler.started = true;
    profiler.pushed = 0;
    pthread_mutex_unlock(&lock);
    return right ? CUPTI_OK : WRONG_ORDER;
}

EXPORT int cuptiRangeProfilerPushRange(struct range_push_params *p)
{
    SCRIPTED(cuptiRangeProfilerPushRange);
    if (driver_faulted())
        return CUPTI_E_UNKNOWN;
    SIZED(p, range_push_params, name);
    pthread_mutex_lock(&lock);
    client_must(profiler.started && !profiler.kernels && !profiler.open,
                "a range is pushed out of order");
    client_must(profiler.pushed < profiler.room, "more ranges than were asked for");
    struct range *r = &profiler.ranges[profiler.pushed++];
    client_must(!profiler.pass || !strcmp(r->name, p->name),
                "another range than in the pass before");
    snprintf(r->name, sizeof r->name, "%s", p->name);
    r->kernels = 0;
    profiler.open = true;
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

EXPORT int cuptiRangeProfilerPopRange(struct range_object_params *p)
{
    SCRIPTED(cuptiRangeProfilerPopRange);
    if (driver_faulted())
        return CUPTI_E_UNKNOWN;
    SIZED(p, range_object_params, object);
    pthread_mutex_lock(&lock);
    client_must(profiler.open, "no range is open that could be popped");
    profiler.open = false;
    pthread_mutex_unlock(&lock);
    activity_own_kernel("WaitNs");
    return CUPTI_OK;
}

EXPORT int cuptiRangeProfilerStop(struct range_stop_params *p)
{
    SCRIPTED(cuptiRangeProfilerStop);
    if (driver_faulted())
        return CUPTI_E_UNKNOWN;
    SIZED(p, range_stop_params, done);
    pthread_mutex_lock(&lock);
    client_must(profiler.started && !profiler.open, "ranges are stopped out of order");
    profiler.started = false;
    p->done = ++profiler.pass == profiler.passes;
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

EXPORT int cuptiRangeProfilerDecodeData(struct range_decode_params *p)
{
    SCRIPTED(cuptiRangeProfilerDecodeData);
    if (driver_faulted())
        return CUPTI_E_UNKNOWN;
    SIZED(p, range_decode_params, dropped);
    pthread_mutex_lock(&lock);
    client_must(!profiler.started, "ranges are decoded while they are counted");
    client_must(profiler.pass == profiler.passes, "ranges are decoded before their last pass");
    for (size_t i = 0; i < profiler.pushed; i++) {
        client_must(profiler.image->count < profiler.image->room, "the image is not initialized");
        profiler.image->ranges[profiler.image->count++] = profiler.ranges[i];
        given_kernels += profiler.ranges[i].kernels;
        given_ranges++;
    }
    profiler.pushed = 0;
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

EXPORT int cuptiRangeProfilerGetCounterDataInfo(struct range_count_params *p)
{
    SCRIPTED(cuptiRangeProfilerGetCounterDataInfo);
    SIZED(p, range_count_params, ranges);
    p->ranges = ((const struct image *)p->image)->count;
    return CUPTI_OK;
}

EXPORT int cuptiRangeProfilerCounterDataGetRangeInfo(struct range_info_params *p)
{
    const struct image *image = (const struct image *)p->image;
    SCRIPTED(cuptiRangeProfilerCounterDataGetRangeInfo);
    SIZED(p, range_info_params, name);
    client_must(p->index < image->count, "there is no such range");
    p->name = image->ranges[p->index].name;
    return CUPTI_OK;
}

#endif
