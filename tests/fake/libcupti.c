/* libcupti.c - is a profiling library without a GPU, at the real soname, scripted.
 *
 * FAKE_CUPTI is a comma-separated list:
 *   version=N        CUPTI_API_VERSION to answer, and whose record sizes to use
 *   subscribed       another tool holds the subscription
 *   fail=F:N:R       the N-th call (from 1) of F returns R, every one if N is 0;
 *                    may be repeated
 *   late=N           records appear in buffers N records late
 *   shuffle          records appear in reverse within groups of 16
 *   drop=N           every N-th kernel record is dropped and counted as dropped
 *   hide=N           every N-th kernel record is dropped and not counted as dropped
 *   notime=N         every N-th kernel record has start and end 0
 *   alien            a record of an unknown kind precedes every 100th kernel
 *   privileges       enabling an activity fails: insufficient privileges
 *   ends=N           inside the N-th launch the library ends itself without reporting it: nothing
 *                    is called back or recorded any more, and samples are not delivered
 *   deaf             after ends=N the library still accepts requests for callbacks
 *   fatal=N          as ends=N, and the library reports a fatal error before it ends
 *   pc-…             of PC sampling: see pc.c
 *   pm-…             of hardware counters: see pm.c
 *   range-…          of counted scopes: see range.c
 *   sass-…           of instrumented kernels: see sass.c
 *   skew=NS          the library's own clock, which it uses without a timestamp callback, is
 *                    ahead of CLOCK_MONOTONIC
 *
 * This file has subscriptions, callbacks and contexts; activity.c has the records, and script.c
 * reads the list.
 * Threads: any. What the client registers is atomic. */
#include "cupti.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLBACK_IDS = 1024, DOMAINS = CUPTI_DOMAIN_STATE + 1 };

/* The client's registrations. Its calls store with release, uses load with acquire. */
static _Atomic(cupti_callback_fn) callback;
static _Atomic(void *) callback_user; /* written before callback */
static _Atomic bool callback_on[DOMAINS][CALLBACK_IDS];

/* The life of the library, for fake_cupti_life. */
static _Atomic bool attached;
static _Atomic uint64_t finalized, outside_exit, touched, asked_to_finalize;
static _Atomic int64_t finalized_at, longest_away; /* ns */
static _Thread_local bool in_exit;

static void call_back(int domain, uint32_t cbid, const void *data)
{
    cupti_callback_fn fn = atomic_load_explicit(&callback, memory_order_acquire);
    if (fn && cbid < CALLBACK_IDS && atomic_load(&callback_on[domain][cbid]))
        fn(atomic_load(&callback_user), domain, cbid, data);
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* ---- its own end ----------------------------------------------------------------------------- */

static _Atomic bool over;
static _Atomic int64_t over_at; /* ns */
static _Atomic int launched;

bool library_over(void)
{
    return atomic_load(&over);
}

/* Counts launches until the library ends. The library counts as ended before it reports that, so
 * that concurrent launches of other threads are not recorded any more. */
static void come_to_an_end(void)
{
    int n = atomic_fetch_add(&launched, 1) + 1;
    if (n != cupti_script.ends && n != cupti_script.fatal)
        return;
    atomic_store(&over_at, now());
    atomic_store(&over, true);
    struct cupti_state_event e = {.result = CUPTI_E_HARDWARE, .message = "the fake's heart"};
    if (n == cupti_script.fatal)
        call_back(CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL, &e);
}

/* Aborts if the library is called after it has reported its end. Functions that only read memory
 * may be called, and within a second also others, which may have been under way. */
void library_called(const char *function)
{
    enum { UNDER_WAY = 1000000000 }; /* ns */
    static const char *const harmless[] = {"cuptiActivityGetNextRecord", "cuptiGetResultString",
                                           "cuptiGetCubinCrc"};
    if (!cupti_script.fatal || !library_over() || now() - atomic_load(&over_at) < UNDER_WAY)
        return;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (!strcmp(function, harmless[i]))
            return;
    fprintf(stderr, "fake CUPTI: %s is called after its own end\n", function);
    abort();
}

/* ---- what the driver reports ----------------------------------------------------------------- */

static void on_api(uint32_t cbid, int site, const char *function, const void *params, int *result,
                   uint32_t correlation, uint64_t *data, const char *symbol, uint32_t context)
{
    struct cupti_callback d = {.site = site,
                               .function = function,
                               .params = params,
                               .result = result,
                               .symbol = symbol,
                               .context = FAKE_CONTEXT_OF(context),
                               .context_uid = context,
                               .data = data,
                               .correlation = correlation};
    if (library_over())
        return;
    if (site == CUPTI_SITE_ENTER)
        activity_call(cbid, correlation);
    bool launches = strstr(function, "Launch") != NULL;
    in_exit = site == CUPTI_SITE_EXIT;
    call_back(CUPTI_DOMAIN_DRIVER, cbid, &d);
    if (launches && !in_exit) {
        sass_launching();
        come_to_an_end();
    }
    in_exit = false;
    if (site == CUPTI_SITE_EXIT)
        activity_relieve();
}

static void on_graph_exec(uint32_t cbid, cuda_graph graph, cuda_exec exec)
{
    struct cupti_graph_event g = {.graph = graph, .exec = exec};
    struct cupti_resource_event r = {.context = FAKE_CONTEXT, .detail = &g};
    call_back(CUPTI_DOMAIN_RESOURCE, cbid, &r);
}

static void on_context(uint32_t cbid, uint32_t context)
{
    struct cupti_resource_event r = {.context = context ? FAKE_CONTEXT_OF(context) : NULL};
    if (library_over())
        return;
    if (cbid == CUPTI_RESOURCE_CONTEXT_DESTROY)
        sass_context_destroying(context);
    call_back(CUPTI_DOMAIN_RESOURCE, cbid, &r);
    if (cbid == CUPTI_RESOURCE_CONTEXT_DESTROY) {
        pc_context_destroyed(context);
        sass_context_destroyed(context);
#if FAKE_CUPTI_VERSION >= 130000
        range_context_destroyed(context);
#endif
    }
}

static void on_module(uint32_t cbid, uint32_t context, const char *image, size_t size)
{
    struct cupti_module_event m = {.module = 1, .cubin_size = size, .cubin = image};
    if (cbid == CUPTI_RESOURCE_MODULE_LOADED)
        pc_module(image, size);
    if (cbid == CUPTI_RESOURCE_MODULE_UNLOAD)
        sass_module_gone(context);
    struct cupti_resource_event r = {.context = FAKE_CONTEXT_OF(context), .detail = &m};
    call_back(CUPTI_DOMAIN_RESOURCE, cbid, &r);
}

bool driver_faulted(void)
{
    bool (*ask)(void);
    *(void **)&ask = dlsym(RTLD_DEFAULT, "fake_cuda_faulted");
    return ask && ask();
}

void driver_connect(bool on)
{
    static const struct fake_hooks hooks = {on_api, activity_op, on_graph_exec, on_context,
                                            on_module};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    fake_hooks_slot *slot = driver ? dlsym(driver, "fake_cuda_hooks") : NULL;
    if (slot)
        atomic_store_explicit(slot, on ? &hooks : NULL, memory_order_release);
}

EXPORT int cuptiGetVersion(uint32_t *version)
{
    SCRIPTED(cuptiGetVersion);
    *version = cupti_script.version;
    return CUPTI_OK;
}

EXPORT int cuptiGetResultString(int result, const char **text)
{
    SCRIPTED(cuptiGetResultString);
    *text = result == CUPTI_E_PRIVILEGES   ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
            : result == CUPTI_E_SUBSCRIBED ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                           : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_OK;
}

static void ask_contexts(uint64_t contexts[3])
{
    void (*ask)(uint64_t *);
    memset(contexts, 0, 3 * sizeof *contexts);
    *(void **)&ask = dlsym(RTLD_DEFAULT, "fake_cuda_contexts");
    if (ask)
        ask(contexts);
}

/* Aborts if a context is completed while the library attaches: the real library crashes then. */
static void come_back(void)
{
    uint64_t before[3], after[3];
    int64_t away = now() - atomic_load(&finalized_at);
    if (!atomic_load(&finalized) || atomic_load(&attached))
        return;
    if (away > atomic_load(&longest_away))
        atomic_store(&longest_away, away);
    ask_contexts(before);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    ask_contexts(after);
    if (before[0] && after[1] > before[1]) {
        fprintf(stderr, "fake CUPTI: subscribed to while a context's making ends\n");
        abort();
    }
}

EXPORT int cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback_fn fn, void *user)
{
    SCRIPTED(cuptiSubscribe);
    if (cupti_script.subscribed || atomic_load(&callback))
        return CUPTI_E_SUBSCRIBED;
    come_back();
    atomic_store(&callback_user, user);
    atomic_store_explicit(&callback, fn, memory_order_release);
    *subscriber = (cupti_subscriber)(uintptr_t)1;
    atomic_store(&attached, true);
    driver_connect(true);
    return CUPTI_OK;
}

static void forget_callbacks(void)
{
    atomic_store_explicit(&callback, NULL, memory_order_release);
    for (int d = 0; d < DOMAINS; d++)
        for (int i = 0; i < CALLBACK_IDS; i++)
            atomic_store(&callback_on[d][i], false);
}

EXPORT int cuptiUnsubscribe(cupti_subscriber subscriber)
{
    (void)subscriber;
    SCRIPTED(cuptiUnsubscribe);
    forget_callbacks();
    return CUPTI_OK;
}

EXPORT int cuptiEnableCallback(uint32_t on, cupti_subscriber subscriber, int domain, uint32_t id)
{
    (void)subscriber;
    SCRIPTED(cuptiEnableCallback);
    if (domain < 0 || domain >= DOMAINS || id >= CALLBACK_IDS ||
        (library_over() && !cupti_script.deaf))
        return CUPTI_E_INVALID_PARAMETER;
    atomic_store(&callback_on[domain][id], on != 0);
    return CUPTI_OK;
}

EXPORT int cuptiSetThreadIdType(int type)
{
    (void)type;
    SCRIPTED(cuptiSetThreadIdType);
    return CUPTI_OK;
}

EXPORT int cuptiGetDeviceId(cuda_context context, uint32_t *device)
{
    SCRIPTED(cuptiGetDeviceId);
    if (!context)
        return CUPTI_E_INVALID_PARAMETER;
    *device = 0;
    return CUPTI_OK;
}

/* A stream's handle is its number; the default stream has the number 7. */
EXPORT int cuptiGetStreamIdEx(cuda_context context, cuda_stream stream, uint8_t per_thread,
                              uint32_t *number)
{
    (void)per_thread;
    SCRIPTED(cuptiGetStreamIdEx);
    if (!context)
        return CUPTI_E_INVALID_PARAMETER;
    *number = stream ? (uint32_t)(uintptr_t)stream : 7;
    return CUPTI_OK;
}

EXPORT int cuptiGetContextId(cuda_context context, uint32_t *number)
{
    SCRIPTED(cuptiGetContextId);
    *number = FAKE_CONTEXT_AT(context);
    return CUPTI_OK;
}

void client_must(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "fake CUPTI: %s\n", what);
    abort();
}

void context_must_live(cuda_context context)
{
    bool (*lives)(cuda_context);
    *(void **)&lives = dlsym(RTLD_DEFAULT, "fake_cuda_context_lives");
    client_must(!lives || lives(context), "it is given a context that has been destroyed");
}

void life_touched(void)
{
    atomic_fetch_add(&touched, !atomic_load(&attached));
}

static _Atomic uint64_t flushes;

void life_flushed(void)
{
    life_touched();
    atomic_fetch_add(&flushes, 1);
}

/* Says how often the library was finalized, how often outside the exit of a driver's call, how
 * often it was called while detached (which attaches the real one again), for how long it was
 * detached at most, ns, whether it is attached, how often it was asked for what it has recorded,
 * and how often to finalize, refusals included. The real library has no such function. */
EXPORT void fake_cupti_life(uint64_t life[7])
{
    life[0] = atomic_load(&finalized);
    life[1] = atomic_load(&outside_exit);
    life[2] = atomic_load(&touched);
    life[3] = (uint64_t)atomic_load(&longest_away);
    life[4] = atomic_load(&attached);
    life[5] = atomic_load(&flushes);
    life[6] = atomic_load(&asked_to_finalize);
}

/* The older copy has no ranges and no PM sampling. */
static bool engines_held(void)
{
    bool held = pc_enabled() || sass_enabled();
#if FAKE_CUPTI_VERSION >= 130000
    held = held || pm_enabled() || range_enabled();
#endif
    return held;
}

EXPORT int cuptiFinalize(void)
{
    atomic_fetch_add(&asked_to_finalize, 1);
    SCRIPTED(cuptiFinalize);
    if (engines_held()) {
        fprintf(stderr, "fake CUPTI: finalized while an engine has objects\n");
        abort();
    }
    uint64_t contexts[3];
    ask_contexts(contexts);
    if (contexts[0]) {
        fprintf(stderr, "fake CUPTI: finalized while a context is being made\n");
        abort();
    }
    atomic_fetch_add(&outside_exit, !in_exit);
    atomic_store(&finalized_at, now());
    atomic_store(&attached, false);
    forget_callbacks();
    driver_connect(false);
    activity_forget();
    void (*again)(void);
    *(void **)&again = dlsym(RTLD_DEFAULT, "fake_cuda_correlation_again");
    if (again)
        again();
    atomic_fetch_add(&finalized, 1);
    return CUPTI_OK;
}
