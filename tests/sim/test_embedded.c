/* test_embedded.c - is tests a program that launches nothing itself, captured with the simulated
 * backend: the loop of GPUFL_SIM runs concurrently, on the real clock. */
#include "readback.h"
#include "tests/test.h"

#include <gpufl/gpufl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Runs a session of that many ms with an open scope, and reads it. */
static void session(struct readback *r, enum gpufl_engine engine, const char *sim, long ms)
{
    char top[] = "gpufl-sim-embedded.XXXXXX";
    char dir[4096], command[64];
    struct gpufl_options o;
    struct timespec length = {ms / 1000, ms % 1000 * 1000000};
    assert_non_null(mkdtemp(top));
    setenv("GPUFL_SIM", sim, 1);
    gpufl_options_init(&o, sizeof o);
    o.app_name = "embedded";
    o.log_path = top;
    o.backend = GPUFL_BACKEND_SIM;
    o.profiling_engine = engine;
    o.system_sample_rate_ms = 20;
    o.continuous_system_sampling = true;
    assert_int_equal(gpufl_init(&o), 0);
    uint64_t scope = gpufl_scope_begin("main loop", NULL);
    nanosleep(&length, NULL); /* the program's own work */
    gpufl_scope_end(scope);
    snprintf(dir, sizeof dir, "%s", gpufl_session_dir());
    gpufl_shutdown();
    readback_open(r, dir);
    snprintf(command, sizeof command, "rm -rf %s", top);
    assert_int_equal(system(command), 0);
}

/* The whole loop is captured, and its launches inherit the scope of the only thread with one. */
TEST(loop_and_the_program)
{
    struct readback r;
    session(&r, GPUFL_ENGINE_TRACE, "rate=20000,devices=2", 500);
    assert_true(r.simulated);
    assert_int_equal(r.damaged, 0);
    assert_true(r.kernels.count > 1000);
    assert_int_equal(r.ledger.launches + r.ledger.graph_kernels, r.kernels.count);
    assert_int_equal(r.ledger.kernels_written, r.kernels.count);
    assert_int_equal(r.ledger.lost_driver + r.ledger.lost_pool + r.ledger.lost_time, 0);
    assert_int_equal(r.rows[RECORD_scope], 1);
    const struct named *scope = readback_find(&r.by_path, "/main loop");
    assert_non_null(scope);
    assert_true(scope->own.count > r.kernels.count / 2);
    assert_int_equal(r.ledger.launches_shared, 0);
    assert_true(r.rows[RECORD_device_metric] > 10);
    readback_close(&r);
}

/* Engine Monitor records no kernels, but the loop keeps the devices busy. */
TEST(monitor_only)
{
    struct readback r;
    session(&r, GPUFL_ENGINE_MONITOR, "rate=20000,devices=2", 300);
    assert_int_equal(r.kernels.count, 0);
    assert_true(r.metrics > 0);
    assert_in_range(r.busiest, 1, 100);
    readback_close(&r);
}

/* Engine Sync records the waits of the loop, and nothing of the GPU. */
TEST(sync_only)
{
    struct readback r;
    session(&r, GPUFL_ENGINE_SYNC, "rate=20000,devices=1", 100);
    assert_int_equal(r.kernels.count, 0);
    assert_int_equal(r.rows[RECORD_memcpy] + r.rows[RECORD_sync] + r.rows[RECORD_memset], 0);
    assert_true(r.rows[RECORD_wait] > 0);
    assert_int_equal(r.ledger.waits_recorded, r.rows[RECORD_wait]);
    assert_true(r.ledger.launches > 0);
    assert_int_equal(r.rows[RECORD_end], 1);
    readback_close(&r);
}

/* A scope that is open when the session ends is named; the scope before it has its counts. */
TEST(scope_left_open)
{
    char top[] = "gpufl-sim-embedded.XXXXXX", command[4400];
    struct readback r;
    struct gpufl_options o;
    assert_non_null(mkdtemp(top));
    setenv("GPUFL_SIM", "rate=20000,devices=1", 1);
    gpufl_options_init(&o, sizeof o);
    o.log_path = top;
    o.backend = GPUFL_BACKEND_SIM;
    o.profiling_engine = GPUFL_ENGINE_RANGE_PROFILER;
    assert_int_equal(gpufl_init(&o), 0);
    gpufl_scope_end(gpufl_scope_begin("complete", NULL));
    (void)gpufl_scope_begin("left", NULL);
    gpufl_shutdown();
    readback_open(&r, gpufl_session_dir());
    assert_true(r.rows[RECORD_counter] > 0);
    readback_close(&r);
    snprintf(command, sizeof command, "zgrep -q 'left: 1, open when the session ended' %s/*",
             gpufl_session_dir());
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "rm -rf %s", top);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sync_only),
        cmocka_unit_test(loop_and_the_program),
        cmocka_unit_test(monitor_only),
        cmocka_unit_test(scope_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
