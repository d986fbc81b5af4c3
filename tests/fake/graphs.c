/* graphs.c - runs graphs of the fake driver: kernel nodes and child graphs, run one after the
 * other. */
#include "driver.h"

#include "backend/nvidia/abi/cupti.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { NODES = 64 };

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

EXPORT int cuGraphCreate(cuda_graph *graph, unsigned flags)
{
    (void)flags;
    *graph = calloc(1, sizeof **graph);
    return *graph ? CUDA_OK : 2;
}

/* Executables have copies of the nodes; child graphs are their owner's. */
EXPORT int cuGraphDestroy(cuda_graph graph)
{
    free(graph);
    return CUDA_OK;
}

/* This is not the real signature: a test adds n kernels of a duration, or a child graph. */
EXPORT void fake_graph_add(cuda_graph graph, int n, int64_t duration, cuda_graph child)
{
    for (int i = 0; i < n && graph->count < NODES; i++)
        graph->nodes[graph->count++] = (struct cuda_node_handle){CUDA_NODE_KERNEL, duration, NULL};
    if (child && graph->count < NODES)
        graph->nodes[graph->count++] = (struct cuda_node_handle){CUDA_NODE_GRAPH, 0, child};
}

/* The driver's CUDA_KERNEL_NODE_PARAMS_v2. */
struct node_params {
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context;
};

/* Nodes run in the order in which they were added, whatever they depend on. */
EXPORT int cuGraphAddKernelNode_v2(cuda_node *node, cuda_graph graph, const cuda_node *after,
                                   size_t count, const struct node_params *p)
{
    const struct fake_kernel *k = launched_kernel(p->function);
    (void)after, (void)count;
    if (!k || graph->count == NODES)
        return 1;
    *node = &graph->nodes[graph->count++];
    **node = (struct cuda_node_handle){CUDA_NODE_KERNEL,
                                       k->ns ? k->ns : *(const int64_t *)p->arguments[0], NULL};
    return CUDA_OK;
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
    const struct fake_hooks *h = driver_hooks();
    if (h->graph_exec)
        h->graph_exec(CUPTI_RESOURCE_GRAPHEXEC_CREATED, graph, *exec);
    return call_exit(&c, CUDA_OK);
}

EXPORT int cuGraphExecDestroy(cuda_exec exec)
{
    struct cuda_graph_exec_params p = {exec};
    struct call c;
    call_enter(&c, 516, "cuGraphExecDestroy", &p, NULL);
    const struct fake_hooks *h = driver_hooks();
    if (h->graph_exec)
        h->graph_exec(CUPTI_RESOURCE_GRAPHEXEC_DESTROY, &exec->graph, exec);
    free(exec);
    return call_exit(&c, CUDA_OK);
}

/* Queues the graph's work. whole: gets the first node's start, if that is still 0, and the last
 * node's end. */
static void run_graph(const struct cuda_graph_handle *graph, struct fake_op *op,
                      struct fake_op *whole)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i].child) {
            run_graph(graph->nodes[i].child, op, whole);
            continue;
        }
        op->graph_node++;
        queue_op(op, graph->nodes[i].duration);
        whole->start = whole->start ? whole->start : op->start;
        whole->end = op->end;
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
                         .registers = 32,
                         .graph = exec->number,
                         .graph_node = (uint64_t)exec->number << 32};
    struct fake_op whole = op;
    run_graph(&exec->graph, &op, &whole);
    whole.work = FAKE_GRAPH;
    report_op(&whole);
    return call_exit(&c, CUDA_OK);
}

/* In a real driver, launches between these two calls become nodes of a graph. No program here
 * launches between them. */
EXPORT int cuStreamBeginCapture_v2(cuda_stream stream, int mode)
{
    const struct {
        cuda_stream stream;
        int mode;
    } p = {stream, mode};
    struct call c;
    call_enter(&c, 539, "cuStreamBeginCapture_v2", &p, NULL);
    return call_exit(&c, CUDA_OK);
}

EXPORT int cuStreamEndCapture(cuda_stream stream, cuda_graph *graph)
{
    const struct {
        cuda_stream stream;
        cuda_graph *graph;
    } p = {stream, graph};
    struct call c;
    *graph = NULL;
    call_enter(&c, 497, "cuStreamEndCapture", &p, NULL);
    return call_exit(&c, CUDA_OK);
}
