/* libcuda.c - is a driver without a GPU, at the real soname libcuda.so.1.
 *
 * The driver has what the capture library and test programs need: one device, streams that run
 * their work one after the other in real time, and waits that last until it is done. cuInit is in
 * initialize.c, memory in memory.c, kernels of modules in modules.c, graphs in graphs.c. Every call
 * is reported to the fake profiling library. Threads: any; each file has one lock. */
#include "driver.h"

#include "backend/nvidia/abi/cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

EXPORT fake_hooks_slot fake_cuda_hooks; /* release by its writer, acquire here */

enum { STREAMS = 64, DEFAULT_STREAM = 7, SHARED_MOST = 232448 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t last_correlation;
/* By the number of the context. */
static atomic_bool contexts[FAKE_CONTEXTS] = {[FAKE_CONTEXT_NUMBER] = true};
static _Thread_local uint32_t current = FAKE_CONTEXT_NUMBER;
/* Threads inside of a launch, by context, whether the launch is reported or not. */
static _Atomic int launching[FAKE_CONTEXTS];
static _Thread_local uint32_t launching_in; /* 0: in none */
static int64_t stream_ends[STREAMS];        /* guarded by lock: when the work queued so far ends */
/* guarded by lock; numbers up to the default stream's are taken */
static uint32_t stream_count = DEFAULT_STREAM + 1;

/* ---- what all files use ------------------------------------------------------------------ */

const struct fake_hooks *driver_hooks(void)
{
    static const struct fake_hooks none;
    const struct fake_hooks *h = atomic_load_explicit(&fake_cuda_hooks, memory_order_acquire);
    return h ? h : &none;
}

int64_t driver_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* The profiling library counts calls from the start when it is attached again. */
EXPORT void fake_cuda_correlation_again(void)
{
    atomic_store(&last_correlation, 0);
}

/* A correlation id for work that is no call of the program. */
EXPORT uint32_t fake_cuda_correlation(void)
{
    return atomic_fetch_add(&last_correlation, 1) + 1;
}

void call_enter(struct call *c, uint32_t cbid, const char *function, const void *params,
                const char *symbol)
{
    *c = (struct call){cbid, fake_cuda_correlation(), function, symbol, params, 0};
    const struct fake_hooks *h = driver_hooks();
    if (h->api)
        h->api(cbid, CUPTI_SITE_ENTER, function, params, NULL, c->correlation, &c->data, symbol,
               current);
    if (strstr(function, "Launch")) {
        launching_in = current;
        atomic_fetch_add(&launching[launching_in], 1);
    }
}

/* Threads other than this one that are inside of a launch in the context: from after its entry
 * callback to its exit callback. */
EXPORT int fake_cuda_launching(uint32_t context)
{
    return atomic_load(&launching[context]) - (launching_in == context);
}

/* Set after a kernel has faulted: later calls fail. */
static atomic_bool faulted;

EXPORT bool fake_cuda_faulted(void)
{
    return atomic_load(&faulted);
}

int call_exit(struct call *c, int result)
{
    if (atomic_load(&faulted) && c->cbid != CUPTI_HARMLESS_CALL)
        result = DRIVER_E_FAULT;
    if (launching_in && strstr(c->function, "Launch")) {
        atomic_fetch_sub(&launching[launching_in], 1);
        launching_in = 0;
    }
    const struct fake_hooks *h = driver_hooks();
    if (h->api)
        h->api(c->cbid, CUPTI_SITE_EXIT, c->function, c->params, &result, c->correlation, &c->data,
               c->symbol, current);
    return result;
}

uint32_t stream_number(cuda_stream s)
{
    return s ? (uint32_t)(uintptr_t)s : DEFAULT_STREAM;
}

int64_t stream_end(uint32_t stream)
{
    int64_t end = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t s = 0; s < STREAMS; s++)
        if ((stream == CUPTI_NONE || s == stream % STREAMS) && stream_ends[s] > end)
            end = stream_ends[s];
    pthread_mutex_unlock(&lock);
    return end;
}

void stream_hold(uint32_t stream, int64_t until)
{
    pthread_mutex_lock(&lock);
    int64_t *end = &stream_ends[stream % STREAMS];
    *end = *end > until ? *end : until;
    pthread_mutex_unlock(&lock);
}

void report_op(const struct fake_op *op)
{
    const struct fake_hooks *h = driver_hooks();
    if (h->op)
        h->op(op);
}

/* Queues work and reports it to the profiling library, without the lock: the library has one of its
 * own. */
void queue_op(struct fake_op *op, int64_t duration)
{
    int place = depth_take();
    pthread_mutex_lock(&lock);
    int64_t *end = &stream_ends[op->stream % STREAMS], t = driver_now();
    op->start = slices_begin(*end > t ? *end + 200 : t + 2000);
    op->end = *end = op->start + duration;
    op->context = current;
    pthread_mutex_unlock(&lock);
    depth_ends(place, op->end);
    report_op(op);
}

void wait_until(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    while (driver_now() < ns)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* ---- fork -------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    memory_before_fork();
}

static void after_fork(void)
{
    memory_after_fork();
    pthread_mutex_unlock(&lock);
}

/* A thread of the parent may hold a lock: the child must find it free. */
__attribute__((constructor)) static void watch_fork(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

/* ---- device ------------------------------------------------------------------------------- */

EXPORT int cuDriverGetVersion(int *version)
{
    const char *v = getenv("FAKE_CUDA_VERSION");
    *version = v ? atoi(v) : 13000;
    return CUDA_OK;
}

EXPORT int cuCtxGetCurrent(cuda_context *context)
{
    *context = driver_initialized() && current ? FAKE_CONTEXT_OF(current) : NULL;
    return driver_initialized() ? CUDA_OK : CUDA_E_NOT_INITIALIZED;
}

EXPORT bool fake_cuda_context_lives(cuda_context context)
{
    uint32_t number = FAKE_CONTEXT_AT(context);
    return number < FAKE_CONTEXTS && atomic_load(&contexts[number]);
}

/* A context that another thread has destroyed stays current in the threads that used it. */
EXPORT int cuCtxGetApiVersion(cuda_context context, unsigned *version)
{
    *version = 3020;
    return fake_cuda_context_lives(context) ? CUDA_OK : DRIVER_E_CONTEXT;
}

EXPORT int cuDeviceGetCount(int *count)
{
    struct call c;
    *count = 1;
    call_enter(&c, CUPTI_HARMLESS_CALL, "cuDeviceGetCount", NULL, NULL);
    return call_exit(&c, driver_initialized() ? CUDA_OK : CUDA_E_NOT_INITIALIZED);
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal == 0 ? CUDA_OK : 101;
}

EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    (void)device;
    snprintf(name, (size_t)size, "Fake H200");
    return CUDA_OK;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = 1ull << 37;
    return CUDA_OK;
}

EXPORT int cuDeviceGetUuid(struct cuda_uuid *uuid, int device)
{
    (void)device;
    const char *own = getenv("FAKE_DEVICE"); /* the UUID's last eight digits */
    unsigned number = own ? (unsigned)strtoul(own, NULL, 16) : 0x11111111;
    memset(uuid, 0x11, sizeof *uuid);
    for (int i = 0; i < 4; i++)
        uuid->bytes[15 - i] = (unsigned char)(number >> 8 * i);
    return CUDA_OK;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    static const struct {
        int attribute, value;
    } table[] = {
        {CUDA_ATTR_SHARED_PER_BLOCK, 49152},
        {CUDA_ATTR_WARP_SIZE, 32},
        {CUDA_ATTR_REGS_PER_BLOCK, 65536},
        {CUDA_ATTR_CLOCK_KHZ, 1980000},
        {CUDA_ATTR_SM_COUNT, 132},
        {CUDA_ATTR_MEMORY_CLOCK_KHZ, 3201000},
        {CUDA_ATTR_L2_SIZE, 62914560},
        {CUDA_ATTR_THREADS_PER_SM, 2048},
        {CUDA_ATTR_COMPUTE_MAJOR, 9},
        {CUDA_ATTR_COMPUTE_MINOR, 0},
        {CUDA_ATTR_SHARED_PER_SM, 233472},
        {CUDA_ATTR_REGS_PER_SM, 65536},
        {CUDA_ATTR_BLOCKS_PER_SM, 32},
        {CUDA_ATTR_SHARED_PER_BLOCK_OPTIN, 232448},
        {CUDA_ATTR_SHARED_RESERVED_PER_BLOCK, 1024},
    };
    (void)device;
    *value = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].attribute == attribute)
            *value = table[i].value;
    return CUDA_OK;
}

EXPORT int cuStreamCreate(cuda_stream *stream, unsigned flags)
{
    (void)flags;
    pthread_mutex_lock(&lock);
    *stream = (cuda_stream)(uintptr_t)stream_count++;
    pthread_mutex_unlock(&lock);
    return CUDA_OK;
}

EXPORT int cuStreamIsCapturing(cuda_stream stream, int *state)
{
    (void)stream;
    *state = CUDA_CAPTURE_NONE;
    return CUDA_OK;
}

EXPORT int cuStreamDestroy_v2(cuda_stream stream)
{
    struct call c;
    call_enter(&c, 326, "cuStreamDestroy_v2", &stream, NULL);
    return call_exit(&c, CUDA_OK);
}

/* The primary context is there from the beginning, and every thread has it. */
EXPORT int cuDevicePrimaryCtxRetain(cuda_context *context, int device)
{
    *context = FAKE_CONTEXT;
    return device == 0 ? CUDA_OK : DRIVER_E_VALUE;
}

EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = device == 0 && driver_initialized();
    return driver_initialized() ? CUDA_OK : CUDA_E_NOT_INITIALIZED;
}

/* Makes a context current; NULL: the thread has none from here on. */
EXPORT int cuCtxSetCurrent(cuda_context context)
{
    uint32_t number = context ? FAKE_CONTEXT_AT(context) : 0;
    if (number >= FAKE_CONTEXTS || (number && !atomic_load(&contexts[number])))
        return DRIVER_E_VALUE;
    current = number;
    return CUDA_OK;
}

static void report_context(uint32_t cbid, uint32_t number)
{
    if (driver_hooks()->context)
        driver_hooks()->context(cbid, number);
}

/* A free number for a context; 0: there are too many. */
static uint32_t context_take(void)
{
    for (uint32_t i = 1; i < FAKE_CONTEXTS; i++)
        if (!atomic_exchange(&contexts[i], true))
            return i;
    return 0;
}

static _Atomic uint64_t making, made, unheard;

/* The number of contexts that are being made, of those that have been made, and of those made
 * without a profiling library. */
EXPORT void fake_cuda_contexts(uint64_t out[3])
{
    out[0] = atomic_load(&making);
    out[1] = atomic_load(&made);
    out[2] = atomic_load(&unheard);
}

/* Takes FAKE_CONTEXT_MS to make a context: a real one takes about 60 to 400 ms. */
static void make(void)
{
    const char *ms = getenv("FAKE_CONTEXT_MS");
    atomic_fetch_add(&making, 1);
    if (ms)
        wait_until(driver_now() + atoi(ms) * 1000000ll);
    atomic_fetch_sub(&making, 1);
    atomic_fetch_add(&made, 1);
}

/* Makes a context, which becomes the thread's current one. */
EXPORT int cuCtxCreate_v2(cuda_context *context, unsigned flags, int device)
{
    struct call c;
    (void)flags;
    uint32_t number = device ? 0 : context_take();
    if (!number)
        return DRIVER_E_VALUE;
    if (!driver_hooks()->api)
        atomic_fetch_add(&unheard, 1);
    call_enter(&c, 235, "cuCtxCreate_v2", NULL, NULL);
    make();
    current = number;
    *context = FAKE_CONTEXT_OF(current);
    report_context(CUPTI_RESOURCE_CONTEXT_CREATED, current);
    return call_exit(&c, CUDA_OK);
}

/* Destroys a context; the primary one becomes the thread's. */
EXPORT int cuCtxDestroy_v2(cuda_context context)
{
    struct call c;
    call_enter(&c, 322, "cuCtxDestroy_v2", NULL, NULL);
    report_context(CUPTI_RESOURCE_CONTEXT_DESTROY, FAKE_CONTEXT_AT(context));
    current = FAKE_CONTEXT_NUMBER;
    atomic_store(&contexts[FAKE_CONTEXT_AT(context)], false);
    return call_exit(&c, CUDA_OK);
}

/* Destroys the primary context. It is there again at once, without what was in it. */
EXPORT int cuDevicePrimaryCtxReset_v2(int device)
{
    struct call c;
    call_enter(&c, 545, "cuDevicePrimaryCtxReset_v2", &device, NULL);
    report_context(CUPTI_RESOURCE_CONTEXT_DESTROY, FAKE_CONTEXT_NUMBER);
    report_context(CUPTI_RESOURCE_CONTEXT_CREATED, FAKE_CONTEXT_NUMBER);
    return call_exit(&c, CUDA_OK);
}

void report_module(uint32_t cbid, const char *image, size_t size)
{
    if (driver_hooks()->module)
        driver_hooks()->module(cbid, current, image, size);
}

/* ---- kernels ------------------------------------------------------------------------------ */

static sem_t stuck, released;
static pthread_once_t stuck_once = PTHREAD_ONCE_INIT;

static void stuck_init(void)
{
    sem_init(&stuck, 0, 0);
    sem_init(&released, 0, 0);
}

/* Waits until a thread is inside of a launch of "stuck", which never returns, or of "held", which
 * returns when it is released. */
EXPORT void fake_cuda_await_stuck(void)
{
    pthread_once(&stuck_once, stuck_init);
    while (sem_wait(&stuck))
        continue;
}

static __attribute__((noreturn)) void stay_stuck(void)
{
    pthread_once(&stuck_once, stuck_init);
    sem_post(&stuck);
    for (;;)
        pause();
}

EXPORT void fake_cuda_release_held(void)
{
    pthread_once(&stuck_once, stuck_init);
    sem_post(&released);
}

static void stay_held(void)
{
    pthread_once(&stuck_once, stuck_init);
    sem_post(&stuck);
    while (sem_wait(&released))
        continue;
}

/* Launches a kernel that faults: the launch succeeds, earlier work ends, and the kernel has a
 * record without times. */
static int launch_fault(struct call *c, struct fake_op *op)
{
    op->context = current;
    wait_until(stream_end(CUPTI_NONE));
    if (!atomic_load(&faulted))
        report_op(op);
    int result = call_exit(c, CUDA_OK);
    atomic_store(&faulted, true);
    return result;
}

/* function: that of a module, or the kernel's mangled name in its place. A launch with more shared
 * memory than the device's limit fails, as in the real driver. */
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, cuda_stream stream,
                          void **arguments, void **extra)
{
    (void)extra;
    const struct fake_kernel *k = launched_kernel(function);
    const char *name = k ? k->name : function;
    struct cuda_launch_params p = {function, {gx, gy, gz}, {bx, by, bz}, shared, stream, arguments};
    struct call c;
    call_enter(&c, 307, "cuLaunchKernel", &p, name);
    if (!strcmp(name, "stuck"))
        stay_stuck();
    if (!strcmp(name, "held"))
        stay_held();
    if (shared > SHARED_MOST || atomic_load(&faulted))
        return call_exit(&c, DRIVER_E_VALUE);
    struct fake_op op = {.work = FAKE_KERNEL,
                         .correlation = c.correlation,
                         .stream = stream_number(stream),
                         .name = name,
                         .grid = {gx, gy, gz},
                         .block = {bx, by, bz},
                         .shared = shared,
                         .shared_static = k ? k->shared : 0,
                         .registers = k ? k->registers : 32};
    int64_t ns = 500 + (int64_t)gx * 10;
    if (k)
        ns = k->ns ? k->ns : *(const int64_t *)arguments[0];
    if (!strcmp(name, "fault"))
        return launch_fault(&c, &op);
    queue_op(&op, ns);
    return call_exit(&c, CUDA_OK);
}

/* Only functions have attributes, as in the real library; names that replace functions have
 * none. */
EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    const struct fake_kernel *k = module_kernel(function);
    if (attribute != CUDA_FUNCTION_LOCAL_SIZE)
        return DRIVER_E_VALUE;
    if (!k && launched_kernel(function))
        return DRIVER_E_HANDLE;
    *value = k ? (int)k->local : 0;
    return CUDA_OK;
}

/* ---- waits -------------------------------------------------------------------------------- */

static _Atomic int waiting;

/* For tests: how many threads are inside a call of this section. */
EXPORT int fake_waiting(void)
{
    return atomic_load(&waiting);
}

/* Waits in real time for the work queued on the stream, or on all of them. */
static int synchronize(struct call *c, int64_t until)
{
    atomic_fetch_add(&waiting, 1);
    wait_until(until);
    atomic_fetch_sub(&waiting, 1);
    return call_exit(c, CUDA_OK);
}

EXPORT int cuStreamSynchronize(cuda_stream stream)
{
    struct call c;
    call_enter(&c, 126, "cuStreamSynchronize", &stream, NULL);
    uint32_t number = stream_number(stream);
    return synchronize(&c, stream_end(number));
}

EXPORT int cuCtxSynchronize(void)
{
    struct call c;
    call_enter(&c, 17, "cuCtxSynchronize", NULL, NULL);
    return synchronize(&c, stream_end(CUPTI_NONE));
}

/* ---- events ------------------------------------------------------------------------------- */

struct event {
    _Atomic int64_t reached; /* ns, when the work recorded before it ends */
};

EXPORT int cuEventCreate(struct event **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    if (!*event)
        return 2;
    return CUDA_OK;
}

EXPORT int cuEventDestroy_v2(struct event *event)
{
    struct call c;
    call_enter(&c, 325, "cuEventDestroy_v2", &event, NULL);
    free(event);
    return call_exit(&c, CUDA_OK);
}

EXPORT int cuEventRecord(struct event *event, cuda_stream stream)
{
    const struct {
        struct event *event;
        cuda_stream stream;
    } p = {event, stream};
    struct call c;
    call_enter(&c, 119, "cuEventRecord", &p, NULL);
    atomic_store(&event->reached, stream_end(stream_number(stream)));
    return call_exit(&c, CUDA_OK);
}

EXPORT int cuEventSynchronize(struct event *event)
{
    struct call c;
    call_enter(&c, 121, "cuEventSynchronize", &event, NULL);
    return synchronize(&c, atomic_load(&event->reached));
}

/* The stream waits, the caller does not. */
EXPORT int cuStreamWaitEvent(cuda_stream stream, struct event *event, unsigned flags)
{
    const struct {
        cuda_stream stream;
        struct event *event;
        unsigned flags;
    } p = {stream, event, flags};
    struct call c;
    call_enter(&c, 295, "cuStreamWaitEvent", &p, NULL);
    uint32_t number = stream_number(stream);
    stream_hold(number, atomic_load(&event->reached));
    return synchronize(&c, 0);
}
