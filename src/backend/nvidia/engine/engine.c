/* engine.c - see engine.h. */
#include "backend/nvidia/engine/engine.h"

#include "backend/nvidia/engine/time.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "backend/nvidia/life/suspend.h"
#include "backend/nvidia/record/activity_kinds.h"
#include "backend/nvidia/trace.h"
#include "base/process/program_thread.h"

#include <pthread.h>

#define NV_ENGINE(id, ops, bits) extern const struct nv_engine_ops ops;
#include "backend/nvidia/engine/nv_engines.def"

const struct nv_engine_ops *const nv_engines[NV_ENGINES] = {
#define NV_ENGINE(id, ops, bits) [NV_##id] = &(ops),
#include "backend/nvidia/engine/nv_engines.def"
};

static struct {
    pthread_mutex_t lock; /* guards nv_engine.fails; taken last */
    struct err first;     /* the first reason that nv_engines_running found [collector] */
} me = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_asked(const struct trace *t, const struct nv_engine_ops *o)
{
    return (t->config.engines & o->asks) == o->asks;
}

/* Returns the operations of engine i if it runs; else NULL. */
static const struct nv_engine_ops *running(const struct trace *t, size_t i)
{
    return t->engines[i].runs ? nv_engines[i] : NULL;
}

/* ---- one engine ------------------------------------------------------------------------------ */

void nv_engine_fail(struct trace *t, enum nv_engine_id id, const char *why)
{
    struct nv_engine *n = &t->engines[id];
    pthread_mutex_lock(&me.lock);
    bool first = !n->fails.text[0];
    if (first)
        err_set(&n->fails, GPUFL_E_UNAVAILABLE, "%s", why);
    n->fails_new |= first;
    pthread_mutex_unlock(&me.lock);
    if (first)
        cupti_fatal_suspect();
}

struct err nv_engine_failure(struct trace *t, enum nv_engine_id id)
{
    pthread_mutex_lock(&me.lock);
    struct err e = t->engines[id].fails;
    pthread_mutex_unlock(&me.lock);
    return e;
}

bool nv_engine_failed(struct trace *t, enum nv_engine_id id)
{
    return nv_engine_failure(t, id).text[0];
}

void nv_engine_retry(struct trace *t, enum nv_engine_id id)
{
    pthread_mutex_lock(&me.lock);
    t->engines[id].fails = (struct err){0};
    pthread_mutex_unlock(&me.lock);
}

int nv_engine_unavailable(struct trace *t, enum nv_engine_id id, struct err *e)
{
    struct err why = nv_engine_failure(t, id);
    return err_set(e, GPUFL_E_UNAVAILABLE, "%s: %s", nv_engines[id]->nothing, why.text);
}

static void say_nothing(struct trace *t, const struct nv_engine_ops *o, const char *why)
{
    struct sink *s = t->sink;
    s->ops->capability(s, o->feature, true, "unavailable", why);
    s->ops->message(s, SEVERITY_WARNING, o->code, "%s%s: %s", o->nothing,
                    o->instead && t->config.pc_collect == PC_COLLECT_NONE
                        ? ", and kernel records were not asked for (pc_kernel_collect=none)"
                        : "",
                    why);
}

void nv_engine_say_failure(struct trace *t, enum nv_engine_id id)
{
    pthread_mutex_lock(&me.lock);
    struct err why = t->engines[id].fails;
    bool news = t->engines[id].fails_new;
    t->engines[id].fails_new = false;
    pthread_mutex_unlock(&me.lock);
    if (news)
        say_nothing(t, nv_engines[id], why.text);
}

/* ---- what engines need, and which exclude each other ----------------------------------------- */

bool nv_engines_need_moments(const struct trace *t)
{
    bool any = false;
    for (size_t i = 0; i < NV_ENGINES; i++)
        any |= nv_engines[i]->moments && is_asked(t, nv_engines[i]);
    return any;
}

bool nv_engines_instead(const struct trace *t)
{
    bool any = false;
    for (size_t i = 0; i < NV_ENGINES; i++)
        any |= nv_engines[i]->instead && is_asked(t, nv_engines[i]);
    return any && t->config.pc_collect == PC_COLLECT_NONE;
}

bool nv_engines_need_no_calls(const struct trace *t)
{
    bool any = false;
    for (size_t i = 0; i < NV_ENGINES; i++)
        any |= nv_engines[i]->no_calls && is_asked(t, nv_engines[i]);
    return any && nv_engines_instead(t);
}

bool nv_engines_keep_ids(const struct trace *t)
{
    bool any = false;
    for (size_t i = 0; i < NV_ENGINES; i++)
        any |= nv_engines[i]->keeps_ids && is_asked(t, nv_engines[i]);
    return any;
}

bool nv_engines_exclude_copies(const struct trace *t)
{
    bool any = false;
    for (size_t i = 0; i < NV_ENGINES; i++)
        any |= t->engines[i].runs && nv_engines[i]->no_copies;
    return any;
}

static bool runs_alone(const struct trace *t)
{
    bool any = false;
    for (size_t i = 0; i < NV_ENGINES; i++)
        any |= t->engines[i].runs && nv_engines[i]->alone;
    return any;
}

bool nv_engines_alone(const struct trace *t)
{
    return runs_alone(t) && !atomic_load(&t->kernels_instead);
}

bool nv_engines_edges_wait(const struct trace *t)
{
    bool any = false;
    for (size_t i = 0; i < NV_ENGINES; i++)
        any |= t->engines[i].runs && nv_engines[i]->edges_wait;
    return any;
}

enum nv_contexts nv_engines_contexts(const struct trace *t)
{
    enum nv_contexts most = NV_NO_CONTEXT;
    for (size_t i = 0; i < NV_ENGINES; i++)
        if (t->engines[i].runs && nv_engines[i]->contexts > most)
            most = nv_engines[i]->contexts;
    return most;
}

bool nv_engines_can_suspend(const struct trace *t)
{
    bool all = true;
    for (size_t i = 0; i < NV_ENGINES; i++)
        all &= !t->engines[i].runs || nv_engines[i]->suspend;
    return all;
}

const char *nv_engines_unending(const struct trace *t)
{
    const char *why = NULL;
    for (size_t i = 0; i < NV_ENGINES && !why; i++)
        if (t->engines[i].runs && nv_engines[i]->unending && nv_engines[i]->lasts())
            why = nv_engines[i]->unending;
    return why;
}

const char *nv_engines_yield(struct trace *t)
{
    const char *why = NULL;
    for (size_t i = NV_ENGINES; i-- > 0 && !why;)
        if (t->engines[i].runs && nv_engines[i]->yield)
            why = nv_engines[i]->yield(t);
    return why;
}

bool nv_engines_last(void)
{
    bool any = false;
    for (size_t i = 0; i < NV_ENGINES && !any; i++)
        any = nv_engines[i]->lasts && nv_engines[i]->lasts();
    return any;
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* Enables the callbacks of resources. events: bit by enum cupti_resource. */
static int events_enable(struct trace *t, unsigned events, struct err *e)
{
    if (t->switched) /* suspend.h remembers contexts */
        events |= 1u << CUPTI_RESOURCE_CONTEXT_CREATED | 1u << CUPTI_RESOURCE_CONTEXT_DESTROY;
    for (uint32_t id = 0; events >> id; id++) {
        int result = events >> id & 1 ? t->cupti->cuptiEnableCallback(1, t->subscriber,
                                                                      CUPTI_DOMAIN_RESOURCE, id)
                                      : CUPTI_OK;
        if (result != CUPTI_OK)
            return cupti_error(t->cupti, result, "to report contexts and modules", e);
    }
    return 0;
}

static void add_call(nv_call_fn **list, nv_call_fn *call)
{
    while (*list)
        list++;
    *list = call;
}

void nv_engines_open(struct trace *t)
{
    engine_time_open();
    for (size_t i = 0; i < NV_ENGINES; i++) {
        const struct nv_engine_ops *o = nv_engines[i];
        struct nv_engine *n = &t->engines[i];
        if (!is_asked(t, o))
            continue;
        int rc = o->open(t, &n->lacks);
        rc = rc || !o->events ? rc : events_enable(t, o->events, &n->lacks);
        n->runs = !rc;
        if (!n->runs && o->feature)
            say_nothing(t, o, n->lacks.text);
        if (!n->runs)
            continue;
        add_call(t->calls.enter, o->enter);
        add_call(t->calls.entered, o->entered);
        add_call(t->calls.left, o->left);
        add_call(t->calls.left_outside, o->left_outside);
    }
}

void nv_engines_start(struct trace *t)
{
    int64_t begin = engine_time_begin();
    for (size_t i = 0; i < NV_ENGINES; i++)
        if (running(t, i) && nv_engines[i]->start)
            nv_engines[i]->start(t);
    engine_time_end_start(begin);
}

void nv_engines_record(struct trace *t)
{
    if (atomic_exchange(&t->kernels_instead, true))
        return;
    activity_kinds_enable(t);
    atomic_store_explicit(&t->announce, true, memory_order_release);
}

void nv_engines_stop(struct trace *t)
{
    bool quiet = atomic_load_explicit(&t->quiet, memory_order_acquire);
    for (size_t i = NV_ENGINES; i-- > 0;)
        if (running(t, i) && nv_engines[i]->stop)
            nv_engines[i]->stop(t, quiet);
}

void nv_engines_close(struct trace *t)
{
    for (size_t i = NV_ENGINES; i-- > 0;)
        if (running(t, i) && nv_engines[i]->close)
            nv_engines[i]->close(t);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Opens or closes a window for one engine. GPUFL_E_UNAVAILABLE: it can never work. */
static int switch_one(struct trace *t, size_t i, bool open, struct err *e)
{
    if (t->engines[i].runs)
        return nv_engines[i]->window(t, open, e);
    *e = t->engines[i].lacks;
    return GPUFL_E_UNAVAILABLE;
}

static void close_engines(struct trace *t, size_t count)
{
    struct err unused;
    for (size_t i = 0; i < count; i++)
        if (nv_engines[i]->window && is_asked(t, nv_engines[i]))
            (void)switch_one(t, i, false, &unused);
}

/* Opens a window for all engines. Fails if an engine refuses that may be available the next time,
 * or if neither an engine nor kernel records are available. */
static int open_engines(struct trace *t, struct err *e)
{
    bool any = activity_kinds_wanted(t) && !nv_engines_alone(t);
    int lacks = 0;
    for (size_t i = 0; i < NV_ENGINES; i++) {
        if (!nv_engines[i]->window || !is_asked(t, nv_engines[i]))
            continue;
        int rc = switch_one(t, i, true, e);
        any |= !rc;
        lacks = rc ? rc : lacks;
        if (rc && rc != GPUFL_E_UNAVAILABLE) {
            close_engines(t, i);
            return rc;
        }
    }
    return any ? 0 : lacks;
}

static int switch_window(struct trace *t, bool open, struct err *e)
{
    int rc = open ? open_engines(t, e) : 0;
    if (rc)
        return rc;
    if (open) {
        atomic_store_explicit(&t->passing, false, memory_order_release);
        activity_kinds_window(t, true);
    }
    atomic_store_explicit(&t->waits, open && t->config.waits && !nv_engines_need_no_calls(t),
                          memory_order_relaxed);
    atomic_store(&t->window, open ? atomic_fetch_add(&t->last_window, 1) + 1 : 0);
    if (!open) {
        activity_kinds_window(t, false);
        close_engines(t, NV_ENGINES);
    }
    return 0;
}

int nv_engines_window(struct trace *t, bool open, struct err *e)
{
    ON_PROGRAM_THREAD;
    int64_t begin = engine_time_begin();
    int rc = switch_window(t, open, e);
    engine_time_end(begin);
    return rc;
}

enum suspended nv_engines_suspend(struct trace *t)
{
    enum suspended result = SUSPEND_DONE;
    for (size_t i = NV_ENGINES; i-- > 0 && result != SUSPEND_LATER;) {
        enum suspended one = running(t, i) ? nv_engines[i]->suspend(t) : SUSPEND_DONE;
        result = one == SUSPEND_DONE ? result : one;
    }
    if (result != SUSPEND_LATER)
        activity_kinds_end(t);
    return result;
}

int nv_engines_wake(struct trace *t, bool again, struct err *e)
{
    unsigned events = 0;
    for (size_t i = 0; i < NV_ENGINES; i++)
        events |= t->engines[i].runs ? nv_engines[i]->events : 0;
    int rc = again ? events_enable(t, events, e) : 0;
    if (rc)
        return rc;
    for (size_t i = 0; i < NV_ENGINES; i++)
        if (running(t, i) && nv_engines[i]->wake)
            nv_engines[i]->wake(t);
    return 0;
}

/* ---- contexts, modules and scopes ------------------------------------------------------------ */

void nv_engines_context(struct trace *t, cuda_context context)
{
    ON_PROGRAM_THREAD;
    int64_t begin = engine_time_begin();
    suspend_context(t, context);
    for (size_t i = 0; i < NV_ENGINES; i++)
        if (running(t, i) && nv_engines[i]->context)
            nv_engines[i]->context(t, context);
    engine_time_end(begin);
}

void nv_engines_context_gone(struct trace *t, cuda_context context)
{
    engine_time_forget(context);
    suspend_context_gone(t, context);
    for (size_t i = 0; i < NV_ENGINES; i++)
        if (nv_engines[i]->context_gone)
            nv_engines[i]->context_gone(t, context);
}

void nv_engines_module_gone(struct trace *t, cuda_context context)
{
    for (size_t i = 0; i < NV_ENGINES; i++)
        if (running(t, i) && nv_engines[i]->module_gone)
            nv_engines[i]->module_gone(t, context);
}

const char *nv_engines_range(struct trace *t, uint64_t instance, enum range_moment moment,
                             uint32_t repeats, uint32_t name)
{
    for (size_t i = 0; i < NV_ENGINES && !trace_mute(t); i++)
        if (running(t, i) && nv_engines[i]->range)
            return nv_engines[i]->range(t, instance, moment, repeats, name);
    return moment == RANGE_BEGINS ? "CUPTI counts no more: see the messages" : NULL;
}

/* ---- collector ------------------------------------------------------------------------------- */

void nv_engines_flush(struct trace *t)
{
    for (size_t i = 0; i < NV_ENGINES; i++)
        if (running(t, i) && nv_engines[i]->flush)
            nv_engines[i]->flush(t);
}

void nv_engines_drain(struct trace *t)
{
    engine_time_drain(t->sink);
    for (size_t i = 0; i < NV_ENGINES; i++) {
        if (!running(t, i))
            continue;
        if (nv_engines[i]->drain)
            nv_engines[i]->drain(t);
        nv_engine_say_failure(t, (enum nv_engine_id)i);
    }
}

/* Returns why an engine gives no data; an empty text: it does, or it was not tried yet. */
static struct err why_nothing(struct trace *t, size_t i)
{
    if (!t->engines[i].runs)
        return t->engines[i].lacks;
    struct err e = nv_engine_failure(t, (enum nv_engine_id)i);
    if (nv_engines[i]->failure)
        err_set(&e, GPUFL_E_UNAVAILABLE, "%s", nv_engines[i]->failure(t));
    return e;
}

void nv_engines_announce_end(struct trace *t, const char *why)
{
    for (size_t i = 0; i < NV_ENGINES; i++) {
        const struct nv_engine_ops *o = running(t, i);
        if (!o || !o->feature)
            continue;
        if (!nv_engine_failed(t, (enum nv_engine_id)i) || (o->brought && o->brought()))
            t->sink->ops->capability(t->sink, o->feature, true, "partial", why);
    }
}

unsigned nv_engines_running(struct trace *t, const char **why)
{
    unsigned bits = t->config.engines, lacks = 0;
    *why = cupti_fatal_why(t);
    if (**why && !atomic_load_explicit(&t->handed, memory_order_acquire))
        return ENGINE_SYNC;
    me.first = (struct err){0};
    *why = me.first.text;
    for (size_t i = 0; i < NV_ENGINES; i++) {
        const struct nv_engine_ops *o = nv_engines[i];
        struct err one = is_asked(t, o) ? why_nothing(t, i) : (struct err){0};
        if (!one.text[0])
            continue;
        me.first = me.first.text[0] ? me.first : one;
        lacks |= o->brings;
        if (o->instead && t->config.pc_collect == PC_COLLECT_NONE && !runs_alone(t))
            lacks |= ENGINE_TRACE; /* no other engine was asked for */
        if (o->no_calls && nv_engines_need_no_calls(t))
            return 0;
    }
    return bits & ~lacks ? bits & ~lacks : ENGINE_SYNC;
}
