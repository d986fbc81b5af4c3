/* launches.c - see launches.h.
 *
 * A launch is counted and joined to its scope at its entry, because its record may be decoded
 * before the call returns. If the call fails, this is undone at its exit. CUPTI keeps a word for a
 * call between its entry and exit: it contains what the entry did, so that nothing is kept per
 * thread. One callback in 64, chosen by a hash of the correlation id, is timed.
 *
 * Launches into a stream that is being captured run nothing and have no record. Captures are rare,
 * so their begin and end are counted, and the driver is asked about the stream only while one is
 * open.
 *
 * The driver may be called here: these callbacks run at the boundary of its interface, where it
 * holds no lock. */
#include "backend/nvidia/record/launches.h"

#include "backend/nvidia/engine/driver_gate.h"
#include "backend/nvidia/engine/range/kernels.h"
#include "backend/nvidia/engine/time.h"
#include "backend/nvidia/library/cuda.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "backend/nvidia/life/detach.h"
#include "backend/nvidia/life/object_calls.h"
#include "backend/nvidia/life/suspend.h"
#include "backend/nvidia/record/call_table.h"
#include "backend/nvidia/record/faults.h"
#include "backend/nvidia/record/graphs.h"
#include "backend/nvidia/record/local_memory.h"
#include "backend/nvidia/record/waits.h"
#include "base/clock.h"

enum { SAMPLED_1_IN = 64, CLOCK_TRIES = 64, CAPTURE_INVALIDATED = 901 };

/* Lists calls that are required to count launches; every supported library has them. */
static const uint16_t required[] = {ID_cuLaunchKernel, ID_cuGraphLaunch};

/* ---- streams --------------------------------------------------------------------------- */

static cuda_stream launch_stream(uint32_t id, const void *params)
{
    switch (id) {
    case ID_cuLaunchKernel:
    case ID_cuLaunchKernel_ptsz:
    case ID_cuLaunchCooperativeKernel:
    case ID_cuLaunchCooperativeKernel_ptsz:
        return ((const struct cuda_launch_params *)params)->stream;
    case ID_cuLaunchKernelEx:
    case ID_cuLaunchKernelEx_ptsz: {
        const struct cuda_launch_config *config =
            ((const struct cuda_launch_ex_params *)params)->config;
        return config ? config->stream : NULL;
    }
    case ID_cuLaunchGridAsync:
        return ((const struct cuda_launch_grid_async_params *)params)->stream;
    case ID_cuGraphLaunch:
    case ID_cuGraphLaunch_ptsz:
        return ((const struct cuda_graph_launch_params *)params)->stream;
    default: /* legacy forms run in the default stream, the multi-device one cannot be captured */
        return NULL;
    }
}

/* Returns the function that is launched; NULL in legacy forms. */
static void *launch_function(uint32_t id, const void *params)
{
    switch (id) {
    case ID_cuLaunchKernel:
    case ID_cuLaunchKernel_ptsz:
    case ID_cuLaunchCooperativeKernel:
    case ID_cuLaunchCooperativeKernel_ptsz:
        return ((const struct cuda_launch_params *)params)->function;
    case ID_cuLaunchKernelEx:
    case ID_cuLaunchKernelEx_ptsz:
        return ((const struct cuda_launch_ex_params *)params)->function;
    default:
        return NULL;
    }
}

/* In these forms, stream 0 means the thread's own default stream. */
static bool per_thread_default(uint32_t id)
{
    return id == ID_cuLaunchKernel_ptsz || id == ID_cuLaunchCooperativeKernel_ptsz ||
           id == ID_cuLaunchKernelEx_ptsz || id == ID_cuGraphLaunch_ptsz;
}

/* Returns true if the call only adds a node to a graph that is being captured. */
static bool launch_captured(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    if (__builtin_expect(atomic_load_explicit(&t->captures, memory_order_relaxed) <= 0, 1))
        return false;
    const struct cuda *cuda = cuda_loaded();
    cuda_stream stream = launch_stream(id, c->params);
    int state = CUDA_CAPTURE_NONE;
    if (!stream && per_thread_default(id))
        stream = CUDA_PER_THREAD_STREAM;
    return cuda && cuda->cuStreamIsCapturing &&
           cuda->cuStreamIsCapturing(stream, &state) == CUDA_OK && state != CUDA_CAPTURE_NONE;
}

/* ---- entry ----------------------------------------------------------------------------- */

/* Returns the number of kernels that a call starts if it succeeds and is not captured. */
static uint64_t launch_count(uint32_t id, const struct cupti_callback *c)
{
    if (__builtin_expect(id == ID_cuLaunchCooperativeKernelMultiDevice, 0))
        return ((const struct cuda_multi_device_params *)c->params)->devices;
    return 1;
}

/* If a session has windows, only calls that begin and return inside the same window are counted:
  * it is unknown whether others have records. The upper half of a call's word is its window's
  * number. */
static uint32_t window_now(struct trace *t)
{
    return atomic_load_explicit(&t->window, memory_order_acquire);
}

/* Counts a launch outside of windows, while the library is attached. */
static void count_outside(struct trace *t, struct sink *s)
{
    if (atomic_load_explicit(&t->passing, memory_order_acquire))
        s->ops->passed(s);
}

static void enter_kernel(struct trace *t, struct sink *s, uint32_t id,
                         const struct cupti_callback *c)
{
    struct launch l = {
        .kind = LAUNCH_KERNEL, .correlation = trace_id(t, c->correlation), .kernels = 1};
    local_memory_launch(launch_function(id, c->params), c->symbol);
    uint64_t count = launch_captured(t, id, c) ? 0 : launch_count(id, c);
    uint32_t window = t->config.windows ? window_now(t) : 0;
    *c->data = count | (uint64_t)window << 32;
    if (__builtin_expect(t->config.windows && !window, 0)) {
        l.kind = LAUNCH_OUTSIDE;
        count_outside(t, s);
    }
    for (uint64_t i = 0; i < count; i++)
        s->ops->launch(s, &l);
    if (window && window_now(t) != window)
        *c->data = count; /* this call reached a limit and closed the window: it is not counted */
}

/* An unknown graph was instantiated before CUPTI was attached: its kernels stay unknown. */
static struct graph_info graph_of(const struct cupti_callback *c)
{
    cuda_exec exec = ((const struct cuda_graph_launch_params *)c->params)->exec;
    struct graph_info g = graphs_find(exec);
    return g.number ? g : graphs_add(exec, CELL_NULL);
}

static bool timed(struct trace *t)
{
    return atomic_load_explicit(&t->time_graphs, memory_order_relaxed);
}

static void enter_graph(struct trace *t, struct sink *s, uint32_t id,
                        const struct cupti_callback *c)
{
    *c->data = 0;
    if (launch_captured(t, id, c))
        return;
    struct graph_info g = graph_of(c);
    uint32_t window = t->config.windows ? window_now(t) : 0;
    bool outside = t->config.windows && !window;
    struct launch l = {.kind = outside ? LAUNCH_OUTSIDE : LAUNCH_GRAPH,
                       .correlation = trace_id(t, c->correlation),
                       .kernels = g.kernels,
                       .graph = g.number};
    s->ops->launch(s, &l);
    if (outside) {
        count_outside(t, s);
        return;
    }
    *c->data = timed(t) ? (uint64_t)clock_mono() : 1 | (uint64_t)window << 32;
}

static void enter(struct trace *t, struct sink *s, uint32_t id, const struct cupti_callback *c)
{
    switch ((enum call_role)call_roles[id]) {
    case ROLE_KERNEL:
        enter_kernel(t, s, id, c);
        break;
    case ROLE_GRAPH:
        enter_graph(t, s, id, c);
        break;
    case ROLE_WAIT:
        waits_enter(t, s, id, c);
        break;
    case ROLE_EXEC: /* before its address can be given to a new graph */
        if (id == ID_cuGraphExecDestroy)
            graphs_drop(((const struct cuda_graph_exec_params *)c->params)->exec);
        break;
    default:
        break;
    }
}

/* ---- exit ------------------------------------------------------------------------------ */

/* Returns true if the call was counted: its word has the number of a window of this session, or 0
 * in a session without windows. */
static bool counted(struct trace *t, uint32_t window)
{
    if (!t->config.windows)
        return !window;
    return window && window <= atomic_load_explicit(&t->last_window, memory_order_relaxed);
}

/* The word is what the entry wrote; if the call began before CUPTI was attached, it can be
 * anything. So at most the number that such a call can launch is taken back. */
static void exit_kernel(struct trace *t, struct sink *s, uint32_t id,
                        const struct cupti_callback *c)
{
    bool failed = call_result(c) != CUDA_OK;
    if (__builtin_expect(!failed && !t->config.windows, 1))
        return;
    struct launch l = {.kind = failed ? LAUNCH_FAILED : LAUNCH_UNSURE,
                       .correlation = trace_id(t, c->correlation),
                       .kernels = 1};
    uint64_t entered = *c->data & UINT32_MAX;
    uint32_t window = (uint32_t)(*c->data >> 32);
    if (!counted(t, window) || (!failed && window == window_now(t)))
        return;
    if (entered <= launch_count(id, c))
        for (; entered > 0; entered--)
            s->ops->launch(s, &l);
}

/* Returns true if the word of a graph launch was written in this session. */
static bool graph_entered(struct trace *t, uint64_t word)
{
    if (timed(t))
        return (int64_t)word >= atomic_load_explicit(&t->since, memory_order_relaxed);
    return (word & UINT32_MAX) == 1 && counted(t, (uint32_t)(word >> 32));
}

static void exit_graph(struct trace *t, struct sink *s, const struct cupti_callback *c)
{
    uint64_t entered = *c->data;
    bool failed = call_result(c) != CUDA_OK;
    bool unsure = t->config.windows && !timed(t) && (uint32_t)(entered >> 32) != window_now(t);
    if (!entered || (!failed && !unsure && !timed(t)) || !graph_entered(t, entered))
        return;
    struct graph_info g = graph_of(c);
    struct launch l = {.kind = failed   ? LAUNCH_FAILED
                               : unsure ? LAUNCH_UNSURE
                                        : LAUNCH_GRAPH_END,
                       .correlation = trace_id(t, c->correlation),
                       .kernels = g.kernels,
                       .graph = g.number};
    if (l.kind == LAUNCH_GRAPH_END) {
        l.start = (int64_t)entered;
        l.duration = clock_mono() - l.start;
    }
    s->ops->launch(s, &l);
}

static void exit_capture_end(struct trace *t, int result)
{
    if (result != CUDA_OK && result != CAPTURE_INVALIDATED)
        return;
    int32_t n = atomic_load_explicit(&t->captures, memory_order_relaxed);
    while (n > 0 && !atomic_compare_exchange_weak_explicit(
                        &t->captures, &n, n - 1, memory_order_relaxed, memory_order_relaxed))
        ;
}

static void exit_instantiate(const struct cupti_callback *c)
{
    const struct cuda_graph_instantiate_params *p = c->params;
    if (call_result(c) == CUDA_OK && p->exec && *p->exec)
        graphs_add(*p->exec, graphs_count_kernels(cuda_loaded(), p->graph));
}

static void leave(struct trace *t, struct sink *s, uint32_t id, const struct cupti_callback *c)
{
    if (__builtin_expect(call_result(c) != CUDA_OK, 0))
        faults_look(s, call_result(c), c->function);
    switch ((enum call_role)call_roles[id]) {
    case ROLE_KERNEL:
        exit_kernel(t, s, id, c);
        break;
    case ROLE_GRAPH:
        exit_graph(t, s, c);
        break;
    case ROLE_WAIT:
        waits_leave(t, s, id, c);
        break;
    case ROLE_CAPTURE_BEGIN:
        if (call_result(c) == CUDA_OK)
            atomic_fetch_add_explicit(&t->captures, 1, memory_order_relaxed);
        break;
    case ROLE_CAPTURE_END:
        exit_capture_end(t, call_result(c));
        break;
    case ROLE_INSTANTIATE:
        exit_instantiate(c);
        break;
    case ROLE_EXEC: /* a node that is switched off runs no kernel */
        if (id == ID_cuGraphNodeSetEnabled && call_result(c) == CUDA_OK)
            graphs_forget_count(((const struct cuda_graph_exec_params *)c->params)->exec);
        break;
    default:
        break;
    }
}

/* ---- outside of windows ------------------------------------------------------------------ */

/* Objects that are created or destroyed have to be known when the next window opens. */
static void leave_outside_window(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    switch ((enum call_role)call_roles[id]) {
    case ROLE_KERNEL:
    case ROLE_GRAPH:
        if (atomic_load_explicit(&t->passing, memory_order_acquire))
            t->sink->ops->passed(t->sink);
        break;
    case ROLE_CAPTURE_BEGIN:
        atomic_fetch_add_explicit(&t->captures, 1, memory_order_relaxed);
        break;
    case ROLE_INSTANTIATE:
        exit_instantiate(c);
        break;
    default:
        break;
    }
}

/* A launch that began in a window has returned after it. */
static void leave_after_window(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    if (call_roles[id] == ROLE_KERNEL)
        exit_kernel(t, t->sink, id, c);
    else if (!timed(t))
        exit_graph(t, t->sink, c);
}

/* A call has returned, in a session whose engines rest between windows. */
static void suspend_exit(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    bool works = call_launches(id) || call_moments[id] == MOMENT_DONE;
    suspend_leave(t, works && call_result(c) == CUDA_OK ? c->context : NULL, call_waited(id, c));
}

static bool suspends(const struct trace *t)
{
    return __builtin_expect(atomic_load_explicit(&t->suspends, memory_order_relaxed), 0);
}

static void launch_outside_window(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    if (cupti_fatal(t) || cupti_fatal_answers(t, id))
        return;
    bool exec = call_roles[id] == ROLE_EXEC;
    bool launch = call_launches(id);
    bool of_object = !launch && object_calls_take(id, c);
    if (launch && c->site != CUPTI_SITE_ENTER && engine_time_awaits(t))
        engine_time_launched(c->context);
    if (c->site == CUPTI_SITE_ENTER) {
        if (suspends(t))
            suspend_enter();
        if (launch)
            *c->data = 0;
        if (exec && id == ID_cuGraphExecDestroy)
            graphs_drop(((const struct cuda_graph_exec_params *)c->params)->exec);
        return;
    }
    int result = call_result(c);
    if (suspends(t)) {
        nv_calls_run(t->calls.left_outside, t, id, c);
        suspend_exit(t, id, c);
    }
    if (launch && atomic_load_explicit(&t->windowed, memory_order_relaxed))
        leave_after_window(t, id, c);
    if (call_roles[id] == ROLE_CAPTURE_END)
        exit_capture_end(t, result);
    if (result != CUDA_OK && atomic_load_explicit(&t->windowed, memory_order_relaxed))
        faults_look(t->sink, result, c->function);
    if (result != CUDA_OK)
        return;
    if (exec && id == ID_cuGraphNodeSetEnabled)
        graphs_forget_count(((const struct cuda_graph_exec_params *)c->params)->exec);
    leave_outside_window(t, id, c);
    if (!of_object)
        detach_now(t, c->correlation);
}

/* ---- the callback ---------------------------------------------------------------------- */

static bool sampled(uint32_t correlation)
{
    return correlation * 0x9E3779B1u < UINT32_MAX / SAMPLED_1_IN;
}

static void leave_ranges(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    if (call_launches(id))
        range_kernels_end(t, c->symbol, trace_id(t, c->correlation), call_result(c) == CUDA_OK);
}

/* Does the work of enter_kernel and exit_kernel for the most frequent case: the launch of a kernel
 * in a session of the kind `only`, t->plain or t->gated. False: it is another case. */
static inline bool count_kernel(struct trace *t, struct sink *s, uint32_t id,
                                const struct cupti_callback *c, const _Atomic bool *only)
{
    if (call_roles[id] != ROLE_KERNEL || id == ID_cuLaunchCooperativeKernelMultiDevice ||
        !atomic_load_explicit(only, memory_order_relaxed) || engine_time_awaits(t))
        return false;
    if (c->site != CUPTI_SITE_ENTER)
        return call_result(c) == CUDA_OK;
    if (atomic_load_explicit(&t->captures, memory_order_relaxed) > 0)
        return false;
    *c->data = 1;
    local_memory_launch(launch_function(id, c->params), c->symbol);
    s->ops->kernel(s, trace_id(t, c->correlation));
    return true;
}

static inline bool launch_fast(struct trace *t, struct sink *s, uint32_t id,
                               const struct cupti_callback *c)
{
    return count_kernel(t, s, id, c, &t->plain);
}

/* Handles a launch in a session of the kind t->gated. Does what the functions of engine/yield.h do,
 * too. */
static bool launch_gated(struct trace *t, struct sink *s, uint32_t id,
                         const struct cupti_callback *c)
{
    bool enters = c->site == CUPTI_SITE_ENTER;
    if (enters)
        driver_gate_enter();
    bool counted = count_kernel(t, s, id, c, &t->gated);
    if (enters != counted) /* launch_slow calls those functions for what is not counted here */
        (void)driver_gate_leave();
    return counted;
}

static __attribute__((noinline)) void launch_slow(struct trace *t, struct sink *s, uint32_t id,
                                                  const struct cupti_callback *c)
{
    if (atomic_load_explicit(&t->gated, memory_order_relaxed) && launch_gated(t, s, id, c))
        return;
    if (cupti_fatal_answers(t, id))
        return;
    bool launch = call_launches(id);
    if (!launch)
        object_calls_take(id, c);
    bool first = launch && engine_time_awaits(t);
    if (first && c->site == CUPTI_SITE_ENTER) /* asking for its function may load its code */
        engine_time_launch(c->context);
    else if (first)
        engine_time_launched(c->context);
    if (c->site == CUPTI_SITE_ENTER) {
        nv_calls_run(t->calls.enter, t, id, c);
        if (suspends(t))
            suspend_enter();
        enter(t, s, id, c);
        nv_calls_run(t->calls.entered, t, id, c);
    } else {
        leave(t, s, id, c);
        nv_calls_run(t->calls.left, t, id, c);
        if (suspends(t))
            suspend_exit(t, id, c);
    }
}

static __attribute__((noinline)) void launch_timed(struct trace *t, struct sink *s, uint32_t id,
                                                   const struct cupti_callback *c)
{
    bool apart = engine_time_awaits(t);
    uint64_t stacks = s->ops->stacks ? s->ops->stacks(s) : 0;
    int64_t engines = engine_time_total(), begin = clock_mono();
    if (!launch_fast(t, s, id, c))
        launch_slow(t, s, id, c);
    int64_t ns = clock_mono() - begin - t->clock_ns;
    bool captured = s->ops->stacks && s->ops->stacks(s) != stacks;
    /* The time of engines and captures is known: it must not be extrapolated. */
    if (!apart && !captured && engine_time_total() == engines)
        atomic_fetch_add_explicit(&t->callback_ns, ns, memory_order_relaxed);
}

void launches_callback(void *user, int domain, uint32_t id, const void *data)
{
    struct trace *t = user;
    const struct cupti_callback *c = data;
    struct sink *s = atomic_load_explicit(&t->live, memory_order_acquire);
    if (domain != CUPTI_DOMAIN_DRIVER || id >= CALL_IDS)
        return;
    if (__builtin_expect(range_thread.launching != LAUNCH_NONE, 0) && c->site != CUPTI_SITE_ENTER)
        leave_ranges(t, id, c); /* also if the session has ended meanwhile */
    if (__builtin_expect(!s, 0))
        launch_outside_window(t, id, c);
    else if (__builtin_expect(sampled(c->correlation), 0))
        launch_timed(t, s, id, c);
    else if (__builtin_expect(!launch_fast(t, s, id, c), 0))
        launch_slow(t, s, id, c);
}

int64_t launches_cost(struct trace *t)
{
    int64_t ns = atomic_load_explicit(&t->callback_ns, memory_order_relaxed);
    return (ns > 0 ? ns * SAMPLED_1_IN : 0) + engine_time_total();
}

int64_t launches_clock_cost(void)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < CLOCK_TRIES; i++) {
        int64_t begin = clock_mono(), taken = clock_mono() - begin;
        if (taken < least)
            least = taken;
    }
    return least;
}

int launches_enable(struct trace *t)
{
    waits_init();
    for (uint32_t id = 0; id < CALL_IDS; id++) {
        if (call_roles[id] == ROLE_NONE &&
            !(call_moments[id] && (t->switched || nv_engines_need_moments(t))))
            continue;
        int result = t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_DRIVER, id);
        for (size_t i = 0; result != CUPTI_OK && i < sizeof required / sizeof *required; i++)
            if (id == required[i])
                return result;
    }
    return CUPTI_OK;
}

void launches_disable(struct trace *t)
{
    for (uint32_t id = 0; id < CALL_IDS; id++)
        if ((call_roles[id] != ROLE_NONE || call_moments[id]) && !object_calls_listed(id))
            t->cupti->cuptiEnableCallback(0, t->subscriber, CUPTI_DOMAIN_DRIVER, id);
}
