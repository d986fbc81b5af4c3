/* test_runs.c - runs of several processes: which count, what is known of each, and the sums.
 *
 * A launcher that uses no GPU, with what it sampled; two ranks on one GPU, one after the other's
 * start; and a rank whose stacks or kernels are of another kind. */
#include "tests/test.h"

#include "tests/unit/support/make_log.h"
#include "tests/unit/support/reported.h"
#include "tests/unit/support/tmpdir.h"

#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS 1000000ll

enum {
    GPU = 1,
    UUID,
    GEMM,
    KERNELS,
    STACKS,
    COLLECTED,
    NO_DATA,
    NO_PYTHON,
    NO_RIGHTS,
    UNAVAILABLE,
};

struct process {
    const char *id, *app;
    int64_t start, length;        /* ms, since the run's start */
    int64_t kernels, every, each; /* how many, ms from one's start to the next one's, ms each */
    int64_t sm_count, scopes_open;
    int64_t status, reason; /* of kernels */
    bool python;
    int64_t waits; /* with a native stack */
};

static void put_names(struct make_log *l)
{
    make_log_names(l, "H200", "GPU-1", "gemm", "kernels", "stacks", "collected", "enabled_no_data",
                   "no Python in this process", "the driver does not let this user profile",
                   "unavailable", NULL);
}

static void put_system(struct make_log *l, const struct process *p)
{
    struct ledger_row row;
    struct device_metric_row metric;
    int64_t end = p->length * MS;
    make_log_header(l, "system", 1);
    put_names(l);
    make_log_rows(l, RECORD_capability,
                  (struct capability_row[]){
                      {KERNELS, 1, p->status, p->reason},
                      {STACKS, 1, p->python ? COLLECTED : NO_DATA, p->python ? 0 : NO_PYTHON}},
                  2);
    MAKE_UNKNOWN(metric);
    metric.time = 2 * MS;
    metric.device = 1;
    metric.gpu_util = 50;
    make_log_rows(l, RECORD_device_metric, &metric, 1);
    MAKE_UNKNOWN(row);
    row.time = end;
    row.final = 1;
    row.launches = row.kernels_recorded = row.kernels_written = p->kernels;
    row.scopes_opened = 10;
    row.scopes_written = 10 - p->scopes_open;
    row.cost_callbacks = p->length * MS * 6 / 10;
    if (p->status == UNAVAILABLE)
        row.kernels_recorded = row.kernels_written = CELL_NULL;
    make_log_rows(l, RECORD_ledger, &row, 1);
    make_log_rows(l, RECORD_end, &(struct end_row){end, 0}, 1);
    make_log_write(l, tmpdir, "system.log");
}

static void put_device(struct make_log *l, const struct process *p)
{
    struct device_row d;
    MAKE_UNKNOWN(d);
    d.id = 1;
    d.index = 0;
    d.name = GPU;
    d.uuid = UUID;
    d.sm_count = p->sm_count;
    make_log_header(l, "device", 1);
    put_names(l);
    make_log_rows(l, RECORD_device, &d, 1);
    make_log_rows(l, RECORD_stream, &(struct stream_row){1, 1, 1, 7}, 1);
    make_log_config(l, 1, GEMM);
    for (int64_t i = 0; i < p->kernels; i++)
        make_log_kernel(l, (1 + i * p->every) * MS, p->each * MS, 1, 0);
    make_log_write(l, tmpdir, "device.log");
}

/* Ten scopes were opened; those that never ended have no row. */
static void put_scopes(struct make_log *l, const struct process *p)
{
    make_log_header(l, "scope", 1);
    put_names(l);
    if (p->waits) {
        make_log_rows(l, RECORD_frame, &(struct frame_row){.id = 1, .kind = 1, .offset = 0x40}, 1);
        make_log_rows(l, RECORD_stack, &(struct stack_row){1, 0, 1, 1}, 1);
    }
    for (int64_t i = 0; i < p->waits; i++)
        make_log_rows(
            l, RECORD_wait,
            &(struct wait_row){.start = (2 + i) * MS, .duration = MS / 2, .call = 3, .stack = 1},
            1);
    for (int64_t i = 0; i < 10 - p->scopes_open; i++) {
        struct scope_row row;
        MAKE_UNKNOWN(row);
        row.start = (1 + i) * MS;
        row.duration = MS / 2;
        row.instance = 1 + i;
        row.name = GEMM;
        make_log_rows(l, RECORD_scope, &row, 1);
    }
    make_log_write(l, tmpdir, "scope.log");
}

static void make(const char *run, const struct process *p, size_t n)
{
    mkdir(tmpdir_path(run), 0777);
    for (size_t i = 0; i < n; i++) {
        struct make_log l;
        char id[64];
        snprintf(id, sizeof id, "%s/%s", run, p[i].id);
        make_log_init(&l, id);
        l.run = "run-1";
        l.app = p[i].app;
        l.real += p[i].start * MS;
        put_system(&l, &p[i]);
        put_scopes(&l, &p[i]);
        put_device(&l, &p[i]);
        make_log_fini(&l);
    }
}

static char *report(const char *id, enum gpufl_report_format format)
{
    const struct gpufl_report_options o = report_options(format);
    return report_with(tmpdir_path(id), &o, 0);
}

/* The text report without its line breaks and indents. */
static char *words(const char *id)
{
    char *text = report(id, GPUFL_REPORT_TEXT), *to = text;
    for (const char *from = text; *from; from++)
        if ((*from != ' ' && *from != '\n') || (to > text && to[-1] != ' '))
            *to++ = *from == '\n' ? ' ' : *from;
    *to = '\0';
    return text;
}

static json_t *json(const char *id)
{
    return report_parse(report(id, GPUFL_REPORT_JSON));
}

static json_t *at(json_t *root, const char *a, const char *b)
{
    return json_object_get(json_object_get(root, a), b);
}

/* The member of a list whose key has that value. */
static json_t *find(json_t *list, const char *key, const char *value)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        const char *text = json_string_value(json_object_get(item, key));
        if (text && strcmp(text, value) == 0)
            return item;
    }
    fail_msg("no %s %s", key, value);
    return NULL;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in\n%s", part, text);
}

static void has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in\n%s", part, text);
}

/* No part is larger than its whole. */
static void check_percents(const char *text)
{
    for (const char *p = text; (p = strstr(p, " %")) != NULL; p++) {
        const char *digits = p;
        while (digits > text && strchr("0123456789.", digits[-1]))
            digits--;
        if (atof(digits) > 100)
            fail_msg("%.40s", digits - 10);
    }
}

#define LAUNCHER                                                                                   \
    {                                                                                              \
        "a-launcher", "torchrun", 0, 500, 0, 0, 0, CELL_NULL, 0, NO_DATA, 0, false, 0              \
    }
#define RANK(id, start, length, kernels)                                                           \
    {                                                                                              \
        id, "train", start, length, kernels, 30, 5, 132, 0, COLLECTED, 0, true, 0                  \
    }

/* The launcher ran before and after the ranks: it is in no time, share or cause, and is listed
 * separately. */
TEST(test_apart)
{
    const struct process run[] = {LAUNCHER, RANK("b-rank0", 100, 200, 6),
                                  RANK("c-rank1", 150, 67, 2)};
    make("apart", run, 3);
    json_t *root = json("apart"),
           *gone = find(json_object_get(root, "sessions"), "app", "torchrun");
    assert_int_equal(json_integer_value(at(root, "run", "duration_ns")), 200 * MS - 1000);
    assert_string_equal(json_string_value(at(root, "run", "app")), "train");
    assert_int_equal(json_integer_value(at(root, "run", "sessions_without_gpu_work")), 1);
    assert_true(json_is_false(json_object_get(gone, "gpu_work")));
    assert_int_equal(json_integer_value(at(root, "kernels", "count")), 8);
    json_t *device = json_array_get(json_object_get(root, "devices"), 0);
    assert_int_equal(json_integer_value(at(device, "metrics", "samples")), 3); /* it sampled, too */
    json_decref(root);
    char *text = words("apart");
    has(text, "Without work on a GPU, and in no time, share or cause below: torchrun (session "
              "apart/a-, pid 42, 500 ms).");
    has(text, "of the sessions' 200 ms");
    check_percents(text);
    free(text);
}

/* No session is listed separately if none worked. */
TEST(test_none_worked)
{
    const struct process run[] = {LAUNCHER,
                                  {"b", "loader", 0, 100, 0, 0, 0, 132, 0, NO_DATA, 0, false, 0}};
    make("idle", run, 2);
    json_t *root = json("idle");
    assert_int_equal(json_integer_value(at(root, "run", "sessions_without_gpu_work")), 0);
    assert_int_equal(json_integer_value(at(root, "run", "duration_ns")), 500 * MS - 1000);
    assert_int_equal(json_integer_value(at(root, "kernels", "count")), 0);
    json_decref(root);
    char *text = words("idle");
    has(text, "No kernels in 500 ms: the program launched no work during the capture.");
    has_not(text, "Without work on a GPU");
    free(text);
}

/* The report has the result of each request for all sessions: the best one, and the others. */
TEST(test_asked)
{
    const struct process run[] = {
        LAUNCHER,
        RANK("b-rank0", 100, 200, 6),
        {"c-rank1", "train", 100, 200, 0, 0, 0, 132, 0, UNAVAILABLE, NO_RIGHTS, true, 0}};
    make("asked", run, 3);
    char *text = words("asked");
    has(text, "collected kernels (1 of 3 sessions), stacks (2 of 3 sessions)");
    has(text,
        "asked for kernels (1 of 3 sessions): unavailable: the driver does not let this user");
    has_not(text, "nothing was recorded");
    has(text,
        "Kernels of 1 of the 2 sessions are in no number below: not recorded: the driver does");
    free(text);
    json_t *root = json("asked"),
           *kernels = find(json_object_get(root, "capabilities"), "feature", "kernels");
    assert_string_equal(json_string_value(json_object_get(kernels, "status")), "collected");
    assert_int_equal(json_integer_value(json_object_get(kernels, "sessions")), 1);
    assert_int_equal(json_array_size(json_object_get(kernels, "others")), 2);
    /* One session records none: what the others launched and recorded is known, and agrees. */
    assert_int_equal(json_integer_value(at(root, "ledger", "kernels_recorded")), 6);
    assert_int_equal(json_integer_value(at(root, "ledger", "launches")), 6);
    assert_string_equal(json_string_value(at(root, "ledger", "verdict")), "complete");
    json_decref(root);
}

/* No line says that there was no data if a table below shows it. */
TEST(test_says_none_and_has_some)
{
    struct process alone = RANK("a", 0, 100, 6);
    alone.python = false;
    make("no-stacks", &alone, 1);
    char *text = words("no-stacks");
    has(text, "asked for stacks: on; nothing was recorded: no Python in this process");
    free(text);
    alone.waits = 3;
    make("stacks", &alone, 1);
    text = words("stacks");
    has_not(text, "nothing was recorded");
    has_not(text, "no Python");
    has(text, "collected kernels, stacks");
    free(text);
}

/* A known value replaces an unknown one, whichever comes first. */
TEST(test_known_wins)
{
    struct process run[] = {RANK("a", 0, 100, 3), RANK("b", 50, 100, 3)};
    for (int i = 0; i < 2; i++) {
        const char *id = i ? "second" : "first";
        run[0].sm_count = i ? CELL_NULL : 132;
        run[1].sm_count = i ? 132 : CELL_NULL;
        make(id, run, 2);
        json_t *root = json(id), *devices = json_object_get(root, "devices");
        assert_int_equal(json_array_size(devices), 1);
        assert_int_equal(
            json_integer_value(json_object_get(json_array_get(devices, 0), "sm_count")), 132);
        json_decref(root);
    }
}

/* A gap has one length, in the finding, its evidence and the table. */
TEST(test_one_number)
{
    const struct process run[] = {RANK("a", 0, 200, 6), RANK("b", 150, 67, 2)};
    char *text, *from;
    int64_t nothing = (5 + 1) * 25 * MS; /* gaps of 25 ms between kernels of 5 ms */
    make("gaps", run, 2);
    json_t *root = json("gaps"),
           *cause = find(at(root, "idle", "causes"), "cause", "nothing_submitted"),
           *found = find(json_object_get(root, "insights"), "id", "idle_cause");
    assert_int_equal(json_integer_value(json_object_get(cause, "idle_ns")), nothing);
    assert_int_equal(json_integer_value(at(found, "evidence", "gpu_idle_ns")), nothing);
    assert_int_equal(json_integer_value(at(found, "evidence", "gaps")), 6);
    assert_true(json_integer_value(json_object_get(found, "gives_back_ns")) <=
                json_integer_value(at(root, "run", "duration_ns")));
    has(json_string_value(json_object_get(found, "text")),
        "The GPU sat idle for 150 ms (56.2 % of the 267 ms in which GPUs were");
    json_decref(root);
    text = words("gaps");
    from = strstr(text, "Idle time of the GPU by cause");
    assert_non_null(from);
    has(from, "150 ms");
    has(from, "Summed over 1 device and 2 sessions: each counts its own gaps");
    has(text, "Between their first and last work no session had any on a GPU for");
    check_percents(text);
    free(text);
}

/* Two processes spend more in callbacks than the run is long, but not more than theirs together. */
TEST(test_cost)
{
    const struct process run[] = {RANK("a", 0, 200, 6), RANK("b", 0, 200, 6)};
    make("cost", run, 2);
    char *text = words("cost");
    has(text, "On the program's own threads: 60.0 % of the sessions' time");
    check_percents(text);
    free(text);
}

/* The report says "complete" of all rows, or names the exception with it. */
TEST(test_open_scopes)
{
    struct process run[] = {RANK("a", 0, 200, 6), RANK("b", 0, 200, 6)};
    make("whole", run, 2);
    char *text = words("whole");
    has(text, "Complete: launched, recorded and written agree.");
    free(text);
    run[1].scopes_open = 4;
    make("open", run, 2);
    text = words("open");
    has(text, "Complete: launched, recorded and written agree, except scopes without an end:");
    has(text, "4 scopes of 20 opened had not ended when the counters were read");
    free(text);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, tmpdir_open, tmpdir_close)

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(test_apart),       CASE(test_none_worked),
                                       CASE(test_asked),       CASE(test_known_wins),
                                       CASE(test_one_number),  CASE(test_cost),
                                       CASE(test_open_scopes), CASE(test_says_none_and_has_some)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
