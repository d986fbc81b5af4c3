/* test_launches.c - launches captured to find the line that causes idle time: rows against
 * the clock of the program that launched. The bounds hold whatever else the machine does. */
#include "capture/threads/launch_rule.h"
#include "tests/fake/launch_log.h"
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <string.h>

enum {
    PAUSES = 12,
    BURST = 2000,
    AWAY_NS = 100000,
    WINDOW_NS = 500000,
    GUARD_NS =
        1000000000 / LAUNCH_MOST, /* of captures in a second: beyond, the limits may double */
    SLACK_NS = 3000, /* between a tick and the clock: points of the curve, its mean slope */
};

/* A call of the program, as the program saw it. */
struct call {
    const char *function;
    int64_t begin, end;
    int64_t own_least, own_most; /* time away from the library before it */
};

struct calls {
    struct call list[3 * BURST];
    size_t count; /* of launches: those that have records */
};

static const struct wait_row *wait_in(const struct launch_log *l, const struct call *call)
{
    for (size_t i = 0; i < l->wait_count; i++)
        if (l->waits[i].start >= call->begin && l->waits[i].start <= call->end)
            return &l->waits[i];
    fail_msg("a wait has no row");
    return NULL;
}

/* A wait ends when its row says; the program sees the end later. */
static void read_calls(struct calls *c, const struct run *r, const struct launch_log *l)
{
    size_t i;
    json_t *one;
    struct call before = {0};
    int64_t left = 0; /* the earliest time at which the thread may have left the library */
    c->count = 0;
    json_array_foreach(at(r->said, "0.calls"), i, one)
    {
        struct call call = {
            .function = text_at(one, "0"), .begin = int_at(one, "1"), .end = int_at(one, "2")};
        call.own_least = before.end ? call.begin - before.end : INT64_MIN;
        call.own_most = call.end - left;
        before = call;
        left = call.begin;
        if (!strcmp(call.function, "wait")) {
            const struct wait_row *w = wait_in(l, &call);
            left = w->start + w->duration;
            continue;
        }
        assert_true(c->count < sizeof c->list / sizeof *c->list);
        c->list[c->count++] = call;
    }
}

static void check_row(const struct launch_log *l, const struct launch_row *row,
                      const struct call *call)
{
    assert_in_range(row->start, call->begin - SLACK_NS, call->end + SLACK_NS);
    if (!launch_log_names(l, row->stack, call->function))
        fail_msg("%s is not on the stack of its launch", call->function);
    if (row->own == CELL_NULL)
        return;
    assert_true(row->own >= call->own_least - SLACK_NS);
    assert_true(row->own <= call->own_most + SLACK_NS);
}

/* Checks the rows against all launches, and counts rows of each kind. */
static void check_rows(const struct launch_log *l, const struct calls *c, size_t found[3])
{
    bool guarded = l->ledger.cost_stacks >= GUARD_NS;
    int64_t least = 0, most = 0; /* the sum since the last summed row */
    size_t next = 0;
    assert_int_equal(l->correlation_count, c->count);
    for (size_t i = 0; i < c->count; i++) {
        const struct launch_row *row = next < l->launch_count ? &l->launches[next] : NULL;
        const struct call *call = &c->list[i];
        bool here = row && row->correlation == l->correlations[i];
        if (here)
            check_row(l, row, call);
        if (here && row->why == 1) {
            assert_int_equal(row->sum, CELL_NULL);
            assert_true(i == 0 ? row->own == CELL_NULL : row->own >= AWAY_NS - SLACK_NS);
            assert_true(i == 0 || row->own != CELL_NULL);
        } else {
            assert_true(guarded || call->own_least < AWAY_NS + SLACK_NS);
            least += call->own_least;
            most += call->own_most;
            assert_true(here || guarded || least < WINDOW_NS * 3 / 2 + SLACK_NS);
        }
        if (here && row->why == 2) {
            assert_true(row->sum >= least - SLACK_NS && row->sum <= most + SLACK_NS);
            assert_true(row->sum >= WINDOW_NS / 2 - SLACK_NS);
            least = most = 0;
        }
        if (here)
            found[row->why]++;
        next += here;
    }
    assert_int_equal(next, l->launch_count); /* every row joins a record, in the order of calls */
}

static size_t rows_of(const struct launch_log *l, const struct calls *c, const char *function)
{
    size_t n = 0, next = 0;
    for (size_t i = 0; i < c->count && next < l->launch_count; i++) {
        if (l->launches[next].correlation != l->correlations[i])
            continue;
        n += !strcmp(c->list[i].function, function) && l->launches[next].why == 1;
        next++;
    }
    return n;
}

static void run_pauses(struct run *r, struct launch_log *l, const char *const *options)
{
    run_all(r, &(struct run_setup){.binary = "fake/fake_pauses",
                                   .options = options,
                                   .program = LIST("12", "2000")});
    check_program(r, 0);
    launch_log_open(l, r->logs);
    assert_int_equal(l->damaged, 0);
}

static void finish(struct run *r, struct launch_log *l)
{
    launch_log_close(l);
    run_free(r);
}

TEST(rows_say_what_the_program_did)
{
    static struct calls c;
    struct run r;
    struct launch_log l;
    size_t found[3] = {0};
    run_pauses(&r, &l, NULL);
    read_calls(&c, &r, &l);
    assert_int_equal(c.count, 1 + 5 * PAUSES + BURST);
    check_rows(&l, &c, found);
    assert_int_equal(rows_of(&l, &c, "first_launch"), 1);
    assert_int_equal(rows_of(&l, &c, "launch_after_thinking"), PAUSES);
    assert_int_equal(rows_of(&l, &c, "graph_after_thinking"), PAUSES);
    assert_int_equal(rows_of(&l, &c, "copy_after_thinking"), PAUSES);
    assert_int_equal(rows_of(&l, &c, "fill_after_thinking"), PAUSES);
    assert_true(rows_of(&l, &c, "launch_after_waiting") < PAUSES); /* bounds are checked above */
    assert_true(found[2] > 0);
    assert_int_equal(l.ledger.launches_captured, (int64_t)l.launch_count);
    assert_int_equal(l.ledger.captures_lost, 0);
    assert_true(l.ledger.cost_stacks > 0 && l.ledger.cost_callbacks >= l.ledger.cost_stacks);
    assert_int_equal(l.ledger.scopes_opened, 0);
    finish(&r, &l);
}

TEST(without_the_option)
{
    const char *const *const options[] = {LIST("--option", "idle_stacks=false"),
                                          LIST("--stacks=none"), LIST("-e", "Monitor")};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct run r;
        struct launch_log l;
        run_pauses(&r, &l, options[i]);
        assert_int_equal(l.launch_count, 0);
        assert_int_equal(l.ledger.launches_captured, CELL_NULL);
        assert_int_equal(l.ledger.captures_lost, CELL_NULL);
        finish(&r, &l);
    }
}

/* Every engine gets launches in another way. */
TEST(every_engine_captures)
{
    static const char *const engines[] = {"Sync", "PcSampling", "SassMetrics", "PmSampling",
                                          "Deep"};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        struct run r;
        struct launch_log l;
        run_pauses(&r, &l, LIST("-e", engines[i]));
        assert_string_equal(text_at(r.report, "session.engine"), engines[i]);
        assert_true(l.launch_count >= 4 * PAUSES);
        assert_int_equal(l.ledger.launches_captured, (int64_t)l.launch_count);
        assert_int_equal(l.ledger.captures_lost, 0);
        finish(&r, &l);
    }
}

/* The row with which the window at that time opened; NULL: no window is open then. */
static const struct window_row *window_of(const struct launch_log *l, int64_t time)
{
    const struct window_row *opened = NULL;
    for (size_t i = 0; i < l->window_count && l->windows[i].time <= time; i++)
        if (l->windows[i].capture == 1)
            opened = l->windows[i].phase == 0 ? &l->windows[i] : NULL;
    return opened;
}

/* Time outside of windows belongs to no launch: the first launch of each window has no own time. */
TEST(windows_begin_again)
{
    enum { WINDOWS = 5 };
    struct run r;
    struct launch_log l;
    size_t unknown = 0, known = 0;
    run_all(&r, &(struct run_setup){.binary = "fake/fake_windows",
                                    .options = LIST("--windows"),
                                    .program = LIST("5", "kept", "slow=3")});
    check_program(&r, 0);
    launch_log_open(&l, r.logs);
    for (size_t i = 0; i < l.launch_count; i++) {
        const struct launch_row *row = &l.launches[i];
        const struct window_row *w = window_of(&l, row->start);
        assert_non_null(w);
        unknown += row->own == CELL_NULL;
        known += row->own != CELL_NULL;
        assert_true(row->own == CELL_NULL || row->start - row->own >= w->time - SLACK_NS);
    }
    assert_int_equal(unknown, WINDOWS);
    assert_true(known >= WINDOWS); /* after pauses of a millisecond */
    finish(&r, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_say_what_the_program_did),
        cmocka_unit_test(without_the_option),
        cmocka_unit_test(every_engine_captures),
        cmocka_unit_test(windows_begin_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
