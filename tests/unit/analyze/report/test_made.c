/* test_made.c - reports of logs made for the test: hostile names, ends of every kind, idle
 * GPUs, scopes, the public client's stacks, nothing, and an engine that another one replaced. */
#include "tests/test.h"
#include "tests/unit/support/make_log.h"
#include "tests/unit/support/reported.h"
#include "tests/unit/support/tmpdir.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names are hostile: only text of them reaches the terminal, and their length spoils neither the
 * report nor its time. */
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
    report_session("simulated", true, false, 3);
    char *text = report_ok(tmpdir_path("simulated"), GPUFL_REPORT_TEXT, 100, false);
    assert_int_equal(strncmp(text, "*** SIMULATED", 13), 0);
    assert_non_null(strstr(text, "NOT CLEAN"));
    assert_non_null(strstr(text, "no ledger"));
    free(text);
    json_t *root = report_parse(report_ok(tmpdir_path("simulated"), GPUFL_REPORT_JSON, 100, false));
    assert_true(json_is_true(json_object_get(root, "simulated")));
    json_decref(root);
}

static void ended_so(const char *id, const char *ending)
{
    char from[64], to[64];
    struct make_log l;
    report_session(id, false, false, 3);
    make_log_init(&l, id);
    make_log_header(&l, "system", 1);
    make_log_names(&l, "process_end", ending ? ending : "nothing", NULL);
    if (ending)
        make_log_rows(&l, RECORD_message,
                      &(struct message_row){.time = CELL_NULL, .severity = 1, .code = 1, .text = 2},
                      1);
    make_log_write(&l, tmpdir, "system.log");
    make_log_fini(&l);
    snprintf(from, sizeof from, "%s", id);
    snprintf(to, sizeof to, "run/%s", id);
    char *source = strdup(tmpdir_path(from));
    assert_int_equal(rename(source, tmpdir_path(to)), 0);
    free(source);
}

/* What each session says of its program's end is counted when sessions are merged. */
TEST(test_ends_of_a_run)
{
    static const char by_exit[] = "the program ended by _exit, code 0";
    assert_int_equal(mkdir(tmpdir_path("run"), 0777), 0);
    ended_so("one", by_exit);
    ended_so("two", by_exit);
    ended_so("three", by_exit);
    char *text = report_ok(tmpdir_path("run"), GPUFL_REPORT_TEXT, 160, false);
    assert_non_null(strstr(text, "3 of 3 sessions did NOT end cleanly: 3 processes ended by _exit, "
                                 "code 0; this is what had reached the disk"));
    free(text);
    json_t *root = report_parse(report_ok(tmpdir_path("run"), GPUFL_REPORT_JSON, 100, false));
    const char *ending = json_string_value(json_object_get(json_object_get(root, "run"), "ending"));
    assert_string_equal(ending, "3 processes ended by _exit, code 0");
    json_t *session = json_array_get(json_object_get(root, "sessions"), 0);
    assert_string_equal(json_string_value(json_object_get(session, "ending")), by_exit);
    json_decref(root);

    ended_so("four", "the program was ended by signal 9 (Killed)");
    ended_so("five", NULL);
    root = report_parse(report_ok(tmpdir_path("run"), GPUFL_REPORT_JSON, 100, false));
    ending = json_string_value(json_object_get(json_object_get(root, "run"), "ending"));
    assert_non_null(strstr(ending, "3 processes ended by _exit, code 0"));
    assert_non_null(strstr(ending, "1 process was ended by signal 9 (Killed)"));
    assert_non_null(strstr(ending, "; 1 was killed, crashed or still running"));
    json_decref(root);
}

/* A session ended, but not because the program did. */
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
        json_t *root =
            report_parse(report_ok(tmpdir_path(ends[i].reason), GPUFL_REPORT_JSON, 100, false));
        assert_int_equal(report_number(root, "session/cut_short_sessions"), ends[i].cut_short);
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
    struct gpufl_report_options o = report_options(GPUFL_REPORT_TEXT);
    o.full = false;
    text = report_with(tmpdir_path("two"), &o, 0);
    assert_non_null(strstr(text, " on GPU 0 Test GPU")); /* not "2 GPUs" */
    free(text);
}

/* A scope has more kernels than a page shows; a thread without scopes launched some. */
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
    json_t *root = report_parse(report_ok(tmpdir_path("scopes"), GPUFL_REPORT_JSON, 80, false));
    assert_int_equal(report_number(root, "scopes/0/inherited_kernels"), 5);
    assert_int_equal(report_number(root, "scopes/0/self_inherited_kernels"), 5);
    assert_int_equal(report_number(root, "scopes/0/by_kernel/0/total_ns"), 180);
    assert_int_equal(report_number(root, "scopes/0/by_kernel/8/count"), EACH);
    assert_int_equal(report_number(root, "outside_scopes/launches_shared"), 3);
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
    json_t *root = report_parse(report_ok(tmpdir_path("theirs"), GPUFL_REPORT_JSON, 80, false));
    assert_int_equal(report_number(root, "synchronization_lines/lines/0/calls"), STEPS);
    assert_int_equal(report_number(root, "synchronization_lines/lines/0/blocked_ns"),
                     STEPS * 800000);
    assert_int_equal(report_number(root, "synchronization_lines/lines/1/line"), 90);
    json_t *first =
        json_array_get(json_object_get(json_object_get(root, "synchronization_lines"), "lines"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "function")), "toy::step(float*)");
    assert_true(json_is_null(json_object_get(first, "file")));
    json_decref(root);
}

/* The report of a log without kernels says why; nothing is divided by zero. */
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
    json_decref(report_parse(report_ok(tmpdir_path("monitor"), GPUFL_REPORT_JSON, 100, false)));
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

/* Each session says whether another engine replaced the requested one. */
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
    json_t *root = report_parse(report_ok(tmpdir_path("asked"), GPUFL_REPORT_JSON, 100, false)),
           *one;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_simulated_and_unclean),
        cmocka_unit_test(test_ends_of_a_run), cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_idle_device),   cmocka_unit_test(test_scope_kernels),
        cmocka_unit_test(test_their_stacks),  cmocka_unit_test(test_empty),
        cmocka_unit_test(test_stand_in),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
