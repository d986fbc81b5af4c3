/* sass_metrics.c - see sass_metrics.h: the contexts, and what they are told.
 *
 * Taking the counts waits for the kernels that run, on the thread that asks. */
#include "backend/nvidia/sass_metrics.h"

#include "backend/nvidia/cubins.h"
#include "backend/nvidia/cuda.h"
#include "backend/nvidia/engine_lock.h"
#include "backend/nvidia/records.h"
#include "backend/nvidia/sass_context.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    CONTEXTS = 64,
    DEVICES = 64,
    TEXT = sizeof((struct err *)0)->text,
};

static const int64_t PERIOD = 1000000000; /* ns from one taking to the next */

/* All guarded by the engines' lock, but for what is said otherwise. */
static struct sass_library library; /* constant once it is filled */
static bool opened;                 /* owner's */
static struct sass_context contexts[CONTEXTS];
static struct sass_device devices[DEVICES]; /* by the driver's ordinal; for the process */
static uint64_t described;                  /* bit by device: its settings are written */
static char failure[TEXT];
static bool failure_new; /* the sink has not been told */
static bool started;
static bool counted;      /* something other than 0 was written in this session */
static bool lost_said;    /* the sink has been told of losses */
static bool overlap_said; /* and of launches that came between */
static uint64_t overlap;  /* launches that came between, since the last look */

/* Launches that have begun and that have returned, of all threads. Release by the launch, acquire by
 * who takes the counts. */
static _Atomic uint64_t begun, ended;
static _Atomic int64_t due; /* ns: when the counts are to be taken next; relaxed */

/* ---- contexts ---------------------------------------------------------------------------- */

static struct sass_context *context_find(cuda_context handle)
{
    for (size_t i = 0; i < CONTEXTS; i++)
        if (contexts[i].state == SASS_ON && contexts[i].handle == handle)
            return &contexts[i];
    return NULL;
}

static struct sass_context *context_room(void)
{
    for (size_t i = 0; i < CONTEXTS; i++)
        if (contexts[i].state == SASS_FREE)
            return &contexts[i];
    return NULL;
}

static void fail(const char *text)
{
    if (*failure)
        return; /* the first reason counts */
    snprintf(failure, sizeof failure, "%s", text);
    failure_new = true;
}

/* With the lock. */
static enum sass_begin context_add(struct trace *t, cuda_context handle)
{
    struct err e = {0};
    uint32_t device = 0, number = 0;
    struct sass_context *c = context_find(handle) ? NULL : context_room();
    if (t->cupti->cuptiGetDeviceId)
        t->cupti->cuptiGetDeviceId(handle, &device);
    if (!c || device >= DEVICES)
        return SASS_NOTHING;
    if (library.cuptiGetContextId)
        library.cuptiGetContextId(handle, &number);
    c->handle = handle;
    c->number = number;
    c->device = device;
    if (sass_device_configure(&devices[device], device, &library, t->cupti, &e) ||
        sass_context_enable(c, &devices[device], &library, t->cupti, &e)) {
        sass_context_close(c);
        fail(e.text);
        return SASS_FAILED;
    }
    return SASS_COUNTS;
}

enum sass_begin sass_metrics_context(struct trace *t, cuda_context context)
{
    if (!opened || !context || !engine_enter(ENGINE_PATIENCE))
        return SASS_NOTHING;
    enum sass_begin how = started ? context_add(t, context) : SASS_NOTHING;
    engine_leave();
    return how;
}

void sass_metrics_context_gone(struct trace *t, cuda_context context)
{
    (void)t;
    if (!engine_enter(ENGINE_PATIENCE))
        return;
    struct sass_context *c = context_find(context);
    if (c) {
        sass_context_disable(c, &library);
        c->state = SASS_GONE;
        c->handle = NULL;
    }
    engine_leave();
}

/* ---- taking ------------------------------------------------------------------------------ */

void sass_metrics_launch(bool begins)
{
    atomic_fetch_add_explicit(begins ? &begun : &ended, 1, memory_order_release);
}

/* False where a context would not give them: they stay with the library. With the lock. */
static bool take_all(void)
{
    bool taken = true;
    for (size_t i = 0; i < CONTEXTS; i++)
        if (contexts[i].state == SASS_ON)
            taken &= sass_context_drain(&contexts[i], &library) == CUPTI_OK;
    return taken;
}

void sass_metrics_take(struct trace *t, bool now)
{
    int64_t time = now ? 0 : clock_mono();
    (void)t;
    if (!now && time < atomic_load_explicit(&due, memory_order_relaxed))
        return;
    if (!opened || !engine_enter(now ? ENGINE_PATIENCE : 0))
        return;
    uint64_t returned = atomic_load_explicit(&ended, memory_order_acquire);
    uint64_t before = atomic_load_explicit(&begun, memory_order_acquire);
    if (now || returned == before) {
        bool taken = take_all();
        uint64_t between = atomic_load_explicit(&begun, memory_order_acquire) - before;
        overlap += between;
        if (!now)
            atomic_store_explicit(&due, taken && !between ? time + PERIOD : INT64_MAX,
                                  memory_order_relaxed);
    }
    engine_leave();
}

/* ---- life -------------------------------------------------------------------------------- */

int sass_metrics_open(struct trace *t, struct err *e)
{
    struct sass_library l;
    int rc = sass_library_open(&l, t->cupti, e);
    if (rc || !engine_enter(ENGINE_PATIENCE))
        return rc ? rc : err_set(e, GPUFL_E_STATE, "the session before is still ending");
    library = l;
    for (size_t i = 0; i < CONTEXTS; i++)
        sass_context_close(&contexts[i]);
    failure[0] = '\0';
    failure_new = counted = lost_said = overlap_said = false;
    described = 0;
    overlap = 0;
    atomic_store(&begun, 0);
    atomic_store(&ended, 0);
    atomic_store(&due, clock_mono() + PERIOD);
    cubins_begin();
    opened = true;
    engine_leave();
    return 0;
}

enum sass_begin sass_metrics_start(struct trace *t)
{
    const struct cuda *cuda = cuda_loaded();
    cuda_context current = NULL;
    enum sass_begin how = SASS_NOTHING;
    if (!opened || !engine_enter(ENGINE_PATIENCE))
        return how;
    started = true;
    if (cuda && cuda->cuCtxGetCurrent(&current) == CUDA_OK && current)
        how = context_add(t, current);
    engine_leave();
    return how;
}

void sass_metrics_stop(struct trace *t)
{
    (void)t;
    if (!opened || !engine_enter(ENGINE_PATIENCE))
        return;
    started = false;
    for (size_t i = 0; i < CONTEXTS; i++)
        if (contexts[i].state == SASS_ON) {
            sass_context_disable(&contexts[i], &library);
            contexts[i].state = SASS_GONE;
        }
    engine_leave();
}

const char *sass_metrics_failure(void)
{
    static char text[TEXT]; /* collector's */
    if (engine_enter(ENGINE_PATIENCE)) {
        memcpy(text, failure, sizeof text);
        engine_leave();
    }
    return text;
}

/* ---- the collector's rounds -------------------------------------------------------------- */

static void setting(struct sink *s, uint32_t device, const char *name, const char *value)
{
    struct setting_row row = {.time = clock_mono(),
                              .device = device,
                              .engine = s->ops->name(s, "SassMetrics"),
                              .name = s->ops->name(s, name),
                              .value = s->ops->name(s, value)};
    s->ops->row(s, RECORD_setting, &row);
}

static void describe(struct sink *s, uint32_t id, const struct sass_device *d)
{
    char text[24];
    for (size_t i = 0; i < SASS_METRICS; i++)
        setting(s, id, d->ids[i] ? "metric" : "skipped_metric", sass_metric_names[i].name);
    snprintf(text, sizeof text, "%" PRId64, d->took / 1000);
    setting(s, id, "configure_us", text);
}

/* What is being written: a context's window. */
struct writing {
    struct trace *t;
    struct sass_context *c;
    uint32_t device;
};

static void put_cell(void *arg, const struct sass_cell *cell, size_t metric)
{
    struct writing *w = arg;
    struct sass_context *c = w->c;
    struct sink *s = w->t->sink;
    struct function *f = &c->tally.functions.items[cell->function];
    struct sass_metric_row row = {.start = c->from,
                                  .duration = c->to - c->from,
                                  .device = w->device,
                                  .function = functions_define(f, c->device, s),
                                  .offset = cell->offset,
                                  .metric = s->ops->name(s, sass_metric_names[metric].name),
                                  .value = (int64_t)cell->values[metric],
                                  .instances = CELL_NULL,
                                  .scope = CELL_NULL,
                                  .correlation = CELL_NULL};
    s->ops->row(s, RECORD_sass_metric, &row);
    counted = true;
}

static void say_losses(struct sink *s, uint64_t lost)
{
    if (lost || overlap)
        s->ops->lost(s, LOSS_METRICS, lost + overlap);
    if (lost && !lost_said)
        s->ops->message(s, SEVERITY_WARNING, "sass_metrics.lost",
                        "counts of instructions are missing: the driver dropped them, or there "
                        "were more than %d at a time",
                        SASS_TALLY_MAX);
    if (overlap && !overlap_said)
        s->ops->message(s, SEVERITY_WARNING, "sass_metrics.overlap",
                        "%" PRIu64 " launches of other threads came between while counts were "
                        "taken, and theirs may be missing",
                        overlap);
    lost_said |= lost > 0;
    overlap_said |= overlap > 0;
    overlap = 0;
}

static void context_write(struct trace *t, struct sass_context *c)
{
    struct sink *s = t->sink;
    struct writing w = {t, c, records_device(t->records, c->device)};
    uint64_t lost = c->dropped + c->tally.lost;
    if (!(described >> c->device & 1)) {
        described |= UINT64_C(1) << c->device;
        describe(s, w.device, &devices[c->device]);
    }
    sass_tally_take(&c->tally, put_cell, &w);
    c->dropped = c->tally.lost = 0;
    c->from = c->to;
    say_losses(s, lost);
}

void sass_metrics_drain(struct trace *t)
{
    if (!opened || !engine_enter(ENGINE_PATIENCE))
        return;
    cubins_drain(library.cuptiGetCubinCrc, t->sink);
    for (size_t i = 0; i < CONTEXTS; i++) {
        struct sass_context *c = &contexts[i];
        if (c->state == SASS_FREE)
            continue;
        context_write(t, c);
        if (c->state == SASS_GONE)
            sass_context_close(c);
    }
    if (failure_new) {
        failure_new = false;
        t->sink->ops->capability(t->sink, "sass_metrics", true, "unavailable", failure);
        t->sink->ops->message(t->sink, SEVERITY_WARNING, "sass_metrics.unavailable",
                              "no instructions are counted: %s", failure);
    }
    engine_leave();
}

void sass_metrics_close(struct trace *t)
{
    uint64_t launches = atomic_load_explicit(&begun, memory_order_acquire);
    if (opened && launches && !counted && !*failure)
        t->sink->ops->message(t->sink, SEVERITY_WARNING, "sass_metrics.nothing",
                              "CUPTI counted no instruction of %" PRIu64
                              " launches: use another version of it (GPUFL_CUPTI_PATH), and end "
                              "other tools that trace kernels",
                              launches);
    opened = false;
}
