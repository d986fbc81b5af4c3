/* test_sum_known.c - unknown is not zero, damage is not absence: in text, JSON and exit code. */
#include "tests/test.h"

#include "tests/unit/support/make_log.h"
#include "tests/unit/support/reported.h"
#include "tests/unit/support/tmpdir.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_GPU = 1, NAME_UUID, NAME_KERNEL, NAME_KERNELS, NAME_STATUS };

/* Properties of a test's session. */
struct made {
    const char *id, *engine, *status; /* of kernels; NULL: no capability */
    int64_t launches, recorded, written, rows;
    int64_t waits; /* written; none of them is in the log */
    bool no_ledger, not_final, damaged, absent;
};

static void put_damage(struct make_log *l)
{
    make_log_text(l, "{\"kernel\":[[1,2,\n");
}

static void make(const struct made *s)
{
    struct make_log l;
    struct ledger_row row;
    make_log_init(&l, s->id);
    l.engine = s->engine;
    l.real += 1000000;
    make_log_header(&l, "system", 1);
    make_log_names(&l, "H200", "GPU-1", "gemm", "kernels", s->status ? s->status : "-", NULL);
    if (s->status)
        make_log_rows(&l, RECORD_capability,
                      &(struct capability_row){NAME_KERNELS, 1, NAME_STATUS, 0}, 1);
    MAKE_UNKNOWN(row);
    row.time = 9000;
    row.final = !s->not_final;
    row.launches = s->launches;
    row.kernels_recorded = s->recorded;
    row.kernels_written = s->written;
    row.scopes_opened = row.scopes_written = 0;
    row.waits_recorded = row.waits_written = s->waits;
    if (!s->no_ledger)
        make_log_rows(&l, RECORD_ledger, &row, 1);
    if (!s->not_final)
        make_log_rows(&l, RECORD_end, &(struct end_row){10000, 0}, 1);
    make_log_write(&l, tmpdir, "system.log");
    make_log_header(&l, "device", 1);
    make_log_names(&l, "H200", "GPU-1", "gemm", NULL);
    make_log_device(&l);
    make_log_config(&l, 1, NAME_KERNEL);
    for (int64_t i = 0; i < s->rows; i++)
        make_log_kernel(&l, 2000 + 200 * i, 100, 1, 0);
    if (s->damaged)
        put_damage(&l);
    if (!s->absent)
        make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
}

static char *report(const char *id, enum gpufl_report_format format, bool brief, bool *damaged)
{
    struct gpufl_report_options o = report_options(format);
    char error[REPORT_ERROR];
    int rc;
    o.brief = brief;
    o.damaged = damaged;
    *damaged = false;
    char *text = report_run(tmpdir_path(id), &o, error, &rc);
    assert_int_equal(rc, 0);
    assert_int_equal(*damaged, *error != '\0');
    return text;
}

static json_t *json(const char *id, bool *damaged)
{
    return report_parse(report(id, GPUFL_REPORT_JSON, false, damaged));
}

static json_t *at(json_t *root, const char *a, const char *b)
{
    return json_object_get(json_object_get(root, a), b);
}

/* Fails if a number of kernels, or of the GPU's time, is 0 anywhere below `path`. What the program
 * itself counted, sessions, and invalid rows may be 0. */
static void no_zero(const char *path, json_t *value)
{
    static const char *const facts[] = {"ledger", "log", "known", "invalid", "windows"};
    const char *key = strrchr(path, '/');
    key = key ? key + 1 : path;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!strcmp(key, facts[i]))
            return;
    if (json_is_object(value)) {
        const char *name;
        json_t *child;
        json_object_foreach(value, name, child)
        {
            char longer[512];
            snprintf(longer, sizeof longer, "%s/%s", path, name);
            no_zero(longer, child);
        }
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++)
            no_zero(path, json_array_get(value, i));
    } else if (json_is_integer(value) && (strstr(path, "kernels") || !strncmp(key, "gpu_", 4)))
        if (json_integer_value(value) == 0)
            fail_msg("%s is 0", path);
}

/* Every number of kernels in the document is `expected`, or all are null. cut: there were more. */
static void check_numbers(json_t *root, int64_t expected, bool cut)
{
    json_t *session = json_array_get(json_object_get(root, "sessions"), 0),
           *device = json_array_get(json_object_get(root, "devices"), 0),
           *busy = at(root, "kernels", "busy"), *compute = json_object_get(device, "compute");
    json_t *const counts[] = {json_object_get(session, "kernels"), at(root, "kernels", "count"),
                              json_object_get(device, "kernels")};
    json_t *const times[] = {json_object_get(session, "busy_ns"),
                             json_object_get(session, "kernel_ns"), at(root, "kernels", "total_ns"),
                             json_object_get(busy, "busy_ns"), json_object_get(compute, "busy_ns")};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (expected < 0)
            assert_true(!counts[i] || json_is_null(counts[i]));
        else
            assert_true(!counts[i] || json_integer_value(counts[i]) == expected);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (expected < 0)
            assert_true(!times[i] || json_is_null(times[i]));
        else
            assert_true(!times[i] || json_integer_value(times[i]) == 100 * expected);
    bool whole = expected >= 0 && !cut; /* a gap may be a row that was lost */
    assert_true(json_is_null(at(root, "idle", "idle_ns")) == !whole);
    assert_true(whole || json_is_null(at(root, "time", "whole_ns")));
    if (expected < 0)
        no_zero("", root);
}

static const struct {
    struct made made;
    int64_t kernels; /* -1: unknown */
    const char *why, *sentence;
    bool damaged;
} cases[] = {
    {{"some", "Trace", "collected", 3, 3, 3, .rows = 3}, 3, NULL, "GPU busy", false},
    {{"none", "Trace", "enabled_no_data", 0, 0, 0, .rows = 0},
     0,
     NULL,
     "No kernels in 9.00 us: the program launched no work during the capture.",
     false},
    {{"rows-gone", "Trace", "collected", 3, 3, 3, .rows = 0, .damaged = true},
     -1,
     "damaged",
     "Kernels unknown: device channel damaged (3 rows were written, and none can be read).",
     true},
    {{"file-gone", "Trace", "collected", 3, 3, 3, .rows = 0, .absent = true},
     -1,
     "damaged",
     "Kernels unknown: device channel missing (3 rows were written, and none can be read).",
     true},
    {{"nothing-but-damage", "Trace", NULL, 0, 0, 0, .rows = 0, .no_ledger = true, .not_final = true,
      .damaged = true},
     -1,
     "damaged",
     "Kernels unknown: device channel damaged.",
     true},
    {{"damage-that-held-none", "Trace", "enabled_no_data", 0, 0, 0, .rows = 0, .damaged = true},
     0,
     NULL,
     "No kernels in",
     false},
    {{"unreported", "Trace", NULL, 0, 0, 0, .rows = 0, .no_ledger = true, .not_final = true},
     -1,
     "not_reported",
     "Kernels unknown: the log does not say.",
     false},
    {{"lost", "Trace", NULL, 7, 0, 0, .rows = 0, .not_final = true},
     -1,
     "lost",
     "Kernels unknown: the program launched 7, and no record reached the log.",
     false},
    {{"monitor", "Monitor", "not_requested", CELL_NULL, CELL_NULL, CELL_NULL, .rows = 0},
     -1,
     "not_recorded",
     "Kernels: not recorded by this engine, use engine Trace.",
     false},
    {{"sync", "Sync", "enabled_no_data", 5, CELL_NULL, CELL_NULL, .rows = 0},
     -1,
     "not_recorded",
     "Kernels: not recorded by this engine, use engine Trace.",
     false},
    {{"sass", "SassMetrics", "not_requested", 5, CELL_NULL, CELL_NULL, .rows = 0},
     -1,
     "not_recorded",
     "Kernels: not recorded by this engine, use --passes.",
     false},
    {{"in-part", "Trace", "collected", 9, 9, 9, .rows = 3, .damaged = true},
     3,
     NULL,
     "Parts of the device channel are damaged: the GPU did at least what is counted here.",
     false},
};

TEST(test_answers)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *id = cases[i].made.id;
        bool damaged;
        make(&cases[i].made);
        char *brief = report(id, GPUFL_REPORT_TEXT, true, &damaged);
        assert_int_equal(damaged, cases[i].damaged);
        if (!strstr(brief, cases[i].sentence))
            fail_msg("%s: no \"%s\" in\n%s", id, cases[i].sentence, brief);
        bool cut = cases[i].made.rows && cases[i].made.damaged;
        assert_true(cases[i].kernels == 0 || !strstr(brief, "the program launched no work"));
        assert_int_equal(strstr(brief, "GPU busy at least ") != NULL, cut);
        assert_true(!cut || (!strstr(brief, "idle") && !strstr(brief, "without a kernel")));
        free(brief);
        json_t *root = json(id, &damaged);
        assert_int_equal(damaged, cases[i].damaged);
        check_numbers(root, cases[i].kernels, cut);
        const char *why = json_string_value(json_object_get(at(root, "known", "kernels"), "why"));
        assert_true(cases[i].why ? why && !strcmp(why, cases[i].why) : !why);
        json_decref(root);
    }
}

/* A part alone does not hold the data of others. */
TEST(test_one_part)
{
    bool damaged;
    make(&(struct made){"part", "Trace", "collected", 3, 3, 3, .rows = 3});
    char *text = report("part/system.log", GPUFL_REPORT_TEXT, true, &damaged);
    assert_false(damaged);
    assert_non_null(strstr(text, "Kernels unknown: this part of the log does not hold them."));
    free(text);
}

/* Several sessions: known numbers are summed, with the number of sessions that know theirs. */
TEST(test_several)
{
    bool damaged;
    mkdir(tmpdir_path("several"), 0777);
    make(&(struct made){"several/a", "Trace", "collected", 3, 3, 3, .rows = 3});
    make(&(struct made){"several/b", "Trace", "collected", 2, 2, 2, .rows = 0, .damaged = true});
    make(&(struct made){"several/c", "Trace", "enabled_no_data", 0, 0, 0, .rows = 0});
    json_t *root = json("several", &damaged), *known = at(root, "known", "kernels");
    assert_true(damaged);
    assert_int_equal(json_integer_value(at(root, "kernels", "count")), 3);
    assert_int_equal(json_integer_value(json_object_get(known, "without")), 1);
    assert_string_equal(json_string_value(json_object_get(known, "why")), "damaged");
    json_decref(root);
    char *text = report("several", GPUFL_REPORT_TEXT, true, &damaged);
    assert_non_null(strstr(text, "Kernels of 1 of the "));
    assert_non_null(strstr(text, "unknown: device channel damaged"));
    free(text);
}

/* The system channel says what was recorded, and how the session ended: if it cannot be read, both
 * are unknown. Nobody was "killed", and no kind had nothing to record. */
TEST(test_system_channel)
{
    static const struct {
        const char *id, *bytes, *file, *state; /* bytes in place of the file; NULL: no file */
    } ways[] = {{"overwritten", "\x17\x99\x42 none of it is a line", "system.1.log.gz", "damaged"},
                {"emptied", "", "system.1.log.gz", "damaged"},
                {"garbled", "{\"system\":[[\n{{{\n", "system.log", "damaged"},
                {"removed", NULL, "", "missing"}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char path[64], sentence[96];
        bool damaged;
        make(&(struct made){ways[i].id, "Trace", "collected", 3, 3, 3, .rows = 3});
        snprintf(path, sizeof path, "%s/system.log", ways[i].id);
        assert_int_equal(unlink(tmpdir_path(path)), 0);
        snprintf(path, sizeof path, "%s/%s", ways[i].id, ways[i].file);
        if (ways[i].bytes)
            tmpdir_write(path, ways[i].bytes, strlen(ways[i].bytes));
        char *text = report(ways[i].id, GPUFL_REPORT_TEXT, false, &damaged);
        assert_true(damaged);
        snprintf(sentence, sizeof sentence, "nknown: system channel %s", ways[i].state);
        const char *copies = strstr(text, "Copies and fills"), *end = strstr(text, "  end  "),
                   *metrics = strstr(text, "System metrics");
        if (!copies || !end || !metrics)
            fail_msg("%s: %s", ways[i].id, text);
        assert_ptr_equal(strstr(copies, "nknown:"), strstr(copies, sentence));
        assert_ptr_equal(strstr(end, "nknown:"), strstr(end, sentence));
        assert_non_null(strstr(metrics, sentence));
        assert_null(strstr(text, "killed"));
        assert_null(strstr(text, "still being written"));
        assert_null(strstr(text, "othing was recorded"));
        free(text);
        json_t *root = json(ways[i].id, &damaged);
        assert_true(json_is_null(at(root, "session", "clean_end")));
        assert_int_equal(json_integer_value(at(root, "session", "unclean_sessions")), 0);
        assert_int_equal(json_integer_value(at(root, "kernels", "count")), 3);
        json_decref(root);
    }
}

/* Engine Sync has the waits of the program's threads, in the scope channel, and none of the
 * driver's: its waits are unknown if that channel is gone, and its idle time always. */
TEST(test_waits)
{
    static const char sentence[] =
        "aits unknown: scope channel missing (5 rows were written, and none can be read)";
    bool damaged;
    make(
        &(struct made){"waits-gone", "Sync", "not_requested", 5, CELL_NULL, CELL_NULL, .waits = 5});
    char *text = report("waits-gone", GPUFL_REPORT_TEXT, true, &damaged);
    assert_true(damaged);
    if (!strstr(text, sentence))
        fail_msg("%s", text);
    free(text);
    json_t *root = json("waits-gone", &damaged);
    assert_true(damaged);
    assert_string_equal(json_string_value(json_object_get(at(root, "known", "waits"), "why")),
                        "damaged");
    assert_true(json_is_null(at(root, "synchronizations", "host_waits")));
    assert_true(json_is_null(at(root, "time", "start_up_ns")));
    assert_true(json_is_null(at(root, "time", "end_ns")));
    json_decref(root);
    make(&(struct made){"no-waits", "Sync", "not_requested", 5, CELL_NULL, CELL_NULL, .waits = 0});
    root = json("no-waits", &damaged);
    assert_false(damaged);
    assert_true(json_is_integer(at(root, "synchronizations", "host_waits")));
    json_decref(root);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, tmpdir_open, tmpdir_close)

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(test_answers), CASE(test_one_part), CASE(test_several),
                                       CASE(test_system_channel), CASE(test_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
