/* test_devices.c - tests metrics of AMD's GPUs over the fakes of each library: every release gives
 * equal values for a GPU, in the units of the record; values that a GPU does not report stay
 * unknown.
 *
 * A process opens one library once, so each release has processes of its own. Without an argument
 * this program runs itself twice for each release: once the profiler loads the library, and once
 * the program has loaded it before. */
#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/amd/device/inside.h"
#include "backend/amd/devices.h"
#include "backend/amd/library/library.h"
#include "backend/amd/probe.h"
#include "base/clock.h"
#include "tests/fake/amd/gpu.h"
#include "tests/test.h"

enum { LEAST = 1 }; /* queries a sample of a GPU that knows its memory only */

static const struct release {
    const char *folder, *library;
    const char *file; /* the library's, for a program that loads it */
    bool newer;       /* knows what ROCm 6 added to the structures */
    bool processes;   /* the use of a process can be known */
    bool limit;       /* of power */
} releases[] = {
    {"amd-7", "AMD SMI", "libamd_smi.so.26", true, false, false},
    {"amd-6.3", "ROCm SMI", "librocm_smi64.so.7", true, true, true},
    {"amd-6.2", "AMD SMI", "libamd_smi.so.24", true, true, true},
    {"amd-debian", "ROCm SMI", "librocm_smi64.so.1", false, true, true},
    {"amd-mended", "ROCm SMI", "librocm_smi64.so.7", true, true, true},
};

static const struct release *release; /* of this process */
static struct devices *devices;
static int64_t now;

static int64_t test_clock(void)
{
    return now;
}

static bool with_program; /* the program has loaded the library itself */

static struct nvml_control *control_of(const char *path)
{
    struct nvml_control *(*get)(void);
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    assert_non_null(handle);
    *(void **)&get = dlsym(handle, "fake_amd_control");
    assert_non_null(get);
    return get();
}

/* Returns the fake's variables, which the test changes. */
static struct nvml_control *control(void)
{
    const char *path;
    (void)amd_devices_library(devices, &path);
    return control_of(path);
}

static int setup(void **state)
{
    struct err e = {0};
    (void)state;
    unsetenv("FAKE_AMD");
    now = INT64_C(1000000000000);
    clock_set_source(test_clock, 0);
    if (amd_devices.open(&devices, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    memset(control(), 0, sizeof *control());
    amd_devices.close(devices);
    clock_set_source(NULL, 0);
    return 0;
}

static void reopen(const char *script)
{
    struct err e = {0};
    amd_devices.close(devices);
    setenv("FAKE_AMD", script, 1);
    assert_int_equal(amd_devices.open(&devices, &e), 0);
}

/* Takes a sample later than every period after the one before. */
static int sample(int index, struct device_metric_row *row)
{
    now += INT64_C(20000000000);
    *row = (struct device_metric_row){.time = 5, .device = 3};
    return amd_devices.sample(devices, index, row);
}

TEST(the_release_chooses_the_library)
{
    const char *path;
    assert_string_equal(amd_devices_library(devices, &path), release->library);
    assert_non_null(strstr(path, release->folder));
    assert_int_equal(amd_devices.count(devices), 2);
}

TEST(all_that_a_gpu_knows)
{
    struct device_metric_row row;
    assert_int_equal(sample(0, &row), 0);
    assert_int_equal(row.time, 5);
    assert_int_equal(row.device, 3);
    assert_int_equal(row.gpu_util, FAKE_BUSY);
    assert_int_equal(row.mem_util, FAKE_MEMORY_BUSY);
    assert_int_equal(row.memory_used, FAKE_VRAM_USED);
    assert_int_equal(row.memory_total, FAKE_VRAM);
    assert_int_equal(row.temperature, FAKE_EDGE);
    assert_int_equal(row.temperature_junction, FAKE_JUNCTION);
    assert_int_equal(row.temperature_memory, FAKE_MEMORY_HEAT);
    assert_int_equal(row.power, FAKE_WATTS * 1000);
    assert_int_equal(row.power_limit, release->limit ? FAKE_WATTS_MOST * 1000 : CELL_NULL);
    assert_int_equal(row.energy, 61000000); /* 4e9 x 15.25 uJ, in mJ */
    assert_int_equal(row.clock_gfx, FAKE_MHZ);
    assert_int_equal(row.clock_sm, FAKE_MHZ);
    assert_int_equal(row.clock_mem, FAKE_MEMORY_MHZ);
    assert_int_equal(row.fan, 40); /* 102 of 255 */
    assert_int_equal(row.voltage, FAKE_MV);
    assert_int_equal(row.ecc_corrected, FAKE_CORRECTED);
    assert_int_equal(row.ecc_uncorrected, FAKE_UNCORRECTED);
    assert_int_equal(row.pcie_replays, FAKE_REPLAYS);
    assert_int_equal(row.processes, 0);
    /* Power and heat hold the clocks down: only the newer structure says so. */
    assert_int_equal(row.throttle, release->newer ? 4 | 32 : CELL_NULL);
    assert_int_equal(row.pcie_total, release->newer ? FAKE_PCIE * 125000 : CELL_NULL);
    assert_int_equal(row.nvlink_rx, CELL_NULL);
    assert_int_equal(row.pcie_rx, CELL_NULL);
}

TEST(unknown_is_not_zero)
{
    struct device_metric_row row;
    const int64_t *cells = (const int64_t *)&row;
    assert_int_equal(sample(1, &row), 0);
    assert_int_equal(row.memory_used, FAKE_VRAM_USED);
    for (int c = 0; c < COL_device_metric_COUNT; c++)
        if (c != COL_device_metric_time && c != COL_device_metric_device &&
            c != COL_device_metric_memory_used && c != COL_device_metric_memory_total &&
            c != COL_device_metric_processes && cells[c] != CELL_NULL)
            fail_msg("cell %d is %lld", c, (long long)cells[c]);
}

TEST(what_a_gpu_does_not_know_is_not_asked_again)
{
    struct device_metric_row row;
    sample(1, &row);
    int64_t before = control()->queries;
    sample(1, &row);
    int64_t second = control()->queries - before;
    assert_in_range(second, LEAST, 4); /* for its memory and its processes */
}

TEST(slow_questions_have_a_period)
{
    struct device_metric_row row;
    sample(0, &row);
    now += 1000000;
    assert_int_equal(amd_devices.sample(devices, 0, &row), 0);
    assert_int_equal(row.gpu_util, FAKE_BUSY);
    assert_int_equal(row.energy, CELL_NULL);
    assert_int_equal(row.ecc_corrected, CELL_NULL);
}

/* If any one question fails once, that sample has the other cells, and the next one has all. */
TEST(an_error_at_the_nth_call_costs_that_cell)
{
    struct device_metric_row whole, row;
    sample(0, &whole);
    int64_t before = control()->queries;
    sample(0, &whole);
    int64_t calls = control()->queries - before;
    assert_true(calls > 10);
    for (int64_t n = 1; n <= calls; n++) {
        control()->fail_at = n;
        assert_int_equal(sample(0, &row), 0);
        assert_int_equal(sample(0, &row), 0);
        row.time = whole.time;
        assert_memory_equal(&row, &whole, sizeof row);
    }
}

TEST(a_gpu_that_vanishes_is_lost_and_comes_back)
{
    struct device_metric_row row;
    assert_int_equal(sample(0, &row), 0);
    control()->lost = 1;
    assert_int_equal(sample(0, &row), GPUFL_E_UNAVAILABLE);
    assert_int_equal(row.gpu_util, CELL_NULL);
    assert_int_equal(sample(1, &row), 0); /* the other GPU is sampled as before */
    control()->lost = 0;
    assert_int_equal(sample(0, &row), 0);
    assert_int_equal(row.gpu_util, FAKE_BUSY);
    assert_int_equal(row.fan, 40);
}

/* A GPU that vanished before its first sample is lost, not a GPU that knows nothing. */
TEST(a_gpu_that_never_answered_is_lost)
{
    struct device_metric_row row;
    for (int gpu = 0; gpu < 2; gpu++) {
        reopen("");
        control()->lost = 1 << gpu;
        assert_int_equal(sample(gpu, &row), GPUFL_E_UNAVAILABLE);
        assert_int_equal(sample(!gpu, &row), 0);
        assert_int_equal(sample(gpu, &row), GPUFL_E_UNAVAILABLE);
        control()->lost = 0;
        assert_int_equal(sample(gpu, &row), 0);
        assert_int_equal(row.memory_used, FAKE_VRAM_USED);
    }
}

TEST(an_mi300_has_the_clocks_of_its_chiplets)
{
    struct device_metric_row row;
    reopen("mi300");
    assert_int_equal(sample(0, &row), 0);
    assert_int_equal(row.temperature, release->newer ? CELL_NULL : row.temperature);
    assert_int_equal(row.temperature_junction, FAKE_JUNCTION);
    assert_int_equal(row.fan, CELL_NULL);
    assert_int_equal(row.clock_gfx, release->newer ? FAKE_CHIPLET_MHZ : CELL_NULL);
}

/* Newer firmware counts how long each limit has held the clocks down. */
TEST(what_held_the_clocks_down_since_the_sample_before)
{
    struct device_metric_row row;
    bool counts = release->newer && strcmp(release->folder, "amd-6.2") != 0; /* since ROCm 6.3 */
    reopen("mi300");
    control()->throttle = 100;
    sample(0, &row);
    assert_int_equal(row.throttle, CELL_NULL); /* the first sample has none before it */
    sample(0, &row);
    assert_int_equal(row.throttle, counts ? 0 : CELL_NULL);
    control()->throttle = 140;
    sample(0, &row);
    assert_int_equal(row.throttle, counts ? 4 : CELL_NULL);
}

/* The firmware counts what crosses the links, by its own clock; releases before ROCm 6 do not. */
TEST(what_crossed_the_links_since_the_sample_before)
{
    struct device_metric_row row;
    bool reports = release->newer;
    sample(0, &row);
    assert_int_equal(row.nvlink_rx, CELL_NULL); /* the first sample has none before it */
    assert_int_equal(row.nvlink_tx, CELL_NULL);
    for (int i = 0; i < 2; i++) {
        sample(0, &row);
        assert_int_equal(row.nvlink_rx, reports ? FAKE_LINK_READ * 1024 : CELL_NULL);
        assert_int_equal(row.nvlink_tx, reports ? FAKE_LINK_WRITE * 1024 : CELL_NULL);
    }
}

TEST(a_gpu_is_described)
{
    struct device_row row;
    struct device_text text, second;
    assert_int_equal(amd_devices.describe(devices, 0, &row, &text), 0);
    assert_string_equal(text.name, "Fake Instinct 0");
    assert_string_equal(text.vendor, "amd");
    assert_string_equal(text.pci, "0001:43:00.0");
    assert_true(text.driver[0]);
    assert_int_equal(row.memory_total, FAKE_VRAM);
    assert_int_equal(row.clock_max_sm, FAKE_MHZ_MOST);
    assert_int_equal(row.clock_max_mem, FAKE_MEMORY_MHZ);
    assert_int_equal(strncmp(text.uuid, "GPU-", 4), 0);
    assert_int_equal(amd_devices.describe(devices, 1, &row, &second), 0);
    assert_string_not_equal(text.uuid, second.uuid);
    assert_string_equal(second.pci, "0001:63:00.0");
    assert_int_equal(amd_devices.describe(devices, 2, &row, &text), GPUFL_E_INVAL);
}

/* Parts share the number of their GPU, and have to be distinguished. */
TEST(parts_are_gpus_of_their_own)
{
    struct device_row row;
    struct device_text text[2];
    char parts[64];
    reopen("parts");
    for (int i = 0; i < 2; i++)
        assert_int_equal(amd_devices.describe(devices, i, &row, &text[i]), 0);
    assert_string_not_equal(text[0].uuid, text[1].uuid);
    amd_devices_parts(devices, 0, parts, sizeof parts);
    assert_string_equal(parts, release->newer ? "CPX, memory NPS4" : "");
    assert_int_equal(strstr(text[0].name, "CPX") != NULL, release->newer);
    assert_true(*text[0].pci && *text[1].pci); /* the UUID distinguishes them */
}

/* Two parts stay two devices if the release does not number parts, or parts have no UUID. */
TEST(parts_without_names_are_not_one)
{
    struct device_row row;
    struct device_text text[2];
    reopen("unnumbered");
    for (int i = 0; i < 2; i++)
        assert_int_equal(amd_devices.describe(devices, i, &row, &text[i]), 0);
    assert_string_not_equal(text[0].uuid, text[1].uuid);
    reopen("nameless");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(amd_devices.describe(devices, i, &row, &text[i]), 0);
        assert_int_equal(row.index, i);
        assert_string_equal(text[i].uuid, "");
        assert_string_equal(text[i].pci, "");
    }
}

TEST(processes_of_a_gpu)
{
    struct device_process list[4];
    struct device_metric_row row;
    int count;
    control()->pids[0] = 4711;
    control()->pids[1] = 4712; /* on device 1 */
    control()->pids[2] = 4713;
    int rc = amd_devices.watch->processes(devices, 0, list, 4, &count);
    assert_int_equal(rc, release->processes ? 2 : GPUFL_E_NOT_BUILT);
    if (release->processes) {
        assert_int_equal(count, 2);
        assert_int_equal(list[0].pid, 4711);
        assert_int_equal(list[0].memory_used, 1000);
        assert_int_equal(list[1].pid, 4713);
        assert_int_equal(list[1].mem_util, CELL_NULL);
        assert_int_equal(amd_devices.watch->processes(devices, 0, list, 1, &count), 1);
        assert_int_equal(count, 2); /* including the one without room */
    }
    sample(0, &row);
    assert_int_equal(row.processes, 2);
}

TEST(a_gpu_that_appears_is_listed)
{
    assert_int_equal(amd_devices.watch->listed(devices), 2);
    control()->devices = 3;
    assert_int_equal(amd_devices.watch->listed(devices), 3);
    control()->unloaded = 1;
    assert_true(amd_devices.watch->listed(devices) < 0);
}

/* Every refusal is one sentence that says what to do. */
TEST(refusals_say_what_to_do)
{
    static const struct {
        const char *script, *words;
        int code;
    } rows[] = {
        {"missing", "modprobe amdgpu", GPUFL_E_UNAVAILABLE},
        {"denied", "groups render and video", GPUFL_E_PERM},
        {"unknown", "see dmesg", GPUFL_E_VENDOR},
    };
    amd_devices.close(devices);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err e = {0};
        struct devices *d;
        setenv("FAKE_AMD", rows[i].script, 1);
        assert_int_equal(amd_devices.open(&d, &e), rows[i].code);
        assert_null(d);
        if (!strstr(e.text, rows[i].words))
            fail_msg("%s: %s", rows[i].script, e.text);
    }
    unsetenv("FAKE_AMD");
    assert_int_equal(amd_devices.open(&devices, NULL), 0);
}

/* Users share the library: it begins with the first one and ends with the last one. */
TEST(the_library_begins_once)
{
    struct devices *second;
    const char *path;
    int (*ends)(void);
    int64_t inits = control()->inits;
    (void)amd_devices_library(devices, &path);
    *(void **)&ends = dlsym(dlopen(path, RTLD_LAZY | RTLD_NOLOAD), "fake_amd_ends");
    assert_non_null(ends);
    int before = ends();
    assert_int_equal(amd_devices.open(&second, NULL), 0);
    amd_devices.close(devices);
    assert_int_equal(control_of(path)->inits, inits);
    assert_int_equal(ends(), before);
    amd_devices.close(second);
    /* AMD SMI does not count its users: if the program had it before us, it is not shut down. */
    bool goes_on = with_program && strcmp(release->library, "AMD SMI") == 0;
    assert_int_equal(ends(), before + !goes_on);
    assert_int_equal(amd_devices.open(&devices, NULL), 0);
}

/* A child of fork initializes the library for itself. */
TEST(a_child_of_fork_begins_again)
{
    int64_t inits = control()->inits;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct devices *own;
        struct device_metric_row row;
        bool ok = amd_devices.open(&own, NULL) == 0 && control()->inits == inits + 1 &&
                  amd_devices.sample(own, 0, &row) == 0 && row.gpu_util == FAKE_BUSY;
        amd_devices.close(own);
        _exit(!ok);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(control()->inits, inits);
}

/* Checks what `gpufl info` prints: the library, the GPUs, and that nothing has run on hardware. */
TEST(the_probe_says_it_is_unverified)
{
    static struct probe p;
    bool library = false, unverified = false, gpu = false;
    amd_probe(&p);
    assert_true(p.usable);
    for (int i = 0; i < p.fact_count; i++) {
        const struct probe_fact *f = &p.facts[i];
        library |= strcmp(f->name, release->library) == 0 && strstr(f->value, release->folder);
        unverified |= strstr(f->value, "not verified on hardware") != NULL;
        gpu |= strcmp(f->name, "GPU 0") == 0 && strstr(f->value, "Fake Instinct 0, 64 GiB");
    }
    assert_true(library);
    assert_true(unverified);
    assert_true(gpu);
    assert_true(amd_usable());
}

/* The fact of a GPU leaves out what the library does not report: no size is 0. */
TEST(the_probe_leaves_out_what_is_unknown)
{
    static struct probe p;
    int without = 0;
    for (int n = 1; n < 40; n++) {
        control()->fail_at = n;
        amd_probe(&p);
        control()->fail_at = 0;
        for (int i = 0; i < p.fact_count; i++) {
            const struct probe_fact *f = &p.facts[i];
            size_t len = strlen(f->value);
            if (strncmp(f->name, "GPU ", 4) != 0)
                continue;
            if (strstr(f->value, " 0 GiB") || strstr(f->value, ", ,") || f->value[len - 1] == ' ' ||
                f->value[len - 1] == ',')
                fail_msg("call %d: '%s'", n, f->value);
            without += f->works && !strstr(f->value, "GiB");
        }
    }
    assert_true(without > 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static int run_cases(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_release_chooses_the_library),
        CASE(all_that_a_gpu_knows),
        CASE(unknown_is_not_zero),
        CASE(what_a_gpu_does_not_know_is_not_asked_again),
        CASE(slow_questions_have_a_period),
        CASE(an_error_at_the_nth_call_costs_that_cell),
        CASE(a_gpu_that_vanishes_is_lost_and_comes_back),
        CASE(a_gpu_that_never_answered_is_lost),
        CASE(an_mi300_has_the_clocks_of_its_chiplets),
        CASE(what_held_the_clocks_down_since_the_sample_before),
        CASE(what_crossed_the_links_since_the_sample_before),
        CASE(a_gpu_is_described),
        CASE(parts_are_gpus_of_their_own),
        CASE(parts_without_names_are_not_one),
        CASE(processes_of_a_gpu),
        CASE(a_gpu_that_appears_is_listed),
        CASE(refusals_say_what_to_do),
        CASE(the_library_begins_once),
        CASE(a_child_of_fork_begins_again),
        CASE(the_probe_says_it_is_unverified),
        CASE(the_probe_leaves_out_what_is_unknown),
    };
    char name[64], path[4096];
    snprintf(name, sizeof name, "amd_devices.%s", release->folder);
    snprintf(path, sizeof path, "%s/%s", FAKES, release->folder);
    if (with_program) {
        snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", release->file);
        assert_non_null(dlopen(path, RTLD_NOW | RTLD_LOCAL));
        unsetenv(AMD_SMI_PATH);
    } else {
        setenv(AMD_SMI_PATH, path, 1);
    }
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

extern char **environ;

static int run_itself(const char *folder, const char *who)
{
    char *argv[] = {"test_amd_devices", (char *)folder, (char *)who, NULL};
    pid_t child;
    int status = 0;
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) ||
        waitpid(child, &status, 0) != child)
        return 1;
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    with_program = argc > 2 && strcmp(argv[2], "program") == 0;
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
        release = &releases[i];
        if (argc < 2)
            failed += run_itself(release->folder, "alone") + run_itself(release->folder, "program");
        else if (strcmp(release->folder, argv[1]) == 0)
            return run_cases();
    }
    return failed;
}
