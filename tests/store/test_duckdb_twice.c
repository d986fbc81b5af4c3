/* test_duckdb_twice.c - tests sessions that are in a pack and have a file as well: after a crash, a
 * restore, or an older version; what is on the disk when a commit has returned; deletions. */
#include "damage.h"
#include "pack_folder.h"

#include "base/file/file.h"
#include "store/duckdb/duck.h"
#include "store/duckdb/engine.h"
#include "store/duckdb/pack/pack.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const struct store_ops *const ops = &store_duckdb;

/* ---- what is on the disk when the pack no longer has the session ----------------------------- */

static const char *named; /* a file or folder; NULL: nobody asks */
static bool named_synced; /* its folder was written to the disk after it was made */

static void (*between)(void); /* called once, when something is written to the disk */

int fdatasync(int fd)
{
    void (*call)(void) = between;
    between = NULL;
    if (call)
        call();
    return (int)syscall(SYS_fdatasync, fd);
}

/* Replaces the C library's function in this program. */
int fsync(int fd)
{
    struct stat st, folder;
    if (named && file_exists(named) && !fstat(fd, &st) && S_ISDIR(st.st_mode)) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.*s", (int)(strrchr(named, '/') - named), named);
        named_synced |= !stat(path, &folder) && folder.st_ino == st.st_ino;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

/* The name of a new workspace's folder is on the disk when the first commit has returned. */
TEST(test_workspace_is_on_the_disk)
{
    char folder[PATH_MAX];
    struct store *s = pack_store_open(0);
    snprintf(folder, sizeof folder, "%s/columns/w", pack_folder);
    named = folder;
    named_synced = false;
    struct store_session *ss = pack_session(s, "w", "first");
    OK(damage_write(ops, ss, 10, 1, e));
    named = NULL;
    assert_true(named_synced);
    ops->put(ss);
    ops->close(s);
}

static struct store *other_store;
static int others_read; /* while a deletion was written to the disk */

static void *read_other(void *arg)
{
    struct store_session *ss;
    (void)arg;
    OK(ops->get(other_store, "w", "other", false, &ss, e));
    assert_int_equal(damage_kernels(ops, ss), 10);
    ops->put(ss);
    assert_int_equal(ops->get(other_store, "w", "one", true, &ss, NULL), GPUFL_E_BUSY);
    assert_int_equal(ops->get(other_store, "w", "one", false, &ss, NULL), GPUFL_E_NOENT);
    assert_int_equal(ops->drop(other_store, "w", "one", NULL), GPUFL_E_NOENT);
    return NULL;
}

static void read_others(void)
{
    struct timespec until;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_other, NULL), 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60; /* reached only by a reader that waits for the deletion */
    others_read += !pthread_timedjoin_np(thread, NULL, &until);
}

/* Other sessions are opened and read while a deletion waits for the disk. */
TEST(test_deletion_holds_up_nobody)
{
    struct store *s = other_store = pack_store_open(0);
    struct store_session *one = pack_session(s, "w", "one"), *other = pack_session(s, "w", "other");
    OK(damage_write(ops, one, 10, 1, e));
    OK(damage_write(ops, other, 10, 1, e));
    ops->put(other);
    others_read = 0;
    between = read_others;
    OK(ops->drop(s, "w", "one", e));
    assert_int_equal(others_read, 1);
    assert_int_equal(ops->get(s, "w", "one", true, &other, NULL), GPUFL_E_BUSY);
    ops->put(one);
    ops->put(pack_session(s, "w", "one"));
    ops->close(s);
}

/* The name of a session's file is on the disk before the session leaves the pack. */
TEST(test_grown_is_on_the_disk)
{
    struct store *s = pack_store_open(64 << 10);
    struct store_session *ss = pack_session(s, "w", "disk");
    OK(damage_write(ops, ss, 10, 1, e));
    OK(ops->begin(ss, e));
    OK(damage_append(ops, ss, 5000, 2, e));
    named = pack_file_of("disk");
    named_synced = false;
    assert_true(file_exists(named));
    OK(ops->commit(ss, &(struct store_position){"device", 2}, 1, e));
    named = NULL;
    assert_true(named_synced);
    ops->put(ss);
    ops->close(s);
}

/* If a pack loses the record that says that a session has left it, the session keeps its file. */
TEST(test_damaged_leaving)
{
    struct store *s = pack_store_open(64 << 10);
    struct store_session *big = pack_session(s, "w", "big"), *other = pack_session(s, "w", "other");
    OK(damage_write(ops, big, 10, 1, e));
    OK(damage_write(ops, other, 10, 1, e));
    int64_t at = file_size(pack_of(pack_columns(), "w"));
    OK(damage_write(ops, big, 5000, 2, e));
    OK(damage_write(ops, other, 10, 2, e));
    ops->put(big);
    ops->put(other);
    ops->close(s);
    FILE *f = fopen(pack_of(pack_columns(), "w"), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at + 20, SEEK_SET), 0);
    fputc('?', f);
    fclose(f);
    s = pack_store_open(64 << 10);
    big = pack_session(s, "w", "big");
    assert_int_equal(damage_kernels(ops, big), 5010);
    assert_int_equal(damage_position(ops, big), 2);
    ops->put(big);
    ops->close(s);
}

/* ---- in a pack, and in a file --------------------------------------------------------------- */

/* Writes kernels and a position to a session of a store, and closes the store. */
static void write_up_to(int64_t small_most, int kernels, int64_t position)
{
    struct store *s = pack_store_open(small_most);
    struct store_session *ss = pack_session(s, "w", "twice");
    OK(damage_write(ops, ss, (size_t)kernels, position, e));
    ops->put(ss);
    ops->close(s);
}

/* Renames a file of the store, and its log. */
static void move(const char *from, const char *to)
{
    char of[2][PATH_MAX], logs[2][PATH_MAX + 8];
    snprintf(of[0], PATH_MAX, "%s/columns/%s", pack_folder, from);
    snprintf(of[1], PATH_MAX, "%s/columns/%s", pack_folder, to);
    assert_int_equal(rename(of[0], of[1]), 0);
    for (int i = 0; i < 2; i++)
        snprintf(logs[i], sizeof logs[i], "%s.wal", of[i]);
    if (file_exists(logs[0]))
        assert_int_equal(rename(logs[0], logs[1]), 0);
}

static void check_twice(int kernels, int64_t position, bool file, bool apart)
{
    char kept[PATH_MAX + 16];
    snprintf(kept, sizeof kept, "%s.damaged", pack_file_of("twice"));
    for (int round = 0; round < 2; round++) {
        struct store *s = pack_store_open(0);
        struct store_session *ss = pack_session(s, "w", "twice");
        assert_int_equal(damage_kernels(ops, ss), kernels);
        assert_int_equal(damage_position(ops, ss), position);
        assert_int_equal(file_exists(pack_file_of("twice")), file);
        assert_int_equal(file_exists(kept), apart);
        ops->put(ss);
        ops->close(s);
    }
}

/* A restored file that is newer than its pack counts; so does a file after a crash that followed
 * its commit. */
TEST(test_newer_file)
{
    write_up_to(-1, 30, 3);
    move("w/twice.duckdb", "kept");
    write_up_to(0, 10, 1);
    move("kept", "w/twice.duckdb");
    check_twice(30, 3, true, false);
}

/* An older file, which another version wrote next to the pack, is not lost. */
TEST(test_older_file)
{
    write_up_to(-1, 10, 1);
    move("w/twice.duckdb", "kept");
    write_up_to(0, 30, 3);
    move("kept", "w/twice.duckdb");
    check_twice(30, 3, false, true);
}

/* If the pack has damaged rows of the session, the file counts: the damaged rows are set aside. */
TEST(test_file_and_damage)
{
    write_up_to(-1, 30, 3);
    move("w/twice.duckdb", "kept");
    struct store *s = pack_store_open(0);
    struct store_session *ss = pack_session(s, "w", "twice"),
                         *other = pack_session(s, "w", "other");
    OK(damage_write(ops, ss, 10, 7, e));
    OK(damage_write(ops, other, 10, 1, e)); /* later rows, so that no crash explains the damage */
    ops->put(ss);
    ops->put(other);
    ops->close(s);
    FILE *f = fopen(pack_of(pack_columns(), "w"), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 16 + 96 + 8, SEEK_SET), 0);
    fputs("????", f);
    fclose(f);
    move("kept", "w/twice.duckdb");
    check_twice(30, 3, true, true);
}

/* A crash before the commit in which a session becomes large leaves a file next to the pack: the
 * pack counts. */
TEST(test_half_grown)
{
    struct store *s = pack_store_open(0);
    struct store_session *ss = pack_session(s, "w", "half");
    OK(damage_write(ops, ss, 10, 1, e));
    ops->put(ss);
    ops->close(s);
    FILE *f = fopen(pack_file_of("half"), "wb");
    assert_non_null(f);
    fputs("the beginning of a file", f);
    fclose(f);
    s = pack_store_open(0);
    ss = pack_session(s, "w", "half");
    assert_int_equal(damage_kernels(ops, ss), 10);
    assert_false(file_exists(pack_file_of("half")));
    OK(damage_write(ops, ss, 5, 2, e));
    assert_int_equal(damage_kernels(ops, ss), 15);
    ops->put(ss);
    ops->close(s);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, pack_folder_open, pack_folder_close)
    const struct CMUnitTest cases[] = {
        CASE(test_workspace_is_on_the_disk),
        CASE(test_deletion_holds_up_nobody),
        CASE(test_grown_is_on_the_disk),
        CASE(test_damaged_leaving),
        CASE(test_newer_file),
        CASE(test_older_file),
        CASE(test_file_and_damage),
        CASE(test_half_grown),
    };
    struct err e = {0};
    if (duck_open(&e))
        return cmocka_run_group_tests(cases, NULL, NULL);
    printf("skipped: %s\n", e.text);
    return 0;
}
