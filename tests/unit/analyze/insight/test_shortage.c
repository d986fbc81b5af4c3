/* test_shortage.c - a CPU limit, and too little memory, by counts of the host's samples. */
#include "analyze/insight/answer.h"
#include "tests/test.h"
#include "tests/unit/support/finder.h"
#include "tests/unit/support/make_log.h"

#include <string.h>

enum { GAPS = 20 };

#define MS 1000000ll

/* A sample of the host now. */
static struct host_metric_row host_row(void)
{
    struct host_metric_row h;
    MAKE_UNKNOWN(h);
    h.time = finder.p.now;
    return h;
}

static void put(const struct host_metric_row *h)
{
    make_log_rows(&finder.p.log, RECORD_host_metric, h, 1);
}

/* A run whose GPU works for 2 ms and waits for 8 ms, again and again. The limit stops the host for
 * `stopped` of each gap; its periods are 10 ms long. */
static void limited(int64_t stopped)
{
    for (int i = 0; i < GAPS; i++) {
        finder_gaps(1, 8 * MS, 2 * MS);
        struct host_metric_row h = host_row();
        h.cpu_limit = 5000;
        h.cpu_periods = 1;
        h.cpu_throttled = stopped > 0;
        h.cpu_throttled_time = stopped;
        put(&h);
    }
}

static const char *answer(struct buf *out)
{
    struct answer a;
    buf_init(out, 1 << 16);
    answer_find(&finder.m, &finder.found, &a, out);
    return a.cause;
}

TEST(test_limit)
{
    struct buf text;
    finder_begin("limited");
    limited(6 * MS);
    finder_look();
    const struct insight *limit = finder_find("cpu_limit", ""),
                         *line = finder_find("late_launch", "late.py:33");
    assert_non_null(limit);
    assert_in_range(limit->gives_back, GAPS * 6 * MS - 12 * MS, GAPS * 6 * MS);
    assert_int_equal(limit->severity, INSIGHT_HIGH);
    assert_int_equal(finder_fact(limit, "cpu_throttled"), GAPS);
    assert_non_null(strstr(limit->text,
                           "The CPU limit of 0.5 cores of the program's control group "
                           "stopped its threads in 100.0 % of 20 periods, for 120 ms"));
    /* the line has the rest; the first sentence is about the limit */
    assert_non_null(line);
    int64_t late = finder_fact(line, "gpu_idle_ns"), less = finder_fact(line, "cpu_limit_ns");
    assert_in_range(less, limit->gives_back - 12 * MS, limit->gives_back);
    assert_int_equal(line->gives_back, late - less);
    assert_non_null(strstr(line->text, "was caused by the CPU limit"));
    assert_string_equal(answer(&text), "cpu_limit");
    assert_true(strncmp(buf_cstr(&text), "The CPU limit", 13) == 0);
    buf_fini(&text);
    finder_without_memory();
    finder_end();
}

/* A limit that stops nothing, or little, is no finding, and takes nothing from lines. */
TEST(test_no_limit)
{
    for (int64_t stopped = 0; stopped <= 300000; stopped += 300000) {
        finder_begin("not limited");
        limited(stopped);
        finder_look();
        const struct insight *line = finder_find("late_launch", "late.py:33");
        finder_only("late_launch", "");
        assert_int_equal(line->gives_back, finder_fact(line, "gpu_idle_ns"));
        assert_null(strstr(line->text, "limit"));
        finder_end();
    }
}

/* A limit that stops the host while the GPU has work costs nothing. */
TEST(test_limit_while_the_gpu_is_late)
{
    finder_begin("busy");
    for (int i = 0; i < GAPS; i++) {
        finder_gaps(1, 0, 10 * MS);
        struct host_metric_row h = host_row();
        h.cpu_limit = 5000;
        h.cpu_periods = h.cpu_throttled = 1;
        h.cpu_throttled_time = 8 * MS;
        put(&h);
    }
    finder_look();
    finder_only("", "");
    finder_end();
}

/* Threads on 8 cores stop at the same time: the kernel adds their times up, but no stop lasts
 * longer than its period. */
TEST(test_limit_of_many_cores)
{
    finder_begin("many cores");
    for (int i = 0; i < GAPS; i++) {
        finder_gaps(1, 8 * MS, 2 * MS);
        struct host_metric_row h = host_row();
        h.cpu_periods = 10;
        h.cpu_throttled = 2;
        h.cpu_throttled_time = 80 * MS;
        put(&h);
    }
    finder_look();
    const struct insight *limit = finder_find("cpu_limit", "");
    assert_in_range(limit->gives_back, 38 * MS, 41 * MS); /* two tenths of 200 ms */
    finder_end();
}

static void short_of_memory(int64_t faults, int64_t waits)
{
    finder_gaps(GAPS, 8 * MS, 2 * MS);
    struct host_metric_row h = host_row();
    h.faults_major = faults;
    h.memory_waits = waits;
    h.swap_in = 3 << 20;
    h.swap_out = 5 << 20;
    put(&h);
}

TEST(test_paging)
{
    finder_begin("paging");
    short_of_memory(250, 4000);
    finder_look();
    const struct insight *i = finder_find("paging", "");
    assert_non_null(i);
    assert_in_range(i->gives_back, 78 * MS, 81 * MS); /* 40 % of 200 ms */
    assert_non_null(strstr(i->text,
                           "For 40.0 % of the time some thread of the host waited for memory. "
                           "250 pages of the program had to be read from a disk"));
    assert_non_null(strstr(i->text, "from swap and wrote"));
    finder_without_memory();
    finder_end();
    finder_begin("others page");
    short_of_memory(99, 4000);
    finder_look();
    assert_null(finder_find("paging", ""));
    finder_end();
    finder_begin("pages, and no wait");
    short_of_memory(250, 400);
    finder_look();
    assert_null(finder_find("paging", ""));
    finder_end();
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, finder_open, finder_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_limit),
        CASE(test_no_limit),
        CASE(test_limit_while_the_gpu_is_late),
        CASE(test_limit_of_many_cores),
        CASE(test_paging),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
