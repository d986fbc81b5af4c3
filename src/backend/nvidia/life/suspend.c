/* suspend.c - see suspend.h. The state is trace.attach_state. It is ATTACH_OPEN while the engines
  * work, in windows and for a while after them; after ATTACH_SUSPENDING everything is as with
  * windows of engine Trace. */
#include "backend/nvidia/life/suspend.h"

#include "backend/common/code_copies.h"
#include "backend/nvidia/engine/driver_gate.h"
#include "backend/nvidia/engine/sass/gate.h"
#include "backend/nvidia/library/cuda.h"
#include "backend/nvidia/life/attach.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "backend/nvidia/life/detach.h"
#include "backend/nvidia/life/earlier_calls.h"
#include "backend/nvidia/life/object_calls.h"
#include "backend/nvidia/record/functions.h"
#include "backend/nvidia/record/launches.h"
#include "base/clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <time.h>

enum {
    CONTEXTS = 64,
    NOTED = 16,
    TRIES = 20, /* of the thread that opens a window, to find no thread inside the driver */
};

/* Limits, in ns, the time after which a call that began before CUPTI was attached has returned; the
 * longer time is for several threads that call the driver. */
static const int64_t UNDER_WAY = 5000000, UNDER_WAY_OTHERS = 20000000;
static const int64_t TRY_PAUSE = 1000000;
enum {
    EARLIER_TRIES = 1000
}; /* of the thread that opens a window, until calls from before have returned */
static const int64_t RETRY = 250000000; /* ns, if an engine cannot be suspended yet */
static const int64_t LATE = 50000000;   /* ns: if engines begin later in a window, it is reported */

static struct {
    _Atomic bool wanted;      /* the engines should rest. Relaxed, like the next members */
    _Atomic bool unbegun;     /* there is a context in which they have still to begin */
    _Atomic int64_t earliest; /* ns: neither is done before */
    _Atomic bool missed;      /* it was time, but a thread was inside the driver */
    _Atomic bool busy;        /* it was time, but an engine was still working */

    pthread_mutex_t lock; /* guards what follows; taken last */
    struct place {
        cuda_context handle;
        int64_t worked; /* ns from the opening of this window to its first launch there; 0: none */
        bool begun;
    } places[CONTEXTS];
    size_t place_count;
    bool again; /* the engines have rested: they have to begin in contexts again */
    _Atomic(cuda_context)
        noted[NOTED]; /* some contexts that have a place; also read without lock */
    bool on;          /* the engines work in some context; also before the first rest */
    bool unplaced; /* a window had a launch in a context without a place: they do not begin there */
    int64_t opened_at;   /* ns: when the open window was opened, after a rest; 0: none is open */
    int64_t late_here;   /* ns: how late the engines began in it, in the latest context */
    uint64_t late_count; /* windows in which they began late */
    int64_t late_most;   /* ns: the longest delay */

    /* [collector] */
    int64_t idle_since; /* ns; 0: a window is open */
    uint32_t idle_window;
    uint64_t idle_reported;
    _Atomic bool listening; /* calls are reported only so that the engines can rest. Relaxed */
    uint64_t codeless;      /* functions without code before this session */
    bool concluded;
} me = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- contexts ------------------------------------------------------------------------------ */

static struct place *place_of(cuda_context context)
{
    for (size_t i = 0; i < me.place_count; i++)
        if (me.places[i].handle == context)
            return &me.places[i];
    if (me.place_count == CONTEXTS)
        return NULL;
    me.places[me.place_count] = (struct place){.handle = context};
    return &me.places[me.place_count++];
}

static _Atomic(cuda_context) *noted_at(cuda_context context)
{
    return &me.noted[((uintptr_t)context >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 60];
}

/* The lock is held. Every context is looked up again. */
static void look_again(void)
{
    for (size_t i = 0; i < NOTED; i++)
        atomic_store_explicit(&me.noted[i], NULL, memory_order_relaxed);
}

/* [hot] Programs use few contexts: each is looked up once, and at each launch in a window in which
 * the engines have not begun there. */
static void note(cuda_context context, bool launched)
{
    if (atomic_load_explicit(noted_at(context), memory_order_relaxed) == context)
        return;
    pthread_mutex_lock(&me.lock);
    struct place *p = place_of(context);
    bool waits = p && me.again && !p->begun;
    if (waits)
        atomic_store_explicit(&me.unbegun, true, memory_order_relaxed);
    if (waits && launched && me.opened_at && !p->worked)
        p->worked = clock_mono();
    me.unplaced |= !p && me.again && launched && me.opened_at;
    if (p && (!waits || !me.opened_at || p->worked))
        atomic_store_explicit(noted_at(context), context, memory_order_relaxed);
    pthread_mutex_unlock(&me.lock);
}

/* The lock is held. The engines begin in a context now, or (never) not in this window: earlier
 * launches of the window there are missing. If contexts are sampled, only one per device can be. */
static void note_late(const struct trace *t, const struct place *p, bool never)
{
    bool counts = me.opened_at && p->worked && !p->begun &&
                  (nv_engines_contexts(t) == NV_EVERY_CONTEXT || !me.on);
    int64_t ns = counts ? clock_mono() - p->worked : 0;
    if (ns > (never ? 0 : LATE) && ns > me.late_here)
        me.late_here = ns;
}

void suspend_context(struct trace *t, cuda_context context)
{
    if (!context || !atomic_load_explicit(&t->suspends, memory_order_relaxed))
        return;
    pthread_mutex_lock(&me.lock);
    struct place *p = place_of(context);
    if (p)
        p->begun = true;
    pthread_mutex_unlock(&me.lock);
}

void suspend_context_gone(struct trace *t, cuda_context context)
{
    pthread_mutex_lock(&me.lock);
    for (size_t i = 0; i < me.place_count; i++)
        if (me.places[i].handle == context) {
            note_late(t, &me.places[i], true);
            me.places[i--] = me.places[--me.place_count];
        }
    look_again();
    pthread_mutex_unlock(&me.lock);
}

static void forget_all(void)
{
    pthread_mutex_lock(&me.lock);
    me.place_count = 0;
    look_again();
    pthread_mutex_unlock(&me.lock);
}

/* The engines have rested: they have to begin again in all existing contexts. */
static void begin_in_all(void)
{
    pthread_mutex_lock(&me.lock);
    me.again = true;
    me.on = false;
    for (size_t i = 0; i < me.place_count; i++)
        me.places[i].begun = false;
    atomic_store_explicit(&me.unbegun, me.place_count > 0, memory_order_relaxed);
    look_again();
    pthread_mutex_unlock(&me.lock);
}

/* A window is open: launches from here on belong to it. */
static void window_begins(void)
{
    pthread_mutex_lock(&me.lock);
    me.opened_at = clock_mono();
    me.late_here = 0;
    for (size_t i = 0; i < me.place_count; i++)
        me.places[i].worked = 0;
    look_again();
    pthread_mutex_unlock(&me.lock);
}

/* The window ends, maybe with the session. */
static void window_ends(const struct trace *t)
{
    pthread_mutex_lock(&me.lock);
    for (size_t i = 0; i < me.place_count; i++)
        note_late(t, &me.places[i], true);
    me.late_count += me.late_here > 0;
    me.late_most = me.late_here > me.late_most ? me.late_here : me.late_most;
    me.opened_at = me.late_here = 0;
    pthread_mutex_unlock(&me.lock);
}

static bool is_on(void)
{
    pthread_mutex_lock(&me.lock);
    bool yes = me.on;
    pthread_mutex_unlock(&me.lock);
    return yes;
}

static bool is_unplaced(void)
{
    pthread_mutex_lock(&me.lock);
    bool yes = me.unplaced;
    pthread_mutex_unlock(&me.lock);
    return yes;
}

/* Returns true if the engines cannot rest because of several contexts. Resting waits for the
 * kernels of all contexts, and those of another context may wait for the next launch of this
 * thread: so it is done with several contexts only if the user accepts this (window_detach). It is
 * never done if a context has no place: the engines would not begin there again. */
static bool is_crowded(const struct trace *t)
{
    pthread_mutex_lock(&me.lock);
    bool yes = me.place_count == CONTEXTS || (!t->config.detach && me.place_count > 1);
    pthread_mutex_unlock(&me.lock);
    return yes;
}

/* ---- with no thread in the driver ------------------------------------------------------------ */

static void give_back(void *arg)
{
    struct trace *t = arg;
    int state = ATTACH_OPEN;
    if (!atomic_compare_exchange_strong(&t->attach_state, &state, ATTACH_SUSPENDING))
        return; /* a window opens, or the session ends */
    bool open = atomic_load(&t->window);
    bool later = open || is_crowded(t) || object_calls_under_way();
    enum suspended result = later ? SUSPEND_LATER : nv_engines_suspend(t);
    bool rested = result != SUSPEND_LATER;
    if (result == SUSPEND_REFUSED)
        atomic_fetch_add(&t->not_finalized, 1);
    if (rested || open)
        atomic_store_explicit(&me.wanted, false, memory_order_relaxed);
    else
        atomic_store_explicit(&me.earliest, clock_mono() + RETRY, memory_order_relaxed);
    if (!rested && !open)
        atomic_store_explicit(&me.busy, true, memory_order_relaxed);
    atomic_store(&t->shut_since, clock_mono());
    atomic_store_explicit(&t->attach_state, rested ? ATTACH_SHUT : ATTACH_OPEN,
                          memory_order_release);
}

static void begin(void *arg)
{
    struct trace *t = arg;
    cuda_context contexts[CONTEXTS];
    size_t count = 0;
    if (atomic_load_explicit(&t->attach_state, memory_order_acquire) != ATTACH_OPEN ||
        object_calls_under_way()) /* also calls that the gate does not count */
        return;
    pthread_mutex_lock(&me.lock);
    for (size_t i = 0; i < me.place_count; i++)
        if (!me.places[i].begun) {
            note_late(t, &me.places[i], false);
            contexts[count++] = me.places[i].handle;
        }
    atomic_store_explicit(&me.unbegun, false, memory_order_relaxed);
    pthread_mutex_unlock(&me.lock);
    for (size_t i = 0; i < count; i++)
        nv_engines_context(t, contexts[i]);
    pthread_mutex_lock(&me.lock);
    me.on = true;
    pthread_mutex_unlock(&me.lock);
}

/* ---- the program's calls --------------------------------------------------------------------- */

void suspend_enter(void)
{
    driver_gate_enter();
}

/* Returns true if a stream is being captured, which must not be waited for. */
static bool captures(struct trace *t)
{
    return atomic_load_explicit(&t->captures, memory_order_relaxed) > 0;
}

static int64_t under_way(void)
{
    return clock_mono() + (driver_gate_is_own() ? UNDER_WAY : UNDER_WAY_OTHERS);
}

void suspend_leave(struct trace *t, cuda_context context, bool waited)
{
    if (context)
        note(context, !waited);
    if (__builtin_expect(!driver_gate_is_inside(),
                         0)) /* it began before: there may be more such calls */
        atomic_store_explicit(&me.earliest, under_way(), memory_order_relaxed);
    if (!driver_gate_leave() || !waited)
        return;
    bool rests = atomic_load_explicit(&me.wanted, memory_order_relaxed);
    bool begins = atomic_load_explicit(&me.unbegun, memory_order_relaxed) &&
                  atomic_load_explicit(&t->attach_state, memory_order_acquire) == ATTACH_OPEN;
    if ((!rests && !begins) || captures(t) ||
        clock_mono() < atomic_load_explicit(&me.earliest, memory_order_relaxed))
        return;
    if (!earlier_calls_returned() || !driver_gate_shut(rests ? give_back : begin, t))
        atomic_store_explicit(&me.missed, true, memory_order_relaxed);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Notes the context of the thread that opens the window, so that the engines begin there, too. */
static void note_own(void)
{
    cuda_context current = cuda_current();
    if (current)
        note(current, false);
}

/* Begins the engines at once if other threads leave the driver, so that the next launch is
 * recorded. A thread that does not belong to the program waits for calls that name a context. */
static void begin_here(struct trace *t)
{
    int64_t ns = atomic_load_explicit(&me.earliest, memory_order_relaxed) - clock_mono();
    if (ns > 0)
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
    for (int i = 0; i < EARLIER_TRIES && !earlier_calls_returned(); i++)
        nanosleep(&(struct timespec){.tv_nsec = TRY_PAUSE}, NULL);
    for (int i = 0; i < TRIES && earlier_calls_returned() && !is_on() && !captures(t); i++)
        if (!atomic_load_explicit(&me.unbegun, memory_order_relaxed) ||
            !driver_gate_shut(begin, t) || !is_on())
            nanosleep(&(struct timespec){.tv_nsec = TRY_PAUSE}, NULL);
}

/* The state is ATTACH_OPENING, and was not ATTACH_OPEN before. While CUPTI is detached it does not
 * report destroyed contexts, so known contexts are forgotten, before and after it is attached. */
static int wake(struct trace *t, bool again, struct err *e)
{
    int rc = 0;
    if (again) {
        driver_gate_open(); /* for calls that ended while CUPTI was detached */
        sass_gate_begin();
        rc = attach_on(t, e);
        earlier_calls_begin();
    }
    rc = rc ? rc : nv_engines_wake(t, again, e);
    if (rc)
        return rc;
    if (again)
        forget_all();
    atomic_store_explicit(&t->since, clock_mono(), memory_order_relaxed);
    atomic_store_explicit(&t->live, t->sink, memory_order_release);
    if (cupti_fatal(t)) /* it may have happened just now */
        atomic_store_explicit(&t->live, NULL, memory_order_release);
    atomic_store_explicit(&me.earliest, again ? under_way() : 0, memory_order_relaxed);
    return 0;
}

static int window_open(struct trace *t, struct err *e)
{
    atomic_store_explicit(&me.wanted, false, memory_order_relaxed);
    int state = attach_state_take(t, ATTACH_OPENING);
    bool again = state == ATTACH_NONE, rested = state != ATTACH_OPEN;
    if (attach_state_is_busy(state))
        return err_set(e, GPUFL_E_TIMEOUT, "CUPTI has not finished since the last window");
    int rc = rested ? wake(t, again, e) : 0;
    if (rc) {
        if (again) {
            attach_off(t);
            atomic_store(&t->gone, true);
        }
        atomic_store_explicit(&t->attach_state, again ? ATTACH_NONE : ATTACH_SHUT,
                              memory_order_release);
        return rc;
    }
    if (atomic_exchange(&me.listening, false) && !again)
        launches_disable(t);
    if (rested)
        begin_in_all();
    bool in_contexts = nv_engines_contexts(t) != NV_NO_CONTEXT;
    if (rested && in_contexts)
        note_own();
    rc = nv_engines_window(t, true, e);
    atomic_store_explicit(&t->attach_state, ATTACH_OPEN, memory_order_release);
    if (!rc && in_contexts) {
        if (!is_on())
            begin_here(t);
        window_begins();
    }
    return rc;
}

int suspend_window(struct trace *t, bool open, struct err *e)
{
    if (open)
        return window_open(t, e);
    window_ends(t);
    return nv_engines_window(t, false, e);
}

/* ---- the session ----------------------------------------------------------------------------- */

void suspend_start(struct trace *t)
{
    driver_gate_open();
    forget_all();
    me.again = me.concluded = me.unplaced = false;
    me.on = true;
    me.opened_at = me.late_here = me.late_most = me.idle_since = 0;
    me.late_count = 0;
    me.codeless = t->codeless;
    atomic_store(&me.wanted, false);
    atomic_store(&me.unbegun, false);
    atomic_store(&me.missed, false);
    atomic_store(&me.busy, false);
    atomic_store(&me.listening, false);
    atomic_store(&me.earliest, 0);
    if (!detach_wanted(t) || !t->config.rest_ns || !t->cupti->cuptiFinalize ||
        !nv_engines_can_suspend(t))
        return;
    object_calls_begin(t);
    atomic_store_explicit(&t->attach_state, ATTACH_OPEN, memory_order_release);
    atomic_store_explicit(&t->suspends, true, memory_order_release);
}

/* CUPTI does not report code that is loaded while it is detached: so it is not detached while the
 * program loads code. */
void suspend_look(struct trace *t)
{
    int64_t now = clock_mono();
    uint32_t last = atomic_load(&t->last_window);
    uint64_t reported = code_copies_reported();
    bool open = atomic_load(&t->window) || atomic_load(&t->passing);
    if (t->stopped || open || !me.idle_since || me.idle_window != last ||
        me.idle_reported != reported || atomic_load(&t->attach_state) != ATTACH_OPEN) {
        me.idle_since = open ? 0 : now;
        me.idle_window = last;
        me.idle_reported = reported;
        return;
    }
    if (now - me.idle_since < t->config.rest_ns || atomic_load(&me.wanted) ||
        atomic_load(&t->not_finalized))
        return;
    t->unquiet = detach_is_held_up(t);
    if (!object_calls_quiet(t->config.rest_ns))
        return;
    if (nv_engines_need_no_calls(t) && !atomic_load(&me.listening)) {
        driver_gate_open(); /* for calls whose begin CUPTI did not report */
        if (launches_enable(t) != CUPTI_OK)
            return; /* no call would be reported */
        earlier_calls_begin();
        atomic_store_explicit(&me.earliest, under_way(), memory_order_relaxed);
        atomic_store(&me.listening, true);
    }
    atomic_store(&me.wanted, true);
}

static void say_never(struct trace *t)
{
    t->sink->ops->message(
        t->sink, SEVERITY_NOTE, "windows.no_rest",
        "launches after windows cost up to 0.7 us more, since the engine was not suspended: %s",
        atomic_load(&me.busy)
            ? "the engine was still at work at each call that could have suspended it, or the "
              "program used several contexts (with window_detach), or at least 64"
        : atomic_load(&me.missed) ? "each time a call that waits for the device returned, another "
                                    "thread was inside the driver"
                                  : "no call that waits for the device returned");
}

void suspend_conclude(struct trace *t)
{
    struct sink *s = t->sink;
    if (me.concluded)
        return;
    me.concluded = true;
    window_ends(t); /* if one is still open */
    if (atomic_load(&me.wanted) && !atomic_load(&t->finalized))
        say_never(t);
    if (me.late_count)
        s->ops->message(s, SEVERITY_WARNING, "windows.begun_late",
                        "in %" PRIu64
                        " windows at least one context lacks the beginning, or all of its "
                        "data (%" PRId64 " ms at most). After a rest the engine begins again when "
                        "a call that waits for the device returns and no other thread is in the "
                        "driver. window_rest_ms=0 keeps the engine ready",
                        me.late_count, (me.late_most + 999999) / 1000000);
    if (is_unplaced())
        s->ops->message(
            s, SEVERITY_WARNING, "windows.contexts",
            "the program uses more than %d contexts. After a rest the engine does not begin again "
            "in the others, so they lack data. window_rest_ms=0 keeps the engine ready",
            CONTEXTS);
    if (atomic_load(&t->finalized) && t->codeless > me.codeless)
        s->ops->message(s, SEVERITY_NOTE, "windows.code",
                        "%" PRIu64
                        " functions have no lines: their code was loaded between windows, "
                        "while the profiling library was detached, and was not kept. "
                        "window_rest_ms=0 keeps the library attached",
                        t->codeless - me.codeless);
}
