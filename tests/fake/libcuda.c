/* libcuda.c - a driver without a GPU, at the real soname libcuda.so.1.
 *
 * What the capture library and the test program need: initialization that loads
 * CUDA_INJECTION64_PATH as the real cuInit does, one device, streams that run
 * their work one after the other in real time, graphs of kernel nodes and child
 * graphs. Every call tells the fake profiling library. Thread-safe by one lock. */
#include "hooks.h"

#include "backend/nvidia/cupti_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT fake_hooks_slot fake_cuda_hooks; /* release by its writer, acquire here */

enum { STREAMS = 64, NODES = 64, COPY_NS_PER_KIB = 30 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool initialized;
static _Atomic uint32_t last_correlation;
static int64_t stream_end[STREAMS]; /* guarded by lock: when the work queued so far ends */
static uint32_t stream_count =
    8; /* guarded by lock; numbers below 8 are taken, 7 is the default stream */

struct cuda_node_handle {
    int type;
    int64_t duration;
    struct cuda_graph_handle *child;
};

struct cuda_graph_handle {
    struct cuda_node_handle nodes[NODES];
    size_t count;
};

struct cuda_exec_handle {
    struct cuda_graph_handle graph;
    uint32_t number;
};

/* Who listens, or hooks that nobody hears. */
static const struct fake_hooks *hooks(void)
{
    static const struct fake_hooks none;
    const struct fake_hooks *h = atomic_load_explicit(&fake_cuda_hooks, memory_order_acquire);
    return h ? h : &none;
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static uint32_t stream_number(cuda_stream s)
{
    return s ? (uint32_t)(uintptr_t)s : 7;
}

/* One driver call: the callbacks around it. */
struct call {
    uint32_t cbid, correlation;
    const char *function, *symbol;
    const void *params;
    uint64_t data;
};

static void call_enter(struct call *c, uint32_t cbid, const char *function, const void *params,
                       const char *symbol)
{
    *c = (struct call){cbid, atomic_fetch_add(&last_correlation, 1) + 1, function, symbol, params,
                       0};
    const struct fake_hooks *h = hooks();
    if (h->api)
        h->api(cbid, CUPTI_SITE_ENTER, function, params, NULL, c->correlation, &c->data, symbol);
}

static int call_exit(struct call *c, int result)
{
    const struct fake_hooks *h = hooks();
    if (h->api)
        h->api(c->cbid, CUPTI_SITE_EXIT, c->function, c->params, &result, c->correlation, &c->data,
               c->symbol);
    return result;
}

/* Queues work of some duration on a stream. The profiling library is told without
 * the lock: it has one of its own. */
static void queue_op(struct fake_op *op, int64_t duration)
{
    pthread_mutex_lock(&lock);
    int64_t *end = &stream_end[op->stream % STREAMS], t = now();
    op->start = *end > t ? *end + 200 : t + 2000;
    op->end = *end = op->start + duration;
    pthread_mutex_unlock(&lock);
    const struct fake_hooks *h = hooks();
    if (h->op)
        h->op(op);
}

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

/* A thread of the parent may hold the lock: the child must find it free. */
__attribute__((constructor)) static void watch_fork(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

EXPORT int cuInit(unsigned flags)
{
    if (flags)
        return 1;
    const char *count = getenv("FAKE_CUDA_DEVICES");
    if (count && atoi(count) == 0)
        return CUDA_E_NO_DEVICE;
    if (atomic_exchange(&initialized, true))
        return CUDA_OK;
    const char *injection = getenv("CUDA_INJECTION64_PATH");
    void *handle = injection && *injection ? dlopen(injection, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (injection && *injection && !handle)
        fprintf(stderr, "fake driver: %s\n", dlerror());
    int (*start)(void) = NULL;
    if (handle)
        *(void **)&start = dlsym(handle, "InitializeInjection");
    if (start)
        start();
    const struct fake_hooks *h = hooks();
    if (h->context)
        h->context(CUPTI_RESOURCE_INIT_FINISHED);
    return CUDA_OK;
}

EXPORT int cuDriverGetVersion(int *version)
{
    const char *v = getenv("FAKE_CUDA_VERSION");
    *version = v ? atoi(v) : 13000;
    return CUDA_OK;
}

EXPORT int cuCtxGetCurrent(cuda_context *context)
{
    *context = atomic_load(&initialized) ? FAKE_CONTEXT : NULL;
    return atomic_load(&initialized) ? CUDA_OK : CUDA_E_NOT_INITIALIZED;
}

EXPORT int cuDeviceGetCount(int *count)
{
    *count = 1;
    return atomic_load(&initialized) ? CUDA_OK : CUDA_E_NOT_INITIALIZED;
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
    memset(uuid, 0x11, sizeof *uuid);
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

/* function: the kernel's mangled name, standing in for a handle. shared over the
 * device's limit fails, as a real launch would. */
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, cuda_stream stream,
                          void **arguments, void **extra)
{
    (void)extra;
    struct cuda_launch_params p = {function, {gx, gy, gz}, {bx, by, bz}, shared, stream, arguments};
    struct call c;
    call_enter(&c, 307, "cuLaunchKernel", &p, function);
    if (shared > 232448)
        return call_exit(&c, 1);
    struct fake_op op = {.work = FAKE_KERNEL,
                         .correlation = c.correlation,
                         .stream = stream_number(stream),
                         .name = function,
                         .grid = {gx, gy, gz},
                         .block = {bx, by, bz},
                         .shared = shared};
    queue_op(&op, 500 + (int64_t)gx * 10);
    return call_exit(&c, CUDA_OK);
}

static int copy(uint32_t cbid, const char *function, int kind, size_t bytes, cuda_stream stream)
{
    struct call c;
    call_enter(&c, cbid, function, NULL, NULL);
    struct fake_op op = {.work = FAKE_COPY,
                         .correlation = c.correlation,
                         .stream = stream_number(stream),
                         .bytes = bytes,
                         .kind = kind};
    queue_op(&op, 1000 + (int64_t)(bytes / 1024) * COPY_NS_PER_KIB);
    return call_exit(&c, CUDA_OK);
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, cuda_stream stream)
{
    (void)to, (void)from;
    return copy(277, "cuMemcpyHtoDAsync_v2", 1, bytes, stream);
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, cuda_stream stream)
{
    (void)to, (void)from;
    return copy(279, "cuMemcpyDtoHAsync_v2", 2, bytes, stream);
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, cuda_stream stream)
{
    (void)to, (void)value;
    struct call c;
    call_enter(&c, 216, "cuMemsetD8Async", NULL, NULL);
    struct fake_op op = {.work = FAKE_FILL,
                         .correlation = c.correlation,
                         .stream = stream_number(stream),
                         .bytes = bytes};
    queue_op(&op, 1000);
    return call_exit(&c, CUDA_OK);
}

/* Waits in real time for what is queued on the stream, or on all of them. */
static int synchronize(uint32_t cbid, const char *function, int type, uint32_t stream)
{
    struct call c;
    call_enter(&c, cbid, function, NULL, NULL);
    struct fake_op op = {.work = FAKE_SYNC,
                         .correlation = c.correlation,
                         .stream = stream,
                         .kind = type,
                         .start = now()};
    pthread_mutex_lock(&lock);
    int64_t until = 0;
    for (uint32_t s = 0; s < STREAMS; s++)
        if ((stream == CUPTI_NONE || s == stream % STREAMS) && stream_end[s] > until)
            until = stream_end[s];
    pthread_mutex_unlock(&lock);
    struct timespec t = {until / 1000000000, until % 1000000000};
    while (now() < until)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    op.end = now();
    const struct fake_hooks *h = hooks();
    if (h->op)
        h->op(&op);
    return call_exit(&c, CUDA_OK);
}

EXPORT int cuStreamSynchronize(cuda_stream stream)
{
    return synchronize(126, "cuStreamSynchronize", 3, stream_number(stream));
}

EXPORT int cuCtxSynchronize(void)
{
    return synchronize(17, "cuCtxSynchronize", 4, CUPTI_NONE);
}

EXPORT int cuGraphCreate(cuda_graph *graph, unsigned flags)
{
    (void)flags;
    *graph = calloc(1, sizeof **graph);
    return *graph ? CUDA_OK : 2;
}

/* Not the real signature: a test adds n kernels of a duration, or a child graph. */
EXPORT void fake_graph_add(cuda_graph graph, int n, int64_t duration, cuda_graph child)
{
    for (int i = 0; i < n && graph->count < NODES; i++)
        graph->nodes[graph->count++] = (struct cuda_node_handle){CUDA_NODE_KERNEL, duration, NULL};
    if (child && graph->count < NODES)
        graph->nodes[graph->count++] = (struct cuda_node_handle){CUDA_NODE_GRAPH, 0, child};
}

EXPORT int cuGraphGetNodes(cuda_graph graph, cuda_node *nodes, size_t *count)
{
    for (size_t i = 0; nodes && i < *count && i < graph->count; i++)
        nodes[i] = &graph->nodes[i];
    *count = graph->count;
    return CUDA_OK;
}

EXPORT int cuGraphNodeGetType(cuda_node node, int *type)
{
    *type = node->type;
    return CUDA_OK;
}

EXPORT int cuGraphChildGraphNodeGetGraph(cuda_node node, cuda_graph *graph)
{
    *graph = node->child;
    return CUDA_OK;
}

EXPORT int cuGraphInstantiateWithFlags(cuda_exec *exec, cuda_graph graph, unsigned long long flags)
{
    static _Atomic uint32_t graphs;
    (void)flags;
    struct {
        cuda_exec *exec;
        cuda_graph graph;
        unsigned long long flags;
    } p = {exec, graph, flags};
    struct call c;
    call_enter(&c, 643, "cuGraphInstantiateWithFlags", &p, NULL);
    *exec = calloc(1, sizeof **exec);
    (*exec)->graph = *graph;
    (*exec)->number = atomic_fetch_add(&graphs, 1) + 1;
    const struct fake_hooks *h = hooks();
    if (h->graph_exec)
        h->graph_exec(CUPTI_RESOURCE_GRAPHEXEC_CREATED, graph, *exec);
    return call_exit(&c, CUDA_OK);
}

EXPORT int cuGraphExecDestroy(cuda_exec exec)
{
    struct cuda_graph_exec_params p = {exec};
    struct call c;
    call_enter(&c, 516, "cuGraphExecDestroy", &p, NULL);
    const struct fake_hooks *h = hooks();
    if (h->graph_exec)
        h->graph_exec(CUPTI_RESOURCE_GRAPHEXEC_DESTROY, &exec->graph, exec);
    free(exec);
    return call_exit(&c, CUDA_OK);
}

static void run_graph(const struct cuda_graph_handle *graph, struct fake_op *op)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i].child) {
            run_graph(graph->nodes[i].child, op);
            continue;
        }
        op->graph_node++;
        queue_op(op, graph->nodes[i].duration);
    }
}

EXPORT int cuGraphLaunch(cuda_exec exec, cuda_stream stream)
{
    struct cuda_graph_launch_params p = {exec, stream};
    struct call c;
    call_enter(&c, 514, "cuGraphLaunch", &p, NULL);
    struct fake_op op = {.work = FAKE_KERNEL,
                         .correlation = c.correlation,
                         .stream = stream_number(stream),
                         .name = "_Z10graph_nodev",
                         .grid = {1, 1, 1},
                         .block = {32, 1, 1},
                         .graph = exec->number,
                         .graph_node = (uint64_t)exec->number << 32};
    run_graph(&exec->graph, &op);
    return call_exit(&c, CUDA_OK);
}
