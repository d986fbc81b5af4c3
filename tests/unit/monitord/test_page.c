/* test_page.c - tests the contents of /metrics, without old values and unbounded labels. */
#include "monitord/page.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "monitor/steady.h"
#include "net/server/listen.h"
#include "net/server/metrics_page.h"

#include <stdio.h>
#include <string.h>

static const int64_t SECOND = 1000000000;

static struct page page;
static struct gpus gpus;

static void no_event(void *arg, int gpu, const char *kind, int64_t code)
{
    (void)arg, (void)gpu, (void)kind, (void)code;
}

static int setup(void **state)
{
    (void)state;
    gpus_init(&gpus, NULL, false, no_event, NULL);
    gpus.count = 1;
    gpus.items[0] = (struct gpu){.index = 0};
    snprintf(gpus.items[0].text.uuid, sizeof gpus.items[0].text.uuid, "GPU-a\"b");
    assert_int_equal(page_init(&page, SECOND), 0);
    page_gpus(&page, &gpus);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    page_fini(&page);
    gpus_close(&gpus);
    return 0;
}

static char *text(void)
{
    static struct buf b;
    buf_fini(&b);
    buf_init(&b, 8 << 20);
    page_fill(&page, &b);
    return (char *)buf_cstr(&b);
}

static struct device_metric_row unknown(void)
{
    struct device_metric_row row;
    for (size_t c = 0; c < COL_device_metric_COUNT; c++)
        ((int64_t *)&row)[c] = CELL_NULL;
    return row;
}

TEST(values_stay_until_they_are_old)
{
    int64_t now = steady_ns();
    struct device_metric_row row = unknown();
    row.energy = 2500;
    page_sample(&page, 0, &row, now - 100 * SECOND);
    row = unknown();
    row.power = 120500;
    page_sample(&page, 0, &row, now);
    assert_non_null(
        strstr(text(), "gpufl_gpu_energy_joules_total{gpu=\"0\",uuid=\"GPU-a\\\"b\"} 2.5\n"));
    assert_non_null(strstr(text(), "gpufl_gpu_power_watts{gpu=\"0\",uuid=\"GPU-a\\\"b\"} 120.5\n"));
    row.energy = 2600;
    page_sample(&page, 0, &row, now - 140 * SECOND);
    assert_null(strstr(text(), "energy_joules"));
    assert_null(strstr(text(), "fan")); /* its value is unknown */
}

TEST(lost_gpu_shows_nothing_old)
{
    struct device_metric_row row = unknown();
    row.power = 1000;
    page_sample(&page, 0, &row, steady_ns());
    gpus.items[0].lost = true;
    page_gpus(&page, &gpus);
    assert_null(strstr(text(), "power_watts"));
    assert_non_null(strstr(text(), "gpufl_gpu_up{gpu=\"0\",uuid=\"GPU-a\\\"b\"} 0\n"));
}

static int count_of(const char *needle)
{
    int n = 0;
    for (const char *at = text(); (at = strstr(at, needle)); at++)
        n++;
    return n;
}

TEST(labels_are_bounded)
{
    for (int code = 0; code < 100; code++)
        page_xid(&page, 0, code, 2);
    assert_int_equal(count_of("gpufl_gpu_xid_errors_total{"), XIDS_MOST);
    assert_non_null(strstr(text(), "xid=\"other\"} 138\n")); /* 100 - 31 kinds, two of each */
    struct processes t = {0};
    processes_init(&t, "/nowhere", NULL);
    t.items = mem_array(WORKLOADS_MOST + 3, sizeof *t.items);
    t.count = WORKLOADS_MOST + 3;
    for (size_t i = 0; i < t.count; i++) {
        t.items[i].now =
            (struct device_process){.pid = (int64_t)i, .memory_used = 5, .sm_util = CELL_NULL};
        snprintf(t.items[i].owner.job, sizeof t.items[i].owner.job, "%zu", i);
    }
    page_processes(&page, &t);
    assert_int_equal(count_of("gpufl_workload_processes{"), WORKLOADS_MOST);
    assert_non_null(strstr(text(), "gpufl_monitor_processes_omitted 3\n"));
    for (size_t i = 0; i < t.count; i++)
        snprintf(t.items[i].owner.job, sizeof t.items[i].owner.job, "1");
    page_processes(&page, &t);
    assert_int_equal(count_of("gpufl_workload_processes{"), 1);
    assert_non_null(strstr(text(), "slurm_job=\"1\"} 1295\n")); /* 259 x 5 bytes */
    assert_null(strstr(text(), "busiest"));
    snprintf(t.items[1].owner.session, sizeof t.items[1].owner.session,
             "01234567-89ab-cdef-0123-456789abcdef");
    page_processes(&page, &t); /* a process that gpufl traces has a line of its own */
    assert_int_equal(count_of("gpufl_workload_processes{"), 2);
    assert_non_null(
        strstr(text(), "slurm_job=\"1\",session=\"01234567-89ab-cdef-0123-456789abcdef\"} 5\n"));
    processes_fini(&t);
}

static struct process used(int64_t pid, const char *job, int64_t memory)
{
    struct process p = {.now = {.pid = pid, .memory_used = memory, .sm_util = CELL_NULL}};
    snprintf(p.owner.job, sizeof p.owner.job, "%s", job);
    return p;
}

/* An unknown sum is neither 0 nor the sum of the known values. */
TEST(unknown_memory_has_no_line)
{
    struct process items[] = {used(1, "5", CELL_NULL), used(2, "6", 7),  used(3, "6", CELL_NULL),
                              used(4, "6", 9),         used(5, "8", 20), used(6, "8", 3)};
    struct processes t = {.items = items, .count = 1};
    page_processes(&page, &t);
    assert_int_equal(count_of("gpufl_workload_processes{"), 1);
    assert_null(strstr(text(), "gpufl_workload_memory_used_bytes"));
    t.count = sizeof items / sizeof *items;
    page_processes(&page, &t);
    assert_int_equal(count_of("gpufl_workload_processes{"), 3);
    assert_int_equal(count_of("gpufl_workload_memory_used_bytes{"), 1);
    assert_non_null(strstr(text(), "slurm_job=\"8\"} 23\n"));
}

TEST(health)
{
    char why[200] = "";
    struct host_metric_row host = {0};
    struct monitor_row counts = {0};
    assert_false(page_healthy(&page, why, sizeof why));
    page_round(&page, &host, &counts, "", steady_ns());
    assert_true(page_healthy(&page, why, sizeof why));
    page_round(&page, &host, &counts, "no driver", steady_ns());
    assert_false(page_healthy(&page, why, sizeof why));
    assert_string_equal(why, "no driver");
    page_round(&page, &host, &counts, "", steady_ns() - 200 * SECOND);
    assert_false(page_healthy(&page, why, sizeof why));
    assert_non_null(strstr(why, "has not answered"));
}

TEST(addresses)
{
    static const struct {
        const char *text, *address;
        uint16_t port;
    } good[] = {{"9400", "127.0.0.1", 9400},
                {":0", "127.0.0.1", 0},
                {"0.0.0.0:1", "0.0.0.0", 1},
                {"[::1]:65535", "::1", 65535}};
    static const char *const bad[] = {"", ":", "1.2.3.4", "::1:80", "a:65536", "a:+1", "a:-1"};
    char address[32];
    uint16_t port;
    struct err e;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(listen_parse(good[i].text, address, sizeof address, &port, &e), 0);
        assert_string_equal(address, good[i].address);
        assert_int_equal(port, good[i].port);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(listen_parse(bad[i], address, sizeof address, &port, &e), GPUFL_E_INVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_stay_until_they_are_old, setup, teardown),
        cmocka_unit_test_setup_teardown(lost_gpu_shows_nothing_old, setup, teardown),
        cmocka_unit_test_setup_teardown(labels_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_memory_has_no_line, setup, teardown),
        cmocka_unit_test_setup_teardown(health, setup, teardown),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
