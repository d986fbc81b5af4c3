/* test_feed.c - tests lines in order, on one thread and on two; damage counted. */
#include "analyze/read/feed.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "tests/unit/support/make_log.h"
#include "tests/unit/support/tmpdir.h"

#include <sys/stat.h>

enum { LINES = 60000 };

struct seen {
    uint64_t lines, next, wrong;
    uint64_t stop_at; /* 0: never */
};

/* Lines are numbered and of different lengths. */
static int take(void *arg, char *line, size_t len, bool complete)
{
    struct seen *s = arg;
    s->wrong += strtoull(line, NULL, 10) != s->next || strlen(line) != len || !complete;
    s->next++;
    s->lines++;
    return s->stop_at && s->lines == s->stop_at ? 77 : 0;
}

static void make(struct discover *d)
{
    struct make_log l;
    struct err e = {0};
    make_log_init(&l, "s");
    for (int i = 0; i < LINES; i++) {
        buf_printf(&l.lines, "%d %*s\n", i, i % 997, "x");
        if (i == LINES / 3)
            make_log_write(&l, tmpdir, "device.1.log.gz");
        if (i == LINES / 2)
            make_log_write(&l, tmpdir, "device.2.log");
    }
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    assert_int_equal(discover_open(d, tmpdir_path("s"), &e), 0);
}

TEST(test_in_order)
{
    struct discover d;
    make(&d);
    for (int threads = 0; threads < 2; threads++) {
        struct seen s = {0};
        struct feed_stats stats;
        struct feed f = {.arg = &s, .line = take, .threads_from = threads ? 1 : INT64_MAX};
        assert_int_equal(feed_session(&d.sessions[0], &f, &stats), 0);
        assert_int_equal(s.lines, LINES);
        assert_int_equal(s.wrong, 0);
        assert_int_equal(stats.parts, 3);
        assert_int_equal(stats.unfinished + stats.cut + stats.unreadable, 0);
    }
    discover_close(&d);
}

TEST(test_stops)
{
    struct discover d;
    make(&d);
    for (uint64_t at = 1; at < LINES; at += LINES / 5) {
        for (int threads = 0; threads < 2; threads++) {
            struct seen s = {.stop_at = at};
            struct feed_stats stats;
            struct feed f = {.arg = &s, .line = take, .threads_from = threads ? 1 : INT64_MAX};
            assert_int_equal(feed_session(&d.sessions[0], &f, &stats), 77);
            assert_int_equal(s.lines, at);
        }
    }
    discover_close(&d);
}

static int count(void *arg, char *line, size_t len, bool complete)
{
    struct seen *s = arg;
    (void)line;
    (void)len;
    s->lines++;
    s->wrong += !complete;
    return 0;
}

TEST(test_damage)
{
    struct discover d;
    struct err e = {0};
    struct seen s = {0};
    struct feed_stats stats;
    struct feed f = {.arg = &s, .line = count};
    char packed[8192];
    struct make_log l;
    make_log_init(&l, "t");
    for (int i = 0; i < 3000; i++)
        buf_printf(&l.lines, "{\"a\":%d}\n", i * 7919 % 10007);
    make_log_write(&l, tmpdir, "device.1.log.gz");
    make_log_fini(&l);
    FILE *in = fopen(tmpdir_path("t/device.1.log.gz"), "rb");
    size_t n = fread(packed, 1, sizeof packed, in);
    fclose(in);
    assert_true(n > 2000);
    tmpdir_write("t/device.1.log.gz", packed, n / 2); /* cut in the middle */
    tmpdir_write("t/scope.log", "{}\n{\"half", 9);
    tmpdir_write("t/system.log", "", 0);
    assert_int_equal(discover_open(&d, tmpdir_path("t"), &e), 0);
    assert_int_equal(feed_session(&d.sessions[0], &f, &stats), 0);
    assert_int_equal(stats.cut, 1);
    assert_true(s.lines > 100 && s.lines < 3000);
    assert_true(stats.unfinished >= 1);
    discover_close(&d);
}

/* A part that is named as packed and holds other bytes was overwritten: that is damage, and nobody
 * is still writing the part. */
TEST(test_overwritten)
{
    static const char *const names[] = {"device.1.log.gz", "device.1.log.zst"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int empty = 0; empty < 2; empty++) {
            char dir[16], path[64];
            struct discover d;
            struct err e = {0};
            struct seen s = {0};
            struct feed_stats stats;
            struct feed f = {.arg = &s, .line = count};
            snprintf(dir, sizeof dir, "o%zu%d", i, empty);
            mkdir(tmpdir_path(dir), 0777);
            snprintf(path, sizeof path, "%s/%s", dir, names[i]);
            tmpdir_write(path, "\x99\x17 {}\n no end", empty ? 0 : 13);
            snprintf(path, sizeof path, "%s/scope.log", dir);
            tmpdir_write(path, "{}\n{\"half", 9);
            assert_int_equal(discover_open(&d, tmpdir_path(dir), &e), 0);
            assert_int_equal(feed_session(&d.sessions[0], &f, &stats), 0);
            assert_int_equal(stats.cut, 1);
            assert_int_equal(stats.damaged, 1u << DISCOVER_DEVICE);
            assert_int_equal(stats.unfinished, 1); /* the scope channel's part */
            assert_int_equal(s.lines, empty ? 2 : 4);
            discover_close(&d);
        }
    }
}

TEST(test_no_memory)
{
    struct discover d;
    make(&d);
    for (int64_t fail = 0;; fail++) {
        struct seen s = {0};
        struct feed_stats stats;
        struct feed f = {.arg = &s, .line = take, .threads_from = 1};
        mem_fail_at(fail);
        int rc = feed_session(&d.sessions[0], &f, &stats);
        bool done = mem_count() <= fail;
        mem_fail_at(-1);
        /* The first thread reads on if there is no second one; inflating without memory looks like
         * a file that is broken off. */
        if (rc)
            assert_int_equal(rc, GPUFL_E_NOMEM);
        else
            assert_true(stats.cut == 1 || (s.lines == LINES && s.wrong == 0));
        if (done)
            break;
    }
    discover_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_order),
                                       cmocka_unit_test(test_stops), cmocka_unit_test(test_damage),
                                       cmocka_unit_test(test_overwritten),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
