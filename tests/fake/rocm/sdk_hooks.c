/* sdk_hooks.c - has the fake librocprofiler-sdk.so: the functions that the runtimes' tables point
 * to.
 */
#include "sdk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTER = 1, EXIT = 2, RECORDS_MOST = 1 << 20, LATE_FLUSHES = 2 };

/* Numbers as in ROCm 6.2 to 7.0, of the functions that the fake HIP has, and of one more. */
static const struct {
    const char *name;
    int number;
} operations[] = {{"hipDeviceSynchronize", 66},
                  {"hipEventCreateWithFlags", 77},
                  {"hipEventDestroy", 78},
                  {"hipEventRecord", 81},
                  {"hipEventSynchronize", 82},
                  {"hipFree", 90},
                  {"hipGetDeviceCount", 113},
                  {"hipGraphExecDestroy", 143},
                  {"hipGraphInstantiate", 159},
                  {"hipGraphInstantiateWithFlags", 160},
                  {"hipGraphNodeSetEnabled", 181},
                  {"hipGraphLaunch", 166},
                  {"hipHostFree", 194},
                  {"hipHostMalloc", 197},
                  {"hipLaunchKernel", 214},
                  {"hipMalloc", 215},
                  {"hipMemcpy", 259},
                  {"hipMemcpyAsync", 268},
                  {"hipMemcpyPeerAsync", 282},
                  {"hipMemsetAsync", 293},
                  {"hipSetDevice", 335},
                  {"hipStreamCreate", 338},
                  {"hipStreamSynchronize", 346},
                  {"hipStreamWaitEvent", 348}};

static const char *const markers[] = {"roctxMarkA", "roctxRangePushA", "roctxRangePop",
                                      "roctxRangeStartA", "roctxRangeStop"};

static __thread struct fake_call *current;

int operation_of(const char *function)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcmp(operations[i].name, function) == 0)
            return operations[i].number;
    return -1;
}

const char *operation_name(int i, int *number)
{
    if (i >= (int)(sizeof operations / sizeof *operations))
        return NULL;
    *number = operations[i].number;
    return operations[i].name;
}

/* ---- callbacks, in the form of the version ------------------------------------------- */

struct old_record {
    uint64_t words[7];
};

struct new_record {
    uint64_t words[8];
};

static void call_back(const struct service *s, enum kind k, uint32_t operation, uint32_t phase,
                      uint64_t correlation, uint64_t *user, void *payload)
{
    uint64_t head[] = {s->context, (uint64_t)syscall(SYS_gettid), correlation, 0, 0};
    uint64_t numbers = (uint32_t)kind_number(k) | (uint64_t)operation << 32;
    if (is_new()) {
        struct new_record r = {{head[0], head[1], head[2], head[3], head[4], numbers, phase,
                                (uint64_t)(uintptr_t)payload}};
        void (*fn)(struct new_record, uint64_t *, void *) = NULL;
        *(void **)&fn = s->fn;
        fn(r, user, s->data);
    } else {
        struct old_record r = {
            {head[0], head[1], head[2], head[3], numbers, phase, (uint64_t)(uintptr_t)payload}};
        void (*fn)(struct old_record, uint64_t *, void *) = NULL;
        *(void **)&fn = s->fn;
        fn(r, user, s->data);
    }
}

static bool wants(const struct service *s, int operation)
{
    if (!s->context || !sdk.active[s->context] || !s->fn || operation < 0)
        return false;
    return s->every || (s->operations[operation / 64] >> operation % 64 & 1);
}

/* A call's payload: its size, the arguments, and in the last 24 bytes what it returned. */
struct payload {
    uint64_t size;
    unsigned char arguments[FAKE_CALL_BYTES];
    uint64_t result[3];
};

static void hip_phase(struct fake_call *c, uint32_t phase)
{
    int operation = operation_of(c->function);
    struct payload p = {.size = sizeof p, .result = {c->result}};
    memcpy(p.arguments, c->arguments, sizeof p.arguments);
    const struct service *const both[] = {&sdk.services[HIP], &sdk.others[HIP]};
    for (int i = 0; i < 2; i++) /* each context has data of its own */
        if (wants(both[i], operation))
            call_back(both[i], HIP, (uint32_t)operation, phase, c->correlation, &c->user[i], &p);
}

static void marker_phase(struct fake_call *c, uint32_t phase)
{
    uint64_t payload[4] = {sizeof payload, 0, 0, c->result};
    memcpy(&payload[1], c->arguments, sizeof payload[1]);
    for (int i = 0; i < 5; i++)
        if (strcmp(markers[i], c->function) == 0 && wants(&sdk.services[MARKER], i))
            call_back(&sdk.services[MARKER], MARKER, (uint32_t)i, phase, c->correlation,
                      &c->user[0], payload);
}

static void enter(struct fake_call *c, int marker)
{
    c->correlation = atomic_fetch_add(&sdk.correlation, 1) + 1;
    c->outer = current;
    if (marker) {
        marker_phase(c, ENTER);
        return;
    }
    current = c;
    hip_phase(c, ENTER);
}

static void leave(struct fake_call *c, int marker)
{
    if (marker) {
        marker_phase(c, EXIT);
        return;
    }
    hip_phase(c, EXIT);
    current = c->outer;
}

/* Maps a file, which is unmapped after the tool's callback. */
static void *map_file(const char *file, size_t *size)
{
    struct stat st;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    void *p = fd >= 0 && fstat(fd, &st) == 0
                  ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                  : MAP_FAILED;
    *size = p == MAP_FAILED ? 0 : (size_t)st.st_size;
    if (fd >= 0)
        close(fd);
    return p;
}

/* Reports a code object, in the layout of the vendor's header: 88 bytes. */
static void code(const char *file)
{
    static char uri[4096];
    bool by_file = script("codefile") > 0;
    size_t size;
    uint64_t user = 0;
    void *p = map_file(file, &size);
    if (by_file)
        snprintf(uri, sizeof uri, "file://%s#offset=4096&size=%zu", file, size - 4096);
    else
        snprintf(uri, sizeof uri, "memory://%d#offset=%p&size=%zu", (int)getpid(), p, size);
    uint64_t words[11] = {
        88, 1, 0x1001, 0, (uint64_t)(uintptr_t)uri, LOAD_BASE, size, LOAD_BASE - LOAD_LOWEST};
    code_loaded(file, by_file ? 4096 : 0);
    words[8] = by_file ? 1 : 2;
    words[9] = by_file ? 5 : (uint64_t)(uintptr_t)p;
    words[10] = by_file ? 0 : size;
    if (size && wants(&sdk.services[CODE], 1))
        call_back(&sdk.services[CODE], CODE, 1, ENTER, 0, &user, words);
    if (size)
        munmap(p, size);
}

static void kernel(const struct fake_kernel *k)
{
    uint64_t words[11] = {72, k->id, 1, (uint64_t)(uintptr_t)k->name};
    uint32_t numbers[] = {0, 0, k->group_bytes, k->private_bytes, k->sgprs, k->vgprs, k->accums};
    memcpy(&words[5], numbers, sizeof numbers); /* from offset 40 on */
    uint64_t user = 0;
    if (script("nameless") != (int64_t)k->id && wants(&sdk.services[CODE], 2))
        call_back(&sdk.services[CODE], CODE, 2, ENTER, 0, &user, words);
}

/* ---- records ------------------------------------------------------------------------- */

static bool every(const char *key, uint64_t number)
{
    int64_t n = script(key);
    return n > 0 && number % (uint64_t)n == 0;
}

static void add(const struct item *one)
{
    if (sdk.item_count == sdk.item_cap) {
        sdk.item_cap = sdk.item_cap ? 2 * sdk.item_cap : 1024;
        sdk.items = realloc(sdk.items, sdk.item_cap * sizeof *sdk.items);
    }
    sdk.items[sdk.item_count++] = *one;
}

void item_put(struct item *one, unsigned start_word)
{
    pthread_mutex_lock(&sdk.lock);
    uint64_t number = ++sdk.records;
    struct buffer *b = &sdk.buffers[one->buffer];
    one->flush = every("late", number) ? b->flushes + LATE_FLUSHES : 0;
    if (every("notime", number))
        one->words[start_word] = 0;
    if (every("drop", number))
        b->dropped++;
    else
        add(one);
    if (every("alien", number))
        add(&(struct item){
            .words = {32, 99}, .buffer = one->buffer, .kind = 99, .ready = one->ready});
    if (sdk.thread_runs && sdk.item_count * 200 > b->watermark)
        buffer_want(one->buffer);
    pthread_mutex_unlock(&sdk.lock);
}

static bool records(enum kind k)
{
    const struct service *s = &sdk.services[k];
    return s->context && s->buffer && sdk.active[s->context];
}

/* Work has its call's id only if both are services of one context. */
static uint64_t correlation_of(enum kind k)
{
    bool shared = sdk.services[k].context == sdk.services[HIP].context;
    return current && shared ? current->correlation : atomic_fetch_add(&sdk.correlation, 1) + 1;
}

static uint64_t agent_of(int device)
{
    return 0x1000u + (unsigned)(device + 1);
}

static void begin(struct item *one, enum kind k, uint32_t operation, uint64_t bytes)
{
    one->kind = kind_number(k);
    one->words[0] = bytes;
    one->words[1] = (uint32_t)one->kind | (uint64_t)operation << 32;
    one->words[2] = correlation_of(k);
}

static void dispatch(const struct fake_dispatch *d)
{
    struct item one = {.ready = d->end};
    if (!records(DISPATCH))
        return;
    begin(&one, DISPATCH, 2, 184);
    one.words[4] = (uint64_t)syscall(SYS_gettid);
    one.words[5] = (uint64_t)d->start;
    one.words[6] = (uint64_t)d->end;
    one.words[7] = 128;
    one.words[8] = agent_of(d->device);
    one.words[9] = d->queue;
    one.words[10] = d->kernel->id;
    one.words[11] = atomic_fetch_add(&sdk.dispatches, 1) + 1;
    uint32_t info[] = {d->kernel->private_bytes, d->group_bytes, d->workgroup[0], d->workgroup[1],
                       d->workgroup[2],          d->grid[0],     d->grid[1],      d->grid[2]};
    memcpy(&one.words[12], info, sizeof info); /* from offset 96 on */
    samples_put(one.words[8], d, one.words[2], one.words[11]);
    uint64_t config = counters_ask(one.words);
    item_put(&one, 5);
    if (config)
        counters_put(config, one.words, d);
}

static void copy(const struct fake_copy *c)
{
    struct item one = {.ready = c->end};
    uint32_t operation = c->to < 0 ? 3 : c->from < 0 ? 2 : 4;
    if (!records(COPY))
        return;
    begin(&one, COPY, operation, is_new() ? 96 : 80);
    one.words[4] = (uint64_t)syscall(SYS_gettid);
    one.words[5] = (uint64_t)c->start;
    one.words[6] = (uint64_t)c->end;
    one.words[7] = agent_of(c->to);
    one.words[8] = agent_of(c->from);
    one.words[9] = c->bytes;
    item_put(&one, 5);
}

static void memory(int frees, int device, uint64_t address, uint64_t bytes)
{
    int64_t now = fake_now();
    struct item one = {.ready = now};
    unsigned at = is_new() ? 5 : 4;
    if (!records(ALLOCATION))
        return;
    begin(&one, ALLOCATION, frees ? 3 : 1, is_new() ? 88 : 80);
    one.words[at] = (uint64_t)syscall(SYS_gettid);
    one.words[at + 1] = (uint64_t)now - 1000;
    one.words[at + 2] = (uint64_t)now;
    one.words[at + 3] = agent_of(device);
    one.words[at + 4] = address;
    one.words[at + 5] = bytes;
    item_put(&one, at + 1);
}

void hooks_fill(struct fake_hooks *h)
{
    *h = (struct fake_hooks){enter, leave, code, kernel, dispatch, copy, memory};
}
