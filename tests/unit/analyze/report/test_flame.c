/* test_flame.c - tests lines that wait in the whole report: text, JSON and collapsed stacks. */
#include "tests/test.h"

#include "base/alloc.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/reported.h"
#include "tests/unit/support/tmpdir.h"

#include <jansson.h>

static char *report(const char *session, enum gpufl_report_format format, bool stacks, int *code)
{
    struct gpufl_report_options o = report_options(format);
    char error[REPORT_ERROR];
    o.stacks = stacks;
    o.top = format == GPUFL_REPORT_JSON ? 0 : o.top;
    char *text = report_run(tmpdir_path(session), &o, error, code);
    assert_true((*code == 0) == (*error == '\0'));
    return text;
}

/* A training loop with a wait in each step, launches with stacks, and a name that would break the
 * format. */
static void write_session(const char *name, bool with_stacks)
{
    struct program p;
    program_init(&p, name);
    make_log_config(&p.log, 1, program_name(&p, "_Z4gemmPf"));
    int64_t main = program_python(&p, 0, "/srv/app/train.py", "<module>", 200),
            step = program_python(&p, main, "/srv/app/train.py", "train_step", 90),
            odd = program_python(&p, main, "/srv/app/odd;name.py", "a;b\nc", 7),
            event = program_python(&p, main, "/srv/app/train.py", "overlap", 150);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 4; k++)
            program_launch(&p, (struct program_kernel){
                                   .ns = 100000, .config = 1, .stack = with_stacks ? odd : 0});
        program_sync(&p, WAIT_CONTEXT, with_stacks ? step : 0, 1);
        program_call(&p, (struct wait_row){.duration = 1000,
                                           .call = WAIT_STREAM_EVENT,
                                           .stack = with_stacks ? event : 0});
        program_work(&p, 150000);
    }
    program_write(&p);
}

TEST(test_collapsed)
{
    int rc;
    write_session("flame", true);
    char *text = report("flame", GPUFL_REPORT_FLAME, false, &rc);
    assert_int_equal(rc, 0);
    assert_string_equal(text, "host blocked;<module> (train.py:200);train_step() "
                              "(train.py:90);context synchronizations 8040000\n"
                              "GPU;<module> (train.py:200);a,b c() (odd,name.py:7);gemm "
                              "8000000\n");
    free(text);
}

TEST(test_no_stacks)
{
    int rc;
    write_session("bare", false);
    for (int f = GPUFL_REPORT_FLAME; f <= GPUFL_REPORT_SPEEDSCOPE; f++) {
        free(report("bare", (enum gpufl_report_format)f, false, &rc));
        assert_int_equal(rc, GPUFL_E_NOENT);
    }
    char *text = report("bare", GPUFL_REPORT_TEXT, true, &rc);
    assert_int_equal(rc, 0);
    assert_non_null(strstr(text, "context  (no stack)"));
    assert_non_null(
        strstr(text, "The host waited 8.04 ms in 20 blocking calls (60.8 % of the run)."));
    assert_null(strstr(text, "Insights"));
    free(text);
}

TEST(test_text)
{
    int rc;
    char *text = report("flame", GPUFL_REPORT_TEXT, true, &rc);
    assert_int_equal(rc, 0);
    static const char *const parts[] = {
        "Where the time went\n"
        "  Kernels or copies ran for 60.5 % of 13.2 ms; nothing ran for 5.22 ms.\n"
        "  ███",
        "  █ kernels 60.5 %   = host waits 23.1 %   > after the last work 8.8 %\n",
        "Insights\n"
        "  HIGH SYNCHRONIZATION: In-loop sync × 20 — likely blocking GPU pipelining at train.py:90 "
        "in\n",
        "      8.04ms blocked across 20 calls at train.py:90 in train_step(). That is 60.8 % of "
        "the run.",
        "Synchronization by line\n",
        "     20  8.04 ms  60.8 %  context  train.py:90  train_step()\n",
        "Streams that wait for an event; the host goes on:\n",
        "     20  20.0 us  0.2 %  stream wait  train.py:150  overlap()\n",
        "  train.py:90\n"
        "    8.04 ms in 20 calls:\n"
        "      train.py:90 train_step()\n"
        "      train.py:200 <module>\n",
        "Idle time of the GPU by cause\n"
        "     idle   share  gaps  because\n"
        "  3.06 ms  58.6 %    19  the host waited for the GPU\n",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i])) {
            fputs(text, stderr);
            fail_msg("missing: %s", parts[i]);
        }
    free(text);
}

TEST(test_json)
{
    int rc;
    json_error_t error;
    char *text = report("flame", GPUFL_REPORT_JSON, false, &rc);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error), *lines, *line, *causes, *cause;
    int64_t sum = 0, wall;
    size_t i;
    assert_int_equal(rc, 0);
    assert_non_null(root);
    wall = json_integer_value(json_object_get(json_object_get(root, "session"), "duration_ns"));
    json_t *first = json_array_get(json_object_get(root, "insights"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "id")), "sync_loop");
    assert_string_equal(json_string_value(json_object_get(first, "file")), "/srv/app/train.py");
    assert_int_equal(json_integer_value(json_object_get(first, "line")), 90);
    assert_string_equal(json_string_value(json_object_get(first, "function")), "train_step");
    lines = json_object_get(json_object_get(root, "synchronization_lines"), "lines");
    assert_int_equal(json_array_size(lines), 2);
    line = json_array_get(lines, 0);
    assert_int_equal(json_integer_value(json_object_get(line, "blocked_ns")), 8040000);
    assert_int_equal(json_array_size(json_object_get(
                         json_array_get(json_object_get(line, "stacks"), 0), "frames")),
                     2);
    causes = json_object_get(json_object_get(root, "idle"), "causes");
    json_array_foreach(causes, i, cause) sum +=
        json_integer_value(json_object_get(cause, "idle_ns"));
    assert_int_equal(sum,
                     json_integer_value(json_object_get(json_object_get(root, "idle"), "idle_ns")));
    assert_int_equal(sum, wall - 8000000);
    json_decref(root);
    free(text);
}

/* Launches of CUDA graphs that were recorded as a whole, and no kernel row. */
TEST(test_graphs_as_a_whole)
{
    enum { RUNS = 4 };
    struct program p;
    int rc;
    program_init(&p, "graphs");
    int64_t step = program_python(&p, 0, "/srv/app/train.py", "train_step", 90);
    for (int i = 0; i < RUNS; i++) {
        struct graph_run_row row = {.start = p.now + 5000,
                                    .duration = 1000000,
                                    .graph = i == 3 ? 1 << 20 : 7 + i % 2,
                                    .stream = 1,
                                    .correlation = ++p.correlation,
                                    .stack = i ? step : 0};
        make_log_rows(&p.log, RECORD_graph_run, &row, 1);
        program_work(&p, 2000000);
    }
    program_write(&p);

    char *text = report("graphs", GPUFL_REPORT_FLAME, false, &rc);
    assert_int_equal(rc, 0);
    assert_string_equal(text, "GPU;train_step() (train.py:90);CUDA graph 8 1000000\n"
                              "GPU;train_step() (train.py:90);CUDA graph 7 1000000\n"
                              "GPU;train_step() (train.py:90);CUDA graphs 1000000\n");
    free(text);
    text = report("graphs", GPUFL_REPORT_TEXT, false, &rc);
    assert_int_equal(rc, 0);
    assert_null(strstr(text, "No kernels"));
    assert_non_null(
        strstr(text, "GPU busy 40.0 % of the run's 10.0 ms, without a kernel for 6.00 ms."));
    assert_non_null(strstr(text, "Kernels were launched in CUDA graphs"));
    free(text);
}

TEST(test_no_memory)
{
    static const enum gpufl_report_format formats[] = {GPUFL_REPORT_TEXT, GPUFL_REPORT_JSON,
                                                       GPUFL_REPORT_FLAME, GPUFL_REPORT_PPROF,
                                                       GPUFL_REPORT_SPEEDSCOPE};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int64_t fail = 0;; fail++) {
            int rc;
            mem_fail_at(fail);
            free(report("flame", formats[f], true, &rc));
            bool done = mem_count() <= fail;
            mem_fail_at(-1);
            if (rc != (done ? 0 : GPUFL_E_NOMEM))
                fail_msg("format %zu, allocation %lld: %d", f, (long long)fail, rc);
            if (done)
                break;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collapsed),
        cmocka_unit_test(test_no_stacks),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_graphs_as_a_whole),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
