/* Tests the host sampler, on a /proc made by the test and on the real one. */
#include "monitor/host.h"
#include "tests/test.h"

#include "monitor/steady.h"
#include "tests/unit/support/tmpdir.h"

#include <sys/stat.h>
#include <time.h>

static void put(const char *name, const char *text)
{
    tmpdir_write(name, text, strlen(text));
}

static void put_all(const char *stat, const char *self)
{
    mkdir(tmpdir_path("self"), 0700);
    put("stat", stat);
    put("meminfo", "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:    250 kB\n");
    put("self/stat", self);
    put("self/statm", "5000 100 50 1 0 40 0\n");
}

TEST(test_shares_of_cpu)
{
    struct host h;
    struct host_metric_row row;
    /* the name in field 2 holds what could be taken for fields */
    put_all("cpu  100 0 100 800 0 0 0 0 0 0\n",
            "1 (a b) R 1) S 1 1 1 0 1 1 1 1 1 1 30 20 0 0 20 0");
    host_open(&h, tmpdir, 0);
    assert_true(host_sample(&h, 1000000000, true, &row));
    assert_true(row.cpu == CELL_NULL && row.process_cpu == CELL_NULL); /* no sample before */
    assert_int_equal(row.memory_total, 1000 * 1024);
    assert_int_equal(row.memory_used, 750 * 1024);
    assert_int_equal(row.process_rss, 100 * sysconf(_SC_PAGESIZE));
    put_all("cpu  125 0 125 925 25 0 0 0 0 0\n",
            "1 (a b) R 1) S 1 1 1 0 1 1 1 1 1 1 60 40 0 0 20 0");
    assert_true(host_sample(&h, 2000000000, true, &row));
    assert_int_equal(row.cpu, 2500); /* 50 of 200 ticks */
    assert_int_equal(row.process_cpu, 50 * 10000 / sysconf(_SC_CLK_TCK));
    host_close(&h);
}

/* iowait decreases on some kernels; a share is between 0 and 100 % all the same. The host's share
 * does not depend on what /proc says of the process. */
TEST(test_counters_that_go_back)
{
    struct host h;
    struct host_metric_row row;
    put_all("cpu  100 0 100 800 90 0 0 0 0 0\n", "not readable");
    host_open(&h, tmpdir, 0);
    assert_true(host_sample(&h, 1000000000, true, &row));
    put_all("cpu  150 0 150 800 20 0 0 0 0 0\n", "not readable");
    assert_true(host_sample(&h, 2000000000, true, &row));
    assert_int_equal(row.cpu, 10000); /* 100 busy ticks of 30 in all */
    assert_true(row.process_cpu == CELL_NULL);
    put_all("cpu  140 0 150 900 20 0 0 0 0 0\n", "not readable");
    assert_true(host_sample(&h, 3000000000, true, &row));
    assert_int_equal(row.cpu, 0);
    host_close(&h);
}

/* Faults, swap and waits for memory are differences of two samples; the first sample has none. */
TEST(test_paging)
{
    struct host h;
    struct host_metric_row row;
    int64_t page = sysconf(_SC_PAGESIZE);
    mkdir(tmpdir_path("pressure"), 0700);
    put_all("cpu  1 0 1 8 0 0 0 0 0 0\n", "1 (a) S 1 1 1 0 1 1 90 1 7 1 30 20 0 0 20 0");
    put("vmstat", "nr_free_pages 5\nzswpin 900\npswpin 10\npswpout 20\n");
    put("pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n"
                           "full avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n");
    host_open(&h, tmpdir, 0);
    assert_true(host_sample(&h, 1000000000, true, &row));
    assert_true(row.faults_major == CELL_NULL && row.swap_in == CELL_NULL);
    assert_true(row.swap_out == CELL_NULL && row.memory_waits == CELL_NULL);
    put_all("cpu  2 0 2 16 0 0 0 0 0 0\n", "1 (a) S 1 1 1 0 1 1 99 1 19 1 30 20 0 0 20 0");
    put("vmstat", "nr_free_pages 5\nzswpin 999\npswpin 13\npswpout 20\n");
    put("pressure/memory", "some avg10=9.00 avg60=0.00 avg300=0.00 total=1300000\n");
    assert_true(host_sample(&h, 3000000000, true, &row));
    assert_int_equal(row.faults_major, 12);
    assert_int_equal(row.swap_in, 3 * page);
    assert_int_equal(row.swap_out, 0);
    assert_int_equal(row.memory_waits, 1500); /* 0.3 of 2 s */
    assert_true(row.cpu_limit == CELL_NULL && row.cpu_periods == CELL_NULL);
    /* another process samples the host: only this process's own values */
    put_all("cpu  2 0 2 16 0 0 0 0 0 0\n", "1 (a) S 1 1 1 0 1 1 99 1 20 1 30 20 0 0 20 0");
    assert_true(host_sample(&h, 4000000000, false, &row));
    assert_int_equal(row.faults_major, 1);
    assert_true(row.swap_in == CELL_NULL && row.memory_waits == CELL_NULL);
    /* the samples between are unknown, so the next one has no difference */
    assert_true(host_sample(&h, 5000000000, true, &row));
    assert_true(row.swap_in == CELL_NULL && row.memory_waits == CELL_NULL);
    host_close(&h);
}

TEST(test_what_cannot_be_read_is_null)
{
    struct host h;
    struct host_metric_row row;
    host_open(&h, tmpdir_path("nowhere"), 0);
    assert_false(host_sample(&h, 1, true, &row));
    assert_true(row.cpu == CELL_NULL && row.memory_used == CELL_NULL);
    assert_true(row.process_rss == CELL_NULL);
    host_close(&h);
    put_all("garbage\n", "1 no name");
    put("meminfo", "");
    host_open(&h, tmpdir, 0);
    assert_false(host_sample(&h, 1, true, &row));
    assert_true(row.cpu == CELL_NULL && row.memory_total == CELL_NULL);
    host_close(&h);
}

TEST(test_this_machine)
{
    struct host h;
    struct host_metric_row row;
    host_open(&h, "/proc", 0);
    assert_true(host_sample(&h, steady_ns(), true, &row));
    assert_true(row.memory_total > 1 << 20);
    assert_true(row.memory_used > 0 && row.memory_used < row.memory_total);
    assert_true(row.process_rss > 0);
    /* some ticks of the process, whatever else runs */
    clock_t until = clock() + CLOCKS_PER_SEC / 20;
    while (clock() < until)
        continue;
    assert_true(host_sample(&h, steady_ns(), true, &row));
    assert_true(row.cpu == CELL_NULL || (row.cpu >= 0 && row.cpu <= 10000));
    assert_true(row.process_cpu > 0 && row.process_cpu < 1000000);
    assert_true(row.faults_major != CELL_NULL && row.swap_in != CELL_NULL);
    host_close(&h);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, tmpdir_open, tmpdir_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_shares_of_cpu), CASE(test_counters_that_go_back),
        CASE(test_paging),        CASE(test_what_cannot_be_read_is_null),
        CASE(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
