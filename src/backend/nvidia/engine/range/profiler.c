/* profiler.c - see range/profiler.h: the engine's state, its contexts, and scopes.
 *
 * The name of a range is the number of its scope, because ranges with equal names would be one. */
#include "backend/nvidia/engine/range/profiler.h"

#include "backend/nvidia/engine/range/inside.h"
#include "backend/nvidia/engine/range/kernels.h"
#include "backend/nvidia/engine/range/own_kernels.h"
#include "backend/nvidia/engine/time.h"
#include "backend/nvidia/library/cuda.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "backend/nvidia/record/call_table.h"
#include "backend/nvidia/record/records.h"
#include "base/clock.h"
#include "base/process/program_thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const int64_t LONG_SCOPE = 20000000;  /* ns: decoding takes much less than such a scope */
static const int64_t BATCH_MOST = 250000000; /* ns until shorter scopes are decoded */

static const struct range_plan plan_scopes = {RANGE_USER, REPLAY_USER, 1, RANGES};

struct ranging ranging = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .launches = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP};

__thread struct range_thread range_thread;

bool ranges_enter(bool wait)
{
    if (range_thread.inside ||
        (wait ? pthread_mutex_lock(&ranging.lock) : pthread_mutex_trylock(&ranging.lock)) != 0)
        return false;
    range_thread.inside = true;
    return true;
}

static const char *passed_text(void)
{
    return range_thread.passed ? ranges_why((enum range_passed)(range_thread.passed - 1)) : NULL;
}

void ranges_leave(void)
{
    range_thread.inside = false;
    pthread_mutex_unlock(&ranging.lock);
}

void ranges_pass_by(enum range_passed why)
{
    range_thread.passed = (uint8_t)(why + 1);
    atomic_fetch_add_explicit(&ranging.passed_by[why], 1, memory_order_relaxed);
}

static void fail(struct trace *t, const char *text)
{
    ranges_close(t);
    ranging.failed = true;
    nv_engine_fail(t, NV_RANGE_PROFILER, text);
}

void ranges_fail_on(struct trace *t, int result, const char *doing)
{
    struct err e = {0};
    cupti_error(t->cupti, result, doing, &e);
    fail(t, e.text);
}

/* ---- the context that is counted, with the lock ---------------------------------------------- */

static void choose(struct range_choice *c)
{
    const struct profiler_host *h = &ranging.at.host;
    if (c->count)
        return; /* of an earlier context of this device */
    c->count = h->count;
    c->left_count = h->left_count;
    c->passes = h->passes;
    c->device = ranging.at.device;
    for (size_t i = 0; i < h->count; i++)
        c->names[i] = h->names[i];
    for (size_t i = 0; i < h->left_count; i++)
        c->left[i] = h->left[i].name;
    memcpy(c->chip, h->chip, sizeof c->chip);
}

/* Returns the context of this thread if it may be counted, else NULL. */
static cuda_context countable(struct trace *t, uint32_t *device)
{
    cuda_context current = cuda_current();
    *device = 0;
    if (!current && !ranging.kernels)
        ranges_pass_by(NO_CONTEXT);
    if (!current)
        return NULL;
    if (atomic_load_explicit(&t->captures, memory_order_relaxed) > 0) {
        ranges_pass_by(CAPTURING); /* counting waits for the device, which would end the capture */
        return NULL;
    }
    if (ranging.at.context == current)
        return current;
    if (t->cupti->cuptiGetDeviceId)
        t->cupti->cuptiGetDeviceId(current, device);
    if (!ranging.at.context && (!ranging.chosen.count || ranging.chosen.device == *device))
        return current;
    ranges_pass_by(OTHER_CONTEXT); /* one context at a time; other devices have other metrics */
    return NULL;
}

bool ranges_ready(struct trace *t, const struct range_plan *plan)
{
    struct err e = {0};
    uint32_t device;
    cuda_context current = countable(t, &device);
    if (!current)
        return false;
    if (ranging.at.context && ranging.at.plan.passes == plan->passes &&
        ranging.at.plan.ranges == plan->ranges)
        return true;
    device = ranging.at.context ? ranging.at.device : device;
    if (ranging.at.started)
        ranges_collect(t);
    int result = ranges_close(t);
    if (result != CUPTI_OK) {
        ranges_fail_on(t, result, "to give hardware counters back");
        return false;
    }
    int rc = range_context_open(&ranging.at, &ranging.library, t->cupti, current, device,
                                &ranging.metrics, plan, &e);
    trace_began(t, ENGINE_RANGE_PROFILER);
    if (rc) {
        fail(t, e.text);
        return false;
    }
    bool repeats = !ranging.kernels && plan->passes > 1;
    choose(repeats ? &ranging.chosen_repeated : &ranging.chosen);
    for (size_t i = 0; !repeats && i < ranging.at.host.left_count; i++)
        ranging.more_passes |= ranging.at.host.left[i].why == LEFT_PASSES;
    return true;
}

void ranges_renew(struct trace *t)
{
    if (ranging.stale && ranging.at.started)
        ranges_collect(t);
    if (ranging.stale)
        ranges_close(t);
    ranging.stale = false;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static uint32_t window_now(struct trace *t)
{
    return atomic_load_explicit(&t->window, memory_order_relaxed);
}

static struct range *range_new(struct trace *t, uint64_t instance, uint32_t name)
{
    struct range *r = &ranging.ranges[ranging.range_count];
    *r = (struct range){
        .instance = instance, .start = clock_mono(), .window = window_now(t), .scope = name};
    snprintf(r->name, sizeof r->name, "%" PRIu64, instance);
    return r;
}

static bool push(struct trace *t, struct range *r)
{
    int result = ranging.at.started ? CUPTI_OK : range_context_start(&ranging.at);
    if (result != CUPTI_OK) {
        ranges_fail_on(t, result, "to begin counting ranges");
        return false;
    }
    if (!ranging.range_count)
        ranging.batch_began = clock_mono();
    result = range_context_push(&ranging.at, r->name);
    ranging.lost += result != CUPTI_OK;
    r->start = clock_mono();
    return result == CUPTI_OK;
}

static void range_begins(struct trace *t, uint64_t instance, uint32_t repeats, uint32_t name)
{
    struct range_plan plan = {RANGE_USER, REPLAY_USER,
                              repeats < RANGE_PASSES_MOST ? repeats : RANGE_PASSES_MOST, 1};
    ranges_renew(t);
    if (ranging.failed ||
        !ranges_ready(t, ranging.at.context && repeats > 1 && ranging.more_passes ? &plan
                                                                                  : &plan_scopes))
        return;
    if (ranging.at.plan.passes == 1 && repeats > 1 && ranging.more_passes &&
        !ranges_ready(t, &plan))
        return; /* it was not known before */
    ranging.repeated_scope.on = ranging.at.plan.passes > 1;
    ranging.repeated_scope.done = ranging.repeated_scope.pass_open = false;
    ranging.repeated_scope.passes = 0;
    struct range *r = range_new(t, instance, name);
    if (!ranging.repeated_scope.on && !push(t, r))
        return;
    ranging.open_instance = instance;
    ranging.owner = pthread_self();
}

static void range_ends(struct trace *t)
{
    struct range *r = &ranging.ranges[ranging.range_count];
    int result = range_context_pop(&ranging.at);
    ranging.open_instance = 0;
    r->end = clock_mono();
    r->outside = r->window != window_now(t);
    if (r->outside)
        ranges_pass_by(WINDOW_CHANGED);
    ranging.range_count++;
    range_thread.unread = true;
    if (result == CUPTI_OK && ranging.range_count < RANGES && r->end - r->start < LONG_SCOPE &&
        r->end - ranging.batch_began < BATCH_MOST)
        return;
    if (result == CUPTI_OK)
        result = ranges_collect(t);
    if (result != CUPTI_OK)
        ranges_fail_on(t, result, "to count ranges");
}

/* ---- repeated scopes: a pass in each iteration ----------------------------------------------- */

static void pass_begins(struct trace *t)
{
    int result = ranging.repeated_scope.passes ? range_context_resume(&ranging.at)
                                               : range_context_start(&ranging.at);
    if (result == CUPTI_OK)
        result = range_context_push(&ranging.at, ranging.ranges[0].name);
    ranging.repeated_scope.pass_open = result == CUPTI_OK;
    ranging.repeated_scope.passes++;
    if (result != CUPTI_OK)
        ranges_fail_on(t, result, "to count an iteration");
}

static void pass_ends(struct trace *t)
{
    size_t count = 0;
    int result = range_context_pop(&ranging.at);
    ranging.repeated_scope.pass_open = false;
    if (result == CUPTI_OK)
        result = range_context_pause(&ranging.at, &ranging.repeated_scope.done);
    if (result == CUPTI_OK && ranging.repeated_scope.done)
        result = range_context_decode(&ranging.at, &count);
    if (result != CUPTI_OK) {
        ranges_fail_on(t, result, "to count an iteration");
        return;
    }
    if (!ranging.repeated_scope.done)
        return;
    ranging.ranges[0].end = clock_mono();
    ranging.ranges[0].outside = ranging.ranges[0].window != window_now(t);
    ranging.range_count = 1;
    ranges_take(t, count);
}

static void iteration_begins(struct trace *t)
{
    if (ranging.repeated_scope.pass_open)
        pass_ends(t);
    if (!ranging.repeated_scope.done && !ranging.failed &&
        atomic_load_explicit(&t->captures, memory_order_relaxed) <= 0)
        pass_begins(t);
}

static void repeated_ends(struct trace *t)
{
    ranging.open_instance = 0;
    ranging.repeated_scope.on = false;
    if (ranging.repeated_scope.pass_open)
        pass_ends(t);
    if (ranging.repeated_scope.done)
        return;
    if (ranging.failed) {
        ranges_pass_by(UNREAD);
        return;
    }
    ranges_pass_by(TOO_FEW);
    ranges_close(t); /* the library is in the middle of its passes */
}

static void scope_goes_on(struct trace *t, bool ends)
{
    if (ranging.repeated_scope.on && !ends)
        iteration_begins(t);
    else if (ranging.repeated_scope.on)
        repeated_ends(t);
    else if (ends)
        range_ends(t);
}

/* Decodes what this thread counted, as after a long scope: outside of windows nothing is counted,
 * and no other thread may decode it after this thread has ended. */
static void settle(struct trace *t)
{
    if (!range_thread.unread || !ranges_enter(true))
        return;
    ON_PROGRAM_THREAD;
    range_thread.unread = false;
    int64_t begin = engine_time_begin();
    int result = ranging.at.started && !ranging.open_instance ? ranges_collect(t) : CUPTI_OK;
    if (result != CUPTI_OK)
        ranges_fail_on(t, result, "to count ranges");
    ranges_leave();
    engine_time_end(begin);
}

static int ranges_window(struct trace *t, bool open, struct err *e)
{
    int rc = 0;
    if (!open) {
        settle(t);
        return 0;
    }
    if (!ranges_enter(true))
        return err_set(e, GPUFL_E_STATE, "ranges are being counted: try again");
    if (ranging.failed)
        rc = nv_engine_unavailable(t, NV_RANGE_PROFILER, e);
    ranges_leave();
    return rc;
}

/* Suspends counting, unless the context belongs to another thread or ranges are not yet read. */
static enum suspended ranges_suspend(struct trace *t)
{
    (void)t;
    if (!ranges_enter(false))
        return SUSPEND_LATER;
    bool holds = ranging.at.context != NULL;
    bool idle = !atomic_load(&ranging.open_instance) && !atomic_load(&ranging.beginning) &&
                !ranging.at.started;
    if (holds && idle)
        idle = cuda_current() == ranging.at.context;
    if (holds && idle)
        idle = ranges_close(t) == CUPTI_OK;
    ranges_leave();
    return idle ? SUSPEND_DONE : SUSPEND_LATER;
}

static void ranges_wake(struct trace *t)
{
    (void)t;
    if (!ranges_enter(true))
        return;
    if (ranging.chosen.count)
        ranging.failed = false; /* ranges were counted */
    ranges_leave();
}

/* Returns true if the engine ignores that this scope begins. */
static bool is_ignored(struct trace *t, uint64_t instance)
{
    if (range_thread.own && range_thread.own == atomic_load(&ranging.open_instance)) {
        ranges_pass_by(IN_ANOTHER); /* it opened a window */
        return true;
    }
    range_thread.own = instance;
    if (!t->switched || window_now(t))
        return false;
    settle(t);
    ranges_pass_by(NO_WINDOW);
    return true;
}

static void scope_with_lock(struct trace *t, uint64_t instance, enum range_moment moment,
                            uint32_t repeats, uint32_t name)
{
    bool begins = moment == RANGE_BEGINS;
    ON_PROGRAM_THREAD;
    int64_t since = engine_time_begin();
    if (ranges_enter(true)) {
        if (begins && ranging.opened && !atomic_load(&ranging.open_instance))
            range_begins(t, instance, repeats, name);
        else if (!begins && atomic_load(&ranging.open_instance) == instance &&
                 pthread_equal(ranging.owner, pthread_self()))
            scope_goes_on(t, moment == RANGE_ENDS);
        ranges_leave();
    }
    engine_time_end(since);
    if (begins && !range_thread.passed && atomic_load(&ranging.open_instance) != instance)
        ranges_pass_by(NOT_COUNTING);
}

static const char *ranges_scope(struct trace *t, uint64_t instance, enum range_moment moment,
                                uint32_t repeats, uint32_t name)
{
    bool begins = moment == RANGE_BEGINS;
    range_thread.passed = 0;
    if (moment == RANGE_SETTLES) {
        settle(t);
        return NULL;
    }
    if (t->config.range_kernels || (begins && is_ignored(t, instance)))
        return passed_text();
    if (begins &&
        (atomic_load(&ranging.open_instance) || atomic_exchange(&ranging.beginning, true))) {
        ranges_pass_by(OTHER_THREAD);
        return passed_text();
    }
    if (!begins && atomic_load(&ranging.open_instance) != instance)
        return NULL;
    scope_with_lock(t, instance, moment, repeats, name);
    if (begins)
        atomic_store(&ranging.beginning, false);
    return passed_text();
}

/* ---- contexts -------------------------------------------------------------------------------- */

static bool ranges_last(void)
{
    if (!ranges_enter(true))
        return true;
    bool lasts = ranging.at.context != NULL;
    ranges_leave();
    return lasts;
}

/* Gives up the open scope, which is not counted; scopes before it are complete. */
static void leave_open(struct trace *t, enum range_passed why)
{
    bool repeated = ranging.repeated_scope.on;
    if (!ranging.open_instance)
        return;
    if (!repeated || ranging.repeated_scope.pass_open)
        (void)range_context_pop(&ranging.at);
    if (!repeated || !ranging.repeated_scope.done)
        ranges_not_counted(t, &ranging.ranges[ranging.range_count], why);
    ranging.repeated_scope.on = ranging.repeated_scope.pass_open = false;
    ranging.open_instance = 0;
}

static void ranges_context_gone(struct trace *t, cuda_context gone)
{
    if (!ranges_enter(true))
        return;
    if (ranging.at.context && gone == ranging.at.context) {
        bool repeats = ranging.open_instance && ranging.repeated_scope.on;
        leave_open(t, CONTEXT_GONE);
        if (ranging.at.started && !repeats)
            ranges_collect(t);
        ranges_close(t);
    }
    ranges_leave();
}

/* ---- the session ----------------------------------------------------------------------------- */

static int ranges_open(struct trace *t, struct err *e)
{
    struct profiler_library l;
    struct metric_list m;
    int rc = metric_list_read(&m, t->config.counter_metrics, METRIC_RANGED, e);
    if (!rc && t->config.range_kernels)
        metric_list_first(&m, METRIC_TIME);
    if (!rc)
        rc = profiler_library_open(&l, t->cupti, e);
    if (rc || !ranges_enter(true))
        return rc;
    ranging.library = l;
    ranging.metrics =
        m; /* the host of an earlier session refers to these names, but is not used any more */
    ranging.kernels = t->config.range_kernels;
    ranging.repeated_count = 0;
    range_pick_init(&ranging.pick, t->config.range_launches);
    ranging.stale = ranging.at.context != NULL;
    if (atomic_exchange(&ranging.open_instance, 0))
        ranging.at.started = false; /* its end was not reported; it is removed with the counters */
    ranging.failed = false;
    ranges_results_drop();
    ranging.range_count = 0;
    ranging.lost = ranging.written = 0;
    ranging.chosen = ranging.chosen_repeated = (struct range_choice){.count = 0};
    ranging.more_passes = false;
    memset(ranging.name_ids, 0, sizeof ranging.name_ids);
    for (size_t i = 0; i < PASSED_BY; i++)
        atomic_store(&ranging.passed_by[i], 0);
    ranging.opened = true;
    ranges_leave();
    records_ranges(t->records);
    return 0;
}

static void ranges_stop(struct trace *t, bool quiet)
{
    if (!ranges_enter(true))
        return;
    bool repeats = ranging.open_instance && ranging.repeated_scope.on;
    if (quiet)
        leave_open(t, LEFT_OPEN);
    else if (ranging.open_instance && !(repeats && ranging.repeated_scope.done))
        ranges_not_counted(t, &ranging.ranges[ranging.range_count], LEFT_OPEN);
    if (quiet && ranging.at.started && !repeats)
        ranges_collect(t);
    if (quiet)
        ranges_close(t);
    ranges_drop(t);
    ranging.opened = false;
    ranges_leave();
}

static void ranges_drain(struct trace *t)
{
    if (!ranges_enter(t->stopped))
        return; /* a scope begins or ends at this moment: it is done the next time */
    range_report(t);
    ranges_leave();
}

/* From here to its exit, a launch may make other threads wait. [hot] */
static void ranges_entered(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    if (!call_launches(id))
        return;
    /* The low half of a kernel launch's word is how many it launches (launches.c). */
    bool one = call_roles[id] == ROLE_KERNEL && (*c->data & UINT32_MAX) == 1;
    const char *name = one ? c->symbol : NULL;
    own_kernels_launch(name, trace_id(t, c->correlation));
    if (t->config.range_kernels)
        range_kernels_begin(t, name);
}

const struct nv_engine_ops range_profiler_engine = {
    .asks = ENGINE_RANGE_PROFILER,
    .brings = ENGINE_RANGE_PROFILER,
    .feature = "range_counters",
    .code = "range_profiler.unavailable",
    .nothing = "nothing is counted",
    .events = NV_CONTEXT_GOES,
    .open = ranges_open,
    .stop = ranges_stop,
    .window = ranges_window,
    .suspend = ranges_suspend,
    .wake = ranges_wake,
    .context_gone = ranges_context_gone,
    .entered = ranges_entered,
    .range = ranges_scope,
    .drain = ranges_drain,
    .lasts = ranges_last,
};
