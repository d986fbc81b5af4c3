/* test_trace.c - runs without faults: the driver's work is in the report, to
 * the last kernel, whatever the order and the time in which records arrive; and
 * lost records are counted by cause. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

/* ---- complete ------------------------------------------------------------------------------ */

/* A script of the fake library under which nothing may be missing. */
struct complete_case {
    const char *script;
    const char *const *program;
};

TEST(ledger_closes)
{
    const struct complete_case cases[] = {
        {"FAKE_CUPTI=", LIST("5000", "threads=4", "graphs=7", "fail=3")},
        {"FAKE_CUPTI=late=300", LIST("1000", "threads=2", "graphs=2")},
        {"FAKE_CUPTI=shuffle", LIST("1000", "threads=2", "graphs=2")},
        {"FAKE_CUPTI=shuffle,late=77", LIST("3000", "threads=8")},
        {"FAKE_CUPTI=", LIST("0", "exit=0")},
        {"FAKE_CUPTI=", LIST("1", "threads=1", "graphs=50")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.env = LIST(cases[i].script), .program = cases[i].program});
        check_program(&r, 0);
        check_complete(&r);
        assert_string_equal(text_at(r.report, "session.engine"), "Trace");
        assert_string_equal(text_at(r.report, "session.backend"), "nvidia");
        assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
        assert_int_equal(json_array_size(at(r.report, "messages")), 0);
        run_free(&r);
    }
}

/* Names, launch shapes, times, waits: each against what the program does. */
TEST(details)
{
    struct run r;
    run_all(&r, &(struct run_setup){.program = LIST("1000", "threads=1", "graphs=4", "exit=7")});
    check_program(&r, 7);
    check_complete(&r);
    assert_int_equal(int_at(r.report, "kernels.names"), 3);
    size_t i;
    json_t *kernel;
    json_array_foreach(at(r.report, "kernels.by_name"), i, kernel)
    {
        const char *symbol = text_at(kernel, "symbol");
        bool node = !strcmp(symbol, "_Z10graph_nodev");
        assert_int_equal(int_at(kernel, "count"), node ? 20 : 1000);
        assert_int_equal(int_at(kernel, "graph"), node ? 20 : 0);
        assert_int_equal(int_at(kernel, "configs.0.block_x"), node ? 32 : 128);
        assert_int_equal(int_at(kernel, "min_ns"), node ? 400 : strstr(symbol, "gemm") ? 520 : 510);
    }
    assert_int_equal(int_at(r.report, "synchronizations.by_kind.stream.count"), 2);
    assert_int_equal(int_at(r.report, "synchronizations.by_kind.context.count"), 5);
    assert_int_equal(int_at(r.report, "fills.bytes"), 4096);
    assert_int_equal(int_at(r.report, "copies.by_kind.DtoH.bytes"), 4096);
    assert_int_equal(int_at(r.report, "devices.0.kernels"), 2020);
    assert_true(int_at(r.report, "kernels.busy.last_ns") <=
                int_at(r.report, "session.duration_ns"));
    run_free(&r);
}

/* Without our clock the library's own is converted. */
TEST(other_clock)
{
    struct run r;
    run_all(&r,
            &(struct run_setup){.env = LIST("FAKE_CUPTI=skew=1000000000000000,"
                                            "fail=cuptiActivityRegisterTimestampCallback:1:999")});
    check_program(&r, 0);
    check_complete(&r);
    assert_true(int_at(r.report, "kernels.busy.first_ns") >= 0);
    assert_true(int_at(r.report, "kernels.busy.last_ns") <=
                int_at(r.report, "session.duration_ns"));
    run_free(&r);
}

/* ---- losses -------------------------------------------------------------------------------- */

/* A script that loses or adds records, and the column that counts them. */
struct loss_case {
    const char *script;
    const char *column;
    int64_t every;        /* one in so many kernels */
    bool kernels_missing; /* they are not in the report */
    const char *sentence; /* of the report's "missing" */
};

static const struct loss_case losses[] = {
    {"FAKE_CUPTI=drop=10", "ledger.lost_driver", 10, true, "dropped by the driver"},
    {"FAKE_CUPTI=notime=8", "ledger.lost_time", 8, true, "impossible timestamps"},
    {"FAKE_CUPTI=alien", "ledger.unknown_records", 100, false, "does not read"},
};

static const char *missing_text(const struct run *r)
{
    static char all[4096];
    size_t i;
    json_t *line;
    all[0] = '\0';
    json_array_foreach(at(r->report, "ledger.missing"), i, line)
        strncat(all, json_string_value(line), sizeof all - strlen(all) - 1);
    return all;
}

TEST(losses_are_counted)
{
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.env = LIST(losses[i].script),
                                        .program = LIST("2000", "threads=3")});
        check_program(&r, 0);
        int64_t lost = 8000 / losses[i].every, here = 8000 - lost * losses[i].kernels_missing;
        assert_int_equal(int_at(r.report, "ledger.launches"), 8000);
        assert_int_equal(int_at(r.report, losses[i].column), lost);
        assert_int_equal(int_at(r.report, "kernels.count"), here);
        assert_string_equal(text_at(r.report, "ledger.verdict"),
                            losses[i].kernels_missing ? "incomplete" : "complete");
        check_contains(&r, missing_text(&r), losses[i].sentence);
        if (losses[i].kernels_missing)
            check_contains(&r, message_of(&r, "losses"), "the capture is not complete");
        run_free(&r);
    }
}

/* The pool is too small for what comes between two flushes: refused buffers are counted, so are
 * records that the library then drops, and the rest is there. */
TEST(small_pool)
{
    struct run r;
    run_all(&r,
            &(struct run_setup){.options = LIST("--option", "activity_buffer_bytes=65536",
                                                "--option", "activity_pool_bytes=65536", "--option",
                                                "flush_interval_ms=10000", "--option",
                                                "enable_external_correlation=false"),
                                .program = LIST("10000", "threads=4")});
    check_program(&r, 0);
    int64_t dropped = int_at(r.report, "ledger.lost_driver");
    assert_int_equal(int_at(r.report, "ledger.launches"), 50000);
    assert_true(int_at(r.report, "ledger.lost_pool") > 0);
    assert_true(dropped > 0);
    int64_t others = 12 - int_at(r.report, "ledger.copies_written");
    assert_int_equal(int_at(r.report, "ledger.syncs_written"), 9); /* of calls, not of records */
    assert_string_equal(capability_of(&r, "synchronizations", "status"), "collected");
    assert_int_equal(int_at(r.report, "kernels.count"), 50000 - (dropped - others));
    assert_string_equal(text_at(r.report, "ledger.verdict"), "incomplete");
    check_contains(&r, missing_text(&r), "activity_pool_bytes");
    assert_string_equal(capability_of(&r, "kernels", "status"), "partial");
    run_free(&r);
}

/* ---- devices ------------------------------------------------------------------------------- */

/* What a device does not answer is null, and what it answers with 0 is 0. */
TEST(unknown_is_not_zero)
{
    struct run r;
    run_start(&r, &(struct run_setup){.options = LIST("-s", "5ms"), .program = LIST("10", "wait")});
    run_expect(&r, "devices.1.metrics.samples", 2);
    child_send(&r.c, "go\n", 3);
    run_end(&r);
    check_program(&r, 0);
    check_complete(&r);
    json_t *first = at(r.report, "devices.0.metrics"), *second = at(r.report, "devices.1.metrics");
    static const char *const optional[] = {
        "gpu_util",  "mem_util",  "temperature", "temperature_memory", "power",
        "clock_sm",  "clock_gfx", "clock_mem",   "ecc_corrected",      "ecc_uncorrected",
        "processes", "pcie_rx",   "pcie_tx"};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
        assert_true(json_is_null(at(second, optional[i])));
        assert_true(json_is_object(at(first, optional[i])));
    }
    assert_true(json_is_null(at(first, "fan")));
    assert_true(json_is_null(at(second, "energy_j")));
    assert_int_equal(int_at(first, "mem_util.max"), 0);
    assert_int_equal(int_at(second, "memory_used.max"), 1 << 30);
    assert_string_equal(capability_of(&r, "device_metrics", "status"), "collected");
    run_free(&r);
}

/* Returns true if the running program has mapped a library whose name begins so. */
static bool program_has(const struct run *r, const char *library)
{
    char path[64], line[4400];
    bool found = false;
    json_t *live = run_report(r);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)int_at(live, "session.pid"));
    json_decref(live);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        found |= strstr(line, library) != NULL;
    fclose(f);
    return found;
}

/* Monitor samples devices and never loads CUPTI. */
TEST(monitor_without_cupti)
{
    static const char *const unknown[] = {
        "ledger.launches",       "ledger.kernels_recorded", "ledger.kernels_written",
        "ledger.copies_written", "ledger.syncs_written",    "ledger.waits_recorded",
        "ledger.waits_lost",     "ledger.stacks_captured",  "ledger.samples_recorded"};
    struct run r;
    run_start(&r, &(struct run_setup){.options = LIST("-e", "Monitor", "-s", "5ms"),
                                      .program = LIST("100", "graphs=1", "wait")});
    child_expect(&r.c, CHILD_OUT, "\n");
    run_expect(&r, "devices.1.metrics.samples", 2);
    assert_true(program_has(&r, "/libnvidia-ml.so.1"));
    assert_false(program_has(&r, "/libcupti.so"));
    child_send(&r.c, "go\n", 3);
    run_end(&r);
    check_program(&r, 0);
    assert_string_equal(text_at(r.report, "session.engine"), "Monitor");
    assert_true(unknown_at(r.report, "kernels.count"));
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (!json_is_null(at(r.report, unknown[i])))
            fail_msg("%s: a number of what was not looked at", unknown[i]);
    assert_int_equal(int_at(r.report, "ledger.scopes_opened"), 0);
    assert_int_equal(json_array_size(at(r.report, "sessions")), 1); /* the program's, not gpufl's */
    assert_string_equal(capability_of(&r, "kernels", "status"), "not_requested");
    assert_int_equal(json_array_size(at(r.report, "messages")), 0);
    run_free(&r);
}

/* Switched off: nothing is loaded, nothing is written. */
TEST(disabled)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("GPUFL_DISABLED=1"), .program = LIST("100")});
    check_program(&r, 0);
    assert_null(r.report);
    assert_int_equal(int_at(r.said, "0.cupti"), 0);
    assert_int_equal(int_at(r.said, "0.nvml"), 0);
    check_contains(&r, r.c.text[CHILD_ERR].data, "GPUFL_DISABLED");
    run_free(&r);
}

/* The debug output names every file of the session, which a thread without stderr creates. */
TEST(debug_output_names_the_files)
{
    static const char *const channels[] = {"device", "scope", "system", "code"};
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("--option", "enable_debug_output=true"),
                                    .program = LIST("100")});
    check_program(&r, 0);
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        char line[2 * PATH_MAX];
        snprintf(line, sizeof line, "gpufl: debug: file: %s/%s/%s.log\n", r.logs,
                 text_at(r.report, "session.id"), channels[i]);
        check_contains(&r, r.c.text[CHILD_ERR].data, line);
    }
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ledger_closes),
        cmocka_unit_test(details),
        cmocka_unit_test(other_clock),
        cmocka_unit_test(losses_are_counted),
        cmocka_unit_test(small_pool),
        cmocka_unit_test(unknown_is_not_zero),
        cmocka_unit_test(monitor_without_cupti),
        cmocka_unit_test(disabled),
        cmocka_unit_test(debug_output_names_the_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
