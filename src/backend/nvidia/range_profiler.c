/* range_profiler.c - see range_profiler.h.
 *
 * A range bears the number of its scope, since two of one name would be one. */
#include "backend/nvidia/range_profiler.h"

#include "backend/nvidia/cuda.h"
#include "backend/nvidia/range_context.h"
#include "backend/nvidia/range_pick.h"
#include "backend/nvidia/records.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "wire/decimal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    RANGES = 64,      /* of one start */
    RESULTS = 256,    /* that wait for the collector */
    PASSES_MOST = 64, /* of one kernel */
    REPEATED = 1024,  /* kernels whose records are still to come */
    DIGITS = 6,       /* of a value */
    SOURCE_RANGE = 2,
    SOURCE_KERNEL = 3,
    TEXT = sizeof((struct err *)0)->text
};

static const int64_t LONG_SCOPE = 20000000;  /* ns: decoding behind it is a small part of it */
static const int64_t BATCH_MOST = 250000000; /* ns until shorter ones are decoded */

static const struct range_plan plan_scopes = {RANGE_USER, REPLAY_USER, 1, RANGES};
static const struct range_plan plan_kernels = {RANGE_KERNELS, REPLAY_KERNEL, PASSES_MOST, 1};

struct range {
    char name[24]; /* its scope's number */
    uint64_t instance;
    int64_t start, end; /* ns */
};

struct result {
    int source;
    uint64_t instance;  /* SOURCE_RANGE: the scope */
    char *kernel;       /* SOURCE_KERNEL: its name, owned */
    int64_t launch;     /* the same: correlation */
    int64_t start, end; /* ns; end 0: unknown */
    double values[METRICS_MOST];
};

/* What is told of a session's end. */
enum passed_by { OTHER_CONTEXT, OTHER_THREAD, CAPTURING, NO_NAME, PASSED_BY };
static const struct {
    const char *setting, *what;
} passed_by_rows[] = {
    [OTHER_CONTEXT] = {"uncounted_other_context",
                       "of another context than the one that is counted"},
    [OTHER_THREAD] = {"uncounted_beside", "begun while one of another thread was counted"},
    [CAPTURING] = {"uncounted_capturing", "begun while a stream was captured into a graph"},
    [NO_NAME] = {"uncounted_names", "of more kernels than are told apart"},
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* All guarded by lock. */
static struct profiler_library library;
static struct metric_list metrics;
static struct range_context at; /* the context that is counted */
static bool kernels;            /* one by one, instead of scopes */
static struct range_pick pick;  /* which of them */
static bool failed;             /* nothing is counted any more */
static bool stale;              /* of a session before: to be set up anew */
static struct range ranges[RANGES];
static size_t range_count;             /* since the last start */
static _Atomic uint64_t open_instance; /* 0: none; also read without the lock */
static _Atomic bool beginning;         /* a thread begins one, which takes long; without the lock */
static pthread_t owner;                /* thread of the open one */
static int64_t batch_began;            /* ns */
static struct result results[RESULTS];
static size_t result_count;
static uint64_t lost;
static bool described;
static struct { /* of the host, which may be gone when it is told */
    size_t count, left_count, passes;
    const char *names[METRICS_MOST], *left[METRICS_MOST]; /* the list's */
    char chip[32];
    uint32_t device;
} chosen; /* count 0: not yet */
/* When kernels that were repeated ran: of these their records do not tell. */
static struct repeated {
    uint32_t launch;         /* correlation */
    int64_t start, duration; /* ns */
} repeated[REPEATED];
static size_t repeated_count; /* ever; the latest are kept */
static char failure[TEXT];
static bool failure_new;
static uint32_t name_ids[METRICS_MOST]; /* of the sink [collector] */
static uint64_t written;                /* [collector] */

static bool opened;                           /* a session runs */
static _Atomic uint64_t passed_by[PASSED_BY]; /* not guarded */

/* The library may call back on the thread that calls it. */
static __thread bool inside;
__thread enum range_launching range_profiler_launching;

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

static void pass_by(enum passed_by why)
{
    atomic_fetch_add_explicit(&passed_by[why], 1, memory_order_relaxed);
}

static void close_counters(void)
{
    range_context_close(&at);
    range_count = 0;
}

/* The first reason counts. */
static void fail(const char *text)
{
    close_counters();
    failed = true;
    if (*failure)
        return;
    snprintf(failure, sizeof failure, "%s", text);
    failure_new = true;
}

static void fail_on(struct trace *t, int result, const char *doing)
{
    struct err e = {0};
    cupti_error(t->cupti, result, doing, &e);
    fail(e.text);
}

/* ---- what was counted, with the lock ---------------------------------------------------------- */

static const struct range *range_named(const char *name)
{
    for (size_t i = 0; name && i < range_count; i++)
        if (strcmp(ranges[i].name, name) == 0)
            return &ranges[i];
    return NULL; /* of a session before */
}

static void take_range(size_t index)
{
    const char *name;
    struct result *to = &results[result_count];
    if (result_count == RESULTS || range_context_values(&at, index, &name, to->values) != CUPTI_OK)
        return;
    const struct range *r = range_named(name);
    if (!r)
        return;
    to->source = SOURCE_RANGE;
    to->instance = r->instance;
    to->start = r->start;
    to->end = r->end;
    result_count++;
}

/* Stops, and takes what was counted. What of it cannot be had is lost. An enum cupti_result. */
static int collect(void)
{
    size_t before = result_count, count;
    int result = range_context_stop(&at, &count);
    for (size_t i = 0; i < count; i++)
        take_range(i);
    lost += range_count - (result_count - before);
    range_count = 0;
    return result;
}

static void choose(void)
{
    const struct profiler_host *h = &at.host;
    chosen.count = h->count;
    chosen.left_count = h->left_count;
    chosen.passes = h->passes;
    chosen.device = at.device;
    for (size_t i = 0; i < h->count; i++)
        chosen.names[i] = h->names[i];
    for (size_t i = 0; i < h->left_count; i++)
        chosen.left[i] = h->left[i].name;
    memcpy(chosen.chip, h->chip, sizeof chosen.chip);
}

/* The counters are those of this thread's context, or are none yet and become so. */
static bool ready(struct trace *t)
{
    const struct cuda *cuda = cuda_loaded();
    cuda_context current = NULL;
    struct err e = {0};
    if (!cuda || cuda->cuCtxGetCurrent(&current) != CUDA_OK || !current)
        return false;
    if (atomic_load_explicit(&t->captures, memory_order_relaxed) > 0) {
        pass_by(CAPTURING); /* the device is waited for, which would end the capture */
        return false;
    }
    if (at.context == current)
        return true;
    uint32_t device = 0;
    if (t->cupti->cuptiGetDeviceId)
        t->cupti->cuptiGetDeviceId(current, &device);
    if (at.context || (chosen.count && chosen.device != device)) {
        pass_by(OTHER_CONTEXT); /* one at a time, and of one device: others have other metrics */
        return false;
    }
    if (range_context_open(&at, &library, t->cupti, current, device, &metrics,
                           kernels ? &plan_kernels : &plan_scopes, &e) != 0) {
        fail(e.text);
        return false;
    }
    choose();
    return true;
}

/* What a session before has left is given back: no thread has a range open. */
static void renew(void)
{
    if (stale && at.started)
        collect();
    if (stale)
        close_counters();
    stale = false;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static void range_begins(struct trace *t, uint64_t instance)
{
    renew();
    if (failed || !ready(t))
        return;
    int result = at.started ? CUPTI_OK : range_context_start(&at);
    if (result != CUPTI_OK) {
        fail_on(t, result, "to begin counting ranges");
        return;
    }
    if (!range_count)
        batch_began = clock_mono();
    struct range *r = &ranges[range_count];
    *r = (struct range){.instance = instance};
    snprintf(r->name, sizeof r->name, "%" PRIu64, instance);
    if (range_context_push(&at, r->name) != CUPTI_OK) {
        lost++;
        return;
    }
    r->start = clock_mono();
    open_instance = instance;
    owner = pthread_self();
}

static void range_ends(struct trace *t)
{
    struct range *r = &ranges[range_count];
    int result = range_context_pop(&at);
    open_instance = 0;
    r->end = clock_mono();
    range_count++;
    if (result == CUPTI_OK && range_count < RANGES && r->end - r->start < LONG_SCOPE &&
        r->end - batch_began < BATCH_MOST)
        return;
    if (result == CUPTI_OK)
        result = collect();
    if (result != CUPTI_OK)
        fail_on(t, result, "to count ranges");
}

void range_profiler_scope(struct trace *t, uint64_t instance, bool begins)
{
    if (t->config.range_kernels)
        return;
    if (begins && (atomic_load(&open_instance) || atomic_exchange(&beginning, true))) {
        pass_by(OTHER_THREAD);
        return;
    }
    if (!begins && atomic_load(&open_instance) != instance)
        return;
    if (enter(true)) {
        if (begins && opened && !atomic_load(&open_instance))
            range_begins(t, instance);
        else if (!begins && atomic_load(&open_instance) == instance &&
                 pthread_equal(owner, pthread_self()))
            range_ends(t);
        leave();
    }
    if (begins)
        atomic_store(&beginning, false);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Launches take it for themselves where they are counted, and together where not: what other
 * threads launch while a kernel is repeated would be repeated, too, and a graph would not run at
 * all. The counted ones come first, or they would never. */
static pthread_rwlock_t launches = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

/* Takes this launch for one that is counted. */
static bool wanted(struct trace *t, const char *name)
{
    if (!name || !enter(true))
        return false;
    renew();
    uint32_t *left = opened && !failed ? range_pick(&pick, name) : NULL;
    bool yes = left && ready(t);
    if (yes)
        --*left;
    leave();
    return yes;
}

/* The counters are on for one launch alone. */
static void repeat_begins(struct trace *t)
{
    if (!enter(true))
        return;
    int result = at.context ? range_context_start(&at) : CUPTI_OK;
    if (result != CUPTI_OK)
        fail_on(t, result, "to begin counting kernels");
    ranges[0] = (struct range){.start = clock_mono()};
    leave();
}

static void take_kernel(const char *name, uint32_t correlation)
{
    const char *own;
    struct result *to = &results[result_count];
    char *kernel = result_count < RESULTS ? mem_strdup(name) : NULL;
    if (!kernel || range_context_values(&at, 0, &own, to->values) != CUPTI_OK) {
        mem_free(kernel);
        lost++;
        return;
    }
    to->source = SOURCE_KERNEL;
    to->kernel = kernel;
    to->launch = correlation;
    to->start = ranges[0].start;
    for (size_t i = 0; i < chosen.count; i++)
        if (strcmp(chosen.names[i], METRIC_TIME) == 0)
            repeated[repeated_count++ % REPEATED] =
                (struct repeated){correlation, to->start, (int64_t)to->values[i]};
    result_count++;
}

static void repeat_ends(struct trace *t, const char *name, uint32_t correlation, bool launched)
{
    size_t count = 0;
    if (!enter(true))
        return;
    int result = at.started ? range_context_stop(&at, &count) : CUPTI_OK;
    if (result != CUPTI_OK)
        fail_on(t, result, "to count kernels");
    else if (launched && count == 1)
        take_kernel(name, correlation);
    else
        lost += launched;
    leave();
}

void range_profiler_launch_begins(struct trace *t, const char *name)
{
    if (range_profiler_launching != LAUNCH_NONE)
        return; /* the library repeats it */
    bool counts = wanted(t, name);
    if (counts)
        pthread_rwlock_wrlock(&launches);
    else
        pthread_rwlock_rdlock(&launches);
    range_profiler_launching = counts ? LAUNCH_COUNTED : LAUNCH_BESIDE;
    if (counts)
        repeat_begins(t);
}

void range_profiler_launch_ends(struct trace *t, const char *name, uint32_t correlation, bool done)
{
    if (range_profiler_launching == LAUNCH_COUNTED)
        repeat_ends(t, name, correlation, done);
    range_profiler_launching = LAUNCH_NONE;
    pthread_rwlock_unlock(&launches);
}

bool range_profiler_times(uint32_t correlation, int64_t *start, int64_t *duration)
{
    const struct repeated *found = NULL;
    if (!enter(true))
        return false;
    for (size_t i = 0; i < REPEATED && i < repeated_count && !found; i++)
        if (repeated[i].launch == correlation)
            found = &repeated[i];
    if (found) {
        *start = found->start;
        *duration = found->duration;
    }
    leave();
    return found != NULL;
}

/* ---- contexts -------------------------------------------------------------------------------- */

bool range_profiler_lasts(void)
{
    if (!enter(true))
        return true;
    bool lasts = at.context != NULL;
    leave();
    return lasts;
}

void range_profiler_context_gone(cuda_context gone)
{
    if (!enter(true))
        return;
    if (at.context && gone == at.context) {
        if (at.started && !open_instance)
            collect();
        close_counters();
        open_instance = 0;
    }
    leave();
}

/* ---- the session ------------------------------------------------------------------------------ */

static void results_drop(void)
{
    for (size_t i = 0; i < result_count; i++) {
        mem_free(results[i].kernel);
        results[i].kernel = NULL;
    }
    result_count = 0;
}

int range_profiler_open(struct trace *t, struct err *e)
{
    struct profiler_library l;
    struct metric_list m;
    int rc = metric_list_read(&m, t->config.counter_metrics, METRIC_RANGED, e);
    if (!rc && t->config.range_kernels)
        metric_list_first(&m, METRIC_TIME);
    if (!rc)
        rc = profiler_library_open(&l, t->cupti, e);
    if (rc || !enter(true))
        return rc;
    library = l;
    metrics =
        m; /* the host of a session before has its names from here, and is never asked again */
    kernels = t->config.range_kernels;
    repeated_count = 0;
    range_pick_init(&pick, t->config.range_launches);
    stale = at.context != NULL;
    failed = false;
    failure[0] = '\0';
    failure_new = false;
    results_drop();
    range_count = 0;
    lost = written = 0;
    chosen.count = 0;
    described = false;
    for (size_t i = 0; i < PASSED_BY; i++)
        atomic_store(&passed_by[i], 0);
    opened = true;
    leave();
    return 0;
}

void range_profiler_stop(struct trace *t, bool quiet)
{
    (void)t;
    if (!enter(true))
        return;
    if (quiet && !open_instance && at.started)
        collect();
    if (quiet && !open_instance)
        close_counters();
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

/* ---- telling it ------------------------------------------------------------------------------- */

static void setting(struct sink *s, uint32_t of, const char *name, const char *value)
{
    struct setting_row row = {.time = clock_mono(),
                              .device = of,
                              .engine = s->ops->name(s, "RangeProfiler"),
                              .name = s->ops->name(s, name),
                              .value = s->ops->name(s, value)};
    s->ops->row(s, RECORD_setting, &row);
}

static void setting_number(struct sink *s, uint32_t of, const char *name, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    setting(s, of, name, digits);
}

static void describe_left(struct trace *t, uint32_t of)
{
    struct sink *s = t->sink;
    char left[TEXT] = "";
    for (size_t i = 0; i < chosen.left_count; i++) {
        size_t n = strlen(left);
        setting(s, of, "skipped_metric", chosen.left[i]);
        snprintf(left + n, sizeof left - n, "%s%s", n ? ", " : "", chosen.left[i]);
    }
    if (*left)
        s->ops->message(
            s, metrics.set[0] ? SEVERITY_NOTE : SEVERITY_WARNING, "range_profiler.passes",
            kernels ? "these metrics take too many passes, or a %s does not have them: %s"
                    : "scopes are counted in one pass; these metrics take more beside the others, "
                      "or a %s does not have them: %s",
            chosen.chip, left);
}

/* What is counted, and in how many passes: before the first count is there. */
static void describe(struct trace *t, uint32_t of)
{
    struct sink *s = t->sink;
    if (metrics.set[0])
        setting(s, of, "preset", metrics.set);
    setting(s, of, "counts", kernels ? "kernels" : "outermost scopes");
    setting_number(s, of, "passes", chosen.passes);
    if (kernels)
        setting_number(s, of, "launches_of_each", pick.most);
    for (size_t i = 0; i < chosen.count; i++) {
        name_ids[i] = s->ops->name(s, chosen.names[i]);
        setting(s, of, "metric", chosen.names[i]);
    }
    describe_left(t, of);
    if (kernels)
        s->ops->message(s, SEVERITY_NOTE, "range_profiler.replay",
                        "the first %u launches of each kernel are repeated, %zu passes each, while "
                        "the program waits: fewer with range_kernel_launches, or fewer metrics",
                        pick.most, chosen.passes);
    described = true;
}

static void write_result(struct trace *t, const struct result *r, uint32_t of)
{
    struct sink *s = t->sink;
    bool kernel = r->source == SOURCE_KERNEL;
    for (size_t i = 0; i < chosen.count; i++) {
        struct decimal value;
        if (!decimal_of(r->values[i], DIGITS, &value))
            continue; /* a rate of nothing */
        struct counter_row row = {.start = r->start,
                                  .duration = kernel ? CELL_NULL : r->end - r->start,
                                  .source = r->source,
                                  .device = of,
                                  .metric = name_ids[i],
                                  .value = value.mantissa,
                                  .exponent = value.exponent,
                                  .scope = kernel ? CELL_NULL : (int64_t)r->instance,
                                  .kernel = kernel ? s->ops->name(s, r->kernel) : 0,
                                  .ordinal = (int64_t)written,
                                  .correlation = kernel ? r->launch : CELL_NULL};
        s->ops->row(s, RECORD_counter, &row);
    }
    written++;
}

/* At the end: what there was besides. */
static void summarize(struct trace *t, uint32_t of)
{
    struct sink *s = t->sink;
    char text[TEXT] = "";
    for (size_t i = 0, n = 0; i < PASSED_BY; i++) {
        uint64_t count = atomic_exchange(&passed_by[i], 0);
        if (!count)
            continue;
        setting_number(s, of, passed_by_rows[i].setting, count);
        if (n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRIu64 " %s", n ? ", " : "",
                                  count, passed_by_rows[i].what);
    }
    if (records_own(t->records))
        setting_number(s, of, "profiler_kernels", records_own(t->records));
    if (*text)
        s->ops->message(s, SEVERITY_NOTE, "range_profiler.uncounted", "%s not counted: %s",
                        kernels ? "kernels that were" : "scopes that were", text);
}

void range_profiler_drain(struct trace *t)
{
    struct sink *s = t->sink;
    if (!enter(t->stopped))
        return; /* a scope begins or ends just now: the next time */
    uint32_t of = chosen.count ? records_device(t->records, chosen.device) : 0;
    if (chosen.count && !described)
        describe(t, of);
    for (size_t i = 0; i < result_count; i++)
        write_result(t, &results[i], of);
    results_drop();
    if (lost)
        s->ops->lost(s, LOSS_SAMPLES, lost);
    lost = 0;
    if (failure_new) {
        s->ops->capability(s, "range_counters", true, "unavailable", failure);
        s->ops->message(s, SEVERITY_WARNING, "range_profiler.unavailable", "no %s are counted: %s",
                        kernels ? "kernels" : "scopes", failure);
    }
    failure_new = false;
    atomic_fetch_add(&passed_by[NO_NAME], pick.passed_by);
    pick.passed_by = 0;
    if (t->stopped)
        summarize(t, of);
    leave();
}
