/* test_processes.c - programs that link libgpufl themselves, fork, are killed,
 * or run longer than their capture. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <gpufl/gpufl.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- linked and injected ------------------------------------------------------------------- */

/* One session with the program's scope and every kernel once, whichever library began first. */
static void check_linked(const char *const *env, const char *const *program, int libraries)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = env, .program = program, .linked = true});
    check_program(&r, 0);
    check_complete(&r);
    assert_int_equal(json_array_size(at(r.report, "sessions")), 1);
    assert_int_equal(int_at(r.said, "0.libgpufl"), libraries);
    assert_int_equal(int_at(r.report, "ledger.scopes_opened"), 1);
    assert_string_equal(text_at(r.report, "scopes.0.name"), "work");
    assert_int_equal(int_at(r.report, "scopes.0.calls"), 1);
    bool late = strcmp(program[3], "init-late") == 0; /* then what the code sets comes too late */
    const char *missed = message_of(&r, "init_late");
    assert_int_equal(json_array_size(at(r.report, "messages")), late);
    assert_true(!late || (missed && strstr(missed, "gpufl_init sets app_name=linked, but")));
    assert_int_equal(strcmp(text_at(r.report, "session.app"), "linked") == 0, !late);
    run_free(&r);
}

TEST(linked_and_injected)
{
    check_linked(NULL, LIST("500", "threads=2", "graphs=1", "1"), 1);
    check_linked(NULL, LIST("500", "threads=2", "graphs=1", "init-late"), 1);
}

/* The injected library is another copy of the linked one, under another path. */
TEST(two_copies)
{
    char library[PATH_MAX + 32];
    snprintf(library, sizeof library, "GPUFL_LIBRARY=%s", built_file("fake/copy/libgpufl.so"));
    check_linked(LIST(library), LIST("500", "threads=2", "graphs=1", "1"), 2);
    check_linked(LIST(library), LIST("500", "threads=2", "graphs=1", "init-late"), 2);
}

/* Without `gpufl trace`: the program captures itself. */
TEST(linked_alone)
{
    static const char *const orders[] = {"1", "init-late"};
    for (size_t i = 0; i < 2; i++) {
        struct run r;
        char logs[] = "GPUFL_LOG_PATH=logs";
        run_all(&r, &(struct run_setup){.env = LIST(logs),
                                        .program = LIST(orders[i], "500", "graphs=2"),
                                        .linked = true,
                                        .alone = true});
        check_program(&r, 0);
        check_complete(&r);
        assert_string_equal(text_at(r.report, "session.end_reason"), "shutdown");
        assert_string_equal(text_at(r.report, "session.app"), "linked");
        run_free(&r);
    }
}

/* The rank that a session says its process was; "": it says none. */
static const char *rank_of(const struct run *r)
{
    size_t i;
    json_t *one;
    json_array_foreach(at(r->report, "settings"), i, one)
    {
        if (strcmp(text_at(one, "engine"), "process") == 0 &&
            strcmp(text_at(one, "name"), "rank") == 0)
            return text_at(one, "value");
    }
    return "";
}

/* A number that a launcher sets is the rank, and nothing else is. */
TEST(rank_of_a_job)
{
    static const struct {
        const char *one, *other, *want;
    } cases[] = {{"RANK=3", "SLURM_PROCID=9", "3"},
                 {"RANK=", "OMPI_COMM_WORLD_RANK=12", "12"},
                 {"RANK=first", "PMI_RANK=-1", ""},
                 {"RANK=12345678901", "LOCAL_RANK=1", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.env = LIST(cases[i].one, cases[i].other),
                                        .program = LIST("10")});
        check_program(&r, 0);
        assert_string_equal(rank_of(&r), cases[i].want);
        run_free(&r);
    }
}

/* Insights of the category in a report. */
static int insights_of(const struct run *r, const char *category)
{
    size_t i;
    json_t *insight;
    int count = 0;
    json_array_foreach(at(r->report, "insights"), i, insight)
    {
        count += strcmp(text_at(insight, "category"), category) == 0;
    }
    return count;
}

/* The guide on synchronizations sets two flags and no engine: Sync runs, and its finding is there.
 * Under `gpufl trace` the engine is that of the command, the directory that of the code; the run's
 * directory leads there. */
TEST(the_guide_on_synchronizations)
{
    static const char *const engines[] = {"Sync", "Trace", "Deep"};
    for (size_t i = 0; i < 3; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.program = LIST("200", "guide"),
                                        .env = i == 2 ? LIST("GPUFL_FORCE_ENGINE=Deep")
                                                      : LIST("GPUFL_ENABLED=true"),
                                        .linked = true,
                                        .alone = i == 0});
        check_program(&r, 0);
        if (i == 0) { /* its logs are in the directory that its code sets */
            snprintf(r.logs, sizeof r.logs, "%.4000s/guide-logs", r.w.dir);
            json_decref(r.report);
            r.report = run_report(&r);
        }
        assert_non_null(r.report);
        assert_int_equal(json_array_size(at(r.report, "sessions")), 1);
        assert_string_equal(text_at(r.report, "settings.0.name"), "ran_as");
        assert_string_equal(text_at(r.report, "settings.0.engine"), engines[i]);
        assert_true(insights_of(&r, "SYNCHRONIZATION") > 0);
        run_free(&r);
    }
}

/* The messages of that code whose text has this in it. */
static int64_t messages_with(const struct run *r, const char *code, const char *text)
{
    size_t i;
    json_t *message;
    int64_t count = 0;
    json_array_foreach(at(r->report, "messages"), i, message)
    {
        if (!strcmp(text_at(message, "code"), code) && strstr(text_at(message, "text"), text))
            count += int_at(message, "count");
    }
    return count;
}

/* A session that begins after the driver's start says what its engine misses, if that is more
 * than the work before it. Every such session says so; only the first says that work came before
 * it. */
TEST(begun_late)
{
    static const char before[] = "what ran until then is not in this session";
    const struct {
        const char *engine, *lacks; /* of program.c; of the message */
        const char *order, *more;   /* of program.c */
        int said, first;            /* messages; those about the time before */
    } cases[] = {
        {"100", "", "init-late", "100", 0, 0}, /* Trace has all from there on */
        {"ranged", "", "init-late", "100", 0, 0},
        {"sampled", "is sampled", "init-late", "100", 1, 1},
        {"sampled", "is sampled", "init-late", "apart", 1, 1},
        {"counted", "a device that", "init-late", "100", 1, 1},
        {"instrumented", "kernels of graphs", "init-late", "100", 1, 1},
        {"instrumented", "kernels of graphs", "init-late", "sessions=3", 3, 1},
        {"sampled", "", "100", "sessions=2", 0, 0}, /* the first was in time */
        {"instrumented", "", "100", "sessions=2", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){
                        .env = LIST("GPUFL_LOG_PATH=logs"),
                        .program = LIST("100", cases[i].engine, cases[i].order, cases[i].more),
                        .linked = true,
                        .alone = true});
        check_program(&r, 0);
        assert_non_null(r.report);
        if (messages_with(&r, "engine.late", cases[i].lacks) != cases[i].said ||
            messages_with(&r, "engine.late", "") != cases[i].said ||
            messages_with(&r, "engine.late", before) != cases[i].first)
            fail_msg("%s %s %s: %s", cases[i].engine, cases[i].order, cases[i].more,
                     message_of(&r, "engine.late"));
        run_free(&r);
    }
}

/* Threads launch on while sessions end and begin: CUPTI has a buffer at most ends, and gives it
 * back in the next session. The sessions share one pool, and the records in such a buffer are not
 * taken for records of the next session. */
TEST(many_sessions_share_one_pool)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("GPUFL_LOG_PATH=logs", "GPUFL_LOG_COMPRESS=false"),
                                    .program = LIST("20", "busy", "rate=4", "sessions=30"),
                                    .linked = true,
                                    .alone = true});
    check_program(&r, 0);
    assert_int_equal(json_array_size(at(r.report, "sessions")), 30);
    assert_true(int_at(json_array_get(r.said, 0), "pools") > 0);
    /* A negative number: the allocator unmapped memory of its own. A pool for each session would
     * make 29. */
    int64_t more = int_at(json_array_get(r.said, 0), "pools_more");
    if (more > 0)
        fail_msg("%lld more mappings as large as a pool", (long long)more);
    assert_int_equal(int_at(r.report, "ledger.lost_time"), 0);
    run_free(&r);
}

/* Under `gpufl trace` the library begins with the driver, whenever the program calls gpufl_init. */
TEST(injected_is_in_time)
{
    static const char *const engines[] = {"PcSampling", "SassMetrics", "Deep", "PmSampling"};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        for (int linked = 0; linked < 2; linked++) {
            struct run r;
            run_all(&r, &(struct run_setup){.options = LIST("-e", engines[i]),
                                            .program = LIST("100", "init-late"),
                                            .linked = linked});
            check_program(&r, 0);
            assert_null(message_of(&r, "engine.late"));
            run_free(&r);
        }
}

/* ---- fork ---------------------------------------------------------------------------------- */

/* A fork before the driver is up: two processes have two sessions of one run, each complete. */
TEST(fork_before_init)
{
    struct run r;
    run_all(&r, &(struct run_setup){.program = LIST("400", "threads=2", "fork=before")});
    check_program(&r, 0);
    assert_int_equal(json_array_size(r.said), 2);
    assert_int_equal(json_array_size(at(r.report, "sessions")), 2);
    assert_int_equal(int_at(r.report, "sessions.0.kernels"), 1200);
    assert_int_equal(int_at(r.report, "sessions.1.kernels"), 1200);
    assert_string_equal(text_at(r.report, "sessions.0.run"), text_at(r.report, "sessions.1.run"));
    assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
    run_free(&r);
}

/* A fork afterwards: the parent's capture is complete; the child, whose kernels are not
 * recorded, stays silent and ends as it likes. */
TEST(fork_after_init)
{
    for (int linked = 0; linked < 2; linked++) {
        struct run r;
        /* The child cannot free everything safely, which is no leak. */
        run_all(&r, &(struct run_setup){.env = LIST("ASAN_OPTIONS=detect_leaks=0"),
                                        .program = LIST("400", "threads=2", "fork=after"),
                                        .linked = linked});
        check_program(&r, 0);
        check_complete(&r);
        assert_int_equal(json_array_size(at(r.report, "sessions")), 1);
        run_free(&r);
    }
}

/* ---- ends ---------------------------------------------------------------------------------- */

/* After SIGKILL the flushed records are on disk, and the launches in the last ledger show
 * how many are not. */
TEST(killed)
{
    enum { LATE = 200, LAUNCHES = 1500 };
    struct run r;
    run_start(&r, &(struct run_setup){.env = LIST("FAKE_CUPTI=late=200"),
                                      .program = LIST("500", "threads=2", "wait")});
    child_expect(&r.c, CHILD_OUT, "\n");
    run_expect(&r, "ledger.launches", LAUNCHES);
    run_expect(&r, "ledger.kernels_recorded", LAUNCHES - LATE);
    json_t *live = run_report(&r);
    kill((pid_t)int_at(live, "session.pid"), SIGKILL);
    json_decref(live);
    run_end(&r);
    check_program(&r, 128 + SIGKILL);
    int64_t kernels = int_at(r.report, "kernels.count");
    assert_true(kernels >= LAUNCHES - LATE && kernels < LAUNCHES);
    assert_true(json_is_false(at(r.report, "session.clean_end")));
    assert_true(json_is_false(at(r.report, "ledger.final")));
    assert_int_equal(int_at(r.report, "ledger.launches"), LAUNCHES);
    assert_int_equal(int_at(r.report, "ledger.kernels_recorded"), kernels);
    assert_string_equal(text_at(r.report, "ledger.verdict"), "incomplete");
    char text[64];
    snprintf(text, sizeof text, "%d kernels of 1,500 launched", (int)(LAUNCHES - kernels));
    check_contains(&r, text_at(r.report, "ledger.missing.0"), text);
    check_contains(&r, r.c.text[CHILD_ERR].data, "signal 9");
    run_free(&r);
}

/* Longer than the program works, also on a full machine. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define LONGER_THAN_WORK "20s"
#else
#define LONGER_THAN_WORK "3s"
#endif

/* The capture ends by itself, the program does not notice. */
TEST(duration)
{
    struct run r;
    run_start(&r, &(struct run_setup){.options = LIST("--duration", LONGER_THAN_WORK),
                                      .program = LIST("500", "threads=2", "wait", "exit=3"),
                                      .reported = true});
    child_expect(&r.c, CHILD_ERR, "What to change first"); /* the program is still there */
    child_send(&r.c, "go\n", 3);
    run_end(&r);
    check_program(&r, 3);
    check_complete(&r);
    assert_string_equal(text_at(r.report, "session.end_reason"), "duration");
    check_contains(&r, message_of(&r, "duration"), "the program runs on");
    run_free(&r);
}

/* If the machine is so busy that ThreadSanitizer's program cannot end in the time that exit
 * gives it, the program says so, and ends all the same. */
static bool is_given_up(const struct run *r)
{
#ifdef __SANITIZE_THREAD__
    enum { LEAKED = 66 }; /* the thread that is left to itself */
    if (!strstr(r->c.text[CHILD_ERR].data, "the end of the capture did not come in time"))
        return false;
    assert_true(r->code == 6 || r->code == LEAKED);
    return true;
#else
    (void)r;
    return false;
#endif
}

/* Threads that launch while the process ends harm nothing: every row that came is
 * there, and the session is closed. */
TEST(launching_at_exit)
{
    int ended = 0;
    for (int i = 0; i < FEWER(5, 3); i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.program = LIST("200", "storm=4", "rate=4", "exit=6")});
        if (is_given_up(&r)) {
            run_free(&r);
            continue;
        }
        ended++;
        check_program(&r, 6);
        assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
        assert_true(json_is_true(at(r.report, "ledger.final")));
        int64_t launched = int_at(r.report, "ledger.launches"),
                here = int_at(r.report, "kernels.count");
        assert_true(here >= int_at(r.said, "0.launches"));
        assert_int_equal(here, int_at(r.report, "ledger.kernels_recorded"));
        if (here != launched)
            assert_string_equal(text_at(r.report, "ledger.verdict"), "incomplete");
        run_free(&r);
    }
    assert_true(ended > 0);
}

/* If a thread never returns from the driver, no engine waits for it so long that the session's
 * end is not written. In windows no engine counts at the end, and none waits. */
TEST(a_launch_that_never_returns)
{
    static const char *const engines[] = {"Trace",         "PcSampling", "SassMetrics",
                                          "RangeProfiler", "PmSampling", "Deep"};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.env = LIST("ASAN_OPTIONS=detect_leaks=0"),
                                        .options = LIST("-e", engines[i]),
                                        .program = LIST("300", "stuck", "exit=5")});
        check_program(&r, 5);
        if (!json_is_true(at(r.report, "session.clean_end")))
            fail_msg("%s: no end is written", engines[i]);
        assert_true(json_is_true(at(r.report, "ledger.final")));
        run_free(&r);
    }
}

/* NVML is never initialized while another thread is inside cuInit, whatever the engine: the fake
 * aborts in the case in which the real libraries wait for each other for ever. */
TEST(nothing_of_ours_races_with_init)
{
    static const char *const engines[] = {"Monitor", "Sync", "Trace", "PmSampling"};
    struct run r;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        run_all(&r, &(struct run_setup){.env = LIST("FAKE_CUDA_INIT_MS=300"),
                                        .options = LIST("-e", engines[i], "-s", "10ms"),
                                        .program = LIST("300")});
        check_program(&r, 0);
        assert_true(int_at(r.report, "devices.0.metrics.samples") > 0);
        run_free(&r);
    }
    run_all(&r, &(struct run_setup){.env = LIST("FAKE_CUDA_INIT_MS=300"),
                                    .options = LIST("--yield-cupti", "-s", "10ms"),
                                    .program = LIST("300")});
    check_program(&r, 0);
    run_free(&r);
}

/* A program that calls gpufl_init on one thread while another is inside cuInit has its kernels. */
TEST(begun_during_init)
{
    static const int engines[] = {GPUFL_ENGINE_MONITOR,        GPUFL_ENGINE_SYNC,
                                  GPUFL_ENGINE_TRACE,          GPUFL_ENGINE_PC_SAMPLING,
                                  GPUFL_ENGINE_SASS_METRICS,   GPUFL_ENGINE_PM_SAMPLING,
                                  GPUFL_ENGINE_RANGE_PROFILER, GPUFL_ENGINE_DEEP};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        struct run r;
        char engine[16];
        snprintf(engine, sizeof engine, "%d", engines[i]);
        run_all(&r, &(struct run_setup){.env = LIST("FAKE_CUDA_INIT_MS=200", "GPUFL_LOG_PATH=logs"),
                                        .alone = true,
                                        .program = LIST(engine),
                                        .binary = "fake/fake_init_during"});
        check_program(&r, 0);
        if (engines[i] == GPUFL_ENGINE_TRACE)
            assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
        assert_true(json_is_true(at(r.report, "session.clean_end")));
        run_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linked_and_injected),
        cmocka_unit_test(two_copies),
        cmocka_unit_test(linked_alone),
        cmocka_unit_test(rank_of_a_job),
        cmocka_unit_test(the_guide_on_synchronizations),
        cmocka_unit_test(begun_late),
        cmocka_unit_test(many_sessions_share_one_pool),
        cmocka_unit_test(injected_is_in_time),
        cmocka_unit_test(nothing_of_ours_races_with_init),
        cmocka_unit_test(begun_during_init),
        cmocka_unit_test(fork_before_init),
        cmocka_unit_test(fork_after_init),
        cmocka_unit_test(killed),
        cmocka_unit_test(duration),
        cmocka_unit_test(launching_at_exit),
        cmocka_unit_test(a_launch_that_never_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
