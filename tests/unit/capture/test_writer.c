/* The log writer: all rows that are counted as written can be read, from every part alone.
 * test_writer_limits.c tests limits and failures, test_writer_peer.c the public client's format. */
#include "tests/test.h"
#include "tests/unit/support/writer_fixture.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_round_trip(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    open_writer(f);
    define_all(f);
    give_some_of_all(f, 900);
    assert_int_equal(writer_flush(f->w), 0);
    assert_complete(f, &p);
    assert_counts_agree(f, &p);
    struct writer_counts n;
    writer_counts(f->w, &n);
    assert_int_equal(n.bytes, p.bytes);
    assert_int_equal(n.bytes, parts_disk_bytes(f->dir));
    assert_int_equal(p.parts, CHANNEL_COUNT);
    assert_int_equal(n.rows[RECORD_config], CONFIGS); /* once a part */
    assert_int_equal(n.rows[RECORD_device], 3 * 2);   /* device, scope and system channel */
}

static void test_nothing_without_rows(void **state)
{
    struct fixture *f = *state;
    open_writer(f);
    define_all(f);
    assert_int_equal(writer_flush(f->w), 0);
    close_writer(f);
    assert_int_equal(parts_disk_bytes(f->dir), 0);
}

static void test_close_flushes(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    open_writer(f);
    define_all(f);
    give_some_of_all(f, 3);
    assert_int_equal(parts_disk_bytes(f->dir), 0); /* still in the batches */
    close_writer(f);
    assert_complete(f, &p);
}

static void rotation(struct fixture *f, bool compress)
{
    struct parts p = {0};
    f->config.rotate_bytes = 5000;
    f->config.compress = compress;
    open_writer(f);
    define_all(f);
    for (int i = 0; i < 400; i++) {
        give_some_of_all(f, 1);
        assert_int_equal(writer_flush(f->w), 0);
    }
    struct writer_counts n;
    writer_counts(f->w, &n);
    close_writer(f);
    assert_complete(f, &p);
    assert_true(p.parts > 60);
    assert_int_equal(p.both + p.half, 0);
    assert_int_equal(n.bytes, p.bytes);
    for (int t = 0; t < RECORD_COUNT; t++)
        assert_int_equal(n.rows[t], p.rows[t]);
    if (!compress)
        assert_int_equal(p.packed, 0);
}

static void test_rotation(void **state)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* it has one thread; the test with compression has two */
#endif
    rotation(*state, false);
}

static void test_rotation_and_compression(void **state)
{
    rotation(*state, true);
}

/* The strings of the configuration need not outlive writer_open. */
static void test_config_is_copied(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    char app[] = "temporary", dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s", f->dir);
    f->config.header.app = app;
    f->config.dir = dir;
    open_writer(f);
    memset(app, '!', sizeof app - 1);
    memset(dir, '!', strlen(dir));
    define_all(f);
    give_some_of_all(f, 1);
    close_writer(f);
    assert_complete(f, &p);
    char path[PATH_MAX], *text;
    size_t len;
    path_join(path, sizeof path, f->dir, "device.log");
    assert_int_equal(file_read_all(path, 1 << 20, &text, &len, NULL), 0);
    assert_non_null(strstr(text, "\"app\":\"temporary\""));
    mem_free(text);
}

/* A relative log directory stays the same when the program changes its folder. */
static void test_relative_dir(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chdir(f->dir), 0);
    f->config.dir = ".";
    f->config.rotate_bytes = 3000;
    open_writer(f);
    define_all(f);
    give_some_of_all(f, 10);
    writer_flush(f->w);
    assert_int_equal(chdir("/"), 0);
    give_some_of_all(f, 50);
    close_writer(f);
    assert_int_equal(fchdir(here), 0);
    close(here);
    assert_complete(f, &p);
}

static void test_redefined_in_every_part(void **state)
{
    struct fixture *f = *state;
    open_writer(f);
    define_all(f);
    give(f, RECORD_kernel);
    assert_int_equal(writer_flush(f->w), 0);
    struct device_row device = {.id = 2, .index = 1, .name = some_name(f, 1), .sm_count = 132};
    define(f, RECORD_device, &device.id);
    struct writer_counts before, after;
    writer_counts(f->w, &before);
    assert_int_equal(writer_flush(f->w), 0); /* written, although no row refers to it */
    writer_counts(f->w, &after);
    assert_int_equal(after.rows[RECORD_device], before.rows[RECORD_device] + 1);
    define(f, RECORD_device, &device.id);
    assert_int_equal(writer_flush(f->w), 0);
    writer_counts(f->w, &before);
    assert_int_equal(after.rows[RECORD_device], before.rows[RECORD_device]);
}

static void test_bad_directories(void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    path_join(path, sizeof path, f->dir, "missing");
    f->config.dir = path;
    assert_int_equal(writer_open(&f->w, &f->config, f->names, &f->e), GPUFL_E_NOENT);
    assert_non_null(strstr(f->e.text, "missing"));
    assert_null(f->w);
    f->config.dir = "/proc/self";
    assert_int_not_equal(writer_open(&f->w, &f->config, f->names, &f->e), 0);
    assert_true(strlen(f->e.text) > 0);
}

static void child_abandons(struct fixture *f)
{
    int fds = 0;
    size_t folder = strlen(f->dir); /* the test itself may have other logs open */
    writer_abandon(f->w);
    for (int fd = 3; fd < 256; fd++) {
        char link[64], path[PATH_MAX];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof path - 1);
        fds += n > (ssize_t)folder && !memcmp(path, f->dir, folder) &&
               !memcmp(path + n - 4, ".log", 4);
    }
    CHECK(fds == 0);
}

/* A forked child drops its copy; the parent's log has no row twice. */
static void test_fork(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    open_writer(f);
    define_all(f);
    give_some_of_all(f, 10);
    writer_flush(f->w);
    give_some_of_all(f, 10);
    run_child(child_abandons, f);
    give_some_of_all(f, 10);
    close_writer(f);
    assert_complete(f, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WRITER_TEST(test_round_trip),
        WRITER_TEST(test_nothing_without_rows),
        WRITER_TEST(test_close_flushes),
        WRITER_TEST(test_rotation),
        WRITER_TEST(test_rotation_and_compression),
        WRITER_TEST(test_config_is_copied),
        WRITER_TEST(test_relative_dir),
        WRITER_TEST(test_redefined_in_every_part),
        WRITER_TEST(test_bad_directories),
        WRITER_TEST(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
