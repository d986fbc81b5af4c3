/* test_driver.c - tests AMD's driver and libraries if one of them is missing, too old or not
 * accessible for this user: in each case one sentence says what to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/amd/devices.h"
#include "backend/amd/library/driver.h"
#include "backend/amd/library/library.h"
#include "backend/amd/probe.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

static int setup(void **state)
{
    if (tmpdir_open(state))
        return -1;
    amd_root = tmpdir;
    unsetenv(AMD_SMI_PATH);
    return 0;
}

static int teardown(void **state)
{
    amd_root = "";
    unsetenv(AMD_SMI_PATH);
    return tmpdir_close(state);
}

static void folder(const char *path)
{
    char name[512], *at = name;
    snprintf(name, sizeof name, "%s", tmpdir_path(path));
    for (at = name + strlen(tmpdir) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        (void)mkdir(name, 0755);
    }
    (void)mkdir(name, 0755);
}

static void put(const char *path, const char *text)
{
    char parent[512];
    snprintf(parent, sizeof parent, "%s", path);
    *strrchr(parent, '/') = '\0';
    folder(parent);
    tmpdir_write(path, text, strlen(text));
}

static void expect_refused(int code, const char *words)
{
    struct err e = {0};
    struct devices *d;
    assert_int_equal(amd_devices.open(&d, &e), code);
    assert_null(d);
    if (!strstr(e.text, words))
        fail_msg("%s", e.text);
    assert_false(amd_usable());
}

TEST(no_driver_opens_no_library)
{
    static struct probe p;
    expect_refused(GPUFL_E_NOENT, "kernel driver is not loaded: load it (modprobe amdgpu)");
    amd_probe(&p);
    assert_false(p.usable);
    assert_int_equal(p.fact_count, 1);
    assert_non_null(strstr(p.facts[0].advice, "modprobe amdgpu"));
}

/* The test names the folder that is searched: this machine may have a real library. */
TEST(a_driver_without_libraries)
{
    folder("sys/module/amdgpu");
    folder("empty");
    setenv(AMD_SMI_PATH, tmpdir_path("empty"), 1);
    assert_true(amd_driver_loaded());
    expect_refused(GPUFL_E_UNAVAILABLE, "empty has neither AMD SMI");
}

TEST(a_library_that_lacks_functions)
{
    folder("sys/module/amdgpu");
    setenv(AMD_SMI_PATH, FAKES "/amd-broken", 1);
    expect_refused(GPUFL_E_UNAVAILABLE,
                   "may be too old, install a newer one: it lacks amdsmi_shut_down, ");
    expect_refused(GPUFL_E_UNAVAILABLE, " more");
    setenv(AMD_SMI_PATH, FAKES "/amd-broken/libamd_smi.so.26", 1);
    expect_refused(GPUFL_E_UNAVAILABLE, "AMD SMI at ");
}

TEST(a_file_that_is_no_library_of_theirs)
{
    put("lib/libother.so", "x");
    setenv(AMD_SMI_PATH, tmpdir_path("lib/libother.so"), 1);
    expect_refused(GPUFL_E_UNAVAILABLE, "libother.so has neither AMD SMI");
}

static const struct probe_fact *fact_of(const struct probe *p, const char *name)
{
    for (int i = 0; i < p->fact_count; i++)
        if (strcmp(p->facts[i].name, name) == 0)
            return &p->facts[i];
    return NULL;
}

/* The library is there and finds no GPU; the error says why. rsmi_init finds none, too, if
 * /dev/kfd may not be opened. The child becomes an ordinary user. */
static void no_gpu_as(uid_t user, int code, const char *words)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct amd_library library = {.name = "ROCm SMI"};
        struct err e = {0};
        bool ok = geteuid() != 0 || seteuid(user) == 0;
        int rc = amd_library_no_gpu(&library, 8, &e);
        _exit(!(ok && rc == code && strstr(e.text, "ROCm SMI finds no GPU") &&
                strstr(e.text, words)));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST(why_the_library_finds_no_gpu)
{
    chmod(tmpdir, 0755);
    no_gpu_as(65534, GPUFL_E_UNAVAILABLE, "load the kernel driver (modprobe amdgpu)");
    put("dev/kfd", "");
    chmod(tmpdir_path("dev"), 0755);
    chmod(tmpdir_path("dev/kfd"), 0600);
    no_gpu_as(65534, GPUFL_E_PERM, "may not open /dev/kfd");
    no_gpu_as(65534, GPUFL_E_PERM, "groups render and video");
    chmod(tmpdir_path("dev/kfd"), 0666);
    no_gpu_as(65534, GPUFL_E_UNAVAILABLE, "though the kernel driver is loaded: see dmesg");
}

/* Returns true if the probe says that rocprofiler-sdk is missing and that Trace needs it; Monitor,
 * which does not need it, works. */
static bool lacks_sdk(const struct probe *p)
{
    const struct probe_fact *sdk = fact_of(p, "rocprofiler-sdk");
    const struct probe_fact *trace = fact_of(p, "engine Trace");
    const struct probe_fact *monitor = fact_of(p, "engine Monitor");
    return p->usable && sdk && trace && monitor && !sdk->works && !trace->works && monitor->works &&
           strstr(sdk->advice, "install it (ROCm 6.2 or later) or set GPUFL_ROCPROFILER_PATH") &&
           strcmp(trace->value, "needs rocprofiler-sdk") == 0;
}

static bool has_sdk(const struct probe *p)
{
    const struct probe_fact *sdk = fact_of(p, "rocprofiler-sdk");
    const struct probe_fact *trace = fact_of(p, "engine Trace");
    return sdk && trace && sdk->works && trace->works &&
           strstr(sdk->value, "/6/librocprofiler-sdk");
}

/* Returns true if the probe says that /dev/kfd is missing, which Trace names first; Monitor
 * works. */
static bool lacks_kfd(const struct probe *p)
{
    const struct probe_fact *kfd = fact_of(p, "/dev/kfd");
    const struct probe_fact *trace = fact_of(p, "engine Trace");
    const struct probe_fact *monitor = fact_of(p, "engine Monitor");
    return kfd && trace && monitor && !kfd->works && !trace->works && monitor->works &&
           strcmp(trace->value, "needs /dev/kfd") == 0 &&
           strcmp(trace->advice, "see /dev/kfd above") == 0;
}

/* A child loads the fake, since it would stay loaded in this process. */
TEST(the_library_that_traces)
{
    folder("sys/module/amdgpu");
    put("6/librocprofiler-sdk.so.0", "");
    put("dev/kfd", "");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        static struct probe without, with, closed;
        setenv(AMD_SMI_PATH, FAKES "/amd-7", 1);
        setenv("GPUFL_ROCPROFILER_PATH", tmpdir_path("empty"), 1);
        amd_probe(&without);
        setenv("GPUFL_ROCPROFILER_PATH", tmpdir_path("6"), 1);
        amd_probe(&with);
        unlink(tmpdir_path("dev/kfd"));
        amd_probe(&closed);
        _exit(!lacks_sdk(&without) + 2 * !has_sdk(&with) + 4 * !lacks_kfd(&closed));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The child becomes an ordinary user, since root may open everything. */
static void may_compute_as(uid_t user, int code, const char *words)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct err e = {0};
        bool ok = geteuid() != 0 || seteuid(user) == 0;
        int rc = amd_driver_may_compute(&e);
        _exit(!(ok && rc == code && strstr(e.text, words)));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST(permission_on_kfd)
{
    chmod(tmpdir, 0755);
    may_compute_as(65534, GPUFL_E_UNAVAILABLE, "--device /dev/kfd");
    put("dev/kfd", "");
    chmod(tmpdir_path("dev/kfd"), 0);
    may_compute_as(65534, GPUFL_E_PERM, "add the user to the groups render and video");
    chmod(tmpdir_path("dev/kfd"), 0666);
    may_compute_as(65534, 0, "");
}

TEST(the_topology_names_the_gpu)
{
    struct amd_node node;
    char name[32];
    put("sys/class/kfd/kfd/topology/nodes/0/properties", "simd_count 0\nlocation_id 0\ndomain 0\n");
    assert_false(amd_driver_has_gpu()); /* a processor alone */
    put("sys/class/kfd/kfd/topology/nodes/1/properties",
        "cpu_cores_count 0\nsimd_count 416\nsimd_per_cu 4\nlocation_id 17152\ndomain 1\n"
        "gfx_target_version 90010\nmax_engine_clk_fcompute 1700\n");
    put("sys/class/kfd/kfd/topology/nodes/2/properties",
        "simd_count 192\nsimd_per_cu 2\nlocation_id 17152\ndomain 0\ngfx_target_version 110001\n");
    assert_true(amd_usable()); /* opens no library */
    assert_true(amd_driver_node(1, 17152, &node));
    assert_int_equal(node.units, 104);
    assert_int_equal(node.mhz, 1700);
    amd_target_name(node.target, name, sizeof name);
    assert_string_equal(name, "gfx90a");
    assert_true(amd_driver_node(0, 17152, &node));
    assert_int_equal(node.units, 96);
    amd_target_name(node.target, name, sizeof name);
    assert_string_equal(name, "gfx1101");
    assert_false(amd_driver_node(2, 17152, &node));
    amd_target_name(0, name, sizeof name);
    assert_string_equal(name, "");
}

TEST(the_version_is_the_driver_s_own)
{
    char text[64];
    amd_driver_version(text, sizeof text);
    assert_int_equal(strncmp(text, "Linux ", 6), 0);
    put("sys/module/amdgpu/version", "6.8.5\n");
    amd_driver_version(text, sizeof text);
    assert_string_equal(text, "6.8.5");
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(no_driver_opens_no_library),
        CASE(a_driver_without_libraries),
        CASE(a_file_that_is_no_library_of_theirs),
        CASE(why_the_library_finds_no_gpu),
        CASE(the_library_that_traces),
        CASE(a_library_that_lacks_functions), /* the library stays in this process */
        CASE(permission_on_kfd),
        CASE(the_topology_names_the_gpu),
        CASE(the_version_is_the_driver_s_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
