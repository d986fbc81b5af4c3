/* test_kernels.c - occupancy and local memory of kernels, and what holds a device down. */
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

/* Reserved local memory says nothing. */
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
        int64_t throttle, temperature;
        const char *rule;
    } cases[] = {
        {10, 4, 60, "throttle_power"},
        {10, 128, 60, "throttle_power"},
        {10, 32, 60, "throttle_thermal"},
        {10, 64, 60, "throttle_thermal"},
        {10, 0, 86, "throttle_thermal"},
        {10, 1, 60, ""},
        {10, 2, 84, ""},
        {2, 4, 60, ""},
        {10, CELL_NULL, CELL_NULL, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        finder_begin("throttle");
        metrics(cases[i].samples, cases[i].throttle, cases[i].temperature);
        finder_look();
        assert_int_equal(finder_find(cases[i].rule, "") != NULL, *cases[i].rule != 0);
        finder_only(cases[i].rule, "");
        finder_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_occupancy), cmocka_unit_test(test_spills),
        cmocka_unit_test(test_libraries), cmocka_unit_test(test_throttling)};
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
