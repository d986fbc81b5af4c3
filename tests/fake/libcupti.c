/* libcupti.c - a profiling library without a GPU, at the real soname, scripted.
 *
 * FAKE_CUPTI is a comma-separated list:
 *   version=N        CUPTI_API_VERSION to answer, and whose record sizes to use
 *   subscribed       another tool holds the subscription
 *   fail=F:N:R       the N-th call (from 1) of cuptiF returns R; may be repeated
 *   late=N           records appear in buffers N records late
 *   shuffle          records appear in reverse within groups of 16
 *   drop=N           every N-th kernel record is dropped and counted as dropped
 *   notime=N         every N-th kernel record has start and end 0
 *   alien            a record of an unknown kind stands before every 100th kernel
 *   privileges       enabling an activity: insufficient privileges
 *
 * Records go to the client's buffers when their work has ended. Thread-safe by
 * one lock, which is not held while a callback of the client runs. */
#include "hooks.h"

#include "backend/nvidia/cupti_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { PENDING = 1 << 16, RECORD_MAX = 256, CALLBACK_IDS = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* All below guarded by lock, except where a callback is looked up. */
static struct {
    uint32_t version;
    bool subscribed, shuffle, alien, privileges;
    int late, drop, notime;
} script;
static struct {
    char function[48];
    long nth, seen;
    int result;
} failures[16];
static int failure_count;
static bool script_read;

static cupti_callback_fn callback;
static void *callback_user;
static unsigned char callback_on[4][CALLBACK_IDS];
static cupti_request_fn request;
static cupti_complete_fn complete;
static cupti_clock_fn clock_fn;
static bool kinds[CUPTI_KIND_LIMIT];
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

static void read_script(void)
{
    if (script_read)
        return;
    script_read = true;
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
                   sscanf(word, "notime=%d", &script.notime) != 1) {
            script.subscribed |= !strcmp(word, "subscribed");
            script.shuffle |= !strcmp(word, "shuffle");
            script.alien |= !strcmp(word, "alien");
            script.privileges |= !strcmp(word, "privileges");
        }
    }
}

/* The scripted result of this call of a function, or 0. [lock held] */
static int scripted(const char *function)
{
    read_script();
    for (int i = 0; i < failure_count; i++)
        if (!strcmp(failures[i].function, function) && ++failures[i].seen == failures[i].nth)
            return failures[i].result;
    return CUPTI_OK;
}

#define SCRIPTED(function)                                                                         \
    do {                                                                                           \
        pthread_mutex_lock(&lock);                                                                 \
        int result_ = scripted(#function);                                                         \
        pthread_mutex_unlock(&lock);                                                               \
        if (result_)                                                                               \
            return result_;                                                                        \
    } while (0)

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
    if (b && complete)
        complete(FAKE_CONTEXT, 0, b, size, used);
}

/* Moves one record into the client's buffer, which is asked for and handed over as needed. */
static void write_record(const struct pending *p)
{
    pthread_mutex_lock(&lock);
    uint8_t *full = NULL;
    size_t full_size = 0, full_used = 0;
    if (buffer && buffer_used + p->size > buffer_size) {
        full = buffer, full_size = buffer_size, full_used = buffer_used;
        buffer = NULL;
    }
    bool need = !buffer;
    pthread_mutex_unlock(&lock);
    deliver(full, full_size, full_used);
    if (need && request) {
        uint8_t *b = NULL;
        size_t size = 0, max_records = 0;
        request(&b, &size, &max_records);
        pthread_mutex_lock(&lock);
        if (b && !buffer)
            buffer = b, buffer_size = size, buffer_used = 0, b = NULL;
        pthread_mutex_unlock(&lock);
        deliver(b, size, 0); /* another thread was faster: give it back empty */
    }
    pthread_mutex_lock(&lock);
    if (buffer && buffer_used + p->size <= buffer_size) {
        memcpy(buffer + buffer_used, p->bytes, p->size);
        buffer_used += p->size;
    } else {
        dropped++;
    }
    pthread_mutex_unlock(&lock);
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

static void add_kernel(const struct fake_op *op)
{
    struct cupti_kernel k = {.kind = CUPTI_KIND_KERNEL,
                             .registers = 32,
                             .start = (uint64_t)op->start,
                             .end = (uint64_t)op->end,
                             .context = FAKE_CONTEXT_NUMBER,
                             .stream = op->stream,
                             .shared_dynamic = (int32_t)op->shared,
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
    if (script.notime && kernels_seen % (uint64_t)script.notime == 0)
        k.start = k.end = 0;
    if (script.alien && kernels_seen % 100 == 0) {
        int32_t alien[8] = {63};
        add(alien, 0, op->end);
    }
    add(&k, CUPTI_KIND_KERNEL, op->end);
}

static void on_op(const struct fake_op *op)
{
    union { /* as large as add copies */
        struct cupti_memcpy copy;
        struct cupti_memset fill;
        struct cupti_sync sync;
        struct cupti_kernel room;
    } r = {0};
    static const int kind_of[] = {CUPTI_KIND_KERNEL, CUPTI_KIND_MEMCPY, CUPTI_KIND_MEMSET,
                                  CUPTI_KIND_SYNC};
    int kind = kind_of[op->work];
    pthread_mutex_lock(&lock);
    if (kinds[kind] && op->work == FAKE_KERNEL) {
        add_kernel(op);
    } else if (kinds[kind] && op->work == FAKE_COPY) {
        r.copy = (struct cupti_memcpy){.kind = kind,
                                       .copy_kind = (uint8_t)op->kind,
                                       .src = op->kind == 1 ? 2 : 3,
                                       .dst = op->kind == 1 ? 3 : 2,
                                       .flags = CUPTI_ASYNC,
                                       .bytes = op->bytes,
                                       .start = (uint64_t)op->start,
                                       .end = (uint64_t)op->end,
                                       .context = FAKE_CONTEXT_NUMBER,
                                       .stream = op->stream,
                                       .correlation = op->correlation};
        add(&r, kind, op->end);
    } else if (kinds[kind] && op->work == FAKE_FILL) {
        r.fill = (struct cupti_memset){.kind = kind,
                                       .bytes = op->bytes,
                                       .start = (uint64_t)op->start,
                                       .end = (uint64_t)op->end,
                                       .context = FAKE_CONTEXT_NUMBER,
                                       .stream = op->stream,
                                       .correlation = op->correlation,
                                       .memory = 3};
        add(&r, kind, op->end);
    } else if (kinds[kind]) {
        r.sync = (struct cupti_sync){.kind = kind,
                                     .type = op->kind,
                                     .start = (uint64_t)op->start,
                                     .end = (uint64_t)op->end,
                                     .correlation = op->correlation,
                                     .context = FAKE_CONTEXT_NUMBER,
                                     .stream = op->stream,
                                     .event = CUPTI_NONE};
        add(&r, kind, op->end);
    }
    bool many = pending_count > PENDING / 2;
    pthread_mutex_unlock(&lock);
    if (many)
        pump(false);
}

static void on_api(uint32_t cbid, int site, const char *function, const void *params, int *result,
                   uint32_t correlation, uint64_t *data, const char *symbol)
{
    if (cbid >= CALLBACK_IDS || !callback_on[CUPTI_DOMAIN_DRIVER][cbid] || !callback)
        return;
    struct cupti_callback d = {.site = site,
                               .function = function,
                               .params = params,
                               .result = result,
                               .symbol = symbol,
                               .context = FAKE_CONTEXT,
                               .context_uid = FAKE_CONTEXT_NUMBER,
                               .data = data,
                               .correlation = correlation};
    callback(callback_user, CUPTI_DOMAIN_DRIVER, cbid, &d);
}

static void on_graph_exec(uint32_t cbid, cuda_graph graph, cuda_exec exec)
{
    if (!callback_on[CUPTI_DOMAIN_RESOURCE][cbid] || !callback)
        return;
    struct cupti_graph_event g = {.graph = graph, .exec = exec};
    struct cupti_resource_event r = {.context = FAKE_CONTEXT, .detail = &g};
    callback(callback_user, CUPTI_DOMAIN_RESOURCE, cbid, &r);
}

static void on_context(uint32_t cbid)
{
    struct cupti_resource_event r = {.context = FAKE_CONTEXT};
    if (callback_on[CUPTI_DOMAIN_RESOURCE][cbid] && callback)
        callback(callback_user, CUPTI_DOMAIN_RESOURCE, cbid, &r);
}

static void connect_driver(bool on)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    struct fake_hooks *hooks = driver ? dlsym(driver, "fake_cuda_hooks") : NULL;
    if (hooks)
        *hooks = on ? (struct fake_hooks){on_api, on_op, on_graph_exec, on_context}
                    : (struct fake_hooks){0};
}

EXPORT int cuptiGetVersion(uint32_t *version)
{
    SCRIPTED(cuptiGetVersion);
    *version = script.version;
    return CUPTI_OK;
}

EXPORT int cuptiGetResultString(int result, const char **text)
{
    *text = result == CUPTI_E_PRIVILEGES   ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
            : result == CUPTI_E_SUBSCRIBED ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                           : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_OK;
}

EXPORT int cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback_fn fn, void *user)
{
    SCRIPTED(cuptiSubscribe);
    if (script.subscribed || callback)
        return CUPTI_E_SUBSCRIBED;
    callback_user = user;
    callback = fn;
    *subscriber = (cupti_subscriber)(uintptr_t)1;
    connect_driver(true);
    return CUPTI_OK;
}

EXPORT int cuptiUnsubscribe(cupti_subscriber subscriber)
{
    (void)subscriber;
    SCRIPTED(cuptiUnsubscribe);
    callback = NULL;
    memset(callback_on, 0, sizeof callback_on);
    return CUPTI_OK;
}

EXPORT int cuptiEnableCallback(uint32_t on, cupti_subscriber subscriber, int domain, uint32_t id)
{
    (void)subscriber;
    SCRIPTED(cuptiEnableCallback);
    if (domain < 0 || domain > 3 || id >= CALLBACK_IDS)
        return CUPTI_E_INVALID_PARAMETER;
    callback_on[domain][id] = on != 0;
    return CUPTI_OK;
}

EXPORT int cuptiActivityEnable(int kind)
{
    SCRIPTED(cuptiActivityEnable);
    if (script.privileges)
        return CUPTI_E_PRIVILEGES;
    if (kind <= 0 || kind >= CUPTI_KIND_LIMIT)
        return CUPTI_E_INVALID_KIND;
    kinds[kind] = true;
    connect_driver(true);
    return CUPTI_OK;
}

EXPORT int cuptiActivityDisable(int kind)
{
    SCRIPTED(cuptiActivityDisable);
    kinds[kind] = false;
    return CUPTI_OK;
}

EXPORT int cuptiActivityRegisterCallbacks(cupti_request_fn r, cupti_complete_fn c)
{
    SCRIPTED(cuptiActivityRegisterCallbacks);
    request = r;
    complete = c;
    return CUPTI_OK;
}

EXPORT int cuptiActivityRegisterTimestampCallback(cupti_clock_fn fn)
{
    SCRIPTED(cuptiActivityRegisterTimestampCallback);
    clock_fn = fn;
    return CUPTI_OK;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *data, size_t valid, struct cupti_record **record)
{
    uint8_t *next = data;
    read_script();
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
    pthread_mutex_lock(&lock);
    *count = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

EXPORT int cuptiActivityFlushAll(uint32_t flags)
{
    SCRIPTED(cuptiActivityFlushAll);
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
    return CUPTI_OK;
}

EXPORT int cuptiGetTimestamp(uint64_t *ns)
{
    *ns = clock_fn ? clock_fn() : (uint64_t)now();
    return CUPTI_OK;
}

EXPORT int cuptiFinalize(void)
{
    SCRIPTED(cuptiFinalize);
    callback = NULL;
    memset(kinds, 0, sizeof kinds);
    memset(callback_on, 0, sizeof callback_on);
    connect_driver(false);
    return CUPTI_OK;
}
