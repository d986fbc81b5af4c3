/* on_demand.c - see on_demand.h. */
#include "capture/session/on_demand.h"

#include "base/opt.h"
#include "base/process/thread.h"
#include "capture/log/messages.h"
#include "capture/session/engines.h"
#include "capture/threads/exits.h"
#include "capture/windows/windows.h"
#include "monitor/steady.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char NAME[] = "(on demand)";
static const int64_t PATIENCE = 8ll * 1000000000;

/* Lists engines with which a session can be woken. The other engines have to be attached when the
 * program makes its contexts (backend/engine_texts.h, late). */
static const enum gpufl_engine wakeable[] = {GPUFL_ENGINE_TRACE};

struct on_demand_order {
    char session[40];
    enum gpufl_engine engine;
    int64_t ms;
    char scope[ON_DEMAND_SCOPE]; /* "": all the time */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wakeup answered;
static bool prepared; /* the wake-up above is initialized */
static struct {       /* guarded by lock */
    enum { NOTHING, ASKED, ANSWERED } phase;
    bool ended;
    struct on_demand_order order;
    int rc;
    struct err why;
} asked;

static struct {    /* used by the collector only */
    int64_t until; /* steady ns; 0: no capture is under way */
    bool by_scope;
    bool was_sync;          /* the trace of engine Sync is to be restored */
    struct options options; /* of the woken trace; its texts are the session's */
} now_open;

/* ---- asking -------------------------------------------------------------------------------- */

static int parse(const char *text, struct on_demand_order *out, struct err *e)
{
    char engine[32] = "";
    const char *near = NULL;
    long long ms = 0;
    int at = 0;
    *out = (struct on_demand_order){0};
    if (sscanf(text, "%39s %31s %lld%n", out->session, engine, &ms, &at) < 3 ||
        (text[at] && text[at] != ' ') || strlen(text) - (size_t)at > ON_DEMAND_SCOPE)
        return err_set(e, GPUFL_E_INVAL, "not understood; capture takes SESSION ENGINE MS [SCOPE]");
    int i = opt_choice(engine, option_engines, &near);
    if (i < 0)
        return err_set(e, GPUFL_E_INVAL, "there is no engine '%s'", engine);
    if (ms < ON_DEMAND_LEAST_MS || ms > ON_DEMAND_MOST_MS)
        return err_set(e, GPUFL_E_INVAL, "a capture lasts %d to %d ms", ON_DEMAND_LEAST_MS,
                       ON_DEMAND_MOST_MS);
    out->engine = (enum gpufl_engine)i;
    out->ms = ms;
    snprintf(out->scope, sizeof out->scope, "%s", text[at] ? text + at + 1 : "");
    return 0;
}

/* Takes the collector's answer. Caller holds the lock. */
static int take_answer(struct err *e)
{
    int rc = asked.rc;
    if (rc)
        (void)err_set(e, rc, "%s", *asked.why.text ? asked.why.text : err_text(rc));
    asked.phase = NOTHING;
    return rc;
}

static int ask(const struct on_demand_order *order, struct err *e)
{
    int64_t until = steady_ns() + PATIENCE;
    pthread_mutex_lock(&lock);
    int rc = asked.ended              ? err_set(e, GPUFL_E_STATE, "the session is ending")
             : asked.phase != NOTHING ? err_set(e, GPUFL_E_BUSY, "another order is under way")
                                      : 0;
    if (!rc) {
        asked.order = *order;
        asked.why = (struct err){0};
        asked.phase = ASKED;
    }
    pthread_mutex_unlock(&lock);
    if (rc)
        return rc;
    collector_wake_now();
    for (;;) {
        int64_t left = until - steady_ns();
        (void)wakeup_wait(&answered, left > 0 ? left : 0);
        pthread_mutex_lock(&lock);
        bool over = asked.phase == ANSWERED || left <= 0;
        if (asked.phase == ANSWERED) {
            rc = take_answer(e);
        } else if (over) {
            asked.phase = NOTHING;
            rc = err_set(e, GPUFL_E_TIMEOUT, "the session is too busy to begin a capture");
        }
        pthread_mutex_unlock(&lock);
        if (over)
            return rc;
    }
}

int on_demand_ask(const char *text, struct err *e)
{
    struct on_demand_order order;
    int rc = parse(text, &order, e);
    return rc ? rc : ask(&order, e);
}

static void give_answer(int rc, const struct err *why)
{
    pthread_mutex_lock(&lock);
    if (asked.phase == ASKED) {
        asked.rc = rc;
        asked.why = *why;
        asked.phase = ANSWERED;
    }
    pthread_mutex_unlock(&lock);
    wakeup_signal(&answered);
}

/* ---- waking. [collector] ------------------------------------------------------------------- */

/* Makes the options of the trace that wakes the session: those of the session, with windows. */
static void make_options(const struct collector *c, const struct on_demand_order *order)
{
    struct options *o = &now_open.options;
    *o = *c->options;
    o->profiling_engine = order->engine;
    o->windows = true;
    o->window_detach = true;
}

/* Ends the present trace, after its records are written. */
static void end_trace(struct collector *c)
{
    struct trace_cost cost = {0};
    if (!c->trace)
        return;
    const struct trace_ops *ops = c->backend->trace;
    (void)ops->stop(c->trace);
    (void)ops->flush(c->trace, true);
    collector_cycle(c, false, false);
    ops->cost(c->trace, &cost);
    c->ledger.past_callbacks += cost.callbacks_ns;
    c->ledger.past_counted |= cost.launches_counted;
    ops->close(c->trace);
    c->trace = c->ledger.trace = NULL;
    c->trace_started = false;
}

static int begin_trace(struct collector *c, const struct options *o, enum gpufl_engine engine,
                       struct err *e)
{
    int rc = engines_open(o, c->backend, engine, false, &c->trace, e);
    if (rc)
        return rc;
    rc = c->backend->trace->start(c->trace, e);
    if (rc) {
        c->backend->trace->close(c->trace);
        c->trace = NULL;
        return rc;
    }
    c->trace_started = true;
    c->ledger.trace = c->trace;
    c->ledger.ops = c->backend->trace;
    (void)exits_first(EXITS_TRACING);
    return 0;
}

/* Gives a session of engine Sync its trace back. */
static void restore(struct collector *c)
{
    struct err e = {0};
    if (!now_open.was_sync)
        return;
    now_open.was_sync = false;
    windows_end_woken(); /* waits for a thread that is opening a window */
    collector_trace_take();
    end_trace(c);
    if (begin_trace(c, c->options, GPUFL_ENGINE_SYNC, &e))
        message_say(SEVERITY_WARNING, "on_demand.sync",
                    "waits are not recorded after a capture: %s", e.text);
    collector_trace_give();
}

static int check_wakeable(enum gpufl_engine engine, struct err *e)
{
    const char *name = option_engines[engine];
    for (size_t i = 0; i < sizeof wakeable / sizeof *wakeable; i++)
        if (wakeable[i] == engine)
            return 0;
    return err_set(
        e, GPUFL_E_STATE,
        "engine %s has to be there when the program begins to use the GPU: start the "
        "program with profiling_engine=%s and windows; this session can be woken with %s",
        name, name, option_engines[wakeable[0]]);
}

static int wake(struct collector *c, const struct on_demand_order *order, struct err *e)
{
    make_options(c, order);
    const char *lack = engines_windows_lack(&now_open.options, c->backend, order->engine);
    if (lack)
        return err_set(e, GPUFL_E_UNAVAILABLE, "no capture here: %s", lack);
    collector_trace_take();
    now_open.was_sync = c->engine == GPUFL_ENGINE_SYNC;
    end_trace(c);
    int rc = begin_trace(c, &now_open.options, order->engine, e);
    collector_trace_give();
    if (rc) {
        restore(c);
        return rc;
    }
    c->roused = true;
    c->ledger.activity = true;
    windows_begin(&now_open.options, NULL, engines_detach(c->backend, order->engine),
                  collector_window);
    return 0;
}

/* ---- one capture. [collector] -------------------------------------------------------------- */

/* Prepares the session, so that a window of this engine can be opened. */
static int make_ready(struct collector *c, const struct on_demand_order *order, struct err *e)
{
    bool dormant = c->engine == GPUFL_ENGINE_MONITOR || c->engine == GPUFL_ENGINE_SYNC;
    bool windows = windows_active();
    if (strcmp(order->session, c->session) != 0)
        return err_set(e, GPUFL_E_STATE, "the session of this process is another one");
    if (now_open.until)
        return err_set(e, GPUFL_E_BUSY, "a capture is under way in this session");
    if (windows && !c->roused)
        return order->engine == c->engine
                   ? 0
                   : err_set(e, GPUFL_E_STATE, "the windows of this session have engine %s",
                             option_engines[c->engine]);
    if (!dormant)
        return err_set(e, GPUFL_E_STATE, "this session records all the time, with engine %s",
                       option_engines[c->engine]);
    int rc = check_wakeable(order->engine, e);
    return rc || windows ? rc : wake(c, order, e);
}

static int begin(struct collector *c, const struct on_demand_order *order, struct err *e)
{
    int rc = make_ready(c, order, e);
    if (rc)
        return rc;
    now_open.by_scope = *order->scope;
    rc = now_open.by_scope ? windows_lend_scope(order->scope, e) : windows_switch(NAME, true, e);
    if (!rc)
        now_open.until = steady_ns() + order->ms * 1000000;
    else
        restore(c);
    return rc;
}

static void end(struct collector *c)
{
    struct err e = {0};
    now_open.until = 0;
    if (now_open.by_scope)
        windows_end_scope();
    else
        (void)windows_switch(NAME, false, &e);
    restore(c);
}

int64_t on_demand_step(struct collector *c, int64_t now)
{
    struct on_demand_order order;
    struct err e = {0};
    if (now_open.until && now >= now_open.until)
        end(c);
    pthread_mutex_lock(&lock);
    bool wanted = asked.phase == ASKED;
    order = asked.order;
    pthread_mutex_unlock(&lock);
    if (wanted)
        give_answer(begin(c, &order, &e), &e);
    return now_open.until;
}

/* ---- life ---------------------------------------------------------------------------------- */

int on_demand_begin(void)
{
    if (!prepared && wakeup_init(&answered))
        return GPUFL_E_NOMEM;
    prepared = true;
    pthread_mutex_lock(&lock);
    memset(&asked, 0, sizeof asked);
    pthread_mutex_unlock(&lock);
    memset(&now_open, 0, sizeof now_open);
    return 0;
}

void on_demand_end(void)
{
    static const struct err why = {.text = "the session is ending"};
    if (!prepared)
        return;
    pthread_mutex_lock(&lock);
    asked.ended = true;
    pthread_mutex_unlock(&lock);
    give_answer(GPUFL_E_STATE, &why);
}

void on_demand_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    prepared = false;
    memset(&asked, 0, sizeof asked);
    memset(&now_open, 0, sizeof now_open);
}
