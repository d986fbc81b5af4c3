/* Tests the log writer in the public client's format: its rows, its layout, its limit. */
#include "tests/test.h"
#include "tests/unit/support/writer_fixture.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/packed/lines.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts the rows of a line: the inner arrays of a batch, or the line itself. */
static uint64_t foreign_rows(const char *line)
{
    const char *at = strstr(line, "\"rows\":[");
    uint64_t n = 0;
    if (!at)
        return 1;
    for (at += 8; *at; at++)
        n += *at == '[';
    return n;
}

/* Counts the rows of the lines that contain the text. */
static uint64_t rows_with(const char *path, const char *key)
{
    struct lines *l;
    char *line;
    size_t len;
    bool complete;
    uint64_t n = 0;
    if (lines_open(&l, path, WIRE_MAX_LINE, NULL))
        return 0;
    while (lines_next(l, &line, &len, &complete)) {
        assert_true(complete && line[0] == '{' && line[len - 1] == '}');
        n += strstr(line, key) ? foreign_rows(line) : 0;
    }
    lines_close(l);
    return n;
}

static uint64_t count_in_file(const char *path, const char *type)
{
    char key[64];
    snprintf(key, sizeof key, "\"type\":\"%s\"", type);
    return rows_with(path, key);
}

/* Counts the rows of that type in all parts of a channel. */
static uint64_t count_foreign(const char *dir, const char *channel, const char *type)
{
    char path[PATH_MAX];
    uint64_t rows = 0;
    for (int n = 1;; n++) {
        snprintf(path, sizeof path, "%s/%s.%d.log", dir, channel, n);
        if (!file_exists(path))
            break;
        rows += count_in_file(path, type);
    }
    snprintf(path, sizeof path, "%s/%s.log", dir, channel);
    return rows + count_in_file(path, type);
}

static void give_foreign(struct fixture *f, int i)
{
    struct kernel_row k = {.start = 1000 + i, .duration = 10, .config = 1 + i % CONFIGS};
    struct memcpy_row c = {.start = 1000 + i, .duration = 10, .bytes = 64, .kind = 1};
    struct memset_row m = {.start = 1000 + i, .duration = 10, .bytes = 64};
    struct sync_row y = {.start = 1000 + i, .duration = 200, .kind = 4};
    struct scope_row s = {.start = 1000 + i, .duration = 10, .instance = i + 1};
    struct device_metric_row d = {.time = 1000 + i, .device = 1, .gpu_util = 5};
    k.stream = c.stream = m.stream = y.stream = 1 + i % STREAMS;
    k.correlation = c.correlation = m.correlation = y.correlation = i + 1;
    s.name = some_name(f, i);
    writer_row(f->w, RECORD_kernel, &k.start);
    writer_row(f->w, RECORD_memcpy, &c.start);
    writer_row(f->w, RECORD_memset, &m.start);
    writer_row(f->w, RECORD_sync, &y.start);
    writer_row(f->w, RECORD_scope, &s.start);
    writer_row(f->w, RECORD_device_metric, &d.time);
}

static void test_gpuflight(void **state)
{
    static const struct {
        enum record_type ours;
        const char *channel, *theirs;
        uint64_t rows;
    } kept[] = {
        {RECORD_kernel, "device", "kernel_event_batch", 500},
        {RECORD_memcpy, "device", "memcpy_event_batch", 500},
        {RECORD_memset, "device", "memset_event", 500},
        {RECORD_sync, "scope", "synchronization_event_batch", 500},
        {RECORD_scope, "scope", "scope_event_batch", 1000}, /* one row each for begin and end */
        {RECORD_device_metric, "system", "device_metric_batch", 500},
    };
    struct fixture *f = *state;
    struct writer_counts n;
    f->config.gpuflight = true;
    f->config.rotate_bytes = 30000;
    open_writer(f);
    define_all(f);
    for (int i = 0; i < 500; i++) {
        give_foreign(f, i);
        if (i % 100 == 99)
            assert_int_equal(writer_flush(f->w), 0);
    }
    struct message_row message = {.time = 2000, .text = some_name(f, 1)};
    writer_row(f->w, RECORD_message, &message.time); /* the format has no place for it */
    struct end_row end = {.time = 3000, .reason = some_name(f, 2)};
    writer_row(f->w, RECORD_end, &end.time);
    assert_int_equal(writer_flush(f->w), 0);
    writer_counts(f->w, &n);
    close_writer(f);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_int_equal(n.rows[kept[i].ours], 500);
        assert_int_equal(count_foreign(f->dir, kept[i].channel, kept[i].theirs), kept[i].rows);
    }
    assert_int_equal(n.rows[RECORD_message], 0);
    assert_int_equal(n.lost_disk[RECORD_message] + n.lost_memory[RECORD_message], 0);
    assert_int_equal(count_foreign(f->dir, "device", "job_start"), 1);
    assert_int_equal(count_foreign(f->dir, "system", "shutdown"), 1);
    assert_int_equal(count_foreign(f->dir, "device", "kernel"), 0); /* no rows of our format */
}

/* Readers of that format take a file without a number for the whole channel, so every file has a
 * number. They find the scopes of a kernel in its row, which may precede the row of its scope. */
static void test_gpuflight_layout(void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    f->config.gpuflight = true;
    open_writer(f);
    define_all(f);
    assert_true(writer_wants_begins(f->w));
    struct scope_open_row begin = {.start = 10, .instance = 7, .name = some_name(f, 5)};
    struct kernel_row k = {.start = 20, .duration = 10, .config = 1, .stream = 1, .scope = 7};
    struct scope_row ended = {.start = 10, .duration = 50, .instance = 7, .name = begin.name};
    writer_row(f->w, RECORD_scope_open, &begin.start);
    writer_row(f->w, RECORD_kernel, &k.start);
    assert_int_equal(writer_flush(f->w), 0);
    writer_row(f->w, RECORD_scope, &ended.start);
    close_writer(f);
    assert_int_equal(count_foreign(f->dir, "scope", "scope_event_batch"), 2);
    for (int c = 0; c < 4; c++) {
        static const char *const channels[] = {"device", "scope", "system", "sass"};
        snprintf(path, sizeof path, "%s/%s.log", f->dir, channels[c]);
        assert_false(file_exists(path));
        snprintf(path, sizeof path, "%s/%s.1.log", f->dir, channels[c]);
        assert_true(file_exists(path));
    }
    snprintf(path, sizeof path, "%s/device.1.log", f->dir);
    assert_int_equal(rows_with(path, "\"user_scope\":\"name number 5\""), 1);
}

/* The limit holds in that format, too. */
static void test_gpuflight_limit(void **state)
{
    struct fixture *f = *state;
    f->config.gpuflight = true;
    f->config.max_spool_bytes = 300000;
    open_writer(f);
    define_all(f);
    int i = 0;
    for (; i < 10000 && writer_flush(f->w) == 0; i++)
        give(f, RECORD_kernel);
    assert_in_range(i, 10, 9999);
    give_end(f);
    struct writer_counts n;
    writer_counts(f->w, &n);
    assert_int_equal(n.rows[RECORD_kernel] + n.lost_disk[RECORD_kernel], f->given[RECORD_kernel]);
    assert_true(n.lost_disk[RECORD_kernel] > 0);
    close_writer(f);
    assert_true(parts_disk_bytes(f->dir) <= 300000);
    assert_int_equal(count_foreign(f->dir, "device", "kernel_event_batch"), n.rows[RECORD_kernel]);
    assert_int_equal(count_foreign(f->dir, "system", "shutdown"), 1);
}

static void test_gpuflight_without_memory(void **state)
{
    struct fixture *f = *state;
    f->config.gpuflight = true;
    for (int64_t n = 0;; n++) {
        struct writer_counts counts;
        mem_fail_at(n);
        int rc = writer_open(&f->w, &f->config, f->names, &f->e);
        if (!rc) {
            define_all(f);
            for (int i = 0; i < 100; i++)
                give_foreign(f, i);
            writer_flush(f->w);
            writer_counts(f->w, &counts);
            assert_int_equal(counts.rows[RECORD_kernel] + counts.lost_memory[RECORD_kernel], 100);
            assert_int_equal(counts.rows[RECORD_sync] + counts.lost_memory[RECORD_sync], 100);
        }
        bool failed = mem_count() > n;
        mem_fail_at(-1);
        close_writer(f);
        if (!rc)
            assert_int_equal(count_foreign(f->dir, "device", "kernel_event_batch"),
                             counts.rows[RECORD_kernel]);
        parts_rmdir(f->dir);
        f->dir = parts_tmpdir();
        f->config.dir = f->dir;
        if (!failed)
            return;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WRITER_TEST(test_gpuflight),
        WRITER_TEST(test_gpuflight_layout),
        WRITER_TEST(test_gpuflight_limit),
        WRITER_TEST(test_gpuflight_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
