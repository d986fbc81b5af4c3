/* graphs.c - see graphs.h.
 *
 * A table with open addressing and two atomic words per graph: its address, and a word with its
 * number and kernel count, so that a reader sees both or neither. A slot never changes its address;
 * the word of a destroyed graph is 0, and its slot is dropped when the table grows. Older tables
 * stay allocated, because a thread may be reading one: together they are smaller than the present
 * one.
 *
 * Counting asks the driver for the graph's nodes, on the calling thread, at the exit of the
 * instantiating call, where the driver holds no lock. */
#include "backend/nvidia/record/graphs.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>

enum { FIRST_CAPACITY = 256, NESTING_MAX = 16, KERNELS_UNKNOWN = UINT32_MAX >> 1 };

struct slot {
    _Atomic uintptr_t exec; /* 0: free; written once */
    _Atomic uint64_t word;  /* number << 32 | kernels; 0: destroyed. Release, with find's acquire */
};

struct table {
    struct table *outgrown; /* the one before; kept for readers that may be in it */
    size_t capacity;        /* a power of two */
    size_t used;            /* slots with an address; guarded by lock */
    struct slot slots[];    /* linear probing */
};

static struct {
    pthread_mutex_t lock;
    _Atomic(struct table *) current; /* release by writers, acquire by readers */
    uint32_t last_number;            /* guarded by lock */
} me = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t slot_of(const struct table *t, uintptr_t exec)
{
    return (size_t)((exec >> 4) * 0x9E3779B97F4A7C15u >> 32) & (t->capacity - 1);
}

/* Returns the slot of exec, or a free slot for it; there always is one. *found: it is the slot of
 * exec. A reader must not read a free slot, which another thread may be filling with another
 * graph. */
static struct slot *table_probe(struct table *t, uintptr_t exec, bool *found)
{
    for (size_t i = slot_of(t, exec);; i = (i + 1) & (t->capacity - 1)) {
        uintptr_t at = atomic_load_explicit(&t->slots[i].exec, memory_order_acquire);
        *found = at == exec;
        if (*found || at == 0)
            return &t->slots[i];
    }
}

static uint64_t word_pack(uint32_t number, int64_t kernels)
{
    uint64_t low = kernels < 0 || kernels >= KERNELS_UNKNOWN ? KERNELS_UNKNOWN : (uint64_t)kernels;
    return (uint64_t)number << 32 | low;
}

static struct graph_info word_unpack(uint64_t word)
{
    uint32_t low = (uint32_t)word;
    return (struct graph_info){
        .number = (int64_t)(word >> 32),
        .kernels = low == KERNELS_UNKNOWN || !word ? CELL_NULL : (int64_t)low,
    };
}

struct graph_info graphs_find(cuda_exec exec)
{
    struct table *t = atomic_load_explicit(&me.current, memory_order_acquire);
    if (!t || !exec)
        return word_unpack(0);
    bool found;
    struct slot *s = table_probe(t, (uintptr_t)exec, &found);
    return word_unpack(found ? atomic_load_explicit(&s->word, memory_order_acquire) : 0);
}

/* Makes room for one more, so that at most half of the slots are used; lock held. */
static struct table *table_reserve(void)
{
    struct table *old = atomic_load_explicit(&me.current, memory_order_relaxed);
    if (old && (old->used + 1) * 2 <= old->capacity)
        return old;
    size_t capacity = old ? old->capacity * 2 : FIRST_CAPACITY;
    struct table *t = mem_zalloc(sizeof *t + capacity * sizeof *t->slots);
    if (!t)
        return NULL;
    t->capacity = capacity;
    t->outgrown = old;
    for (size_t i = 0; old && i < old->capacity; i++) {
        uintptr_t exec = atomic_load_explicit(&old->slots[i].exec, memory_order_relaxed);
        uint64_t word = atomic_load_explicit(&old->slots[i].word, memory_order_relaxed);
        if (!word)
            continue;
        bool found;
        struct slot *s = table_probe(t, exec, &found);
        atomic_store_explicit(&s->word, word, memory_order_relaxed);
        atomic_store_explicit(&s->exec, exec, memory_order_relaxed);
        t->used++;
    }
    atomic_store_explicit(&me.current, t, memory_order_release);
    return t;
}

struct graph_info graphs_add(cuda_exec exec, int64_t kernels)
{
    uint64_t word = 0;
    pthread_mutex_lock(&me.lock);
    struct table *t = exec ? table_reserve() : NULL;
    if (t) {
        bool found;
        struct slot *s = table_probe(t, (uintptr_t)exec, &found);
        word = word_pack(++me.last_number, kernels);
        atomic_store_explicit(&s->word, word, memory_order_release);
        if (!found) {
            atomic_store_explicit(&s->exec, (uintptr_t)exec, memory_order_release);
            t->used++;
        }
    }
    pthread_mutex_unlock(&me.lock);
    return word_unpack(word);
}

static void word_change(cuda_exec exec, bool drop)
{
    pthread_mutex_lock(&me.lock);
    struct table *t = atomic_load_explicit(&me.current, memory_order_relaxed);
    bool found = false;
    struct slot *s = t && exec ? table_probe(t, (uintptr_t)exec, &found) : NULL;
    uint64_t word = found ? atomic_load_explicit(&s->word, memory_order_relaxed) : 0;
    if (word)
        atomic_store_explicit(&s->word,
                              drop ? 0 : word_pack((uint32_t)(word >> 32), KERNELS_UNKNOWN),
                              memory_order_release);
    pthread_mutex_unlock(&me.lock);
}

void graphs_forget_count(cuda_exec exec)
{
    word_change(exec, false);
}

void graphs_drop(cuda_exec exec)
{
    word_change(exec, true);
}

void graphs_forget(void)
{
    pthread_mutex_lock(&me.lock);
    struct table *t = atomic_load_explicit(&me.current, memory_order_relaxed);
    for (size_t i = 0; t && i < t->capacity; i++)
        atomic_store_explicit(&t->slots[i].word, 0, memory_order_release);
    pthread_mutex_unlock(&me.lock);
}

/* ---- counting -------------------------------------------------------------------------- */

static int64_t count_nodes(const struct cuda *c, cuda_graph graph, int depth);

/* Returns the number of kernels that one node runs, or CELL_NULL. */
static int64_t count_node(const struct cuda *c, cuda_node node, int depth)
{
    int type;
    cuda_graph child;
    if (c->cuGraphNodeGetType(node, &type) != CUDA_OK || type == CUDA_NODE_CONDITIONAL)
        return CELL_NULL;
    if (type != CUDA_NODE_GRAPH)
        return type == CUDA_NODE_KERNEL;
    if (depth == NESTING_MAX || !c->cuGraphChildGraphNodeGetGraph ||
        c->cuGraphChildGraphNodeGetGraph(node, &child) != CUDA_OK)
        return CELL_NULL;
    return count_nodes(c, child, depth + 1);
}

static int64_t count_nodes(const struct cuda *c, cuda_graph graph, int depth)
{
    size_t count = 0;
    if (c->cuGraphGetNodes(graph, NULL, &count) != CUDA_OK)
        return CELL_NULL;
    if (count == 0)
        return 0;
    cuda_node *nodes = mem_array(count, sizeof *nodes);
    if (!nodes || c->cuGraphGetNodes(graph, nodes, &count) != CUDA_OK) {
        mem_free(nodes);
        return CELL_NULL;
    }
    int64_t kernels = 0;
    for (size_t i = 0; i < count && kernels != CELL_NULL; i++) {
        int64_t n = count_node(c, nodes[i], depth);
        kernels = n == CELL_NULL ? CELL_NULL : kernels + n;
    }
    mem_free(nodes);
    return kernels;
}

int64_t graphs_count_kernels(const struct cuda *c, cuda_graph graph)
{
    if (!c || !graph || !c->cuGraphGetNodes || !c->cuGraphNodeGetType)
        return CELL_NULL;
    return count_nodes(c, graph, 0);
}
