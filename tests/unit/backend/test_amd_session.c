/* test_amd_session.c - a session on a machine with GPUs of AMD's, over the fake of AMD SMI: chosen
 * by Auto where nothing else is, its GPUs described and sampled, and what has not run on hardware
 * said; and the choice on a machine with GPUs of two vendors. */
#include "tests/test.h"
#include "tests/unit/support/session_log.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/amd/library/library.h"
#include "backend/backend.h"
#include "base/alloc.h"
#include "base/file/file.h"
#include "tests/fake/amd/gpu.h"
#include "tests/unit/support/tmpdir.h"

/* Another vendor's GPU, which a test can put into this machine. */
static struct {
    bool here, in_use;
} other;

static bool other_usable(void)
{
    return other.here;
}

static bool other_loaded(void)
{
    return other.in_use;
}

static void other_probe(struct probe *out)
{
    *out = (struct probe){.usable = other.here};
}

/* In NVIDIA's place (other_backends.def). */
extern const struct backend backend_other_vendor;
const struct backend backend_other_vendor = {
    .name = "other", .probe = other_probe, .usable = other_usable, .loaded = other_loaded};

static int setup(void **state)
{
    if (tmpdir_open(state))
        return -1;
    unsetenv("GPUFL_DISABLED");
    unsetenv("GPUFL_TRACE_OPTIONS");
    unsetenv("GPUFL_BACKEND");
    setenv(AMD_SMI_PATH, FAKES "/amd-7", 1);
    memset(&other, 0, sizeof other);
    return 0;
}

static int teardown(void **state)
{
    gpufl_shutdown();
    return tmpdir_close(state);
}

static struct {
    int metrics, wrong;
} seen;

static void on_row(void *arg, enum record_type type, const int64_t *cells)
{
    const struct device_metric_row *m = (const void *)cells;
    (void)arg;
    if (type != RECORD_device_metric)
        return;
    seen.metrics++;
    seen.wrong += m->memory_used != (int64_t)FAKE_VRAM_USED;
    seen.wrong += m->temperature_junction != (m->device == 1 ? FAKE_JUNCTION : CELL_NULL);
}

static struct parts read_session(char **system)
{
    struct parts p = {.row = on_row};
    char path[4096];
    size_t len;
    memset(&seen, 0, sizeof seen);
    parts_read_all(session_only(tmpdir_path("logs")), &p);
    assert_int_equal(p.damaged + p.unresolved + p.headers_bad, 0);
    assert_int_equal(seen.wrong, 0);
    snprintf(path, sizeof path, "%s/system.log", session_only(tmpdir_path("logs")));
    assert_int_equal(file_read_all(path, 1 << 20, system, &len, NULL), 0);
    return p;
}

/* Runs a session; returns what it has, and the text of channel system, which the caller frees. */
static struct parts run_session(enum gpufl_backend backend, char **system)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    o.backend = backend;
    o.system_sample_rate_ms = 1;
    o.continuous_system_sampling = true;
    assert_int_equal(gpufl_init(&o), 0);
    gpufl_shutdown();
    return read_session(system);
}

TEST(auto_takes_it_where_nothing_else_is)
{
    char *system;
    struct parts p = run_session(GPUFL_BACKEND_AUTO, &system);
    assert_int_equal(p.rows[RECORD_device], 2);
    assert_non_null(strstr(system, "\"backend\":\"amd\""));
    assert_non_null(strstr(system, "Fake Instinct 0"));
    assert_non_null(strstr(system, "not verified on hardware"));
    assert_null(strstr(system, "backend.chosen"));
    mem_free(system);
}

/* Rows come until the session ends: it waits for samples of both GPUs. */
TEST(a_session_by_name_samples_them)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    struct nvml_control *(*control)(void);
    char *system;
    void *fake = dlopen(FAKES "/amd-7/libamd_smi.so.26", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(fake);
    *(void **)&control = dlsym(fake, "fake_amd_control");
    int64_t before = control()->queries;
    o.backend = GPUFL_BACKEND_AMD;
    o.system_sample_rate_ms = 1;
    o.continuous_system_sampling = true;
    assert_int_equal(gpufl_init(&o), 0);
    while (control()->queries < before + 200)
        sched_yield();
    gpufl_shutdown();
    struct parts p = read_session(&system);
    assert_int_equal(p.rows[RECORD_device], 2);
    assert_true(seen.metrics >= 4);
    mem_free(system);
}

/* The first vendor in the order; and the session says which. */
TEST(a_mixed_machine_says_which)
{
    char *system;
    other.here = true;
    assert_ptr_equal(backend_select(GPUFL_BACKEND_AUTO, NULL), &backend_other_vendor);
    assert_ptr_equal(backend_other(&backend_other_vendor), &backend_amd);
    assert_ptr_equal(backend_other(&backend_amd), &backend_other_vendor);
    (void)run_session(GPUFL_BACKEND_AUTO, &system);
    assert_non_null(strstr(system, "this session records those of other"));
    assert_non_null(strstr(system, "chooses those of amd"));
    mem_free(system);
    other.here = false;
    assert_null(backend_other(&backend_amd));
}

/* Unless the program has loaded the other one's runtime, and not the first one's. */
TEST(the_runtime_that_is_loaded_goes_first)
{
    other.here = true;
    assert_ptr_equal(backend_select(GPUFL_BACKEND_AUTO, NULL), &backend_other_vendor);
    assert_non_null(dlopen(FAKES "/amd-runtime/libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL));
    assert_true(backend_amd.loaded());
    assert_ptr_equal(backend_select(GPUFL_BACKEND_AUTO, NULL), &backend_amd);
    other.in_use = true;
    assert_ptr_equal(backend_select(GPUFL_BACKEND_AUTO, NULL), &backend_other_vendor);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(auto_takes_it_where_nothing_else_is), CASE(a_session_by_name_samples_them),
        CASE(a_mixed_machine_says_which),
        CASE(the_runtime_that_is_loaded_goes_first), /* which stays in this process */
    };
    return cmocka_run_group_tests_name("amd_session", tests, NULL, NULL);
}
