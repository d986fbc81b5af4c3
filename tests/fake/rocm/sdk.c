/* sdk.c - has the fake librocprofiler-sdk.so: contexts, services, buffers and their thread. */
#include "sdk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, ERROR = 1, NOT_FOUND = 2, LOCKED = 12, MOST_ITEMS = 1 << 20 };

struct sdk sdk = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

/* ---- the script ---------------------------------------------------------------------- */

int64_t script(const char *key)
{
    const char *all = getenv("FAKE_ROCP");
    size_t length = strlen(key);
    for (const char *at = all; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, key, length) == 0 && strchr(",=", at[length]))
            return at[length] == '=' ? atoll(at + length + 1) : 1;
    return -1;
}

bool fails(const char *function)
{
    static _Atomic int calls;
    const char *all = getenv("FAKE_ROCP"), *at = all ? strstr(all, "fail=") : NULL;
    size_t length = strlen(function);
    if (!at || strncmp(at + 5, function, length) != 0 || at[5 + length] != ':')
        return false;
    int n = atoi(at + 5 + length + 1);
    return n == 0 || atomic_fetch_add(&calls, 1) + 1 == n;
}

#define FAIL_AS_ASKED                                                                              \
    if (fails(__func__ + strlen("rocprofiler_")))                                                  \
    return ERROR

bool is_new(void)
{
    return sdk.version >= 10000;
}

/* ---- kinds --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool buffered;
    int number, number_new; /* before and from SDK 1.0 */
    uint32_t since;         /* version */
} kinds[KINDS] = {
    [DISPATCH] = {"KERNEL_DISPATCH", true, 11, 11, 0},
    [COPY] = {"MEMORY_COPY", true, 10, 10, 0},
    [ALLOCATION] = {"MEMORY_ALLOCATION", true, 17, 16, 600},
    [CODE] = {"CODE_OBJECT", false, 10, 10, 0},
    [HIP] = {"HIP_RUNTIME_API", false, 5, 5, 0},
    [MARKER] = {"MARKER_CORE_API", false, 7, 7, 0},
};

int kind_number(enum kind k)
{
    if (sdk.version < kinds[k].since)
        return -1;
    return is_new() ? kinds[k].number_new : kinds[k].number;
}

static int iterate(bool buffered, int (*fn)(int, void *), void *data)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].buffered == buffered && kind_number(i) >= 0 && fn(kind_number(i), data))
            return ERROR;
    return OK;
}

static int name_of(bool buffered, int number, const char **name, uint64_t *length)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].buffered == buffered && kind_number(i) == number) {
            *name = kinds[i].name;
            if (length)
                *length = strlen(*name);
            return OK;
        }
    return NOT_FOUND;
}

int rocprofiler_iterate_buffer_tracing_kinds(int (*fn)(int, void *), void *data)
{
    FAIL_AS_ASKED;
    return iterate(true, fn, data);
}

int rocprofiler_query_buffer_tracing_kind_name(int kind, const char **name, uint64_t *length)
{
    FAIL_AS_ASKED;
    return name_of(true, kind, name, length);
}

int rocprofiler_iterate_callback_tracing_kinds(int (*fn)(int, void *), void *data)
{
    FAIL_AS_ASKED;
    return iterate(false, fn, data);
}

int rocprofiler_query_callback_tracing_kind_name(int kind, const char **name, uint64_t *length)
{
    FAIL_AS_ASKED;
    return name_of(false, kind, name, length);
}

int rocprofiler_iterate_callback_tracing_kind_operations(int kind, int (*fn)(int, uint32_t, void *),
                                                         void *data)
{
    int number;
    FAIL_AS_ASKED;
    for (int i = 0; kind == kind_number(HIP) && operation_name(i, &number); i++)
        if (fn(kind, (uint32_t)number, data))
            return ERROR;
    return OK;
}

int rocprofiler_query_callback_tracing_kind_operation_name(int kind, uint32_t operation,
                                                           const char **name, uint64_t *length)
{
    int number;
    FAIL_AS_ASKED;
    (void)length;
    for (int i = 0; kind == kind_number(HIP) && (*name = operation_name(i, &number)); i++)
        if ((uint32_t)number == operation)
            return OK;
    return NOT_FOUND;
}

/* ---- contexts and services ----------------------------------------------------------- */

int rocprofiler_create_context(uint64_t *context)
{
    FAIL_AS_ASKED;
    if (sdk.up || *context)
        return LOCKED;
    *context = ++sdk.context_count;
    return *context < CONTEXTS ? OK : ERROR;
}

int rocprofiler_start_context(uint64_t context)
{
    FAIL_AS_ASKED;
    if (sdk.finalized)
        return is_new() ? 21 : 20;
    sdk.active[context] = true;
    return OK;
}

int rocprofiler_stop_context(uint64_t context)
{
    FAIL_AS_ASKED;
    sdk.active[context] = false;
    return OK;
}

static struct service *service_of(bool buffered, int number)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].buffered == buffered && kind_number(i) == number)
            return &sdk.services[i];
    return NULL;
}

int rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind, const void *operations,
                                                 size_t count, uint64_t buffer)
{
    struct service *s = service_of(true, kind);
    FAIL_AS_ASKED;
    (void)operations, (void)count;
    if (sdk.up || !s)
        return sdk.up ? LOCKED : NOT_FOUND;
    *s = (struct service){.context = context, .buffer = buffer, .every = true};
    return OK;
}

int rocprofiler_configure_callback_tracing_service(uint64_t context, int kind,
                                                   const uint32_t *operations, size_t count,
                                                   void *fn, void *data)
{
    struct service *s = service_of(false, kind);
    FAIL_AS_ASKED;
    if (sdk.up || !s)
        return sdk.up ? LOCKED : NOT_FOUND;
    if (s->context && s->context != context)
        sdk.others[s - sdk.services] = *s;
    *s = (struct service){.context = context, .fn = fn, .data = data, .every = !count};
    for (size_t i = 0; i < count; i++)
        if (operations[i] < 512)
            s->operations[operations[i] / 64] |= UINT64_C(1) << operations[i] % 64;
    return OK;
}

/* ---- buffers ------------------------------------------------------------------------- */

int rocprofiler_create_buffer(uint64_t context, size_t bytes, size_t watermark, int policy,
                              void *fn, void *data, uint64_t *buffer)
{
    FAIL_AS_ASKED;
    if (sdk.up || *buffer || policy != 2) /* discarding throws in SDK 0.5 */
        return LOCKED;
    if (sdk.buffer_count == BUFFERS)
        return ERROR;
    struct buffer *b = &sdk.buffers[sdk.buffer_count];
    *(void **)&b->deliver = fn;
    b->data = data;
    b->context = context;
    b->watermark = watermark < bytes ? watermark : bytes;
    *buffer = BUFFER_FIRST + (uint64_t)sdk.buffer_count++;
    return OK;
}

int buffer_index(uint64_t number)
{
    bool known = number >= BUFFER_FIRST && number < BUFFER_FIRST + (uint64_t)sdk.buffer_count;
    return known ? (int)(number - BUFFER_FIRST) : -1;
}

void buffer_want(int index)
{
    sdk.asked++;
    sdk.wanted |= 1u << index;
    pthread_cond_broadcast(&sdk.moved);
}

struct header {
    uint32_t category, kind;
    void *payload;
};

/* The records that a flush delivers: a copy, since producers go on. */
struct parcel {
    struct item *items;
    struct header *headers;
    void **pointers;
    size_t count;
    uint64_t dropped;
};

static void fill(struct parcel *p, const struct item *one, bool backwards, size_t all)
{
    size_t at = backwards ? all - 1 - p->count : p->count;
    p->items[at] = *one;
    p->headers[at] = (struct header){one->category ? (uint32_t)one->category : 1,
                                     (uint32_t)one->kind, p->items[at].words};
    p->pointers[at] = &p->headers[at];
    p->count++;
}

/* `finalizing` is read once for a parcel: another thread may set it between the count of the items
 * that are ready and their copy. */
static bool is_ready(const struct item *one, int buffer, int64_t now, bool finalizing)
{
    return one->buffer == buffer && one->ready <= now &&
           (one->flush <= sdk.buffers[buffer].flushes || finalizing);
}

static void take_ready(struct parcel *p, int buffer)
{
    int64_t now = fake_now();
    size_t kept = 0, ready = 0;
    bool finalizing = sdk.finalizing;
    pthread_mutex_lock(&sdk.lock);
    sdk.buffers[buffer].flushes++;
    p->dropped = sdk.buffers[buffer].dropped;
    for (size_t i = 0; i < sdk.item_count; i++)
        ready += is_ready(&sdk.items[i], buffer, now, finalizing);
    p->items = calloc(ready + 1, sizeof *p->items);
    p->headers = calloc(ready + 1, sizeof *p->headers);
    p->pointers = calloc(ready + 1, sizeof *p->pointers);
    for (size_t i = 0; i < sdk.item_count; i++) {
        struct item *one = &sdk.items[i];
        if (is_ready(one, buffer, now, finalizing))
            fill(p, one, script("shuffle") > 0, ready);
        else
            sdk.items[kept++] = *one;
    }
    sdk.item_count = kept;
    pthread_mutex_unlock(&sdk.lock);
}

static void deliver(int buffer)
{
    struct parcel p = {0};
    const struct buffer *b = &sdk.buffers[buffer];
    take_ready(&p, buffer);
    if (p.count && b->deliver)
        b->deliver(b->context, BUFFER_FIRST + (uint64_t)buffer, p.pointers, p.count, b->data,
                   p.dropped);
    free(p.items);
    free(p.headers);
    free(p.pointers);
}

static void *callback_thread(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&sdk.lock);
        while (sdk.asked == sdk.done)
            pthread_cond_wait(&sdk.moved, &sdk.lock);
        uint64_t until = sdk.asked;
        unsigned wanted = sdk.wanted;
        sdk.wanted = 0;
        pthread_mutex_unlock(&sdk.lock);
        for (int i = 0; i < BUFFERS; i++)
            if (wanted >> i & 1)
                deliver(i);
        pthread_mutex_lock(&sdk.lock);
        sdk.done = until;
        pthread_cond_broadcast(&sdk.moved);
        pthread_mutex_unlock(&sdk.lock);
    }
    return NULL;
}

/* A child of fork has the lock free, and no callback thread. */
static void before_fork(void)
{
    pthread_mutex_lock(&sdk.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&sdk.lock);
}

int rocprofiler_create_callback_thread(uint64_t *thread)
{
    pthread_t t;
    FAIL_AS_ASKED;
    if (pthread_create(&t, NULL, callback_thread, NULL))
        return ERROR;
    pthread_detach(t);
    if (!sdk.thread_runs && pthread_atfork(before_fork, after_fork, after_fork))
        return ERROR;
    sdk.thread_runs = true;
    *thread = 3;
    return OK;
}

int rocprofiler_assign_callback_thread(uint64_t buffer, uint64_t thread)
{
    FAIL_AS_ASKED;
    return buffer_index(buffer) >= 0 && thread == 3 ? OK : NOT_FOUND;
}

int rocprofiler_flush_buffer(uint64_t buffer)
{
    FAIL_AS_ASKED;
    int index = buffer_index(buffer);
    if (index < 0 || !sdk.thread_runs || sdk.finalized)
        return NOT_FOUND;
    pthread_mutex_lock(&sdk.lock);
    buffer_want(index);
    uint64_t mine = sdk.asked;
    while (sdk.done < mine)
        pthread_cond_wait(&sdk.moved, &sdk.lock);
    pthread_mutex_unlock(&sdk.lock);
    return OK;
}

const char *rocprofiler_get_status_name(int status)
{
    return status == OK                ? "ROCPROFILER_STATUS_SUCCESS"
           : status == LOCKED          ? "ROCPROFILER_STATUS_ERROR_CONFIGURATION_LOCKED"
           : status == NOT_IMPLEMENTED ? "ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED"
           : status == INVALID         ? "ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT"
           : status == OLD_KERNEL      ? "ROCPROFILER_STATUS_ERROR_INCOMPATIBLE_KERNEL"
           : status == NOT_AVAILABLE   ? "ROCPROFILER_STATUS_ERROR_NOT_AVAILABLE"
                                       : "ROCPROFILER_STATUS_ERROR";
}
