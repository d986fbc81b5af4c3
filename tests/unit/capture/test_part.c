/* Parts: their names and numbers, and what a failed write leaves in the file. */
#include "capture/log/part.h"
#include "tests/test.h"

#include "base/file/file.h"
#include "tests/unit/support/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int setup(void **state)
{
    struct log_dir *dir = calloc(1, sizeof *dir);
    char *path = parts_tmpdir();
    assert_non_null(dir);
    assert_int_equal(log_dir_open(dir, path), 0);
    free(path);
    *state = dir;
    return 0;
}

static int teardown(void **state)
{
    struct log_dir *dir = *state;
    char *path = strdup(dir->path);
    log_dir_close(dir);
    parts_rmdir(path);
    free(dir);
    return 0;
}

static void assert_file(const struct log_dir *dir, const char *name, const char *text)
{
    char path[PATH_MAX], *data;
    size_t len;
    path_join(path, sizeof path, dir->path, name);
    assert_int_equal(file_read_all(path, 1 << 20, &data, &len, NULL), 0);
    assert_string_equal(data, text);
    free(data);
}

static void test_numbers_and_offsets(void **state)
{
    struct log_dir *dir = *state;
    char path[PATH_MAX];
    struct part p;
    part_init(&p, dir, CHANNEL_SCOPE);
    assert_int_equal(part_finish(&p, false, path), -ENOENT); /* no part is open yet */
    assert_int_equal(p.number, 1);
    assert_int_equal(part_write(&p, "one\n", 4, 0), 0);
    assert_true(p.started);
    assert_int_equal(part_write(&p, "two\n", 4, PART_DURABLE), 0);
    assert_int_equal(p.bytes, 8);
    assert_int_equal(part_finish(&p, false, path), 0);
    assert_string_equal(path_base(path), "scope.1.log");
    assert_int_equal(p.number, 2);
    assert_int_equal(p.offset, 8);
    assert_int_equal(p.bytes, 0);
    assert_false(p.started);
    assert_file(dir, "scope.1.log", "one\ntwo\n");
    assert_int_equal(part_write(&p, "three\n", 6, 0), 0);
    part_leave(&p);
    assert_file(dir, "scope.log", "three\n");
}

static void test_close_on_exec_and_mode(void **state)
{
    struct log_dir *dir = *state;
    struct part p;
    struct stat st;
    part_init(&p, dir, CHANNEL_DEVICE);
    assert_int_equal(part_write(&p, "x\n", 2, 0), 0);
    assert_true(fcntl(p.fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(p.fd, F_GETFL) & O_APPEND);
    assert_int_equal(fstat(p.fd, &st), 0);
    assert_int_equal(st.st_mode & 0133, 0);
    part_leave(&p);
}

static void test_a_strangers_file_is_refused(void **state)
{
    struct log_dir *dir = *state;
    struct part mine, other;
    part_init(&mine, dir, CHANNEL_DEVICE);
    part_init(&other, dir, CHANNEL_DEVICE);
    assert_int_equal(part_write(&mine, "mine\n", 5, 0), 0);
    assert_int_equal(part_write(&other, "other\n", 6, 0), -EEXIST);
    assert_int_equal(other.fd, -1);
    part_leave(&mine);
    assert_file(dir, "device.log", "mine\n");
}

static void test_deleted_and_moved(void **state)
{
    struct log_dir *dir = *state;
    char path[PATH_MAX], aside[PATH_MAX];
    struct part p;
    part_init(&p, dir, CHANNEL_DEVICE);
    assert_false(part_deleted(&p));
    assert_int_equal(part_write(&p, "x\n", 2, 0), 0);
    assert_false(part_deleted(&p));
    path_join(path, sizeof path, dir->path, "device.log");
    assert_int_equal(unlink(path), 0);
    assert_true(part_deleted(&p));
    part_leave(&p);
    assert_int_equal(p.number, 2); /* the gap in the numbers shows it */

    assert_int_equal(part_write(&p, "y\n", 2, 0), 0);
    path_join(aside, sizeof aside, dir->path, "aside");
    assert_int_equal(rename(path, aside), 0);
    assert_false(part_deleted(&p));
    assert_int_equal(part_finish(&p, false, path), -ENOENT);
    assert_int_equal(p.number, 3);
    assert_int_equal(p.fd, -1);
}

static bool is_there(const struct log_dir *dir, const char *name)
{
    char path[PATH_MAX];
    path_join(path, sizeof path, dir->path, name);
    return file_exists(path);
}

/* A channel without rows leaves no file. */
static void test_empty_files_go(void **state)
{
    struct log_dir *dir = *state;
    char name[PART_NAME];
    struct part p;
    part_init(&p, dir, CHANNEL_DEVICE);
    assert_int_equal(part_open(&p), 0);
    assert_true(is_there(dir, "device.log"));
    part_leave(&p);
    assert_false(is_there(dir, "device.log"));
    assert_int_equal(part_write(&p, "one\n", 4, 0), 0);
    assert_int_equal(p.number, 1);
    assert_int_equal(part_finish(&p, false, name), 0);
    assert_true(is_there(dir, "device.log")); /* the next part's */
    assert_false(is_there(dir, "device.log.part"));
    part_leave(&p);
    assert_false(is_there(dir, "device.log"));
    assert_file(dir, "device.1.log", "one\n");
}

/* The directory has another name when the part ends. */
static void test_directory_moved(void **state)
{
    struct log_dir *dir = *state;
    char name[PART_NAME], moved[PATH_MAX];
    struct part p;
    part_init(&p, dir, CHANNEL_DEVICE);
    assert_int_equal(part_open(&p), 0);
    snprintf(moved, sizeof moved, "%.4000s.moved", dir->path);
    assert_int_equal(rename(dir->path, moved), 0);
    assert_int_equal(part_write(&p, "one\n", 4, 0), 0);
    assert_int_equal(part_finish(&p, false, name), 0);
    assert_int_equal(part_write(&p, "two\n", 4, 0), 0);
    part_leave(&p);
    assert_int_equal(rename(moved, dir->path), 0);
    assert_file(dir, "device.1.log", "one\n");
    assert_file(dir, "device.log", "two\n");
}

/* If no next file can be opened or renamed, the part continues, and no other file is left. */
static void test_no_next_part(void **state)
{
    struct log_dir *dir = *state;
    char name[PART_NAME], taken[PATH_MAX];
    struct part p;
    part_init(&p, dir, CHANNEL_DEVICE);
    assert_int_equal(part_write(&p, "one\n", 4, 0), 0);
    path_join(taken, sizeof taken, dir->path, "device.log.part");
    assert_int_equal(mkdir(taken, 0700), 0);
    assert_int_equal(part_finish(&p, false, name), -EEXIST);
    assert_int_equal(rmdir(taken), 0);
    path_join(taken, sizeof taken, dir->path, "device.1.log");
    assert_int_equal(mkdir(taken, 0700), 0);
    assert_true(part_finish(&p, false, name) < 0);
    assert_false(is_there(dir, "device.log.part"));
    assert_int_equal(rmdir(taken), 0);
    assert_int_equal(part_write(&p, "two\n", 4, 0), 0);
    assert_int_equal(p.number, 1);
    part_leave(&p);
    assert_file(dir, "device.log", "one\ntwo\n");
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
}

/* For a child: a failed check prints its line and ends the child. */
static void check(bool right, int line)
{
    if (right)
        return;
    fprintf(stderr, "child: line %d\n", line);
    _exit(1);
}
#define CHECK(x) check(x, __LINE__)

/* If the limit cuts a line in the middle, its beginning is removed, and SIGXFSZ is not raised. */
static void child_size_limit(struct log_dir *dir)
{
    struct part p;
    sigset_t pending;
    char path[PATH_MAX];
    part_init(&p, dir, CHANNEL_DEVICE);
    limit_file_size(10);
    CHECK(part_write(&p, "one\n", 4, 0) == 0);
    CHECK(part_write(&p, "a longer line\n", 14, 0) == -EFBIG);
    CHECK(p.bytes == 4 && !p.torn);
    CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGXFSZ));
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &pending) == 0 && !sigismember(&pending, SIGXFSZ));
    CHECK(part_write(&p, "two\n", 4, 0) == 0);
    CHECK(part_finish(&p, false, path) == 0);
    _exit(0);
}

/* The torn line cannot be removed (a sealed memory file): the next line begins on a line of its
 * own. */
static void child_torn(struct log_dir *dir)
{
    struct part p;
    char text[64] = "";
    part_init(&p, dir, CHANNEL_DEVICE);
    p.fd = memfd_create("part", MFD_ALLOW_SEALING);
    p.id = file_id(p.fd);
    CHECK(p.fd >= 0);
    int reader = dup(p.fd);
    CHECK(fcntl(p.fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    CHECK(part_write(&p, "one\n", 4, 0) == 0);
    limit_file_size(10);
    CHECK(part_write(&p, "a longer line\n", 14, 0) == -EFBIG);
    CHECK(p.torn && p.bytes == 10);
    CHECK(part_write(&p, "two\n", 4, 0) == -EFBIG); /* still no room */
    limit_file_size(RLIM_INFINITY);
    CHECK(part_write(&p, "two\n", 4, 0) == 0);
    CHECK(!p.torn && p.bytes == 15);
    CHECK(pread(reader, text, sizeof text, 0) == 15);
    CHECK(!strcmp(text, "one\na long\ntwo\n"));
    _exit(0);
}

static void run_child(void (*fn)(struct log_dir *), struct log_dir *dir)
{
    int status;
    pid_t pid = fork();
    if (!pid)
        fn(dir);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_file_size_limit(void **state)
{
    run_child(child_size_limit, *state);
    assert_file(*state, "device.1.log", "one\ntwo\n");
}

static void test_torn_line(void **state)
{
    run_child(child_torn, *state);
}

static void test_full_device(void **state)
{
    struct part p;
    part_init(&p, *state, CHANNEL_DEVICE);
    p.fd = open("/dev/full", O_WRONLY | O_APPEND);
    p.id = file_id(p.fd);
    assert_true(p.fd >= 0);
    assert_int_equal(part_write(&p, "one\n", 4, 0), -ENOSPC);
    assert_int_equal(p.bytes, 0);
    assert_false(p.started);
    part_leave(&p);
}

/* The program closes our descriptor, and a file of its own gets the number. */
static void test_descriptor_taken_away(void **state)
{
    struct log_dir *dir = *state;
    char path[PATH_MAX], foreign[PATH_MAX];
    struct part p;
    part_init(&p, dir, CHANNEL_DEVICE);
    assert_int_equal(part_write(&p, "one\n", 4, 0), 0);
    path_join(foreign, sizeof foreign, dir->path, "foreign");
    int fd = open(foreign, O_CREAT | O_RDWR, 0600), number = p.fd;
    assert_int_equal(write(fd, "theirs", 6), 6);
    assert_int_equal(dup2(fd, number), number);
    assert_false(part_deleted(&p));
    assert_int_equal(part_write(&p, "two\n", 4, 0), 0); /* with another descriptor */
    assert_int_not_equal(p.fd, number);
    assert_true(fcntl(p.fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(part_finish(&p, false, path), 0);
    assert_int_not_equal(fcntl(number, F_GETFD), -1); /* still open: it is not ours */
    assert_file(dir, "foreign", "theirs");
    assert_file(dir, "device.1.log", "one\ntwo\n");
    close(number);
    close(fd);
}

/* The part has closed its file, and the file with its name was removed or replaced. */
static void test_closed_and_lost(void **state)
{
    struct log_dir *dir = *state;
    char path[PATH_MAX];
    struct part p;
    part_init(&p, dir, CHANNEL_SCOPE);
    assert_int_equal(part_write(&p, "ours\n", 5, 0), 0);
    close(p.fd);
    path_join(path, sizeof path, dir->path, "scope.log");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(part_write(&p, "ours\n", 5, 0), -EBADF);
    part_leave(&p);
}

static void child_no_descriptors(struct log_dir *dir)
{
    struct part p;
    struct rlimit none = {0, 0};
    part_init(&p, dir, CHANNEL_DEVICE);
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK(part_write(&p, "one\n", 4, 0) == -EMFILE);
    _exit(0);
}

static void test_no_descriptors(void **state)
{
    run_child(child_no_descriptors, *state);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_numbers_and_offsets),
        T(test_close_on_exec_and_mode),
        T(test_a_strangers_file_is_refused),
        T(test_deleted_and_moved),
        T(test_empty_files_go),
        T(test_directory_moved),
        T(test_no_next_part),
        T(test_descriptor_taken_away),
        T(test_closed_and_lost),
        T(test_no_descriptors),
        T(test_file_size_limit),
        T(test_torn_line),
        T(test_full_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
