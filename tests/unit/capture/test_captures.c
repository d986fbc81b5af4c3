/* test_captures.c - launches that are captured, from a backend's calls to rows. The clock and the
 * backend are in this file, so that every time is exact. */
#include "tests/test.h"
#include "tests/unit/support/session_log.h"
#include "tests/unit/support/still_trace.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "capture/session/session.h"
#include "capture/threads/threads.h"
#include "tests/unit/support/tmpdir.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define US 1000ll
#define MS (1000 * US)

/* ---- the backend and the clock -------------------------------------------------------------- */

static sem_t held, go_on;
static _Atomic bool hold; /* stops the collector at its next round */
static _Atomic int64_t now;
static _Atomic uint32_t recorded; /* a launch whose record comes with the next round; 0: none */

static void t_drain(struct trace *t)
{
    (void)t;
    uint32_t correlation = atomic_exchange(&recorded, 0);
    struct kernel_row row = {
        .start = atomic_load(&now), .duration = US, .correlation = correlation};
    if (correlation)
        still_sink->ops->row(still_sink, RECORD_kernel, &row);
    if (!atomic_exchange(&hold, false))
        return;
    sem_post(&held);
    sem_wait(&go_on);
}

static int t_floor(struct trace *t, bool on)
{
    (void)t, (void)on;
    return 0;
}

static const struct trace_ops trace = {.open = still_open,
                                       .start = still_start,
                                       .stop = still_stop,
                                       .flush = still_flush,
                                       .take = still_nothing,
                                       .drain = t_drain,
                                       .cost = still_cost,
                                       .floor = t_floor,
                                       .close = still_nothing};

const struct backend backend_none = {.name = "test", .probe = still_probe, .trace = &trace};

void *backend_tool(const struct tool_call *c)
{
    (void)c;
    return NULL;
}

const struct backend *backend_other(const struct backend *b)
{
    (void)b;
    return NULL;
}

const struct backend *backend_select(enum gpufl_backend kind, struct err *e)
{
    (void)kind, (void)e;
    return &backend_none;
}

static int64_t test_clock(void)
{
    return atomic_load(&now);
}

/* ---- helpers -------------------------------------------------------------------------------- */

static int setup(void **state)
{
    atomic_store(&now, 5000 * MS);
    clock_set_source(test_clock, 0);
    unsetenv("GPUFL_IDLE_STACKS");
    unsetenv("GPUFL_LAUNCH_STACKS");
    if (sem_init(&held, 0, 0) || sem_init(&go_on, 0, 0))
        return -1;
    return tmpdir_open(state);
}

static int teardown(void **state)
{
    gpufl_shutdown();
    clock_set_source(NULL, 0);
    return tmpdir_close(state);
}

static void start(enum gpufl_engine engine)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    o.profiling_engine = engine;
    o.enable_stack_trace = engine != GPUFL_ENGINE_MONITOR;
    assert_int_equal(gpufl_init(&o), 0);
}

static int64_t pass(int64_t ns)
{
    return atomic_fetch_add(&now, ns) + ns;
}

static void kernel(uint32_t correlation)
{
    still_sink->ops->kernel(still_sink, correlation);
}

static void launch(enum launch_kind kind, uint32_t correlation, bool async)
{
    still_sink->ops->launch(
        still_sink, &(struct launch){.kind = kind, .correlation = correlation, .async = async});
}

static void wait_for(int64_t start, int64_t duration)
{
    still_sink->ops->wait(
        still_sink, &(struct wait){.call = WAIT_STREAM, .start = start, .duration = duration});
}

static struct launch_row rows[64];
static size_t row_count;

static void on_row(void *arg, enum record_type type, const int64_t *cells)
{
    (void)arg;
    if (type == RECORD_launch && row_count < sizeof rows / sizeof *rows)
        memcpy(&rows[row_count++], cells, sizeof rows[0]);
}

/* Ends the session, and reads its rows. */
static void end(struct session_log *log)
{
    struct parts parts = {.row = on_row};
    gpufl_shutdown();
    session_log_read(gpufl_session_dir(), log);
    row_count = 0;
    parts_read(gpufl_session_dir(), "scope", &parts);
    assert_int_equal(parts.damaged + parts.unresolved, 0);
}

static void expect_row(size_t i, int64_t at, uint32_t correlation, int64_t own, int64_t sum)
{
    const struct launch_row *r = &rows[i];
    assert_true(i < row_count);
    assert_int_equal(r->start, at);
    assert_int_equal(r->correlation, correlation);
    assert_int_equal(r->own, own);
    assert_int_equal(r->sum, sum);
    assert_int_equal(r->why, sum == CELL_NULL ? 1 : 2);
    assert_true(r->thread > 0);
    assert_true(r->stack > 0);
}

static void expect_counts(const struct session_log *log, int64_t captured, int64_t lost)
{
    assert_int_equal(log->ledger.launches_captured, captured);
    assert_int_equal(log->ledger.captures_lost, lost);
    assert_int_equal(log->parts.rows[RECORD_launch],
                     captured == CELL_NULL ? 0 : (uint64_t)captured);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* A program without scopes: the first launch, a long pause, and short ones that sum up. */
TEST(values_of_rows)
{
    struct session_log log;
    int64_t first, late, sum = 30 * US;
    start(GPUFL_ENGINE_TRACE);
    first = pass(7 * MS);
    kernel(1);
    pass(30 * US);
    kernel(2);
    late = pass(150 * US);
    kernel(3);
    for (uint32_t i = 0; i < 18; i++) { /* 720 us; a window has at most 750 */
        pass(40 * US);
        kernel(4 + i);
    }
    end(&log);
    assert_in_range(row_count, 2, 4);
    expect_row(0, first, 1, CELL_NULL, CELL_NULL);
    expect_row(1, late, 3, 150 * US, CELL_NULL);
    int64_t before = late;
    for (size_t i = 2; i < row_count; i++) {
        sum += rows[i].start - before;
        assert_in_range(sum, 250 * US, 750 * US + 40 * US);
        expect_row(i, rows[i].start, 3 + (uint32_t)((rows[i].start - late) / (40 * US)), 40 * US,
                   sum);
        sum = 0;
        before = rows[i].start;
    }
    expect_counts(&log, (int64_t)row_count, 0);
    assert_int_equal(log.ledger.launches, 21);
    assert_int_equal(log.ledger.stacks_captured, (int64_t)row_count);
}

/* Launches of graphs and asynchronous copies are captured like kernels, other calls are not. */
TEST(calls_that_are_looked_at)
{
    struct session_log log;
    start(GPUFL_ENGINE_TRACE);
    kernel(1);
    int64_t graph = pass(200 * US);
    launch(LAUNCH_GRAPH, 2, false);
    int64_t copy = pass(300 * US);
    assert_true(still_sink->ops->in_scope(still_sink)); /* the backend must report them */
    launch(LAUNCH_OTHER, 3, true);
    pass(50 * US);
    launch(LAUNCH_OTHER, 4, false);
    launch(LAUNCH_GRAPH_END, 2, false);
    launch(LAUNCH_FAILED, 5, false);
    launch(LAUNCH_OUTSIDE, 6, false);
    launch(LAUNCH_UNSURE, 7, false);
    int64_t last = pass(60 * US);
    kernel(8);
    end(&log);
    assert_int_equal(row_count, 4);
    expect_row(1, graph, 2, 200 * US, CELL_NULL);
    expect_row(2, copy, 3, 300 * US, CELL_NULL);
    expect_row(3, last, 8, 110 * US, CELL_NULL);
}

/* A launch right after a wait has no row, however long the wait was. */
TEST(waits_are_not_the_programs_time)
{
    struct session_log log;
    start(GPUFL_ENGINE_TRACE);
    kernel(1);
    for (uint32_t i = 0; i < 20; i++) {
        int64_t began = pass(2 * US);
        wait_for(began, pass(40 * MS) - began);
        pass(5 * US);
        kernel(2 + i);
    }
    int64_t began = pass(2 * US); /* a thread may report its wait ahead of its clock */
    wait_for(began, 3 * MS);
    int64_t late = pass(3 * MS + 101 * US);
    kernel(30);
    end(&log);
    assert_int_equal(row_count, 2);
    expect_row(1, late, 30, 101 * US, CELL_NULL);
    assert_int_equal(log.ledger.waits_recorded, 21);
}

/* Launches in scopes, and launches of other engines, take another path through the code. */
TEST(scopes_change_nothing)
{
    static const enum gpufl_engine engines[] = {GPUFL_ENGINE_TRACE, GPUFL_ENGINE_SYNC};
    for (int i = 0; i < 2; i++) {
        struct session_log log;
        start(engines[i]);
        uint64_t scope = gpufl_scope_begin("scope", NULL);
        kernel(1);
        pass(99 * US);
        kernel(2);
        int64_t late = pass(100 * US);
        kernel(3);
        gpufl_scope_end(scope);
        int64_t later = pass(120 * US);
        kernel(4);
        end(&log);
        assert_int_equal(row_count, 3);
        expect_row(1, late, 3, 100 * US, CELL_NULL);
        expect_row(2, later, 4, 120 * US, CELL_NULL);
        expect_counts(&log, 3, 0);
        assert_int_equal(log.parts.rows[RECORD_scope], 1);
    }
}

/* If every launch has a stack, one stack is captured for both purposes. */
TEST(every_launch_has_its_stack)
{
    struct session_log log;
    setenv("GPUFL_LAUNCH_STACKS", "true", 1);
    start(GPUFL_ENGINE_TRACE);
    kernel(1);
    pass(20 * US);
    kernel(2);
    int64_t late = pass(130 * US);
    kernel(3);
    end(&log);
    assert_int_equal(row_count, 2);
    expect_row(1, late, 3, 130 * US, CELL_NULL);
    assert_int_equal(log.ledger.stacks_captured, 3);
}

/* A simulated program reports its stack itself. */
TEST(reported_frames)
{
    static const struct sink_frame frames[] = {{"main", "p.py", 3}, {"parse", "p.py", 9}};
    struct session_log log;
    start(GPUFL_ENGINE_TRACE);
    for (uint32_t i = 0; i < 2; i++) {
        still_sink->ops->launch(still_sink, &(struct launch){.kind = LAUNCH_KERNEL,
                                                             .correlation = 1 + i,
                                                             .frames = frames,
                                                             .depth = 2});
        pass(MS);
    }
    end(&log);
    assert_int_equal(row_count, 2);
    assert_int_equal(rows[0].stack, rows[1].stack);
    assert_int_equal(log.ledger.stacks_distinct, 1);
    assert_int_equal(log.ledger.stacks_captured, 0); /* no stack was walked */
}

/* ---- pauses of the capture itself ----------------------------------------------------------- */

TEST(a_session_begins_again)
{
    for (int i = 0; i < 2; i++) {
        struct session_log log;
        start(GPUFL_ENGINE_TRACE);
        int64_t at = pass(80 * US);
        kernel(1);
        end(&log);
        assert_int_equal(row_count, 1);
        expect_row(0, at, 1, CELL_NULL, CELL_NULL);
    }
}

/* At the floor of the benchmarks launches are only counted. */
TEST(nothing_at_the_floor)
{
    struct session_log log;
    start(GPUFL_ENGINE_TRACE);
    kernel(1);
    assert_int_equal(session_floor(true), 0);
    pass(MS);
    kernel(2);
    assert_int_equal(session_floor(false), 0);
    int64_t at = pass(MS);
    kernel(3);
    end(&log);
    assert_int_equal(row_count, 2);
    expect_row(1, at, 3, CELL_NULL, CELL_NULL); /* the program's time is unknown, not 2 ms */
    assert_int_equal(log.ledger.launches, 3);
}

static void *flush(void *unused)
{
    (void)session_flush(); /* may give up: the collector is stopped for long */
    return unused;
}

/* The collector is stopped while a thread captures more than its ring holds. */
TEST(a_full_ring_counts)
{
    enum { MORE = 500 };
    struct session_log log;
    start(GPUFL_ENGINE_TRACE);
    kernel(1);
    atomic_store(&hold, true);
    pthread_t flusher;
    assert_int_equal(pthread_create(&flusher, NULL, flush, NULL), 0);
    sem_wait(&held);
    for (uint32_t i = 0; i < RING_SLOTS + MORE; i++) {
        pass(100 * US);
        kernel(2 + i);
    }
    sem_post(&go_on);
    pthread_join(flusher, NULL);
    end(&log);
    assert_int_equal(log.ledger.launches, RING_SLOTS + MORE + 1);
    assert_in_range(log.ledger.captures_lost, MORE, MORE + 1); /* the first may still have a slot */
    expect_counts(&log, RING_SLOTS + MORE + 1 - log.ledger.captures_lost, log.ledger.captures_lost);
    assert_true(log.parts.rows[RECORD_message] > 0); /* the capture is not complete */
}

/* ---- records -------------------------------------------------------------------------------- */

static void keep_scope(void *arg, enum record_type type, const int64_t *cells)
{
    if (type == RECORD_kernel)
        *(int64_t *)arg = ((const struct kernel_row *)cells)->scope;
}

/* A clock that does not move between a launch and the round that takes its record: the launch is
 * known before the record is read. */
TEST(a_record_at_the_moment_of_its_launch)
{
    int64_t scope = -1;
    struct parts parts = {.row = keep_scope, .arg = &scope};
    start(GPUFL_ENGINE_TRACE);
    uint64_t step = gpufl_scope_begin("step", NULL);
    pass(7 * MS);
    kernel(1); /* captured, so that it has the time */
    atomic_store(&recorded, 1);
    assert_int_equal(session_flush(), 0);
    pass(MS);
    gpufl_scope_end(step);
    gpufl_shutdown();
    parts_read(gpufl_session_dir(), "device", &parts);
    assert_int_equal(parts.rows[RECORD_kernel], 1);
    assert_true(scope > 0);
}

/* ---- off ------------------------------------------------------------------------------------ */

static void session_with_pauses(struct session_log *log, enum gpufl_engine engine)
{
    start(engine);
    for (uint32_t i = 0; i < 20 && engine != GPUFL_ENGINE_MONITOR; i++) {
        pass(300 * US);
        kernel(1 + i);
        launch(LAUNCH_OTHER, 100 + i, true);
    }
    end(log);
    expect_counts(log, CELL_NULL, CELL_NULL);
}

TEST(not_asked_for)
{
    struct session_log log;
    setenv("GPUFL_IDLE_STACKS", "false", 1);
    session_with_pauses(&log, GPUFL_ENGINE_TRACE);
    assert_int_equal(log.ledger.stacks_captured, 0);
    setenv("GPUFL_LAUNCH_STACKS", "true", 1);
    session_with_pauses(&log, GPUFL_ENGINE_TRACE);
    assert_int_equal(log.ledger.stacks_captured, 40);
}

TEST(no_stacks_no_captures)
{
    struct session_log log;
    session_with_pauses(&log, GPUFL_ENGINE_MONITOR);
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    o.profiling_engine = GPUFL_ENGINE_TRACE;
    assert_int_equal(gpufl_init(&o), 0);
    kernel(1);
    pass(MS);
    kernel(2);
    end(&log);
    expect_counts(&log, CELL_NULL, CELL_NULL);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(values_of_rows),
        T(calls_that_are_looked_at),
        T(waits_are_not_the_programs_time),
        T(scopes_change_nothing),
        T(every_launch_has_its_stack),
        T(reported_frames),
        T(a_session_begins_again),
        T(nothing_at_the_floor),
        T(a_full_ring_counts),
        T(a_record_at_the_moment_of_its_launch),
        T(not_asked_for),
        T(no_stacks_no_captures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
