/* test_clickhouse.c - the conformance suite on ClickHouse: a real server, which this starts. With
 * small sessions in one table or, with argument "large", none; with argument "alone" as a server
 * that no other one writes beside. Skipped, with a message, where it is not installed. */
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
