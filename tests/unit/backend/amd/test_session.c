/* test_session.c - tests a session on a machine with GPUs of AMD's, over the fake of AMD SMI: Auto
 * chooses AMD if there is nothing else, the GPUs are described and sampled, and the session says
 * that AMD is not verified on hardware; and the choice on a machine with GPUs of two vendors. */
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

static int other_open(struct devices **out, struct err *e)
{
    *out = other.here ? (struct devices *)&other : NULL;
    return other.here ? 0 : err_set(e, GPUFL_E_UNAVAILABLE, "there is no other GPU");
}

static int other_count(struct devices *d)
{
    (void)d;
    return 1;
}

static int other_describe(struct devices *d, int index, struct device_row *row,
                          struct device_text *text)
{
    (void)d;
    row->index = index;
    snprintf(text->name, sizeof text->name, "Other");
    return 0;
}

static int other_sample(struct devices *d, int index, struct device_metric_row *row)
{
    (void)d;
    row->power = index + 1;
    return 0;
}

static void other_close(struct devices *d)
{
    (void)d;
}

static const struct device_ops other_devices = {.open = other_open,
                                                .count = other_count,
                                                .describe = other_describe,
                                                .sample = other_sample,
                                                .close = other_close};

/* The backend that takes NVIDIA's place (other_backends.def). */
extern const struct backend backend_other_vendor;
const struct backend backend_other_vendor = {
    .name = "other",
    .probe = other_probe,
    .devices = &other_devices,
    .usable = other_usable,
    .loaded = other_loaded,
};

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
    bool parts; /* the second device knows as much as the first */
} seen;

static void on_row(void *arg, enum record_type type, const int64_t *cells)
{
    const struct device_metric_row *m = (const void *)cells;
    (void)arg;
    if (type != RECORD_device_metric || other.here)
        return; /* only samples of AMD's GPUs are checked */
    seen.metrics++;
    seen.wrong += m->memory_used != (int64_t)FAKE_VRAM_USED;
    seen.wrong +=
        m->temperature_junction != (m->device == 1 || seen.parts ? FAKE_JUNCTION : CELL_NULL);
}

static struct parts read_session(char **system)
{
    struct parts p = {.row = on_row};
    char path[4096];
    size_t len;
    seen.metrics = seen.wrong = 0;
    parts_read_all(session_only(tmpdir_path("logs")), &p);
    assert_int_equal(p.damaged + p.unresolved + p.headers_bad, 0);
    assert_int_equal(seen.wrong, 0);
    snprintf(path, sizeof path, "%s/system.log", session_only(tmpdir_path("logs")));
    assert_int_equal(file_read_all(path, 1 << 20, system, &len, NULL), 0);
    return p;
}

static struct nvml_control *control(void)
{
    struct nvml_control *(*get)(void);
    void *fake = dlopen(FAKES "/amd-7/libamd_smi.so.26", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(fake);
    *(void **)&get = dlsym(fake, "fake_amd_control");
    assert_non_null(get);
    return get();
}

/* Runs a session until AMD's library has answered that many queries; returns the session's parts,
 * and the text of channel system, which the caller frees. */
static struct parts run_session(enum gpufl_backend backend, int64_t queries, char **system)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    int64_t before = control()->queries;
    o.backend = backend;
    o.system_sample_rate_ms = 1;
    o.continuous_system_sampling = true;
    assert_int_equal(gpufl_init(&o), 0);
    while (control()->queries < before + queries)
        sched_yield();
    gpufl_shutdown();
    return read_session(system);
}

TEST(auto_takes_it_where_nothing_else_is)
{
    char *system;
    struct parts p = run_session(GPUFL_BACKEND_AUTO, 200, &system);
    assert_int_equal(p.rows[RECORD_device], 2);
    assert_non_null(strstr(system, "\"backend\":\"amd\""));
    assert_non_null(strstr(system, "Fake Instinct 0"));
    assert_non_null(strstr(system, "not verified on hardware"));
    assert_null(strstr(system, "backend.chosen"));
    mem_free(system);
}

TEST(a_session_by_name_samples_them)
{
    char *system;
    struct parts p = run_session(GPUFL_BACKEND_AMD, 200, &system);
    assert_int_equal(p.rows[RECORD_device], 2);
    assert_true(seen.metrics >= 4);
    mem_free(system);
}

static void wait_queries(int64_t count)
{
    int64_t before = control()->queries;
    while (control()->queries < before + count)
        sched_yield();
}

/* If a GPU vanishes while it is sampled, the session says which, and what to do on AMD's. */
TEST(a_lost_gpu_is_named)
{
    char *system;
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    o.backend = GPUFL_BACKEND_AMD;
    o.system_sample_rate_ms = 1;
    o.continuous_system_sampling = true;
    assert_int_equal(gpufl_init(&o), 0);
    wait_queries(200);
    control()->lost = 1 << 1;
    wait_queries(200);
    gpufl_shutdown();
    control()->lost = 0;
    (void)read_session(&system);
    assert_non_null(strstr(system, "GPU 1 does not answer any more; look for messages of amdgpu in "
                                   "dmesg"));
    assert_null(strstr(system, "Xid"));
    mem_free(system);
}

/* Parts of one GPU that differ by their numbers alone are two devices. */
TEST(parts_without_names_are_two)
{
    char *system;
    setenv("FAKE_AMD", "nameless", 1);
    seen.parts = true;
    struct parts p = run_session(GPUFL_BACKEND_AMD, 200, &system);
    seen.parts = false;
    unsetenv("FAKE_AMD");
    assert_int_equal(p.rows[RECORD_device], 2);
    assert_non_null(strstr(system, "Fake Instinct 1"));
    mem_free(system);
}

/* Auto chooses the first vendor of the table, and the session says which. */
TEST(a_mixed_machine_says_which)
{
    char *system;
    other.here = true;
    assert_ptr_equal(backend_select(GPUFL_BACKEND_AUTO, NULL), &backend_other_vendor);
    assert_ptr_equal(backend_other(&backend_other_vendor), &backend_amd);
    assert_ptr_equal(backend_other(&backend_amd), &backend_other_vendor);
    (void)run_session(GPUFL_BACKEND_AUTO, 0, &system);
    assert_non_null(strstr(system, "this session records those of other, which come "
                                   "first"));
    assert_non_null(strstr(system, "chooses those of amd"));
    mem_free(system);
    other.here = false;
    assert_null(backend_other(&backend_amd));
}

/* Auto chooses the second vendor if the program has loaded its runtime and not the first one's. */
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

/* A monitor samples the GPUs of both vendors, by one index each. */
TEST(the_gpus_of_both_are_one_list)
{
    struct devices *d;
    struct device_row row = {0};
    struct device_text text = {0};
    struct device_metric_row m = {0};
    char name[32];
    int count;
    other.here = true;
    assert_int_equal(all_devices.open(&d, NULL), 0);
    assert_int_equal(all_devices.count(d), 3);
    all_devices_name(d, name, sizeof name);
    assert_string_equal(name, "other+amd");
    assert_non_null(all_devices_caution(d));
    assert_int_equal(all_devices.describe(d, 0, &row, &text), 0);
    assert_string_equal(text.name, "Other");
    assert_int_equal(all_devices.describe(d, 2, &row, &text), 0);
    assert_string_equal(text.name, "Fake Instinct 1");
    assert_int_equal(row.index, 2);
    assert_int_equal(all_devices.describe(d, 3, &row, &text), GPUFL_E_INVAL);
    assert_int_equal(all_devices.describe(d, -1, &row, &text), GPUFL_E_INVAL);
    assert_int_equal(all_devices.sample(d, 0, &m), 0);
    assert_int_equal(m.power, 1);
    assert_int_equal(all_devices.sample(d, 1, &m), 0);
    assert_int_equal(m.temperature_junction, FAKE_JUNCTION);
    assert_int_equal(all_devices.watch->processes(d, 0, NULL, 0, &count), GPUFL_E_NOT_BUILT);
    assert_int_equal(all_devices.watch->instances(d, 1, NULL, 0, &count), 0);
    assert_int_equal(all_devices.watch->wait(d, 0, NULL), GPUFL_E_NOT_BUILT);
    assert_int_equal(all_devices.watch->listed(d), 3);
    all_devices.close(d);
}

/* One vendor's driver is loaded after the list was opened. */
TEST(a_vendor_that_comes_later_is_noticed)
{
    struct devices *d;
    struct err e = {0};
    char name[32];
    other.here = true;
    setenv("FAKE_AMD", "missing", 1);
    assert_int_equal(all_devices.open(&d, NULL), 0);
    assert_int_equal(all_devices.watch->listed(d), all_devices.count(d));
    all_devices_name(d, name, sizeof name);
    assert_string_equal(name, "other");
    assert_null(all_devices_caution(d));
    unsetenv("FAKE_AMD");
    assert_true(all_devices.watch->listed(d) > all_devices.count(d));
    all_devices.close(d);
    other.here = false;
    setenv("FAKE_AMD", "denied", 1);
    assert_int_equal(all_devices.open(&d, &e), GPUFL_E_PERM); /* the vendor that is here in part */
    assert_non_null(strstr(e.text, "groups render and video"));
    unsetenv("FAKE_AMD");
    all_devices_name(NULL, name, sizeof name);
    assert_string_equal(name, "none");
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(auto_takes_it_where_nothing_else_is),
        CASE(a_session_by_name_samples_them),
        CASE(a_lost_gpu_is_named),
        CASE(parts_without_names_are_two),
        CASE(a_mixed_machine_says_which),
        CASE(the_gpus_of_both_are_one_list),
        CASE(a_vendor_that_comes_later_is_noticed),
        CASE(the_runtime_that_is_loaded_goes_first), /* the runtime stays in this process */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
