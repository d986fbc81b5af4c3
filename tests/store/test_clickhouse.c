/* test_clickhouse.c - runs the conformance suite on ClickHouse: with a real server, which the test
 * starts. Small sessions are in one table, or with the argument "large" none are; with the argument
 * "alone" no other server writes. Skipped, with a message, if ClickHouse is not installed. */
#include "suite.h"

#include "clickhouse_server.h"

#include <string.h>

static const struct CMUnitTest cases[] = {
#define CASE(name) cmocka_unit_test(suite_##name),
    SUITE_ALL(CASE)
#undef CASE
};

int main(int argc, char **argv)
{
    static char url[256];
    if (clickhouse_open(1))
        return 77;
    clickhouse_url(1, "suite", url, sizeof url);
    suite.ops = &store_clickhouse;
    suite.config.url = url;
    if (argc > 1 && strcmp(argv[1], "large") == 0)
        suite.config.small_most = -1;
    suite.config.alone = argc > 1 && strcmp(argv[1], "alone") == 0;
    int failed = cmocka_run_group_tests(cases, suite_setup, suite_teardown);
    clickhouse_close();
    return failed;
}
