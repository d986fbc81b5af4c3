/* The log writer if something stops it: limits, a full disk, removed files, closed descriptors,
 * missing memory. Always rows = written + lost, and written rows can be read. */
#include "tests/test.h"
#include "tests/unit/support/writer_fixture.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/process/fd_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The session ends at its limit, not a byte above, and the last records are in it. */
static void spool_limit(struct fixture *f, int64_t max, int64_t rotate)
{
    struct parts p = {0};
    f->config.max_spool_bytes = max;
    f->config.rotate_bytes = rotate;
    open_writer(f);
    define_all(f);
    int i = 0;
    for (; i < 100000 && writer_flush(f->w) == 0; i++)
        for (int k = 0; k < 100; k++)
            give(f, RECORD_kernel);
    assert_in_range(i, 2, 99999);
    assert_int_equal(writer_stopped(f->w), WRITER_SPOOL_LIMIT);
    assert_non_null(strstr(writer_stop_text(f->w), "log_max_spool_bytes"));
    assert_int_equal(writer_flush(f->w), GPUFL_E_FULL);
    struct writer_counts n;
    writer_counts(f->w, &n);
    assert_true(n.lost_disk[RECORD_kernel] > 0);
    for (int k = 0; k < 5000; k++)
        give(f, RECORD_kernel);
    give(f, RECORD_device_metric); /* in the system channel, but no closing record */
    give_end(f);
    writer_flush(f->w);
    parts_read_all(f->dir, &p);
    assert_clean(&p);
    assert_counts_agree(f, &p);
    assert_int_equal(p.rows[RECORD_end], 1);
    assert_int_equal(p.rows[RECORD_ledger], 1);
    assert_int_equal(p.rows[RECORD_message], 1);
    assert_int_equal(p.rows[RECORD_device_metric], 0);
    assert_true(parts_disk_bytes(f->dir) <= max);
}

static void test_spool_limit(void **state)
{
    spool_limit(*state, 1 << 20, 0);
}

static void test_spool_limit_with_rotation(void **state)
{
    spool_limit(*state, 1 << 20, 50000);
}

static void test_disk_reserve(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    f->config.min_free_bytes = INT64_MAX;
    open_writer(f);
    assert_int_equal(writer_stopped(f->w), WRITER_DISK_RESERVE);
    define_all(f);
    give(f, RECORD_kernel);
    give_end(f);
    assert_int_equal(writer_flush(f->w), GPUFL_E_FULL);
    parts_read_all(f->dir, &p);
    assert_clean(&p);
    assert_counts_agree(f, &p);
    assert_int_equal(p.rows[RECORD_end], 1);
    assert_int_equal(p.rows[RECORD_kernel], 0);
}

/* Half of the room that is kept is for heartbeats; the other half stays free for the end. */
static void test_heartbeats_leave_room(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    f->config.min_free_bytes = INT64_MAX;
    open_writer(f);
    for (int i = 0; i < 5000; i++) {
        int64_t row[RECORD_MAX_COLUMNS];
        make_row(f, RECORD_ledger, i, row);
        row[COL_ledger_final] = 0;
        writer_row(f->w, RECORD_ledger, row);
        f->given[RECORD_ledger]++;
        writer_flush(f->w);
    }
    give_end(f);
    writer_flush(f->w);
    parts_read_all(f->dir, &p);
    assert_counts_agree(f, &p);
    assert_int_equal(p.rows[RECORD_end], 1);
    assert_in_range(p.rows[RECORD_ledger], 64, 4999); /* the rows are as long as possible */
    assert_true(parts_disk_bytes(f->dir) <= 256 << 10);
}

/* Writes until a write fails; then all rows that are counted can be read. */
static void fill_until_error(struct fixture *f, const char *sentence)
{
    struct parts p = {0};
    define_all(f);
    int i = 0;
    for (; i < 100000 && writer_flush(f->w) == 0; i++)
        for (int k = 0; k < 100; k++)
            give(f, RECORD_kernel);
    CHECK(i > 2 && i < 100000);
    CHECK(writer_flush(f->w) == GPUFL_E_IO);
    CHECK(writer_stopped(f->w) == WRITER_WRITE_ERROR);
    if (!strstr(writer_stop_text(f->w), sentence))
        fprintf(stderr, "%s\n", writer_stop_text(f->w));
    CHECK(strstr(writer_stop_text(f->w), sentence) != NULL);
    give_end(f);
    writer_flush(f->w);
    struct writer_counts n;
    writer_counts(f->w, &n);
    parts_read_all(f->dir, &p);
    CHECK(!p.damaged && !p.torn && !p.unresolved && !p.headers_bad);
    CHECK(n.lost_disk[RECORD_kernel] > 0);
    for (int t = 0; t < RECORD_COUNT; t++) {
        CHECK(n.rows[t] == p.rows[t]);
        CHECK(records[t].kind != RECORD_KIND_EVENT ||
              n.rows[t] + n.lost_disk[t] + n.lost_memory[t] == f->given[t]);
    }
    writer_close(f->w);
}

/* The file of one channel may not grow; the other channels are still written. */
static void child_size_limit(struct fixture *f)
{
    struct rlimit limit = {100000, 100000};
    struct parts p = {0};
    struct writer_event event;
    struct writer_counts n;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(writer_open(&f->w, &f->config, f->names, NULL) == 0);
    define_all(f);
    bool ended = false;
    for (int i = 0; i < 10000 && !ended; i++) {
        for (int k = 0; k < 100; k++)
            give(f, RECORD_kernel);
        CHECK(writer_flush(f->w) == 0);
        ended = writer_event(f->w, &event);
    }
    CHECK(ended && event.ended);
    CHECK(strstr(event.text, "channel device") && strstr(event.text, "ulimit -f"));
    CHECK(!writer_event(f->w, &event)); /* reported once */
    CHECK(writer_stopped(f->w) == WRITER_RUNS);
    give(f, RECORD_kernel);
    give(f, RECORD_scope);
    give_end(f);
    CHECK(writer_flush(f->w) == 0);
    CHECK(!writer_event(f->w, &event));
    writer_counts(f->w, &n);
    parts_read_all(f->dir, &p);
    CHECK(!p.damaged && !p.torn && !p.unresolved && !p.headers_bad);
    CHECK(n.lost_disk[RECORD_kernel] > 0);
    CHECK(n.lost_disk[RECORD_scope] == 0 && p.rows[RECORD_scope] == 1 && p.rows[RECORD_end] == 1);
    for (int t = 0; t < RECORD_COUNT; t++)
        CHECK(n.rows[t] == p.rows[t]);
    writer_close(f->w);
}

static void test_file_size_limit(void **state)
{
    run_child(child_size_limit, *state);
}

/* Mounts a file system of that size on the log's directory. */
static void small_disk(struct fixture *f, const char *size)
{
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", f->dir, "tmpfs", 0, size))
        _exit(77);
}

/* Fills the disk with a file of the program. */
static void fill_disk(const struct fixture *f)
{
    static const char page[4096];
    char path[PATH_MAX];
    path_join(path, sizeof path, f->dir, "theirs");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    while (write(fd, page, sizeof page) > 0)
        ;
    close(fd);
}

static void child_full_disk(struct fixture *f)
{
    struct parts p = {0};
    small_disk(f, "size=256k");
    CHECK(writer_open(&f->w, &f->config, f->names, NULL) == 0);
    fill_until_error(f, "No space left on device");
    parts_read_all(f->dir, &p);
    CHECK(p.rows[RECORD_message] == 1 && p.rows[RECORD_ledger] == 1 && p.rows[RECORD_end] == 1);
}

static void test_full_disk(void **state)
{
    run_child(child_full_disk, *state);
}

/* The program takes every free page: the end still has its room. */
static void child_filled_disk(struct fixture *f)
{
    struct parts p = {0};
    small_disk(f, "size=512k");
    CHECK(writer_open(&f->w, &f->config, f->names, NULL) == 0);
    define_all(f);
    give(f, RECORD_kernel);
    CHECK(writer_flush(f->w) == 0);
    fill_disk(f);
    for (int i = 0; i < 10000 && writer_flush(f->w) == 0; i++) {
        give(f, RECORD_kernel);
        give(f, RECORD_device_metric); /* of the channel with the end */
    }
    CHECK(writer_stopped(f->w) == WRITER_WRITE_ERROR);
    give_end(f);
    writer_close(f->w);
    parts_read_all(f->dir, &p);
    CHECK(!p.damaged && !p.torn && !p.unresolved && !p.headers_bad);
    CHECK(p.rows[RECORD_end] == 1);
}

static void test_filled_disk(void **state)
{
    run_child(child_filled_disk, *state);
}

/* If the disk is full before the session, writer_open says so. */
static void child_no_disk(struct fixture *f)
{
    small_disk(f, "size=128k");
    fill_disk(f);
    CHECK(writer_open(&f->w, &f->config, f->names, &f->e) != 0);
    CHECK(f->e.vendor == ENOSPC);
    CHECK(strstr(f->e.text, "free some space") != NULL);
}

static void test_no_disk(void **state)
{
    run_child(child_no_disk, *state);
}

/* The program may open no more files: the log keeps its files, and they grow. */
static void child_without_descriptors(struct fixture *f)
{
    struct rlimit none = {0, 0};
    struct writer_event event;
    f->config.rotate_bytes = 3000;
    CHECK(writer_open(&f->w, &f->config, f->names, NULL) == 0);
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    define_all(f);
    for (int i = 0; i < 50; i++) {
        give_some_of_all(f, 5);
        CHECK(writer_flush(f->w) == 0);
    }
    int grow = 0;
    while (writer_event(f->w, &event)) {
        CHECK(!event.ended && strstr(event.text, "grows beyond log_rotate_bytes"));
        grow++;
    }
    CHECK(grow > 0 && grow <= CHANNEL_COUNT);
    writer_close(f->w);
}

/* A program that runs as root becomes another user, who may neither open nor rename a file in the
 * directory. */
static void child_without_rights(struct fixture *f)
{
    struct writer_event event;
    if (geteuid() != 0)
        _exit(77);
    f->config.rotate_bytes = 20000;
    f->config.compress = true;
    CHECK(writer_open(&f->w, &f->config, f->names, NULL) == 0);
    CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    define_all(f);
    for (int i = 0; i < 2000; i++) {
        give(f, RECORD_kernel);
        CHECK(writer_flush(f->w) == 0);
    }
    CHECK(writer_event(f->w, &event) && !event.ended);
    give_end(f);
    writer_close(f->w);
}

static void test_without_rights(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    run_child(child_without_rights, f);
    parts_read_all(f->dir, &p);
    assert_clean(&p);
    assert_int_equal(p.rows[RECORD_kernel], 2000);
    assert_int_equal(p.rows[RECORD_end], 1);
}

/* After chroot the path does not exist. Parts are still written and packed. */
static void child_other_root(struct fixture *f)
{
    if (geteuid() != 0)
        _exit(77);
    f->config.rotate_bytes = 5000;
    f->config.compress = true;
    (void)fd_thread_start(); /* like a session */
    CHECK(writer_open(&f->w, &f->config, f->names, NULL) == 0);
    CHECK(chroot("/proc") == 0 && chdir("/") == 0);
    define_all(f);
    for (int i = 0; i < 2000; i++) {
        give(f, RECORD_kernel);
        CHECK(writer_flush(f->w) == 0);
    }
    give_end(f);
    writer_close(f->w);
    fd_thread_stop();
}

static void test_other_root(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    run_child(child_other_root, f);
    parts_read_all(f->dir, &p);
    assert_clean(&p);
    assert_true(p.parts > 10);
    assert_int_equal(p.rows[RECORD_kernel], 2000);
    assert_int_equal(p.rows[RECORD_end], 1);
}

static void test_no_descriptors(void **state)
{
    run_child(child_without_descriptors, *state);
}

/* A daemon closes all descriptors: the log continues in the same file. */
static void test_descriptors_closed(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    int lowest = dup(0), above;
    open_writer(f);
    define_all(f);
    give_some_of_all(f, 10);
    assert_int_equal(writer_flush(f->w), 0);
    above = dup(0);
    for (int fd = lowest; fd <= above; fd++)
        close(fd);
    give_some_of_all(f, 10);
    assert_int_equal(writer_flush(f->w), 0);
    close_writer(f);
    assert_complete(f, &p);
}

static void unlink_in(const char *dir, const char *name)
{
    char path[PATH_MAX];
    path_join(path, sizeof path, dir, name);
    assert_int_equal(unlink(path), 0);
}

static void test_file_deleted(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    open_writer(f);
    define_all(f);
    for (int i = 0; i < 100; i++)
        give(f, RECORD_kernel);
    assert_int_equal(writer_flush(f->w), 0);
    unlink_in(f->dir, "device.log");
    for (int i = 0; i < 30; i++)
        give(f, RECORD_kernel);
    assert_int_equal(writer_flush(f->w), 0); /* into a new part */
    struct writer_counts n;
    writer_counts(f->w, &n);
    assert_int_equal(n.lost_disk[RECORD_kernel], 100);
    assert_int_equal(n.rows[RECORD_kernel], 30);
    parts_read_all(f->dir, &p);
    assert_int_equal(p.rows[RECORD_kernel], 30);
    assert_int_equal(p.unresolved, 0);
    assert_int_equal(p.headers_bad, 1); /* its number 2 shows that part 1 is missing */
}

static void test_directory_deleted(void **state)
{
    struct fixture *f = *state;
    f->config.rotate_bytes = 2000;
    f->config.compress = true;
    open_writer(f);
    define_all(f);
    for (int i = 0; i < 100; i++)
        give(f, RECORD_kernel);
    assert_int_equal(writer_flush(f->w), 0);
    for (int i = 0; i < 10; i++)
        give(f, RECORD_sync);
    assert_int_equal(writer_flush(f->w), 0);
    char *gone = strdup(f->dir);
    assert_non_null(gone);
    parts_rmdir(f->dir);
    f->dir = gone;
    give_some_of_all(f, 10);
    writer_flush(f->w);
    give_some_of_all(f, 10);
    assert_int_equal(writer_flush(f->w), GPUFL_E_IO);
    assert_non_null(strstr(writer_stop_text(f->w), "removed"));
    struct writer_counts n;
    writer_counts(f->w, &n);
    for (int t = 0; t < RECORD_COUNT; t++)
        if (records[t].kind == RECORD_KIND_EVENT)
            assert_int_equal(n.rows[t] + n.lost_disk[t], f->given[t]);
    assert_int_equal(mkdir(gone, 0700), 0); /* for the teardown */
}

/* Every allocation of a whole session fails once: rows = written + lost, all of it readable. */
static void test_every_allocation_fails(void **state)
{
    struct fixture *f = *state;
    f->config.rotate_bytes = 20000;
    for (int64_t n = 0;; n++) {
        struct parts p = {0};
        memset(f->given, 0, sizeof f->given);
        mem_fail_at(n);
        int rc = writer_open(&f->w, &f->config, f->names, &f->e);
        if (!rc) {
            define_all(f);
            give_some_of_all(f, 60);
            writer_flush(f->w);
            give_some_of_all(f, 20);
            writer_flush(f->w);
        }
        bool failed = mem_count() > n;
        mem_fail_at(-1);
        if (rc) {
            assert_int_equal(rc, GPUFL_E_NOMEM);
            assert_null(f->w);
        } else {
            parts_read_all(f->dir, &p);
            assert_clean(&p);
            assert_counts_agree(f, &p);
        }
        close_writer(f);
        parts_rmdir(f->dir);
        f->dir = parts_tmpdir();
        f->config.dir = f->dir;
        if (!failed) {
            assert_true(n > 50);
            return;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WRITER_TEST(test_spool_limit),
        WRITER_TEST(test_spool_limit_with_rotation),
        WRITER_TEST(test_disk_reserve),
        WRITER_TEST(test_heartbeats_leave_room),
        WRITER_TEST(test_file_size_limit),
        WRITER_TEST(test_full_disk),
        WRITER_TEST(test_filled_disk),
        WRITER_TEST(test_no_disk),
        WRITER_TEST(test_without_rights),
        WRITER_TEST(test_other_root),
        WRITER_TEST(test_no_descriptors),
        WRITER_TEST(test_descriptors_closed),
        WRITER_TEST(test_file_deleted),
        WRITER_TEST(test_directory_deleted),
        WRITER_TEST(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
