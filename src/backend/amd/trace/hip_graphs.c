/* hip_graphs.c - see hip_graphs.h.
 *
 * HIP is called inside the callback at the end of an instantiation: the runtime's own code has
 * returned by then, and holds no lock. Counting nodes neither allocates on the device nor waits. A
 * graph with a node of an unknown kind has no count. */
#include "backend/amd/trace/hip_graphs.h"

#include "backend/amd/trace/handles.h"
#include "base/alloc.h"
#include "base/process/dl.h"

#include <pthread.h>
#include <string.h>

enum { DEPTH_MOST = 16, NODES_MOST = 1 << 22 };
enum { HIP_NODE_KERNEL = 0, HIP_NODE_GRAPH = 4, HIP_NODE_LAST = 13 }; /* hipGraphNodeType */

enum does { DOES_NOTHING, DOES_INSTANTIATE, DOES_CHANGE, DOES_DESTROY };

/* Lists the functions whose first argument is the executable graph, or the place where it is
 * stored. */
static const struct {
    const char *name;
    enum does does;
} calls[] = {
    {"hipGraphInstantiate", DOES_INSTANTIATE},
    {"hipGraphInstantiateWithFlags", DOES_INSTANTIATE},
    {"hipGraphInstantiateWithParams", DOES_INSTANTIATE},
    {"hipGraphNodeSetEnabled", DOES_CHANGE}, /* of a kernel, which then has no record */
    {"hipGraphExecDestroy", DOES_DESTROY},
};

_Static_assert(sizeof calls / sizeof *calls <= HIP_GRAPHS_OPERATIONS, "room for all calls");

#define HIP_GRAPH_FUNCTIONS(F)                                                                     \
    F(hipGraphGetNodes, (void *graph, void **nodes, size_t *count))                                \
    F(hipGraphNodeGetType, (void *node, int *type))                                                \
    F(hipGraphChildGraphNodeGetGraph, (void *node, void **graph))

struct hip {
#define MEMBER(name, arguments) int(*name) arguments;
    HIP_GRAPH_FUNCTIONS(MEMBER)
#undef MEMBER
};

static const struct dl_symbol symbols[] = {
#define SYMBOL(name, arguments) {#name, offsetof(struct hip, name), true},
    HIP_GRAPH_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static struct {
    uint8_t call[ROCP_OPERATIONS]; /* row of calls, from 1 on; written before callbacks */
    struct handles execs;
    _Atomic int64_t kernels[HANDLES_MOST + 1]; /* by number: count + 1; 0: not known. Relaxed */
    pthread_once_t once;
    struct hip hip;
    bool has_hip; /* constant after once */
} me = {.once = PTHREAD_ONCE_INIT};

/* ---- numbers of operations ----------------------------------------------------------- */

size_t hip_graphs_find(const struct rocp *sdk, uint32_t operations[HIP_GRAPHS_OPERATIONS])
{
    const struct rocp_named names = {calls, sizeof *calls, sizeof calls / sizeof *calls};
    return rocp_find_calls(sdk, &names, me.call, operations);
}

static enum does does_of(uint32_t operation)
{
    unsigned call = operation < ROCP_OPERATIONS ? me.call[operation] : 0;
    return call ? calls[call - 1].does : DOES_NOTHING;
}

/* ---- counting ------------------------------------------------------------------------ */

static void find_hip(void)
{
    struct err unused;
    void *library = dl_find_loaded("libamdhip64.so", NULL, 0);
    me.has_hip = library &&
                 dl_fill(library, symbols, sizeof symbols / sizeof *symbols, &me.hip, &unused) == 0;
}

static int64_t count_in(void *graph, int depth);

/* Returns the number of kernels of one node; CELL_NULL: not known. */
static int64_t count_node(void *node, int depth)
{
    int type = -1;
    void *child = NULL;
    if (me.hip.hipGraphNodeGetType(node, &type) != 0 || type < 0 || type > HIP_NODE_LAST)
        return CELL_NULL;
    if (type != HIP_NODE_GRAPH)
        return type == HIP_NODE_KERNEL;
    return depth > 0 && me.hip.hipGraphChildGraphNodeGetGraph(node, &child) == 0 && child
               ? count_in(child, depth - 1)
               : CELL_NULL;
}

static int64_t count_in(void *graph, int depth)
{
    size_t count = 0, filled;
    int64_t sum = 0;
    if (me.hip.hipGraphGetNodes(graph, NULL, &count) != 0 || count > NODES_MOST)
        return CELL_NULL;
    if (!count)
        return 0;
    void **nodes = mem_array(count, sizeof *nodes);
    filled = count;
    if (!nodes || me.hip.hipGraphGetNodes(graph, nodes, &filled) != 0 || filled != count)
        sum = CELL_NULL;
    for (size_t i = 0; sum != CELL_NULL && i < count; i++) {
        int64_t more = count_node(nodes[i], depth);
        sum = more == CELL_NULL ? CELL_NULL : sum + more;
    }
    mem_free(nodes);
    return sum;
}

/* ---- calls --------------------------------------------------------------------------- */

static void know(uint64_t exec, int64_t kernels)
{
    uint32_t number = exec ? hip_graphs_number(exec) : 0;
    if (number)
        atomic_store_explicit(&me.kernels[number], kernels == CELL_NULL ? 0 : kernels + 1,
                              memory_order_relaxed);
}

static void instantiated(uint64_t to, uint64_t graph)
{
    uint64_t exec = 0;
    if (to)
        memcpy(&exec, (const void *)(uintptr_t)to, sizeof exec);
    pthread_once(&me.once, find_hip);
    know(exec, me.has_hip && graph ? count_in((void *)(uintptr_t)graph, DEPTH_MOST) : CELL_NULL);
}

void hip_graphs_event(const struct call_event *e)
{
    enum does does = does_of(e->operation);
    bool enters = e->phase == ROCP_ENTER;
    if (!does || !e->call || (!enters && e->phase != ROCP_EXIT))
        return;
    uint64_t first = calls_argument(e->call, 0);
    if (does != DOES_INSTANTIATE && enters)
        know(first, CELL_NULL); /* before another thread's graph can get this address */
    else if (does == DOES_INSTANTIATE && !enters && calls_result(e->call) == 0)
        instantiated(first, calls_argument(e->call, sizeof first));
}

uint32_t hip_graphs_number(uint64_t exec)
{
    return handles_number(&me.execs, exec);
}

int64_t hip_graphs_kernels(uint32_t number)
{
    int64_t known = number <= HANDLES_MOST
                        ? atomic_load_explicit(&me.kernels[number], memory_order_relaxed)
                        : 0;
    return known ? known - 1 : CELL_NULL;
}
