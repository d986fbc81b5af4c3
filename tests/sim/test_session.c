/* test_session.c - tests `gpufl sim` from end to end: the session on disk has exactly what was
 * generated, to the nanosecond, and the numbers of the ledger agree. */
#include "base/file/file.h"
#include "readback.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

enum { TEXT = 4096 };

struct run {
    char dir[64]; /* everything of this run */
    json_t *said; /* what was printed */
    struct readback found;
};

static int shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *fmt, ...)
{
    char command[TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(command, sizeof command, fmt, args);
    va_end(args);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static json_int_t number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_integer(v))
        fail_msg("no integer '%s' in what was printed", key);
    return json_integer_value(v);
}

/* Runs gpufl sim, and reads what it printed and its session. env: "A=b C=d". */
static void run_open(struct run *r, const char *env, const char *args)
{
    snprintf(r->dir, sizeof r->dir, "gpufl-sim-test.XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    int code = shell("%s \"$GPUFL_BINARY_DIR\"/bin/gpufl sim %s -o %s >%s/said.json", env, args,
                     r->dir, r->dir);
    if (code)
        fail_msg("gpufl sim %s: exit code %d", args, code);
    char path[TEXT];
    snprintf(path, sizeof path, "%s/said.json", r->dir);
    json_error_t e;
    r->said = json_load_file(path, 0, &e);
    if (!r->said)
        fail_msg("%s: %s", path, e.text);
    readback_open(&r->found, json_string_value(json_object_get(r->said, "directory")));
}

static void run_close(struct run *r)
{
    json_decref(r->said);
    readback_close(&r->found);
    assert_int_equal(shell("rm -rf %s", r->dir), 0);
}

/* ---- comparisons ------------------------------------------------------------------------ */

static void same_work(const json_t *said, const struct sums *found)
{
    assert_int_equal(found->count, number(said, "count"));
    assert_int_equal(found->bytes, number(said, "bytes"));
    assert_int_equal(found->ns, number(said, "ns"));
}

static void same_kinds(const json_t *said, const struct sums *found, size_t kinds)
{
    uint64_t count = 0;
    size_t i;
    json_t *kind;
    json_array_foreach(said, i, kind) same_work(kind, &found[number(kind, "code")]);
    for (size_t k = 0; k < kinds; k++)
        count += found[k].count != 0;
    assert_int_equal(count, json_array_size(said)); /* there is no other kind */
}

static void same_kernels(const json_t *said, const struct readback *r)
{
    const json_t *names = json_object_get(said, "by_name");
    size_t i, kinds = 0;
    json_t *k;
    assert_int_equal(r->kernels.count, number(said, "count") - number(said, "lost"));
    assert_int_equal(r->kernels.ns, number(said, "ns") - number(said, "lost_ns"));
    json_array_foreach(names, i, k)
    {
        json_int_t count = number(k, "count") - number(k, "lost");
        const struct named *n =
            readback_find(&r->by_name, json_string_value(json_object_get(k, "name")));
        kinds += count != 0;
        assert_int_equal(n ? n->sums.count : 0, count);
        assert_int_equal(n ? n->sums.ns : 0, number(k, "ns") - number(k, "lost_ns"));
    }
    assert_int_equal(r->by_name.count, kinds);
    assert_int_equal(r->unknown_ids, 0);
}

static void same_scopes(const json_t *said, const struct readback *r)
{
    size_t i, j;
    json_t *s, *part;
    json_array_foreach(said, i, s)
    {
        char path[TEXT] = "";
        json_array_foreach(json_object_get(s, "path"), j, part)
        {
            strcat(path, "/");
            strcat(path, json_string_value(part));
        }
        const struct named *n = readback_find(&r->by_path, path);
        if (!n)
            fail_msg("scope %s is not in the session", path);
        assert_int_equal(n->sums.count, number(s, "calls"));
        assert_int_equal(n->sums.ns, number(s, "wall_ns"));
        assert_int_equal(n->kernels.count, number(s, "kernels"));
        assert_int_equal(n->kernels.ns, number(s, "kernel_ns"));
        assert_int_equal(n->own.count, number(s, "own_kernels"));
        assert_int_equal(n->own.ns, number(s, "own_kernel_ns"));
    }
    assert_int_equal(r->by_path.count, json_array_size(said));
}

static json_int_t injected(const struct run *r, const char *error)
{
    const json_t *n = json_object_get(json_object_get(r->said, "errors"), error);
    return n ? json_integer_value(n) : 0;
}

/* Every synchronization is a wait of the program, too. */
static void waits_are_reported(const struct run *r)
{
    uint64_t syncs = 0;
    for (size_t k = 0; k < sizeof r->found.syncs / sizeof *r->found.syncs; k++)
        syncs += r->found.syncs[k].count;
    assert_int_equal(r->found.rows[RECORD_wait], syncs);
    assert_int_equal(r->found.ledger.waits_recorded, syncs);
    assert_int_equal(r->found.ledger.waits_lost, 0);
}

/* The numbers of launched, recorded, written and lost records agree. */
static void ledger_closes(const struct run *r)
{
    const struct ledger_row *l = &r->found.ledger;
    const json_t *graphs = json_object_get(r->said, "graphs");
    const json_t *kernels = json_object_get(r->said, "kernels");
    assert_int_equal(l->final, 1);
    assert_int_equal(l->launches, number(r->said, "launches"));
    assert_int_equal(l->graph_launches, number(graphs, "launches"));
    assert_int_equal(l->graph_kernels, number(graphs, "kernels"));
    assert_int_equal(l->launches + l->graph_kernels, number(kernels, "count"));
    assert_int_equal(l->kernels_recorded, number(kernels, "count") - number(kernels, "lost"));
    assert_int_equal(l->kernels_written, l->kernels_recorded);
    assert_int_equal(l->kernels_written, r->found.rows[RECORD_kernel]);
    assert_int_equal(l->copies_written, l->copies_recorded);
    assert_int_equal(l->copies_written,
                     r->found.rows[RECORD_memcpy] + r->found.rows[RECORD_memset]);
    assert_int_equal(l->syncs_written, l->syncs_recorded);
    assert_int_equal(l->syncs_written, r->found.rows[RECORD_sync]);
    assert_int_equal(l->scopes_opened, number(r->said, "scopes_opened"));
    assert_int_equal(l->scopes_written, l->scopes_opened);
    assert_int_equal(l->scopes_lost, 0);
    assert_int_equal(l->lost_driver, injected(r, "drop") + injected(r, "pool"));
    assert_int_equal(l->lost_pool, injected(r, "pool"));
    assert_int_equal(l->lost_time, injected(r, "time"));
    assert_int_equal(l->unknown_records, injected(r, "unknown"));
    assert_int_equal(l->lost_spool, 0);
    assert_int_equal(l->lost_memory, 0);
    if (!number(kernels, "lost"))
        assert_int_equal(l->joins_lost, 0);
    assert_int_equal(l->launches + l->graph_kernels,
                     l->kernels_recorded + l->lost_driver + l->lost_time + injected(r, "missing"));
}

static void session_is_what_was_said(const struct run *r)
{
    const json_t *said = r->said;
    assert_true(r->found.simulated);
    assert_int_equal(r->found.damaged, 0);
    assert_int_equal(r->found.rows[RECORD_end], 1);
    same_kernels(json_object_get(said, "kernels"), &r->found);
    same_kinds(json_object_get(said, "copies"), r->found.copies, 16);
    same_kinds(json_object_get(said, "syncs"), r->found.syncs, 8);
    same_work(json_object_get(said, "fills"), &r->found.fills);
    same_work(json_object_get(said, "overhead"), &r->found.overhead);
    same_scopes(json_object_get(said, "scopes"), &r->found);
    waits_are_reported(r);
    ledger_closes(r);
}

/* ---- tests ------------------------------------------------------------------------------ */

/* ThreadSanitizer takes 20 times as long, and finds no more in longer sessions. */
#ifdef __SANITIZE_THREAD__
#define KERNELS(n) "--kernels 20000"
#else
#define KERNELS(n) "--kernels " #n
#endif

static const struct {
    const char *env, *args;
} sessions[] = {
    {"", "--kernels 20000 --seed 1"},
    {"", KERNELS(60000) " --seed 2 --devices 3 --streams 2 --scopes"},
    {"", KERNELS(60000) " --seed 3 --devices 16 --streams 8 --scopes"},
    {"", KERNELS(200000) " --seed 4 --scopes --threads 8 --devices 2"},
    {"", "--kernels 7 --seed 5 --scopes"},
    {"", "--kernels 10000 --seed 6 --rate 50000 --scopes"},
    {"", "--kernels 0 --duration 100ms --seed 7 --devices 2"},
    {"GPUFL_LOG_ROTATE_BYTES=65536", KERNELS(100000) " --seed 8 --scopes"},
    {"GPUFL_SIM=correlation=4294950000", KERNELS(60000) " --seed 9 --scopes"},
    {"GPUFL_ACTIVITY_BUFFER_BYTES=65536 GPUFL_ACTIVITY_POOL_BYTES=65536",
     KERNELS(60000) " --seed 10 --threads 3"},
    {"", KERNELS(80000) " --seed 11 --errors drop:100,time:333,missing:777"},
    {"", KERNELS(80000) " --seed 12 --errors late:50,disorder:2,unknown:40 --scopes"},
    {"", KERNELS(80000) " --seed 13 --errors pool:3 --threads 2"},
};

TEST(sessions_agree)
{
    for (size_t i = 0; i < sizeof sessions / sizeof *sessions; i++) {
        print_message("gpufl sim %s\n", sessions[i].args);
        struct run r;
        run_open(&r, sessions[i].env, sessions[i].args);
        session_is_what_was_said(&r);
        run_close(&r);
    }
}

TEST(optional_records)
{
    struct run r;
    run_open(&r, "GPUFL_ENABLE_MEMORY_TRACKING=1 GPUFL_ENABLE_CUDA_GRAPHS_TRACKING=1",
             "--kernels 50000 --scopes");
    session_is_what_was_said(&r);
    same_work(json_object_get(r.said, "allocations"), &r.found.allocs[1]);
    same_work(json_object_get(r.said, "frees"), &r.found.allocs[2]);
    assert_int_equal(r.found.rows[RECORD_graph_launch],
                     number(json_object_get(r.said, "graphs"), "launches"));
    run_close(&r);
    run_open(&r, "GPUFL_ENABLE_SYNCHRONIZATION=0", "--kernels 10000");
    assert_int_equal(r.found.rows[RECORD_sync], 0);
    assert_int_equal(r.found.rows[RECORD_alloc], 0);
    assert_int_equal(r.found.rows[RECORD_graph_launch], 0);
    same_kernels(json_object_get(r.said, "kernels"), &r.found);
    run_close(&r);
}

/* Returns the line of a function in the report's list of lines that wait; NULL: there is none. */
static const json_t *line_of(const json_t *report, const char *function)
{
    const json_t *lines =
        json_object_get(json_object_get(report, "synchronization_lines"), "lines");
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line)
    {
        const char *name = json_string_value(json_object_get(line, "function"));
        if (name && !strcmp(name, function) && json_is_true(json_object_get(line, "blocks_host")))
            return line;
    }
    return NULL;
}

/* Returns true if a wait is among the findings (first: before all others). With records of kernels
 * the GPU is known to be busy meanwhile, so that waits give back less than other findings. */
static bool finds_waits(const json_t *report, bool first)
{
    const json_t *all = json_object_get(report, "insights"), *one;
    bool found = false;
    for (size_t i = 0; !found && (one = json_array_get(all, i)) && (!first || !i); i++)
        found = !strcmp(json_string_value(json_object_get(one, "category")), "SYNCHRONIZATION");
    return found;
}

/* The simulated program's lines wait, and the report says which: with all records, and with
 * engine Sync alone. */
TEST(lines_that_wait)
{
    for (int sync = 0; sync < 2; sync++) {
        struct run r;
        char path[TEXT];
        json_error_t e;
        run_open(&r, "", sync ? "--kernels 30000 --engine Sync" : "--kernels 30000");
        assert_int_equal(shell("\"$GPUFL_BINARY_DIR\"/bin/gpufl report --json %s >%s/report.json",
                               json_string_value(json_object_get(r.said, "directory")), r.dir),
                         0);
        snprintf(path, sizeof path, "%s/report.json", r.dir);
        json_t *report = json_load_file(path, 0, &e);
        const json_t *step = line_of(report, "train_step"), *main = line_of(report, "main");
        assert_non_null(step);
        assert_non_null(main);
        assert_string_equal(json_string_value(json_object_get(step, "file")),
                            "/simulated/train.py");
        assert_true(number(step, "calls") > 10);
        assert_int_equal(number(main, "calls"), 1);
        assert_int_equal(r.found.rows[RECORD_kernel] == 0, sync);
        assert_true(finds_waits(report, sync));
        json_decref(report);
        run_close(&r);
    }
}

/* Every fourth device has other metrics: unknown cells are null, never 0. */
TEST(unknown_metrics_are_null)
{
    struct run r;
    run_open(&r, "", "--kernels 0 --duration 300ms --rate 20000 --devices 4 --sample 20");
    assert_true(r.found.rows[RECORD_device_metric] >= 8);
    assert_true(r.found.metrics > r.found.metrics_unknown);
    /* The devices lack 3, 5, 5 and 5 metrics, and each the sum of both directions of PCIe. */
    assert_in_range(r.found.metrics_unknown, r.found.rows[RECORD_device_metric] * 5,
                    r.found.rows[RECORD_device_metric] * 6);
    run_close(&r);
}

/* The collector gives a thread's name an id when it first sees the thread, while the program gives
 * ids to names of scopes. Which comes first depends on the system, so this replaces the id of the
 * thread's name by 0. Frees the lines, of len bytes, and returns new ones. */
static char *mask_thread_name(char *lines, size_t *len)
{
    char *out = calloc(1, *len + 1), *to = out, *rest = lines;
    assert_non_null(out);
    lines[*len - 1] = '\0'; /* in place of the last LF */
    for (char *line; (line = strsep(&rest, "\n"));) {
        json_t *names = strstr(line, "\"type\":\"names\"") ? json_loads(line, 0, NULL) : NULL;
        size_t i;
        json_t *text;
        json_array_foreach(json_object_get(names, "text"), i, text)
        {
            if (!strcmp(json_string_value(text), "gpufl"))
                json_array_set_new(json_object_get(names, "id"), i, json_integer(0));
        }
        char *masked = names ? json_dumps(names, JSON_COMPACT) : NULL;
        assert_true(!names || strlen(masked) <= strlen(line));
        to = stpcpy(stpcpy(to, masked ? masked : line), "\n");
        free(masked);
        json_decref(names);
    }
    free(lines);
    *len = (size_t)(to - out);
    return out;
}

/* The flush interval is so long that even a slow build on a busy machine never flushes by clock. */
TEST(seed_makes_the_bytes)
{
    static const int seeds[] = {21, 21, 22};
    char *bytes[3];
    size_t len[3];
    for (int i = 0; i < 3; i++) {
        char args[128];
        struct run r;
        snprintf(args, sizeof args, "--kernels 30000 --devices 2 --scopes --seed %d", seeds[i]);
        run_open(&r, "GPUFL_LOG_ROTATE_BYTES=65536 GPUFL_FLUSH_INTERVAL_MS=10000", args);
        assert_true(r.found.parts > 4);
        bytes[i] = readback_channel(json_string_value(json_object_get(r.said, "directory")),
                                    "device", &len[i]);
        bytes[i] = mask_thread_name(bytes[i], &len[i]);
        run_close(&r);
    }
    assert_int_equal(len[0], len[1]);
    assert_memory_equal(bytes[0], bytes[1], len[0]);
    assert_false(len[0] == len[2] && !memcmp(bytes[0], bytes[2], len[0]));
    for (int i = 0; i < 3; i++)
        free(bytes[i]);
}

/* If the tracer is refused, the session has no kernels, and says why. */
TEST(refusals_are_recorded)
{
    static const char *const errors[] = {"busy", "permission", "start"};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        char args[128];
        struct run r;
        snprintf(args, sizeof args, "--kernels 1000 --errors %s 2>/dev/null", errors[i]);
        run_open(&r, "", args);
        assert_int_equal(r.found.rows[RECORD_kernel], 0);
        assert_true(r.found.rows[RECORD_message] > 0);
        assert_int_equal(r.found.rows[RECORD_end], 1);
        run_close(&r);
    }
}

TEST(bad_input)
{
    static const char *const bad[] = {
        "--devices 17",   "--devices 0",  "--streams 0", "--threads 65",  "--rate fast",
        "--rate 0",       "--kernels -1", "--kernels 0", "--errors lost", "--errors drop:0",
        "--kernels many", "operand",      "--nothing",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(shell("\"$GPUFL_BINARY_DIR\"/bin/gpufl sim %s 2>/dev/null", bad[i]), 2);
    assert_int_equal(shell("GPUFL_SIM=devices=99 \"$GPUFL_BINARY_DIR\"/bin/gpufl sim 2>/dev/null"),
                     2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input),
        cmocka_unit_test(sessions_agree),
        cmocka_unit_test(optional_records),
        cmocka_unit_test(lines_that_wait),
        cmocka_unit_test(unknown_metrics_are_null),
        cmocka_unit_test(seed_makes_the_bytes),
        cmocka_unit_test(refusals_are_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
