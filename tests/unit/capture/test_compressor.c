/* The compressor: packed files are complete, and files that it does not reach stay plain. */
#include "capture/log/compressor.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/packed/lines.h"
#include "tests/unit/support/parts.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

struct fixture {
    char *dir;
    struct log_dir log; /* dir, open */
    int events;         /* inotify: removed files */
    struct spool spool;
    struct compressor c;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    f->dir = parts_tmpdir();
    f->events = inotify_init1(IN_CLOEXEC);
    if (f->events < 0 || inotify_add_watch(f->events, f->dir, IN_DELETE | IN_MOVED_TO) < 0)
        return -1;
    if (log_dir_open(&f->log, f->dir) || spool_init(&f->spool, &f->log, 1 << 30, 0) ||
        compressor_init(&f->c, &f->spool, true, 0))
        return -1;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    mem_fail_at(-1);
    spool_fini(&f->spool);
    log_dir_close(&f->log);
    close(f->events);
    parts_rmdir(f->dir);
    free(f);
    return 0;
}

static void file_path(const struct fixture *f, const char *name, char *path)
{
    assert_int_equal(path_join(path, PATH_MAX, f->dir, name), 0);
}

/* Makes a part of numbered lines, so that a missing one is noticed. */
static void make_part(struct fixture *f, const char *name, int lines, char *path)
{
    file_path(f, name, path);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (int i = 0; i < lines; i++)
        fprintf(out, "{\"line\":%d}\n", i);
    fclose(out);
    spool_add(&f->spool, SPOOL_ROWS, file_size(path));
}

static void assert_lines(const char *path, int lines)
{
    struct lines *l;
    char *line, want[32];
    size_t len;
    bool complete;
    int n = 0;
    assert_int_equal(lines_open(&l, path, 1 << 20, NULL), 0);
    for (; lines_next(l, &line, &len, &complete); n++) {
        snprintf(want, sizeof want, "{\"line\":%d}", n);
        assert_string_equal(line, want);
    }
    assert_false(lines_truncated(l));
    assert_int_equal(n, lines);
    lines_close(l);
}

/* Waits until a file of that name is removed from the directory. */
static void await_removed(struct fixture *f, const char *name)
{
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    struct pollfd p = {.fd = f->events, .events = POLLIN};
    for (;;) {
        assert_int_equal(poll(&p, 1, 60000), 1);
        ssize_t n = read(f->events, buffer, sizeof buffer);
        for (char *at = buffer; at < buffer + n;) {
            const struct inotify_event *e = (const void *)at;
            if (e->mask & IN_DELETE && !strcmp(e->name, name))
                return;
            at += sizeof *e + e->len;
        }
    }
}

/* Ends the compressor, and starts one of this level; returns the size of a packed part. */
static int64_t packed_at(int level, const char *name, struct fixture *f)
{
    char path[PATH_MAX], packed[NAME_MAX + 1];
    compressor_stop(&f->c);
    assert_int_equal(compressor_init(&f->c, &f->spool, true, level), 0);
    make_part(f, name, 50000, path);
    compressor_add(&f->c, name);
    await_removed(f, name);
    snprintf(packed, sizeof packed, "%s.gz", name);
    file_path(f, packed, path);
    assert_lines(path, 50000);
    return file_size(path);
}

static void test_levels(void **state)
{
    struct fixture *f = *state;
    int64_t usual = packed_at(0, "device.1.log", f);
    assert_true(packed_at(6, "device.2.log", f) < usual);
    assert_true(packed_at(1, "device.3.log", f) > usual);
    compressor_stop(&f->c);
}

static void test_packs(void **state)
{
    struct fixture *f = *state;
    char one[PATH_MAX], two[PATH_MAX], packed[PATH_MAX];
    make_part(f, "device.1.log", 100000, one);
    make_part(f, "device.2.log", 3, two);
    assert_false(f->c.thread.running); /* nothing to do yet: no thread */
    compressor_add(&f->c, path_base(one));
    compressor_add(&f->c, path_base(two));
    await_removed(f, "device.2.log");
    compressor_stop(&f->c);
    assert_false(file_exists(one));
    assert_false(file_exists(two));
    file_path(f, "device.1.log.gz", packed);
    assert_lines(packed, 100000);
    file_path(f, "device.2.log.gz", packed);
    assert_lines(packed, 3);
    assert_int_equal(f->spool.bytes, parts_disk_bytes(f->dir));
}

/* If the compressor is stopped at once, each part is whole, plain or packed, and no partly packed
 * file is left. */
static void test_stop_leaves_whole_files(void **state)
{
    struct fixture *f = *state;
    enum { PARTS = 8, LINES = 200000 };
    char path[PATH_MAX], packed[PATH_MAX + 3], half[PATH_MAX + 8];
    for (int i = 0; i < PARTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "device.%d.log", i + 1);
        make_part(f, name, LINES, path);
        compressor_add(&f->c, path_base(path));
    }
    compressor_stop(&f->c);
    int plain = 0;
    for (int i = 0; i < PARTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "device.%d.log", i + 1);
        file_path(f, name, path);
        snprintf(packed, sizeof packed, "%s.gz", path);
        snprintf(half, sizeof half, "%s.part", packed);
        assert_true(file_exists(path) != file_exists(packed));
        assert_false(file_exists(half));
        plain += file_exists(path);
        assert_lines(file_exists(path) ? path : packed, LINES);
    }
    assert_true(plain > 0); /* it did not wait for all of them */
    assert_int_equal(f->spool.bytes, parts_disk_bytes(f->dir));
}

static void test_stop_without_work(void **state)
{
    struct fixture *f = *state;
    compressor_stop(&f->c);
    assert_false(f->c.thread.running);
}

/* Without memory for the job a part stays plain; without memory for the thread it waits until the
 * next part is added. */
static void test_no_memory(void **state)
{
    struct fixture *f = *state;
    char one[PATH_MAX], two[PATH_MAX], three[PATH_MAX], path[PATH_MAX];
    make_part(f, "device.1.log", 10, one);
    make_part(f, "device.2.log", 10, two);
    make_part(f, "device.3.log", 10, three);
    mem_fail_at(0); /* the job */
    compressor_add(&f->c, path_base(one));
    mem_fail_at(1); /* the thread */
    compressor_add(&f->c, path_base(two));
    mem_fail_at(-1);
    assert_false(f->c.thread.running);
    compressor_add(&f->c, path_base(three)); /* starts the thread for both */
    await_removed(f, "device.3.log");
    compressor_stop(&f->c);
    assert_lines(one, 10);
    file_path(f, "device.2.log.gz", path);
    assert_lines(path, 10);
    file_path(f, "device.3.log.gz", path);
    assert_lines(path, 10);
}

static void test_part_is_gone(void **state)
{
    struct fixture *f = *state;
    char missing[PATH_MAX], path[PATH_MAX];
    file_path(f, "device.1.log", missing);
    compressor_add(&f->c, path_base(missing));
    make_part(f, "device.2.log", 10, path);
    compressor_add(&f->c, path_base(path));
    await_removed(f, "device.2.log");
    compressor_stop(&f->c);
    assert_int_equal(f->spool.bytes, parts_disk_bytes(f->dir));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_packs),
        T(test_levels),
        T(test_stop_leaves_whole_files),
        T(test_stop_without_work),
        T(test_no_memory),
        T(test_part_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
