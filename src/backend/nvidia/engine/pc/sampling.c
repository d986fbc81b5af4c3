/* sampling.c - see pc/sampling.h: the contexts, and how they are configured.
 *
 * The order of the library's calls: enable, then ask for the stall reasons, then set the
 * attributes. The library refuses attributes that are set earlier. */
#include "backend/nvidia/engine/pc/sampling.h"

#include "backend/common/engine_lock.h"
#include "backend/common/setting.h"
#include "backend/nvidia/engine/pc/context.h"
#include "backend/nvidia/engine/pc/device_lock.h"
#include "backend/nvidia/engine/pc/write.h"
#include "backend/nvidia/engine/time.h"
#include "backend/nvidia/library/cuda.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "backend/nvidia/record/cubins.h"
#include "backend/nvidia/record/records.h"
#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const char ENGINE[] = "PcSampling";

enum {
    CONTEXTS = 64,
    FAILURES_MOST = 3,
    RATE_LOG2 = 18,
    PERIOD_DEFAULT = 20,
    LOOK_MS = 10,         /* CUPTI's default is 100; the end of a session waits for two of them */
    LOOK_WINDOWED_MS = 2, /* opening and closing a window waits for some, on the program's thread */
};

/* This is guarded by the engines' lock, unless the comment of a member says otherwise. */
static struct {
    struct pc_library library; /* constant once it is filled */
    bool opened;               /* [owner] */
    struct pc_context contexts[CONTEXTS];
    bool crowded; /* a context had to wait for another context of its device */
    bool crowded_said;
    bool overflow_said;
    bool started;
    bool paused; /* and these are the contexts to be sampled again */
    struct pausing {
        cuda_context handle;
        uint32_t device;
        bool described; /* the device's reasons are defined */
        uint32_t reasons[PC_REASONS];
    } pausing[CONTEXTS], unknown;
    size_t pausing_count;
    bool keeping;            /* samples are kept: there are no windows, or one is open */
    _Atomic int begun;       /* contexts in which sampling has begun and not ended. Relaxed */
    _Atomic int refused;     /* contexts in which it could not begin. Relaxed */
    struct pc_totals totals; /* of destroyed contexts */
    enum pc_relation relation;
    struct device_locks locks; /* kept until the process ends */
} me;

/* ---- the period -------------------------------------------------------------------------- */

unsigned pc_sampling_period(int multiprocessors, int clock_khz)
{
    if (multiprocessors <= 0 || clock_khz <= 0)
        return PERIOD_DEFAULT;
    uint64_t cycles = (uint64_t)multiprocessors * (uint64_t)clock_khz * 1000;
    unsigned period = PC_PERIOD_MIN;
    while (period < PC_PERIOD_MAX && cycles >> period > UINT64_C(1) << RATE_LOG2)
        period++;
    return period;
}

static unsigned device_period(uint32_t ordinal)
{
    const struct cuda *cuda = cuda_loaded();
    int device, count = 0, clock = 0;
    if (!cuda || cuda->cuDeviceGet(&device, (int)ordinal) != CUDA_OK ||
        cuda->cuDeviceGetAttribute(&count, CUDA_ATTR_SM_COUNT, device) != CUDA_OK ||
        cuda->cuDeviceGetAttribute(&clock, CUDA_ATTR_CLOCK_KHZ, device) != CUDA_OK)
        return PERIOD_DEFAULT;
    return pc_sampling_period(count, clock);
}

/* ---- contexts ---------------------------------------------------------------------------- */

static struct pc_context *context_find(cuda_context handle)
{
    for (size_t i = 0; i < CONTEXTS; i++)
        if (me.contexts[i].state != PC_FREE && me.contexts[i].state != PC_GONE &&
            me.contexts[i].handle == handle)
            return &me.contexts[i];
    return NULL;
}

static struct pc_context *context_room(void)
{
    for (size_t i = 0; i < CONTEXTS; i++)
        if (me.contexts[i].state == PC_FREE)
            return &me.contexts[i];
    return NULL;
}

static bool device_taken(uint32_t device)
{
    for (size_t i = 0; i < CONTEXTS; i++)
        if (me.contexts[i].device == device && me.contexts[i].state == PC_ON)
            return true;
    return false;
}

static void context_on(struct trace *t, struct pc_context *c)
{
    struct err e = {0};
    struct pc_setup setup = {
        .period = t->config.pc_period ? t->config.pc_period : device_period(c->device),
        .hardware_bytes = (size_t)t->config.pc_hardware_bytes,
        .look_ms = t->switched ? LOOK_WINDOWED_MS : LOOK_MS,
    };
    if (device_lock_take(&me.locks, c->device, &e) == 0) {
        int rc = pc_context_enable(c, &me.library, t->cupti, &setup, &e);
        atomic_fetch_add_explicit(rc ? &me.refused : &me.begun, 1, memory_order_relaxed);
        trace_began(t, ENGINE_PC_SAMPLING);
        if (rc == 0) {
            engine_time_await(c->handle);
            return;
        }
    }
    c->state = PC_OFF;
    nv_engine_fail(t, NV_PC_SAMPLING, e.text);
}

/* The lock is held. */
static void context_add(struct trace *t, cuda_context handle)
{
    struct pc_context *c = context_find(handle);
    uint32_t device = 0, number = 0;
    if (c)
        return; /* it is still sampled since an earlier session */
    c = context_room();
    me.crowded |= !c;
    if (!c)
        return;
    if (me.library.cuptiGetContextId)
        me.library.cuptiGetContextId(handle, &number);
    if (t->cupti->cuptiGetDeviceId)
        t->cupti->cuptiGetDeviceId(handle, &device);
    c->handle = handle;
    c->number = number;
    c->device = device;
    if (device_taken(device)) {
        c->state = PC_WAITING;
        me.crowded = true;
        return;
    }
    context_on(t, c);
}

/* Ends sampling in a context. False: the library refused. */
static bool context_off(struct pc_context *c)
{
    bool ended = pc_context_disable(c, &me.library, me.keeping);
    if (ended)
        atomic_fetch_sub_explicit(&me.begun, 1, memory_order_relaxed);
    c->state = PC_GONE;
    return ended;
}

/* Samples a context again, with what was known of it before it was switched off. */
static void sample_again(struct trace *t, const struct pausing *p)
{
    context_add(t, p->handle);
    struct pc_context *c = context_find(p->handle);
    if (!c || !p->described || c->device != p->device)
        return;
    memcpy(c->reasons, p->reasons, sizeof c->reasons);
    c->described = true;
}

/* Finds the data of a paused context; NULL: the context is new. */
static const struct pausing *pausing_of(cuda_context handle)
{
    for (size_t i = 0; i < me.pausing_count; i++)
        if (me.pausing[i].handle == handle)
            return &me.pausing[i];
    me.unknown = (struct pausing){.handle = handle};
    return &me.unknown;
}

static void pc_context(struct trace *t, cuda_context context)
{
    if (!context || !engine_enter(ENGINE_PATIENCE))
        return;
    if (me.started && !me.paused)
        sample_again(t, pausing_of(context));
    else if (me.started && me.pausing_count < CONTEXTS)
        me.pausing[me.pausing_count++] = (struct pausing){.handle = context};
    engine_leave();
}

static void count_losses(struct sink *s, struct pc_context *c)
{
    struct pc_losses *n = &c->losses;
    if (!s)
        return;
    if (n->dropped)
        s->ops->lost(s, LOSS_SAMPLES, n->dropped);
    if (n->overflows)
        s->ops->lost(s, LOSS_SAMPLES_OVERFLOW, n->overflows);
    if (n->other)
        s->ops->lost(s, LOSS_SAMPLES_OTHER, n->other);
    *n = (struct pc_losses){0};
}

/* Takes the samples of a context. A context that fails repeatedly, or at the end, is given up. */
static void context_drain(struct trace *t, struct pc_context *c, bool last)
{
    struct err e = {0};
    int result = last ? pc_context_drain_all(c, &me.library, me.keeping)
                      : pc_context_drain(c, &me.library, me.keeping);
    if (result == CUPTI_OK || result == CUPTI_E_OUT_OF_MEMORY) {
        c->failures = 0;
        return;
    }
    cupti_fatal_suspect();
    if (++c->failures < FAILURES_MOST && !last)
        return;
    cupti_error(t->cupti, result, "to deliver samples", &e);
    c->state = PC_OFF;
    nv_engine_fail(t, NV_PC_SAMPLING, e.text);
}

static void pc_context_gone(struct trace *t, cuda_context context)
{
    if (!engine_enter(ENGINE_PATIENCE))
        return;
    struct pc_context *c = context_find(context);
    for (size_t i = 0; i < me.pausing_count; i++)
        if (me.pausing[i].handle == context)
            me.pausing[i--] = me.pausing[--me.pausing_count];
    if (c) {
        if (c->state == PC_ON)
            context_off(c);
        c->state = PC_GONE;
        c->handle = NULL;
        count_losses(atomic_load_explicit(&t->live, memory_order_acquire), c);
    }
    engine_leave();
}

/* If the collector is draining at this moment, nothing more is needed. */
static void pc_module_gone(struct trace *t, cuda_context context)
{
    if (!engine_enter(0))
        return;
    struct pc_context *c = context_find(context);
    if (c && c->state == PC_ON)
        context_drain(t, c, false);
    engine_leave();
}

/* ---- life -------------------------------------------------------------------------------- */

static int pc_open(struct trace *t, struct err *e)
{
    struct pc_library l;
    int rc = pc_library_open(&l, t->cupti, e);
    if (rc || !engine_enter(ENGINE_PATIENCE))
        return rc ? rc : err_set(e, GPUFL_E_STATE, "the session before is still ending");
    me.library = l;
    for (size_t i = 0; i < CONTEXTS; i++)
        if (me.contexts[i].state == PC_ON)
            pc_context_renew(&me.contexts[i]);
        else
            pc_context_close(&me.contexts[i]);
    me.crowded = me.crowded_said = me.overflow_said = false;
    me.keeping = !t->switched;
    me.paused = false;
    me.pausing_count = 0;
    me.totals = (struct pc_totals){0};
    me.relation = PC_RELATION_UNKNOWN;
    code_copies_begin();
    me.opened = true;
    engine_leave();
    return 0;
}

static void pc_start(struct trace *t)
{
    cuda_context current = cuda_current();
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return;
    me.started = true;
    for (size_t i = 0; i < CONTEXTS; i++)
        if (me.contexts[i].state == PC_ON) {
            pc_context_drain_all(&me.contexts[i], &me.library,
                                 false); /* samples from between the sessions */
            pc_context_renew(&me.contexts[i]);
        }
    if (current)
        context_add(t, current);
    engine_leave();
}

static bool begun_anywhere(void)
{
    return atomic_load_explicit(&me.begun, memory_order_relaxed) > 0;
}

bool pc_sampling_refused(struct trace *t)
{
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return false;
    bool none =
        me.started && !me.paused && nv_engine_failed(t, NV_PC_SAMPLING) && !begun_anywhere();
    engine_leave();
    return none;
}

/* The lock is held. Samples from before the switch are kept or dropped as before the switch. */
static int switch_keeping(struct trace *t, bool open, struct err *e)
{
    bool any = false;
    int result = CUPTI_OK;
    for (size_t i = 0; i < CONTEXTS && result == CUPTI_OK; i++) {
        if (me.contexts[i].state != PC_ON)
            continue;
        any = true;
        result = pc_context_drain_all(&me.contexts[i], &me.library, me.keeping);
        if (result == CUPTI_E_OUT_OF_MEMORY || !open)
            result = CUPTI_OK; /* counted as lost; the window is closed in any case */
    }
    if (result != CUPTI_OK)
        return cupti_error(t->cupti, result, "to deliver what was sampled before", e);
    if (open && !any && !me.pausing_count && nv_engine_failed(t, NV_PC_SAMPLING))
        return nv_engine_unavailable(t, NV_PC_SAMPLING,
                                     e); /* no context that may be sampled again: suspend.h */
    for (size_t i = 0; i < CONTEXTS && open; i++)
        if (me.contexts[i].state == PC_ON)
            drain_window_open(&me.contexts[i].kept, clock_mono());
    me.keeping = open;
    return 0;
}

static int pc_window(struct trace *t, bool open, struct err *e)
{
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return err_set(e, GPUFL_E_STATE, "samples are being delivered: try again");
    int rc = switch_keeping(t, open, e);
    engine_leave();
    return rc;
}

size_t pc_sampling_contexts(cuda_context *out, size_t room)
{
    size_t count = 0;
    if (!engine_enter(ENGINE_PATIENCE))
        return 0;
    for (size_t i = 0; i < CONTEXTS && count < room; i++)
        if (me.contexts[i].state == PC_ON)
            out[count++] = me.contexts[i].handle;
    engine_leave();
    return count;
}

void pc_sampling_stop(struct trace *t, bool quiet)
{
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return;
    me.started = false;
    for (size_t i = 0; i < CONTEXTS; i++) {
        struct pc_context *c = &me.contexts[i];
        if (c->state == PC_ON && quiet) {
            context_off(c);
        } else if (c->state == PC_ON) {
            context_drain(t, c, true);
        }
        count_losses(t->sink, c);
    }
    engine_leave();
}

/* The lock is held. */
static void pause_all(struct trace *t)
{
    me.pausing_count = 0;
    for (size_t i = 0; i < CONTEXTS; i++) {
        struct pc_context *c = &me.contexts[i];
        if (c->state != PC_ON && c->state != PC_WAITING)
            continue;
        struct pausing *p = &me.pausing[me.pausing_count++];
        *p = (struct pausing){.handle = c->handle, .device = c->device, .described = c->described};
        memcpy(p->reasons, c->reasons, sizeof p->reasons);
        if (c->state == PC_ON) {
            c->state = context_off(c) ? PC_GONE : PC_ON; /* PC_ON: it is still sampled */
            count_losses(atomic_load_explicit(&t->live, memory_order_acquire), c);
        } else {
            pc_context_close(c);
        }
    }
    me.paused = true;
}

bool pc_sampling_pause(struct trace *t)
{
    if (!engine_enter(ENGINE_PATIENCE))
        return false;
    pause_all(t);
    engine_leave();
    return !begun_anywhere();
}

static enum suspended pc_suspend(struct trace *t)
{
    if (!engine_enter(ENGINE_PATIENCE_SUSPEND))
        return SUSPEND_LATER;
    pause_all(t);
    engine_leave();
    return pc_sampling_binds() ? SUSPEND_REFUSED : SUSPEND_DONE;
}

bool pc_sampling_resume(struct trace *t)
{
    bool any = false, wanted = me.pausing_count > 0;
    if (!engine_enter(ENGINE_PATIENCE))
        return false;
    me.paused = false;
    for (size_t i = 0; i < me.pausing_count; i++)
        sample_again(t, &me.pausing[i]);
    me.pausing_count = 0;
    for (size_t i = 0; i < CONTEXTS; i++)
        any |= me.contexts[i].state == PC_ON;
    engine_leave();
    return any || (!wanted && !nv_engine_failed(t, NV_PC_SAMPLING));
}

/* Where sampling was refused once, kernel records cannot be switched off (ADR 10), so that the
 * program would not get CUPTI as it is without gpufl. */
static const char *pc_yield(struct trace *t)
{
    if (pc_sampling_failed())
        return "CUPTI refused to sample some context, and after that keeps kernel records on";
    pc_sampling_stop(t, true);
    return begun_anywhere() ? "CUPTI did not end sampling" : NULL;
}

static void pc_wake(struct trace *t)
{
    (void)t;
    if (!engine_enter(ENGINE_PATIENCE))
        return;
    me.paused = false;
    engine_leave();
}

bool pc_sampling_failed(void)
{
    return atomic_load_explicit(&me.refused, memory_order_relaxed) > 0;
}

bool pc_sampling_binds(void)
{
    return begun_anywhere() || pc_sampling_failed();
}

bool pc_sampling_lasts(void)
{
    bool lasts = false;
    if (!engine_enter(ENGINE_PATIENCE))
        return true;
    for (size_t i = 0; i < CONTEXTS; i++)
        lasts |= me.contexts[i].state == PC_ON;
    engine_leave();
    return lasts;
}

/* ---- the collector's rounds -------------------------------------------------------------- */

static void pc_flush(struct trace *t)
{
    if (t->stopped || !me.opened || !engine_enter(ENGINE_PATIENCE))
        return;
    for (size_t i = 0; i < CONTEXTS; i++) {
        struct pc_context *c = &me.contexts[i];
        if (c->state == PC_ON)
            context_drain(t, c, false);
        if (c->losses.overflows && !me.overflow_said) {
            me.overflow_said = true;
            t->sink->ops->message(t->sink, SEVERITY_WARNING, "pc_sampling.overflow",
                                  "the device's buffer of samples was full, and samples are "
                                  "missing: sample less often (pc_sampling_period), or make it "
                                  "larger (pc_hardware_buffer_bytes)");
        }
        count_losses(t->sink, c);
    }
    engine_leave();
}

static void add_totals(struct pc_totals *to, const struct pc_totals *from)
{
    to->total += from->total;
    to->dropped += from->dropped;
    to->other += from->other;
    to->reasons += from->reasons;
    to->idle += from->idle;
}

/* Reports what the user should know, once. The lock is held. */
static void say_news(struct sink *s)
{
    if (me.crowded && !me.crowded_said) {
        me.crowded_said = true;
        s->ops->message(s, SEVERITY_NOTE, "pc_sampling.contexts",
                        "several contexts were on one device at a time: only the first of them is "
                        "sampled");
    }
}

static void write_totals(struct trace *t)
{
    static const char *const relations[] = {[PC_RELATION_UNKNOWN] = "unknown",
                                            [PC_RELATION_WITHIN] = "within",
                                            [PC_RELATION_APART] = "apart"};
    struct sink *s = t->sink;
    struct pc_totals n = me.totals;
    for (size_t i = 0; i < CONTEXTS; i++)
        if (me.contexts[i].state != PC_FREE)
            add_totals(&n, &me.contexts[i].tally.totals);
    if (n.total || n.reasons || n.idle) {
        setting_number(s, ENGINE, 0, "driver_samples", n.total);
        setting_number(s, ENGINE, 0, "driver_dropped", n.dropped);
        setting_number(s, ENGINE, 0, "driver_other", n.other);
        setting_number(s, ENGINE, 0, "driver_by_reason", n.reasons);
        setting_number(s, ENGINE, 0, "driver_not_issued", n.idle);
        setting_text(s, ENGINE, 0, "not_issued", relations[me.relation]);
    }
    me.opened = false;
}

static void pc_drain(struct trace *t)
{
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return;
    cubins_drain(me.library.cuptiGetCubinCrc, t->sink);
    for (size_t i = 0; i < CONTEXTS; i++) {
        struct pc_context *c = &me.contexts[i];
        if (c->state == PC_FREE)
            continue;
        pc_context_write(t, c);
        if (c->tally.relation)
            me.relation = c->tally.relation;
        if (c->state != PC_GONE)
            continue;
        add_totals(&me.totals, &c->tally.totals);
        pc_context_close(c);
    }
    say_news(t->sink);
    if (t->stopped)
        write_totals(t);
    engine_leave();
}

const struct nv_engine_ops pc_sampling_engine = {
    .asks = ENGINE_PC_SAMPLING,
    .brings = ENGINE_PC_SAMPLING,
    .feature = "pc_sampling",
    .code = "pc_sampling.unavailable",
    .nothing = "no program counters are sampled",
    .events = NV_CONTEXT_AND_MODULE_EVENTS,
    .contexts = NV_ONE_A_DEVICE,
    .instead = true,
    .keeps_ids = true,
    .no_copies = true,
    .unending = "program counters are sampled",
    .open = pc_open,
    .start = pc_start,
    .stop = pc_sampling_stop,
    .window = pc_window,
    .suspend = pc_suspend,
    .wake = pc_wake,
    .yield = pc_yield,
    .context = pc_context,
    .context_gone = pc_context_gone,
    .module_gone = pc_module_gone,
    .flush = pc_flush,
    .drain = pc_drain,
    .lasts = pc_sampling_lasts,
};
