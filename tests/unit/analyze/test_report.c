/* test_report.c - the reports of kept sessions, word for word and number for number. */
#include "analyze/report/report.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/file.h"
#include "tests/unit/support/make_log.h"
#include "tests/unit/support/tmpdir.h"

#include <jansson.h>
#include <unistd.h>

#include "tests/unit/support/document.h"

/* The report of a path, or NULL and *code. */
static char *report(const char *path, enum gpufl_report_format format, int width, bool color,
                    int *code)
{
    struct gpufl_report_options o;
    char *text = NULL, error[512] = "";
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    gpufl_report_options_init(&o, sizeof o);
    o.format = format;
    o.width = width;
    o.color = color;
    o.top = format == GPUFL_REPORT_JSON ? 0 : o.top;
    *code = gpufl_report(path, &o, out, error, sizeof error);
    fclose(out);
    assert_true((*code == 0) == (*error == '\0'));
    return text;
}

static char *report_ok(const char *path, enum gpufl_report_format format, int width, bool color)
{
    int code;
    char *text = report(path, format, width, color, &code);
    assert_int_equal(code, 0);
    return text;
}

static const char *data(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/tests/data/%s", getenv("GPUFL_SOURCE_DIR"), name);
    return path;
}

TEST(test_golden)
{
    char *expected, *text = report_ok(data("sessions/train"), GPUFL_REPORT_TEXT, 100, false);
    size_t len;
    struct err e = {0};
    assert_int_equal(file_read_all(data("reports/train.txt"), 1 << 20, &expected, &len, &e), 0);
    assert_string_equal(text, expected);
    mem_free(expected);
    free(text);
}

static json_t *parse(char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        print_message("%s at %d\n%s\n", error.text, error.position, text);
    assert_non_null(root);
    free(text);
    return root;
}

/* Is it said that the engine held the program up (NULL: that any did)? */
static bool engine_is_told(const json_t *root, const char *engine)
{
    size_t at;
    json_t *line;
    bool told = false;
    char text[64];
    snprintf(text, sizeof text, "while engine %s", engine ? engine : "");
    json_array_foreach(json_object_get(root, "summary"), at, line)
    {
        told |= strstr(json_string_value(line), text) != NULL;
    }
    return told;
}

/* Time in which engines make the program wait is not the program's. */
TEST(test_slowed)
{
    static const struct {
        const char *run;
        bool slowed;
        const char *engine; /* whose begin held the program up; NULL: none */
    } cases[] = {
        {"train_loop_engines/3-SassMetrics", true, NULL},
        {"train_loop_kernels", true, NULL},
        {"train_loop_engines/2-PcSampling", false, "PcSampling"},
        {"train_loop_engines/4-RangeProfiler", false, "RangeProfiler"},
        {"train_loop_engines", false, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[PATH_MAX];
        size_t at, waits = 0;
        json_t *item;
        int64_t back = 0;
        snprintf(path, sizeof path, "%s/examples/data/%s", getenv("GPUFL_SOURCE_DIR"),
                 cases[i].run);
        json_t *root = parse(report_ok(path, GPUFL_REPORT_JSON, 0, false));
        const char *said = json_string_value(json_array_get(json_object_get(root, "summary"), 0));
        assert_int_equal(said && strstr(said, "time are not the program's own"), cases[i].slowed);
        assert_int_equal(engine_is_told(root, cases[i].engine), cases[i].engine != NULL);
        assert_int_equal(json_array_size(json_object_get(root, "caveats")),
                         cases[i].slowed + (cases[i].engine != NULL));
        json_array_foreach(json_object_get(root, "insights"), at, item)
        {
            const char *category = json_string_value(json_object_get(item, "category"));
            bool idle = !strcmp(category, "IDLE") || !strcmp(category, "LAUNCH");
            bool sync = !strcmp(category, "SYNCHRONIZATION");
            assert_false(cases[i].slowed && idle);
            bool low = !strcmp(json_string_value(json_object_get(item, "severity")), "LOW");
            assert_false(cases[i].slowed && waits &&
                         !low); /* what counts stands before the waits */
            waits += sync;
            if (sync || idle)
                back += json_integer_value(json_object_get(item, "gives_back_ns"));
        }
        assert_true(waits > 0);
        if (strstr(cases[i].run, "3-SassMetrics"))
            assert_non_null(
                strstr(json_string_value(json_array_get(json_object_get(root, "summary"), 1)),
                       "Kernels: not recorded by this engine, use --passes"));
        assert_int_equal(back > 0, !cases[i].slowed);
        json_decref(root);
    }
}

/* The integer at a path of keys, '/' between them; digits are places in an array. */
static int64_t number(json_t *at, const char *path)
{
    char key[64];
    while (at && *path) {
        size_t n = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
                               : json_object_get(at, key);
        path += n + (path[n] == '/');
    }
    assert_true(json_is_integer(at));
    return json_integer_value(at);
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
    json_t *root = parse(report_ok(data("sessions/train"), GPUFL_REPORT_JSON, 100, false));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (number(root, facts[i].path) != facts[i].value)
            fail_msg("%s is %lld", facts[i].path, (long long)number(root, facts[i].path));
    assert_true(json_is_null(json_object_get(
        json_object_get(json_array_get(json_object_get(root, "devices"), 0), "metrics"), "fan")));
    check_documented(root);
    json_decref(root);
}

static void make_session(const char *id, bool simulated, bool ended, int64_t kernels)
{
    struct make_log l;
    make_log_init(&l, id);
    l.simulated = simulated;
    make_log_header(&l, "device", 1);
    make_log_names(&l, "Test GPU", "GPU-9", "saxpy", "shutdown", NULL);
    make_log_device(&l);
    make_log_config(&l, 1, 3);
    for (int64_t i = 0; i < kernels; i++)
        make_log_kernel(&l, 5000 + i * 1000, 500, 1, 0);
    if (ended)
        make_log_rows(&l, RECORD_end, &(struct end_row){2000000, 4}, 1);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
}

/* Neither width nor odd numbers break the page; colours only where asked. */
TEST(test_pages)
{
    for (int width = 0; width < 220; width += 20) {
        char *text = report_ok(data("sessions/train"), GPUFL_REPORT_TEXT, width, false);
        size_t page = width < 80 ? 80 : width > 160 ? 160 : (size_t)width;
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf "));
        assert_null(strchr(text, '\033'));
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
            if (strcspn(line, "\n") > page)
                fail_msg("width %d: %.*s", width, (int)strcspn(line, "\n"), line);
        free(text);
    }
    char *text = report_ok(data("sessions/train"), GPUFL_REPORT_TEXT, 100, true);
    assert_non_null(strchr(text, '\033'));
    free(text);
}

/* Names as hostile as they come: nothing of them reaches the terminal but text, and their
 * length costs neither the report nor its time. */
TEST(test_hostile_names)
{
    struct make_log l;
    static const char before[] = "{\"type\":\"names\",\"rows\":1,\"id\":[5],\"text\":[\"",
                      after[] = "\"]}\n";
    size_t len = 3 << 20;
    char *line = malloc(sizeof before + len + sizeof after), *name = line + sizeof before - 1;
    assert_non_null(line);
    memcpy(line, before, sizeof before);
    memset(name, 'n', len);
    memcpy(name + len, after, sizeof after);
    make_log_init(&l, "hostile");
    l.app = "a\033]0;title\a\nGPU busy 100 %";
    l.host = "\xc2\x9b"
             "31m";
    make_log_header(&l, "device", 1);
    make_log_names(&l, "G\033[2J", "GPU-1", "x", "\033[31mk\r\n", NULL);
    make_log_text(&l, line);
    make_log_device(&l);
    make_log_config(&l, 1, 5);
    make_log_config(&l, 2, 4);
    make_log_kernel(&l, 1000, 2000, 1, 0);
    make_log_kernel(&l, 9000, 1000, 2, 0);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    alarm(60);
    char *text = report_ok(tmpdir_path("hostile"), GPUFL_REPORT_TEXT, 100, false);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        assert_true(*at == '\n' || (*at >= 0x20 && *at != 0x7f && *at != 0x9b));
    assert_non_null(strstr(text, "a ]0;title GPU busy 100 %"));
    assert_non_null(strstr(text, "nnn..nnn"));
    free(text);
    text = report_ok(tmpdir_path("hostile"), GPUFL_REPORT_JSON, 100, false);
    name[len] = '\0';
    assert_non_null(strstr(text, name));
    assert_non_null(strstr(text, "\\u001b[31mk\\r\\n"));
    free(text);
    free(line);
    alarm(0);
}

TEST(test_simulated_and_unclean)
{
    make_session("simulated", true, false, 3);
    char *text = report_ok(tmpdir_path("simulated"), GPUFL_REPORT_TEXT, 100, false);
    assert_int_equal(strncmp(text, "*** SIMULATED", 13), 0);
    assert_non_null(strstr(text, "NOT CLEAN"));
    assert_non_null(strstr(text, "no ledger"));
    free(text);
    json_t *root = parse(report_ok(tmpdir_path("simulated"), GPUFL_REPORT_JSON, 100, false));
    assert_true(json_is_true(json_object_get(root, "simulated")));
    json_decref(root);
}

/* A session that ended, but not because the program did. */
TEST(test_cut_short)
{
    static const struct {
        const char *reason, *text;
        bool cut_short;
    } ends[] = {
        {"exit", "clean: the program ended", false},
        {"duration", "clean: the capture's time was over", false},
        {"something_new", "clean: something_new", false},
        {"write_error", "NOT captured to the program's end: the logs could not be written", true},
        {"spool_limit", "NOT captured to the program's end: the logs had reached their", true},
        {"disk_reserve", "NOT captured to the program's end: the disk was nearly full", true},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct make_log l;
        make_log_init(&l, ends[i].reason);
        make_log_header(&l, "system", 1);
        make_log_names(&l, ends[i].reason, NULL);
        make_log_rows(&l, RECORD_end, &(struct end_row){2000000, 1}, 1);
        make_log_write(&l, tmpdir, "system.log");
        make_log_fini(&l);
        char *text = report_ok(tmpdir_path(ends[i].reason), GPUFL_REPORT_TEXT, 160, false);
        assert_non_null(strstr(text, ends[i].text));
        free(text);
        json_t *root = parse(report_ok(tmpdir_path(ends[i].reason), GPUFL_REPORT_JSON, 100, false));
        assert_int_equal(number(root, "session/cut_short_sessions"), ends[i].cut_short);
        json_decref(root);
    }
}

/* A machine's GPUs are listed one by one only if they had work. */
TEST(test_idle_device)
{
    struct make_log l;
    struct device_row second;
    make_log_init(&l, "two");
    make_log_header(&l, "device", 1);
    make_log_names(&l, "Test GPU", "GPU-9", "saxpy", "GPU-10", NULL);
    make_log_device(&l);
    MAKE_UNKNOWN(second);
    second.id = 2;
    second.index = 1;
    second.name = 1;
    second.uuid = 4;
    make_log_rows(&l, RECORD_device, &second, 1);
    make_log_config(&l, 1, 3);
    make_log_kernel(&l, 5000, 500, 1, 0);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    char *text = report_ok(tmpdir_path("two"), GPUFL_REPORT_TEXT, 160, false);
    assert_non_null(strstr(text, "  GPU busy "));
    assert_non_null(strstr(text, "; 1 other GPU had no work.\n"));
    assert_non_null(strstr(text, "\n  1 other GPU had no work.\n"));
    assert_null(strstr(text, "kernels ran 0.0 %"));
    free(text);
}

/* A scope with more kernels than a page shows, some launched by a thread without scopes. */
TEST(test_scope_kernels)
{
    enum { NAMES = 9, EACH = 2 };
    struct make_log l;
    struct scope_row scope = {.start = 1000, .duration = 90000, .instance = 1, .name = 3};
    struct ledger_row ledger;
    make_log_init(&l, "scopes");
    make_log_header(&l, "device", 1);
    make_log_names(&l, "Test GPU", "GPU-9", "step", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8",
                   "_ZN1n2k9EPf", NULL);
    make_log_device(&l);
    for (int64_t i = 1; i <= NAMES; i++)
        make_log_config(&l, i, 3 + i);
    for (int64_t i = 0; i < (int64_t)NAMES * EACH; i++) {
        struct kernel_row k;
        MAKE_UNKNOWN(k);
        k.start = 2000 + i * 1000;
        k.duration = 10 * (i % NAMES + 1);
        k.config = i % NAMES + 1;
        k.stream = 1;
        k.scope = 1;
        k.inherited = i < 5;
        make_log_rows(&l, RECORD_kernel, &k, 1);
    }
    make_log_rows(&l, RECORD_scope, &scope, 1);
    MAKE_UNKNOWN(ledger);
    ledger.launches_shared = 3;
    make_log_rows(&l, RECORD_ledger, &ledger, 1);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    char *text = report_ok(tmpdir_path("scopes"), GPUFL_REPORT_TEXT, 80, false);
    const char *page = strstr(text, "\nScopes\n");
    assert_non_null(page);
    assert_non_null(strstr(page, "scope, · kernel\n"));
    assert_non_null(strstr(page, "  step\n"));
    assert_non_null(strstr(page, "· n::k9\n"));
    assert_non_null(strstr(page, "· k7\n"));
    assert_null(strstr(page, "· k6\n"));
    assert_non_null(strstr(page, "· 6 more kernels\n"));
    assert_non_null(strstr(page, "5 of 18 kernels inherited: launched by a thread without scopes"));
    assert_non_null(strstr(page, "3 launches of threads without scopes left outside"));
    free(text);
    json_t *root = parse(report_ok(tmpdir_path("scopes"), GPUFL_REPORT_JSON, 80, false));
    assert_int_equal(number(root, "scopes/0/inherited_kernels"), 5);
    assert_int_equal(number(root, "scopes/0/self_inherited_kernels"), 5);
    assert_int_equal(number(root, "scopes/0/by_kernel/0/total_ns"), 180);
    assert_int_equal(number(root, "scopes/0/by_kernel/8/count"), EACH);
    assert_int_equal(number(root, "outside_scopes/launches_shared"), 3);
    json_decref(root);
}

/* The public client's waits have stacks of functions: lines, findings and flame graphs of them. */
TEST(test_their_stacks)
{
    enum { STEPS = 20, KERNELS = 4 };
    struct make_log l;
    char row[160];
    make_log_init(&l, "theirs");
    make_log_text(&l, "{\"type\":\"job_start\",\"pid\":7,\"app\":\"toy\",\"session_id\":\"theirs\","
                      "\"ts_ns\":1000,\"gpu_static_devices\":[{\"id\":0,\"name\":\"g\"}]}\n"
                      "{\"type\":\"dictionary_update\",\"session_id\":\"theirs\","
                      "\"kernel_dict\":{\"5\":\"tiny\"},\"function_dict\":{\"1\":\"main|toy::step("
                      "float*)|cudaDeviceSynchronize\","
                      "\"2\":\"main|run (train.py:90)\"}}\n"
                      "{\"type\":\"kernel_event_batch\",\"session_id\":\"theirs\","
                      "\"base_time_ns\":1000,\"rows\":[[0,5,7,9,1000,0,0,0,0,0]");
    for (int i = 0; i < STEPS * KERNELS; i++) {
        snprintf(row, sizeof row, ",[%d,0,7,20000,%d,0,0,0,0,0]",
                 i / KERNELS * 1000000 + i % KERNELS * 30000, i / KERNELS * 10 + i % KERNELS + 1);
        make_log_text(&l, row);
    }
    make_log_text(&l, "]}\n{\"type\":\"synchronization_event_batch\",\"session_id\":\"theirs\","
                      "\"base_time_ns\":1000,\"rows\":[[0,1,4,0,0,1,999,2]");
    for (int i = 0; i < STEPS; i++) {
        snprintf(row, sizeof row, ",[%d,800000,4,0,0,1,%d,1]", i * 1000000 + 100000, i * 10 + 9);
        make_log_text(&l, row);
    }
    make_log_text(&l, "]}\n{\"type\":\"shutdown\",\"session_id\":\"theirs\",\"ts_ns\":20001000}\n");
    make_log_write(&l, tmpdir, "device.1.log");
    make_log_fini(&l);
    char *text = report_ok(tmpdir_path("theirs"), GPUFL_REPORT_TEXT, 120, false);
    assert_non_null(
        strstr(text, "In-loop sync × 20 — likely blocking GPU pipelining at toy::step()"));
    assert_non_null(strstr(
        text, "  1 kernel below 0.1 % of the run is not judged by occupancy and local memory.\n"));
    assert_non_null(strstr(text, "\nSynchronization by line\n"));
    assert_non_null(strstr(text, "train.py:90  run()\n"));
    free(text);
    json_t *root = parse(report_ok(tmpdir_path("theirs"), GPUFL_REPORT_JSON, 80, false));
    assert_int_equal(number(root, "synchronization_lines/lines/0/calls"), STEPS);
    assert_int_equal(number(root, "synchronization_lines/lines/0/blocked_ns"), STEPS * 800000);
    assert_int_equal(number(root, "synchronization_lines/lines/1/line"), 90);
    json_t *first =
        json_array_get(json_object_get(json_object_get(root, "synchronization_lines"), "lines"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "function")), "toy::step(float*)");
    assert_true(json_is_null(json_object_get(first, "file")));
    json_decref(root);
}

/* A log without kernels says why; nothing is divided by zero. */
TEST(test_empty)
{
    struct make_log l;
    make_log_init(&l, "monitor");
    l.engine = "Monitor";
    make_log_header(&l, "system", 1);
    make_log_write(&l, tmpdir, "system.log");
    make_log_fini(&l);
    char *text = report_ok(tmpdir_path("monitor"), GPUFL_REPORT_TEXT, 100, false);
    assert_non_null(strstr(text, "Kernels: not recorded by this engine, use engine Trace."));
    assert_null(strstr(text, "nan"));
    free(text);
    json_decref(parse(report_ok(tmpdir_path("monitor"), GPUFL_REPORT_JSON, 100, false)));
}

static void put_setting(struct make_log *l, int64_t name, int64_t value)
{
    struct setting_row s = {.engine = 2, .name = name, .value = value};
    make_log_rows(l, RECORD_setting, &s, 1);
}

/* A session that asks for the engine Deep. ran: name of the engine it ran as; why: name of the
 * reason, 0: none. */
static void make_asked(const char *id, int64_t ran, int64_t why)
{
    struct make_log l;
    make_log_init(&l, id);
    l.engine = "Trace";
    make_log_header(&l, "system", 1);
    make_log_names(&l, "profiling_engine", "Deep", "ran_as", "why", "Trace", "the device is taken",
                   NULL);
    make_log_rows(&l, RECORD_option, &(struct option_row){1, 2, 0}, 1);
    put_setting(&l, 3, ran);
    if (why)
        put_setting(&l, 4, why);
    make_log_write(&l, tmpdir, "system.log");
    make_log_fini(&l);
}

/* Each session says where another engine replaced the requested one. */
TEST(test_stand_in)
{
    assert_int_equal(mkdir(tmpdir_path("asked"), 0777), 0);
    make_asked("instead", 5, 6);
    make_asked("itself", 2, 0);
    char *text = report_ok(tmpdir_path("instead"), GPUFL_REPORT_TEXT, 100, false);
    assert_non_null(strstr(text, "  engine    Deep, ran as Trace: the device is taken\n"
                                 "  backend   "));
    free(text);
    text = report_ok(tmpdir_path("itself"), GPUFL_REPORT_TEXT, 100, false);
    assert_null(strstr(text, "ran as"));
    free(text);
    assert_int_equal(rename(tmpdir_path("instead"), tmpdir_path("asked/instead")), 0);
    assert_int_equal(rename(tmpdir_path("itself"), tmpdir_path("asked/itself")), 0);
    text = report_ok(tmpdir_path("asked"), GPUFL_REPORT_TEXT, 100, false);
    assert_non_null(strstr(text, "  instead   Deep, ran as Trace: the device is taken\n"));
    assert_null(strstr(text, "  itself    Deep"));
    free(text);
    json_t *root = parse(report_ok(tmpdir_path("asked"), GPUFL_REPORT_JSON, 100, false)), *one;
    size_t i;
    int others = 0;
    json_array_foreach(json_object_get(root, "sessions"), i, one)
    {
        const char *ran = json_string_value(json_object_get(one, "ran_as"));
        assert_string_equal(json_string_value(json_object_get(one, "asked")), "Deep");
        others += ran && !strcmp(ran, "Trace");
        assert_int_equal(ran != NULL, json_is_string(json_object_get(one, "why")));
    }
    assert_int_equal(others, 1);
    json_decref(root);
}

TEST(test_several)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s/several", tmpdir);
    assert_int_equal(mkdir(dir, 0777), 0);
    make_session("aaaa", false, true, 10);
    make_session("bbbb", false, false, 20);
    assert_int_equal(rename(tmpdir_path("aaaa"), tmpdir_path("several/aaaa")), 0);
    assert_int_equal(rename(tmpdir_path("bbbb"), tmpdir_path("several/bbbb")), 0);
    make_session("aaaa", false, true, 10); /* once more: not to be counted twice */
    assert_int_equal(rename(tmpdir_path("aaaa"), tmpdir_path("several/copy")), 0);
    mkdir(tmpdir_path("several/broken"), 0777);
    tmpdir_write("several/broken/device.log", "no log\n", 7);
    char *text = report_ok(dir, GPUFL_REPORT_TEXT, 100, false);
    assert_int_equal(strncmp(text, "4 sessions", 10), 0);
    assert_non_null(strstr(text, "some are left out"));
    assert_non_null(strstr(text, "1 of 2 sessions did NOT end cleanly"));
    free(text);
    json_t *root = parse(report_ok(dir, GPUFL_REPORT_JSON, 100, false));
    assert_int_equal(number(root, "kernels/count"), 30);
    /* Both ran the same kernels at the same times on one GPU: 20 of 500 ns together. */
    assert_int_equal(number(root, "kernels/busy/busy_ns"), 10000);
    assert_int_equal(json_array_size(json_object_get(root, "sessions")), 4);
    json_decref(root);
}

/* A report of one part has that part's times: 25 of 40 steps of 10 ms. */
TEST(test_one_part)
{
    char *text = report_ok(data("sessions/train/device.1.log.gz"), GPUFL_REPORT_TEXT, 100, false);
    assert_non_null(strstr(text, "one part of the log alone"));
    free(text);
    json_t *root =
        parse(report_ok(data("sessions/train/device.1.log.gz"), GPUFL_REPORT_JSON, 100, false));
    assert_int_equal(number(root, "kernels/count"), 75);
    assert_int_equal(number(root, "session/duration_ns"), 244300000);
    json_decref(root);
}

TEST(test_errors)
{
    char error[200] = "";
    int code;
    free(report(tmpdir_path("nowhere"), GPUFL_REPORT_TEXT, 100, false, &code));
    assert_int_equal(code, GPUFL_E_NOENT);
    assert_int_equal(gpufl_report(NULL, NULL, stdout, error, sizeof error), GPUFL_E_INVAL);
    assert_true(*error);
    assert_int_equal(gpufl_report("/nonexistent", NULL, stdout, NULL, 0), GPUFL_E_NOENT);
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(gpufl_report(data("sessions/train"), NULL, full, error, sizeof error),
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
    assert_int_equal(gpufl_export_gpuflight(data("sessions/train"), out, error, sizeof error), 0);
    json_t *ours = parse(report_ok(data("sessions/train"), GPUFL_REPORT_JSON, 100, false));
    json_t *theirs = parse(report_ok(out, GPUFL_REPORT_JSON, 100, false));
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (number(ours, same[i]) != number(theirs, same[i]))
            fail_msg("%s: %lld became %lld", same[i], (long long)number(ours, same[i]),
                     (long long)number(theirs, same[i]));
    assert_true(number(theirs, "log/gpuflight_lines") > 0);
    /* Their copies and waits have no scope: unknown is not 0. */
    json_t *scope = json_array_get(json_object_get(theirs, "scopes"), 0);
    assert_true(json_integer_value(json_object_get(scope, "kernels")) > 0);
    assert_true(json_is_null(json_object_get(scope, "copy_ns")));
    assert_true(json_is_null(json_object_get(scope, "waits")));
    assert_true(json_is_null(json_object_get(scope, "wait_ns")));
    scope = json_array_get(json_object_get(ours, "scopes"), 0);
    assert_true(json_is_integer(json_object_get(scope, "wait_ns")));
    json_decref(ours);
    json_decref(theirs);
    /* A second time it would overwrite. */
    assert_int_equal(gpufl_export_gpuflight(data("sessions/train"), out, error, sizeof error),
                     GPUFL_E_STATE);
    assert_non_null(strstr(error, "exists already"));
    assert_int_equal(gpufl_export_gpuflight(tmpdir_path("nowhere"), out, error, sizeof error),
                     GPUFL_E_NOENT);
}

/* A session that cannot be read does not cost the others; what is begun and not finished is
 * taken back, so that the next try finds room. */
TEST(test_export_failures)
{
    char error[512] = "", out[PATH_MAX];
    assert_int_equal(mkdir(tmpdir_path("mixed"), 0777), 0);
    assert_int_equal(mkdir(tmpdir_path("mixed/a"), 0777), 0);
    tmpdir_write("mixed/a/device.log", "no log\n", 7);
    make_session("good", false, true, 3);
    assert_int_equal(rename(tmpdir_path("good"), tmpdir_path("mixed/good")), 0);
    snprintf(out, sizeof out, "%s/mixed-out", tmpdir);
    assert_int_equal(gpufl_export_gpuflight(tmpdir_path("mixed"), out, error, sizeof error),
                     GPUFL_E_CORRUPT);
    assert_non_null(strstr(error, "not a session log"));
    assert_non_null(strstr(error, "the other 1 of 2 sessions were written"));
    assert_true(file_is_regular(tmpdir_path("mixed-out/good/device.1.log.gz")));
    /* Here the second file that is to be made is in the way, and is not ours. */
    assert_int_equal(mkdir(tmpdir_path("again"), 0777), 0);
    assert_int_equal(mkdir(tmpdir_path("again/good"), 0777), 0);
    tmpdir_write("again/good/scope.1.log.gz", "x", 1);
    snprintf(out, sizeof out, "%s/again", tmpdir);
    assert_int_equal(gpufl_export_gpuflight(tmpdir_path("mixed/good"), out, error, sizeof error),
                     GPUFL_E_STATE);
    assert_false(file_exists(tmpdir_path("again/good/device.1.log.gz")));
    assert_true(file_is_regular(tmpdir_path("again/good/scope.1.log.gz")));
}

TEST(test_no_memory)
{
    for (int format = 0; format < 2; format++)
        for (int64_t fail = 0;; fail++) {
            int code;
            mem_fail_at(fail);
            char *text =
                report(data("sessions/train"), (enum gpufl_report_format)format, 100, false, &code);
            bool done = mem_count() <= fail;
            mem_fail_at(-1);
            /* Inflating without memory looks like a file that is broken off. */
            bool said = !code && strstr(text, format ? "\"broken_off_parts\":1" : "broken off");
            free(text);
            if (code != (done ? 0 : GPUFL_E_NOMEM) && !said)
                fail_msg("allocation %lld: %d", (long long)fail, code);
            if (done)
                break;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),        cmocka_unit_test(test_slowed),
        cmocka_unit_test(test_json),          cmocka_unit_test(test_pages),
        cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_simulated_and_unclean),
        cmocka_unit_test(test_cut_short),     cmocka_unit_test(test_scope_kernels),
        cmocka_unit_test(test_their_stacks),  cmocka_unit_test(test_idle_device),
        cmocka_unit_test(test_empty),         cmocka_unit_test(test_several),
        cmocka_unit_test(test_errors),        cmocka_unit_test(test_one_part),
        cmocka_unit_test(test_export),        cmocka_unit_test(test_export_failures),
        cmocka_unit_test(test_no_memory),     cmocka_unit_test(test_stand_in),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
