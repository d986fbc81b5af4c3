/* test_duckdb.c - the conformance suite on DuckDB. Skipped, with a message, where the library is
 * not available. */
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
    return cmocka_run_group_tests(cases, suite_setup, suite_teardown);
}
