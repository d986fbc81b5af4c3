/* test_counters.c - tests hardware counters of single kernels over the fake rocprofiler-sdk: the
 * engines that use them, the counters that are counted or left out, and a library that does not
 * count. */
#include "tests/fake/rocm/run_rocm.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char GEMM[] = "_Z9fake_gemmPfS_S_i", RELU[] = "_Z9fake_reluPfi";

/* Kernels of the program: 64 groups of 256 work-items, which are 256 wavefronts. */
enum { WAVES = 256, LAUNCHES = 3 /* of each kernel, by default */ };

static bool is_of(json_t *row, const char *metric, const char *kernel)
{
    json_t *of = json_object_get(row, "kernel_symbol");
    return !strcmp(text_at(row, "metric"), metric) && json_is_string(of) &&
           !strcmp(json_string_value(of), kernel);
}

static bool has_value(const struct run *r, const char *metric, const char *kernel)
{
    size_t i;
    json_t *row;
    json_array_foreach(at(r->report, "counters"), i, row)
    {
        if (is_of(row, metric, kernel))
            return true;
    }
    return false;
}

/* Checks that this number of launches, on all GPUs together, has the value. */
static void check_value(const struct run *r, const char *metric, const char *kernel,
                        int64_t launches, double value)
{
    size_t i;
    json_t *row;
    int64_t sum = 0;
    json_array_foreach(at(r->report, "counters"), i, row)
    {
        if (!is_of(row, metric, kernel))
            continue;
        assert_string_equal(text_at(row, "source"), "kernel");
        assert_int_equal((int64_t)json_number_value(at(row, "least")), (int64_t)value);
        assert_int_equal((int64_t)json_number_value(at(row, "most")), (int64_t)value);
        sum += int_at(row, "values");
    }
    if (sum != launches)
        fail_msg("%s of %s: %lld launches", metric, kernel, (long long)sum);
}

static int count_messages(const struct run *r, const char *code)
{
    size_t i;
    int n = 0;
    json_t *row;
    json_array_foreach(at(r->report, "messages"), i, row) n +=
        strcmp(text_at(row, "code"), code) == 0;
    return n;
}

static const char *setting(const struct run *r, const char *engine, const char *name)
{
    size_t i;
    const char *last = NULL;
    json_t *row;
    json_array_foreach(at(r->report, "settings"), i, row)
    {
        if (!strcmp(text_at(row, "name"), name) && !strcmp(text_at(row, "engine"), engine))
            last = text_at(row, "value");
    }
    return last;
}

/* NVIDIA's engines count kernels here, after one warning; kernels and copies are recorded, too.
 * PcSampling and Deep count if no GPU is sampled (test_samples.c). */
TEST(other_engines_fall_back)
{
    static const char *const engines[] = {"PcSampling", "SassMetrics", "RangeProfiler", "Deep"};
    static const int forms[] = {NEW, OLD, OLDEST};
    for (size_t i = 0; i < 3 * sizeof engines / sizeof *engines; i++) {
        struct run r;
        const char *engine = engines[i / 3];
        run_rocm(&r, forms[i % 3], "FAKE_ROCP=sampled=0", LIST("-e", engine),
                 LIST("20", "copies=1"));
        check_counts(&r, "complete", 20, 3);
        assert_int_equal(count_messages(&r, "engine_unavailable"), 1);
        check_contains(&r, message_of(&r, "engine_unavailable"),
                       "hardware counters of single kernels (rocprofiler-sdk's dispatch counters) "
                       "are recorded instead");
        assert_string_equal(setting(&r, engine, "ran_as"), "RangeProfiler");
        assert_string_equal(capability_of(&r, "range_counters", "status"), "collected");
        check_value(&r, "SQ_WAVES", GEMM, LAUNCHES, WAVES);
        check_value(&r, "GRBM_COUNT", GEMM, LAUNCHES, 200000);
        check_value(&r, "GRBM_COUNT", RELU, LAUNCHES, 50000);
        check_value(&r, "FETCH_SIZE", RELU, LAUNCHES, 64);
        assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
        run_free(&r);
    }
}

/* A user who asks for counters of kernels gets no warning that they are recorded. */
TEST(kernels_asked_for)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=", LIST("-e", "RangeProfiler", "--ranges", "kernels"), LIST("20"));
    check_counts(&r, "complete", 20, 0);
    assert_int_equal(count_messages(&r, "engine_unavailable"), 0);
    assert_string_equal(setting(&r, "RangeProfiler", "ran_as"), "RangeProfiler");
    check_value(&r, "SQ_WAVES", GEMM, LAUNCHES, WAVES);
    run_free(&r);
}

/* PmSampling is not one of them. */
TEST(sampling_over_time_is_not_there)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=", LIST("-e", "PmSampling"), LIST("20"));
    check_counts(&r, "complete", 20, 0);
    check_contains(&r, message_of(&r, "engine_unavailable"), "Trace is used instead");
    assert_int_equal(json_array_size(at(r.report, "counters")), 0);
    run_free(&r);
}

/* Values in any order and in several deliveries, kernels of several threads and of two GPUs, whose
 * counters have ids of their own: each kernel has its own. */
TEST(values_come_in_any_order)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=shuffle,late=3",
             LIST("-e", "SassMetrics", "--option", "range_kernel_launches=1000"),
             LIST("40", "threads=4", "second", "fills=2", "copies=1"));
    check_counts(&r, "complete", 160, 4 * 5);
    check_value(&r, "SQ_WAVES", GEMM, 80, WAVES);
    check_value(&r, "SQ_WAVES", RELU, 80, WAVES);
    check_value(&r, "SQ_BUSY_CYCLES", RELU, 80, WAVES * 100);
    assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
    assert_false(
        has_value(&r, "SQ_WAVES", "__amd_rocclr_fillBufferAligned")); /* not the program's */
    run_free(&r);
}

/* What does not fit into a pass, and what a GPU does not have, is left out and reported: as a
 * warning if the user named the metric. */
TEST(what_is_left_out_is_said)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=", LIST("-e", "RangeProfiler"), LIST("10"));
    check_contains(&r, message_of(&r, "range_profiler.passes"), "on a gfx90a these do not fit");
    check_contains(&r, message_of(&r, "range_profiler.passes"), "SQ_INSTS_SALU");
    check_contains(&r, message_of(&r, "range_profiler.metrics"), "SQ_INSTS_LDS");
    assert_false(has_value(&r, "SQ_INSTS_SALU", GEMM));
    assert_string_equal(setting(&r, "RangeProfiler", "passes"), "1");
    run_free(&r);
    run_rocm(&r, OLD, "FAKE_ROCP=",
             LIST("-e", "RangeProfiler", "--counter-metrics", "SQ_INSTS_SALU,NO_SUCH,SQ_NOTHING"),
             LIST("10"));
    check_counts(&r, "complete", 10, 0);
    check_value(&r, "SQ_INSTS_SALU", GEMM, LAUNCHES, WAVES * 10);
    check_contains(&r, message_of(&r, "range_profiler.metrics"), "NO_SUCH");
    assert_false(has_value(&r, "SQ_NOTHING", GEMM)); /* its value is no number */
    assert_false(has_value(&r, "SQ_WAVES", GEMM));
    run_free(&r);
}

/* A value that the library dropped leaves its kernel without counts, and is counted. */
TEST(lost_values_are_counted)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=drop=60",
             LIST("-e", "RangeProfiler", "--option", "range_kernel_launches=10"), LIST("20"));
    check_program(&r, 0);
    assert_true(int_at(r.report, "ledger.lost_driver") > 0);
    assert_true(int_at(r.report, "ledger.samples_lost") > 0);
    assert_string_equal(capability_of(&r, "range_counters", "status"), "partial");
    int64_t whole = 0;
    size_t i;
    json_t *row;
    json_array_foreach(at(r.report, "counters"), i, row)
    {
        if (strcmp(text_at(row, "metric"), "SQ_WAVES") != 0)
            continue;
        whole += int_at(row, "values");
        assert_int_equal((int64_t)json_number_value(at(row, "least")),
                         WAVES); /* no part of a sum */
    }
    assert_true(whole > 0);
    assert_int_equal(whole + int_at(r.report, "ledger.samples_lost"), 20);
    run_free(&r);
}

/* Pieces of more kernels at once than there is room for: the oldest are lost, once each, and the
 * others are whole. */
TEST(pieces_of_too_many_kernels)
{
    enum { KERNELS = 600, ROOM = 512 };
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=apart=600",
             LIST("-e", "RangeProfiler", "--option", "range_kernel_launches=1000"), LIST("600"));
    check_counts(&r, "incomplete", KERNELS, 0);
    assert_int_equal(int_at(r.report, "ledger.samples_lost"), KERNELS - ROOM);
    check_value(&r, "SQ_WAVES", GEMM, ROOM / 2, WAVES);
    check_value(&r, "SQ_WAVES", RELU, ROOM / 2, WAVES);
    run_free(&r);
}

/* Kernels that were picked and have no counts are counted, except the runtime's own. */
TEST(kernels_without_counts_are_counted)
{
    static const struct {
        const char *script;
        int64_t lost, gemm, relu;
    } cases[] = {
        {"FAKE_ROCP=empty=2", 3, 3, 0}, /* the eighth is a fill */
        {"FAKE_ROCP=nameless=2", 3, 3, 0},
        {"FAKE_ROCP=fail=query_record_counter_id:3", 1, 2, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        run_rocm(&r, NEW, cases[i].script, LIST("-e", "RangeProfiler"), LIST("20", "fills=2"));
        check_counts(&r, "incomplete", 20, 2);
        assert_int_equal(int_at(r.report, "ledger.samples_lost"), cases[i].lost);
        assert_string_equal(capability_of(&r, "range_counters", "status"), "partial");
        check_value(&r, "SQ_WAVES", GEMM, cases[i].gemm, WAVES);
        check_value(&r, "SQ_WAVES", RELU, cases[i].relu, WAVES);
        run_free(&r);
    }
}

/* A library, or a call of it, that does not count: one sentence, and all else is as in Trace. */
TEST(a_library_that_does_not_count)
{
    static const struct {
        int rocm;
        const char *script, *metrics, *text;
    } cases[] = {
        {PLAIN, "FAKE_ROCP=", "overview", "it has no dispatch counting service"},
        {NEW, "FAKE_ROCP=fail=counting_service:0", "overview", "refuses to count kernels"},
        {OLD, "FAKE_ROCP=fail=iterate_agent_supported_counters:0", "overview",
         "refuses to list the GPU's counters"},
        {NEW, "FAKE_ROCP=fail=create_config:0", "overview", "refuses every counter: ROCPROFILER_"},
        {OLD, "FAKE_ROCP=fail=create_config:0", "overview", "refuses every counter: ROCPROFILER_"},
        {NEW, "FAKE_ROCP=", "NO_SUCH_COUNTER", "no GPU here counts any of"},
        {NEW, "FAKE_ROCP=fail=query_counter_info:0", "overview", "no GPU here counts any of"},
        {NEW, "FAKE_ROCP=", "sm__cycles_active.avg", "is neither a set"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        run_rocm(&r, cases[i].rocm, cases[i].script,
                 LIST("-e", "RangeProfiler", "--counter-metrics", cases[i].metrics), LIST("20"));
        check_counts(&r, "complete", 20, 0);
        assert_int_equal(count_messages(&r, "range_profiler.unavailable"), 1);
        check_contains(&r, message_of(&r, "range_profiler.unavailable"), cases[i].text);
        assert_string_equal(capability_of(&r, "range_counters", "status"), "unavailable");
        assert_string_equal(setting(&r, "RangeProfiler", "ran_as"), "Trace");
        assert_int_equal(json_array_size(at(r.report, "counters")), 0);
        run_free(&r);
    }
}

/* Kernels of windows alone are counted. */
TEST(windows)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=",
             LIST("-e", "RangeProfiler", "--after-launches", "100", "--launches", "10"),
             LIST("1000"));
    check_program(&r, 0);
    assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
    assert_int_equal(int_at(r.report, "kernels.count"), 10); /* opened and closed by launches */
    check_value(&r, "SQ_WAVES", GEMM, LAUNCHES, WAVES);      /* earlier ones are not counted */
    check_value(&r, "SQ_WAVES", RELU, LAUNCHES, WAVES);
    run_free(&r);
}

/* init in the program's own code, before its first HIP call. */
TEST(linked)
{
    struct run r;
    static char library[PATH_MAX + 32], sdk[PATH_MAX + 32];
    snprintf(library, sizeof library, "LD_LIBRARY_PATH=%s", built_file("fake/rocm"));
    snprintf(sdk, sizeof sdk, "GPUFL_ROCPROFILER_PATH=%s", built_file("fake/rocm/7"));
    run_all(&r, &(struct run_setup){.env = LIST(library, sdk, "GPUFL_LOG_PATH=logs",
                                                "GPUFL_BACKEND=Amd", "FAKE_ENGINE=RangeProfiler"),
                                    .alone = true,
                                    .program = LIST("20"),
                                    .binary = "fake/rocm/fake_hip_linked"});
    check_counts(&r, "complete", 20, 0);
    check_value(&r, "SQ_WAVES", GEMM, LAUNCHES, WAVES);
    run_free(&r);
}

/* The text report has the values, and `gpufl info --metrics` what the GPUs count. */
TEST(shown)
{
    static char sdk[PATH_MAX + 32], smi[PATH_MAX + 32];
    struct run r;
    struct child c;
    run_rocm(&r, NEW, "FAKE_ROCP=", LIST("-e", "SassMetrics"), LIST("20"));
    assert_int_equal(gpufl_run(&r.w, &c, NULL, NULL, LIST("report", r.logs, "--full")), 0);
    check_contains(&r, c.text[CHILD_OUT].data, "SQ_WAVES");
    child_free(&c);
    snprintf(sdk, sizeof sdk, "GPUFL_ROCPROFILER_PATH=%s", built_file("fake/rocm/7"));
    snprintf(smi, sizeof smi, "GPUFL_AMD_SMI_PATH=%s", built_file("fake/amd-7"));
    assert_int_equal(gpufl_run(&r.w, &c, LIST(sdk, smi), NULL, LIST("info", "--metrics")), 0);
    const char *text = c.text[CHILD_OUT].data;
    check_contains(&r, text, "gfx90a");
    check_contains(&r, text, "gfx1100");
    check_contains(&r, text, "set memory");
    check_contains(&r, text, "     1 -        SQ_NOTHING"); /* of no set */
    check_contains(&r, text, "     - -        TCC_HIT");    /* of a set; not there */
    child_free(&c);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_engines_fall_back),
        cmocka_unit_test(kernels_asked_for),
        cmocka_unit_test(sampling_over_time_is_not_there),
        cmocka_unit_test(values_come_in_any_order),
        cmocka_unit_test(what_is_left_out_is_said),
        cmocka_unit_test(lost_values_are_counted),
        cmocka_unit_test(pieces_of_too_many_kernels),
        cmocka_unit_test(kernels_without_counts_are_counted),
        cmocka_unit_test(a_library_that_does_not_count),
        cmocka_unit_test(windows),
        cmocka_unit_test(linked),
        cmocka_unit_test(shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
