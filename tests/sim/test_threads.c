/* test_threads.c - tests 8 threads of scopes and kernels, one kernel in each scope: the ledger
 * counts every one, and every kernel is joined to its own scope.
 * The argument is the number for each thread (20000 without one). */
#include "backend/sim/sim.h"
#include "backend/sim/tally.h"
#include "base/process/thread.h"
#include "readback.h"
#include "tests/test.h"

#include <gpufl/gpufl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8 };

static long per_thread = 20000;

static void *work(void *arg)
{
    uint64_t number = (uintptr_t)arg;
    struct sim_thread *t;
    struct sim_work w = {.kernel = (unsigned)number, .grid = {64, 1, 1}, .block = {128, 1, 1}};
    char name[32];
    snprintf(name, sizeof name, "thread %d", (int)number);
    if (sim_thread_open(&t, number))
        return NULL;
    for (long i = 0; i < per_thread; i++) {
        sim_pace(t, 2);
        uint64_t scope = gpufl_scope_begin(name, NULL);
        sim_launch(t, (struct sim_at){(int)number % 2, (int)number}, &w);
        gpufl_scope_end(scope);
    }
    sim_thread_close(t);
    return NULL;
}

static void capture(char *dir, size_t size)
{
    struct sim_config config;
    struct gpufl_options o;
    struct thread threads[THREADS] = {0};
    sim_config_init(&config);
    config.devices = 2;
    config.ahead = true;
    assert_int_equal(sim_open(&config, NULL), 0);
    gpufl_options_init(&o, sizeof o);
    o.app_name = "threads";
    o.log_path = dir;
    o.backend = GPUFL_BACKEND_SIM;
    o.profiling_engine = GPUFL_ENGINE_TRACE;
    assert_int_equal(gpufl_init(&o), 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(thread_start(&threads[i], "work", 0, work, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        thread_join(&threads[i]);
    snprintf(dir, size, "%s", gpufl_session_dir());
    gpufl_shutdown();
}

static void ledger_closes(const struct ledger_row *l, int64_t total)
{
    assert_int_equal(l->final, 1);
    assert_int_equal(l->launches, total);
    assert_int_equal(l->kernels_recorded, total);
    assert_int_equal(l->kernels_written, total);
    assert_int_equal(l->scopes_opened, total);
    assert_int_equal(l->scopes_written, total);
    const int64_t zero[] = {l->scopes_lost, l->joins_lost, l->lost_driver,     l->lost_pool,
                            l->lost_time,   l->lost_spool, l->unknown_records, l->lost_memory};
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        assert_int_equal(zero[i], 0);
}

TEST(every_launch_is_there)
{
    char top[] = "gpufl-sim-threads.XXXXXX";
    char dir[4096], command[64];
    assert_non_null(mkdtemp(top));
    snprintf(dir, sizeof dir, "%s", top);
    capture(dir, sizeof dir);
    static struct sim_tally said;
    static struct readback found;
    sim_tally_read(&said);
    sim_close();
    readback_open(&found, dir);
    int64_t total = THREADS * per_thread;
    assert_int_equal(found.damaged, 0);
    assert_int_equal(found.rows[RECORD_kernel], total);
    assert_int_equal(found.rows[RECORD_scope], total);
    ledger_closes(&found.ledger, total);
    assert_int_equal(found.by_path.count, THREADS);
    for (int i = 0; i < THREADS; i++) {
        char path[32];
        snprintf(path, sizeof path, "/thread %d", i);
        const struct named *n = readback_find(&found.by_path, path);
        assert_non_null(n);
        assert_int_equal(n->sums.count, per_thread);
        assert_int_equal(n->own.count, per_thread);
        assert_int_equal(n->own.ns, said.kernels[i].ns);
    }
    for (size_t i = 0; i < found.openings_cap; i++)
        if (found.openings[i].seen)
            assert_int_equal(found.openings[i].kernels, 1);
    readback_close(&found);
    snprintf(command, sizeof command, "rm -rf %s", top);
    assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        per_thread = atol(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_launch_is_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
