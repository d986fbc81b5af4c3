/* test_burst.c - tests the analysis rests while a burst of sessions is loaded, for a limited
 * time. */
#include "server/analysis/analysis.h"
#include "server/analysis/burst.h"
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "tests/unit/support/tmpdir.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MANY = BURST_SESSIONS, PATIENCE_S = 60 };

static const int64_t AT = 5000000000000; /* ns; any time */

TEST(test_few_do_not_wait)
{
    struct burst b = {0};
    /* none of them ended: all were found at the start */
    assert_int_equal(burst_rest(&b, MANY, AT), 0);
    burst_note(&b, AT);
    assert_int_equal(burst_rest(&b, 0, AT), 0);
    assert_int_equal(burst_rest(&b, MANY - 1, AT), 0);
}

TEST(test_quiet_ends_it)
{
    struct burst b = {0};
    burst_note(&b, AT);
    assert_int_equal(burst_rest(&b, MANY, AT), AT + BURST_QUIET_NS);
    burst_note(&b, AT + BURST_QUIET_NS - 1);
    assert_int_equal(burst_rest(&b, MANY, AT + BURST_QUIET_NS), AT + 2 * BURST_QUIET_NS - 1);
    assert_int_equal(burst_rest(&b, MANY, AT + 2 * BURST_QUIET_NS - 1), 0);
}

/* Sessions that go on ending, with pauses as well, cost a report a minute and no more. */
TEST(test_a_minute_ends_it)
{
    struct burst b = {0};
    int64_t rested = 0;
    for (int64_t now = AT; now < AT + 3 * BURST_MOST_NS; now += BURST_QUIET_NS / 2) {
        bool pause = (now - AT) / BURST_QUIET_NS % 7 == 0;
        if (!pause)
            burst_note(&b, now);
        int64_t until = burst_rest(&b, MANY, now);
        assert_true(until <= AT + BURST_MOST_NS);
        rested += until ? BURST_QUIET_NS / 2 : 0;
    }
    assert_true(rested > BURST_MOST_NS / 2);
    assert_int_equal(burst_rest(&b, MANY - 1, AT + 3 * BURST_MOST_NS), 0); /* it caught up */
    burst_note(&b, AT + 3 * BURST_MOST_NS);
    assert_true(burst_rest(&b, MANY, AT + 3 * BURST_MOST_NS) > 0);
}

/* ---- the analysis ---------------------------------------------------------------------------- */

static int begin(void **state)
{
    int rc = fixture_begin(state);
    if (!rc)
        fixture_up(&fix, tmpdir);
    return rc;
}

static int end(void **state)
{
    fixture_down(&fix);
    return fixture_end(state);
}

static struct analysis_stats stats_of(struct analysis *a)
{
    struct analysis_stats s;
    analysis_stats(a, &s);
    return s;
}

/* Ends a session that does not exist, so that its analysis costs little. */
static void end_one(struct analysis *a, const char *workspace, int number)
{
    char id[32];
    snprintf(id, sizeof id, "ended-%d", number);
    analysis_news(a, &(struct loader_news){.workspace = workspace, .session = id, .ended = true});
}

static void check(bool prompt)
{
    struct err e = {0};
    struct analysis *a;
    const struct analysis_config c = {
        .ops = &store_duckdb, .store = fix.store, .meta = fix.meta, .prompt = prompt};
    const time_t over = time(NULL) + PATIENCE_S;
    int number = 0;
    if (analysis_open(&a, &c, &e))
        fail_msg("%s", e.text);
    struct analysis_stats st = stats_of(a);
    for (; !st.resting && number < (prompt ? 10 * MANY : INT32_MAX) && time(NULL) < over;
         st = stats_of(a))
        end_one(a, "w", number++);
    assert_int_equal(st.resting, !prompt); /* at that moment: the rest may be over now */
    if (!prompt)
        assert_true(st.waiting >= MANY);
    assert_true(analysis_wait(a, PATIENCE_NS));
    assert_false(stats_of(a).resting);
    analysis_close(a);
}

TEST(test_rests_and_makes_up_for_it)
{
    check(false);
}

/* A session that is to have a report while the analysis of others rests. */
struct in_rest {
    struct analysis *a;
    const char *session;
    bool final;       /* the session has ended */
    atomic_bool made; /* such a report was made in a rest */
};

/* [the analysis's thread] */
static void note_report(void *arg, const char *workspace, const char *session, bool final)
{
    struct in_rest *r = arg;
    (void)workspace;
    if (final == r->final && strcmp(session, r->session) == 0 && stats_of(r->a).resting)
        atomic_store(&r->made, true);
}

/* Ends sessions of the workspace `burst` until the session has its report in a rest. */
static void check_in_rest(struct in_rest *r, const char *burst)
{
    struct err e = {0};
    int64_t offset = 0;
    const struct loader_news news = {
        .workspace = "w", .session = r->session, .rows = !r->final, .ended = r->final};
    const struct analysis_config c = {.ops = &store_duckdb,
                                      .store = fix.store,
                                      .meta = fix.meta,
                                      .first_ns = 1,
                                      .every_ns = 1000000,
                                      .made = note_report,
                                      .arg = r};
    const time_t over = time(NULL) + PATIENCE_S;
    fixture_send_rows(r->session, 0, 5, &offset);
    fixture_drain(&fix);
    if (analysis_open(&r->a, &c, &e))
        fail_msg("%s", e.text);
    for (int number = 0; !atomic_load(&r->made) && time(NULL) < over; number++) {
        end_one(r->a, burst, number % (4 * MANY));
        if (stats_of(r->a).resting)
            analysis_news(r->a, &news);
        sched_yield();
    }
    assert_true(atomic_load(&r->made));
    assert_true(analysis_wait(r->a, PATIENCE_NS));
    analysis_close(r->a);
}

/* Reports of running sessions are made while the analysis of others rests. */
TEST(test_running_ones_do_not_rest)
{
    struct in_rest live = {.session = "live"};
    check_in_rest(&live, "w");
}

/* A session of a workspace in which few have ended has its report while those of another one
 * rest. */
TEST(test_few_of_another_workspace_do_not_rest)
{
    struct in_rest alone = {.session = "alone", .final = true};
    check_in_rest(&alone, "another");
}

static void news_of(struct analysis *a, const char *session, bool ended)
{
    analysis_news(
        a, &(struct loader_news){.workspace = "w", .session = session, .rows = 1, .ended = ended});
}

/* A session waits once, however often it is reported, until its report was made. */
TEST(test_waiting_are_counted)
{
    struct err e = {0};
    struct analysis *a;
    const struct analysis_config c = {.ops = &store_duckdb,
                                      .store = fix.store,
                                      .meta = fix.meta,
                                      .first_ns = INT64_C(3600000000000)};
    if (analysis_open(&a, &c, &e))
        fail_msg("%s", e.text);
    assert_int_equal(stats_of(a).waiting, 0);
    for (int i = 0; i < 4; i++)
        news_of(a, i % 2 ? "one" : "two", false);
    assert_int_equal(stats_of(a).waiting, 2);
    news_of(a, "one", true);
    news_of(a, "two", true);
    assert_true(analysis_wait(a, PATIENCE_NS));
    assert_int_equal(stats_of(a).waiting, 0);
    news_of(a, "three", false);
    assert_int_equal(stats_of(a).waiting, 1);
    analysis_close(a);
}

TEST(test_prompt_does_not_rest)
{
    check(true);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_few_do_not_wait),  cmocka_unit_test(test_quiet_ends_it),
        cmocka_unit_test(test_a_minute_ends_it), CASE(test_rests_and_makes_up_for_it),
        CASE(test_running_ones_do_not_rest),     CASE(test_few_of_another_workspace_do_not_rest),
        CASE(test_waiting_are_counted),          CASE(test_prompt_does_not_rest)};
    return cmocka_run_group_tests(cases, NULL, NULL);
}
