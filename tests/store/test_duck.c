/* test_duck.c - tests our declarations of DuckDB's C interface against the library itself: data
 * written by vectors and values is read back unchanged from chunks. Skipped, with a message, if the
 * library is not available. */
#include "store/duckdb/duck.h"
#include "store/duckdb/rows.h"
#include "store/duckdb/watch.h"
#include "tests/test.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

_Static_assert(sizeof(struct duck_string) == 16, "a text in a vector");
_Static_assert(sizeof(struct duck_result) == 48, "passed by value");

static const struct duck *d;
static struct duck_database *db;
static struct duck_connection *c;

static int setup(void **state)
{
    (void)state;
    return d->open_ext(NULL, &db, NULL, NULL) || d->connect(db, &c) ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    d->disconnect(&c);
    d->close(&db);
    return 0;
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        struct err duck_err = {0}, *e = &duck_err;                                                 \
        if (call)                                                                                  \
            fail_msg("%s: %s", #call, duck_err.text);                                              \
    } while (0)

TEST(test_values)
{
    static const int64_t list[] = {INT64_MIN + 1, 0, 7, INT64_MAX};
    struct sql_arg args[] = {SQL_INT(INT64_MIN + 1), SQL_REAL(-0.1),
                             SQL_TEXT("short", 5),   SQL_TEXT("longer than twelve \0 bytes", 26),
                             SQL_LIST(list, 4),      SQL_INT(0)};
    struct sql q;
    args[5].value.null = true;
    OK(sql_open(
        &q, d, c,
        &(struct sql_bound){"SELECT $1::BIGINT, $2::DOUBLE, $3::VARCHAR, $4::VARCHAR, len($5), "
                            "list_sum($5)::BIGINT, $6::BIGINT",
                            args, 6},
        e));
    assert_int_equal(sql_next(&q, NULL), 1);
    assert_int_equal(q.page.rows, 1);
    assert_int_equal(q.page.columns, 7);
    assert_int_equal(sql_int(&q, 0, 0), INT64_MIN + 1);
    assert_true(sql_real(&q, 1, 0) == -0.1);
    struct store_text text = sql_text(&q, 2, 0);
    assert_int_equal(text.len, 5);
    assert_memory_equal(text.at, "short", 5);
    text = sql_text(&q, 3, 0);
    assert_int_equal(text.len, 26);
    assert_memory_equal(text.at, "longer than twelve \0 bytes", 26);
    assert_int_equal(sql_int(&q, 4, 0), 4);
    assert_int_equal(sql_int(&q, 5, 0), 7);
    assert_int_equal(sql_int(&q, 6, 0), CELL_NULL);
    assert_int_equal(sql_next(&q, NULL), 0);
    sql_close(&q);
}

/* Rows through the appender over several chunks; some values of every type are unknown. */
TEST(test_vectors)
{
    static const struct table t = {
        "t", {{"a", CELL_INT}, {"b", CELL_REAL}, {"c", CELL_TEXT}, {"d", CELL_BYTES}}, 4};
    enum { ROWS = 5000 };
    struct rows r;
    struct sql q;
    int64_t n = 0;
    char text[32];
    OK(sql_run(d, c, "CREATE TABLE t(a BIGINT, b DOUBLE, c VARCHAR, d BLOB)", e));
    OK(rows_open(&r, d, c, "memory", &t, e));
    for (int64_t i = 0; i < ROWS; i++) {
        rows_int(&r, 0, i % 7 ? i : CELL_NULL);
        rows_real(&r, 1, (double)i / 2);
        int len = snprintf(text, sizeof text, "%0*d", (int)(i % 20) + 1, 5);
        rows_text(&r, 2, text, (size_t)len);
        if (i % 3)
            rows_text(&r, 3, "\xff\x00\xfe", 3);
        else
            rows_null(&r, 3);
        OK(rows_end(&r, e));
    }
    OK(rows_flush(&r, e));
    rows_close(&r);
    OK(sql_open(&q, d, c, &(struct sql_bound){"SELECT * FROM t", NULL, 0}, e));
    while (sql_next(&q, NULL) > 0)
        for (size_t i = 0; i < q.page.rows; i++, n++) {
            assert_int_equal(sql_int(&q, 0, i), n % 7 ? n : CELL_NULL);
            assert_true(sql_real(&q, 1, i) == (double)n / 2);
            int len = snprintf(text, sizeof text, "%0*d", (int)(n % 20) + 1, 5);
            struct store_text cell = sql_text(&q, 2, i);
            assert_int_equal(cell.len, len);
            assert_memory_equal(cell.at, text, cell.len);
            assert_int_equal(sql_known(&q, 3, i), n % 3 != 0);
            cell = sql_text(&q, 3, i);
            assert_int_equal(cell.len, n % 3 ? 3 : 0);
            assert_memory_equal(cell.at, "\xff\x00\xfe", cell.len);
        }
    sql_close(&q);
    assert_int_equal(n, ROWS);
}

TEST(test_errors)
{
    struct err why = {0};
    struct sql q;
    assert_int_equal(sql_run(d, c, "SELECT no_such_column", &why), GPUFL_E_STATE);
    assert_non_null(strstr(why.text, "no_such_column"));
    assert_int_equal(sql_open(&q, d, c, &(struct sql_bound){"SELEC", NULL, 0}, &why),
                     GPUFL_E_STATE);
    sql_close(&q);
    OK(sql_open(
        &q, d, c,
        &(struct sql_bound){
            "SELECT CASE WHEN i = 9999999 THEN error('late') ELSE i END FROM range(10000000) t(i)",
            NULL, 0},
        e));
    int more;
    while ((more = sql_next(&q, &why)) > 0)
        ;
    assert_true(more < 0); /* an error is not the end of the rows */
    sql_close(&q);
}

TEST(test_interrupted)
{
    struct watch w;
    struct watched x;
    struct err why = {0};
    assert_int_equal(watch_open(&w, d), 0);
    watch_begin(&w, &x, c, 20000000);
    int64_t begun = clock_mono();
    assert_int_equal(sql_run(d, c, "SELECT count(*) FROM range(1000000) a, range(1000000) b", &why),
                     GPUFL_E_TIMEOUT);
    assert_true(clock_mono() - begun < 20000000000);
    assert_true(watch_late(&x));
    watch_end(&w, &x);
    OK(sql_run(d, c, "SELECT 1", e));
    watch_close(&w);
}

static void *hurry(void *arg)
{
    watch_hurry(arg); /* before the statement begins, or while it runs */
    return NULL;
}

/* The server ends: the running statement is interrupted, and so are later ones. */
TEST(test_hurried)
{
    static const char endless[] = "SELECT count(*) FROM range(1000000) a, range(1000000) b";
    struct watch w;
    struct watched x;
    struct err why = {0};
    pthread_t other;
    assert_int_equal(watch_open(&w, d), 0);
    watch_begin(&w, &x, c, INT64_MAX);
    assert_int_equal(pthread_create(&other, NULL, hurry, &w), 0);
    assert_int_equal(sql_run(d, c, endless, &why), GPUFL_E_TIMEOUT);
    assert_true(watch_late(&x));
    watch_end(&w, &x);
    pthread_join(other, NULL);
    watch_begin(&w, &x, c, INT64_MAX);
    assert_int_equal(sql_run(d, c, endless, &why), GPUFL_E_TIMEOUT);
    watch_end(&w, &x);
    watch_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_errors),  cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_hurried),
    };
    struct err e = {0};
    d = duck_open(&e);
    if (!d) {
        printf("skipped: %s\n", e.text);
        return 0;
    }
    printf("%s: DuckDB %s\n", duck_path(), d->library_version());
    return cmocka_run_group_tests(tests, setup, teardown);
}
