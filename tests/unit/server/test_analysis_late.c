/* test_analysis_late.c - tests rows that are loaded after the end of a session: its parts came
 * to two servers, and the other one has loaded the end. */
#include "server/analysis/analysis.h"
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "tests/unit/support/tmpdir.h"

/* Returns the head of the session's report, which is final. */
static struct meta_analysis_head final_report(struct analysis *a)
{
    struct meta_analysis_head head = {0};
    struct region mem;
    assert_true(analysis_wait(a, PATIENCE_NS));
    region_init(&mem, 1 << 20);
    const struct meta_ask ask = {fix.meta, "w", &mem, NULL};
    assert_int_equal(meta_analysis_head(&ask, "parted", ANALYSIS_REPORT, &head), 0);
    region_fini(&mem);
    assert_true(head.final);
    return head;
}

/* The rows are in the next report, which is final as well. */
TEST(test_rows_after_the_end)
{
    struct analysis *a;
    struct ingest_answer answer;
    struct err e = {0};
    int64_t offset = 0;
    const struct analysis_config c = {.ops = &store_duckdb,
                                      .store = fix.store,
                                      .meta = fix.meta,
                                      .first_ns = 1000000,
                                      .every_ns = 1000000};
    fixture_send_rows("parted", 0, 5, &offset);
    ingest_complete(fix.intake.ingest, "w", "parted", &answer);
    fixture_drain(&fix);
    if (analysis_open(&a, &c, &e))
        fail_msg("%s", e.text);
    analysis_news(a, &(struct loader_news){.workspace = "w", .session = "parted", .ended = true});
    int64_t made = final_report(a).made;
    analysis_news(a, &(struct loader_news){.workspace = "w", .session = "parted", .rows = 50});
    assert_true(final_report(a).made > made);
    analysis_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows_after_the_end, fixture_open, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
