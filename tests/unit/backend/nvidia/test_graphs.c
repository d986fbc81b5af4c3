/* test_graphs.c - tests counting the kernels of a graph through the driver's
 * calls, and the table that launch callbacks read. */
#include <stdio.h>
#include <string.h>

#include <pthread.h>
#include <stdatomic.h>

#include "backend/nvidia/record/graphs.h"
#include "tests/test.h"

/* A driver whose handles point to these. */
struct fake_node {
    int type;
    const struct fake_graph *child;
};

struct fake_graph {
    size_t count;
    const struct fake_node *nodes;
};

static int fake_get_nodes(cuda_graph graph, cuda_node *nodes, size_t *count)
{
    const struct fake_graph *g = (const void *)graph;
    for (size_t i = 0; nodes && i < g->count && i < *count; i++)
        nodes[i] = (cuda_node)(uintptr_t)&g->nodes[i];
    *count = g->count;
    return CUDA_OK;
}

static int fake_get_type(cuda_node node, int *type)
{
    *type = ((const struct fake_node *)node)->type;
    return *type < 0 ? 1 : CUDA_OK;
}

static int fake_get_child(cuda_node node, cuda_graph *graph)
{
    *graph = (cuda_graph)(uintptr_t)((const struct fake_node *)node)->child;
    return CUDA_OK;
}

static const struct cuda driver = {
    .cuGraphGetNodes = fake_get_nodes,
    .cuGraphNodeGetType = fake_get_type,
    .cuGraphChildGraphNodeGetGraph = fake_get_child,
};

static int64_t count(const struct fake_graph *g)
{
    return graphs_count_kernels(&driver, (cuda_graph)(uintptr_t)g);
}

TEST(kernels_are_counted_through_child_graphs)
{
    const struct fake_node leaf_nodes[] = {{CUDA_NODE_KERNEL, NULL}, {CUDA_NODE_KERNEL, NULL}};
    const struct fake_graph leaf = {2, leaf_nodes};
    const struct fake_node middle_nodes[] = {{CUDA_NODE_GRAPH, &leaf}, {2, NULL}};
    const struct fake_graph middle = {2, middle_nodes};
    const struct fake_node top_nodes[] = {
        {CUDA_NODE_KERNEL, NULL}, {1, NULL}, {CUDA_NODE_GRAPH, &middle}, {CUDA_NODE_GRAPH, &leaf}};
    const struct fake_graph top = {4, top_nodes}, empty = {0, NULL};
    assert_int_equal(count(&leaf), 2);
    assert_int_equal(count(&middle), 2);
    assert_int_equal(count(&top), 5);
    assert_int_equal(count(&empty), 0);
}

TEST(what_cannot_be_counted_is_unknown)
{
    const struct fake_node conditional[] = {{CUDA_NODE_KERNEL, NULL},
                                            {CUDA_NODE_CONDITIONAL, NULL}};
    const struct fake_graph inner = {2, conditional};
    const struct fake_node nodes[] = {{CUDA_NODE_GRAPH, &inner}, {CUDA_NODE_KERNEL, NULL}};
    const struct fake_graph outer = {2, nodes};
    const struct fake_node broken[] = {{-1, NULL}};
    const struct fake_graph refused = {1, broken};
    const struct cuda old = {.cuGraphGetNodes = NULL};
    struct fake_node loop_nodes[] = {{CUDA_NODE_GRAPH, NULL}};
    const struct fake_graph loop = {1, loop_nodes};
    loop_nodes[0].child = &loop; /* no real graph is like that, but counting ends */
    assert_int_equal(count(&outer), CELL_NULL);
    assert_int_equal(count(&refused), CELL_NULL);
    assert_int_equal(count(&loop), CELL_NULL);
    assert_int_equal(graphs_count_kernels(&old, (cuda_graph)(uintptr_t)&outer), CELL_NULL);
    assert_int_equal(graphs_count_kernels(NULL, (cuda_graph)(uintptr_t)&outer), CELL_NULL);
}

static cuda_exec exec_at(uintptr_t n)
{
    return (cuda_exec)(0x550000000000u + n * 64);
}

TEST(graphs_are_found_until_they_are_dropped)
{
    assert_int_equal(graphs_find(exec_at(1)).number, 0);
    struct graph_info a = graphs_add(exec_at(1), 100), b = graphs_add(exec_at(2), CELL_NULL);
    assert_true(a.number > 0 && b.number > a.number);
    assert_int_equal(graphs_find(exec_at(1)).kernels, 100);
    assert_int_equal(graphs_find(exec_at(2)).kernels, CELL_NULL);
    graphs_forget_count(exec_at(1));
    assert_int_equal(graphs_find(exec_at(1)).number, a.number);
    assert_int_equal(graphs_find(exec_at(1)).kernels, CELL_NULL);
    graphs_drop(exec_at(1));
    assert_int_equal(graphs_find(exec_at(1)).number, 0);
    struct graph_info c = graphs_add(exec_at(1), 7); /* another graph at the same address */
    assert_true(c.number > b.number);
    assert_int_equal(graphs_find(exec_at(1)).kernels, 7);
    graphs_drop(exec_at(99));
    graphs_forget_count(exec_at(99));
    assert_int_equal(graphs_find(NULL).number, 0);
    assert_int_equal(graphs_add(exec_at(3), 0).kernels, 0);
}

enum { MANY = 20000 };

static _Atomic int writing;

/* A reader finds only whole entries: graph n has n kernels. */
static void *reader(void *arg)
{
    uint64_t *seen = arg;
    while (atomic_load(&writing))
        for (uintptr_t n = 1000; n < 1000 + MANY; n += 97) {
            struct graph_info g = graphs_find(exec_at(n));
            if (!g.number)
                continue;
            assert_int_equal(g.kernels, n);
            ++*seen;
        }
    return NULL;
}

TEST(readers_never_see_half_of_an_entry)
{
    pthread_t thread;
    uint64_t seen = 0;
    atomic_store(&writing, 1);
    assert_int_equal(pthread_create(&thread, NULL, reader, &seen), 0);
    for (uintptr_t n = 1000; n < 1000 + MANY; n++) {
        graphs_add(exec_at(n), (int64_t)n);
        if (n % 3 == 0)
            graphs_drop(exec_at(n));
    }
    atomic_store(&writing, 0);
    pthread_join(thread, NULL);
    for (uintptr_t n = 1000; n < 1000 + MANY; n++)
        assert_int_equal(graphs_find(exec_at(n)).kernels, n % 3 ? (int64_t)n : CELL_NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_counted_through_child_graphs),
        cmocka_unit_test(what_cannot_be_counted_is_unknown),
        cmocka_unit_test(graphs_are_found_until_they_are_dropped),
        cmocka_unit_test(readers_never_see_half_of_an_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
