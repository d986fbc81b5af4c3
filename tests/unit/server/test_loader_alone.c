/* test_loader_alone.c - tests that one session holds no other one up, and that no frame is lost if
 * the loader has no memory to keep it. */
#include "base/alloc.h"
#include "base/clock.h"
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LONG_NS 200000000

enum { BATCHES = 6, MOST = 2000, STEP = 3 };

static struct store_ops ops;
static _Atomic(struct store_session *) sick; /* the store's session "sick" */
static _Atomic int why;  /* enum gpufl_error: why its writes fail; 0: they do not */
static _Atomic bool all; /* writes of all sessions fail */

static int get(struct store *s, const char *workspace, const char *session, bool create,
               struct store_session **out, struct err *e)
{
    int rc = store_duckdb.get(s, workspace, session, create, out, e);
    if (rc == 0 && strcmp(session, "sick") == 0)
        atomic_store(&sick, *out);
    return rc;
}

static int begin(struct store_session *ss, struct err *e)
{
    bool fails = why && (all || ss == atomic_load(&sick));
    return fails ? err_set(e, why, "nobody is there") : store_duckdb.begin(ss, e);
}

/* Opens all, with writes that fail for this reason. */
static void up(int reason, bool of_all)
{
    ops = store_duckdb;
    ops.get = get;
    ops.begin = begin;
    fix.config.ops = &ops;
    fix.config.retry_ns = 2000000;
    why = reason;
    all = of_all;
    fixture_up(&fix, tmpdir);
}

static bool is_failing(const struct loader_stats *st)
{
    return st->failing_sessions > 0;
}

static bool waits_for_long(const struct loader_stats *st)
{
    return st->backlog_age > LONG_NS && st->backlog_sessions == 1;
}

static bool is_stuck_for_long(const struct loader_stats *st)
{
    return st->stuck_age > LONG_NS;
}

static bool has_loaded_ten(const struct loader_stats *st)
{
    return st->kernels >= 10;
}

static bool has_loaded_twenty(const struct loader_stats *st)
{
    return st->kernels >= 20;
}

static bool has_no_backlog(const struct loader_stats *st)
{
    return !st->backlog_sessions && !st->failing_sessions;
}

/* A session whose disk fails, or that fails while another one is committed: its data waits and is
 * counted, but the server is not stuck. */
TEST(test_one_session_fails)
{
    static const int reasons[] = {GPUFL_E_IO, GPUFL_E_UNAVAILABLE, GPUFL_E_NOMEM};
    int64_t offset = 0;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        int64_t other = 0;
        char well[16];
        snprintf(well, sizeof well, "well-%zu", i);
        up(reasons[i], false);
        fixture_send_rows(well, 0, 1, &other);
        fixture_drain(&fix);
        fixture_send_rows("sick", 10 * (int64_t)i, 1, &offset);
        fixture_wait_for(is_failing);
        fixture_send_rows(well, 10, 1, &other); /* also while memory is short: it is not new */
        fixture_wait_for(has_loaded_twenty);
        struct loader_stats st = fixture_wait_for(waits_for_long);
        assert_int_equal(st.stuck_age, 0);
        why = 0;
        fixture_wait_for(has_no_backlog);
        fixture_down(&fix);
    }
    up(0, false);
    fixture_check_kernels("sick", 30);
    fixture_down(&fix);
}

/* The store is not reached: no session can be loaded. */
TEST(test_all_sessions_fail)
{
    int64_t offset = 0;
    up(GPUFL_E_UNAVAILABLE, true);
    fixture_send_rows("any", 0, 1, &offset);
    fixture_wait_for(is_stuck_for_long);
    why = 0;
    fixture_wait_for(has_loaded_ten);
    struct loader_stats st;
    fixture_drain(&fix);
    loader_stats(fix.intake.loader, &st);
    assert_int_equal(st.stuck_age, 0);
    fixture_down(&fix);
}

/* A running session is not new, also if all that it sent is loaded. */
TEST(test_a_running_session)
{
    struct ingest_backlog b;
    int64_t offset = 0;
    up(0, false);
    fixture_send_rows("live", 0, 1, &offset);
    fixture_drain(&fix);
    loader_backlog(fix.intake.loader, "w", "live", &b);
    assert_true(b.waits);
    assert_int_equal(b.own_sessions, 0);
    loader_backlog(fix.intake.loader, "w", "another", &b);
    assert_false(b.waits);
    fixture_down(&fix);
}

/* ---- without memory -------------------------------------------------------------------------- */

/* The bodies of a session, and how many of them the server has accepted. */
struct sender {
    char session[32];
    char *texts[BATCHES];
    size_t lens[BATCHES];
    int64_t offset;
    int accepted;
};

static void sender_init(struct sender *s, int number)
{
    *s = (struct sender){0};
    snprintf(s->session, sizeof s->session, "s-%d", number);
    for (int i = 0; i < BATCHES; i++)
        s->texts[i] = fixture_lines(s->session, 10 * i, 1, i == 0, &s->lens[i]);
}

static void sender_fini(struct sender *s)
{
    for (int i = 0; i < BATCHES; i++)
        free(s->texts[i]);
}

/* Sends what is not accepted yet, each body twice if the first attempt is refused, as senders do.
 * If the journal has failed, the rest is left: then only a start helps. */
static void sender_send(struct sender *s)
{
    for (int tries = 0; s->accepted < BATCHES && tries < 2;) {
        struct ingest_request r = fixture_request(s->session, "device", s->offset);
        struct ingest_answer a;
        fixture_send(&fix, &r, s->texts[s->accepted], s->lens[s->accepted], 0, &a);
        tries = a.status == 200 ? 0 : tries + 1;
        s->offset += a.status == 200 ? (int64_t)s->lens[s->accepted] : 0;
        s->accepted += a.status == 200;
    }
}

/* An allocation fails while bodies come: what was acknowledged is there after the next start, once,
 * and the rest is accepted then. A run lets each third allocation fail; the process id says
 * which. */
TEST(test_no_memory)
{
    int whole = 0, runs = 0;
    int64_t n = getpid() % STEP;
    for (int64_t made = n + 1; n < made && n < MOST; n += STEP) {
        struct sender s;
        up(0, false);
        sender_init(&s, (int)n);
        mem_fail_at(n);
        sender_send(&s);
        (void)loader_drain(fix.intake.loader, PATIENCE_NS);
        made = mem_count();
        mem_fail_at(-1);
        whole += s.accepted == BATCHES;
        runs++;
        fixture_down(&fix);
        up(0, false);
        sender_send(&s);
        fixture_check_kernels(s.session, 10 * BATCHES);
        fixture_down(&fix);
        sender_fini(&s);
    }
    assert_in_range(n, BATCHES, MOST - 1);
    assert_true(whole > runs / 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        T(test_one_session_fails),
        T(test_all_sessions_fail),
        T(test_a_running_session),
        T(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
