/* calls.c - see calls.h. */
#include "backend/amd/trace/calls.h"

#include "backend/amd/trace/agents.h"
#include "backend/amd/trace/handles.h"
#include "backend/amd/trace/hip_graphs.h"
#include "backend/common/handle_number.h"
#include "base/clock.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum does { DOES_NOTHING, DOES_LAUNCH, DOES_GRAPH, DOES_WAIT, DOES_SYNC, DOES_DEVICE };

enum { NONE = 0xff };
enum { ASYNC = 1, ALWAYS = 2, RECORD = 4, OWN_STREAM = 8, EVENT = 16 };

enum {
    REMEMBERED = 1 << 16, /* calls; a power of two */
    COST_SAMPLE = 64,
    LEGACY_STREAM = 1,
    THREAD_STREAM = 2,
    PAUSE_NS = 50000,
};

/* Some calls are reported only if they took longer than this: then they waited for something. */
#define LONG_NS 10000

/* Holds the word of a call: its start in the lower bits, its stack above. */
#define START_BITS 47
#define START_MASK ((UINT64_C(1) << START_BITS) - 1)

_Static_assert(SINK_STACK_MOST < 1 << (64 - START_BITS), "a stack's id fits above the start");

static const struct form {
    const char *name;
    uint8_t does, wait, bytes_at, unit, stream_at, flags;
} forms[] = {
    {NULL, 0, 0, 0, 0, 0, 0},
#define CALL(name, does, wait, bytes_at, unit, stream_at, flags)                                   \
    {#name, DOES_##does, WAIT_##wait, bytes_at, unit, stream_at, flags},
#include "backend/amd/trace/calls.def"
};

_Static_assert(sizeof forms / sizeof *forms <= CALLS_MOST, "room for all calls");

/* Describes a remembered call. Its thread writes key 0, the other members, and the key (release).
 * If a reader finds the same key before (acquire) and after reading the members, they belong
 * together. */
struct remembered {
    _Atomic uint64_t key;   /* correlation id */
    _Atomic uint64_t place; /* stream << 32 | graph */
    _Atomic int64_t bytes;
    _Atomic uint32_t kind; /* wait | async << 8 | counted << 9 | copy << 16 */
};

static struct {
    uint8_t form[ROCP_OPERATIONS];     /* index of forms by operation; written before callbacks */
    _Atomic(struct sink *) sink;       /* release by calls_report, acquire by callbacks */
    _Atomic uint64_t session;          /* counts calls_report; relaxed */
    _Atomic int64_t began;             /* ns: when the session began; relaxed */
    _Atomic int64_t since;             /* ns: when the session or the window began; relaxed */
    _Atomic bool waits, syncs, graphs; /* wanted by the session; relaxed */
    _Atomic uint64_t launched;         /* relaxed */
    _Atomic bool windows;              /* the session records inside windows only; relaxed */
    _Atomic bool passed;               /* launches outside are reported to the sink; relaxed */
    _Atomic bool open;                 /* a window is open; sequentially consistent, like inside */
    _Atomic int64_t inside;            /* launches that began in a window and have not returned */
    _Atomic uint16_t pauses; /* of recording: a hipSetDevice may have been missed; relaxed */
    _Atomic int64_t cost;    /* ns in measured callbacks; relaxed */
    struct remembered remembered[REMEMBERED];
    struct handles streams;
} me;

static __thread struct {
    int16_t device;  /* of the last hipSetDevice */
    uint16_t pauses; /* me.pauses at that time */
    int16_t inside;  /* launches of the thread that are counted in me.inside */
    uint16_t events; /* callbacks, to measure one in COST_SAMPLE */
} here __attribute__((tls_model("initial-exec")));

/* ---- numbers of operations ----------------------------------------------------------- */

size_t calls_find(const struct rocp *sdk, uint32_t operations[CALLS_MOST])
{
    const struct rocp_named names = {&forms[1], sizeof *forms, sizeof forms / sizeof *forms - 1};
    return rocp_find_calls(sdk, &names, me.form, operations);
}

/* ---- arguments ----------------------------------------------------------------------- */

uint64_t calls_argument(const struct rocp_call *c, unsigned offset)
{
    uint64_t value;
    if (offset == NONE || c->size < sizeof *c + offset + sizeof value)
        return 0;
    memcpy(&value, c->arguments + offset, sizeof value);
    return value;
}

int calls_result(const struct rocp_call *c)
{
    int result;
    if (c->size < sizeof *c + ROCP_RETURN_BYTES)
        return 0;
    memcpy(&result, (const char *)c + c->size - ROCP_RETURN_BYTES, sizeof result);
    return result;
}

/* The default stream is 0. The default streams of single threads are distinguished by the
 * thread. */
static uint32_t stream_of(const struct form *f, const struct rocp_call *c)
{
    if (f->stream_at == NONE || c->size < sizeof *c + f->stream_at + sizeof(uint64_t))
        return f->does == DOES_WAIT && (f->flags & RECORD) && !(f->flags & ASYNC) ? 0
                                                                                  : WAIT_NO_STREAM;
    uint64_t handle = calls_argument(c, f->stream_at);
    if (handle == THREAD_STREAM || (!handle && (f->flags & OWN_STREAM)))
        handle = (uint64_t)syscall(SYS_gettid) << 8 | THREAD_STREAM;
    if (handle == 0 || handle == LEGACY_STREAM)
        return 0;
    uint32_t number = handles_number(&me.streams, handle);
    return number ? number : WAIT_NO_STREAM;
}

static int64_t bytes_of(const struct form *f, const struct rocp_call *c)
{
    uint64_t count = calls_argument(c, f->bytes_at);
    return f->bytes_at == NONE || count > INT64_MAX / 4 ? CELL_NULL : (int64_t)count * f->unit;
}

static int64_t event_of(const struct form *f, const struct rocp_call *c)
{
    uint64_t handle = !(f->flags & EVENT) ? 0 : calls_argument(c, f->stream_at == NONE ? 0 : 8);
    return handle_number(handle);
}

/* ---- remembering --------------------------------------------------------------------- */

static void remember(const struct form *f, const struct call_event *e, uint32_t stream)
{
    struct remembered *r = &me.remembered[e->correlation % REMEMBERED];
    uint32_t graph = f->does == DOES_GRAPH ? hip_graphs_number(calls_argument(e->call, 0)) : 0;
    uint64_t copy =
        f->wait == WAIT_COPY && f->bytes_at == 16 ? calls_argument(e->call, 24) & 0xff : 0;
    bool kinds = f->wait == WAIT_COPY && (f->stream_at == NONE || f->stream_at == 32);
    atomic_store_explicit(&r->key, 0, memory_order_release);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&r->place, (uint64_t)stream << 32 | graph, memory_order_relaxed);
    atomic_store_explicit(&r->bytes, bytes_of(f, e->call), memory_order_relaxed);
    bool counted = graph && hip_graphs_kernels(graph) != CELL_NULL;
    atomic_store_explicit(&r->kind,
                          f->wait | (f->flags & ASYNC ? 1u << 8 : 0) | (counted ? 1u << 9 : 0) |
                              (kinds ? (uint32_t)copy << 16 : 0),
                          memory_order_relaxed);
    atomic_store_explicit(&r->key, e->correlation, memory_order_release);
}

bool calls_facts(uint64_t correlation, struct call_facts *out)
{
    struct remembered *r = &me.remembered[correlation % REMEMBERED];
    *out = (struct call_facts){.stream = WAIT_NO_STREAM, .bytes = CELL_NULL};
    if (!correlation || atomic_load_explicit(&r->key, memory_order_acquire) != correlation)
        return false;
    uint64_t place = atomic_load_explicit(&r->place, memory_order_relaxed);
    int64_t bytes = atomic_load_explicit(&r->bytes, memory_order_relaxed);
    uint32_t kind = atomic_load_explicit(&r->kind, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&r->key, memory_order_relaxed) != correlation)
        return false;
    *out = (struct call_facts){.stream = (uint32_t)(place >> 32),
                               .graph = (uint32_t)place,
                               .bytes = bytes,
                               .wait = kind & 0xff,
                               .async = kind >> 8 & 1,
                               .counted = kind >> 9 & 1,
                               .copy = kind >> 16 & 0xff};
    return true;
}

/* ---- windows ------------------------------------------------------------------------- */

static void leave_window(void)
{
    if (!here.inside)
        return;
    here.inside--;
    atomic_fetch_sub(&me.inside, 1);
}

/* Counts a launch that begins. False: it is outside of windows. It is counted before the check for
  * an open window, so that calls_window, which first closes and then reads the count, misses
  * none. */
static bool enter_window(void)
{
    if (!atomic_load_explicit(&me.windows, memory_order_relaxed))
        return true;
    atomic_fetch_add(&me.inside, 1);
    here.inside++;
    if (atomic_load(&me.open))
        return true;
    leave_window();
    return false;
}

static bool is_launch(const struct form *f)
{
    return f->does == DOES_LAUNCH || f->does == DOES_GRAPH;
}

/* Returns true if a call belongs to no window. A call that began in a window belongs to it. */
static bool is_outside(const struct form *f, struct sink *s, const struct call_event *e)
{
    bool launch = is_launch(f);
    if (f->does == DOES_DEVICE || !atomic_load_explicit(&me.windows, memory_order_relaxed))
        return false;
    if (e->phase == ROCP_EXIT)
        return e->user->value == 0;
    if (launch ? enter_window() : atomic_load(&me.open))
        return false;
    e->user->value = 0;
    if (launch && atomic_load_explicit(&me.passed, memory_order_relaxed))
        s->ops->passed(s);
    return true;
}

bool calls_window(bool open, int64_t deadline)
{
    if (open) {
        atomic_store_explicit(&me.since, clock_mono(), memory_order_relaxed);
        atomic_store_explicit(&me.passed, false, memory_order_relaxed);
        atomic_store(&me.open, true);
        return true;
    }
    atomic_store(&me.open, false);
    while (atomic_load(&me.inside) > here.inside && clock_mono() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    return atomic_load(&me.inside) <= here.inside;
}

/* ---- launches ------------------------------------------------------------------------ */

/* Returns the launch of a call without its kind. */
static struct launch launch_of(const struct form *f, const struct call_event *e)
{
    uint32_t graph = f->does == DOES_GRAPH ? hip_graphs_number(calls_argument(e->call, 0)) : 0;
    return (struct launch){.correlation = (uint32_t)e->correlation,
                           .kernels = f->does == DOES_GRAPH ? hip_graphs_kernels(graph) : 1,
                           .graph = graph};
}

/* Counts the kernels of a launch, if they are known, as records that have to come. */
static void expect(const struct launch *l)
{
    if (l->kernels != CELL_NULL)
        atomic_fetch_add_explicit(&me.launched, (uint64_t)l->kernels, memory_order_relaxed);
}

static void expect_no_more(const struct launch *l)
{
    if (l->kernels != CELL_NULL)
        atomic_fetch_sub_explicit(&me.launched, (uint64_t)l->kernels, memory_order_relaxed);
}

static void launch_enter(const struct form *f, struct sink *s, const struct call_event *e)
{
    bool graph = f->does == DOES_GRAPH;
    remember(f, e, stream_of(f, e->call));
    bool windows = atomic_load_explicit(&me.windows, memory_order_relaxed);
    e->user->value = (uint64_t)clock_mono();
    if (!graph && !windows) {
        atomic_fetch_add_explicit(&me.launched, 1, memory_order_relaxed);
        s->ops->kernel(s, (uint32_t)e->correlation);
        return;
    }
    struct launch l = launch_of(f, e);
    l.kind = graph ? LAUNCH_GRAPH : LAUNCH_KERNEL;
    expect(&l);
    if (s->ops->launch(s, &l) || !windows)
        return; /* closing the window waits for it */
    atomic_store_explicit(&me.remembered[e->correlation % REMEMBERED].key, 0, memory_order_release);
    expect_no_more(&l);
    e->user->value = 0;
    leave_window();
}

static void launch_leave(const struct form *f, struct sink *s, const struct call_event *e)
{
    int64_t start = (int64_t)e->user->value;
    bool graph = f->does == DOES_GRAPH, failed = calls_result(e->call) != 0;
    leave_window();
    if (start < atomic_load_explicit(&me.began, memory_order_relaxed))
        return; /* entered before this session */
    struct launch l = launch_of(f, e);
    l.kind = failed ? LAUNCH_FAILED : LAUNCH_GRAPH_END;
    l.start = start;
    if (failed) {
        expect_no_more(&l);
        s->ops->launch(s, &l);
        return;
    }
    l.duration = clock_mono() - start;
    if (graph && atomic_load_explicit(&me.graphs, memory_order_relaxed))
        s->ops->launch(s, &l);
}

/* ---- waits --------------------------------------------------------------------------- */

static void wait_enter(const struct form *f, struct sink *s, const struct call_event *e)
{
    bool on = atomic_load_explicit(&me.waits, memory_order_relaxed);
    bool sync = f->does == DOES_SYNC;
    struct launch l = {.kind = LAUNCH_OTHER,
                       .correlation = (uint32_t)e->correlation,
                       .async = (f->flags & ASYNC) != 0};
    if (f->flags & RECORD)
        remember(f, e, stream_of(f, e->call));
    if (on && (f->flags & ALWAYS))
        l.stack = s->ops->stack(s);
    bool joined = sync ? on && atomic_load_explicit(&me.syncs, memory_order_relaxed)
                       : (f->flags & RECORD) != 0;
    if (joined && ((l.stack && !sync) || s->ops->in_scope(s)))
        s->ops->launch(s, &l);
    e->user->value =
        on ? (uint64_t)l.stack << START_BITS | ((uint64_t)clock_mono() & START_MASK) : 0;
}

/* Returns the GPU that the thread uses; AGENT_UNKNOWN: the thread may have chosen another GPU while
 * calls were not reported. */
static int device_here(void)
{
    bool known = here.pauses == atomic_load_explicit(&me.pauses, memory_order_relaxed);
    return known ? agents_of_ordinal(here.device) : AGENT_UNKNOWN;
}

static void wait_leave(const struct form *f, struct sink *s, const struct call_event *e)
{
    uint64_t word = e->user->value;
    int64_t now = clock_mono(), duration = (int64_t)(((uint64_t)now - word) & START_MASK);
    bool always = f->flags & ALWAYS;
    if (!word || (!always && duration < LONG_NS) ||
        now - duration < atomic_load_explicit(&me.since, memory_order_relaxed))
        return;
    uint32_t stack = always ? (uint32_t)(word >> START_BITS) : s->ops->stack(s);
    struct launch l = {
        .kind = LAUNCH_OTHER, .correlation = (uint32_t)e->correlation, .stack = stack};
    if ((f->flags & RECORD) && !always && stack)
        s->ops->launch(s, &l);
    bool sync = f->does == DOES_SYNC && atomic_load_explicit(&me.syncs, memory_order_relaxed);
    int device = device_here();
    struct wait w = {.call = (enum wait_call)f->wait,
                     .async = (f->flags & ASYNC) != 0,
                     .sync = sync,
                     .correlation = (uint32_t)e->correlation,
                     .device = device >= 0 ? (uint32_t)agents_at(device)->row.index : 0,
                     .context = device >= 0 ? 0 : WAIT_NO_CONTEXT,
                     .stream = stream_of(f, e->call),
                     .stack = stack,
                     .start = now - duration,
                     .duration = duration,
                     .bytes = bytes_of(f, e->call),
                     .event = sync ? event_of(f, e->call) : 0};
    s->ops->wait(s, &w);
}

/* ---- the callback -------------------------------------------------------------------- */

static void device_leave(const struct call_event *e)
{
    if (calls_result(e->call) != 0)
        return;
    here.device = (int16_t)calls_argument(e->call, 0);
    here.pauses = atomic_load_explicit(&me.pauses, memory_order_relaxed);
}

static void handle(const struct form *f, struct sink *s, const struct call_event *e)
{
    bool enters = e->phase == ROCP_ENTER, launch = is_launch(f);
    if (f->does == DOES_DEVICE) {
        if (!enters)
            device_leave(e);
        return;
    }
    if (launch)
        (enters ? launch_enter : launch_leave)(f, s, e);
    else
        (enters ? wait_enter : wait_leave)(f, s, e);
}

void calls_event(const struct call_event *e)
{
    struct sink *s = atomic_load_explicit(&me.sink, memory_order_acquire);
    uint8_t form = e->operation < ROCP_OPERATIONS ? me.form[e->operation] : 0;
    if (!form || !e->call || (e->phase != ROCP_ENTER && e->phase != ROCP_EXIT))
        return;
    if (!s) {
        e->user->value = 0;
        if (forms[form].does == DOES_DEVICE && e->phase == ROCP_EXIT)
            device_leave(e);
        else if (is_launch(&forms[form]) && e->phase == ROCP_EXIT)
            leave_window(); /* it began in a session that has ended */
        return;
    }
    if (is_outside(&forms[form], s, e))
        return;
    bool measured = here.events++ % COST_SAMPLE == 0;
    int64_t began = measured ? clock_mono() : 0;
    uint64_t stacks = measured && s->ops->stacks ? s->ops->stacks(s) : 0;
    handle(&forms[form], s, e);
    if (measured && (!s->ops->stacks || s->ops->stacks(s) == stacks))
        atomic_fetch_add_explicit(&me.cost, clock_mono() - began, memory_order_relaxed);
}

/* ---- the session --------------------------------------------------------------------- */

void calls_report(struct sink *s, const struct trace_config *c)
{
    if (s) {
        atomic_store_explicit(&me.waits, c->waits, memory_order_relaxed);
        atomic_store_explicit(&me.syncs, c->synchronization, memory_order_relaxed);
        atomic_store_explicit(&me.graphs, c->graph_launches, memory_order_relaxed);
        atomic_store_explicit(&me.launched, 0, memory_order_relaxed);
        atomic_store_explicit(&me.windows, c->windows, memory_order_relaxed);
        atomic_store_explicit(&me.passed, c->windows && c->passed, memory_order_relaxed);
        atomic_store(&me.open, false);
        atomic_store_explicit(&me.cost, 0, memory_order_relaxed);
        atomic_store_explicit(&me.began, clock_mono(), memory_order_relaxed);
        atomic_store_explicit(&me.since, clock_mono(), memory_order_relaxed);
    }
    atomic_store_explicit(&me.sink, s, memory_order_release);
}

void calls_pause(void)
{
    atomic_fetch_add_explicit(&me.pauses, 1, memory_order_relaxed);
}

uint64_t calls_launched(void)
{
    return atomic_load_explicit(&me.launched, memory_order_relaxed);
}

int64_t calls_cost(void)
{
    return atomic_load_explicit(&me.cost, memory_order_relaxed) * COST_SAMPLE;
}
