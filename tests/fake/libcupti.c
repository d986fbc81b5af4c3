/* libcupti.c - a profiling library without a GPU, at the real soname, scripted.
 *
 * FAKE_CUPTI is a comma-separated list:
 *   version=N        CUPTI_API_VERSION to answer, and whose record sizes to use
 *   subscribed       another tool holds the subscription
 *   fail=F:N:R       the N-th call (from 1) of F returns R, every one where N is 0;
 *                    may be repeated
 *   late=N           records appear in buffers N records late
 *   shuffle          records appear in reverse within groups of 16
 *   drop=N           every N-th kernel record is dropped and counted as dropped
 *   hide=N           every N-th kernel record is dropped, and nothing tells of it
 *   notime=N         every N-th kernel record has start and end 0
 *   alien            a record of an unknown kind stands before every 100th kernel
 *   privileges       enabling an activity: insufficient privileges
 *   pc-…             of PC sampling: see pc.c
 *   pm-…             of hardware counters: see pm.c
 *   range-…          of counted scopes: see range.c
 *   sass-…           of instrumented kernels: see sass.c
 *   skew=NS          its own clock, which it uses without a timestamp callback, is
 *                    ahead of CLOCK_MONOTONIC
 *
 * Records go to the client's buffers when their work has ended. Thread-safe: the
 * script is read once, what the client registers is atomic, the rest has one lock,
 * which is not held while a callback of the client runs. */
#include "cupti.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PENDING = 1 << 16, RECORD_MAX = 256, CALLBACK_IDS = 1024 };

/* What a real driver reserves for every kernel, whether it uses local memory or not; what a kernel
 * uses its record does not tell. */
enum { LOCAL_RESERVED = 1 << 28 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Constant after read_script. */
static struct {
    uint32_t version;
    bool subscribed, shuffle, alien, privileges;
    int late, drop, hide, notime;
    int64_t skew;
} script;
static struct {
    char function[48];
    long nth, seen; /* seen: guarded by lock */
    int result;
} failures[16];
static int failure_count;

/* What the client registered. Release by its calls, acquire where they are used. */
static _Atomic(cupti_callback_fn) callback;
static _Atomic(void *) callback_user; /* written before callback */
static _Atomic bool callback_on[4][CALLBACK_IDS];
static _Atomic(cupti_request_fn) request;
static _Atomic(cupti_complete_fn) complete;
static _Atomic(cupti_clock_fn) clock_fn;
static _Atomic bool kinds[CUPTI_KIND_LIMIT];
static _Atomic uint64_t managed_kinds; /* bit per enum cupti_managed_kind */

/* The life of the library, for fake_cupti_life. */
static _Atomic bool attached;
static _Atomic uint64_t finalized, outside_exit, touched;
static _Thread_local bool in_exit;

/* All below guarded by lock. */
static size_t dropped;
static uint64_t kernels_seen;

struct pending {
    size_t size;
    int64_t end;
    unsigned char bytes[RECORD_MAX];
};
static struct pending *pending; /* PENDING of them, a ring */
static size_t pending_head, pending_count;
static uint8_t *buffer;
static size_t buffer_size, buffer_used;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void read_script(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
    script.version = FAKE_CUPTI_VERSION;
    pending = calloc(PENDING, sizeof *pending);
    const char *text = getenv("FAKE_CUPTI");
    char copy[512], *save, *word;
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    for (word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        char function[48];
        long nth;
        int result;
        if (sscanf(word, "fail=%47[^:]:%ld:%d", function, &nth, &result) == 3 &&
            failure_count < 16) {
            snprintf(failures[failure_count].function, sizeof failures[0].function, "%s", function);
            failures[failure_count].nth = nth;
            failures[failure_count++].result = result;
        } else if (sscanf(word, "version=%u", &script.version) != 1 &&
                   sscanf(word, "late=%d", &script.late) != 1 &&
                   sscanf(word, "drop=%d", &script.drop) != 1 &&
                   sscanf(word, "hide=%d", &script.hide) != 1 &&
                   sscanf(word, "notime=%d", &script.notime) != 1 &&
                   sscanf(word, "skew=%" SCNd64, &script.skew) != 1) {
            script.subscribed |= !strcmp(word, "subscribed");
            script.shuffle |= !strcmp(word, "shuffle");
            script.alien |= !strcmp(word, "alien");
            script.privileges |= !strcmp(word, "privileges");
            pc_script(word);
            pm_script(word);
            range_script(word);
            sass_script(word);
        }
    }
}

/* What the real one loads for hardware counters ends with the process, by a handler of its own. */
static _Atomic bool counters_over;

static void end_counters(void)
{
    atomic_store(&counters_over, true);
}

static void load_counters(void)
{
    if (atexit(end_counters))
        abort();
}

static void counters_called(const char *function)
{
    static pthread_once_t loaded = PTHREAD_ONCE_INIT;
    static const char *const prefixes[] = {"cuptiPm", "cuptiProfiler", "cuptiRange"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(function, prefixes[i], strlen(prefixes[i])) != 0)
            continue;
        pthread_once(&loaded, load_counters);
        if (!atomic_load(&counters_over))
            continue;
        fprintf(stderr, "fake CUPTI: %s is called behind the library's own end\n", function);
        abort();
    }
}

int scripted(const char *function)
{
    int result = CUPTI_OK;
    pthread_once(&once, read_script);
    counters_called(function);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < failure_count; i++)
        if (!strcmp(failures[i].function, function) &&
            (++failures[i].seen == failures[i].nth || failures[i].nth == 0))
            result = failures[i].result;
    pthread_mutex_unlock(&lock);
    return result;
}

/* Pushed by a thread of the program, by kind: the innermost counts. */
enum { EXTERNAL_KINDS = 6, EXTERNAL_DEPTH = 16 };
static _Thread_local struct {
    uint64_t ids[EXTERNAL_DEPTH];
    unsigned depth;
} external[EXTERNAL_KINDS];

static size_t record_size(int kind)
{
    size_t size = 0;
#define FILLED(k, from, bytes, theirs)                                                             \
    if (kind == CUPTI_KIND_##k && script.version >= (from))                                        \
        size = (bytes);
    CUPTI_FILLED(FILLED)
#undef FILLED
    return size;
}

/* Hands the buffer over. Called without the lock. */
static void deliver(uint8_t *b, size_t size, size_t used)
{
    cupti_complete_fn fn = atomic_load_explicit(&complete, memory_order_acquire);
    if (b && fn)
        fn(FAKE_CONTEXT, 0, b, size, used);
}

/* True: the record is in the buffer. Else the buffer, if it was there and full, is *full now. */
static bool put_record(const struct pending *p, uint8_t **full, size_t *size, size_t *used)
{
    pthread_mutex_lock(&lock);
    bool fits = buffer && buffer_used + p->size <= buffer_size;
    *full = NULL;
    if (fits) {
        memcpy(buffer + buffer_used, p->bytes, p->size);
        buffer_used += p->size;
    } else if (buffer) {
        *full = buffer, *size = buffer_size, *used = buffer_used;
        buffer = NULL;
    }
    pthread_mutex_unlock(&lock);
    return fits;
}

/* Asks the client for a buffer. False: it has none. */
static bool get_buffer(void)
{
    cupti_request_fn ask = atomic_load_explicit(&request, memory_order_acquire);
    uint8_t *b = NULL;
    size_t size = 0, max_records = 0;
    if (ask)
        ask(&b, &size, &max_records);
    pthread_mutex_lock(&lock);
    if (b && !buffer)
        buffer = b, buffer_size = size, buffer_used = 0, b = NULL;
    bool some = buffer != NULL;
    pthread_mutex_unlock(&lock);
    deliver(b, size, 0); /* another thread was faster: give it back empty */
    return some;
}

/* Moves one record into the client's buffer, which is asked for and handed over as needed. */
static void write_record(const struct pending *p)
{
    uint8_t *full = NULL;
    size_t size = 0, used = 0;
    while (!put_record(p, &full, &size, &used)) {
        deliver(full, size, used);
        if (get_buffer())
            continue;
        pthread_mutex_lock(&lock);
        dropped++;
        pthread_mutex_unlock(&lock);
        return;
    }
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Moves what has ended (all: everything) into buffers, keeping `late` behind. */
static void pump(bool all)
{
    for (;;) {
        struct pending group[16];
        size_t n = 0;
        pthread_mutex_lock(&lock);
        size_t keep = all ? 0 : (size_t)script.late;
        while (n < 16 && pending_count > keep && (all || pending[pending_head].end <= now())) {
            group[n++] = pending[pending_head];
            pending_head = (pending_head + 1) % PENDING;
            pending_count--;
        }
        bool reverse = script.shuffle;
        pthread_mutex_unlock(&lock);
        for (size_t i = 0; i < n; i++)
            write_record(&group[reverse ? n - 1 - i : i]);
        if (n == 0)
            return;
    }
}

/* Adds a record behind the pending ones. [lock held] */
static void add(const void *record, int kind, int64_t end)
{
    size_t size = kind == 0 ? 32 : record_size(kind), known = size < RECORD_MAX ? size : RECORD_MAX;
    if (pending_count == PENDING) {
        dropped++;
        return;
    }
    struct pending *p = &pending[(pending_head + pending_count++) % PENDING];
    p->size = known;
    p->end = end;
    memset(p->bytes, 0, sizeof p->bytes);
    memcpy(p->bytes, record,
           known < sizeof(struct cupti_kernel) ? known : sizeof(struct cupti_kernel));
}

static void add_kernel(const struct fake_op *op, int64_t end)
{
    struct cupti_kernel k = {.kind = CUPTI_KIND_KERNEL,
                             .registers = (uint16_t)op->registers,
                             .start = (uint64_t)op->start,
                             .end = (uint64_t)op->end,
                             .context = FAKE_CONTEXT_NUMBER,
                             .stream = op->stream,
                             .shared_static = (int32_t)op->shared_static,
                             .shared_dynamic = (int32_t)op->shared,
                             .local_total = LOCAL_RESERVED,
                             .local_total64 = LOCAL_RESERVED,
                             .correlation = op->correlation,
                             .name = op->name,
                             .graph_node = op->graph_node,
                             .graph = op->graph};
    for (int i = 0; i < 3; i++) {
        k.grid[i] = (int32_t)op->grid[i];
        k.block[i] = (int32_t)op->block[i];
    }
    kernels_seen++;
    if (script.drop && kernels_seen % (uint64_t)script.drop == 0) {
        dropped++;
        return;
    }
    if (script.hide && kernels_seen % (uint64_t)script.hide == 0)
        return;
    if (script.notime && kernels_seen % (uint64_t)script.notime == 0)
        k.start = k.end = 0;
    if (script.alien && kernels_seen % 100 == 0) {
        int32_t alien[8] = {63};
        add(alien, 0, end);
    }
    add(&k, CUPTI_KIND_KERNEL, end);
}

static void add_copy(const struct fake_op *op, int64_t end)
{
    union { /* as large as add copies */
        struct cupti_memcpy copy;
        struct cupti_kernel room;
    } r = {.copy = {.kind = CUPTI_KIND_MEMCPY,
                    .copy_kind = (uint8_t)op->kind,
                    .src = (uint8_t)(op->kind == 1 ? op->memory : 3),
                    .dst = (uint8_t)(op->kind == 1 ? 3 : op->memory),
                    .flags = op->async ? CUPTI_ASYNC : 0,
                    .bytes = op->bytes,
                    .start = (uint64_t)op->start,
                    .end = (uint64_t)op->end,
                    .context = FAKE_CONTEXT_NUMBER,
                    .stream = op->stream,
                    .correlation = op->correlation}};
    add(&r, CUPTI_KIND_MEMCPY, end);
}

static void add_fill(const struct fake_op *op, int64_t end)
{
    union {
        struct cupti_memset fill;
        struct cupti_kernel room;
    } r = {.fill = {.kind = CUPTI_KIND_MEMSET,
                    .bytes = op->bytes,
                    .start = (uint64_t)op->start,
                    .end = (uint64_t)op->end,
                    .context = FAKE_CONTEXT_NUMBER,
                    .stream = op->stream,
                    .correlation = op->correlation,
                    .memory = 3}};
    add(&r, CUPTI_KIND_MEMSET, end);
}

static void add_sync(const struct fake_op *op, int64_t end)
{
    union {
        struct cupti_sync sync;
        struct cupti_kernel room;
    } r = {.sync = {.kind = CUPTI_KIND_SYNC,
                    .type = op->kind,
                    .start = (uint64_t)op->start,
                    .end = (uint64_t)op->end,
                    .correlation = op->correlation,
                    .context = FAKE_CONTEXT_NUMBER,
                    .stream = op->stream,
                    .event = op->event}};
    add(&r, CUPTI_KIND_SYNC, end);
}

static void add_memory(const struct fake_op *op, int64_t end)
{
    union {
        struct cupti_memory memory;
        struct cupti_kernel room;
    } r = {.memory = {.kind = CUPTI_KIND_MEMORY,
                      .operation = op->kind,
                      .memory = op->memory,
                      .correlation = op->correlation,
                      .address = op->address,
                      .bytes = op->bytes,
                      .time = (uint64_t)op->start,
                      .process = (uint32_t)getpid(),
                      .context = FAKE_CONTEXT_NUMBER,
                      .stream = CUPTI_NONE}};
    add(&r, CUPTI_KIND_MEMORY, end);
}

static void add_graph(const struct fake_op *op, int64_t end)
{
    union {
        struct cupti_graph_run graph;
        struct cupti_kernel room;
    } r = {.graph = {.kind = CUPTI_KIND_GRAPH_TRACE,
                     .correlation = op->correlation,
                     .start = (uint64_t)op->start,
                     .end = (uint64_t)op->end,
                     .graph = op->graph,
                     .context = FAKE_CONTEXT_NUMBER,
                     .stream = op->stream}};
    add(&r, CUPTI_KIND_GRAPH_TRACE, end);
}

static void add_managed(const struct fake_op *op, int64_t end)
{
    union {
        struct cupti_managed managed;
        struct cupti_kernel room;
    } r = {.managed = {.kind = CUPTI_KIND_MANAGED,
                       .what = op->kind,
                       .value = op->bytes,
                       .start = (uint64_t)op->start,
                       .end = (uint64_t)op->end,
                       .address = op->address,
                       .stream = CUPTI_NONE,
                       .process = (uint32_t)getpid()}};
    if (atomic_load(&managed_kinds) >> op->kind & 1)
        add(&r, CUPTI_KIND_MANAGED, end);
}

static void on_op(const struct fake_op *given)
{
    struct fake_op op = *given;
    if (given->work == FAKE_KERNEL) {
        pc_kernel(given->context, given->name, given->end - given->start);
        sass_kernel(given);
        if (range_kernel(given))
            op.end = op.start;
    }
    static const struct {
        int kind;
        void (*add)(const struct fake_op *op, int64_t end);
    } work[] = {
        [FAKE_KERNEL] = {CUPTI_KIND_KERNEL, add_kernel},
        [FAKE_COPY] = {CUPTI_KIND_MEMCPY, add_copy},
        [FAKE_FILL] = {CUPTI_KIND_MEMSET, add_fill},
        [FAKE_SYNC] = {CUPTI_KIND_SYNC, add_sync},
        [FAKE_MEMORY] = {CUPTI_KIND_MEMORY, add_memory},
        [FAKE_GRAPH] = {CUPTI_KIND_GRAPH_TRACE, add_graph},
        [FAKE_MANAGED] = {CUPTI_KIND_MANAGED, add_managed},
    };
    if (!atomic_load(&kinds[work[op.work].kind]))
        return;
    if (op.work == FAKE_KERNEL && op.graph && atomic_load(&kinds[CUPTI_KIND_GRAPH_TRACE]))
        return; /* as the real library: the launch as a whole stands for it */
    if (!atomic_load_explicit(&clock_fn, memory_order_acquire)) {
        op.start += script.skew;
        op.end += script.skew;
    }
    pthread_mutex_lock(&lock);
    work[op.work].add(&op, given->end);
    pthread_mutex_unlock(&lock);
}

void activity_own_kernel(const char *name)
{
    enum { STREAM = 6, NS = 80000 };
    uint32_t (*next)(void);
    *(void **)&next = dlsym(RTLD_DEFAULT, "fake_cuda_correlation");
    struct fake_op op = {.work = FAKE_KERNEL,
                         .correlation = next(),
                         .stream = STREAM,
                         .start = now() - NS,
                         .end = now(),
                         .name = name,
                         .grid = {1, 1, 1},
                         .block = {1, 1, 1},
                         .registers = 16};
    pthread_mutex_lock(&lock);
    if (atomic_load(&kinds[CUPTI_KIND_KERNEL]))
        add_kernel(&op, op.end);
    pthread_mutex_unlock(&lock);
}

bool activity_enabled(int kind)
{
    return atomic_load(&kinds[kind]);
}

/* A record of the call, where these are on, and before it one for every kind that has an id. */
static void add_call(uint32_t cbid, uint32_t correlation)
{
    union {
        struct cupti_api api;
        struct cupti_kernel room;
    } call = {.api = {.kind = CUPTI_KIND_DRIVER,
                      .id = cbid,
                      .start = (uint64_t)now(),
                      .end = (uint64_t)now(),
                      .correlation = correlation}};
    if (!atomic_load(&kinds[CUPTI_KIND_DRIVER]))
        return;
    for (int32_t k = 1; k < EXTERNAL_KINDS; k++) {
        unsigned depth = external[k].depth;
        if (!depth || depth > EXTERNAL_DEPTH || !atomic_load(&kinds[CUPTI_KIND_EXTERNAL]))
            continue;
        union {
            struct cupti_external external;
            struct cupti_kernel room;
        } r = {.external = {.kind = CUPTI_KIND_EXTERNAL,
                            .external_kind = k,
                            .external_id = external[k].ids[depth - 1],
                            .correlation = correlation}};
        pthread_mutex_lock(&lock);
        add(&r, CUPTI_KIND_EXTERNAL, now());
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    add(&call, CUPTI_KIND_DRIVER, now());
    pthread_mutex_unlock(&lock);
}

EXPORT int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
    SCRIPTED(cuptiActivityPushExternalCorrelationId);
    if (kind <= 0 || kind >= EXTERNAL_KINDS)
        return CUPTI_E_INVALID_PARAMETER;
    if (external[kind].depth < EXTERNAL_DEPTH)
        external[kind].ids[external[kind].depth] = id;
    external[kind].depth++;
    return CUPTI_OK;
}

EXPORT int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *id)
{
    SCRIPTED(cuptiActivityPopExternalCorrelationId);
    if (kind <= 0 || kind >= EXTERNAL_KINDS || !external[kind].depth)
        return CUPTI_E_INVALID_PARAMETER;
    unsigned at = --external[kind].depth;
    if (id)
        *id = at < EXTERNAL_DEPTH ? external[kind].ids[at] : 0;
    return CUPTI_OK;
}

static void call_back(int domain, uint32_t cbid, const void *data)
{
    cupti_callback_fn fn = atomic_load_explicit(&callback, memory_order_acquire);
    if (fn && cbid < CALLBACK_IDS && atomic_load(&callback_on[domain][cbid]))
        fn(atomic_load(&callback_user), domain, cbid, data);
}

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
    if (site == CUPTI_SITE_ENTER)
        add_call(cbid, correlation);
    bool launches = strstr(function, "Launch") != NULL;
    in_exit = site == CUPTI_SITE_EXIT;
    if (launches && in_exit)
        sass_launching(context, false);
    call_back(CUPTI_DOMAIN_DRIVER, cbid, &d);
    if (launches && !in_exit)
        sass_launching(context, true);
    in_exit = false;
    pthread_mutex_lock(&lock);
    bool many = pending_count > PENDING / 2;
    pthread_mutex_unlock(&lock);
    if (many && site == CUPTI_SITE_EXIT)
        pump(false);
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
    struct cupti_resource_event r = {.context = FAKE_CONTEXT_OF(context), .detail = &m};
    call_back(CUPTI_DOMAIN_RESOURCE, cbid, &r);
}

static void connect_driver(bool on)
{
    static const struct fake_hooks hooks = {on_api, on_op, on_graph_exec, on_context, on_module};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    fake_hooks_slot *slot = driver ? dlsym(driver, "fake_cuda_hooks") : NULL;
    if (slot)
        atomic_store_explicit(slot, on ? &hooks : NULL, memory_order_release);
}

EXPORT int cuptiGetVersion(uint32_t *version)
{
    SCRIPTED(cuptiGetVersion);
    *version = script.version;
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

EXPORT int cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback_fn fn, void *user)
{
    SCRIPTED(cuptiSubscribe);
    if (script.subscribed || atomic_load(&callback))
        return CUPTI_E_SUBSCRIBED;
    atomic_store(&callback_user, user);
    atomic_store_explicit(&callback, fn, memory_order_release);
    *subscriber = (cupti_subscriber)(uintptr_t)1;
    atomic_store(&attached, true);
    connect_driver(true);
    return CUPTI_OK;
}

static void forget_callbacks(void)
{
    atomic_store_explicit(&callback, NULL, memory_order_release);
    for (int d = 0; d < 4; d++)
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
    if (domain < 0 || domain > 3 || id >= CALLBACK_IDS)
        return CUPTI_E_INVALID_PARAMETER;
    atomic_store(&callback_on[domain][id], on != 0);
    return CUPTI_OK;
}

EXPORT int cuptiActivityEnable(int kind)
{
    SCRIPTED(cuptiActivityEnable);
    if (script.privileges)
        return CUPTI_E_PRIVILEGES;
    if (kind <= 0 || kind >= CUPTI_KIND_LIMIT)
        return CUPTI_E_INVALID_KIND;
    bool serialized = kind == CUPTI_KIND_KERNEL_SERIAL;
    if ((kind == CUPTI_KIND_KERNEL || serialized) &&
        (pc_enabled() || sass_refuses_kernels(serialized)))
        return CUPTI_E_NOT_COMPATIBLE;
    atomic_store(&kinds[kind], true);
    connect_driver(true);
    return CUPTI_OK;
}

EXPORT int cuptiActivityConfigureUnifiedMemoryCounter(struct cupti_managed_config *configs,
                                                      uint32_t count)
{
    SCRIPTED(cuptiActivityConfigureUnifiedMemoryCounter);
    for (uint32_t i = 0; i < count; i++)
        if (configs[i].scope != CUPTI_MANAGED_ALL_DEVICES || configs[i].what <= 0 ||
            configs[i].what >= CUPTI_MANAGED_LIMIT)
            return CUPTI_E_INVALID_PARAMETER;
    for (uint32_t i = 0; i < count; i++)
        if (configs[i].on)
            atomic_fetch_or(&managed_kinds, UINT64_C(1) << configs[i].what);
    return CUPTI_OK;
}

EXPORT int cuptiActivityDisable(int kind)
{
    SCRIPTED(cuptiActivityDisable);
    pc_kind_disabled();
    if (kind > 0 && kind < CUPTI_KIND_LIMIT)
        atomic_store(&kinds[kind], false);
    return CUPTI_OK;
}

EXPORT int cuptiActivityRegisterCallbacks(cupti_request_fn r, cupti_complete_fn c)
{
    SCRIPTED(cuptiActivityRegisterCallbacks);
    atomic_store_explicit(&request, r, memory_order_release);
    atomic_store_explicit(&complete, c, memory_order_release);
    return CUPTI_OK;
}

EXPORT int cuptiActivityRegisterTimestampCallback(cupti_clock_fn fn)
{
    SCRIPTED(cuptiActivityRegisterTimestampCallback);
    atomic_store_explicit(&clock_fn, fn, memory_order_release);
    return CUPTI_OK;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *data, size_t valid, struct cupti_record **record)
{
    uint8_t *next = data;
    SCRIPTED(cuptiActivityGetNextRecord);
    if (*record) {
        size_t size = record_size((*record)->kind);
        next = (uint8_t *)*record + (size ? size : 32);
    }
    if (next >= data + valid)
        return CUPTI_E_MAX_LIMIT_REACHED;
    *record = (struct cupti_record *)next;
    return CUPTI_OK;
}

EXPORT int cuptiActivityGetNumDroppedRecords(cuda_context context, uint32_t stream, size_t *count)
{
    (void)context, (void)stream;
    SCRIPTED(cuptiActivityGetNumDroppedRecords);
    atomic_fetch_add(&touched, !atomic_load(&attached));
    pthread_mutex_lock(&lock);
    *count = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

EXPORT int cuptiActivityFlushAll(uint32_t flags)
{
    SCRIPTED(cuptiActivityFlushAll);
    atomic_fetch_add(&touched, !atomic_load(&attached));
    pump(flags & CUPTI_FLUSH_FORCED);
    pthread_mutex_lock(&lock);
    uint8_t *b = buffer;
    size_t size = buffer_size, used = buffer_used;
    buffer = NULL;
    pthread_mutex_unlock(&lock);
    deliver(b, size, used);
    return CUPTI_OK;
}

EXPORT int cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
    (void)attribute, (void)size, (void)value;
    SCRIPTED(cuptiActivitySetAttribute);
    return CUPTI_OK;
}

EXPORT int cuptiSetThreadIdType(int type)
{
    (void)type;
    SCRIPTED(cuptiSetThreadIdType);
    return CUPTI_OK;
}

EXPORT int cuptiGetTimestamp(uint64_t *ns)
{
    SCRIPTED(cuptiGetTimestamp);
    cupti_clock_fn fn = atomic_load_explicit(&clock_fn, memory_order_acquire);
    *ns = fn ? fn() : (uint64_t)(now() + script.skew);
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

/* A stream's handle is its number, and the default one's is 7. */
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

/* Not of the real library: how often it was finalized, how often from elsewhere than the exit of a
 * driver's call, and how often it was called while it was not attached, which attaches the real one
 * again. */
EXPORT void fake_cupti_life(uint64_t life[3])
{
    life[0] = atomic_load(&finalized);
    life[1] = atomic_load(&outside_exit);
    life[2] = atomic_load(&touched);
}

EXPORT int cuptiFinalize(void)
{
    SCRIPTED(cuptiFinalize);
    atomic_fetch_add(&outside_exit, !in_exit);
    atomic_store(&attached, false);
    forget_callbacks();
    for (int i = 0; i < CUPTI_KIND_LIMIT; i++)
        atomic_store(&kinds[i], false);
    connect_driver(false);
    pthread_mutex_lock(&lock); /* what was not handed over is gone */
    pending_count = 0;
    buffer = NULL;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&finalized, 1);
    return CUPTI_OK;
}
