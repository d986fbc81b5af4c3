/* graph_breaks.c - a step is a CUDA graph, then kernels that are launched one by one while the host
 * computes between them, then a graph again, as if a compiler had to leave part of a function out
 * of its graphs; clean: one graph has the whole step. */
#include "gpu.h"

enum { STEPS = 60, IN_GRAPH = 8, SINGLES = 14, NODE = 5 };

typedef struct gpu_graph_handle *gpu_graph;
typedef struct gpu_exec_handle *gpu_exec;
typedef struct gpu_node_handle *gpu_node;

struct node_params {
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context;
};

int cuGraphCreate(gpu_graph *graph, unsigned flags);
int cuGraphAddKernelNode_v2(gpu_node *node, gpu_graph graph, const gpu_node *after, size_t count,
                            const struct node_params *params);
int cuGraphInstantiateWithFlags(gpu_exec *exec, gpu_graph graph, unsigned long long flags);
int cuGraphLaunch(gpu_exec exec, gpu_stream stream);
int cuGraphDestroy(gpu_graph graph);
int cuGraphExecDestroy(gpu_exec exec);

static gpu_exec make_graph(void *kernel, int kernels)
{
    int64_t ns = NODE * US;
    void *arguments[] = {&ns};
    gpu_graph graph;
    gpu_exec exec;
    gpu_node last, node;
    GPU(cuGraphCreate(&graph, 0));
    for (int i = 0; i < kernels; i++, last = node)
        GPU(cuGraphAddKernelNode_v2(
            &node, graph, i ? &last : NULL, i > 0,
            &(struct node_params){kernel, {1, 1, 1}, {64, 1, 1}, .arguments = arguments}));
    GPU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    GPU(cuGraphDestroy(graph));
    return exec;
}

static void train(void *kernel, gpu_exec graph, int singles)
{
    gpu_stream stream;
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int step = 0; step < STEPS; step++) {
        GPU(cuGraphLaunch(graph, stream));
        for (int i = 0; i < singles; i++) {
            gpu_host_work(30 * US);
            LAUNCH(kernel, 1, 64, stream, NODE * US); /* PLANTED: graph-single */
        }
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: graph-end */
}

int main(int argc, char **argv)
{
    bool clean = gpu_open(argc, argv);
    void *kernel = gpu_kernel("spin");
    gpu_exec graph = make_graph(kernel, clean ? IN_GRAPH + SINGLES : IN_GRAPH);
    train(kernel, graph, clean ? 0 : SINGLES);
    GPU(cuGraphExecDestroy(graph));
}
