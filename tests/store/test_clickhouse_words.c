/* test_clickhouse_words.c - which SELECTs of clients are allowed, and how they are rewritten. */
#include "store/clickhouse/select.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool put(void *arg, struct buf *out, struct store_text table)
{
    (void)arg;
    if (table.len != 1 || *table.at != 't')
        return false;
    buf_str(out, "(T)");
    return true;
}

static int words(const char *sql, struct buf *out, struct err *e)
{
    buf_init(out, 1 << 20);
    return select_words(out, (struct store_text){sql, strlen(sql)}, put, NULL, e);
}

static void becomes(const char *sql, const char *wanted)
{
    struct buf out;
    struct err e = {0};
    if (words(sql, &out, &e))
        fail_msg("%s: %s", sql, e.text);
    assert_string_equal(buf_cstr(&out), wanted);
    buf_fini(&out);
}

static void refuses(const char *sql, const char *word)
{
    struct buf out;
    struct err e = {0};
    if (words(sql, &out, &e) != GPUFL_E_INVAL || !strstr(e.text, word))
        fail_msg("%s: '%s' does not say '%s'", sql, e.text, word);
    buf_fini(&out);
}

TEST(test_tables_are_put_in)
{
    becomes("SELECT a FROM t", "SELECT a FROM (T) AS `t`");
    becomes("select 1.5,a-1 from t x where x.a>='it''s' ;; ",
            "select 1.5,a-1 from (T) x where x.a>='it''s'");
    becomes("SELECT a FROM t AS k ALL LEFT JOIN (SELECT b FROM `t`) USING a",
            "SELECT a FROM (T) AS k ALL LEFT JOIN (SELECT b FROM (T) AS `t`) USING a");
    becomes("SELECT 't', `t`, t.a FROM t WHERE a", "SELECT 't', `t`, t.a FROM (T) AS `t` WHERE a");
    becomes("SELECT /* FROM x */ 1 -- FROM y\n+ 2", "SELECT 1 + 2");
    becomes("(SELECT '--', '/*', 'a\\' FROM x')", "(SELECT '--', '/*', 'a\\' FROM x')");
}

TEST(test_what_is_refused)
{
    static const char *const tables[] = {"x",          "t.t", "t(1)", "`x`",
                                         "numbers(3)", "'t'", "1",    "x.t"};
    char sql[128];
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(sql, sizeof sql, "SELECT 1 FROM %s", tables[i]);
        refuses(sql, "FROM and JOIN");
        snprintf(sql, sizeof sql, "SELECT 1 FROM t ALL INNER JOIN %s USING a", tables[i]);
        refuses(sql, "FROM and JOIN");
        snprintf(sql, sizeof sql, "SELECT (SELECT 1 from/**/%s)", tables[i]);
        refuses(sql, "FROM and JOIN");
    }
    refuses("INSERT INTO t SELECT 1", "must begin with");
    refuses("", "must begin with");
    refuses("SELECT 1; SELECT 2", "one statement");
    refuses("SELECT a IN t", "IN");
    refuses("SELECT a NOT IN `t`", "IN");
    refuses("SELECT 1, SyStEm.one", "system");
    refuses("SELECT `system`", "system");
    refuses("SELECT dictGetString('a', 'b', 1)", "function");
    refuses("SELECT HOSTNAME ( )", "function");
    refuses("SELECT 1 Format CSV", "FORMAT");
    refuses("SELECT 1 SETTINGS a = 1", "SETTINGS");
    refuses("SELECT 'a", "quote");
    refuses("SELECT `a\\`b`", "quotes");
    refuses("SELECT /* a", "comment");
    refuses("SELECT (1", "not closed");
    refuses("SELECT 1)", "not opened");
    refuses("SELECT \x01 1", "letters");
    refuses("SELECT \xc3\xa9", "letters");
}

TEST(test_size_is_bounded)
{
    enum { MANY = 100000 };
    char *sql = malloc(2 * MANY + 16);
    assert_non_null(sql);
    strcpy(sql, "SELECT "); /* NOLINT: it fits */
    memset(sql + 7, '(', MANY);
    sql[7 + MANY] = '\0';
    refuses(sql, "100 deep");
    for (size_t i = 0; i < MANY; i++)
        memcpy(sql + 7 + 2 * i, "1 ", 2);
    sql[7 + 2 * MANY] = '\0';
    refuses(sql, "4000 words");
    free(sql);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_are_put_in),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_size_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
