/* test_janitor.c - retention by age and by size frees the disk, with a clock of the test's own;
 * the entries in the audit log; and the columns of other workspaces stay. */
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "tests/unit/support/tmpdir.h"

#include "base/clock.h"
#include "base/file/file.h"
#include "server/watch/janitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOUR INT64_C(3600000000000)

static struct janitor janitor;

static int up(void **state)
{
    assert_int_equal(fixture_begin(state), 0);
    fix.config.commit_ns = 10000000;
    fix.config.idle_ns = 50000000; /* its columns are released soon */
    fixture_up(&fix, tmpdir);
    memset(&janitor, 0, sizeof janitor);
    janitor.ops = &store_duckdb;
    janitor.store = fix.store;
    janitor.meta = fix.meta;
    janitor.sessions = fix.intake.sessions;
    snprintf(janitor.holder, sizeof janitor.holder, "test");
    return 0;
}

static int down(void **state)
{
    fixture_down(&fix);
    return fixture_end(state);
}

static bool is_on_disk(const char *session)
{
    int64_t bytes;
    return !store_duckdb.size(fix.store, "w", session, &bytes, NULL);
}

/* Loads a session that ended at a time, with a size. */
static void load(const char *session, int64_t ended, int64_t bytes)
{
    struct ingest_answer a;
    struct err e = {0};
    size_t n;
    char *text = fixture_lines(session, 0, 3, true, &n);
    struct ingest_request r = fixture_request(session, "device", 0);
    fixture_send(&fix, &r, text, n, 0, &a);
    fixture_drain(&fix);
    free(text);
    if (meta_session_end(fix.meta, "w", session, "ended", ended, &e) ||
        meta_session_grow(
            fix.meta, "w", session,
            &(struct meta_growth){
                .records = 1, .kernels = 1, .bytes = bytes, .busy = 0.5, .received = ended},
            &e))
        fail_msg("%s", e.text);
    assert_true(is_on_disk(session));
}

static void keep(int64_t sessions, int64_t bytes, int64_t metrics)
{
    const struct meta_retention r = {.sessions = sessions, .bytes = bytes, .metrics = metrics};
    assert_int_equal(meta_retention_put(fix.meta, "w", &r, NULL), 0);
}

static bool is_there(const char *session)
{
    struct meta_session row;
    struct region mem;
    region_init(&mem, 1 << 20);
    int rc = meta_session_get(&(struct meta_ask){fix.meta, "w", &mem, NULL}, session, &row);
    region_fini(&mem);
    return rc == 0;
}

/* A session's file is removed when the loader has released it. */
static void expect_gone(const char *session, int64_t now)
{
    int64_t until = clock_mono() + PATIENCE_NS;
    assert_false(is_there(session));
    while (is_on_disk(session)) {
        if (clock_mono() > until)
            fail_msg("the columns of %s are still on the disk", session);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
        janitor_round(&janitor, now);
    }
}

static void expect_log(const char *const *targets, const char *why, size_t count)
{
    struct meta_audited *rows = NULL;
    struct meta_page page = {.limit = 100};
    struct region mem;
    size_t n = 0;
    region_init(&mem, 1 << 20);
    assert_int_equal(
        meta_audit_list(&(struct meta_ask){fix.meta, "w", &mem, NULL}, &page, &rows, &n), 0);
    assert_int_equal(n, count);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(rows[i].action, "session.expire");
        assert_string_equal(rows[i].kind, "server");
        assert_string_equal(rows[i].target, targets[i]);
        assert_non_null(strstr(rows[i].detail, why));
    }
    region_fini(&mem);
}

TEST(test_age)
{
    int64_t now = clock_real();
    load("old", now - 10 * HOUR, 100);
    load("young", now - 2 * HOUR, 100);
    janitor_round(&janitor, now); /* no limit is set: sessions stay for ever */
    assert_true(is_there("old"));
    keep(11 * HOUR, 0, 0);
    janitor_round(&janitor, now);
    assert_true(is_there("old"));
    janitor_round(&janitor, now + HOUR + 1);
    expect_gone("old", now + HOUR + 1);
    assert_true(is_there("young") && is_on_disk("young"));
    expect_log((const char *const[]){"old"}, "age", 1);
    janitor_round(&janitor, now + 9 * HOUR + 1);
    expect_gone("young", now + 9 * HOUR + 1);
}

TEST(test_size)
{
    int64_t now = clock_real();
    load("first", now - 3 * HOUR, 1000);
    load("second", now - 2 * HOUR, 1000);
    load("third", now - 1 * HOUR, 1000);
    keep(0, 3000, 0);
    janitor_round(&janitor, now);
    assert_true(is_there("first")); /* they fit */
    keep(0, 1500, 0);
    janitor_round(&janitor, now);
    expect_gone("first", now);
    expect_gone("second", now);
    assert_true(is_there("third") && is_on_disk("third"));
    expect_log((const char *const[]){"second", "first"}, "size", 2);
}

/* A session that is live is not too old, however long it runs. */
TEST(test_live_sessions_stay)
{
    struct ingest_answer a;
    size_t n;
    char *text = fixture_lines("live", 0, 3, true, &n);
    struct ingest_request r = fixture_request("live", "device", 0);
    fixture_send(&fix, &r, text, n, 0, &a);
    fixture_drain(&fix);
    free(text);
    keep(1, 1, 0);
    janitor_round(&janitor, clock_real() + 1000 * HOUR);
    assert_true(is_there("live") && is_on_disk("live"));
}

TEST(test_hosts)
{
    int64_t now = clock_real();
    struct meta_host_now *rows = NULL;
    struct meta_page page = {0};
    struct region mem;
    size_t n = 0;
    const struct meta_host hosts[] = {{.name = "gone", .seen = now - 5 * HOUR},
                                      {.name = "here", .seen = now - HOUR}};
    assert_int_equal(
        meta_fleet_put(fix.meta, "w",
                       &(struct meta_fleet_state){.hosts = hosts, .host_count = 2, .gpu_count = 0},
                       NULL),
        0);
    keep(0, 0, 3 * HOUR);
    janitor_round(&janitor, now);
    region_init(&mem, 1 << 20);
    assert_int_equal(
        meta_host_list(&(struct meta_ask){fix.meta, "w", &mem, NULL}, &page, &rows, &n), 0);
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].name, "here");
    region_fini(&mem);
}

/* Another server has the lease: that one drops sessions, and this one does not. */
TEST(test_one_of_several)
{
    int64_t now = clock_real();
    bool mine = false;
    load("old", now - 10 * HOUR, 100);
    keep(HOUR, 0, 0);
    assert_int_equal(
        meta_lease(fix.meta,
                   &(struct meta_lease){
                       .name = "janitor", .holder = "other", .now = now, .until = now + HOUR},
                   &mine, NULL),
        0);
    assert_true(mine);
    janitor_round(&janitor, now);
    assert_true(is_there("old"));
    janitor_round(&janitor, now + HOUR); /* the other one has gone */
    expect_gone("old", now + HOUR);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {CASE(test_age), CASE(test_size),
                                       CASE(test_live_sessions_stay), CASE(test_hosts),
                                       CASE(test_one_of_several)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
