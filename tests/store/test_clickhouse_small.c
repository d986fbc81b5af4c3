/* test_clickhouse_small.c - tests small sessions of ClickHouse share a table: one that grows, one
 * whose growth fails, killed writers, a deletion. Skipped, with a message, if clickhouse-server is
 * not installed. */
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
    const struct store_config config = {.url = url, .alone = true};
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

/* A small session: one part a commit, and no table of its own. */
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
    ss = session(s, "small", "one"); /* as another process gets it */
    assert_int_equal(damage_kernels(ops, ss), 3000);
    assert_int_equal(damage_position(ops, ss), 3);
    ops->put(ss);
    ops->close(s);
}

/* A session that grows goes to the tables of its own, with all its rows, in the transaction in
 * which it grows; this holds also if it grows in the middle of a transaction. */
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

/* A growth that is not committed does not count, and the next one has everything once. */
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
        usleep(10000); /* between two queries; the right answer ends the wait */
    assert_int_equal(number(left), 0);
    ops->close(s);
}

/* ---- several sessions ------------------------------------------------------------------------ */

enum { SESSIONS = 6, EACH = 1000 };

static const struct store_position first = {"device", 1};

/* Begins a transaction of `each` kernels in n sessions of a workspace. */
static void begin_all(struct store *s, const char *workspace, size_t each, struct store_commit *of,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char id[32];
        snprintf(id, sizeof id, "s%zu", i);
        of[i] = (struct store_commit){.session = session(s, workspace, id), .positions = &first};
        of[i].count = 1;
        OK(ops->begin(of[i].session, e));
        OK(damage_append(ops, of[i].session, each, 1, e));
    }
}

static long long inserts(void)
{
    return number("SELECT value FROM system.events WHERE event = 'InsertQuery'");
}

/* Sessions that are committed together take two inserts and one part, and no queries. */
TEST(test_together)
{
    struct store *s = open_store();
    struct store_commit of[SESSIONS];
    begin_all(s, "together", EACH, of, SESSIONS);
    long long before = inserts();
    ops->commit_all(of, SESSIONS);
    assert_int_equal(inserts() - before, 2);
    assert_int_equal(number("SELECT count() FROM system.parts WHERE active AND database = "
                            "'small_together' AND table = 'small'"),
                     1);
    for (int i = 0; i < SESSIONS; i++) {
        assert_int_equal(of[i].rc, 0);
        assert_int_equal(damage_kernels(ops, of[i].session), EACH);
        ops->put(of[i].session);
    }
    ops->close(s);
}

/* A session that cannot be committed does not affect the others; a large one goes to its tables. */
TEST(test_some_fail_together)
{
    struct store *s = open_store();
    struct store_commit of[SESSIONS];
    begin_all(s, "mixed", EACH, of, SESSIONS);
    ops->rollback(of[0].session); /* it has no transaction */
    OK(damage_append(ops, of[1].session, SMALL_ROWS, 2, e));
    OK(ops->drop(s, "mixed", "s2", e));
    struct store_session *other = session(s, "elsewhere", "s3");
    ops->rollback(of[3].session);
    ops->put(of[3].session);
    of[3].session = other;
    OK(ops->begin(other, e));
    OK(damage_append(ops, other, 7, 1, e));
    ops->commit_all(of, SESSIONS);
    for (int i = 0; i < SESSIONS; i++) {
        assert_int_equal(of[i].rc, i == 0 ? GPUFL_E_STATE : i == 2 ? GPUFL_E_NOENT : 0);
        assert_int_equal(*of[i].err.text != 0, of[i].rc != 0);
        ops->put(of[i].session);
    }
    ops->close(s);
    s = open_store();
    static const int64_t kernels[] = {0, EACH + SMALL_ROWS, -1, 0, EACH, EACH};
    for (int i = 0; i < SESSIONS; i++) {
        char id[16];
        struct store_session *ss;
        snprintf(id, sizeof id, "s%d", i);
        int rc = ops->get(s, "mixed", id, false, &ss, NULL);
        assert_int_equal(rc, i == 2 ? GPUFL_E_NOENT : 0);
        if (rc)
            continue;
        assert_int_equal(damage_kernels(ops, ss), kernels[i]);
        ops->put(ss);
    }
    other = session(s, "elsewhere", "s3");
    assert_int_equal(damage_kernels(ops, other), 7);
    assert_int_equal(damage_position(ops, other), 1);
    ops->put(other);
    ops->close(s);
}

/* Overwrites bytes of the only part of the small tables. True: the bytes are of the column with the
 * rows alone. Today's ClickHouse writes a small part with all columns in one file. */
static bool harm(const char *database)
{
    char sql[256], path[512];
    snprintf(sql, sizeof sql,
             "SELECT path FROM system.parts WHERE active AND database = '%s' AND table = 'small'",
             database);
    snprintf(path, sizeof path, "%s", clickhouse_sql(0, sql));
    size_t n = strlen(path);
    snprintf(path + n, sizeof path - n, "/cells.bin");
    FILE *f = fopen(path, "r+b");
    bool own = f != NULL;
    if (!own) {
        snprintf(path + n, sizeof path - n, "/data.bin");
        f = fopen(path, "r+b");
    }
    assert_non_null(f);
    assert_int_equal(fseek(f, 30, SEEK_SET), 0);
    fputs("????", f);
    fclose(f);
    return own;
}

/* The error names the session, and what is sent again replaces its rows. */
static void send_again(struct store *s, struct store_session **ss, const char *id, int64_t rows)
{
    struct store_position at[STORE_POSITIONS_MAX];
    struct err why = {0};
    unsigned n = STORE_POSITIONS_MAX;
    assert_int_equal(ops->peek(*ss, at, &n, &why), GPUFL_E_CORRUPT);
    assert_non_null(strstr(why.text, id));
    ops->put(*ss);
    OK(ops->set_aside(s, "sick", id, e));
    *ss = session(s, "sick", id);
    assert_int_equal(damage_position(ops, *ss), 0);
    OK(damage_write(ops, *ss, rows, 1, e));
}

/* Damage in a part that several sessions share affects the sessions whose rows it hit. Each of them
 * can be sent again. The others, and new ones, go on. */
TEST(test_a_damaged_part)
{
    enum { THREE = 3, ROWS = 8000 };
    static const struct wire_visitor none = {0};
    struct store *s = open_store();
    struct store_commit of[THREE];
    bool sick[THREE] = {false};
    int count = 0;
    clickhouse_sql(0, "SYSTEM STOP MERGES"); /* else a merge finds the damage first */
    begin_all(s, "sick", ROWS, of, THREE);
    ops->commit_all(of, THREE);
    bool own = harm("small_sick");
    for (int i = 0; i < THREE; i++) {
        assert_int_equal(of[i].rc, 0);
        int rc = ops->scan(of[i].session, RECORD_kernel, INT64_MIN, INT64_MAX, &none, NULL);
        sick[i] = rc != 0;
        count += rc != 0;
        assert_true(rc == 0 || rc == GPUFL_E_CORRUPT);
    }
    assert_true(own ? count == 1 : count >= 1);
    for (int i = 0; i < THREE; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        if (sick[i])
            send_again(s, &of[i].session, id, ROWS);
    }
    struct store_session *new = session(s, "sick", "new");
    OK(damage_write(ops, new, 10, 1, e));
    assert_int_equal(damage_kernels(ops, new), 10);
    ops->put(new);
    for (int i = 0; i < THREE; i++) {
        assert_int_equal(damage_kernels(ops, of[i].session), ROWS);
        assert_int_equal(damage_position(ops, of[i].session), 1);
        ops->put(of[i].session);
    }
    ops->close(s);
    clickhouse_sql(0, "SYSTEM START MERGES");
}

static int take_last(void *arg, const struct wire_batch *b)
{
    unsigned last = b->record->column_count - 1;
    for (size_t i = 0; i < b->rows; i++)
        *(int *)arg += !b->col[last] || b->col[last][i] == CELL_NULL;
    return 0;
}

/* Rows that an older server wrote lack a column that was added later: its value is unknown, not
 * 0. */
TEST(test_a_later_column)
{
    enum { ROWS = 10 };
    struct store *s = open_store();
    struct store_session *ss = session(s, "later", "one");
    OK(damage_write(ops, ss, ROWS, 1, e));
    clickhouse_sql(0, "ALTER TABLE small_later.small UPDATE cells = arrayPopBack(cells) "
                      "WHERE in_table = 'kernel'");
    while (number("SELECT count() FROM system.mutations WHERE database = 'small_later' AND NOT "
                  "is_done"))
        usleep(10000);
    assert_int_equal(number("SELECT countDistinct(length(cells)) FROM small_later.small WHERE "
                            "in_table = 'kernel'"),
                     1);
    int unknown = 0;
    OK(ops->scan(ss, RECORD_kernel, INT64_MIN, INT64_MAX,
                 &(struct wire_visitor){.arg = &unknown, .batch = take_last}, e));
    assert_int_equal(unknown, ROWS);
    ops->put(ss);
    ops->close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_writer), /* forks before there are threads */
        cmocka_unit_test(test_small),          cmocka_unit_test(test_grown),
        cmocka_unit_test(test_growth_undone),  cmocka_unit_test(test_deleted),
        cmocka_unit_test(test_together),       cmocka_unit_test(test_some_fail_together),
        cmocka_unit_test(test_a_damaged_part), cmocka_unit_test(test_a_later_column),
    };
    if (clickhouse_open(1))
        return 77;
    clickhouse_url(1, "small", url, sizeof url);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clickhouse_close();
    return failed;
}
