/* test_passes.c - tests `gpufl trace --passes` over the fake libraries: every engine of the ladder
 * runs in its own pass of the same program, and the report has the results of each. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <string.h>

static json_t *pass_at(const struct run *r, unsigned i)
{
    return json_array_get(at(r->report, "groups.0.passes"), i);
}

static void check_gives(const struct run *r, unsigned i, const char *engine, const char *kind)
{
    json_t *pass = pass_at(r, i);
    assert_string_equal(text_at(pass, "engine"), engine);
    assert_string_equal(text_at(pass, "engine_ran"), engine);
    assert_string_equal(text_at(pass, "gives.0"), kind);
    assert_int_equal(int_at(pass, "sessions"), 1);
}

/* The report has the results of each engine, and the kernels of the first pass once. */
TEST(every_engine_gives_its_part)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("--passes",
                                                    "Trace,PcSampling,SassMetrics,RangeProfiler",
                                                    "--ranges", "kernels"),
                                    .program = LIST("500", "ms=300")});
    check_program(&r, 0);
    check_gives(&r, 0, "Trace", "times");
    check_gives(&r, 1, "PcSampling", "samples");
    check_gives(&r, 2, "SassMetrics", "instructions");
    check_gives(&r, 3, "RangeProfiler", "counters");
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
    assert_true(int_at(r.report, "samples.samples") > 0);
    assert_true(json_array_size(at(r.report, "instructions.kernels")) > 0);
    assert_true(json_array_size(at(r.report, "counters")) > 0);
    /* Each pass has as many launches as its run of the program says. */
    for (unsigned i = 0; i < 4; i++) {
        char path[32];
        snprintf(path, sizeof path, "%u.launches", i);
        assert_int_equal(int_at(pass_at(&r, i), "kernels_launched"), int_at(r.said, path));
    }
    run_free(&r);
}

/* A pass whose engine is not available has no result and says why; the other passes have theirs. */
TEST(an_engine_that_cannot_be_had)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("FAKE_CUPTI=pc-privileges"),
                                    .options = LIST("--passes", "Trace,PcSampling,SassMetrics"),
                                    .program = LIST("200")});
    check_program(&r, 0);
    json_t *pass = pass_at(&r, 1);
    assert_int_equal(json_array_size(at(pass, "gives")), 0);
    assert_true(strlen(text_at(pass, "gave_nothing")) > 0);
    check_gives(&r, 2, "SassMetrics", "instructions");
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    run_free(&r);
}

/* The report has both processes of each pass. */
TEST(several_processes)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("--passes", "Trace,PcSampling"),
                                    .program = LIST("300", "fork=before", "ms=300")});
    assert_int_equal(r.code, 0);
    assert_int_equal(int_at(pass_at(&r, 0), "sessions"), 2);
    assert_int_equal(int_at(pass_at(&r, 1), "sessions"), 2);
    assert_int_equal(int_at(r.report, "kernels.count"),
                     int_at(r.said, "0.launches") + int_at(r.said, "1.launches"));
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_engine_gives_its_part),
        cmocka_unit_test(an_engine_that_cannot_be_had),
        cmocka_unit_test(several_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
