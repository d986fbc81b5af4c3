/* test_sum_graphs.c - launches of graphs, put together from their kernels or recorded whole. */
#include "analyze/model/model.h"
#include "tests/test.h"

#include "tests/unit/support/rows.h"

#include <string.h>

static void kernel(struct model *m, int64_t graph, int64_t correlation, int64_t node, int64_t start,
                   int64_t duration)
{
    struct kernel_row row = {.start = start,
                             .duration = duration,
                             .graph = graph,
                             .graph_node = graph ? node : 0,
                             .correlation = correlation};
    rows_put(m, RECORD_kernel, &row);
}

static const struct graph_sum *nth(const struct model *m, size_t i)
{
    assert_true(i < m->graphs.by_time_count);
    return keyed_at(&m->graphs.graphs, m->graphs.by_time[i]);
}

/* A launch lasts from the first start to the last end, among kernels of other launches and of no
 * graph. */
TEST(by_node)
{
    struct model m;
    model_init(&m, names);
    kernel(&m, 3, 10, 1, 1000, 100);
    kernel(&m, 3, 11, 1, 1050, 100);
    kernel(&m, 0, 12, 0, 1060, 5);
    kernel(&m, 3, 10, 2, 1200, 300);
    kernel(&m, 3, 11, 2, 1600, 100);
    kernel(&m, 5, 13, 1, 2000, 10);
    assert_int_equal(model_finish(&m), 0);
    assert_string_equal(sum_graphs_activity(&m.graphs), "nodes");
    assert_int_equal(m.graphs.all.launches, 3);
    assert_int_equal(m.graphs.all.kernels, 5);
    assert_int_equal(nth(&m, 0)->graph, 3);
    assert_int_equal(nth(&m, 0)->launches, 2);
    assert_int_equal(nth(&m, 0)->time, 500 + 650);
    assert_int_equal(nth(&m, 0)->max, 650);
    assert_int_equal(nth(&m, 0)->kernel_time, 600);
    assert_int_equal(nth(&m, 1)->launches, 1);
    model_fini(&m);
}

/* The driver uses ids again: a repetition of the first node is another launch. */
TEST(ids_that_come_again)
{
    struct model m;
    model_init(&m, names);
    for (int64_t i = 0; i < 4; i++) {
        kernel(&m, 3, 10, 1, 1000 * i + 1000, 10);
        kernel(&m, 3, 10, 2, 1000 * i + 1020, 10);
    }
    assert_int_equal(model_finish(&m), 0);
    assert_int_equal(m.graphs.all.launches, 4);
    assert_int_equal(m.graphs.all.time, 4 * 30);
    model_fini(&m);
}

/* Graphs of two processes with the same id are two graphs, and the sums add up. */
TEST(as_a_whole_of_two_sessions)
{
    struct model all, one;
    model_init(&all, names);
    for (int i = 0; i < 2; i++) {
        struct graph_run_row row = {.start = 1000, .duration = 40 + i, .graph = 3};
        model_init(&one, names);
        one.facts.sessions = 1;
        rows_put(&one, RECORD_graph_run, &row);
        assert_int_equal(model_finish(&one), 0);
        assert_string_equal(sum_graphs_activity(&one.graphs), "launches");
        assert_int_equal(model_merge(&all, &one), 0);
        model_fini(&one);
    }
    assert_int_equal(model_settle(&all), 0);
    assert_int_equal(all.graphs.all.launches, 2);
    assert_int_equal(all.graphs.all.time, 81);
    assert_int_equal(all.graphs.by_time_count, 2);
    assert_int_equal(nth(&all, 0)->time, 41);
    assert_true(nth(&all, 0)->kernels == 0);
    model_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_node, rows_set_up, rows_tear_down),
        cmocka_unit_test_setup_teardown(ids_that_come_again, rows_set_up, rows_tear_down),
        cmocka_unit_test_setup_teardown(as_a_whole_of_two_sessions, rows_set_up, rows_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
