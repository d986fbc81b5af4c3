/* test_insights.c - every rule with its fault and without, and the table against its document. */
#include "analyze/insight.h"

#include "base/alloc.h"
#include "base/file.h"
#include "program.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct intern *names;

static int open_names(void **state)
{
    (void)state;
    return intern_open(&names, 1 << 16, 1 << 24);
}

static int close_names(void **state)
{
    (void)state;
    intern_close(names);
    return 0;
}

static struct program p;
static struct model m;
static struct insights found;

static void begin(const char *session)
{
    program_init(&p, session);
}

/* Reads the program and finds. */
static void look(void)
{
    program_end(&p);
    model_init(&m, names);
    program_read(&p, &m);
    assert_int_equal(insights_find(&m, &found), 0);
    for (size_t i = 0; i < found.count; i++) {
        assert_true(found.items[i].gives_back >= 0);
        assert_true(found.items[i].gives_back <= sum_facts_duration(&m));
        assert_true(*found.items[i].title && *found.items[i].text && *found.items[i].next);
    }
}

static void end(void)
{
    insights_fini(&found);
    model_fini(&m);
    program_fini(&p);
}

/* The finding of a rule at a place ("": any), or NULL. */
static const struct insight *find(const char *rule, const char *place)
{
    const struct insight *at = NULL;
    for (size_t i = 0; i < found.count && !at; i++) {
        struct buf text;
        buf_init(&text, 4096);
        stacks_put_place(&m, found.items[i].place, &text);
        if (!strcmp(found.items[i].rule->id, rule) && (!*place || !strcmp(buf_cstr(&text), place)))
            at = &found.items[i];
        buf_fini(&text);
    }
    return at;
}

static int64_t fact(const struct insight *i, const char *key)
{
    for (unsigned f = 0; f < i->fact_count; f++)
        if (!strcmp(i->facts[f].key, key))
            return i->facts[f].value;
    fail_msg("no fact %s", key);
    return 0;
}

/* No rule but these (one may be ""). */
static void only(const char *a, const char *b)
{
    for (size_t i = 0; i < found.count; i++)
        if (strcmp(found.items[i].rule->id, a) != 0 && strcmp(found.items[i].rule->id, b) != 0)
            fail_msg("%s: %s", found.items[i].rule->id, found.items[i].text);
}

static int64_t python(const char *file, const char *function, int64_t line)
{
    int64_t main = program_python(&p, 0, "/srv/app/main.py", "<module>", 1);
    return program_python(&p, main, file, function, line);
}

/* ---- synchronization --------------------------------------------------------------------- */

static void steps(int n, int kernels, int64_t stack, bool inside)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < kernels; k++)
            program_launch(&p, (struct program_kernel){.ns = 300000});
        if (inside)
            program_sync(&p, SYNC_CONTEXT, stack, 1);
        program_work(&p, 300000);
    }
    if (!inside)
        program_sync(&p, SYNC_CONTEXT, stack, 1);
}

static void test_sync_loop(void **state)
{
    (void)state;
    begin("loop");
    steps(50, 4, python("/srv/app/train.py", "train_step", 90), true);
    look();
    const struct insight *i = find("sync_loop", "train.py:90"),
                         *line = find("sync_line", "train.py:90");
    assert_ptr_equal(i, &found.items[0]);
    assert_int_equal(i->severity, INSIGHT_HIGH);
    assert_int_equal(line->severity, INSIGHT_HIGH);
    assert_string_equal(i->title, "In-loop sync × 50 — likely blocking GPU pipelining");
    assert_string_equal(i->next,
                        "Move the sync outside the loop or capture the loop body into a CUDA "
                        "graph (replay amortizes launch overhead).");
    assert_string_equal(
        i->text,
        "60.1 ms of 77.5 ms blocked in 50 synchronizations at train.py:90 in train_step(), "
        "inside a loop with kernels between: move it out of the loop. The GPU sat idle 19.6 % "
        "of the run because of it.");
    assert_int_equal(fact(i, "launches_between_median"), 4);
    assert_int_equal(fact(i, "calls"), 50);
    assert_int_equal(i->gives_back, 49 * 310000);
    only("sync_loop", "sync_line");
    end();
}

/* The same program with the wait after the loop. */
static void test_sync_hoisted(void **state)
{
    (void)state;
    begin("hoisted");
    steps(50, 4, python("/srv/app/train.py", "main", 95), false);
    look();
    const struct insight *i = find("sync_line", "train.py:95");
    assert_non_null(i);
    assert_int_equal(fact(i, "calls"), 1);
    assert_true(i->gives_back < 1000000);
    only("sync_line", "");
    end();
}

/* Two launches between are no loop by the seed's rule, and two calls are none either. */
static void test_sync_no_loop(void **state)
{
    (void)state;
    begin("two");
    steps(50, 2, python("/srv/app/train.py", "f", 1), true);
    look();
    assert_null(find("sync_loop", ""));
    end();
    begin("twice");
    steps(2, 9, python("/srv/app/train.py", "f", 1), true);
    look();
    assert_null(find("sync_loop", ""));
    end();
}

/* HIGH above 50 %, MEDIUM above 10 %, else LOW; it always fires where there are stacks. */
static void test_sync_severity(void **state)
{
    static const struct {
        int64_t busy, rest;
        enum insight_severity severity;
    } cases[] = {{600, 300, INSIGHT_HIGH},
                 {400, 500, INSIGHT_MEDIUM},
                 {120, 800, INSIGHT_MEDIUM},
                 {40, 900, INSIGHT_LOW}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin("severity");
        int64_t stack = python("a.py", "f", 5);
        program_launch(&p, (struct program_kernel){.ns = cases[i].busy * 1000000});
        program_sync(&p, SYNC_STREAM, stack, 1);
        program_work(&p, cases[i].rest * 1000000);
        program_launch(&p, (struct program_kernel){.ns = 1000});
        look();
        assert_int_equal(find("sync_line", "a.py:5")->severity, cases[i].severity);
        end();
    }
}

/* A well pipelined loop waits for the step before the last: the GPU never stops. */
static void test_sync_pipelined(void **state)
{
    (void)state;
    begin("pipelined");
    int64_t stack = python("a.py", "loop", 5), before = 0;
    for (int i = 0; i < 60; i++) {
        int64_t mine = p.gpu;
        for (int k = 0; k < 4; k++)
            program_launch(&p, (struct program_kernel){.ns = 300000});
        if (before > p.now)
            program_call(&p, (struct wait_row){.duration = before - p.now,
                                               .call = SYNC_EVENT,
                                               .stack = stack,
                                               .bytes = CELL_NULL});
        before = mine;
    }
    look();
    const struct insight *i = find("sync_loop", "a.py:5");
    assert_non_null(i); /* by the seed's rule */
    assert_int_equal(i->gives_back, 0);
    assert_non_null(strstr(i->text, "had work meanwhile"));
    end();
}

/* Neither a mark nor a wait without a stack is a line. */
static void test_sync_no_line(void **state)
{
    (void)state;
    begin("mark");
    steps(20, 4, program_mark(&p, "<driver-internal>"), true);
    steps(20, 4, 0, true);
    look();
    only("", "");
    end();
}

/* Calls that are no synchronizations and took 14 us are nothing to look at, or 14 ms. */
static void test_other_calls(void **state)
{
    const int calls[] = {SYNC_OTHER, SYNC_COPY, SYNC_STREAM, SYNC_FREE};
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        int call = calls[i % 4];
        begin("other");
        for (int k = 0; k < 100; k++)
            program_launch(&p, (struct program_kernel){.ns = 400000});
        program_call(&p, (struct wait_row){.duration = i < 4 ? 14000 : 14000000,
                                           .call = call,
                                           .stack = python("a.py", "end", 9)});
        look();
        assert_int_equal(find("sync_line", "a.py:9") != NULL, call == SYNC_STREAM || i >= 4);
        end();
    }
}

/* The first step loads code and fills buffers at a line that waits for nothing. */
static void test_first_step(void **state)
{
    (void)state;
    begin("first step");
    int64_t stack = python("a.py", "forward", 13);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 16; k++)
            program_launch(&p, (struct program_kernel){.ns = 100000});
        program_call(&p, (struct wait_row){.duration = 8000, .call = SYNC_FILL, .stack = stack});
        program_call(&p, (struct wait_row){.duration = 5000000, .call = SYNC_CODE, .stack = stack});
        program_call(&p, (struct wait_row){.duration = 200000, .call = SYNC_ALLOC, .stack = stack});
    }
    for (int k = 0; k < 200; k++)
        program_launch(&p, (struct program_kernel){.ns = 400000});
    program_sync(&p, SYNC_STREAM, stack, 1);
    look();
    assert_null(find("sync_loop", ""));
    const struct insight *i = find("sync_line", "a.py:13");
    assert_int_equal(fact(i, "calls"), 5);
    assert_true(fact(i, "blocked_ns") < 90000000); /* of the synchronization */
    assert_non_null(strstr(i->title, "StreamSynchronize × 1 @ a.py:13"));
    assert_non_null(strstr(i->text, "1 synchronization and 4 other calls"));
    end();
}

static void test_copy_loop(void **state)
{
    (void)state;
    begin("copies");
    int64_t stack = python("a.py", "item", 8);
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 5; k++)
            program_launch(&p, (struct program_kernel){.ns = 100000});
        program_call(&p, (struct wait_row){.duration = p.gpu - p.now + 5000,
                                           .call = SYNC_COPY,
                                           .stack = stack,
                                           .bytes = 4});
    }
    look();
    assert_non_null(find("sync_loop", "a.py:8"));
    only("sync_loop", "sync_line"); /* not told again as small copies */
    end();
}

/* ---- memory ------------------------------------------------------------------------------ */

static void test_alloc_loop(void **state)
{
    (void)state;
    begin("alloc");
    int64_t get = python("a.py", "get", 3), put = python("a.py", "put", 9);
    for (int i = 0; i < 30; i++) {
        program_call(&p, (struct wait_row){.duration = 200000, .call = SYNC_ALLOC, .stack = get});
        program_launch(&p, (struct program_kernel){.ns = 400000});
        program_call(&p, (struct wait_row){.duration = 700000, .call = SYNC_FREE, .stack = put});
    }
    look();
    assert_non_null(find("memory_alloc_loop", "a.py:3"));
    const struct insight *i = find("memory_alloc_loop", "a.py:9");
    assert_true(i->gives_back > 29 * 250000);
    assert_null(find("sync_loop", ""));
    end();
}

/* Buffers allocated and filled one by one at the start, and freed at the end. */
static void test_alloc_start(void **state)
{
    (void)state;
    for (int async = 0; async < 2; async++) {
        begin("start");
        int64_t get = python("a.py", "get", 3), put = python("a.py", "put", 9);
        for (int i = 0; i < 30; i++) {
            program_call(&p,
                         (struct wait_row){
                             .duration = 20000, .call = SYNC_ALLOC, .stack = get, .async = async});
            program_launch(&p, (struct program_kernel){.ns = 400000});
            if (async) /* stream-ordered ones may come and go */
                program_call(&p,
                             (struct wait_row){
                                 .duration = 20000, .call = SYNC_FREE, .stack = put, .async = 1});
        }
        for (int i = 0; i < 30 && !async; i++)
            program_call(&p, (struct wait_row){.duration = 20000, .call = SYNC_FREE, .stack = put});
        look();
        assert_null(find("memory_alloc_loop", ""));
        end();
    }
}

static void copy(int64_t kind, int64_t src, int64_t bytes, int64_t ns, int64_t stack, bool blocks)
{
    struct memcpy_row row = {.start = (p.gpu > p.now ? p.gpu : p.now) + 3000,
                             .duration = ns,
                             .bytes = bytes,
                             .kind = kind,
                             .src_memory = src,
                             .dst_memory = 3,
                             .stream = 1,
                             .correlation = p.correlation + 1};
    make_log_rows(&p.log, RECORD_memcpy, &row, 1);
    p.gpu = row.start + ns;
    if (blocks)
        program_call(&p, (struct wait_row){.duration = p.gpu - p.now + 2000,
                                           .call = SYNC_COPY,
                                           .stack = stack,
                                           .bytes = bytes});
    else
        p.correlation++;
}

static void test_pageable(void **state)
{
    (void)state;
    for (int pinned = 0; pinned < 2; pinned++) {
        begin("pageable");
        int64_t stack = python("load.py", "batch", 12);
        for (int i = 0; i < 20; i++) {
            copy(1, pinned ? 2 : 1, 8 << 20, 900000, stack, !pinned);
            program_launch(&p, (struct program_kernel){.ns = 2000000});
        }
        look();
        const struct insight *i = find("pageable_copies", "load.py:12");
        assert_int_equal(i != NULL, !pinned);
        if (i) {
            assert_int_equal(fact(i, "copies"), 20);
            assert_int_equal(i->gives_back, 20 * 900000);
        }
        end();
    }
}

static void test_small_copies(void **state)
{
    (void)state;
    for (int64_t bytes = 512; bytes <= 1 << 20; bytes *= 2048) {
        begin("small");
        int64_t stack = python("put.py", "rows", 4);
        for (int i = 0; i < 200; i++)
            copy(1, 2, bytes, 1500, stack, true);
        program_launch(&p, (struct program_kernel){.ns = 2000000});
        look();
        const struct insight *i = find("small_copies", "put.py:4");
        assert_int_equal(i != NULL, bytes == 512);
        if (i)
            assert_int_equal(fact(i, "copies"), 200);
        assert_null(find("pageable_copies", ""));
        end();
    }
}

/* ---- launches and idle time -------------------------------------------------------------- */

static void storm(int kernels, int64_t ns, int64_t host, int64_t sync)
{
    int64_t name = program_name(&p, "tiny");
    make_log_config(&p.log, 1, name);
    for (int i = 0; i < kernels; i++) {
        program_launch(&p, (struct program_kernel){.ns = ns, .config = 1});
        program_work(&p, host);
        if (sync)
            program_sync(&p, SYNC_STREAM, sync, 1);
    }
}

static void test_storm(void **state)
{
    (void)state;
    begin("storm");
    storm(4000, 2500, 5000, 0);
    look();
    const struct insight *i = find("launch_storm", "");
    assert_int_equal(fact(i, "launches"), 4000);
    assert_true(i->gives_back > 3900 * 4000);
    only("launch_storm", "");
    end();
    begin("few");
    storm(500, 2500, 5000, 0);
    look();
    assert_null(find("launch_storm", ""));
    end();
    begin("long kernels");
    storm(4000, 40000, 5000, 0);
    look();
    only("", "");
    end();
    begin("dense"); /* launches keep up */
    storm(4000, 9000, 1000, 0);
    look();
    only("", "");
    end();
    begin("synchronized"); /* the waits are to blame, not the launches */
    storm(4000, 2500, 0, python("a.py", "f", 7));
    look();
    assert_null(find("launch_storm", ""));
    assert_non_null(find("sync_line", "a.py:7"));
    end();
}

static void gaps(int n, int64_t host, int64_t ns)
{
    int64_t stack = python("late.py", "forward", 33);
    for (int i = 0; i < n; i++) {
        program_launch(&p, (struct program_kernel){.ns = ns, .stack = stack});
        program_work(&p, ns + host);
    }
}

static void test_late(void **state)
{
    (void)state;
    begin("late");
    gaps(20, 3000000, 2000000);
    look();
    const struct insight *i = find("late_launch", "late.py:33");
    assert_non_null(i);
    assert_int_equal(fact(i, "gaps"), 19);
    only("late_launch", "");
    end();
    begin("in time");
    gaps(20, 0, 2000000);
    look();
    only("", "");
    end();
}

static void test_idle(void **state)
{
    (void)state;
    begin("idle");
    gaps(5, 50000000, 2000000);
    look();
    assert_non_null(find("idle_cause", "late.py:33"));
    only("idle_cause", "");
    end();
    begin("once"); /* a long start is no fault of what follows */
    program_work(&p, 900000000);
    gaps(5, 0, 2000000);
    look();
    only("", "");
    end();
}

/* ---- kernels ----------------------------------------------------------------------------- */

static void kernels(struct config_row c, int64_t limiter)
{
    c.id = 1;
    c.name = program_name(&p, "_Z4gemmPf");
    c.device = 1;
    c.occ_limiter = limiter;
    make_log_rows(&p.log, RECORD_config, &c, 1);
    for (int i = 0; i < 10; i++)
        program_launch(&p, (struct program_kernel){.ns = 500000, .config = 1});
}

static void test_occupancy(void **state)
{
    static const struct {
        const char *limiter;
        int64_t warps;
        bool fires;
    } cases[] = {{"registers", 16, true},    {"shared_mem", 31, true}, {"blocks", 32, false},
                 {"registers", 36, true},    {"registers", 40, false}, {"warps", 36, false},
                 {"warps", CELL_NULL, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin("occupancy");
        kernels(
            (struct config_row){.occ_warps = cases[i].warps, .occ_max_warps = 64, .registers = 128},
            program_name(&p, cases[i].limiter));
        look();
        const struct insight *at = find("occupancy", "");
        assert_int_equal(at != NULL, cases[i].fires);
        if (at) {
            assert_int_equal(at->rule->bound, INSIGHT_ESTIMATED);
            assert_non_null(strstr(at->text, "gemm"));
            assert_true(at->gives_back <= 5000000 * (64 - cases[i].warps) / 64);
        }
        only("occupancy", "");
        end();
    }
}

/* Reserved local memory tells nothing. */
static void test_spills(void **state)
{
    (void)state;
    for (int64_t local = 0; local <= 256; local += 256) {
        begin("spills");
        kernels((struct config_row){.occ_warps = 64,
                                    .occ_max_warps = 64,
                                    .registers = 64,
                                    .local_per_thread = local,
                                    .local_total = 512 << 20},
                program_name(&p, "warps"));
        look();
        const struct insight *at = find("spills", "");
        assert_int_equal(at != NULL, local != 0);
        if (at)
            assert_int_equal(at->gives_back, 2500000);
        end();
    }
}

/* ---- devices ----------------------------------------------------------------------------- */

static void metrics(int n, int64_t throttle, int64_t temperature)
{
    kernels((struct config_row){.occ_warps = 64, .occ_max_warps = 64}, 0);
    for (int i = 0; i < n; i++) {
        struct device_metric_row row;
        MAKE_UNKNOWN(row);
        row.time = 1000000 + i * 400000;
        row.device = 1;
        row.throttle = i % 2 ? throttle : 0;
        row.temperature = temperature;
        row.clock_sm = 1000;
        make_log_rows(&p.log, RECORD_device_metric, &row, 1);
    }
}

static void test_throttling(void **state)
{
    static const struct {
        int samples;
        int64_t throttle, temperature;
        const char *rule;
    } cases[] = {
        {10, 4, 60, "throttle_power"},
        {10, 128, 60, "throttle_power"},
        {10, 32, 60, "throttle_thermal"},
        {10, 64, 60, "throttle_thermal"},
        {10, 0, 86, "throttle_thermal"},
        {10, 1, 60, ""},
        {10, 2, 84, ""},
        {2, 4, 60, ""},
        {10, CELL_NULL, CELL_NULL, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin("throttle");
        metrics(cases[i].samples, cases[i].throttle, cases[i].temperature);
        look();
        assert_int_equal(find(cases[i].rule, "") != NULL, *cases[i].rule != 0);
        only(cases[i].rule, "");
        end();
    }
}

/* ---- all of them ------------------------------------------------------------------------- */

static void test_clean(void **state)
{
    (void)state;
    begin("clean");
    for (int i = 0; i < 300; i++)
        program_launch(&p, (struct program_kernel){.ns = 400000});
    program_sync(&p, SYNC_CONTEXT, python("a.py", "main", 50), 1);
    look();
    only("sync_line", "");
    end();
    begin("nothing");
    look();
    assert_int_equal(found.count, 0);
    end();
}

/* Measured before estimated, each by what it gives back. */
static void test_order(void **state)
{
    (void)state;
    begin("order");
    kernels((struct config_row){.occ_warps = 4, .occ_max_warps = 64, .registers = 255},
            program_name(&p, "registers"));
    steps(30, 4, python("a.py", "f", 5), true);
    gaps(20, 3000000, 2000000);
    look();
    assert_true(found.count >= 4);
    for (size_t i = 1; i < found.count; i++) {
        const struct insight *a = &found.items[i - 1], *b = &found.items[i];
        assert_true(a->rule->bound < b->rule->bound ||
                    (a->rule->bound == b->rule->bound && a->gives_back >= b->gives_back));
    }
    end();
}

static void test_no_memory(void **state)
{
    (void)state;
    begin("memory");
    kernels(
        (struct config_row){
            .occ_warps = 4, .occ_max_warps = 64, .registers = 255, .local_per_thread = 8},
        program_name(&p, "registers"));
    steps(30, 4, python("a.py", "f", 5), true);
    gaps(20, 3000000, 2000000);
    look();
    insights_fini(&found);
    for (int64_t fail = 0;; fail++) {
        mem_fail_at(fail);
        int code = insights_find(&m, &found);
        bool done = mem_count() <= fail;
        mem_fail_at(-1);
        assert_int_equal(code, done ? 0 : GPUFL_E_NOMEM);
        insights_fini(&found);
        if (done)
            break;
    }
    end();
}

/* docs/insights.md names every rule and every threshold with its number. */
static void test_document(void **state)
{
    char path[PATH_MAX], *text, line[256];
    size_t len;
    struct err e = {0};
    (void)state;
    snprintf(path, sizeof path, "%s/docs/insights.md", getenv("GPUFL_SOURCE_DIR"));
    assert_int_equal(file_read_all(path, 1 << 20, &text, &len, &e), 0);
    for (size_t i = 0; i < insight_rule_count; i++) {
        snprintf(line, sizeof line, "### %s\n", insight_rules[i].id);
        if (!strstr(text, line))
            fail_msg("docs/insights.md has no %s", line);
    }
    for (size_t i = 0; i < insight_limit_count; i++) {
        const struct insight_limit *l = &insight_limits[i];
        snprintf(line, sizeof line, "| `%s` | %lld %s | %s |", l->name, (long long)l->value,
                 l->unit, l->reason);
        if (!strstr(text, line))
            fail_msg("docs/insights.md lacks: %s", line);
    }
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sync_loop),      cmocka_unit_test(test_sync_hoisted),
        cmocka_unit_test(test_sync_no_loop),   cmocka_unit_test(test_sync_severity),
        cmocka_unit_test(test_sync_pipelined), cmocka_unit_test(test_sync_no_line),
        cmocka_unit_test(test_other_calls),    cmocka_unit_test(test_first_step),
        cmocka_unit_test(test_copy_loop),      cmocka_unit_test(test_alloc_loop),
        cmocka_unit_test(test_alloc_start),    cmocka_unit_test(test_pageable),
        cmocka_unit_test(test_small_copies),   cmocka_unit_test(test_storm),
        cmocka_unit_test(test_late),           cmocka_unit_test(test_idle),
        cmocka_unit_test(test_occupancy),      cmocka_unit_test(test_spills),
        cmocka_unit_test(test_throttling),     cmocka_unit_test(test_clean),
        cmocka_unit_test(test_order),          cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_document),
    };
    return cmocka_run_group_tests(tests, open_names, close_names);
}
