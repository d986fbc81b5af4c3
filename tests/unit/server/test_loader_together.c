/* test_loader_together.c - sessions that end at one time are written together, and a deleted
 * session among them does not prevent the others. */
#include "meta/together.h"
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "tests/unit/support/tmpdir.h"
#include "wire/encode.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOGETHER = 12, DELETED = 5 };

#define RUN    "r-1" /* the label that a session's header gives it */
#define WITHIN INT64_C(60000000000)

/* ---- transactions of the small tables -------------------------------------------------------- */

/* Holds what became of entries of sessions. */
static struct {
    atomic_uint together; /* written with others, in a transaction that succeeded */
    atomic_uint undone;   /* transactions of several that failed by themselves */
    atomic_bool again;    /* each transaction of several is undone once, and run again */
} counted;

int __real_meta_together(struct meta *m, int (*fn)(void *arg, struct err *e), void *arg,
                         struct err *e);
int __wrap_meta_together(struct meta *m, int (*fn)(void *arg, struct err *e), void *arg,
                         struct err *e);
int __real_meta_session_put(struct meta *m, const char *workspace, const struct meta_session *s,
                            const struct meta_pairs *gpus, const struct meta_pairs *labels,
                            struct err *e);
int __wrap_meta_session_put(struct meta *m, const char *workspace, const struct meta_session *s,
                            const struct meta_pairs *gpus, const struct meta_pairs *labels,
                            struct err *e);

struct several {
    int (*fn)(void *arg, struct err *e);
    void *arg;
    bool undo;
    unsigned entries;
};

static _Thread_local struct several *inside;

static int run_several(void *arg, struct err *e)
{
    struct several *s = arg;
    s->entries = 0;
    inside = s;
    int rc = s->fn(s->arg, e);
    inside = NULL;
    return rc || !s->undo ? rc : err_set(e, GPUFL_E_IO, "the test undoes it");
}

int __wrap_meta_together(struct meta *m, int (*fn)(void *arg, struct err *e), void *arg,
                         struct err *e)
{
    struct several s = {fn, arg, atomic_load(&counted.again), 0};
    if (s.undo)
        __real_meta_together(m, run_several, &s, NULL);
    s.undo = false;
    int rc = __real_meta_together(m, run_several, &s, e);
    if (s.entries)
        atomic_fetch_add(rc ? &counted.undone : &counted.together, rc ? 1 : s.entries);
    return rc;
}

int __wrap_meta_session_put(struct meta *m, const char *workspace, const struct meta_session *s,
                            const struct meta_pairs *gpus, const struct meta_pairs *labels,
                            struct err *e)
{
    if (inside)
        inside->entries++;
    return __real_meta_session_put(m, workspace, s, gpus, labels, e);
}

/* ---- a loader that waits --------------------------------------------------------------------- */

/* The loader's thread waits in the report of session "gate" until all others have been sent. */
static sem_t reached, opened;

static bool await(sem_t *s)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_NS / 1000000000;
    return sem_timedwait(s, &until) == 0;
}

static void wait_at_gate(void *arg, const struct loader_news *n)
{
    (void)arg;
    if (strcmp(n->session, "gate") != 0 || n->ended)
        return;
    sem_post(&reached);
    await(&opened);
}

static void name_of(int i, char out[8])
{
    snprintf(out, 8, "t%02d", i);
}

static void complete(const char *session)
{
    struct ingest_answer a;
    ingest_complete(fix.intake.ingest, "w", session, &a);
    assert_int_equal(a.status, 200);
}

static void close_gate(void)
{
    int64_t offset = 0;
    fixture_send_rows("gate", 0, 1, &offset);
    complete("gate");
    assert_true(await(&reached));
}

static void open_gate(void)
{
    sem_post(&opened);
}

static int begin(void **state)
{
    int rc = fixture_begin(state);
    atomic_store(&counted.together, 0);
    atomic_store(&counted.undone, 0);
    atomic_store(&counted.again, false);
    sem_init(&reached, 0, 0);
    sem_init(&opened, 0, 0);
    fix.config.threads = 1;
    fix.config.commit_ns = WITHIN; /* no commit before the session ends */
    fix.config.news = wait_at_gate;
    return rc;
}

/* Sends a header and 10 rows as a part of the session. */
static void send_part(const char *session, const char *channel, const char *system, int64_t first)
{
    struct ingest_answer a;
    struct buf b;
    size_t n;
    const struct wire_header h = {.session = session,
                                  .channel = channel,
                                  .part = 1,
                                  .app = "app",
                                  .pid = 77,
                                  .host = "host",
                                  .run = RUN,
                                  .command = "",
                                  .engine = "Trace",
                                  .backend = "sim",
                                  .version = "1",
                                  .system = system,
                                  .start = 1000,
                                  .clock_monotonic = 1000,
                                  .clock_real = 1770000000000000000};
    char *rows = fixture_lines(session, first, 1, false, &n);
    buf_init(&b, 1 << 20);
    encode_header(&b, &h);
    buf_put(&b, rows, n);
    struct ingest_request r = fixture_request(session, channel, 0);
    fixture_send(&fix, &r, b.data, b.len, 0, &a);
    assert_int_equal(a.status, 200);
    buf_fini(&b);
    free(rows);
}

static void send_all(const char *channel, const char *system, int64_t first)
{
    char session[8];
    for (int i = 0; i < TOGETHER; i++) {
        name_of(i, session);
        send_part(session, channel, system, first);
    }
}

/* All end at one time. */
static void complete_all(void)
{
    char session[8];
    for (int i = 0; i < TOGETHER; i++) {
        name_of(i, session);
        complete(session);
    }
}

/* Waits until all sessions except number `but` have ended, and checks their kernels and labels. */
static void check_ended(int but, int64_t kernels, const char *labels)
{
    char session[8];
    for (int i = 0; i < TOGETHER; i++) {
        struct region mem;
        name_of(i, session);
        if (i == but)
            continue;
        assert_true(fixture_reaches(session, "ended"));
        struct meta_session row = fixture_entry(session, &mem);
        assert_int_equal(row.kernels, kernels);
        assert_string_equal(row.labels, labels);
        region_fini(&mem);
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Sessions that end at one time get their entries in one transaction. */
TEST(test_entries_together)
{
    fixture_up(&fix, tmpdir);
    close_gate();
    send_all("device", "", 0);
    complete_all();
    open_gate();
    check_ended(-1, 10, "{\"run\":\"" RUN "\"}");
    assert_true(atomic_load(&counted.together) > 1);
    assert_int_equal(atomic_load(&counted.undone), 0);
    fixture_down(&fix);
}

/* If the transaction is run again because another one won, the last run writes all of it. */
TEST(test_entries_run_again)
{
    atomic_store(&counted.again, true);
    fixture_up(&fix, tmpdir);
    close_gate();
    send_all("device", "", 0);
    complete_all();
    open_gate();
    check_ended(-1, 10, "{\"run\":\"" RUN "\"}");
    assert_true(atomic_load(&counted.together) > 1);
    fixture_down(&fix);
}

/* A label that somebody removed while the session ran does not come back with its end. */
static void end_without_label(bool again)
{
    char session[8];
    struct err e = {0};
    fixture_up(&fix, tmpdir);
    send_all("device", "", 0);
    fixture_drain(&fix);
    for (int i = 0; i < TOGETHER; i++) {
        name_of(i, session);
        if (meta_session_label(fix.meta, "w", session, "run", NULL, &e))
            fail_msg("%s", e.text);
    }
    atomic_store(&counted.together, 0);
    atomic_store(&counted.again, again);
    close_gate();
    send_all("system", "Linux", 10); /* the system is new */
    complete_all();
    open_gate();
    check_ended(-1, 20, "{}");
    assert_true(atomic_load(&counted.together) > 1);
    fixture_down(&fix);
}

TEST(test_label_stays_away)
{
    end_without_label(false);
}

TEST(test_label_stays_away_when_run_again)
{
    end_without_label(true);
}

/* ---- deleted sessions ------------------------------------------------------------------------ */

/* Deletes a session from the small tables, in which it may have no entry yet. */
static void delete_entry(const char *session)
{
    struct err e = {0};
    const struct meta_session s = {.id = session,
                                   .app = "",
                                   .host = "",
                                   .account = "",
                                   .engine = "",
                                   .format = "gpufl",
                                   .client = ""};
    if (__real_meta_session_put(fix.meta, "w", &s, &(struct meta_pairs){NULL, 0}, NULL, &e) ||
        meta_session_drop(fix.meta, "w", session, 1, &e))
        fail_msg("%s", e.text);
}

/* Another server deleted a session: the transaction of several fails, and the others get their
 * entries. */
TEST(test_deleted_elsewhere)
{
    char session[8];
    fixture_up(&fix, tmpdir);
    close_gate();
    send_all("device", "", 0);
    name_of(DELETED, session);
    delete_entry(session);
    complete_all();
    open_gate();
    check_ended(DELETED, 10, "{\"run\":\"" RUN "\"}");
    fixture_down(&fix);
}

/* This server deleted a session: the others are written together without it, and no attempt at it
 * is counted as a failure. */
TEST(test_deleted_here)
{
    char session[8];
    struct loader_stats st;
    struct err e = {0};
    fixture_up(&fix, tmpdir);
    send_all("device", "", 0);
    do
        loader_stats(fix.intake.loader, &st);
    while (st.waiting); /* else its rows are refused when they are read */
    close_gate();
    complete_all();
    name_of(DELETED, session);
    delete_entry(session);
    if (sessions_drop(fix.intake.sessions, "w", session, &e))
        fail_msg("%s", e.text);
    open_gate();
    check_ended(DELETED, 10, "{\"run\":\"" RUN "\"}");
    fixture_drain(&fix);
    loader_stats(fix.intake.loader, &st);
    assert_true(atomic_load(&counted.together) > 1);
    assert_int_equal(atomic_load(&counted.undone), 0);
    assert_int_equal(st.retries, 0);
    fixture_down(&fix);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static atomic_uint ends_reported;

/* Deletes one session from the small tables between its rows and its end. [the loader's thread] */
static void drop_one(void *arg, const struct loader_news *n)
{
    (void)arg;
    struct err e = {0};
    atomic_fetch_add(&ends_reported, n->ended);
    if (!n->ended && n->rows && strcmp(n->session, "t05") == 0 &&
        meta_session_drop(fix.meta, "w", "t05", 1, &e))
        fprintf(stderr, "%s\n", e.text);
}

/* Ends are written together as well; a session that was deleted meanwhile does not keep another one
 * live. */
TEST(test_ends_together)
{
    bool dropped = false;
    atomic_store(&ends_reported, 0);
    fix.config.news = drop_one;
    fixture_up(&fix, tmpdir);
    send_all("device", "", 0);
    complete_all();
    fixture_drain(&fix);
    check_ended(DELETED, 10, "{\"run\":\"" RUN "\"}");
    assert_int_equal(meta_session_is_dropped(fix.meta, "w", "t05", &dropped, NULL), 0);
    assert_true(dropped);
    assert_int_equal(atomic_load(&ends_reported), TOGETHER);
    fixture_down(&fix);
}

/* ---- stores that write many faster than one -------------------------------------------------- */

static struct {
    atomic_uint calls, sessions;
} stored;

static void commit_all(struct store_commit *of, size_t n)
{
    atomic_fetch_add(&stored.calls, 1);
    atomic_fetch_add(&stored.sessions, (unsigned)n);
    for (size_t i = 0; i < n; i++)
        of[i].rc = store_duckdb.commit(of[i].session, of[i].positions, of[i].count, &of[i].err);
}

static void up_with_commit_all(int64_t gather_ns)
{
    static struct store_ops ops;
    ops = store_duckdb;
    ops.commit_all = commit_all;
    fix.config.ops = &ops;
    fix.config.gather_ns = gather_ns;
    fix.config.open_most = TOGETHER;
    fix.config.news = NULL;
    atomic_store(&stored.calls, 0);
    atomic_store(&stored.sessions, 0);
    fixture_up(&fix, tmpdir);
}

/* Sessions that end one by one wait for the others, until as many have ended as may be open. */
TEST(test_ended_ones_gather)
{
    up_with_commit_all(WITHIN);
    send_all("device", "", 0);
    complete_all();
    check_ended(-1, 10, "{\"run\":\"" RUN "\"}");
    assert_int_equal(atomic_load(&stored.calls), 1);
    assert_int_equal(atomic_load(&stored.sessions), TOGETHER);
    fixture_down(&fix);
}

/* A session that stays alone does not wait for ever. */
TEST(test_one_that_stays_alone)
{
    up_with_commit_all(1);
    send_part("alone", "device", "", 0);
    complete("alone");
    assert_true(fixture_reaches("alone", "ended"));
    assert_int_equal(atomic_load(&stored.sessions), 1);
    fixture_down(&fix);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, fixture_end)
    const struct CMUnitTest tests[] = {
        T(test_entries_together),     T(test_entries_run_again),
        T(test_label_stays_away),     T(test_label_stays_away_when_run_again),
        T(test_deleted_elsewhere),    T(test_deleted_here),
        T(test_ends_together),        T(test_ended_ones_gather),
        T(test_one_that_stays_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
