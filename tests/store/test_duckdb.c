/* test_duckdb.c - the conformance suite on DuckDB: as sessions come, which are small at first, and
 * with a file for each. Skipped, with a message, where the library is not available. */
#include "suite.h"

#include "store/duckdb/duck.h"

static const struct CMUnitTest cases[] = {
#define CASE(name) cmocka_unit_test(suite_##name),
    SUITE_ALL(CASE)
#undef CASE
};

int main(void)
{
    struct err e = {0};
    if (!duck_open(&e)) {
        printf("skipped: %s\n", e.text);
        return 0;
    }
    suite.ops = &store_duckdb;
    int failed = cmocka_run_group_tests_name("small", cases, suite_setup, suite_teardown);
    suite = (struct suite){.ops = &store_duckdb, .config = {.small_most = -1}};
    return failed + cmocka_run_group_tests_name("files", cases, suite_setup, suite_teardown);
}
