/* activity.c - records of the fake profiling library, and the client's buffers for ended work.
 *
 * What the client registers is atomic, the rest has one lock, which is not held while a callback of
 * the client runs. */
#include "cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PENDING = 1 << 16, RECORD_MAX = 256 };

/* A real driver reserves this for every kernel, whether it uses local memory or not; the record
 * does not say what the kernel uses. */
enum { LOCAL_RESERVED = 1 << 28 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The client's registrations. Its calls store with release, uses load with acquire. */
static _Atomic(cupti_request_fn) request;
static _Atomic(cupti_complete_fn) complete;
static _Atomic(cupti_clock_fn) clock_fn;
static _Atomic bool kinds[CUPTI_KIND_LIMIT];
enum { CALLS = 1024 };
static _Atomic bool call_recorded[CALLS]; /* by id, in addition to CUPTI_KIND_DRIVER */
static _Atomic uint64_t managed_kinds;    /* bit per enum cupti_managed_kind */

/* All below is guarded by lock. */
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

void activity_begin(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
    pending = calloc(PENDING, sizeof *pending);
}

/* Ids that a thread of the program has pushed, by kind: the innermost counts. */
enum { EXTERNAL_KINDS = 6, EXTERNAL_DEPTH = 16 };
static _Thread_local struct {
    uint64_t ids[EXTERNAL_DEPTH];
    unsigned depth;
} external[EXTERNAL_KINDS];

/* ---- buffers ------------------------------------------------------------------------------- */

static size_t record_size(int kind)
{
    size_t size = 0;
#define FILLED(k, from, bytes, theirs)                                                             \
    if (kind == CUPTI_KIND_##k && cupti_script.version >= (from))                                  \
        size = (bytes);
    CUPTI_FILLED(FILLED)
#undef FILLED
    return size;
}

/* Delivers the buffer to the client. Called without the lock. */
static void deliver(uint8_t *b, size_t size, size_t used)
{
    cupti_complete_fn fn = atomic_load_explicit(&complete, memory_order_acquire);
    if (b && fn)
        fn(FAKE_CONTEXT, 0, b, size, used);
}

/* Puts a record into the buffer. False: it does not fit; *full: the full buffer, or NULL. */
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

/* Moves one record into the client's buffer, which is requested and delivered as needed. */
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

/* Moves ended records into buffers, except the newest `late`; all: moves every record. */
static void pump(bool all)
{
    for (;;) {
        struct pending group[16];
        size_t n = 0;
        pthread_mutex_lock(&lock);
        size_t keep = all ? 0 : (size_t)cupti_script.late;
        while (n < 16 && pending_count > keep && (all || pending[pending_head].end <= now())) {
            group[n++] = pending[pending_head];
            pending_head = (pending_head + 1) % PENDING;
            pending_count--;
        }
        bool reverse = cupti_script.shuffle;
        pthread_mutex_unlock(&lock);
        for (size_t i = 0; i < n; i++)
            write_record(&group[reverse ? n - 1 - i : i]);
        if (n == 0)
            return;
    }
}

/* Adds a record after the pending ones. [lock held] */
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

void activity_relieve(void)
{
    pthread_mutex_lock(&lock);
    bool many = pending_count > PENDING / 2;
    pthread_mutex_unlock(&lock);
    if (many)
        pump(false);
}

void activity_forget(void)
{
    for (int i = 0; i < CUPTI_KIND_LIMIT; i++)
        atomic_store(&kinds[i], false);
    for (int i = 0; i < CALLS; i++)
        atomic_store(&call_recorded[i], false);
    pthread_mutex_lock(&lock); /* records that were not delivered are lost */
    pending_count = 0;
    buffer = NULL;
    pthread_mutex_unlock(&lock);
}

/* ---- records ------------------------------------------------------------------------------- */

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
    if (cupti_script.drop && kernels_seen % (uint64_t)cupti_script.drop == 0) {
        dropped++;
        return;
    }
    if (cupti_script.hide && kernels_seen % (uint64_t)cupti_script.hide == 0)
        return;
    if (cupti_script.notime && kernels_seen % (uint64_t)cupti_script.notime == 0)
        k.start = k.end = 0;
    if (cupti_script.alien && kernels_seen % 100 == 0) {
        int32_t alien[8] = {63};
        add(alien, 0, end);
    }
    add(&k, CUPTI_KIND_KERNEL, end);
}

/* The two records are the same up to the stream. */
static void add_copy(const struct fake_op *op, int64_t end)
{
    bool peer = op->work == FAKE_PEER;
    union { /* as large as add copies */
        struct cupti_memcpy copy;
        struct cupti_peer peer;
        struct cupti_kernel room;
    } r = {.copy = {.kind = peer ? CUPTI_KIND_PEER : CUPTI_KIND_MEMCPY,
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
    if (peer) {
        r.peer.src_device = 0;
        r.peer.dst_device = 1;
        r.peer.correlation = op->correlation;
    }
    add(&r, r.copy.kind, end);
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

/* The shift from CLOCK_MONOTONIC to the client's clock, or to the library's own; 0 if the client's
 * clock is CLOCK_MONOTONIC. Two clocks cannot be read at one moment: of some tries the shortest
 * counts. */
static int64_t clock_shift(void)
{
    enum { SAME = 1000000000, NEAR = 2000, TRIES = 100 };
    cupti_clock_fn fn = atomic_load_explicit(&clock_fn, memory_order_acquire);
    int64_t shift = cupti_script.skew, least = INT64_MAX;
    for (int i = 0; fn && i < TRIES && least > NEAR; i++) {
        int64_t before = now(), theirs = (int64_t)fn(), apart = now() - before;
        if (apart >= least)
            continue;
        least = apart;
        shift = theirs - before - apart / 2;
    }
    return fn && shift > -SAME && shift < SAME ? 0 : shift;
}

void activity_op(const struct fake_op *given)
{
    struct fake_op op = *given;
    if (library_over())
        return;
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
        [FAKE_PEER] = {CUPTI_KIND_PEER, add_copy},
        [FAKE_FILL] = {CUPTI_KIND_MEMSET, add_fill},
        [FAKE_MEMORY] = {CUPTI_KIND_MEMORY, add_memory},
        [FAKE_GRAPH] = {CUPTI_KIND_GRAPH_TRACE, add_graph},
        [FAKE_MANAGED] = {CUPTI_KIND_MANAGED, add_managed},
    };
    bool copies = op.graph && activity_enabled(CUPTI_KIND_MEMCPY);
    client_must(!copies || !activity_enabled(CUPTI_KIND_PEER),
                "a graph ran, and both kinds of copies were recorded: it would fault");
    client_must(!copies || !pc_enabled(),
                "a graph ran, copies were recorded and counters sampled: it would fault");
    /* The record of a graph's whole launch stands for its kernels, as in the real library. */
    bool whole = op.work == FAKE_KERNEL && op.graph && activity_enabled(CUPTI_KIND_GRAPH_TRACE);
    if (!activity_enabled(work[op.work].kind) || whole)
        return;
    int64_t shift = clock_shift();
    op.start += shift;
    op.end += shift;
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

/* Adds a record of the call if these are on, after one record for each kind that has an id. */
void activity_call(uint32_t cbid, uint32_t correlation)
{
    union {
        struct cupti_api api;
        struct cupti_kernel room;
    } call = {.api = {.kind = CUPTI_KIND_DRIVER,
                      .id = cbid,
                      .start = (uint64_t)now(),
                      .end = (uint64_t)now(),
                      .correlation = correlation}};
    if (!atomic_load(&kinds[CUPTI_KIND_DRIVER]) &&
        !(cbid < CALLS && atomic_load(&call_recorded[cbid])))
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

/* ---- calls --------------------------------------------------------------------------------- */

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

#if FAKE_CUPTI_VERSION >= 130000
EXPORT int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t on)
{
    SCRIPTED(cuptiActivityEnableDriverApi);
    if (cbid >= CALLS)
        return 1;
    atomic_store(&call_recorded[cbid], on);
    return CUPTI_OK;
}
#endif

EXPORT int cuptiActivityEnable(int kind)
{
    SCRIPTED(cuptiActivityEnable);
    if (cupti_script.privileges)
        return CUPTI_E_PRIVILEGES;
    if (kind <= 0 || kind >= CUPTI_KIND_LIMIT)
        return CUPTI_E_INVALID_KIND;
    if (kind == CUPTI_KIND_SYNC) /* it is available, but never used: ADR 16 */
        return CUPTI_E_INVALID_KIND;
    bool serialized = kind == CUPTI_KIND_KERNEL_SERIAL;
    if ((kind == CUPTI_KIND_KERNEL || serialized) &&
        (pc_enabled() || sass_refuses_kernels(serialized)))
        return CUPTI_E_NOT_COMPATIBLE;
    atomic_store(&kinds[kind], true);
    driver_connect(true);
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
    life_touched();
    pthread_mutex_lock(&lock);
    *count = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

EXPORT int cuptiActivityFlushAll(uint32_t flags)
{
    SCRIPTED(cuptiActivityFlushAll);
    life_flushed();
    if (library_over())
        return CUPTI_OK;
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

EXPORT int cuptiGetTimestamp(uint64_t *ns)
{
    SCRIPTED(cuptiGetTimestamp);
    cupti_clock_fn fn = atomic_load_explicit(&clock_fn, memory_order_acquire);
    *ns = fn ? fn() : (uint64_t)(now() + cupti_script.skew);
    return CUPTI_OK;
}
