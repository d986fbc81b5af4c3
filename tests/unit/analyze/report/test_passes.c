/* test_passes.c - passes of one command in the report: each kind of data from its pass, none
 * twice; the report says whether the passes were alike, were not, or whether that is unknown. */
#include "base/file/file.h"
#include "tests/test.h"
#include "tests/unit/support/profile_log.h"
#include "tests/unit/support/reported.h"
#include "tests/unit/support/tmpdir.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Describes a pass: its engine, and how the program ran in it. */
struct pass_log {
    int64_t number;
    const char *asked, *ran;
    int64_t ms;        /* duration of each launch of gather */
    int64_t launches;  /* of gather; of axpy there is one of 10 ms */
    int64_t launched;  /* by the ledger; CELL_NULL: not counted */
    bool bare;         /* kernels have no rows */
    bool instrumented; /* it has samples or counts, by its engine */
};

static void put_option(struct program *p, const char *name, const char *value)
{
    struct option_row o = {.name = program_name(p, name),
                           .value = program_name(p, value),
                           .source = program_name(p, "trace")};
    make_log_rows(&p->log, RECORD_option, &o, 1);
}

static void put_capability(struct program *p, const char *feature, const char *status,
                           const char *reason)
{
    struct capability_row c = {.feature = program_name(p, feature),
                               .requested = 1,
                               .status = program_name(p, status),
                               .reason = *reason ? program_name(p, reason) : 0};
    make_log_rows(&p->log, RECORD_capability, &c, 1);
}

static void put_ledger(struct program *p, const struct pass_log *l)
{
    struct ledger_row row;
    MAKE_UNKNOWN(row);
    row.time = p->now;
    row.final = 1;
    row.launches = l->launched;
    row.kernels_recorded = l->bare ? 0 : l->launches + 1;
    row.kernels_written = row.kernels_recorded;
    make_log_rows(&p->log, RECORD_ledger, &row, 1);
}

static void put_profile(struct program *p, const struct pass_log *l, int64_t function)
{
    if (!strcmp(l->asked, "PcSampling")) {
        profile_sample(p, function, 2, "long_scoreboard", 0, 3000);
        profile_sample(p, function, 3, "selected", 1, 1000);
    } else if (!strcmp(l->asked, "SassMetrics")) {
        profile_metric(p, function, 2, "smsp__sass_inst_executed", 5000, 0);
        profile_metric(p, function, 2, "smsp__sass_thread_inst_executed", 40000, 0);
    } else {
        struct counter_row c = {.start = p->now,
                                .source = 2,
                                .device = 1,
                                .metric = program_name(p, "sm__warps_active.avg"),
                                .value = 125,
                                .exponent = -1,
                                .scope = CELL_NULL,
                                .correlation = CELL_NULL};
        make_log_rows(&p->log, RECORD_counter, &c, 1);
    }
}

/* Writes session s<number> of a pass, in a directory of its own. */
static void write_pass(const struct pass_log *l, const char *run)
{
    struct program p;
    char session[16], dir[512];
    struct err e = {0};
    snprintf(session, sizeof session, "%c%d", run[strlen(run) - 1], (int)l->number);
    snprintf(dir, sizeof dir, "%s/%.8s/%d-%s", tmpdir, run, (int)l->number, l->asked);
    program_init(&p, session);
    buf_clear(&p.log.lines); /* the header comes again, with the pass */
    p.names = 0;
    p.log.run = run;
    p.log.pass = l->number;
    p.log.passes = 3;
    p.log.engine = l->ran;
    p.log.real += l->number * 1000000000000;
    make_log_header(&p.log, "device", 1);
    program_name(&p, "Test GPU");
    program_name(&p, "GPU-1");
    make_log_device(&p.log);
    put_option(&p, "profiling_engine", l->asked);
    int64_t gather = profile_kernel_of(&p, "gather", l->bare ? 0 : l->ms);
    int64_t config = p.ids;
    for (int64_t i = 1; !l->bare && i < l->launches; i++)
        program_launch(&p, (struct program_kernel){.ns = l->ms * 1000000, .config = config});
    profile_kernel_of(&p, "axpy", l->bare ? 0 : 10);
    put_capability(&p, "kernels", l->bare ? "unavailable" : "collected", "");
    if (l->instrumented) {
        put_profile(&p, l, gather);
        put_capability(&p, !strcmp(l->asked, "PcSampling") ? "pc_sampling" : "range_counters",
                       "collected", "");
    }
    if (strcmp(l->asked, l->ran) != 0)
        put_capability(&p, "pc_sampling", "unavailable", "no permission for counters");
    put_ledger(&p, l);
    program_end(&p);
    assert_int_equal(file_mkdirs(dir, 0777, &e), 0);
    make_log_write(&p.log, dir, "device.log");
    program_fini(&p);
}

static char *report(const char *path, enum gpufl_report_format format, const char *kernel, int want,
                    char error[REPORT_ERROR])
{
    struct gpufl_report_options o = report_options(format);
    int rc;
    o.kernel = kernel;
    o.width = 160;
    o.top = 0;
    char *text = report_run(path, &o, error, &rc);
    if (rc != want)
        fail_msg("%d, not %d: %s", rc, want, error);
    return text;
}

static char *text_of(const char *run, const char *kernel)
{
    char error[512];
    return report(tmpdir_path(run), GPUFL_REPORT_TEXT, kernel, 0, error);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%s", part, text);
}

/* Like has(), for a sentence that may have line breaks anywhere. */
static void says(const char *text, const char *sentence)
{
    char *flat = strdup(text);
    size_t n = 0;
    assert_non_null(flat);
    for (const char *c = text; *c; c++)
        if (!strchr(" \n", *c) || (n && flat[n - 1] != ' '))
            flat[n++] = *c == '\n' ? ' ' : *c;
    flat[n] = '\0';
    has(flat, sentence);
    free(flat);
}

static json_t *json_of(const char *run)
{
    char error[512], *text = report(tmpdir_path(run), GPUFL_REPORT_JSON, NULL, 0, error);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    free(text);
    return root;
}

static int64_t number(json_t *at, const char *a, const char *b)
{
    json_t *v = json_object_get(b ? json_object_get(at, a) : at, b ? b : a);
    assert_true(json_is_integer(v));
    return json_integer_value(v);
}

static json_t *finding(json_t *root, const char *id)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(root, "insights"), i, one)
    {
        if (!strcmp(json_string_value(json_object_get(one, "id")), id))
            return one;
    }
    fail_msg("no finding %s", id);
    return NULL;
}

static void check_numbers(json_t *list, const char *expected)
{
    char text[64] = "";
    for (size_t i = 0, n = 0; i < json_array_size(list); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%lld ",
                              (long long)json_integer_value(json_array_get(list, i)));
    assert_string_equal(text, expected);
}

/* ---- alike ------------------------------------------------------------------------------- */

/* Sampled kernels take twice as long and instrumented ones are not recorded: times are Trace's. */
TEST(test_alike)
{
    write_pass(&(struct pass_log){1, "Trace", "Trace", 40, 2, 3, false, false}, "alike");
    write_pass(&(struct pass_log){2, "PcSampling", "PcSampling", 80, 2, 3, false, true}, "alike");
    write_pass(&(struct pass_log){3, "RangeProfiler", "RangeProfiler", 90, 2, 3, false, true},
               "alike");
    char *text = text_of("alike", NULL);
    has(text, "3 passes of run alike\n");
    has(text,
        "     1  Trace                 1  92.0 ms         3         3  times, launches, waits "
        "and idle time\n");
    has(text, "     2  PcSampling ");
    has(text, "samples: why kernels stall\n");
    has(text,
        "The passes were alike: of every kernel and launch shape as many launches, 3 in all.");
    says(text, "Evidence: times of pass 1 (Trace), samples of pass 2 (PcSampling).");
    has(text, "  Of pass 2 (PcSampling).\n");
    has(text, "  Of pass 3 (RangeProfiler).\n");
    has(text, "  collected kernels\n"
              "  others    collected pc_sampling (pass 2), range_counters (pass 3)\n");
    assert_null(strstr(text, "NOT ALIKE"));
    free(text);

    json_t *root = json_of("alike"), *group = json_array_get(json_object_get(root, "groups"), 0);
    assert_int_equal(number(root, "kernels", "count"), 3);
    assert_int_equal(number(root, "kernels", "total_ns"), 90000000);
    assert_int_equal(number(root, "samples", "samples"), 4000);
    assert_int_equal(json_array_size(json_object_get(root, "counters")), 1);
    assert_int_equal(json_array_size(json_object_get(root, "sessions")), 3);
    assert_int_equal(number(root, "ledger", "launches"), 3);
    assert_string_equal(json_string_value(json_object_get(group, "alike")), "yes");
    assert_true(json_is_true(json_object_get(group, "compared_by_kernel")));
    assert_int_equal(number(group, "announced", NULL), 3);
    json_t *stall = finding(root, "stall");
    check_numbers(json_object_get(stall, "passes"), "1 2 ");
    assert_int_equal(number(stall, "evidence", "gpu_ns"), 80000000);
    json_decref(root);

    text = text_of("alike", "gather"); /* one kernel's instructions */
    has(text, "4,000 samples (100.0 % of all).\n  Of pass 2 (PcSampling).\n");
    free(text);
}

/* Instrumented kernels have no rows: only the number of launches is known. */
TEST(test_alike_in_all)
{
    write_pass(&(struct pass_log){1, "Trace", "Trace", 40, 2, 3, false, false}, "bare");
    write_pass(&(struct pass_log){3, "SassMetrics", "SassMetrics", 0, 2, 3, true, true}, "bare");
    char *text = text_of("bare", NULL);
    has(text, "2 of 3 passes of run bare; the others are not there\n");
    has(text,
        "Each pass launched as many kernels (3); not all of them were recorded one by one, so "
        "they are matched by name alone.");
    has(text, "  Of pass 3 (SassMetrics).\n");
    has(text, "     3  SassMetrics         1  2.00 ms         3         -  counts of instructions");
    free(text);
    json_t *root = json_of("bare"), *group = json_array_get(json_object_get(root, "groups"), 0),
           *counted = json_array_get(json_object_get(group, "passes"), 1);
    assert_int_equal(number(counted, "kernels_launched", NULL), 3);
    assert_true(json_is_null(json_object_get(counted, "kernels_recorded")));
    assert_int_equal(number(root, "kernels", "count"), 3);
    check_numbers(json_object_get(finding(root, "divergence"), "passes"), "1 3 ");
    assert_int_equal(number(finding(root, "divergence"), "evidence", "gpu_ns"), 80000000);
    json_decref(root);
}

/* ---- not alike --------------------------------------------------------------------------- */

TEST(test_different)
{
    write_pass(&(struct pass_log){1, "Trace", "Trace", 40, 5, 6, false, false}, "differ");
    write_pass(&(struct pass_log){2, "PcSampling", "PcSampling", 40, 3, 4, false, true}, "differ");
    char *text = text_of("differ", NULL);
    says(text, "THE PASSES WERE NOT ALIKE. Launches of kernels: 6 in pass 1 (Trace), 4 in pass 2 "
               "(PcSampling).");
    has(text, "    gather, ");
    has(text, ": 5 in pass 1 (Trace), 3 in pass 2 (PcSampling)\n");
    has(text,
        "samples of pass 2 (PcSampling) (which launched a shape of it 3 times, the pass of the "
        "times 5 times)");
    free(text);
    json_t *root = json_of("differ"), *group = json_array_get(json_object_get(root, "groups"), 0);
    json_t *kernels = json_object_get(group, "different_kernels");
    assert_string_equal(json_string_value(json_object_get(group, "alike")), "no");
    assert_int_equal(json_array_size(kernels), 1);
    json_t *launches = json_object_get(json_array_get(kernels, 0), "launches");
    assert_int_equal(number(json_array_get(launches, 0), "count", NULL), 5);
    assert_int_equal(number(json_array_get(launches, 1), "count", NULL), 3);
    assert_int_equal(number(json_array_get(launches, 1), "pass", NULL), 2);
    json_decref(root);
}

/* The passes launch equally many kernels, but different ones: the sum alone would look alike. */
TEST(test_different_kernels)
{
    write_pass(&(struct pass_log){1, "Trace", "Trace", 40, 2, 3, false, false}, "swap");
    write_pass(&(struct pass_log){2, "PcSampling", "PcSampling", 40, 1, 3, false, true}, "swap");
    char *text = text_of("swap", NULL);
    says(text, "not all of them were recorded one by one"); /* 2 of 3: nothing to compare */
    free(text);
    write_pass(&(struct pass_log){2, "PcSampling", "PcSampling", 40, 1, CELL_NULL, false, true},
               "swap");
    text = text_of("swap", NULL);
    says(text, "THE PASSES WERE NOT ALIKE. Launches of kernels: 3 in pass 1 (Trace).");
    has(text, ": 2 in pass 1 (Trace), 1 in pass 2 (PcSampling)\n");
    free(text);
}

TEST(test_unknown)
{
    write_pass(&(struct pass_log){1, "Trace", "Trace", 40, 2, 3, false, false}, "unknown");
    write_pass(&(struct pass_log){2, "PcSampling", "PcSampling", 0, 2, CELL_NULL, true, true},
               "unknown");
    char *text = text_of("unknown", NULL);
    says(text, "Not every pass counted its launches: whether they were alike is not known.");
    free(text);
}

/* ---- less than all ----------------------------------------------------------------------- */

/* The engine was not available: the pass says why, and its kernels are not added to the others. */
TEST(test_nothing)
{
    write_pass(&(struct pass_log){1, "Trace", "Trace", 40, 2, 3, false, false}, "none");
    write_pass(&(struct pass_log){2, "PcSampling", "Trace", 40, 2, 3, false, false}, "none");
    char *text = text_of("none", NULL);
    has(text, "  pass 2 (PcSampling) gave nothing; it ran as Trace: no permission for counters.\n");
    has(text, "  asked for pc_sampling (pass 2): ");
    free(text);
    json_t *root = json_of("none");
    assert_int_equal(number(root, "kernels", "count"), 3);
    json_decref(root);
}

/* One pass alone is a session like any other; passes without times are refused. */
TEST(test_without_trace)
{
    char error[512];
    write_pass(&(struct pass_log){2, "PcSampling", "PcSampling", 40, 2, 3, false, true},
               "timeless");
    json_t *root = json_of("timeless");
    assert_null(json_object_get(root, "groups"));
    assert_int_equal(number(root, "kernels", "count"), 3);
    json_decref(root);
    write_pass(&(struct pass_log){3, "SassMetrics", "SassMetrics", 0, 2, 3, true, true},
               "timeless");
    free(report(tmpdir_path("timeless"), GPUFL_REPORT_TEXT, NULL, GPUFL_E_STATE, error));
    has(error, "the passes of run timeless lack the one of engine Trace, which has the times");
}

/* Two runs of passes below one directory: each is put together by itself. */
TEST(test_two_groups)
{
    char error[512];
    write_pass(&(struct pass_log){1, "Trace", "Trace", 40, 2, 3, false, false}, "both/x");
    write_pass(&(struct pass_log){2, "PcSampling", "PcSampling", 40, 2, 3, false, true}, "both/x");
    write_pass(&(struct pass_log){1, "Trace", "Trace", 40, 2, 3, false, false}, "both/y");
    write_pass(&(struct pass_log){2, "PcSampling", "PcSampling", 40, 2, 3, false, true}, "both/y");
    char *text = report(tmpdir_path("both"), GPUFL_REPORT_JSON, NULL, 0, error);
    json_t *root = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(root, "groups")), 2);
    assert_int_equal(number(root, "kernels", "count"), 6);
    assert_int_equal(number(root, "samples", "samples"), 8000);
    json_decref(root);
    free(text);
}

int main(void)
{
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, tmpdir_open, tmpdir_close)
    const struct CMUnitTest tests[] = {
        CASE(test_alike),         CASE(test_alike_in_all),
        CASE(test_different),     CASE(test_different_kernels),
        CASE(test_unknown),       CASE(test_nothing),
        CASE(test_without_trace), CASE(test_two_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
