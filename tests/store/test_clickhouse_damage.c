/* test_clickhouse_damage.c - tests failures of a store in ClickHouse: killed writers, a killed
 * server, lost answers, uncounted rows, tables of other versions, limits, wrong addresses. Skipped,
 * with a message, if clickhouse-server is not installed. */
#include "clickhouse_server.h"
#include "clickhouse_store.h"
#include "clickhouse_turns.h"
#include "cut_proxy.h"
#include "damage.h"
#include "store/clickhouse/engine.h"
#include "store/store.h"

#include "base/process/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct store_ops *ops = &store_clickhouse;
static char url[256];

/* ---- a killed writer ------------------------------------------------------------------------- */

TEST(test_killed_writer)
{
    const struct store_config config = {.url = url};
    damage_killed_writer(ops, &config, 8, 0);
}

/* ---- a killed server ------------------------------------------------------------------------- */

enum { STEP = 30000 };

struct killer {
    struct thread thread;
    _Atomic bool stop;
    _Atomic bool dead; /* the server must be started again, by a thread that outlives it */
    _Atomic int64_t commits;
    int kills;
};

/* Kills the server after every few commits, whatever it does then. */
static void *kill_on(void *arg)
{
    struct killer *k = arg;
    int64_t next = 3;
    while (!k->stop) {
        if (k->dead || k->commits < next) {
            sched_yield();
            continue;
        }
        clickhouse_stop(0, SIGKILL);
        k->kills++;
        next = k->commits + 3;
        k->dead = true;
    }
    return NULL;
}

/* Behaves like the loader: after a failure it asks for the session's positions, and goes on
 * there. */
TEST(test_killed_server)
{
    enum { COMMITS = 60 };
    struct killer k = {.stop = false};
    struct store *s = clickhouse_store_open(url);
    struct store_session *ss = clickhouse_session(s, "server-killed");
    struct store_position at[STORE_POSITIONS_MAX];
    int64_t done = 0;
    int failures = 0;
    assert_int_equal(thread_start(&k.thread, "killer", 0, kill_on, &k), 0);
    while (done < COMMITS * (int64_t)STEP) {
        struct err why = {0};
        unsigned n = STORE_POSITIONS_MAX;
        if (!clickhouse_write(ss, STEP, done + STEP, &why)) {
            done += STEP;
            k.commits++;
            continue;
        }
        failures++;
        assert_null(strstr(why.text, clickhouse_password()));
        while (ops->positions(ss, at, &n, NULL)) {
            n = STORE_POSITIONS_MAX;
            if (k.dead)
                clickhouse_start(0);
            k.dead = false;
        }
        int64_t there = n ? at[0].offset : 0;
        assert_true(there == done || there == done + STEP);
        done = there;
    }
    k.stop = true;
    thread_join(&k.thread);
    if (k.dead)
        clickhouse_start(0);
    print_message("%d kills, %d transactions failed\n", k.kills, failures);
    assert_true(k.kills > 3);
    assert_int_equal(clickhouse_position(ss), done);
    assert_int_equal(clickhouse_kernels(ss), done);
    ops->put(ss);
    ops->close(s);
}

/* ---- answers that are lost ------------------------------------------------------------------- */

/* The connection breaks after each request in turn: the server has the request, the answer is lost.
 * The rows are there once, and a failed step can be repeated. */
TEST(test_lost_answers)
{
    char through[256];
    struct store_position at[STORE_POSITIONS_MAX];
    int64_t done = 0;
    int failures = 0, commits = 0;
    const char *port = strrchr(url, ':');
    int proxy = cut_proxy_open(atoi(port + 1)); /* NOLINT: of our own making */
    snprintf(through, sizeof through, "%.*s:%d%s", (int)(port - url), url, proxy,
             strchr(port, '/'));
    struct store *s = clickhouse_store_open(through);
    struct store_session *ss = clickhouse_session(s, "lost");
    OK(clickhouse_write(ss, STEP, done += STEP, e)); /* makes the tables */
    for (int after = 0; after < 12; after++)
        for (int twice = 1; twice < 3; twice++) {
            struct err why = {0};
            unsigned n = STORE_POSITIONS_MAX;
            cut_proxy_cut(after, twice);
            int rc = clickhouse_write(ss, STEP, done + STEP, &why);
            cut_proxy_cut(-1, 0);
            if (rc) {
                failures++;
                int code_again = ops->begin(ss, &why); /* only after positions were asked for … */
                if (!code_again)
                    ops->rollback(ss); /* … if there is any doubt */
                OK(ops->positions(ss, at, &n, e));
                assert_true(at[0].offset == done || at[0].offset == done + STEP);
                done = at[0].offset;
            } else {
                commits++;
                done += STEP;
            }
            assert_int_equal(clickhouse_kernels(ss), done);
        }
    print_message("%d transactions failed, %d did not\n", failures, commits);
    assert_true(failures > 4);
    assert_true(commits > 4);
    ops->put(ss);
    ops->close(s);
    cut_proxy_close();
}

/* ---- rows that are not counted --------------------------------------------------------------- */

TEST(test_left_rows_are_taken_out)
{
    static const char raw[] = "SELECT count() FROM damage_w.kernel WHERE session IN (SELECT "
                              "session FROM damage_w.commits "
                              "WHERE name = 'left')";
    static const char ranges[] = "SELECT length(argMax(ranges, commit)) - "
                                 "length(replaceAll(argMax(ranges, commit), '\\n', '')) "
                                 "FROM damage_w.commits WHERE name = 'left'";
    enum { MANY = 800000 };
    struct store *s = clickhouse_store_open(url);
    struct store_session *ss = clickhouse_session(s, "left");
    OK(clickhouse_write(ss, 1000, 1, e));
    OK(ops->begin(ss, e));
    OK(damage_append(ops, ss, MANY, 0, e)); /* more than is kept before it is sent */
    ops->rollback(ss);
    OK(clickhouse_write(ss, 1000, 2, e));
    assert_int_equal(clickhouse_kernels(ss), 2000);
    assert_true(clickhouse_number(raw) > 100000);
    assert_int_equal(clickhouse_number(ranges), 2);
    OK(ops->settle(ss, e));
    assert_int_equal(clickhouse_kernels(ss), 2000);
    clickhouse_until(raw, 2000);
    for (int i = 0; i < 6000 && clickhouse_number(ranges) != 1; i++) {
        OK(ops->settle(ss, e)); /* finds at last that no such rows are left in any table */
        usleep(10000);          /* between two queries; the right answer ends the wait */
    }
    assert_int_equal(clickhouse_number(ranges), 1);
    OK(clickhouse_write(ss, 1000, 3, e)); /* the session goes on */
    assert_int_equal(clickhouse_kernels(ss), 3000);
    assert_int_equal(clickhouse_position(ss), 3);
    ops->put(ss);
    ops->close(s);
}

/* ---- damaged rows ---------------------------------------------------------------------------- */

/* Overwrites bytes of a part's rows. Today's ClickHouse writes a small part with all columns in one
 * file. */
static void harm(const char *part)
{
    static const char *const files[] = {"start.bin", "data.bin"};
    FILE *f = NULL;
    for (size_t i = 0; !f && i < sizeof files / sizeof *files; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", part, files[i]);
        f = fopen(path, "r+b");
    }
    assert_non_null(f);
    assert_int_equal(fseek(f, 30, SEEK_SET), 0);
    fputs("????", f);
    fclose(f);
}

/* Rows that cannot be read are set aside, and replaced when they are sent again; other sessions go
 * on. */
TEST(test_set_aside)
{
    static const char last[] = "SELECT argMax(kind, commit) FROM damage_apart.commits WHERE name = "
                               "'sick.damaged'";
    struct store *s = clickhouse_store_open(url);
    struct store_session *ss, *well;
    clickhouse_sql(0, "SYSTEM STOP MERGES"); /* the rows of each session stay in their part */
    OK(ops->get(s, "apart", "sick", true, &ss, e));
    OK(clickhouse_write(ss, 1000, 1, e));
    char path[512];
    snprintf(path, sizeof path, "%s",
             clickhouse_sql(0, "SELECT path FROM system.parts WHERE active "
                               "AND database = 'damage_apart' AND table = 'kernel'"));
    OK(ops->get(s, "apart", "well", true, &well, e));
    OK(clickhouse_write(well, 10, 1, e));
    harm(path);
    struct wire_visitor none = {0};
    assert_int_equal(ops->scan(ss, RECORD_kernel, INT64_MIN, INT64_MAX, &none, NULL),
                     GPUFL_E_CORRUPT);
    assert_int_equal(ops->set_aside(s, "apart", "sick", NULL), GPUFL_E_BUSY);
    ops->put(ss);
    OK(ops->set_aside(s, "apart", "sick", e));
    OK(ops->get(s, "apart", "sick", false, &ss, e));
    assert_int_equal(clickhouse_kernels(ss), 0);
    assert_int_equal(clickhouse_position(ss), 0);
    OK(clickhouse_write(ss, 3, 1, e));
    assert_int_equal(clickhouse_kernels(ss), 3);
    assert_int_equal(clickhouse_kernels(well), 10);
    assert_int_equal(clickhouse_number(last), 3);
    ops->put(ss);
    OK(ops->drop(s, "apart", "sick", e));
    assert_int_equal(clickhouse_number(last), 2);
    ops->put(well);
    ops->close(s);
    clickhouse_sql(0, "SYSTEM START MERGES");
}

/* ---- two servers of ours --------------------------------------------------------------------- */

TEST(test_another_server_writes)
{
    struct store *one = clickhouse_store_open(url), *two = clickhouse_store_open(url);
    struct store_session *a = clickhouse_session(one, "shared"),
                         *b = clickhouse_session(two, "shared");
    struct err why = {0};
    OK(clickhouse_write(a, 100, 100, e));
    assert_int_equal(clickhouse_position(b), 100);
    OK(clickhouse_write(b, 100, 200, e));
    assert_int_equal(clickhouse_write(a, 100, 200, &why),
                     GPUFL_E_BUSY); /* it did not know of the other's rows */
    assert_int_equal(clickhouse_position(a), 200);
    OK(clickhouse_write(a, 100, 300, e));
    assert_int_equal(clickhouse_kernels(a), 300);
    assert_int_equal(clickhouse_kernels(b), 300);
    ops->put(a);
    ops->put(b);
    ops->close(one);
    ops->close(two);
}

/* Transactions of two servers that overlap: one waits, and neither's rows are lost. */
TEST(test_servers_take_turns)
{
    struct turns_table table = {0};
    struct turns_seat seats[2];
    struct store *one = turns_store(&seats[0], &table, url, 1),
                 *two = turns_store(&seats[1], &table, url, 2);
    struct store_session *a = clickhouse_session(one, "turns"),
                         *b = clickhouse_session(two, "turns");
    struct err why = {0};
    for (int64_t done = 0; done < 600; done += 200) {
        assert_int_equal(clickhouse_position(a), done);
        assert_int_equal(clickhouse_position(b), done);
        OK(ops->begin(a, e));
        assert_int_equal(ops->begin(b, &why), GPUFL_E_BUSY);
        OK(ops->settle(b, e)); /* leaves it to the server that writes */
        OK(damage_append(ops, a, 100, done + 100, e));
        const struct store_position at = {"device", done + 100};
        OK(ops->commit(a, &at, 1, e));
        assert_int_equal(ops->begin(b, &why), GPUFL_E_BUSY); /* the session has got further */
        assert_int_equal(clickhouse_position(b), done + 100);
        OK(clickhouse_write(b, 100, done + 200, e));
    }
    assert_int_equal(clickhouse_kernels(a), 600);
    assert_int_equal(clickhouse_kernels(b), 600);
    OK(ops->settle(a, e));
    assert_int_equal(clickhouse_kernels(b), 600);
    assert_int_equal(table.holder, 0);
    ops->put(a);
    ops->put(b);
    ops->close(one);
    ops->close(two);
}

/* A server hangs in its transaction, another one goes on; what the first one wrote then does not
 * count, even if its commit arrives late. */
TEST(test_a_turn_is_seized)
{
    struct turns_table table = {0};
    struct turns_seat seats[2];
    struct store *one = turns_store(&seats[0], &table, url, 1),
                 *two = turns_store(&seats[1], &table, url, 2);
    struct store_session *a = clickhouse_session(one, "seized"),
                         *b = clickhouse_session(two, "seized");
    struct err why = {0};
    char sql[512];
    OK(clickhouse_write(a, 100, 100, e));
    assert_int_equal(clickhouse_position(b), 100);
    OK(ops->begin(a, e));
    OK(damage_append(ops, a, 50, 150, e));
    table.expired = true;
    assert_int_equal(ops->begin(b, &why), GPUFL_E_BUSY); /* the last commit has a new number: */
    assert_int_equal(clickhouse_position(b), 100);
    const struct store_position late = {"device", 150};
    assert_int_equal(ops->commit(a, &late, 1, &why), GPUFL_E_BUSY);
    assert_int_equal(clickhouse_position(b), 100);
    OK(clickhouse_write(b, 100, 200, e));
    assert_int_equal(clickhouse_position(a), 200);
    OK(clickhouse_write(a, 100, 300, e));
    assert_int_equal(clickhouse_kernels(a), 300);
    assert_int_equal(clickhouse_kernels(b), 300);
    snprintf(sql, sizeof sql, "SELECT count() FROM damage_w.kernel WHERE session = %llu",
             (unsigned long long)a->key);
    assert_int_equal(clickhouse_number(sql), 350); /* also rows that never counted */
    OK(ops->settle(a, e));
    clickhouse_until(sql, 300);
    ops->put(a);
    ops->put(b);
    ops->close(one);
    ops->close(two);
}

/* ---- other versions -------------------------------------------------------------------------- */

TEST(test_older_tables)
{
    struct store *s = clickhouse_store_open(url);
    struct store_session *ss;
    OK(ops->get(s, "older", "old", true, &ss, e));
    OK(clickhouse_write(ss, 7, 7, e));
    ops->put(ss);
    ops->close(s);
    /* The tables are as an older version left them while a newer one ran. */
    clickhouse_sql(0, "ALTER TABLE damage_older.kernel DROP COLUMN inherited");
    clickhouse_sql(0, "ALTER TABLE damage_older.kernel ADD COLUMN of_tomorrow Int64");
    s = clickhouse_store_open(url);
    OK(ops->get(s, "older", "old", false, &ss, e));
    assert_int_equal(clickhouse_kernels(ss), 7);
    OK(clickhouse_write(ss, 5, 12, e));
    assert_int_equal(clickhouse_kernels(ss), 12);
    assert_int_equal(
        clickhouse_number("SELECT count() FROM system.columns WHERE database = 'damage_older' AND "
                          "table = 'kernel' AND name = 'inherited'"),
        1);
    ops->put(ss);
    ops->close(s);
}

TEST(test_ids_that_collide)
{
    char sql[512];
    struct store *s = clickhouse_store_open(url);
    struct store_session *ss = clickhouse_session(s, "first");
    struct err why = {0};
    ops->put(ss);
    snprintf(sql, sizeof sql,
             "INSERT INTO damage_w.commits VALUES (%llu, 1, 0, 'another', '', '', '')",
             (unsigned long long)place_key("second"));
    clickhouse_sql(0, sql);
    assert_int_equal(ops->get(s, "w", "second", true, &ss, &why), GPUFL_E_STATE);
    assert_non_null(strstr(why.text, "another"));
    ops->close(s);
}

/* ---- limits, addresses ----------------------------------------------------------------------- */

/* Opens a store and asks a question. Newer servers do not count the first 4 MiB of a statement: an
 * older server refuses when the store is opened, a newer one may refuse only the question. */
static int ask_all(const struct store_config *config, const struct store_value *args, struct err *e)
{
    const struct store_visitor v = {.arg = NULL, .chunk = damage_no_rows};
    struct store_session *ss;
    struct store *s;
    int rc = ops->open(&s, config, e);
    if (rc) {
        assert_non_null(strstr(e->text, "--memory"));
        return rc;
    }
    rc = ops->get(s, "w", "limits", false, &ss, e);
    if (!rc) {
        rc = ops->query(s, &(struct store_question){"w", ss, QUERY_kernels, args}, &v, e);
        ops->put(ss);
    }
    ops->close(s);
    return rc;
}

TEST(test_limits)
{
    struct store_config config = {.url = url, .query_limit = 1};
    const struct store_value args[] = {{.null = true}, {.null = true}, {.null = true},
                                       {.null = true}, {.null = true}, {.i = 0},
                                       {.i = 10},      {.i = 0}};
    const struct store_visitor v = {.arg = NULL, .chunk = damage_no_rows};
    struct err why = {0};
    struct store *s = clickhouse_store_open(url);
    struct store_session *ss = clickhouse_session(s, "limits");
    OK(clickhouse_write(ss, 500000, 1, e));
    ops->put(ss);
    ops->close(s);
    OK(ops->open(&s, &config, e));
    ss = clickhouse_session(s, "limits");
    assert_int_equal(
        ops->query(s, &(struct store_question){"w", ss, QUERY_kernels, args}, &v, &why),
        GPUFL_E_TIMEOUT);
    assert_non_null(strstr(why.text, "kernels"));
    ops->put(ss);
    ops->close(s);
    config.query_limit = 0;
    config.memory_limit = 128 << 20; /* less than a run of kernels takes: it is sorted on disk */
    OK(ops->open(&s, &config, e));
    ss = clickhouse_session(s, "limits");
    assert_int_equal(clickhouse_kernels(ss), 500000);
    ops->put(ss);
    ops->close(s);
    config.memory_limit = 1 << 20;
    assert_int_equal(ask_all(&config, args, &why), GPUFL_E_NOMEM);
}

static void refuse(const char *at, int rc, const char *word)
{
    const struct store_config config = {.url = at, .small_most = -1};
    struct store *s;
    struct err why = {0};
    assert_int_equal(ops->open(&s, &config, &why), rc);
    assert_null(s);
    if (!strstr(why.text, word))
        fail_msg("'%s' does not say '%s'", why.text, word);
    assert_null(strstr(why.text, clickhouse_password()));
    assert_null(strstr(why.text, "hush"));
}

TEST(test_addresses)
{
    const char *port = strrchr(url, ':') + 1;
    char at[256];
    refuse("postgres://x", GPUFL_E_INVAL, "clickhouse://");
    refuse("clickhouse://", GPUFL_E_INVAL, "clickhouse://");
    refuse("clickhouse://u:hush@/x", GPUFL_E_INVAL, "clickhouse://");
    refuse("clickhouse://u:hush%zz@h/x", GPUFL_E_INVAL, "damaged");
    refuse("clickhouse://u:hush%0ax@h/x", GPUFL_E_INVAL, "damaged");
    refuse("clickhouse://u:hush@h/a-b", GPUFL_E_INVAL, "prefix");
    refuse("clickhouse://u:hush@h/a/b", GPUFL_E_INVAL, "as in");
    refuse("clickhouse://u:hush@h/a?x=y", GPUFL_E_INVAL, "as in");
    refuse("clickhouse://u:hush@h,i/a", GPUFL_E_INVAL, "cluster");
    refuse("clickhouse://u:hush@h/a?cluster=a'b", GPUFL_E_INVAL, "cluster");
    refuse("clickhouse://u:hush@127.0.0.1:9/a", GPUFL_E_UNAVAILABLE, "running");
    snprintf(at, sizeof at, "clickhouse://gpufl:hush@127.0.0.1:%s", port);
    refuse(at, GPUFL_E_PERM, "password");
    snprintf(at, sizeof at, "clickhouse://nobody:hush@127.0.0.1:%s", port);
    refuse(at, GPUFL_E_PERM, "--columns");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_writer), /* forks before there are threads */
        cmocka_unit_test(test_lost_answers),
        cmocka_unit_test(test_left_rows_are_taken_out),
        cmocka_unit_test(test_set_aside),
        cmocka_unit_test(test_another_server_writes),
        cmocka_unit_test(test_servers_take_turns),
        cmocka_unit_test(test_a_turn_is_seized),
        cmocka_unit_test(test_older_tables),
        cmocka_unit_test(test_ids_that_collide),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_killed_server),
    };
    if (clickhouse_open(1))
        return 77;
    clickhouse_url(1, "damage", url, sizeof url);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clickhouse_close();
    return failed;
}
