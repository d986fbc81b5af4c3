/* test_clickhouse_small.c - small sessions of ClickHouse share a table: one that grows, one whose
 * growth fails, killed writers, a deletion. Skipped, with a message, where clickhouse-server is not
 * installed. */
#include "clickhouse_server.h"
#include "damage.h"
#include "store/clickhouse/small.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct store_ops *ops = &store_clickhouse;
static char url[256];

static struct store *open_store(void)
{
    const struct store_config config = {.url = url};
    struct store *s;
    OK(ops->open(&s, &config, e));
    return s;
}

static struct store_session *session(struct store *s, const char *workspace, const char *id)
{
    struct store_session *ss;
    OK(ops->get(s, workspace, id, true, &ss, e));
    return ss;
}

static long long number(const char *sql)
{
    return strtoll(clickhouse_sql(0, sql), NULL, 10);
}

static bool is_there(const char *database, const char *table)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT count() FROM system.tables WHERE database = '%s' AND name = '%s'", database,
             table);
    return number(sql) > 0;
}

TEST(test_killed_writer)
{
    const struct store_config config = {.url = url};
    damage_killed_writer(ops, &config, 8, 0);
}

/* Small: one part a commit, and no table of its own. */
TEST(test_small)
{
    struct store *s = open_store();
    struct store_session *ss = session(s, "small", "one");
    for (int i = 0; i < 3; i++)
        OK(damage_write(ops, ss, 1000, i + 1, e));
    assert_int_equal(damage_kernels(ops, ss), 3000);
    assert_false(is_there("small_small", "kernel"));
    assert_int_equal(number("SELECT count() FROM small_small.small WHERE in_table = 'kernel'"),
                     3000);
    int64_t bytes = 0;
    OK(ops->size(s, "small", "one", &bytes, e));
    assert_in_range(bytes, 1000, 3000 * 64);
    ops->put(ss);
    ops->close(s);
    s = open_store();
    ss = session(s, "small", "one"); /* of another process */
    assert_int_equal(damage_kernels(ops, ss), 3000);
    assert_int_equal(damage_position(ops, ss), 3);
    ops->put(ss);
    ops->close(s);
}

/* One that grows goes to the tables of its own, in the transaction in which it grows, with all it
 * had; one that grows in the midst of a transaction as well. */
TEST(test_grown)
{
    static const char large[] = "SELECT count() FROM small_grown.kernel";
    struct store *s = open_store();
    struct store_session *ss = session(s, "grown", "one");
    OK(damage_write(ops, ss, 1000, 1, e));
    OK(damage_write(ops, ss, 1000, 2, e));
    OK(ops->begin(ss, e));
    OK(damage_append(ops, ss, SMALL_ROWS, 3, e));
    ops->rollback(ss);
    assert_int_equal(damage_kernels(ops, ss), 2000);
    OK(damage_write(ops, ss, SMALL_ROWS, 3, e));
    assert_int_equal(damage_kernels(ops, ss), 2000 + SMALL_ROWS);
    assert_int_equal(number(large), 2000 + SMALL_ROWS);
    OK(damage_write(ops, ss, 10, 4, e));
    assert_int_equal(number(large), 2010 + SMALL_ROWS);
    ops->put(ss);
    ops->close(s);
    s = open_store();
    ss = session(s, "grown", "one");
    assert_int_equal(damage_kernels(ops, ss), 2010 + SMALL_ROWS);
    assert_int_equal(damage_position(ops, ss), 4);
    struct store_session *at_once = session(s, "grown", "two");
    OK(damage_write(ops, at_once, 1000, 1, e));
    OK(ops->begin(at_once, e));
    OK(damage_append(ops, at_once, 1500000, 2, e)); /* more than is kept before it is sent */
    const struct store_position to = {"device", 2};
    OK(ops->commit(at_once, &to, 1, e));
    assert_int_equal(damage_kernels(ops, at_once), 1501000);
    ops->put(at_once);
    ops->put(ss);
    ops->close(s);
}

/* A growth that is not committed counts nowhere, and the next one has everything once. */
TEST(test_growth_undone)
{
    struct store *s = open_store();
    struct store_session *ss = session(s, "undone", "one");
    OK(damage_write(ops, ss, 1000, 1, e));
    OK(ops->begin(ss, e));
    OK(damage_append(ops, ss, 1500000, 2, e)); /* it has grown, and rows were sent */
    assert_true(number("SELECT count() FROM small_undone.kernel") > 1000);
    ops->rollback(ss);
    assert_int_equal(damage_kernels(ops, ss), 1000);
    OK(damage_write(ops, ss, 500, 2, e));
    assert_int_equal(damage_kernels(ops, ss), 1500);
    OK(damage_write(ops, ss, SMALL_ROWS, 3, e));
    assert_int_equal(damage_kernels(ops, ss), 1500 + SMALL_ROWS);
    ops->put(ss);
    ops->close(s);
}

/* A deleted session leaves nothing, neither where it was small nor where it was large. */
TEST(test_deleted)
{
    static const char left[] = "SELECT (SELECT count() FROM small_gone.small) + (SELECT count() "
                               "FROM small_gone.kernel)";
    struct store *s = open_store();
    struct store_session *small = session(s, "gone", "small"), *grown = session(s, "gone", "grown");
    OK(damage_write(ops, small, 1000, 1, e));
    OK(damage_write(ops, grown, 1000, 1, e));
    OK(damage_write(ops, grown, SMALL_ROWS, 2, e));
    assert_true(number(left) > SMALL_ROWS);
    ops->put(small);
    ops->put(grown);
    OK(ops->drop(s, "gone", "small", e));
    OK(ops->drop(s, "gone", "grown", e));
    for (int i = 0; i < 6000 && number(left); i++)
        usleep(10000); /* between two looks; what ends the wait is the answer */
    assert_int_equal(number(left), 0);
    ops->close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_writer), /* forks: before there are threads */
        cmocka_unit_test(test_small),         cmocka_unit_test(test_grown),
        cmocka_unit_test(test_growth_undone), cmocka_unit_test(test_deleted),
    };
    if (clickhouse_open(1))
        return 77;
    clickhouse_url(1, "small", url, sizeof url);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clickhouse_close();
    return failed;
}
