/* test_clickhouse_shards.c - runs the conformance suite on two ClickHouse servers, the shards of a
 * cluster: each session is on one of them, and Distributed tables have all. Skipped, with a
 * message, if clickhouse-server is not installed. */
#include "suite.h"

#include "clickhouse_server.h"

static long long number(unsigned server, const char *sql)
{
    return strtoll(clickhouse_sql(server, sql), NULL, 10);
}

/* Runs after the suite, which leaves many sessions. */
TEST(test_both_hold_sessions)
{
    static const char here[] = "SELECT count() FROM shards_w.kernel";
    static const char all[] = "SELECT count() FROM shards_w_all.kernel";
    static const char sessions[] = "SELECT uniqExact(session) FROM shards_w.kernel";
    long long first = number(0, here), second = number(1, here);
    assert_true(number(0, sessions) > 5);
    assert_true(number(1, sessions) > 5);
    assert_true(first > 0 && second > 0);
    assert_int_equal(number(0, all), first + second);
    assert_int_equal(number(1, all), first + second);
}

/* If a server is away, its sessions are away, and no others. */
TEST(test_one_is_away)
{
    struct store_session *ss;
    int away = 0, there = 0;
    clickhouse_stop(1, SIGKILL);
    for (int i = 0; i < 40; i++) {
        char id[16];
        struct err why = {0};
        snprintf(id, sizeof id, "away-%d", i);
        int rc = suite.ops->get(suite.store, "w", id, true, &ss, &why);
        if (rc) {
            assert_int_equal(rc, GPUFL_E_UNAVAILABLE);
            assert_non_null(strstr(why.text, "server 2"));
            away++;
        } else {
            suite.ops->put(ss);
            there++;
        }
    }
    clickhouse_start(1);
    assert_true(away > 5 && there > 5);
    OK(suite.ops->get(suite.store, "w", "away-0", true, &ss, e));
    suite.ops->put(ss);
}

static const struct CMUnitTest cases[] = {
#define CASE(name) cmocka_unit_test(suite_##name),
    SUITE_ALL(CASE)
#undef CASE
        cmocka_unit_test(test_both_hold_sessions),
    cmocka_unit_test(test_one_is_away),
};

int main(void)
{
    static char url[256];
    if (clickhouse_open(2))
        return 77;
    clickhouse_url(2, "shards", url, sizeof url);
    suite.ops = &store_clickhouse;
    suite.config.url = url;
    int failed = cmocka_run_group_tests(cases, suite_setup, suite_teardown);
    clickhouse_close();
    return failed;
}
