/* A new vendor is a folder and its rows in two files. The toy vendor (toy/toy.h) is registered
 * in place of AMD's; a session chooses, describes and samples its GPUs, and its code is
 * distinguished from the user's. */
#include "tests/test.h"
#include "tests/unit/support/session_log.h"

#include <sched.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/backend.h"
#include "symbol/fold.h"
#include "tests/unit/support/tmpdir.h"
#include "toy/toy.h"

extern const struct backend backend_toy;

static void make_gpu(const char *gpu, const char *temperature)
{
    char name[64];
    assert_int_equal(mkdir(tmpdir_path(gpu), 0700), 0);
    snprintf(name, sizeof name, "%s/memory_total", gpu);
    tmpdir_write(name, "17179869184\n", 12);
    snprintf(name, sizeof name, "%s/temperature", gpu);
    tmpdir_write(name, temperature, strlen(temperature));
}

/* There are two GPUs; the second one does not report its power. */
static int setup(void **state)
{
    if (tmpdir_open(state))
        return -1;
    unsetenv("GPUFL_DISABLED");
    unsetenv("GPUFL_TRACE_OPTIONS");
    toy_folder = tmpdir;
    make_gpu("gpu0", "41");
    tmpdir_write("gpu0/power", "90500", 5);
    make_gpu("gpu1", "57");
    atomic_store(&toy_samples, 0);
    return 0;
}

static int teardown(void **state)
{
    gpufl_shutdown();
    return tmpdir_close(state);
}

TEST(chosen_by_name_and_by_auto)
{
    struct err e = {0};
    struct probe p;
    assert_ptr_equal(backend_select(GPUFL_BACKEND_AMD, &e), &backend_toy);
    const struct backend *first = backend_nvidia.usable() ? &backend_nvidia : &backend_toy;
    assert_ptr_equal(backend_select(GPUFL_BACKEND_AUTO, &e), first);
    backend_toy.probe(&p);
    assert_true(p.usable);
    toy_folder = "/nonexistent";
    backend_toy.probe(&p);
    assert_false(p.usable);
    assert_true(p.facts[0].advice[0]);
    first = backend_nvidia.usable() ? &backend_nvidia : &backend_none;
    assert_ptr_equal(backend_select(GPUFL_BACKEND_AUTO, &e), first);
}

static struct {
    int rows, wrong, gpus[3]; /* gpus: rows by the device's id */
} seen;

static void on_row(void *arg, enum record_type type, const int64_t *cells)
{
    const struct device_metric_row *m = (const void *)cells;
    (void)arg;
    if (type != RECORD_device_metric)
        return;
    bool known = m->device == 1 || m->device == 2;
    seen.rows++;
    seen.gpus[known ? m->device : 0]++;
    seen.wrong += !known || m->memory_total != INT64_C(17179869184);
    seen.wrong += m->temperature != (m->device == 1 ? 41 : 57);
    seen.wrong += m->power != (m->device == 1 ? 90500 : CELL_NULL);
    seen.wrong += m->fan != CELL_NULL; /* unknown is not zero */
}

TEST(a_session_samples_its_gpus)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    struct parts p = {.row = on_row};
    memset(&seen, 0, sizeof seen);
    o.backend = GPUFL_BACKEND_AMD;
    o.system_sample_rate_ms = 1;
    o.continuous_system_sampling = true;
    assert_int_equal(gpufl_init(&o), 0);
    while (atomic_load(&toy_samples) < 8)
        sched_yield();
    gpufl_shutdown();
    parts_read_all(session_only(tmpdir_path("logs")), &p);
    assert_int_equal(p.rows[RECORD_device], 2);
    assert_true(seen.rows >= 8);
    assert_true(seen.gpus[1] > 0 && seen.gpus[2] > 0);
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(p.damaged + p.unresolved + p.headers_bad, 0);
}

/* The vendor has no tracing: the session of an engine that needs it is not refused. */
TEST(an_engine_falls_back_to_metrics)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    struct session_log log;
    o.backend = GPUFL_BACKEND_AMD;
    o.profiling_engine = GPUFL_ENGINE_PC_SAMPLING;
    assert_int_equal(gpufl_init(&o), 0);
    gpufl_shutdown();
    session_log_read(session_only(tmpdir_path("logs")), &log);
    assert_int_equal(log.errors, 0);
    assert_int_equal(log.ledger.launches, CELL_NULL); /* nobody counted them */
}

TEST(its_code_is_not_the_user_s)
{
    static const struct {
        struct fold_frame frame;
        enum fold_kind kind;
    } rows[] = {
        {{FOLD_NATIVE, "run", "/usr/lib/libtoydrv.so.1", NULL, 0}, FOLD_DRIVER},
        {{FOLD_NATIVE, "run", "/srv/app/libtoyrt-12ab.so", NULL, 0}, FOLD_RUNTIME},
        {{FOLD_NATIVE, "toyLaunch", "/srv/app/program", NULL, 0}, FOLD_RUNTIME},
        {{FOLD_NATIVE, "toyLaunch", "/srv/app/program", "/srv/app/program.c", 7}, FOLD_USER},
        {{FOLD_NATIVE, "toys", "/srv/app/program", NULL, 0}, FOLD_USER},
        {{FOLD_NATIVE, "blas", "/opt/toy/bin/x", NULL, 0}, FOLD_LIBRARY},
        {{FOLD_NATIVE, "cuInit", "/usr/lib/libcuda.so.1", NULL, 0}, FOLD_DRIVER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(fold_classify(&rows[i].frame), rows[i].kind);
}

TEST(its_variable_is_known)
{
    assert_true(vendor_is_injection("TOY_TOOLS_LIB=/x/libgpufl.so"));
    assert_true(vendor_is_injection("CUDA_INJECTION64_PATH=/x/libgpufl.so"));
    assert_false(vendor_is_injection("TOY_TOOLS_LIBS=1"));
    assert_false(vendor_is_injection("TOY_TOOLS_LIB"));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(chosen_by_name_and_by_auto),      CASE(a_session_samples_its_gpus),
        CASE(an_engine_falls_back_to_metrics), CASE(its_code_is_not_the_user_s),
        CASE(its_variable_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
