/* test_samples.c - tests PC sampling over the fake rocprofiler-sdk: samples by instruction, line
 * and reason, of the GPUs that offer it; lost samples; and counters, if no GPU can be sampled. */
#include "tests/fake/rocm/run_rocm.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char GEMM[] = "_Z9fake_gemmPfS_S_i", RELU[] = "_Z9fake_reluPfi";

/* The samples of a kernel, as sdk_samples.c has them. */
enum { ALL = 20, AT_WAITCNT = 10, WAITCNT_OFFSET = 16 };

static const char *code_of(const char *target)
{
    static char text[PATH_MAX + 32];
    char name[64];
    snprintf(name, sizeof name, "tests/amdgpu/%s.hsaco", target);
    snprintf(text, sizeof text, "FAKE_CODE=%s", built_file(name));
    if (access(strchr(text, '=') + 1, R_OK) != 0) {
        print_message("no clang for AMD GPUs is installed (clang-16, lld-16): not tested\n");
        skip();
    }
    return text;
}

static const char *path_variable(void)
{
    static char text[PATH_MAX + 8];
    snprintf(text, sizeof text, "PATH=%s", getenv("PATH")); /* llvm-objdump's */
    return text;
}

/* Samples of a kernel for a reason; NULL: without one. */
static int64_t samples_of(const struct run *r, const char *kernel, const char *reason)
{
    size_t i;
    json_t *row;
    int64_t sum = 0;
    json_array_foreach(at(r->report, "samples.kernels"), i, row)
    {
        json_t *symbol = json_object_get(row, "symbol"), *why = json_object_get(row, "reason");
        bool of = json_is_string(symbol) && !strcmp(json_string_value(symbol), kernel);
        bool matches = reason ? json_is_string(why) && !strcmp(json_string_value(why), reason)
                              : json_is_null(why);
        sum += of && matches ? int_at(row, "samples") : 0;
    }
    return sum;
}

static const char *setting(const struct run *r, const char *name)
{
    size_t i;
    const char *last = NULL;
    json_t *row;
    json_array_foreach(at(r->report, "settings"), i, row)
    {
        if (!strcmp(text_at(row, "name"), name))
            last = text_at(row, "value");
    }
    return last;
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

/* The finding of this rule about a kernel; NULL: there is none. */
static json_t *finding_of(const struct run *r, const char *rule, const char *kernel)
{
    size_t i;
    json_t *row;
    json_array_foreach(at(r->report, "insights"), i, row)
    {
        json_t *of = json_object_get(row, "kernel_symbol");
        if (!strcmp(text_at(row, "id"), rule) && json_is_string(of) &&
            !strcmp(json_string_value(of), kernel))
            return row;
    }
    return NULL;
}

/* Checks that all samples of the program's kernels are there, for this many launches. */
static void check_samples(const struct run *r, int64_t launches)
{
    assert_string_equal(setting(r, "ran_as"), "PcSampling");
    assert_string_equal(capability_of(r, "pc_sampling", "status"), "collected");
    assert_int_equal(int_at(r->report, "samples.samples"), launches * ALL);
    assert_int_equal(int_at(r->report, "ledger.samples_recorded"), launches * ALL);
    assert_int_equal(int_at(r->report, "ledger.samples_lost"), 0);
    assert_int_equal(count_messages(r, "engine_unavailable"), 0);
    assert_int_equal(count_messages(r, "pc_sampling.beta"), 1);
}

/* Checks that one instruction has the samples of s_waitcnt, and its line most of the kernel's. */
static void check_instructions(struct run *r, const char *reason, int64_t launches)
{
    static char text[1 << 18];
    json_t *one, *report = read_kernel(r, "fake_relu", text, sizeof text);
    size_t i, found = 0, lines = 0;
    json_array_foreach(at(report, "code.0.instructions"), i, one)
    {
        if (int_at(one, "offset") != WAITCNT_OFFSET)
            continue;
        found++;
        assert_int_equal(int_at(one, "samples"), launches * AT_WAITCNT);
        if (reason)
            assert_string_equal(text_at(one, "top_reason"), reason);
        else
            assert_true(unknown_at(one, "top_reason"));
    }
    assert_int_equal(found, 1);
    json_array_foreach(at(report, "code.0.lines"), i, one) lines +=
        int_at(one, "samples") >= launches * AT_WAITCNT &&
        strstr(text_at(one, "file"), "kernels.hip.c") != NULL;
    assert_int_equal(lines, 1);
    if (reason)
        check_contains(r, text, reason);
    json_decref(report);
}

/* The hardware's method: reasons as AMD names them, by instruction and line; a reason that has no
 * name is unknown. */
TEST(reasons_by_line)
{
    static const int forms[] = {NEW, OLD};
    for (int i = 0; i < 2; i++) {
        struct run r;
        run_with(&r, forms[i],
                 LIST("FAKE_ROCP=stochastic,sampled=1", code_of("gfx90a"), path_variable()),
                 LIST("-e", "PcSampling"), LIST("40"));
        check_counts(&r, "complete", 40, 0);
        check_samples(&r, 40);
        assert_string_equal(setting(&r, "method"), "stochastic");
        assert_string_equal(setting(&r, "period_cycles"), "1048576");
        assert_int_equal(samples_of(&r, GEMM, "waitcnt"), 20 * AT_WAITCNT);
        assert_int_equal(samples_of(&r, RELU, "alu_dependency"), 20 * 3);
        assert_int_equal(samples_of(&r, RELU, "barrier_wait"), 20 * 2);
        assert_int_equal(samples_of(&r, RELU, "wave_issued"), 20 * 4);
        assert_int_equal(samples_of(&r, RELU, NULL), 20);
        check_instructions(&r, "waitcnt", 20);
        run_free(&r);
    }
}

/* The host's method does not say why: no sample counts as stalled, and there is no finding. */
TEST(no_reasons_are_unknown)
{
    struct run r;
    run_with(&r, NEW, LIST("FAKE_ROCP=", code_of("gfx90a"), path_variable()),
             LIST("-e", "PcSampling", "--option", "pc_sampling_period=22"), LIST("200"));
    check_counts(&r, "complete", 200, 0);
    check_samples(&r, 200);
    assert_string_equal(setting(&r, "method"), "host_trap");
    assert_string_equal(setting(&r, "period_us"), "2467"); /* 2^22 cycles at 1700 MHz */
    assert_int_equal(samples_of(&r, GEMM, NULL), 100 * ALL);
    assert_null(finding_of(&r, "stall", GEMM));
    assert_null(finding_of(&r, "stall", RELU));
    check_instructions(&r, NULL, 100);
    run_free(&r);
}

/* Stalls of the hardware's method are findings; the report has AMD's words. */
TEST(stalls_are_found)
{
    static const char *const others[] = {"warp", "multiprocessor", " SM", "scheduler"};
    struct run r;
    struct child c;
    run_with(&r, NEW, LIST("FAKE_ROCP=stochastic", code_of("gfx90a"), path_variable()),
             LIST("-e", "PcSampling"), LIST("400"));
    check_samples(&r, 400);
    json_t *found = finding_of(&r, "stall", RELU);
    assert_non_null(found);
    check_contains(&r, text_at(found, "text"), "3,000 stalled samples");
    check_contains(&r, text_at(found, "text"), "(waitcnt), most at kernels.hip.c:");
    check_contains(&r, text_at(found, "file"), "kernels.hip.c");
    assert_non_null(finding_of(&r, "stall", GEMM));
    assert_int_equal(gpufl_run(&r.w, &c, NULL, NULL, LIST("report", r.logs, "--full")), 0);
    check_contains(&r, c.text[CHILD_OUT].data, "selected: the wavefront itself");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(c.text[CHILD_OUT].data, others[i]))
            fail_msg("'%s' in:\n%s", others[i], c.text[CHILD_OUT].data);
    child_free(&c);
    run_free(&r);
}

/* No stall is found in kernels whose wavefronts always go on. */
TEST(kernels_that_do_not_wait)
{
    struct run r;
    run_with(&r, NEW, LIST("FAKE_ROCP=stochastic,fed", code_of("gfx90a"), path_variable()),
             LIST("-e", "PcSampling"), LIST("400"));
    check_samples(&r, 400);
    assert_int_equal(samples_of(&r, RELU, "wave_issued"), 200 * ALL);
    assert_null(finding_of(&r, "stall", GEMM));
    assert_null(finding_of(&r, "stall", RELU));
    run_free(&r);
}

/* Deep has no counts of instructions here: it samples, after one warning. */
TEST(deep_samples)
{
    struct run r;
    run_with(&r, OLD, LIST("FAKE_ROCP=stochastic", code_of("gfx90a"), NULL), LIST("-e", "Deep"),
             LIST("20"));
    check_counts(&r, "complete", 20, 0);
    assert_string_equal(setting(&r, "ran_as"), "PcSampling");
    assert_int_equal(count_messages(&r, "engine_unavailable"), 1);
    check_contains(&r, message_of(&r, "engine_unavailable"), "PcSampling is used instead");
    assert_int_equal(int_at(r.report, "ledger.samples_recorded"), 20 * ALL);
    assert_string_equal(capability_of(&r, "sass_metrics", "status"), "unavailable");
    run_free(&r);
}

/* Each GPU has its own buffer and its own samples; samples of the runtime's fill kernels belong to
 * no kernel of the program. */
TEST(two_gpus)
{
    struct run r;
    run_with(&r, NEW,
             LIST("FAKE_ROCP=sampled=1,stochastic,shuffle,late=3", code_of("gfx90a"), NULL),
             LIST("-e", "PcSampling"), LIST("40", "threads=4", "second", "fills=2"));
    check_counts(&r, "complete", 160, 8);
    assert_int_equal(int_at(r.report, "ledger.samples_recorded"), 160 * ALL);
    assert_int_equal(int_at(r.report, "ledger.samples_other"), 8 * ALL);
    assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
    run_free(&r);
    run_with(&r, NEW, LIST("FAKE_ROCP=", code_of("gfx90a"), NULL), LIST("-e", "PcSampling"),
             LIST("40", "threads=2", "second"));
    assert_int_equal(int_at(r.report, "ledger.samples_recorded"), 40 * ALL); /* the first alone */
    run_free(&r);
}

/* Code that was never reported has no functions: its samples are counted, not guessed. */
TEST(code_that_is_not_known)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=", LIST("-e", "PcSampling"), LIST("20"));
    check_counts(&r, "complete", 20, 0);
    assert_int_equal(int_at(r.report, "ledger.samples_recorded"), 0);
    assert_int_equal(int_at(r.report, "ledger.samples_other"), 20 * ALL);
    assert_string_equal(capability_of(&r, "pc_sampling", "status"), "enabled_no_data");
    run_free(&r);
}

/* What the library drops, and what the hardware spoils, is in the ledger. */
TEST(lost_samples_are_counted)
{
    static const char *const scripts[] = {"FAKE_ROCP=spoiled=7", "FAKE_ROCP=drop=7"};
    for (int i = 0; i < 2; i++) {
        struct run r;
        run_with(&r, i ? OLD : NEW, LIST(scripts[i], code_of("gfx90a"), NULL),
                 LIST("-e", "PcSampling"), LIST("70"));
        check_program(&r, 0);
        int64_t lost = int_at(r.report, "ledger.samples_lost");
        int64_t recorded = int_at(r.report, "ledger.samples_recorded");
        assert_true(lost > 0);
        assert_int_equal(recorded + lost, 70 * ALL);
        if (i == 0)
            assert_int_equal(lost, 70 * ALL / 7);
        assert_string_equal(capability_of(&r, "pc_sampling", "status"), "partial");
        run_free(&r);
    }
}

/* Another process samples the GPU already: its interval is taken. */
TEST(another_process_samples)
{
    struct run r;
    run_with(&r, NEW, LIST("FAKE_ROCP=taken=777,stochastic", code_of("gfx90a"), NULL),
             LIST("-e", "PcSampling"), LIST("20"));
    check_samples(&r, 20);
    assert_string_equal(setting(&r, "method"), "host_trap");
    assert_string_equal(setting(&r, "period_us"), "777");
    run_free(&r);
}

/* No sampling: one warning that says why, and counters of kernels instead. */
TEST(counters_stand_in)
{
    static const struct {
        int rocm;
        const char *script, *variable, *text;
    } cases[] = {
        {PLAIN, "FAKE_ROCP=", NULL, "rocprofiler-sdk 0.6 has no PC sampling"},
        {OLDEST, "FAKE_ROCP=", NULL, "rocprofiler-sdk 0.4 has no PC sampling"},
        {WORKING, "FAKE_ROCP=", NULL,
         "rocprofiler-sdk 1.3 does not take the arguments with which releases"},
        {NEW, "FAKE_ROCP=sampled=0", NULL, "no GPU here offers PC sampling"},
        {NEW, "FAKE_ROCP=old", NULL, "the kernel driver amdgpu is too old"},
        {NEW, "FAKE_ROCP=", "ROCPROFILER_PC_SAMPLING_BETA_ENABLED=0",
         "only with ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1"},
        {OLD, "FAKE_ROCP=fail=query_pc_sampling_agent_configurations:0", NULL,
         "refuses to sample PCs"},
        {NEW, "FAKE_ROCP=fail=configure_pc_sampling_service:0", NULL, "refuses to sample PCs"},
        {NEW, "FAKE_ROCP=fail=create_buffer:2", NULL, "refuses to sample PCs"},
        {OLD, "FAKE_ROCP=fail=assign_callback_thread:2", NULL, "refuses to sample PCs"},
        {NEW, "FAKE_ROCP=fail=create_context:4", NULL, "refuses to create a context"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        run_with(&r, cases[i].rocm, LIST(cases[i].script, cases[i].variable, NULL),
                 LIST("-e", i & 1 ? "Deep" : "PcSampling"), LIST("20"));
        check_program(&r, 0);
        assert_int_equal(int_at(r.report, "kernels.count"), 20);
        assert_int_equal(count_messages(&r, "engine_unavailable"), 1);
        check_contains(&r, message_of(&r, "engine_unavailable"), cases[i].text);
        check_contains(&r, message_of(&r, "engine_unavailable"), "are recorded instead");
        assert_string_equal(capability_of(&r, "pc_sampling", "status"), "unavailable");
        assert_int_equal(int_at(r.report, "samples.samples"), 0);
        if (cases[i].rocm == PLAIN) { /* which does not count either */
            assert_string_equal(setting(&r, "ran_as"), "Trace");
        } else {
            assert_string_equal(setting(&r, "ran_as"), "RangeProfiler");
            assert_string_equal(capability_of(&r, "range_counters", "status"), "collected");
        }
        run_free(&r);
    }
}

/* A call that fails for a moment is made again. */
TEST(a_refusal_that_passes)
{
    struct run r;
    run_with(&r, NEW,
             LIST("FAKE_ROCP=fail=configure_pc_sampling_service:1", code_of("gfx90a"), NULL),
             LIST("-e", "PcSampling"), LIST("20"));
    check_samples(&r, 20);
    run_free(&r);
}

/* If sampling does not start, kernels are recorded, and a message says why. */
TEST(a_start_that_fails)
{
    struct run r;
    run_with(&r, NEW, LIST("FAKE_ROCP=fail=start_context:3", code_of("gfx90a"), NULL),
             LIST("-e", "PcSampling"), LIST("20"));
    check_counts(&r, "complete", 20, 0);
    check_contains(&r, message_of(&r, "pc_sampling.start"), "refuses to start PC sampling");
    assert_string_equal(capability_of(&r, "pc_sampling", "status"), "enabled_no_data");
    run_free(&r);
}

/* Inside windows there are samples and kernels; pc_kernel_collect is not for these GPUs. */
TEST(windows)
{
    struct run r;
    run_with(&r, NEW, LIST("FAKE_ROCP=stochastic", code_of("gfx90a"), NULL),
             LIST("-e", "PcSampling", "--after-launches", "100", "--launches", "10"), LIST("1000"));
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "kernels.count"), 10);
    int64_t samples = int_at(r.report, "ledger.samples_recorded");
    assert_true(samples >= 10 * ALL && samples < 1000 * ALL && samples % ALL == 0);
    assert_int_equal(count_messages(&r, "windows.samples_alone"), 0);
    run_free(&r);
    run_with(&r, NEW, LIST("FAKE_ROCP=", code_of("gfx90a"), NULL),
             LIST("-e", "PcSampling", "--pc-kernels", "none"), LIST("20"));
    check_counts(&r, "complete", 20, 0);
    check_samples(&r, 20);
    check_contains(&r, message_of(&r, "pc_sampling.kernels"), "kernels are recorded, too");
    run_free(&r);
}

/* init in the program's own code: the variable is the program's to set. */
TEST(linked)
{
    static char library[PATH_MAX + 32], sdk[PATH_MAX + 32];
    snprintf(library, sizeof library, "LD_LIBRARY_PATH=%s", built_file("fake/rocm"));
    snprintf(sdk, sizeof sdk, "GPUFL_ROCPROFILER_PATH=%s", built_file("fake/rocm/7"));
    for (int allowed = 0; allowed < 2; allowed++) {
        struct run r;
        run_all(&r,
                &(struct run_setup){
                    .env = LIST(library, sdk, "GPUFL_LOG_PATH=logs", "GPUFL_BACKEND=Amd",
                                "FAKE_ENGINE=PcSampling", "FAKE_ROCP=stochastic", code_of("gfx90a"),
                                allowed ? "ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1" : NULL),
                    .alone = true,
                    .program = LIST("20"),
                    .binary = "fake/rocm/fake_hip_linked"});
        check_counts(&r, "complete", 20, 0);
        if (allowed) {
            check_samples(&r, 20);
        } else {
            check_contains(&r, message_of(&r, "engine_unavailable"),
                           "only with ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1");
            assert_string_equal(setting(&r, "ran_as"), "RangeProfiler");
            assert_string_equal(capability_of(&r, "range_counters", "status"), "collected");
        }
        run_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_by_line),
        cmocka_unit_test(no_reasons_are_unknown),
        cmocka_unit_test(stalls_are_found),
        cmocka_unit_test(kernels_that_do_not_wait),
        cmocka_unit_test(deep_samples),
        cmocka_unit_test(two_gpus),
        cmocka_unit_test(code_that_is_not_known),
        cmocka_unit_test(lost_samples_are_counted),
        cmocka_unit_test(another_process_samples),
        cmocka_unit_test(counters_stand_in),
        cmocka_unit_test(a_refusal_that_passes),
        cmocka_unit_test(a_start_that_fails),
        cmocka_unit_test(windows),
        cmocka_unit_test(linked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
