/* test_kernels.c - tests occupancy and local memory of kernels, and reasons for low clocks. */
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <stdlib.h>
#include <string.h>

TEST(test_occupancy)
{
    static const struct {
        const char *limiter;
        int64_t warps;
        bool fires;
    } cases[] = {{"registers", 16, true},    {"shared_mem", 31, true}, {"blocks", 32, false},
                 {"registers", 36, true},    {"registers", 40, false}, {"warps", 36, false},
                 {"warps", CELL_NULL, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        finder_begin("occupancy");
        finder_kernels(
            (struct config_row){.occ_warps = cases[i].warps, .occ_max_warps = 64, .registers = 128},
            program_name(&finder.p, cases[i].limiter));
        finder_look();
        const struct insight *at = finder_find("occupancy", "");
        assert_int_equal(at != NULL, cases[i].fires);
        if (at) {
            assert_int_equal(at->rule->bound, INSIGHT_ESTIMATED);
            assert_non_null(strstr(at->text, "gemm"));
            assert_true(at->gives_back <= 5000000 * (64 - cases[i].warps) / 64);
        }
        finder_only("occupancy", "");
        finder_end();
    }
}

/* Local memory that is only reserved is no finding. */
TEST(test_spills)
{
    for (int64_t local = 0; local <= 256; local += 256) {
        finder_begin("spills");
        finder_kernels((struct config_row){.occ_warps = 64,
                                           .occ_max_warps = 64,
                                           .registers = 64,
                                           .local_per_thread = local,
                                           .local_total = 512 << 20},
                       program_name(&finder.p, "warps"));
        finder_look();
        const struct insight *at = finder_find("spills", "");
        assert_int_equal(at != NULL, local != 0);
        if (at)
            assert_int_equal(at->gives_back, 2500000);
        finder_end();
    }
}

/* ---- the steady part --------------------------------------------------------------------- */

static int64_t spilling_of(const char *name, int64_t grid)
{
    struct config_row c = {.id = ++finder.p.ids,
                           .name = program_name(&finder.p, name),
                           .device = 1,
                           .grid_x = grid,
                           .occ_warps = 64,
                           .occ_max_warps = 64,
                           .registers = 64,
                           .local_per_thread = 256};
    make_log_rows(&finder.p.log, RECORD_config, &c, 1);
    return c.id;
}

static int64_t spilling(const char *name)
{
    return spilling_of(name, 1);
}

static void launch(int64_t config, int64_t ns)
{
    program_launch(&finder.p, (struct program_kernel){.ns = ns, .config = config});
}

static const struct insight *find_kernel(const char *rule, const char *name)
{
    for (size_t i = 0; i < finder.found.count; i++)
        if (!strcmp(finder.found.items[i].rule->id, rule) &&
            strstr(model_text(&finder.m, finder.found.items[i].kernel), name))
            return &finder.found.items[i];
    return NULL;
}

/* A finding leads to the longest launch of its kernel, whatever the launch's configuration is, and
 * to the first of equally long ones. */
TEST(test_longest_launch)
{
    finder_begin("longest");
    int64_t one = spilling("_Z3onePf"), other = spilling("_Z5otherPf"),
            wide = spilling_of("_Z3onePf", 8);
    launch(one, 2000000);
    launch(other, 9000000);
    launch(wide, 5000000);
    int64_t longest = finder.p.gpu - 5000000;
    launch(one, 5000000);
    launch(other, 1000000);
    launch(wide, 3000000);
    finder_look();
    const struct insight *i = find_kernel("spills", "one"), *k = find_kernel("spills", "other");
    assert_int_equal(finder_fact(i, "longest_ns"), 5000000);
    assert_int_equal(finder_fact(i, "longest_start_ns"), longest - finder.m.facts.start);
    assert_int_equal(finder_fact(k, "longest_ns"), 9000000);
    finder_end();
}

/* What ran before the steady part gives nothing back, and what ran in it gives all of it back,
 * whatever the others' times are. Half of a kernel's time here is local memory. */
TEST(test_steady_part)
{
    enum { STEPS = 40 };
    finder_begin("steady");
    int64_t warm = spilling("_Z4warmPf"), both = spilling("_Z4bothPf"),
            step = spilling("_Z4stepPf");
    for (int i = 0; i < 20; i++)
        launch(i % 2 ? warm : both, 20000000);
    for (int i = 0; i < STEPS; i++) {
        launch(both, 1000000);
        launch(step, 4000000);
    }
    finder_look();
    assert_true(sum_steps_steady(&finder.m));
    assert_null(find_kernel("spills", "warm"));
    assert_int_equal(find_kernel("spills", "step")->gives_back, STEPS * 4000000ll / 2);
    int64_t most = (STEPS - 1) * 1000000ll / 2; /* its first one ends the start-up */
    assert_in_range(find_kernel("spills", "both")->gives_back, most - 1, most);
    finder_end();
}

/* Nobody who reads the report can compile a library's kernel again. */
TEST(test_libraries)
{
    static const struct {
        const char *name;
        bool own;
    } cases[] = {
        {"gather", true},
        {"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", false},
        {"_ZN7cutlass7Kernel2I42cutlass_80_simt_sgemm_128x64_8x5_nt_align1EEvNT_6ParamsE", false},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", false},
        {"loop_add_fusion_3", false},
        {"triton_poi_fused_add_relu_0", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        finder_begin("libraries");
        finder_kernels_of(
            cases[i].name,
            (struct config_row){
                .occ_warps = 8, .occ_max_warps = 64, .registers = 255, .local_per_thread = 256},
            program_name(&finder.p, "registers"));
        finder_look();
        assert_int_equal(finder_find("occupancy", "") != NULL, cases[i].own);
        assert_int_equal(finder_find("spills", "") != NULL, cases[i].own);
        finder_end();
    }
}

static void describe(int64_t clock, int64_t limit, int64_t limit_max)
{
    struct device_row d;
    MAKE_UNKNOWN(d);
    d.id = 1;
    d.index = 0;
    d.name = 1;
    d.uuid = 2;
    d.clock_max_sm = clock;
    d.power_limit = limit;
    d.power_limit_max = limit_max;
    make_log_rows(&finder.p.log, RECORD_device, &d, 1);
}

static void metrics(int n, int64_t throttle, int64_t temperature)
{
    finder_kernels((struct config_row){.occ_warps = 64, .occ_max_warps = 64}, 0);
    for (int i = 0; i < n; i++) {
        struct device_metric_row row;
        MAKE_UNKNOWN(row);
        row.time = 1000000 + i * 400000;
        row.device = 1;
        row.throttle = i % 2 ? throttle : 0;
        row.temperature = temperature;
        row.clock_sm = 1000;
        make_log_rows(&finder.p.log, RECORD_device_metric, &row, 1);
    }
}

TEST(test_throttling)
{
    static const struct {
        int samples;
        int64_t throttle, temperature, limit;
        const char *rule;
    } cases[] = {
        {10, 4, 60, 500000, "throttle_power"},
        {10, 128, 60, 700000, "throttle_power"},
        {10, 128, 60, CELL_NULL, "throttle_power"},
        {10, 4, 60, 700000, ""}, /* the highest limit: the GPU does what it can */
        {10, 4, 60, CELL_NULL, ""},
        {10, 32, 60, 500000, "throttle_thermal"},
        {10, 64, 60, 500000, "throttle_thermal"},
        {10, 0, 86, 500000, "throttle_thermal"},
        {10, 1, 60, 500000, ""},
        {10, 2, 84, 500000, ""},
        {2, 4, 60, 500000, ""},
        {10, CELL_NULL, CELL_NULL, 500000, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        finder_begin("throttle");
        describe(CELL_NULL, cases[i].limit, 700000);
        metrics(cases[i].samples, cases[i].throttle, cases[i].temperature);
        finder_look();
        assert_int_equal(finder_find(cases[i].rule, "") != NULL, *cases[i].rule != 0);
        finder_only(cases[i].rule, "");
        finder_end();
    }
}

/* Clocks may be low for another reason than power and heat. A setting near the highest clock is no
 * finding, and neither is an idle GPU. */
TEST(test_clocks)
{
    static const struct {
        int64_t throttle, clock, highest;
        const char *title; /* "": no finding */
    } cases[] = {
        {2, 1000, 1980, "Clocks set below the highest"},
        {8, 1000, 1980, "Slowed down by its hardware"},
        {16, 1000, 1980, "Held down by other GPUs"},
        {256, 1000, 1980, "Held down by its display"},
        {2, 1950, 1980, ""},
        {2 | 1, 1000, 1980, ""},
        {2, 1000, CELL_NULL, ""},
        {0, 1000, 1980, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        finder_begin("clocks");
        describe(cases[i].highest, CELL_NULL, CELL_NULL);
        finder_kernels((struct config_row){.occ_warps = 64, .occ_max_warps = 64}, 0);
        for (int k = 0; k < 10; k++) {
            struct device_metric_row row;
            MAKE_UNKNOWN(row);
            row.time = 1000000 + k * 400000;
            row.device = 1;
            row.throttle = cases[i].throttle;
            row.clock_sm = cases[i].clock;
            make_log_rows(&finder.p.log, RECORD_device_metric, &row, 1);
        }
        finder_look();
        const struct insight *f = finder_find("clocks_held", "");
        assert_int_equal(f != NULL, *cases[i].title != 0);
        if (f) {
            assert_string_equal(f->title, cases[i].title);
            assert_in_range(f->gives_back, 5000000 * 48 / 100, 5000000 * 50 / 100);
        }
        finder_only("clocks_held", "");
        finder_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_occupancy),   cmocka_unit_test(test_spills),
        cmocka_unit_test(test_steady_part), cmocka_unit_test(test_longest_launch),
        cmocka_unit_test(test_libraries),   cmocka_unit_test(test_throttling),
        cmocka_unit_test(test_clocks)};
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
