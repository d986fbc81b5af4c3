/* test_profile.c - tests the report's tables of samples, counted instructions and counters, and
 * SASS next to source for one kernel. */
#include "tests/test.h"
#include "tests/unit/support/profile_log.h"
#include "tests/unit/support/reported.h"
#include "tests/unit/support/tmpdir.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *report_on(const char *session, const char *kernel, enum gpufl_report_format format,
                       int want)
{
    struct gpufl_report_options o = report_options(format);
    o.kernel = kernel;
    o.width = 120;
    return report_with(tmpdir_path(session), &o, want);
}

static char *report(const char *kernel, enum gpufl_report_format format, int want)
{
    return report_on("profile", kernel, format, want);
}

static void put_source(struct program *p, const char *path, const char *text)
{
    struct source_row s = {.path = program_name(p, path),
                           .hash = 1,
                           .size = (int64_t)strlen(text),
                           .mtime = CELL_NULL,
                           .text = program_name(p, text)};
    make_log_rows(&p->log, RECORD_source, &s, 1);
}

static void put_counter(struct program *p, const char *metric, int64_t value)
{
    struct counter_row c = {.start = p->now,
                            .source = 1,
                            .device = 1,
                            .metric = program_name(p, metric),
                            .value = value,
                            .exponent = -1,
                            .scope = CELL_NULL,
                            .correlation = CELL_NULL};
    make_log_rows(&p->log, RECORD_counter, &c, 1);
}

static void put_kernel_counter(struct program *p, const char *kernel, int64_t scope, int64_t value)
{
    struct counter_row c = {.start = p->now,
                            .source = 3,
                            .device = 1,
                            .metric = program_name(p, "gpu__time_duration.sum"),
                            .value = value,
                            .scope = scope,
                            .kernel = program_name(p, kernel),
                            .correlation = CELL_NULL};
    make_log_rows(&p->log, RECORD_counter, &c, 1);
}

/* Adds a function in a code object of its own; returns its id. */
static int64_t put_function(struct program *p, const char *name)
{
    struct code_object_row o = {.id = ++p->ids, .crc = 1, .size = CELL_NULL};
    make_log_rows(&p->log, RECORD_code_object, &o, 1);
    struct function_row f = {.object = o.id, .index = CELL_NULL};
    f.name = program_name(p, name);
    f.id = ++p->ids;
    make_log_rows(&p->log, RECORD_function, &f, 1);
    return f.id;
}

/* One function was sampled, and its instructions are unknown; other kernels have counters alone. */
static void write_bare(void)
{
    struct program p;
    program_init(&p, "bare");
    int64_t bare = put_function(&p, "bare");
    profile_sample(&p, bare, 2, "long_scoreboard", 0, 300);
    profile_sample(&p, bare, 5, "wait", 0, 100);
    profile_metric(&p, bare, 3, "smsp__sass_inst_executed", 5000, 0);
    int64_t scope = profile_scope(&p, "forward");
    put_kernel_counter(&p, "_Z7countedPf", scope, 10);
    put_kernel_counter(&p, "other", 0, 70);
    put_kernel_counter(&p, "_Z7countedPf", scope, 40480);
    put_kernel_counter(&p, "_Z7countedPf", 0, 5);
    put_kernel_counter(&p, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 7);
    program_write(&p);
}

/* Instructions of lines 5, 6, 5, 5: the reason that holds line 5 up dominates at none of its
 * instructions. */
static void write_loop(void)
{
    static const int64_t lines[] = {5, 6, 5, 5};
    struct program p;
    program_init(&p, "loop");
    int64_t loop = put_function(&p, "loop");
    for (int i = 0; i < 4; i++) {
        struct instruction_row r = {.function = loop,
                                    .offset = i * 16,
                                    .text = program_name(&p, "FADD ;"),
                                    .file = program_name(&p, "/src/loop.cu"),
                                    .line = lines[i]};
        make_log_rows(&p.log, RECORD_instruction, &r, 1);
    }
    profile_sample(&p, loop, 0, "barrier", 0, 70);
    profile_sample(&p, loop, 0, "wait", 0, 60);
    profile_sample(&p, loop, 2, "long_scoreboard", 0, 70);
    profile_sample(&p, loop, 2, "wait", 0, 60);
    profile_sample(&p, loop, 3, "wait", 0, 40);
    profile_sample(&p, loop, 1, "wait", 0, 100);
    struct capability_row c = {.feature = program_name(&p, "kernels"),
                               .status = program_name(&p, "not_requested"),
                               .reason = program_name(&p, "")};
    make_log_rows(&p.log, RECORD_capability, &c, 1);
    program_write(&p);
}

static void write_nothing(void)
{
    struct program p;
    program_init(&p, "nothing");
    program_write(&p);
}

/* A kernel ran 300 of 400 ns in a scope, where half of its samples were measured. If not recorded,
 * there are measured samples alone. */
static void write_scoped(const char *session, bool recorded)
{
    struct program p;
    program_init(&p, session);
    int64_t k = profile_kernel_of(&p, "step_kernel", 0), step = profile_scope(&p, "step");
    make_log_config(&p.log, ++p.ids, program_name(&p, "step_kernel"));
    if (recorded) {
        make_log_kernel(&p.log, p.now, 300, p.ids, step);
        make_log_kernel(&p.log, p.now + 300, 100, p.ids, 0);
    }
    profile_metric(&p, k, 2, "smsp__sass_inst_executed", 5000, 0);
    profile_metric(&p, k, 2, "smsp__sass_sectors_mem_local", 70, 0);
    profile_metric(&p, k, 3, "smsp__sass_branch_targets_threads_divergent", 25, 0);
    profile_metric(&p, k, 3, "smsp__sass_branch_targets_threads_uniform", 75, 0);
    profile_sample_in(&p, k, 2, "long_scoreboard", 80, step);
    profile_sample_in(&p, k, 2, "selected", 20, step);
    profile_sample(&p, k, 2, "long_scoreboard", CELL_NULL, 80);
    profile_sample(&p, k, 2, "wait", CELL_NULL, 20);
    program_write(&p);
}

/* A third of three samples is the scope's: less than half a sample of each reason. */
static void write_few(void)
{
    static const char *const reasons[] = {"wait", "barrier", "lg_throttle"};
    struct program p;
    program_init(&p, "few");
    int64_t k = profile_kernel_of(&p, "step_kernel", 0), step = profile_scope(&p, "step");
    make_log_config(&p.log, ++p.ids, program_name(&p, "step_kernel"));
    make_log_kernel(&p.log, p.now, 100, p.ids, step);
    make_log_kernel(&p.log, p.now + 100, 200, p.ids, 0);
    for (int i = 0; i < 3; i++)
        profile_sample(&p, k, 2, reasons[i], CELL_NULL, 1);
    program_write(&p);
}

/* gather stalls on memory; axpy\x1b has nothing but a name that must not reach a terminal. */
static int write_session(void **state)
{
    struct program p;
    if (tmpdir_open(state))
        return -1;
    program_init(&p, "profile");
    int64_t k = profile_kernel_of(&p, "gather", 80);
    profile_kernel_of(&p, "axpy\033[31m", 10);
    profile_sample(&p, k, 2, "long_scoreboard", 0, 3000);
    profile_sample(&p, k, 2, "wait", 0, 500);
    profile_sample(&p, k, 3, "selected", 1, 500);
    profile_metric(&p, k, 2, "smsp__sass_inst_executed", 5000, 0);
    profile_metric(&p, k, 2, "smsp__sass_thread_inst_executed", 80000, 0);
    profile_metric(&p, k, 2, "smsp__sass_inst_executed_op_ldgsts", 7, 0);
    put_source(&p, "/src/gather.cu", "1\n2\n3\n4\n5\n6\n7\n8\n9\nten\neleven\n  x = in[i];\n13");
    put_source(&p, "gather.ptx", ".visible .entry gather(\n)\n{\nret;\n}");
    put_counter(&p, "sm__warps_active.avg", 125);
    put_counter(&p, "sm__warps_active.avg", 375);
    program_write(&p);
    write_bare();
    write_loop();
    write_nothing();
    write_scoped("scoped", true);
    write_scoped("unrecorded", false);
    write_few();
    return 0;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%s", part, text);
}

TEST(test_tables)
{
    char *text = report(NULL, GPUFL_REPORT_TEXT, 0);
    has(text, "Samples by kernel\n"
              "    share   +-  samples  selected  no issue  stalled                              "
              "kernel\n"
              "  100.0 %  0.2    4,000    12.5 %    87.5 %  long_scoreboard 75.0 %, wait 12.5 %  "
              "gather\n");
    has(text,
        "selected: the warp itself issued an instruction; no issue: its scheduler issued none");
    has(text, "Counted instructions by kernel\n"
              "  executed  threads  needed  conflicts  kernel\n"
              "     5,000   50.0 %       -          -  gather\n");
    has(text, "sm__warps_active.avg  (the run)       2    25   12.5  37.5\n");
    has(text, "Stalled: long_scoreboard 85.7 %");
    free(text);
}

/* All kernels are asked for in a session that has no data of any: the error names the engines. */
static void test_none_at_all(void)
{
    struct gpufl_report_options o;
    char error[512] = "", path[128];
    gpufl_report_options_init(&o, sizeof o);
    o.kernel = "*";
    snprintf(path, sizeof path, "%s/nothing", tmpdir);
    assert_int_equal(gpufl_report(path, &o, stderr, error, sizeof error), GPUFL_E_NOENT);
    has(error, "no kernel was sampled, counted or disassembled in it");
    has(error, "-e PcSampling");
    has(error, "-e SassMetrics");
    has(error, "-e RangeProfiler");
}

TEST(test_kernel)
{
    char *text = report("gath", GPUFL_REPORT_TEXT, 0);
    has(text, "gather\n");
    has(text, "4,000 samples (100.0 % of all).");
    has(text, "3,500  87.5 %  long_scoreboard     5,000   50.0 %  > gather.cu:12    x = in[i];\n");
    has(text, "3,500  87.5 %  long_scoreboard     5,000   50.0 %    00020  NOP ;\n");
    has(text, "-        -  > gather.cu:14\n"); /* the source has no such line */
    assert_null(strstr(text, "needed"));       /* nothing to say there */
    has(text, "Its PTX, 5 lines, is in the session; gpufl view shows it next to the SASS.\n");
    has(text, "executed: how often warps ran it; threads: of a warp's, at work.\n");
    assert_null(strstr(text, "Session"));
    free(text);
    text = report("axpy", GPUFL_REPORT_TEXT, 0);
    assert_null(strchr(text, '\033'));
    has(text, "00070  NOP ;");
    has(text, "Its PTX is not in the session");
    assert_null(strstr(text, "executed:"));
    free(text);
    free(report("no such kernel", GPUFL_REPORT_TEXT, GPUFL_E_NOENT));
    test_none_at_all();
}

/* The report says why there is no text, and then shows the sampled offsets. */
TEST(test_no_text)
{
    json_error_t error;
    char *text = report_on("bare", "bare", GPUFL_REPORT_TEXT, 0);
    has(text, "Its instructions have no text, only offsets: none of their code was kept in the "
              "session.\n"
              "  samples   share  stall            executed  threads  offset\n"
              "      300  75.0 %  long_scoreboard         -        -    00020\n"
              "      100  25.0 %  wait                    -        -    00050\n");
    assert_null(strstr(text, "00030"));
    free(text);
    text = report_on("bare", "bare", GPUFL_REPORT_JSON, 0);
    json_t *root = json_loads(text, 0, &error);
    json_t *code = json_array_get(json_object_get(root, "code"), 0);
    assert_string_equal(json_string_value(json_object_get(code, "no_text")),
                        "none of their code was kept in the session");
    assert_int_equal(json_array_size(json_object_get(code, "instructions")), 3);
    json_decref(root);
    free(text);
    text = report("gather", GPUFL_REPORT_JSON, 0);
    has(text, "\"no_text\":null");
    free(text);
}

/* A kernel that has only hardware counters is shown, too. */
TEST(test_kernel_counters)
{
    json_error_t error;
    char *text = report_on("bare", "counted(", GPUFL_REPORT_TEXT, 0);
    assert_int_equal(strncmp(text, "counted(float*)\n", 16), 0);
    has(text, "  Counters of its launches in forward:\n"
              "  metric                  values    mean  least    most\n"
              "  gpu__time_duration.sum       2  20,245     10  40,480\n");
    has(text, "gpu__time_duration is in ns.");
    has(text, "  Counters of its launches outside scopes:\n"
              "  metric                  values  mean  least  most\n"
              "  gpu__time_duration.sum       1     5      5     5\n");
    assert_null(strstr(text, "other"));
    free(text);
    /* The kernel is found by its short name, which the tables show. */
    text = report_on("bare", "NCCL AllReduce sum", GPUFL_REPORT_TEXT, 0);
    has(text, "ncclDevKernel_AllReduce_Sum_f32_RING_LL\n");
    free(text);
    text = report_on("bare", "_Z7counted", GPUFL_REPORT_JSON, 0);
    json_t *root = json_loads(text, 0, &error);
    json_t *kernels = json_object_get(root, "kernel_counters"),
           *kernel = json_array_get(kernels, 0);
    json_t *counters = json_object_get(kernel, "counters"), *scoped = json_array_get(counters, 1);
    assert_int_equal(json_array_size(kernels), 1);
    assert_int_equal(json_array_size(counters), 2);
    assert_string_equal(json_string_value(json_object_get(kernel, "kernel")), "counted(float*)");
    assert_string_equal(json_string_value(json_object_get(kernel, "short_name")), "counted");
    assert_string_equal(json_string_value(json_object_get(kernel, "symbol")), "_Z7countedPf");
    assert_string_equal(json_string_value(json_object_get(scoped, "scope")), "forward");
    assert_int_equal(json_integer_value(json_object_get(scoped, "values")), 2);
    assert_true(json_number_value(json_object_get(scoped, "most")) == 40480);
    json_decref(root);
    free(text);
    free(report_on("bare", "no such kernel", GPUFL_REPORT_TEXT, GPUFL_E_NOENT));
}

/* Lines come first, those with most samples before others; the listing has a line's numbers
 * once. */
TEST(test_lines)
{
    json_error_t error;
    char *text = report_on("loop", "loop", GPUFL_REPORT_TEXT, 0);
    has(text, "  samples   share  stall  line\n"
              "      300  75.0 %  wait   loop.cu:5\n"
              "      100  25.0 %  wait   loop.cu:6\n");
    has(text, "      300  75.0 %  wait             > loop.cu:5\n"
              "      130  32.5 %  barrier            00000  FADD ;\n"
              "      100  25.0 %  wait             > loop.cu:6\n"
              "      100  25.0 %  wait               00010  FADD ;\n"
              "                                    > loop.cu:5\n"
              "      130  32.5 %  long_scoreboard    00020  FADD ;\n");
    free(text);
    text = report_on("loop", NULL, GPUFL_REPORT_TEXT, 0);
    has(text, "Top kernel by samples, for kernels were not recorded: loop, 100.0 % (+- 1.8 points");
    assert_null(strstr(text, "No kernels"));
    free(text);
    text = report_on("loop", "loop", GPUFL_REPORT_JSON, 0);
    json_t *root = json_loads(text, 0, &error);
    json_t *lines = json_object_get(json_array_get(json_object_get(root, "code"), 0), "lines");
    assert_int_equal(json_array_size(lines), 2);
    json_t *first = json_array_get(lines, 0);
    assert_int_equal(json_integer_value(json_object_get(first, "line")), 5);
    assert_int_equal(json_integer_value(json_object_get(first, "samples")), 300);
    assert_string_equal(json_string_value(json_object_get(first, "top_reason")), "wait");
    assert_int_equal(json_integer_value(json_object_get(first, "top_samples")), 160);
    json_decref(root);
    free(text);
}

/* The scope is due 150 of 200 samples: 100 are measured there, half of the others make up for
 * what it lacks. */
TEST(test_scopes)
{
    static const struct {
        const char *reason;
        int samples, estimated;
    } rows[] = {{"long_scoreboard", 80, 120}, {"selected", 20, 20}, {"wait", 0, 10}};
    json_error_t error;
    char *text = report_on("scoped", NULL, GPUFL_REPORT_TEXT, 0);
    has(text, "Samples by scope\n"
              "   share  estimate  measured  stalled most            scope\n"
              "  75.0 %       150       100  long_scoreboard 80.0 %  step\n");
    has(text, "100.0 % of all samples are of kernels whose time is known.");
    has(text, "  executed  threads  diverged  needed  conflicts  spills  kernel\n"
              "     5,000        -    25.0 %       -          -      70  step_kernel\n");
    free(text);
    text = report_on("scoped", NULL, GPUFL_REPORT_JSON, 0);
    json_t *root = json_loads(text, 0, &error), *samples = json_object_get(root, "samples");
    json_t *scopes = json_object_get(samples, "scopes");
    assert_int_equal(json_integer_value(json_object_get(samples, "estimated_of")), 200);
    assert_int_equal(json_array_size(scopes), 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *row = json_array_get(scopes, i);
        assert_string_equal(json_string_value(json_object_get(row, "reason")), rows[i].reason);
        assert_int_equal(json_integer_value(json_object_get(row, "samples")), rows[i].samples);
        assert_true(json_number_value(json_object_get(row, "estimated")) == rows[i].estimated);
    }
    json_decref(root);
    free(text);
    text = report_on("unrecorded", NULL, GPUFL_REPORT_TEXT, 0);
    has(text, "   share  measured  stalled most            scope\n"
              "  50.0 %       100  long_scoreboard 80.0 %  step\n");
    has(text, "No estimate through kernels");
    free(text);
    text = report_on("unrecorded", NULL, GPUFL_REPORT_JSON, 0);
    has(text, "\"estimated_of\":null,\"estimate_left_out\":null");
    free(text);
}

/* Text and JSON have parts of samples, with the same sum. */
TEST(test_parts_of_samples)
{
    json_error_t error;
    double sum = 0;
    char *text = report_on("few", NULL, GPUFL_REPORT_TEXT, 0);
    has(text, "  33.3 %         1         -  ");
    free(text);
    text = report_on("few", NULL, GPUFL_REPORT_JSON, 0);
    json_t *root = json_loads(text, 0, &error), *row;
    json_t *scopes = json_object_get(json_object_get(root, "samples"), "scopes");
    assert_int_equal(json_array_size(scopes), 3);
    size_t i;
    json_array_foreach(scopes, i, row)
    {
        double estimated = json_number_value(json_object_get(row, "estimated"));
        assert_true(estimated == 0.33);
        sum += estimated;
    }
    assert_true(sum > 0.98 && sum < 1.02);
    json_decref(root);
    free(text);
}

TEST(test_json)
{
    json_error_t error;
    char *text = report("gather", GPUFL_REPORT_JSON, 0);
    json_t *root = json_loads(text, 0, &error), *samples, *code, *first, *insight;
    assert_non_null(root);
    samples = json_object_get(root, "samples");
    assert_int_equal(json_integer_value(json_object_get(samples, "samples")), 4000);
    assert_int_equal(json_integer_value(json_object_get(samples, "not_issued")), 3500);
    assert_int_equal(json_array_size(json_object_get(samples, "kernels")), 3);
    /* The 4 multiprocessors that the session names count as one:
     * 1.96^2 / 2000, over 1 + 1.96^2 / 1000. */
    first = json_array_get(json_object_get(samples, "shares"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "kernel")), "gather");
    assert_int_equal(json_integer_value(json_object_get(first, "samples")), 4000);
    assert_true(json_number_value(json_object_get(first, "share")) == 1);
    assert_int_equal(1e6 * json_number_value(json_object_get(first, "margin")) + 0.5, 1913);
    assert_int_equal(json_array_size(json_object_get(samples, "shares")), 1);
    code = json_array_get(json_object_get(root, "code"), 0);
    first = json_array_get(json_object_get(code, "instructions"), 2);
    assert_int_equal(json_integer_value(json_object_get(first, "offset")), 32);
    assert_int_equal(json_integer_value(json_object_get(first, "line")), 12);
    assert_int_equal(json_integer_value(json_object_get(first, "samples")), 3500);
    assert_string_equal(json_string_value(json_object_get(first, "top_reason")), "long_scoreboard");
    assert_true(json_is_null(json_object_get(first, "smsp__sass_sectors_mem_global")));
    for (int i = 0; i < 2; i++) {
        static const char *const lists[] = {"kernels", "other_metrics"};
        json_t *list = json_object_get(json_object_get(root, "instructions"), lists[i]);
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "symbol")),
                            "gather");
    }
    insight = json_array_get(json_object_get(root, "insights"), 0);
    assert_string_equal(json_string_value(json_object_get(insight, "place")), "gather.cu:12");
    assert_int_equal(json_array_size(json_object_get(root, "counters")), 1);
    json_decref(root);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),  cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_no_text), cmocka_unit_test(test_kernel_counters),
        cmocka_unit_test(test_json),    cmocka_unit_test(test_lines),
        cmocka_unit_test(test_scopes),  cmocka_unit_test(test_parts_of_samples),
    };
    return cmocka_run_group_tests(tests, write_session, tmpdir_close);
}
