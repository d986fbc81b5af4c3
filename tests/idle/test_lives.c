/* test_lives.c - samples of host threads while threads begin and end, processes fork and end,
 * windows open and close, descriptors are closed; and no samples if none are requested. */
#include "tests/fake/runner.h"
#include "tests/idle/rows.h"
#include "tests/test.h"

#include <string.h>

#define MS INT64_C(1000000)

enum { IN_A_ROUND = 8 }; /* threads, in addition to the process's first */

static void run_threads(struct run *r, const char *const *env, const char *const *program, int code)
{
    run_all(r, &(struct run_setup){.env = env, .program = program, .binary = "fake/idle_threads"});
    check_program(r, code);
    assert_non_null(r->report);
}

static void check_sampled(const struct run *r)
{
    struct rows rows;
    rows_open(&rows, r->logs);
    assert_int_equal(rows.damaged, 0);
    assert_true(rows.count > 10);
    assert_int_equal(int_at(r->report, "ledger.host_samples"), (int64_t)rows.count);
    rows_close(&rows);
}

TEST(threads_come_and_go)
{
    struct run r;
    run_threads(&r, NULL, LIST("compute", "churn=1000", "ms=300"), 0);
    check_sampled(&r);
    assert_int_equal(int_at(r.report, "ledger.host_samples_no_memory"), 0);
    assert_int_equal(int_at(r.said, "0.samplers"), 1);
    assert_true(int_at(r.said, "0.descriptors") < 540); /* two for each of 256 threads, and a few */
    run_free(&r);
}

/* There are more threads than one round samples: each has its turn, and none is left out. The
 * process's first thread, which blocks, is sampled in each round. */
static void take_turns(const char *threads, size_t count, const char *time, size_t least)
{
    struct run r;
    struct rows rows;
    size_t i, of_first = 0;
    json_t *role;
    run_threads(&r, NULL, LIST(threads, time), 0);
    rows_open(&rows, r.logs);
    assert_int_equal(rows.damaged, 0);
    json_array_foreach(at(r.said, "0.roles"), i, role)
    {
        size_t n = 0;
        for (size_t s = 0; s < rows.count; s++)
            n += rows.samples[s].thread == int_at(role, "tid");
        assert_in_range(n, least, rows.count);
    }
    assert_int_equal(i, count);
    for (size_t s = 0; s < rows.count; s++)
        of_first += rows.samples[s].thread == int_at(r.said, "0.pid");
    assert_true(of_first * (IN_A_ROUND + 1) + IN_A_ROUND >= rows.count);
    assert_int_equal(int_at(r.report, "ledger.host_samples"), (int64_t)rows.count);
    assert_int_equal(int_at(r.report, "ledger.host_samples_no_memory"), 0);
    rows_close(&rows);
    run_free(&r);
}

TEST(many_threads_take_turns)
{
    take_turns("many=150", 150, "ms=14000", 1);
}

/* The sampler may take 0.9 % of a core: about 30 to 90 samples a second on a busy machine. A turn
 * of all takes 560. */
TEST(five_hundred_threads)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    take_turns("many=500", 500, "ms=60000", 1); /* samples take many times as long, and are fewer */
#else
    take_turns("many=500", 500, "ms=40000", 1);
#endif
}

TEST(a_child_has_no_such_thread)
{
    struct run r;
    run_threads(&r, NULL, LIST("pipe", "fork", "ms=300"), 0);
    assert_int_equal(int_at(r.said, "0.samplers"), 0);
    assert_int_equal(int_at(r.said, "1.samplers"), 1);
    check_sampled(&r);
    run_free(&r);
}

TEST(exit_while_sampled)
{
    struct run r;
    run_threads(&r, NULL, LIST("compute", "pipe", "sleep", "exit=7", "ms=300"), 7);
    check_sampled(&r);
    assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
    run_free(&r);
}

/* After the first thread has ended, its number still names the process, and its files exist. glibc
 * does not free what it allocates for the destructors of such a thread: LeakSanitizer reports
 * that. */
TEST(first_thread_ends)
{
    struct run r;
    struct rows rows;
    int64_t without = 0;
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    run_threads(&r, NULL, LIST("pipe", "first-ends", "ms=300"), 0);
    check_sampled(&r);
    rows_open(&rows, r.logs);
    for (size_t i = 0; i < rows.count; i++)
        without += !rows.samples[i].stack;
    /* The first thread may be sampled once more. */
    assert_in_range(int_at(r.report, "ledger.host_samples_no_thread"), without, without + 1);
    rows_close(&rows);
    run_free(&r);
}

/* ThreadSanitizer identifies descriptors by number, and takes ours for the program's. */
TEST(program_closes_all_descriptors)
{
    struct run r;
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    run_threads(&r, NULL, LIST("pipe", "close", "ms=300"), 0);
    check_sampled(&r);
    run_free(&r);
}

TEST(none_are_asked_for)
{
    struct run r;
    run_threads(&r, LIST("GPUFL_HOST_SAMPLES_HZ=0"), LIST("pipe", "ms=100"), 0);
    assert_int_equal(int_at(r.said, "0.samplers"), 0);
    assert_true(unknown_at(r.report, "ledger.host_samples"));
    assert_true(unknown_at(r.report, "ledger.host_samples_late"));
    assert_true(unknown_at(r.report, "ledger.cost_host_samples"));
    assert_string_equal(capability_of(&r, "host_samples", "status"), "not_requested");
    run_free(&r);
}

/* Counts the samples of the thread in its waits, except in the first ms of each: the thread may
 * begin to wait after the sampler has checked that, and before the sample. */
static size_t samples_in_waits(const struct rows *rows, int64_t tid)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->count; i++)
        for (size_t w = 0; w < rows->wait_count && rows->samples[i].thread == tid; w++) {
            int64_t into = rows->samples[i].start - rows->waits[w].start;
            n += rows->waits[w].thread == tid && into > MS && into < rows->waits[w].duration;
        }
    return n;
}

/* A call that waits has a row of its own: its thread is not sampled meanwhile. */
TEST(waits_are_left_out)
{
    struct run r;
    struct rows rows;
    int64_t waited = 0;
    run_threads(&r, NULL, LIST("wait", "ms=1000"), 0);
    rows_open(&rows, r.logs);
    int64_t tid = int_at(r.said, "0.roles.0.tid");
    for (size_t w = 0; w < rows.wait_count; w++)
        waited += rows.waits[w].thread == tid ? rows.waits[w].duration : 0;
    assert_true(waited > 500 * MS);
    assert_int_equal(samples_in_waits(&rows, tid), 0);
    rows_close(&rows);
    run_free(&r);
}

/* There are windows of 100 ms, one every 300 ms. A window's row has a time after the engine was
 * switched on. */
TEST(inside_windows_only)
{
    struct run r;
    struct rows rows;
    run_threads(&r,
                LIST("GPUFL_WINDOWS=true", "GPUFL_WINDOW_AFTER_MS=100", "GPUFL_WINDOW_FOR_MS=100",
                     "GPUFL_WINDOW_EVERY_MS=300"),
                LIST("pipe", "ms=1000"), 0);
    rows_open(&rows, r.logs);
    assert_true(rows.window_count >= 4);
    assert_true(rows.count > 10);
    for (size_t i = 0; i < rows.count; i++) {
        bool inside = false;
        for (size_t w = 0; w < rows.window_count; w++) {
            bool last = w + 1 == rows.window_count;
            inside |= rows.windows[w].phase == 0 &&
                      rows.samples[i].start >= rows.windows[w].time - 50 * MS &&
                      (last || rows.samples[i].start <= rows.windows[w + 1].time);
        }
        assert_true(inside);
    }
    rows_close(&rows);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(many_threads_take_turns),
        cmocka_unit_test(five_hundred_threads),
        cmocka_unit_test(a_child_has_no_such_thread),
        cmocka_unit_test(exit_while_sampled),
        cmocka_unit_test(first_thread_ends),
        cmocka_unit_test(program_closes_all_descriptors),
        cmocka_unit_test(none_are_asked_for),
        cmocka_unit_test(waits_are_left_out),
        cmocka_unit_test(inside_windows_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
