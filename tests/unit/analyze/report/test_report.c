/* test_report.c - reports of kept sessions, word for word and number for number; of several and of
 * part of one; errors and exports. test_made.c has reports of logs made for the test. */
#include "analyze/report/report.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "tests/unit/support/reported.h"
#include "tests/unit/support/tmpdir.h"

#include <jansson.h>
#include <unistd.h>

#include "tests/unit/support/document.h"

TEST(test_golden)
{
    char *expected, *text = report_ok(report_data("sessions/train"), GPUFL_REPORT_TEXT, 100, false);
    size_t len;
    struct err e = {0};
    assert_int_equal(file_read_all(report_data("reports/train.txt"), 1 << 20, &expected, &len, &e),
                     0);
    assert_string_equal(text, expected);
    mem_free(expected);
    free(text);
}

/* Columns of a line: characters of UTF-8. */
static size_t columns(const char *line, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)line[i] & 0xc0) != 0x80;
    return n;
}

/* The first screen has at its least width: what ran, the bar, what to change, the next command. */
TEST(test_first_screen)
{
    struct gpufl_report_options o = report_options(GPUFL_REPORT_TEXT);
    size_t len;
    struct err e = {0};
    char *expected;
    o.full = false;
    o.width = 80;
    o.shown = "run1";
    char *text = report_with(report_data("sessions/train"), &o, 0);
    assert_int_equal(
        file_read_all(report_data("reports/train_first.txt"), 1 << 20, &expected, &len, &e), 0);
    assert_string_equal(text, expected);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(columns(line, strcspn(line, "\n")) <= 80);
    mem_free(expected);
    free(text);
}

/* The report has the sections that were asked for, and nothing else; a name that is no section is
 * refused by name. */
TEST(test_sections)
{
    struct gpufl_report_options o = report_options(GPUFL_REPORT_TEXT);
    char error[REPORT_ERROR];
    int rc;
    o.sections = "copies,kernels";
    char *text = report_with(report_data("sessions/train"), &o, 0);
    assert_ptr_equal(strstr(text, "Kernels\n"), text);
    assert_non_null(strstr(text, "\nCopies and fills\n"));
    assert_null(strstr(text, "Scopes\n"));
    assert_null(strstr(text, "Insights\n"));
    free(text);
    o.sections = "marks,samples,copies";
    text = report_with(report_data("sessions/train"), &o, 0);
    assert_non_null(strstr(text, "  No mark of NVTX or rocTX was read.\n"));
    assert_non_null(strstr(text, "  No sample of a kernel was read; engines PcSampling and Deep"));
    free(text);
    o.sections = "kernels,no_such";
    free(report_run(report_data("sessions/train"), &o, error, &rc));
    assert_int_equal(rc, GPUFL_E_INVAL);
    assert_non_null(strstr(error, "no section 'no_such'; there are: groups, sessions, session,"));
    o.format = GPUFL_REPORT_JSON;
    o.sections = "known";
    json_t *root = report_parse(report_with(report_data("sessions/train"), &o, 0));
    assert_int_equal(json_object_size(root), 5); /* answer format gpufl simulated known */
    assert_non_null(json_object_get(root, "answer"));
    json_decref(root);
}

/* The answer is the first member, and the first finding; the parts of the time add up. */
TEST(test_answer)
{
    char *text = report_ok(report_data("sessions/train"), GPUFL_REPORT_JSON, 100, false);
    assert_ptr_equal(strstr(text, "\"answer\""), strchr(text, '"'));
    json_t *root = report_parse(text), *answer = json_object_get(root, "answer"), *part;
    assert_string_equal(json_string_value(json_object_get(answer, "cause")), "late_launch");
    assert_int_equal(report_number(answer, "insight"), 0);
    assert_int_equal(report_number(answer, "gives_back_ns"),
                     report_number(root, "insights/0/gives_back_ns"));
    assert_true(json_is_null(json_object_get(answer, "line")));
    size_t at;
    int64_t ns = 0, permille = 0, idle = 0;
    json_array_foreach(json_object_get(json_object_get(root, "time"), "parts"), at, part)
    {
        ns += report_number(part, "ns");
        permille += report_number(part, "permille");
        idle += json_is_true(json_object_get(part, "idle")) ? report_number(part, "ns") : 0;
    }
    assert_int_equal(ns, report_number(root, "time/whole_ns"));
    assert_int_equal(idle, report_number(root, "idle/steady_ns"));
    assert_int_equal(report_number(root, "time/whole_ns"),
                     report_number(root, "steps/share_of_ns"));
    assert_int_equal(report_number(root, "steps/share_of_ns") +
                         report_number(root, "steps/start_up_ns") +
                         report_number(root, "steps/end_ns"),
                     report_number(root, "session/duration_ns"));
    assert_int_equal(permille, 1000);
    json_decref(root);
}

/* Returns true if the report says that the engine held the program up (NULL: any engine). */
static bool engine_is_reported(const json_t *root, const char *engine)
{
    size_t at;
    json_t *line;
    bool reported = false;
    char text[64];
    snprintf(text, sizeof text, "while engine %s", engine ? engine : "");
    json_array_foreach(json_object_get(root, "summary"), at, line)
    {
        reported |= strstr(json_string_value(line), text) != NULL;
    }
    return reported;
}

/* Time in which engines make the program wait is not the program's. */
TEST(test_slowed)
{
    static const struct {
        const char *run;
        const char *slows;  /* what the engine did to kernels; NULL: nothing */
        const char *engine; /* whose begin held the program up; NULL: none */
        size_t caveats;     /* two: in the start-up, and in the steady part as well */
    } cases[] = {
        {"train_loop_engines/3-SassMetrics",
         "own: engine SassMetrics makes kernels take many times as long. Engine Trace", NULL, 1},
        {"train_loop_kernels",
         "own: engine RangeProfiler runs each kernel several times. Engine Trace", NULL, 1},
        {"train_loop_engines/2-PcSampling", NULL, "PcSampling", 1},
        {"train_loop_engines/4-RangeProfiler", NULL, "RangeProfiler", 2},
        {"train_loop_engines", NULL, NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[PATH_MAX];
        size_t at, waits = 0;
        json_t *item;
        int64_t back = 0;
        snprintf(path, sizeof path, "%s/examples/data/%s", getenv("GPUFL_SOURCE_DIR"),
                 cases[i].run);
        json_t *root = report_parse(report_ok(path, GPUFL_REPORT_JSON, 0, false));
        const char *said = json_string_value(json_array_get(json_object_get(root, "summary"), 0));
        bool slowed = said && strstr(said, "time are not the program's own");
        assert_int_equal(slowed, cases[i].slows != NULL);
        assert_true(!slowed || strstr(said, cases[i].slows));
        assert_int_equal(engine_is_reported(root, cases[i].engine), cases[i].engine != NULL);
        assert_int_equal(json_array_size(json_object_get(root, "caveats")), cases[i].caveats);
        json_array_foreach(json_object_get(root, "insights"), at, item)
        {
            const char *category = json_string_value(json_object_get(item, "category"));
            bool idle = !strcmp(category, "IDLE") || !strcmp(category, "LAUNCH");
            bool sync = !strcmp(category, "SYNCHRONIZATION");
            assert_false(slowed && idle);
            bool low = !strcmp(json_string_value(json_object_get(item, "severity")), "LOW");
            assert_false(slowed && waits && !low); /* findings that count precede the waits */
            waits += sync;
            if (sync || idle)
                back += json_integer_value(json_object_get(item, "gives_back_ns"));
        }
        assert_true(waits > 0);
        if (strstr(cases[i].run, "3-SassMetrics"))
            assert_non_null(strstr(
                json_string_value(json_array_get(json_object_get(root, "summary"), 1)),
                "Kernels: not recorded by this pass, which counts instructions; the times are "
                "those of the run's Trace pass."));
        assert_int_equal(back > 0, !slowed);
        json_decref(root);
    }
}

/* docs/report.md names every key of a report. */
static void check_documented(json_t *root)
{
    const char *key;
    json_t *value;
    char *doc;
    document_read("report.md", &doc);
    json_object_foreach(root, key, value)
    {
        char named[2][64];
        snprintf(named[0], sizeof named[0], "`%s`", key);
        snprintf(named[1], sizeof named[1], "`%s[]`", key);
        if (!strstr(doc, named[0]))
            document_has("report.md", doc, named[1]);
    }
    mem_free(doc);
}

TEST(test_json)
{
    static const struct {
        const char *path;
        int64_t value;
    } facts[] = {
        {"session/duration_ns", 600000000},
        {"session/start_epoch_ns", 1760000001000000045},
        {"kernels/count", 120},
        {"kernels/total_ns", 148780000},
        {"kernels/busy/busy_ns", 128780000},
        {"kernels/busy/doubtful_ns", 0},
        {"kernels/by_name/0/total_ns", 120000000},
        {"kernels/by_name/0/median_ns", 3000000},
        {"kernels/by_name/2/max_ns", 239000},
        {"kernels/by_name/2/configs/0/local_per_thread", 24},
        {"copies/count", 40},
        {"copies/bytes", 335544320},
        {"copies/by_kind/HtoD/pageable/count", 40},
        {"fills/bytes", 67108864},
        {"synchronizations/host_waits", 40},
        {"synchronizations/host_wait_ns", 136000000},
        {"ledger/launches", 122},
        {"ledger/lost_driver", 2},
        {"ledger/rows_read/kernel", 120},
        {"log/parts", 4},
        {"log/damaged_lines", 0},
        {"devices/0/metrics/samples", 7},
        {"devices/0/metrics/gpu_util/samples", 6}, /* one was unknown */
        {"devices/0/metrics/memory_used/max", 8589934592},
        {"host/cpu/max", 1310},
        {"scopes/0/open", 1},
        {"scopes/0/gpu_ns", 148780000},
        {"scopes/1/calls", 40},
        {"scopes/1/wait_ns", 136000000},
        {"scopes/2/by_kernel/0/count", 40},
        {"scopes/2/by_kernel/0/total_ns", 120000000},
        {"scopes/2/by_kernel/1/total_ns", 20000000},
        {"scopes/2/other_kernels/count", 0},
        {"scopes/2/inherited_kernels", 0},
        {"scopes/4/iteration_ns", 600000},
        {"vendor_overhead/0/total_ns", 85000},
    };
    json_t *root =
        report_parse(report_ok(report_data("sessions/train"), GPUFL_REPORT_JSON, 100, false));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (report_number(root, facts[i].path) != facts[i].value)
            fail_msg("%s is %lld", facts[i].path, (long long)report_number(root, facts[i].path));
    assert_true(json_is_null(json_object_get(
        json_object_get(json_array_get(json_object_get(root, "devices"), 0), "metrics"), "fan")));
    check_documented(root);
    json_decref(root);
}

/* Neither width nor odd numbers break the page; colours are used only if asked for. */
TEST(test_pages)
{
    for (int width = 0; width < 220; width += 20) {
        char *text = report_ok(report_data("sessions/train"), GPUFL_REPORT_TEXT, width, false);
        size_t page = width < 80 ? 80 : width > 160 ? 160 : (size_t)width;
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf "));
        assert_null(strchr(text, '\033'));
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
            if (columns(line, strcspn(line, "\n")) > page)
                fail_msg("width %d: %.*s", width, (int)strcspn(line, "\n"), line);
        free(text);
    }
    char *text = report_ok(report_data("sessions/train"), GPUFL_REPORT_TEXT, 100, true);
    assert_non_null(strchr(text, '\033'));
    free(text);
}

TEST(test_several)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s/several", tmpdir);
    assert_int_equal(mkdir(dir, 0777), 0);
    report_session("aaaa", false, true, 10);
    report_session("bbbb", false, false, 20);
    assert_int_equal(rename(tmpdir_path("aaaa"), tmpdir_path("several/aaaa")), 0);
    assert_int_equal(rename(tmpdir_path("bbbb"), tmpdir_path("several/bbbb")), 0);
    report_session("aaaa", false, true, 10); /* once more: not to be counted twice */
    assert_int_equal(rename(tmpdir_path("aaaa"), tmpdir_path("several/copy")), 0);
    mkdir(tmpdir_path("several/broken"), 0777);
    tmpdir_write("several/broken/device.log", "no log\n", 7);
    char *text = report_ok(dir, GPUFL_REPORT_TEXT, 100, false);
    assert_int_equal(strncmp(text, "4 sessions", 10), 0);
    assert_non_null(strstr(text, "some are left out"));
    const char *broken = strstr(text, "\n  broken "); /* nothing of it is known */
    assert_non_null(broken);
    assert_null(memmem(broken + 1, strcspn(broken + 1, "\n"), " 0", 2));
    size_t reasons = 0; /* each session left out has its own */
    for (const char *reason = text; (reason = strstr(reason, "\n  Left out: ")); reason++)
        reasons++;
    assert_int_equal(reasons, 2);
    assert_non_null(strstr(text, "not a session log"));
    assert_non_null(strstr(text, "1 of 2 sessions did NOT end cleanly"));
    free(text);
    json_t *root = report_parse(report_ok(dir, GPUFL_REPORT_JSON, 100, false));
    assert_int_equal(report_number(root, "kernels/count"), 30);
    json_t *session;
    size_t at, unread = 0;
    json_array_foreach(json_object_get(root, "sessions"), at, session)
    {
        static const char *const keys[] = {"duration_ns", "kernels",   "busy_ns",
                                           "gpu_work",    "clean_end", "cut_short"};
        bool failed = !json_is_null(json_object_get(session, "error")) &&
                      json_is_null(json_object_get(session, "id"));
        unread += failed;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            assert_int_equal(json_is_null(json_object_get(session, keys[k])), failed);
    }
    assert_int_equal(unread, 1);
    /* Both ran the same kernels at the same times on one GPU: 20 of 500 ns together. */
    assert_int_equal(report_number(root, "kernels/busy/busy_ns"), 10000);
    assert_int_equal(json_array_size(json_object_get(root, "sessions")), 4);
    json_decref(root);
}

/* A report of one part has that part's times: 25 of 40 steps of 10 ms. */
TEST(test_one_part)
{
    char *text =
        report_ok(report_data("sessions/train/device.1.log.gz"), GPUFL_REPORT_TEXT, 100, false);
    assert_non_null(strstr(text, "one part of the log alone"));
    free(text);
    json_t *root = report_parse(
        report_ok(report_data("sessions/train/device.1.log.gz"), GPUFL_REPORT_JSON, 100, false));
    assert_int_equal(report_number(root, "kernels/count"), 75);
    assert_int_equal(report_number(root, "session/duration_ns"), 244300000);
    json_decref(root);
}

TEST(test_errors)
{
    char error[200] = "";
    int rc;
    free(report_of(tmpdir_path("nowhere"), GPUFL_REPORT_TEXT, 100, false, &rc));
    assert_int_equal(rc, GPUFL_E_NOENT);
    assert_int_equal(gpufl_report(NULL, NULL, stdout, error, sizeof error), GPUFL_E_INVAL);
    assert_true(*error);
    assert_int_equal(gpufl_report("/nonexistent", NULL, stdout, NULL, 0), GPUFL_E_NOENT);
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(gpufl_report(report_data("sessions/train"), NULL, full, error, sizeof error),
                     GPUFL_E_IO);
    fclose(full);
}

/* An exported session is read again with equal kernels, copies and scopes. */
TEST(test_export)
{
    static const char *const same[] = {
        "kernels/count",           "kernels/total_ns", "kernels/busy/busy_ns",
        "kernels/by_name/0/count", "copies/count",     "copies/bytes",
        "copies/total_ns",         "fills/bytes",      "synchronizations/host_wait_ns",
    };
    char out[PATH_MAX], error[512] = "";
    snprintf(out, sizeof out, "%s/exported", tmpdir);
    assert_int_equal(
        gpufl_export_gpuflight(report_data("sessions/train"), out, error, sizeof error), 0);
    json_t *ours =
        report_parse(report_ok(report_data("sessions/train"), GPUFL_REPORT_JSON, 100, false));
    json_t *theirs = report_parse(report_ok(out, GPUFL_REPORT_JSON, 100, false));
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (report_number(ours, same[i]) != report_number(theirs, same[i]))
            fail_msg("%s: %lld became %lld", same[i], (long long)report_number(ours, same[i]),
                     (long long)report_number(theirs, same[i]));
    assert_string_equal(error, ""); /* nothing to say about a whole log */
    assert_true(report_number(theirs, "log/gpuflight_lines") > 0);
    /* The public client's copies and waits have no scope: unknown is not 0. */
    json_t *scope = json_array_get(json_object_get(theirs, "scopes"), 0);
    assert_true(json_integer_value(json_object_get(scope, "kernels")) > 0);
    assert_true(json_is_null(json_object_get(scope, "copy_ns")));
    assert_true(json_is_null(json_object_get(scope, "waits")));
    assert_true(json_is_null(json_object_get(scope, "wait_ns")));
    scope = json_array_get(json_object_get(ours, "scopes"), 0);
    assert_true(json_is_integer(json_object_get(scope, "wait_ns")));
    json_decref(ours);
    json_decref(theirs);
    /* A second export would overwrite the first. */
    assert_int_equal(
        gpufl_export_gpuflight(report_data("sessions/train"), out, error, sizeof error),
        GPUFL_E_STATE);
    assert_non_null(strstr(error, "exists already"));
    assert_int_equal(gpufl_export_gpuflight(tmpdir_path("nowhere"), out, error, sizeof error),
                     GPUFL_E_NOENT);
}

/* A session that cannot be read does not prevent the export of the others. Files that were begun
 * and not finished are removed, so that the next attempt finds room. */
TEST(test_export_failures)
{
    char error[512] = "", out[PATH_MAX];
    assert_int_equal(mkdir(tmpdir_path("mixed"), 0777), 0);
    assert_int_equal(mkdir(tmpdir_path("mixed/a"), 0777), 0);
    tmpdir_write("mixed/a/device.log", "no log\n", 7);
    report_session("good", false, true, 3);
    assert_int_equal(rename(tmpdir_path("good"), tmpdir_path("mixed/good")), 0);
    snprintf(out, sizeof out, "%s/mixed-out", tmpdir);
    assert_int_equal(gpufl_export_gpuflight(tmpdir_path("mixed"), out, error, sizeof error),
                     GPUFL_E_CORRUPT);
    assert_non_null(strstr(error, "not a session log"));
    assert_non_null(strstr(error, "the other 1 of 2 sessions were written"));
    assert_true(file_is_regular(tmpdir_path("mixed-out/good/device.1.log.gz")));
    /* Here the second file to be made is there already, and is not ours. */
    assert_int_equal(mkdir(tmpdir_path("again"), 0777), 0);
    assert_int_equal(mkdir(tmpdir_path("again/good"), 0777), 0);
    tmpdir_write("again/good/scope.1.log.gz", "x", 1);
    snprintf(out, sizeof out, "%s/again", tmpdir);
    assert_int_equal(gpufl_export_gpuflight(tmpdir_path("mixed/good"), out, error, sizeof error),
                     GPUFL_E_STATE);
    assert_false(file_exists(tmpdir_path("again/good/device.1.log.gz")));
    assert_true(file_is_regular(tmpdir_path("again/good/scope.1.log.gz")));
}

/* Damaged lines are not written, and the message says so; a line that was being written is no
 * damage. */
TEST(test_export_damaged)
{
    char error[512], out[PATH_MAX];
    const char *const ends[] = {"", "{\"type\":\"kern", "{\"kernel\":[[1,2,\n"};
    for (int i = 0; i < 3; i++) {
        char id[16];
        snprintf(id, sizeof id, "torn%d", i);
        report_session(id, false, true, 3);
        snprintf(out, sizeof out, "%s/device.log", tmpdir_path(id));
        FILE *log = fopen(out, "ab");
        assert_non_null(log);
        fputs(ends[i], log);
        assert_int_equal(fclose(log), 0);
        snprintf(out, sizeof out, "%s/torn-out%d", tmpdir, i);
        strcpy(error, "left over");
        assert_int_equal(gpufl_export_gpuflight(tmpdir_path(id), out, error, sizeof error), 0);
        if (i < 2)
            assert_string_equal(error, "");
        else
            assert_non_null(strstr(error, "1 of 1 sessions are damaged"));
    }
}

TEST(test_no_memory)
{
    for (int format = 0; format < 2; format++)
        for (int64_t fail = 0;; fail++) {
            int rc;
            mem_fail_at(fail);
            char *text = report_of(report_data("sessions/train"), (enum gpufl_report_format)format,
                                   100, false, &rc);
            bool done = mem_count() <= fail;
            mem_fail_at(-1);
            /* Inflating without memory looks like a file that is broken off. */
            bool said = !rc && strstr(text, format ? "\"broken_off_parts\":1" : "broken off");
            free(text);
            if (rc != (done ? 0 : GPUFL_E_NOMEM) && !said)
                fail_msg("allocation %lld: %d", (long long)fail, rc);
            if (done)
                break;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),         cmocka_unit_test(test_first_screen),
        cmocka_unit_test(test_sections),       cmocka_unit_test(test_answer),
        cmocka_unit_test(test_slowed),         cmocka_unit_test(test_json),
        cmocka_unit_test(test_pages),          cmocka_unit_test(test_several),
        cmocka_unit_test(test_one_part),       cmocka_unit_test(test_errors),
        cmocka_unit_test(test_export),         cmocka_unit_test(test_export_failures),
        cmocka_unit_test(test_export_damaged), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
