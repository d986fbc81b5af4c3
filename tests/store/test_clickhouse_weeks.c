/* test_clickhouse_weeks.c - tests sessions that share partitions: deletions free the disk and
 * delete no other session's rows, and a store of 0.1.0, with a partition for each session, is
 * converted to the present form. Skipped, with a message, if clickhouse-server is not installed. */
#include "clickhouse_server.h"
#include "clickhouse_store.h"
#include "clickhouse_turns.h"
#include "damage.h"
#include "store/clickhouse/engine.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct store_ops *ops = &store_clickhouse;
static char url[256];

/* ---- disk ------------------------------------------------------------------------------------ */

TEST(test_deleting_frees_the_disk)
{
    struct store *s = clickhouse_store_open(url);
    struct store_session *ss = clickhouse_session(s, "large"),
                         *other = clickhouse_session(s, "other");
    static const char raw[] = "SELECT count() FROM weeks_w.kernel WHERE session IN (SELECT session "
                              "FROM weeks_w.commits WHERE name = 'large')";
    int64_t bytes;
    OK(clickhouse_write(other, 1000, 1, e));
    OK(clickhouse_write(ss, 1500000, 1, e));
    OK(ops->settle(ss, e));
    OK(ops->size(s, "w", "large", &bytes, e));
    assert_true(bytes > 1000000);
    long long before = clickhouse_disk(0);
    OK(ops->drop(s, "w", "large", e));
    assert_int_equal(clickhouse_kernels(ss), 1500000); /* a reader still has it */
    assert_int_equal(clickhouse_number(raw), 1500000);
    ops->put(ss);
    clickhouse_until(raw, 0);
    assert_int_equal(clickhouse_kernels(other), 1000);
    long long freed = 0; /* files are removed after the statement */
    for (int i = 0; i < 12000 && freed < bytes / 2; i++) {
        freed = before - clickhouse_disk(0);
        usleep(10000); /* between two queries; free disk ends the wait */
    }
    assert_true(freed >= bytes / 2);
    ops->put(other);
    ops->close(s);
}

/* A deletion that its process did not finish is finished by the next process that gets the
 * session. */
TEST(test_unfinished_deletion)
{
    struct store *s = clickhouse_store_open(url);
    struct store_session *ss = clickhouse_session(s, "half-deleted");
    OK(clickhouse_write(ss, 1000, 1, e));
    ops->put(ss);
    ops->close(s);
    clickhouse_sql(0, "INSERT INTO weeks_w.commits SELECT session, commit + 1, 2, name, counts, "
                      "positions, ranges FROM weeks_w.commits WHERE name = 'half-deleted' ORDER BY "
                      "commit DESC LIMIT 1");
    s = clickhouse_store_open(url);
    assert_int_equal(ops->get(s, "w", "half-deleted", false, &ss, NULL), GPUFL_E_NOENT);
    ss = clickhouse_session(s, "half-deleted");
    assert_int_equal(clickhouse_kernels(ss), 0);
    OK(clickhouse_write(ss, 10, 1, e));
    assert_int_equal(clickhouse_kernels(ss), 10);
    clickhouse_until("SELECT count() FROM weeks_w.kernel WHERE session IN (SELECT session FROM "
                     "weeks_w.commits WHERE name = 'half-deleted')",
                     10);
    ops->put(ss);
    ops->close(s);
}

/* The rows of many deleted sessions are removed by one statement a table, also those that an ended
 * process left; a session that is made again keeps its own; nobody searches for them again. */
TEST(test_deleted_together)
{
    enum { MANY = 12 };
    static const char raw[] = "SELECT count() FROM weeks_many.kernel",
                      statements[] = "SELECT count() FROM system.mutations WHERE database = "
                                     "'weeks_many' AND table = 'kernel'",
                      left[] = "SELECT count() FROM (SELECT argMax(kind, commit) AS k, "
                               "argMax(counts, commit) AS c FROM weeks_many.commits GROUP BY "
                               "session) WHERE k = 2 AND c != ''";
    struct store *s = clickhouse_store_open(url);
    struct store_session *ss;
    char id[16];
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof id, "many-%d", i);
        OK(ops->get(s, "many", id, true, &ss, e));
        OK(clickhouse_write(ss, 100, 1, e));
        ops->put(ss);
    }
    for (int i = 0; i < MANY - 2; i++) {
        snprintf(id, sizeof id, "many-%d", i);
        OK(ops->drop(s, "many", id, e));
    }
    ops->close(s); /* perhaps before anything was removed */
    s = clickhouse_store_open(url);
    OK(ops->get(s, "many", "many-0", true, &ss, e));
    OK(clickhouse_write(ss, 7, 1, e));
    clickhouse_until(raw, 207);
    clickhouse_until(left, 0);
    long long done = clickhouse_number(statements);
    assert_in_range(done, 1, 4);
    assert_int_equal(clickhouse_kernels(ss), 7);
    ops->put(ss);
    ops->close(s);
    s = clickhouse_store_open(url);
    OK(ops->get(s, "many", "many-11", false, &ss, e));
    assert_int_equal(clickhouse_kernels(ss), 100);
    OK(ops->drop(s, "many", "many-10", e));
    clickhouse_until(raw, 107);
    clickhouse_until(left, 0);
    assert_int_equal(clickhouse_number(statements), done + 1);
    ops->put(ss);
    ops->close(s);
}

/* ---- an older store -------------------------------------------------------------------------- */

/* Makes a table as 0.1.0 made it, in place of today's or next to it. */
static void make_old(const char *table, const char *order, const char *name)
{
    char sql[512], columns[4096];
    snprintf(sql, sizeof sql, "DROP TABLE IF EXISTS weeks_before.`.made`");
    clickhouse_sql(0, sql);
    snprintf(sql, sizeof sql, "SHOW CREATE TABLE weeks_before.%s FORMAT TabSeparatedRaw", table);
    const char *said = clickhouse_sql(0, sql), *from = strchr(said, '('),
               *to = strstr(said, "ENGINE");
    assert_non_null(from);
    assert_non_null(to);
    snprintf(columns, sizeof columns,
             "CREATE TABLE weeks_before.`.made` %.*s ENGINE = MergeTree PARTITION BY session ORDER "
             "BY (%s)",
             (int)(to - from), from, order);
    clickhouse_sql(0, columns);
    snprintf(sql, sizeof sql, "INSERT INTO weeks_before.`.made` SELECT * FROM weeks_before.%s",
             table);
    clickhouse_sql(0, sql);
    if (strcmp(table, name) == 0) {
        snprintf(sql, sizeof sql, "DROP TABLE weeks_before.%s", table);
        clickhouse_sql(0, sql);
    }
    snprintf(sql, sizeof sql, "RENAME TABLE weeks_before.`.made` TO weeks_before.`%s`", name);
    clickhouse_sql(0, sql);
}

static void check_before(const char *first_column, long long kernels)
{
    struct store *s = clickhouse_store_open(url);
    struct store_session *ss;
    for (int i = 0; i < 3; i++) {
        char id[16];
        snprintf(id, sizeof id, "before-%d", i);
        OK(ops->get(s, "before", id, false, &ss, e));
        assert_int_equal(clickhouse_kernels(ss), 100 * (i + 1));
        assert_int_equal(clickhouse_position(ss), i + 1);
        ops->put(ss);
    }
    ops->close(s);
    assert_int_equal(clickhouse_number("SELECT count() FROM weeks_before.kernel"), kernels);
    assert_int_equal(
        clickhouse_number("SELECT count() FROM system.tables WHERE database = 'weeks_before' AND "
                          "(substring(name, 1, 1) = '.' OR position(engine_full, 'PARTITION BY "
                          "session ORDER') > 0)"),
        0);
    assert_string_equal(clickhouse_sql(0, first_column), "1");
}

/* A store of 0.1.0, with a partition for each session, is converted to today's form, even if a
 * process that did this was killed at any step. */
TEST(test_store_of_before)
{
    static const char ordered[] =
        "SELECT position(engine_full, 'ORDER BY (session, run, start') > 0 "
        "FROM system.tables WHERE database = 'weeks_before' AND name = "
        "'kernel'";
    struct store *s = clickhouse_store_open(url);
    struct store_session *ss;
    for (int i = 0; i < 3; i++) {
        char id[16];
        snprintf(id, sizeof id, "before-%d", i);
        OK(ops->get(s, "before", id, true, &ss, e));
        OK(clickhouse_write(ss, 100 * (size_t)(i + 1), i + 1, e));
        ops->put(ss);
    }
    ops->close(s);
    make_old("kernel", "run, start, rowid", "kernel");
    check_before(ordered, 600);
    /* killed while it copied */
    make_old("kernel", "run, start, rowid", "kernel");
    clickhouse_sql(0, "CREATE TABLE weeks_before.`.week_kernel` AS weeks_before.kernel");
    clickhouse_sql(0, "INSERT INTO weeks_before.`.week_kernel` SELECT * FROM weeks_before.kernel "
                      "LIMIT 50");
    check_before(ordered, 600);
    /* killed between the two names */
    make_old("kernel", "run, start, rowid", ".before_kernel");
    clickhouse_sql(0, "RENAME TABLE weeks_before.kernel TO weeks_before.`.week_kernel`");
    check_before(ordered, 600);
    /* killed before the old table was dropped */
    make_old("kernel", "run, start, rowid", ".before_kernel");
    check_before(ordered, 600);
    /* With two processes the second waits for the first. */
    make_old("kernel", "run, start, rowid", "kernel");
    struct turns_table table = {.holder = 2};
    struct turns_seat seat;
    s = turns_store(&seat, &table, url, 1);
    assert_int_equal(ops->get(s, "before", "before-0", false, &ss, NULL), GPUFL_E_BUSY);
    table.holder = 0;
    OK(ops->get(s, "before", "before-0", false, &ss, e));
    assert_int_equal(table.holder, 0);
    ops->put(ss);
    ops->close(s);
    check_before(ordered, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deleting_frees_the_disk),
        cmocka_unit_test(test_unfinished_deletion),
        cmocka_unit_test(test_deleted_together),
        cmocka_unit_test(test_store_of_before),
    };
    if (clickhouse_open(1))
        return 77;
    clickhouse_url(1, "weeks", url, sizeof url);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clickhouse_close();
    return failed;
}
