/* range_profiler.c - see range_profiler.h.
 *
 * Order of the library's calls: enable the context, size and prepare the image, configure,
 * start; then push and pop ranges; stop, decode. What was decoded may be configured and started
 * again. A range bears the number of its scope, since two of one name would be one. */
#include "backend/nvidia/range_profiler.h"

#include "backend/nvidia/cuda.h"
#include "backend/nvidia/profiler_host.h"
#include "backend/nvidia/records.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "wire/decimal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANGES = 64,   /* of one start */
    RESULTS = 256, /* that wait for the collector */
    DIGITS = 6,    /* of a value */
    SOURCE_RANGE = 2,
    TEXT = sizeof((struct err *)0)->text
};

static const int64_t LONG_SCOPE = 20000000;  /* ns: decoding behind it is a small part of it */
static const int64_t BATCH_MOST = 250000000; /* ns until shorter ones are decoded */

enum state {
    RANGES_OFF,     /* nothing is enabled */
    RANGES_READY,   /* enabled, not started */
    RANGES_STARTED, /* ranges may be pushed */
    RANGES_FAILED,  /* left alone */
};

struct range {
    char name[24]; /* its scope's number */
    uint64_t instance;
    int64_t start, end; /* ns */
};

struct result {
    uint64_t instance;
    int64_t start, end; /* ns */
    double values[METRICS_MOST];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* All guarded by lock. */
static struct profiler_library library;
static struct metric_list metrics;
static struct profiler_host host;
static enum state state;
static bool stale; /* of a session before: to be set up anew */
static cuda_context context;
static uint32_t device; /* the driver's */
static struct range_object *object;
static uint8_t *image; /* owned */
static size_t image_bytes;
static struct range ranges[RANGES];
static size_t range_count, used;       /* of this session; in the library */
static _Atomic uint64_t open_instance; /* 0: none; also read without the lock */
static pthread_t owner;                /* thread of the open one */
static int64_t batch_began;            /* ns */
static struct result results[RESULTS];
static size_t result_count;
static uint64_t lost;
static bool described;
static struct { /* of the host, which may be gone when it is told */
    size_t count, left_count;
    const char *names[METRICS_MOST], *left[METRICS_MOST]; /* the list's */
    char chip[32];
} chosen;
static char failure[TEXT];
static bool failure_new;
static uint32_t name_ids[METRICS_MOST]; /* of the sink [collector] */
static uint64_t written;                /* [collector] */

static bool opened; /* a session runs */

/* The library may call back on the thread that calls it. */
static __thread bool inside;

static bool enter(bool wait)
{
    if (inside || (wait ? pthread_mutex_lock(&lock) : pthread_mutex_trylock(&lock)) != 0)
        return false;
    inside = true;
    return true;
}

static void leave(void)
{
    inside = false;
    pthread_mutex_unlock(&lock);
}

static void fail(const char *text)
{
    state = RANGES_FAILED;
    if (*failure)
        return; /* the first reason counts */
    snprintf(failure, sizeof failure, "%s", text);
    failure_new = true;
}

/* ---- the library's calls, with the lock --------------------------------------------------------- */

static struct range_object_params object_params(void)
{
    return (struct range_object_params){.size = PROFILER_SIZE(range_object_params, object),
                                        .object = object};
}

static void disable(void)
{
    struct range_object_params p = object_params();
    if (object)
        library.cuptiRangeProfilerDisable(&p);
    object = NULL;
    if (host.library)
        profiler_host_close(&host);
    mem_free(image);
    image = NULL;
    used = 0;
    state = RANGES_OFF;
}

static int image_clear(void)
{
    struct range_image_params p = {.size = PROFILER_SIZE(range_image_params, image),
                                   .object = object,
                                   .bytes = image_bytes,
                                   .image = image};
    return library.cuptiRangeProfilerCounterDataImageInitialize(&p);
}

static int image_open(void)
{
    struct range_image_size_params p = {.size = PROFILER_SIZE(range_image_size_params, bytes),
                                        .object = object,
                                        .names = host.names,
                                        .count = host.count,
                                        .ranges = RANGES,
                                        .nodes = RANGES};
    int result = library.cuptiRangeProfilerGetCounterDataSize(&p);
    if (result != CUPTI_OK)
        return result;
    image_bytes = p.bytes;
    image = mem_zalloc(p.bytes ? p.bytes : 1);
    return image ? CUPTI_OK : CUPTI_E_OUT_OF_MEMORY;
}

static int start(void)
{
    struct range_config_params c = {.size = PROFILER_SIZE(range_config_params, level),
                                    .object = object,
                                    .bytes = host.config_bytes,
                                    .config = host.config,
                                    .image_bytes = image_bytes,
                                    .image = image,
                                    .kind = RANGE_USER,
                                    .replay = REPLAY_USER,
                                    .ranges = RANGES,
                                    .levels = 1,
                                    .least_level = 1,
                                    .pass = 0,
                                    .level = 1};
    struct range_object_params p = object_params();
    int result = image_clear();
    if (result == CUPTI_OK)
        result = library.cuptiRangeProfilerSetConfig(&c);
    if (result == CUPTI_OK)
        result = library.cuptiRangeProfilerStart(&p);
    if (result == CUPTI_OK)
        state = RANGES_STARTED;
    used = range_count = 0;
    batch_began = clock_mono();
    return result;
}

/* In the calling thread's context. */
static int enable(const struct cupti *c, struct err *e)
{
    struct profiler_initialize_params begin = {
        .size = PROFILER_SIZE(profiler_initialize_params, private_data)};
    struct range_enable_params p = {.size = PROFILER_SIZE(range_enable_params, object),
                                    .context = context};
    int result = library.cuptiProfilerInitialize(&begin);
    if (result != CUPTI_OK)
        return cupti_error(c, result, "to prepare hardware counters", e);
    int rc = profiler_host_open(&host, &library, c, PROFILER_RANGES, device, NULL, e);
    if (!rc)
        rc = profiler_host_choose(&host, &metrics, 1, e);
    if (rc)
        return rc;
    result = library.cuptiRangeProfilerEnable(&p);
    if (result == CUPTI_E_NOT_SUPPORTED)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "this device does not count ranges: compute capability 7.0 or later is "
                       "needed");
    if (result == CUPTI_OK) {
        object = p.object;
        result = image_open();
    }
    if (result != CUPTI_OK)
        return cupti_error(c, result, "to begin counting ranges", e);
    chosen.count = host.count;
    chosen.left_count = host.left_count;
    for (size_t i = 0; i < host.count; i++)
        chosen.names[i] = host.names[i];
    for (size_t i = 0; i < host.left_count; i++)
        chosen.left[i] = host.left[i].name;
    memcpy(chosen.chip, host.chip, sizeof chosen.chip);
    state = RANGES_READY;
    return 0;
}

static const struct range *range_named(const char *name)
{
    for (size_t i = 0; name && i < range_count; i++)
        if (strcmp(ranges[i].name, name) == 0)
            return &ranges[i];
    return NULL; /* of a session before */
}

static void take_range(size_t index)
{
    struct range_info_params p = {.size = PROFILER_SIZE(range_info_params, name),
                                  .image = image,
                                  .bytes = image_bytes,
                                  .index = index,
                                  .delimiter = "/"};
    if (library.cuptiRangeProfilerCounterDataGetRangeInfo(&p) != CUPTI_OK)
        return;
    const struct range *r = range_named(p.name);
    struct result *to = &results[result_count];
    if (!r || result_count == RESULTS ||
        profiler_host_evaluate(&host, image, image_bytes, index, to->values) != CUPTI_OK)
        return;
    to->instance = r->instance;
    to->start = r->start;
    to->end = r->end;
    result_count++;
}

/* Stops, and takes what was counted. What of it cannot be had is lost. An enum cupti_result. */
static int collect(void)
{
    struct range_stop_params s = {.size = PROFILER_SIZE(range_stop_params, done), .object = object};
    struct range_decode_params d = {.size = PROFILER_SIZE(range_decode_params, dropped),
                                    .object = object};
    struct range_count_params n = {
        .size = PROFILER_SIZE(range_count_params, ranges), .image = image, .bytes = image_bytes};
    size_t before = result_count;
    int result = library.cuptiRangeProfilerStop(&s);
    state = RANGES_READY;
    if (result == CUPTI_OK)
        result = library.cuptiRangeProfilerDecodeData(&d);
    if (result == CUPTI_OK)
        result = library.cuptiRangeProfilerGetCounterDataInfo(&n);
    for (size_t i = 0; result == CUPTI_OK && i < n.ranges; i++)
        take_range(i);
    lost += range_count - (result_count - before);
    range_count = used = 0;
    return result;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

/* What is enabled is the context's of this thread, or this thread's scope is not counted. */
static bool ready(struct trace *t)
{
    const struct cuda *cuda = cuda_loaded();
    cuda_context current = NULL;
    struct err e = {0};
    if (!cuda || cuda->cuCtxGetCurrent(&current) != CUDA_OK || !current)
        return false;
    if (state != RANGES_OFF && current != context)
        return false;
    if (state == RANGES_OFF) {
        context = current;
        device = 0;
        if (t->cupti->cuptiGetDeviceId)
            t->cupti->cuptiGetDeviceId(context, &device);
        if (enable(t->cupti, &e) != 0) {
            disable();
            fail(e.text);
            return false;
        }
    }
    int result = state == RANGES_READY ? start() : CUPTI_OK;
    if (result == CUPTI_OK)
        return true;
    cupti_error(t->cupti, result, "to begin counting ranges", &e);
    disable();
    fail(e.text);
    return false;
}

static void range_begins(struct trace *t, uint64_t instance)
{
    if (stale && state != RANGES_FAILED) { /* no thread has a range open */
        if (state == RANGES_STARTED)
            collect();
        disable();
    }
    stale = false;
    if (state == RANGES_FAILED || !ready(t))
        return;
    struct range *r = &ranges[range_count];
    *r = (struct range){.instance = instance};
    snprintf(r->name, sizeof r->name, "%" PRIu64, instance);
    struct range_push_params p = {
        .size = PROFILER_SIZE(range_push_params, name), .object = object, .name = r->name};
    if (library.cuptiRangeProfilerPushRange(&p) != CUPTI_OK) {
        lost++;
        return;
    }
    r->start = clock_mono();
    open_instance = instance;
    owner = pthread_self();
}

static void range_ends(struct trace *t)
{
    struct range_object_params p = object_params();
    struct range *r = &ranges[range_count];
    struct err e = {0};
    int result = library.cuptiRangeProfilerPopRange(&p);
    open_instance = 0;
    r->end = clock_mono();
    range_count++;
    used++;
    if (result == CUPTI_OK && used < RANGES && r->end - r->start < LONG_SCOPE &&
        r->end - batch_began < BATCH_MOST)
        return;
    if (result == CUPTI_OK)
        result = collect();
    if (result == CUPTI_OK)
        return;
    cupti_error(t->cupti, result, "to count ranges", &e);
    disable();
    fail(e.text);
}

void range_profiler_scope(struct trace *t, uint64_t instance, bool begins)
{
    if (begins && !enter(false))
        return; /* another thread's scope begins or ends: ours is none that is counted */
    if (!begins && (atomic_load(&open_instance) != instance || !enter(true)))
        return;
    if (begins && opened && !atomic_load(&open_instance))
        range_begins(t, instance);
    else if (!begins && atomic_load(&open_instance) == instance &&
             pthread_equal(owner, pthread_self()))
        range_ends(t);
    leave();
}

bool range_profiler_lasts(void)
{
    if (!enter(true))
        return true;
    bool lasts = state == RANGES_READY || state == RANGES_STARTED;
    leave();
    return lasts;
}

void range_profiler_context_gone(cuda_context gone)
{
    if (!enter(true))
        return;
    if (state != RANGES_OFF && state != RANGES_FAILED && gone == context) {
        if (state == RANGES_STARTED && !open_instance)
            collect();
        disable();
        open_instance = 0;
        context = NULL;
    }
    leave();
}

/* ---- the session -------------------------------------------------------------------------------- */

int range_profiler_open(struct trace *t, struct err *e)
{
    struct profiler_library l;
    struct metric_list m;
    int rc = metric_list_read(&m, t->config.counter_metrics, METRIC_RANGED, e);
    if (!rc)
        rc = profiler_library_open(&l, t->cupti, e);
    if (rc || !enter(true))
        return rc;
    library = l;
    metrics =
        m; /* the host of a session before has its names from here, and is never asked again */
    stale = state != RANGES_OFF;
    state = state == RANGES_FAILED ? RANGES_OFF : state;
    failure[0] = '\0';
    failure_new = false;
    result_count = range_count = 0;
    lost = written = 0;
    described = false;
    opened = true;
    leave();
    return 0;
}

void range_profiler_stop(struct trace *t, bool quiet)
{
    (void)t;
    if (!enter(true))
        return;
    if (quiet && !open_instance && state == RANGES_STARTED)
        collect();
    if (quiet && !open_instance && state != RANGES_FAILED)
        disable();
    lost += range_count + (open_instance != 0);
    range_count = 0;
    opened = false;
    leave();
}

const char *range_profiler_failure(void)
{
    static char text[TEXT]; /* collector's */
    if (enter(true)) {
        memcpy(text, failure, sizeof text);
        leave();
    }
    return text;
}

static void setting(struct sink *s, uint32_t of, const char *name, const char *value)
{
    struct setting_row row = {.time = clock_mono(),
                              .device = of,
                              .engine = s->ops->name(s, "RangeProfiler"),
                              .name = s->ops->name(s, name),
                              .value = s->ops->name(s, value)};
    s->ops->row(s, RECORD_setting, &row);
}

/* What is counted in one pass, and what would take another. */
static void describe(struct trace *t, uint32_t of)
{
    struct sink *s = t->sink;
    char left[TEXT] = "";
    if (metrics.set[0])
        setting(s, of, "preset", metrics.set);
    for (size_t i = 0; i < chosen.count; i++) {
        name_ids[i] = s->ops->name(s, chosen.names[i]);
        setting(s, of, "metric", chosen.names[i]);
    }
    for (size_t i = 0; i < chosen.left_count; i++) {
        size_t n = strlen(left);
        setting(s, of, "skipped_metric", chosen.left[i]);
        snprintf(left + n, sizeof left - n, "%s%s", n ? ", " : "", chosen.left[i]);
    }
    if (*left)
        s->ops->message(
            s, metrics.set[0] ? SEVERITY_NOTE : SEVERITY_WARNING, "range_profiler.passes",
            "scopes are counted in one pass; these metrics take more beside the others, "
            "or a %s does not have them: %s",
            chosen.chip, left);
    described = true;
}

static void write_result(struct trace *t, const struct result *r, uint32_t of)
{
    for (size_t i = 0; i < chosen.count; i++) {
        struct decimal value;
        if (!decimal_of(r->values[i], DIGITS, &value))
            continue; /* a rate of nothing */
        struct counter_row row = {.start = r->start,
                                  .duration = r->end - r->start,
                                  .source = SOURCE_RANGE,
                                  .device = of,
                                  .metric = name_ids[i],
                                  .value = value.mantissa,
                                  .exponent = value.exponent,
                                  .scope = (int64_t)r->instance,
                                  .ordinal = (int64_t)written,
                                  .correlation = CELL_NULL};
        t->sink->ops->row(t->sink, RECORD_counter, &row);
    }
    written++;
}

void range_profiler_drain(struct trace *t)
{
    struct sink *s = t->sink;
    if (!enter(t->stopped))
        return; /* a scope begins or ends just now: the next time */
    uint32_t of = records_device(t->records, device);
    if (result_count && !described)
        describe(t, of);
    for (size_t i = 0; i < result_count; i++)
        write_result(t, &results[i], of);
    result_count = 0;
    if (lost)
        s->ops->lost(s, LOSS_SAMPLES, lost);
    lost = 0;
    if (failure_new) {
        s->ops->capability(s, "range_counters", true, "unavailable", failure);
        s->ops->message(s, SEVERITY_WARNING, "range_profiler.unavailable",
                        "no scopes are counted: %s", failure);
    }
    failure_new = false;
    leave();
}
