/* hip.c - is libamdhip64.so.6 without a GPU: queues that are busy for as long as their work takes,
 * on the machine's clock. FAKE_ROCM=devices=N gives N devices (2), slower=N makes kernels N times
 * as long. Each function passes through the tables of the SDK as the real ones do. FAKE_CODE is a
 * file with the kernels' code object. */
#include "hip.h"
#include "hooks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DEVICES = 8,
    STREAMS = 64,
    GRAPHS = 128,
    COPY_BYTES_A_US = 10000,
    ALLOC_NS = 20000,
    FAULT = 1
};

#define REPORTED INT64_C(-1) /* a kernel runs for as long as its first argument says */

struct stream {
    int device;
    int64_t end; /* when its last work ends; of an event: what it marks; guarded by lock */
};

enum { NODES = 16, NODE_KERNEL = 0, NODE_MEMSET = 2, NODE_GRAPH = 4 };

struct graph;

struct node {
    int type;
    const struct fake_kernel *kernel;
    struct graph *child;
    int off;
};

struct graph {
    int count;
    struct node nodes[NODES];
};

static const struct fake_kernel kernels[] = {
    {1, "_Z9fake_gemmPfS_S_i.kd", 32768, 0, 96, 96, 0, 200000},
    {2, "_Z9fake_reluPfi.kd", 0, 16, 16, 24, 0, 50000},
    {3, "__amd_rocclr_fillBufferAligned.kd", 0, 0, 16, 24, 0, 20000},
    {4, "__amd_rocclr_copyBuffer.kd", 0, 0, 16, 24, 0, 30000},
    {5, "spin.kd", 0, 0, 16, 24, 0, REPORTED},
    {6, "hoard.kd", 32768, 0, 16, 24, 0, REPORTED}, /* two workgroups on a compute unit */
    {7, "greedy.kd", 0, 0, 96, 256, 0, REPORTED},
    {8, "spill.kd", 0, 512, 96, 24, 0, REPORTED},
    {9, "_Z23ncclDevKernel_Generic_424ncclDevKernelArgsStorageILm4096EE.kd", 0, 0, 96, 96, 0,
     300000}, /* RCCL's */
};
enum { FILL = 2, SHADER_COPY = 3, PLANTED = 4, KERNELS = 9 };

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    struct fake_hooks hooks;
    struct stream defaults[DEVICES], streams[STREAMS];
    int device_count, stream_count;
    struct graph graphs[GRAPHS];
    _Atomic int graph_count;
    int slower;
    uint64_t address;
} me = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT, .address = 0x7f0000000000};

static __thread int device;

/* Returns the number after `name` in FAKE_ROCM. */
static int scripted(const char *name, int otherwise)
{
    const char *script = getenv("FAKE_ROCM"), *at = script ? strstr(script, name) : NULL;
    return at ? atoi(at + strlen(name)) : otherwise;
}

static void start(void)
{
    me.device_count = scripted("devices=", 2);
    me.slower = scripted("slower=", 1);
    for (int i = 0; i < DEVICES; i++)
        me.defaults[i].device = i;
    fake_register("hip", &me.hooks);
    if (me.hooks.code && getenv("FAKE_CODE"))
        me.hooks.code(getenv("FAKE_CODE"));
    for (int i = 0; me.hooks.kernel && i < KERNELS; i++)
        me.hooks.kernel(&kernels[i]);
}

/* ---- calls --------------------------------------------------------------------------- */

static void put(struct fake_call *c, unsigned offset, const void *value, size_t bytes)
{
    memcpy(c->arguments + offset, value, bytes);
}

static void put64(struct fake_call *c, unsigned offset, uint64_t value)
{
    put(c, offset, &value, sizeof value);
}

static void put32(struct fake_call *c, unsigned offset, uint32_t value)
{
    put(c, offset, &value, sizeof value);
}

static void enter(struct fake_call *c, const char *function)
{
    pthread_once(&me.once, start);
    *c = (struct fake_call){.function = function};
}

static void begin(struct fake_call *c)
{
    if (me.hooks.enter)
        me.hooks.enter(c, 0);
}

static int leave(struct fake_call *c, int result)
{
    c->result = (uint64_t)result;
    if (me.hooks.leave)
        me.hooks.leave(c, 0);
    return result;
}

/* ---- queues -------------------------------------------------------------------------- */

static struct stream *stream_of(void *handle)
{
    return handle ? handle : &me.defaults[device];
}

/* Queues work of this length; returns the time at which it begins. */
static int64_t enqueue(struct stream *s, int64_t length)
{
    pthread_mutex_lock(&me.lock);
    int64_t now = fake_now(), start = s->end > now ? s->end : now;
    s->end = start + length;
    pthread_mutex_unlock(&me.lock);
    return start;
}

static void wait_until(int64_t end)
{
    struct timespec t = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
    while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &t, NULL) == EINTR)
        continue;
}

static void wait_for(struct stream *s)
{
    pthread_mutex_lock(&me.lock);
    int64_t end = s->end;
    pthread_mutex_unlock(&me.lock);
    wait_until(end);
}

/* The null stream begins after all work of its device, as the real one does after streams that
 * block. */
static void null_joins(void)
{
    pthread_mutex_lock(&me.lock);
    for (int i = 0; i < STREAMS; i++)
        if (me.streams[i].device == device && me.streams[i].end > me.defaults[device].end)
            me.defaults[device].end = me.streams[i].end;
    pthread_mutex_unlock(&me.lock);
}

/* reported: the duration of a kernel that runs for as long as its argument says. */
static void run(struct stream *s, const struct fake_kernel *k, struct dim3 grid, struct dim3 block,
                size_t shared, int64_t reported)
{
    int64_t length = k->duration == REPORTED ? reported : k->duration * me.slower;
    struct fake_dispatch d = {
        .kernel = k,
        .device = s->device,
        .queue = (uint64_t)(s->device + 1),
        .workgroup = {block.x, block.y, block.z},
        .grid = {grid.x * block.x, grid.y * block.y, grid.z * block.z},
        .group_bytes = k->group_bytes + (uint32_t)shared,
    };
    d.start = enqueue(s, length);
    d.end = d.start + length;
    if (me.hooks.dispatch)
        me.hooks.dispatch(&d);
}

static void dispatch(struct stream *s, const struct fake_kernel *k, struct dim3 grid,
                     struct dim3 block, size_t shared)
{
    run(s, k, grid, block, shared, 0);
}

static void copy(struct stream *s, int to, int from, size_t bytes)
{
    int64_t length = 5000 + (int64_t)bytes / COPY_BYTES_A_US;
    struct fake_copy c = {.to = to, .from = from, .bytes = bytes};
    c.start = enqueue(s, length);
    c.end = c.start + length;
    if (me.hooks.copy)
        me.hooks.copy(&c);
}

/* ---- functions ----------------------------------------------------------------------- */

int hipGetDeviceCount(int *count)
{
    pthread_once(&me.once, start);
    *count = me.device_count;
    return 0;
}

int hipSetDevice(int to)
{
    struct fake_call c;
    enter(&c, "hipSetDevice");
    put32(&c, 0, (uint32_t)to);
    begin(&c);
    if (to < 0 || to >= me.device_count)
        return leave(&c, 101);
    device = to;
    return leave(&c, 0);
}

int hipMalloc(void **out, size_t bytes)
{
    struct fake_call c;
    enter(&c, "hipMalloc");
    put64(&c, 0, (uint64_t)(uintptr_t)out);
    put64(&c, 8, bytes);
    begin(&c);
    pthread_mutex_lock(&me.lock);
    uint64_t address = me.address;
    me.address += (bytes + 4095) & ~UINT64_C(4095);
    pthread_mutex_unlock(&me.lock);
    *out = (void *)(uintptr_t)address;
    wait_until(fake_now() + ALLOC_NS);
    if (me.hooks.memory)
        me.hooks.memory(0, device, address, bytes);
    return leave(&c, 0);
}

int hipFree(void *p)
{
    struct fake_call c;
    enter(&c, "hipFree");
    put64(&c, 0, (uint64_t)(uintptr_t)p);
    begin(&c);
    null_joins();
    wait_for(&me.defaults[device]);
    if (me.hooks.memory)
        me.hooks.memory(1, device, (uint64_t)(uintptr_t)p, 0);
    return leave(&c, 0);
}

int hipStreamCreate(void **out)
{
    struct fake_call c;
    enter(&c, "hipStreamCreate");
    begin(&c);
    pthread_mutex_lock(&me.lock);
    struct stream *s = &me.streams[me.stream_count++ % STREAMS];
    s->device = device;
    pthread_mutex_unlock(&me.lock);
    *out = s;
    return leave(&c, 0);
}

int hipLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **args,
                    size_t shared, void *stream)
{
    struct fake_call c;
    int64_t reported = 0;
    enter(&c, "hipLaunchKernel");
    put64(&c, 0, (uint64_t)(uintptr_t)function);
    put(&c, 8, &grid, sizeof grid);
    put(&c, 20, &block, sizeof block);
    put64(&c, 40, shared);
    put64(&c, 48, (uint64_t)(uintptr_t)stream);
    begin(&c);
    if (!function || block.x * block.y * block.z > 1024)
        return leave(&c, FAULT);
    if (args)
        memcpy(&reported, args[0], sizeof reported);
    run(stream_of(stream), function, grid, block, shared, reported);
    return leave(&c, 0);
}

static int copy_call(struct fake_call *c, void *to, const void *from, size_t bytes, int kind,
                     struct stream *s, int waits)
{
    put64(c, 0, (uint64_t)(uintptr_t)to);
    put64(c, 8, (uint64_t)(uintptr_t)from);
    put64(c, 16, bytes);
    put32(c, 24, (uint32_t)kind);
    begin(c);
    if (kind == HIP_D2D)
        dispatch(s, &kernels[SHADER_COPY], (struct dim3){64, 1, 1}, (struct dim3){256, 1, 1}, 0);
    else
        copy(s, kind == HIP_H2D ? s->device : -1, kind == HIP_D2H ? s->device : -1, bytes);
    if (waits)
        wait_for(s);
    return leave(c, 0);
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    struct fake_call c;
    enter(&c, "hipMemcpy");
    null_joins();
    return copy_call(&c, to, from, bytes, kind, stream_of(NULL), 1);
}

int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    struct fake_call c;
    enter(&c, "hipMemcpyAsync");
    put64(&c, 32, (uint64_t)(uintptr_t)stream);
    return copy_call(&c, to, from, bytes, kind, stream_of(stream), 0);
}

int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                       void *stream)
{
    struct fake_call c;
    enter(&c, "hipMemcpyPeerAsync");
    put64(&c, 0, (uint64_t)(uintptr_t)to);
    put32(&c, 8, (uint32_t)to_device);
    put64(&c, 16, (uint64_t)(uintptr_t)from);
    put32(&c, 24, (uint32_t)from_device);
    put64(&c, 32, bytes);
    put64(&c, 40, (uint64_t)(uintptr_t)stream);
    begin(&c);
    copy(stream_of(stream), to_device, from_device, bytes);
    return leave(&c, 0);
}

int hipMemsetAsync(void *to, int value, size_t bytes, void *stream)
{
    struct fake_call c;
    enter(&c, "hipMemsetAsync");
    put64(&c, 0, (uint64_t)(uintptr_t)to);
    put32(&c, 8, (uint32_t)value);
    put64(&c, 16, bytes);
    put64(&c, 24, (uint64_t)(uintptr_t)stream);
    begin(&c);
    dispatch(stream_of(stream), &kernels[FILL], (struct dim3){64, 1, 1}, (struct dim3){256, 1, 1},
             0);
    return leave(&c, 0);
}

int hipStreamSynchronize(void *stream)
{
    struct fake_call c;
    enter(&c, "hipStreamSynchronize");
    put64(&c, 0, (uint64_t)(uintptr_t)stream);
    begin(&c);
    wait_for(stream_of(stream));
    return leave(&c, 0);
}

int hipDeviceSynchronize(void)
{
    struct fake_call c;
    enter(&c, "hipDeviceSynchronize");
    begin(&c);
    null_joins();
    wait_for(&me.defaults[device]);
    return leave(&c, 0);
}

int hipHostMalloc(void **out, size_t bytes, unsigned flags)
{
    struct fake_call c;
    enter(&c, "hipHostMalloc");
    put64(&c, 0, (uint64_t)(uintptr_t)out);
    put64(&c, 8, bytes);
    put32(&c, 16, flags);
    begin(&c);
    *out = malloc(bytes);
    return leave(&c, *out ? 0 : FAULT);
}

int hipHostFree(void *p)
{
    struct fake_call c;
    enter(&c, "hipHostFree");
    put64(&c, 0, (uint64_t)(uintptr_t)p);
    begin(&c);
    free(p);
    return leave(&c, 0);
}

/* ---- events: the end of the work before them ------------------------------------------ */

int hipEventCreateWithFlags(void **event, unsigned flags)
{
    struct fake_call c;
    enter(&c, "hipEventCreateWithFlags");
    put64(&c, 0, (uint64_t)(uintptr_t)event);
    put32(&c, 8, flags);
    begin(&c);
    *event = calloc(1, sizeof(struct stream));
    return leave(&c, *event ? 0 : FAULT);
}

int hipEventDestroy(void *event)
{
    struct fake_call c;
    enter(&c, "hipEventDestroy");
    put64(&c, 0, (uint64_t)(uintptr_t)event);
    begin(&c);
    free(event);
    return leave(&c, 0);
}

int hipEventRecord(void *event, void *stream)
{
    struct fake_call c;
    struct stream *e = event;
    enter(&c, "hipEventRecord");
    put64(&c, 0, (uint64_t)(uintptr_t)event);
    put64(&c, 8, (uint64_t)(uintptr_t)stream);
    begin(&c);
    pthread_mutex_lock(&me.lock);
    e->end = stream_of(stream)->end;
    pthread_mutex_unlock(&me.lock);
    return leave(&c, 0);
}

int hipEventSynchronize(void *event)
{
    struct fake_call c;
    enter(&c, "hipEventSynchronize");
    put64(&c, 0, (uint64_t)(uintptr_t)event);
    begin(&c);
    wait_for(event);
    return leave(&c, 0);
}

int hipStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    struct fake_call c;
    struct stream *s = stream_of(stream), *e = event;
    enter(&c, "hipStreamWaitEvent");
    put64(&c, 0, (uint64_t)(uintptr_t)stream);
    put64(&c, 8, (uint64_t)(uintptr_t)event);
    put32(&c, 16, flags);
    begin(&c);
    pthread_mutex_lock(&me.lock);
    if (e->end > s->end)
        s->end = e->end;
    pthread_mutex_unlock(&me.lock);
    return leave(&c, 0);
}

static struct graph *new_graph(void)
{
    return &me.graphs[me.graph_count++ % GRAPHS];
}

static void run_graph(struct stream *s, const struct graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->nodes[i].child)
            run_graph(s, g->nodes[i].child);
        else if (!g->nodes[i].off)
            dispatch(s, g->nodes[i].kernel, (struct dim3){16, 1, 1}, (struct dim3){64, 1, 1}, 0);
}

int hipGraphLaunch(void *exec, void *stream)
{
    struct fake_call c;
    const struct graph *g = exec;
    enter(&c, "hipGraphLaunch");
    put64(&c, 0, (uint64_t)(uintptr_t)exec);
    put64(&c, 8, (uint64_t)(uintptr_t)stream);
    begin(&c);
    run_graph(stream_of(stream), g);
    return leave(&c, 0);
}

static int instantiate(struct fake_call *c, void **exec, const void *graph)
{
    put64(c, 0, (uint64_t)(uintptr_t)exec);
    put64(c, 8, (uint64_t)(uintptr_t)graph);
    begin(c);
    if (!graph)
        return leave(c, FAULT);
    struct graph *g = new_graph();
    *g = *(const struct graph *)graph;
    *exec = g;
    return leave(c, 0);
}

int hipGraphInstantiate(void **exec, void *graph, void **error, char *log, size_t size)
{
    struct fake_call c;
    (void)error, (void)log, (void)size;
    enter(&c, "hipGraphInstantiate");
    return instantiate(&c, exec, graph);
}

int hipGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    struct fake_call c;
    (void)flags;
    enter(&c, "hipGraphInstantiateWithFlags");
    return instantiate(&c, exec, graph);
}

/* The node is the graph's; it has the same place in the graph that was instantiated from it. */
int hipGraphNodeSetEnabled(void *exec, void *node, unsigned enabled)
{
    struct fake_call c;
    struct graph *g = exec;
    enter(&c, "hipGraphNodeSetEnabled");
    put64(&c, 0, (uint64_t)(uintptr_t)exec);
    put64(&c, 8, (uint64_t)(uintptr_t)node);
    begin(&c);
    for (int i = 0; i < GRAPHS; i++)
        for (int k = 0; k < NODES; k++)
            if (&me.graphs[i].nodes[k] == node)
                g->nodes[k].off = !enabled;
    return leave(&c, 0);
}

int hipGraphExecDestroy(void *exec)
{
    struct fake_call c;
    enter(&c, "hipGraphExecDestroy");
    put64(&c, 0, (uint64_t)(uintptr_t)exec);
    begin(&c);
    return leave(&c, 0);
}

int hipGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    struct graph *g = graph;
    for (int i = 0; nodes && i < g->count && (size_t)i < *count; i++)
        nodes[i] = &g->nodes[i];
    *count = (size_t)g->count;
    return 0;
}

int hipGraphNodeGetType(void *node, int *type)
{
    const char *script = getenv("FAKE_ROCM");
    *type = ((struct node *)node)->type;
    if (script && strstr(script, "strange"))
        *type = 77; /* of a later release */
    return 0;
}

int hipGraphChildGraphNodeGetGraph(void *node, void **graph)
{
    *graph = ((struct node *)node)->child;
    return *graph ? 0 : FAULT;
}

void *fake_graph(const void *function, int n)
{
    struct graph *g = new_graph(), *child = new_graph();
    *child = (struct graph){1, {{NODE_KERNEL, function, NULL, 0}}};
    *g = (struct graph){.count = 0};
    for (int i = 1; i < n; i++)
        g->nodes[g->count++] = (struct node){NODE_KERNEL, function, NULL, 0};
    g->nodes[g->count++] = (struct node){NODE_GRAPH, NULL, child, 0};
    g->nodes[g->count++] = (struct node){NODE_MEMSET, &kernels[FILL], NULL, 0};
    return g;
}

const void *fake_kernel(int which)
{
    return &kernels[which];
}

const void *fake_kernel_named(const char *name)
{
    for (int i = PLANTED; i < KERNELS; i++)
        if (!strncmp(kernels[i].name, name, strlen(name)) &&
            !strcmp(kernels[i].name + strlen(name), ".kd"))
            return &kernels[i];
    return NULL;
}
