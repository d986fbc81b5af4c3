/* test_duckdb.c - runs the conformance suite on DuckDB: with small sessions in packs, and with a
 * file for each session ("files"). Skipped, with a message, if the library is not available. */
#include "suite.h"

#include "store/duckdb/duck.h"

#include <string.h>

static const struct CMUnitTest cases[] = {
#define CASE(name) cmocka_unit_test(suite_##name),
    SUITE_ALL(CASE)
#undef CASE
};

int main(int argc, char **argv)
{
    struct err e = {0};
    if (!duck_open(&e)) {
        printf("skipped: %s\n", e.text);
        return 0;
    }
    suite.ops = &store_duckdb;
    if (argc > 1 && strcmp(argv[1], "files") == 0) {
        suite.config.small_most = -1;
        suite.config.history_most = 1; /* rows are moved to the table by name at once */
    }
    return cmocka_run_group_tests(cases, suite_setup, suite_teardown);
}
