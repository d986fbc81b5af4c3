/* test_graphs.c - launches of HIP graphs and the kernels in them, and RCCL's kernels, over the fake
 * HIP and rocprofiler-sdk. */
#include "tests/fake/rocm/run_rocm.h"
#include "tests/test.h"

#include <string.h>

/* The kernels of a graph are counted when it is instantiated, those of a child graph included, but
 * not its fill: each launch is known to have so many records. */
TEST(graphs_are_counted)
{
    for (int rocm = OLD; rocm <= NEW; rocm++) {
        struct run r;
        run_rocm(&r, rocm, "FAKE_ROCP=shuffle,late=3", NULL, LIST("10", "threads=2", "graphs=5"));
        check_counts(&r, "complete", 20 + 2 * 5 * 3, 2 * 5);
        assert_int_equal(int_at(r.report, "ledger.graph_launches"), 10);
        assert_int_equal(int_at(r.report, "ledger.graph_kernels"), 30);
        assert_int_equal(int_at(r.report, "ledger.graph_unknown"), 0);
        run_free(&r);
    }
}

/* A kernel of a graph without a record is missed. */
TEST(kernels_of_graphs_that_are_lost)
{
    struct run r;
    run_rocm(&r, OLD, "FAKE_ROCP=drop=10", NULL, LIST("0", "graphs=50"));
    check_program(&r, 0);
    assert_string_equal(text_at(r.report, "ledger.verdict"), "incomplete");
    assert_int_equal(int_at(r.report, "ledger.graph_kernels"), 150);
    assert_in_range(int_at(r.report, "ledger.kernels_written"), 100, 149);
    run_free(&r);
}

/* If nobody saw the instantiation, if a node was switched off, or if a node is of a later release's
 * kind, the rows are there, and the ledger says that they were not counted. */
TEST(graphs_that_are_not_known)
{
    static const struct {
        const char *option, *script;
        int64_t unknown, kernels;
    } cases[] = {{"early", "FAKE_ROCM=", 5, 15},
                 {"changed", "FAKE_ROCM=", 1, 14},
                 {"", "FAKE_ROCM=strange", 5, 15}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        run_with(&r, OLD, LIST("FAKE_ROCP=shuffle", cases[i].script, NULL), NULL,
                 LIST("10", "graphs=5", cases[i].option));
        check_counts(&r, "uncounted", 10 + cases[i].kernels, 5);
        assert_int_equal(int_at(r.report, "ledger.graph_unknown"), cases[i].unknown);
        run_free(&r);
    }
}

/* A window has launches of graphs with their kernels, though the graph was made before it. */
TEST(graphs_in_windows)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=", LIST("--after-launches", "100", "--launches", "10"),
             LIST("100", "graphs=50"));
    check_program(&r, 0);
    assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
    assert_int_equal(int_at(r.report, "ledger.graph_unknown"), 0);
    assert_true(int_at(r.report, "ledger.graph_launches") > 0);
    run_free(&r);
}

/* RCCL's kernels have NCCL's names: they are a library's collectives, and nothing to be tuned. */
TEST(collectives_are_a_librarys)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=", NULL, LIST("10", "collectives=20"));
    check_counts(&r, "complete", 30, 0);
    size_t i, found = 0;
    json_t *one;
    json_array_foreach(at(r.report, "kernels.by_name"), i, one)
    {
        if (strncmp(text_at(one, "symbol"), "_Z23ncclDevKernel", 17) != 0)
            continue;
        found++;
        assert_string_equal(text_at(one, "short_name"), "NCCL Generic 4");
        assert_int_equal(int_at(one, "count"), 20);
    }
    assert_int_equal(found, 1);
    json_array_foreach(at(r.report, "insights"), i, one)
    {
        bool tunes = strcmp(text_at(one, "id"), "occupancy") == 0;
        assert_false(tunes && strstr(text_at(one, "text"), "NCCL"));
    }
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_are_counted),
        cmocka_unit_test(kernels_of_graphs_that_are_lost),
        cmocka_unit_test(graphs_that_are_not_known),
        cmocka_unit_test(graphs_in_windows),
        cmocka_unit_test(collectives_are_a_librarys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
