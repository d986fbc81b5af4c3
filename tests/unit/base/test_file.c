/* test_file.c - tests paths, directories, reading, compressing, and what goes wrong. */
#include "base/alloc.h"
#include "base/file/file.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

TEST(test_paths)
{
    static const struct {
        const char *dir, *name, *want;
    } rows[] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a//", "/b", "a/b"}, {"/", "b", "/b"},
        {"", "b", "b"},    {"", "/b", "/b"},   {".", "b", "./b"},    {"/a/b", "c/d", "/a/b/c/d"}};
    char out[64];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(path_join(out, sizeof out, rows[i].dir, rows[i].name), 0);
        assert_string_equal(out, rows[i].want);
    }
    assert_int_equal(path_join(out, 4, "a", "b"), 0); /* "a/b" and its NUL: just fits */
    assert_int_equal(path_join(out, 3, "a", "b"), GPUFL_E_FULL);
    assert_string_equal(path_base("/a/b.log"), "b.log");
    assert_string_equal(path_base("b.log"), "b.log");
    assert_string_equal(path_base("a/"), "");
}

TEST(test_mkdirs)
{
    struct err e;
    assert_int_equal(file_mkdirs(tmpdir_path("a/b//c"), 0755, &e), 0);
    assert_true(file_exists(tmpdir_path("a/b/c")));
    assert_int_equal(file_mkdirs(tmpdir_path("a/b/c/"), 0755, &e), 0);
    tmpdir_write("plain", "x", 1);
    assert_int_equal(file_mkdirs(tmpdir_path("plain"), 0755, &e), GPUFL_E_NOENT);
    assert_int_equal(e.vendor, ENOTDIR);
    assert_int_equal(file_mkdirs(tmpdir_path("plain/below"), 0755, &e), GPUFL_E_NOENT);
    assert_non_null(strstr(e.text, "plain/below"));
    assert_int_equal(file_mkdirs("", 0755, &e), GPUFL_E_INVAL);
    char longer[PATH_MAX + 10];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(file_mkdirs(longer, 0755, &e), GPUFL_E_INVAL);
}

TEST(test_try_dir)
{
    struct err e;
    assert_int_equal(file_mkdirs(tmpdir_path("tried"), 0755, &e), 0);
    assert_int_equal(file_try_dir(tmpdir_path("tried")), 0);
    assert_int_equal(rmdir(tmpdir_path("tried")), 0); /* nothing was left in it */
    assert_int_equal(file_try_dir(tmpdir_path("tried")), -ENOENT);
    tmpdir_write("a file", "x", 1);
    assert_int_equal(file_try_dir(tmpdir_path("a file")), -ENOTDIR);
    assert_true(file_try_dir("/proc") < 0); /* root, too, although access(2) allows it */
}

TEST(test_append)
{
    struct err e;
    const char *path = tmpdir_path("append.log");
    for (int i = 0; i < 2; i++) {
        int fd;
        assert_int_equal(file_open_append(path, 0600, &fd, &e), 0);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(file_write_all(fd, "abc", 3), 0);
        close(fd);
    }
    assert_int_equal(file_size(path), 6);
    int fd;
    assert_int_equal(file_open_append(tmpdir_path("no/such/dir"), 0600, &fd, &e), GPUFL_E_NOENT);
    assert_int_equal(file_write_all(-1, "x", 1), -EBADF);
    int full = open("/dev/full", O_WRONLY);
    assert_int_equal(file_write_all(full, "x", 1), -ENOSPC);
    close(full);
    assert_int_equal(file_size(tmpdir_path("absent")), -1);
    assert_false(file_exists(tmpdir_path("absent")));
}

/* Part of the data fits; the rest is refused with an error, and no signal ends the process. */
TEST(test_a_limit_of_sizes_is_an_error)
{
    struct rlimit was, small;
    struct err e;
    sigset_t pending;
    int fd;
    const char *path = tmpdir_path("limited.log");
    assert_int_equal(file_open_append(path, 0600, &fd, &e), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = (struct rlimit){4, was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = file_write_shielded(fd, "abcdefgh", 8);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_int_equal(rc, -EFBIG);
    assert_int_equal(file_size(path), 4);
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGXFSZ)); /* not left pending */
    assert_int_equal(file_write_shielded(fd, "e", 1), 0);
    close(fd);
}

TEST(test_read_all)
{
    struct err e;
    char *data, text[10000];
    size_t len;
    memset(text, 'q', sizeof text);
    const char *path = tmpdir_write("r", text, sizeof text);
    assert_int_equal(file_read_all(path, sizeof text, &data, &len, &e), 0);
    assert_int_equal(len, sizeof text);
    assert_memory_equal(data, text, len);
    assert_int_equal(data[len], 0);
    mem_free(data);
    assert_int_equal(file_read_all(path, sizeof text - 1, &data, &len, &e), GPUFL_E_FULL);
    assert_null(data);
    assert_int_equal(file_read_all(tmpdir_write("empty", "", 0), 0, &data, &len, &e), 0);
    assert_int_equal(len, 0);
    assert_string_equal(data, "");
    mem_free(data);
    assert_int_equal(file_read_all("/proc/self/status", 1u << 20, &data, &len, &e), 0);
    assert_true(len > 100); /* a file whose size is reported as 0 */
    mem_free(data);
    assert_int_equal(file_read_all(tmpdir_path("absent"), 10, &data, &len, &e), GPUFL_E_NOENT);
    assert_int_equal(file_read_all(tmpdir, 10, &data, &len, &e), GPUFL_E_IO); /* a directory */
    for (int64_t at = 0; at < 3; at++) {
        mem_fail_at(at);
        assert_int_equal(file_read_all(path, 1u << 20, &data, &len, &e), GPUFL_E_NOMEM);
        assert_null(data);
    }
    mem_fail_at(-1);
}

TEST(test_read_at)
{
    char text[10];
    const char *path = tmpdir_write("at", "0123456789", 10);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(file_read_at(fd, 6, text, 4));
    assert_memory_equal(text, "6789", 4);
    assert_false(file_read_at(fd, 7, text, 4)); /* a byte too many */
    assert_true(file_read_at(fd, 100, text, 0));
    assert_false(file_read_at(fd, UINT64_MAX, text, 1));
    close(fd);
    assert_false(file_read_at(fd, 0, text, 1));
}

TEST(test_free_bytes)
{
    assert_true(file_free_bytes(tmpdir) > 0);
    assert_int_equal(file_free_bytes(tmpdir_path("absent")), -1);
}

/* Makes a text that compresses well. */
static char *sample(size_t n)
{
    char *text = malloc(n);
    assert_non_null(text);
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        text[i] = "0123456789abcdef"[x >> 28];
    }
    return text;
}

TEST(test_gzip_round_trip)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 700000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct err e;
        char *text = sample(sizes[i] + 1);
        const char *src = tmpdir_write("g.log", text, sizes[i]);
        const char *dst = tmpdir_path("g.log.gz");
        chmod(src, 0640);
        assert_int_equal(file_gzip(src, dst, 6, &e), 0);
        assert_true(file_exists(src));
        assert_false(file_exists(tmpdir_path("g.log.gz.part")));
        struct stat st;
        assert_int_equal(stat(dst, &st), 0);
        assert_int_equal(st.st_mode & 0777 & ~0640u, 0); /* no wider than the source's */
        gzFile gz = gzopen(dst, "rb");
        char *back = malloc(sizes[i] + 2);
        assert_int_equal(gzread(gz, back, (unsigned)sizes[i] + 2), sizes[i]);
        assert_int_equal(gzdirect(gz), 0);
        gzclose(gz);
        assert_memory_equal(back, text, sizes[i]);
        free(back);
        free(text);
    }
}

TEST(test_gzip_failures_leave_nothing)
{
    struct err e;
    const char *src = tmpdir_write("f.log", "hello", 5);
    assert_int_equal(file_gzip(tmpdir_path("absent"), tmpdir_path("x.gz"), 6, &e), GPUFL_E_NOENT);
    assert_int_equal(file_gzip(src, tmpdir_path("no/dir/x.gz"), 6, &e), GPUFL_E_NOENT);
    assert_int_equal(file_gzip(src, tmpdir_path("x.gz"), 77, &e), GPUFL_E_INVAL);
    assert_int_equal(file_gzip(tmpdir, tmpdir_path("x.gz"), 6, &e), GPUFL_E_IO);
    mkdir(tmpdir_path("taken.gz"), 0755);
    assert_true(file_gzip(src, tmpdir_path("taken.gz"), 6, &e) < 0); /* rename fails */
    assert_false(file_exists(tmpdir_path("taken.gz.part")));
    bool failed = true;
    for (int64_t at = 0; failed; at++) {
        mem_fail_at(at);
        int rc = file_gzip(src, tmpdir_path("x.gz"), 6, &e);
        failed = mem_count() > at;
        assert_int_equal(rc, failed ? GPUFL_E_NOMEM : 0);
        assert_int_equal(file_exists(tmpdir_path("x.gz")), !failed);
        assert_false(file_exists(tmpdir_path("x.gz.part")));
    }
    mem_fail_at(-1);
}

/* Reading a pipe that nobody writes to does not block. */
TEST(test_read_all_does_not_wait)
{
    struct err e;
    char *data = NULL;
    size_t len = 1;
    assert_int_equal(mkfifo(tmpdir_path("pipe"), 0600), 0);
    alarm(20);
    assert_int_equal(file_read_all(tmpdir_path("pipe"), 100, &data, &len, &e), 0);
    alarm(0);
    assert_int_equal(len, 0);
    mem_free(data);
    assert_false(file_is_regular(tmpdir_path("pipe")));
    assert_false(file_is_regular(tmpdir));
    assert_false(file_is_regular(tmpdir_path("none")));
    assert_true(file_is_regular(tmpdir_write("plain", "x", 1)));
}

static int close_failure; /* errno of the next close; 0: none */

int __wrap_close(int fd);
int __real_close(int fd);

int __wrap_close(int fd)
{
    int rc = __real_close(fd), failure = close_failure;
    close_failure = 0;
    if (failure)
        errno = failure;
    return failure ? -1 : rc;
}

/* On a network file system close may return the last error. */
TEST(test_gzip_that_cannot_be_closed)
{
    struct err e = {0};
    const char *src = tmpdir_path("closed.log"), *dst = tmpdir_path("closed.log.gz");
    tmpdir_write("closed.log", "some lines\n", 11);
    close_failure = EDQUOT;
    assert_int_equal(file_gzip(src, dst, 6, &e), GPUFL_E_FULL);
    assert_non_null(strstr(e.text, "closed.log.gz.part"));
    assert_false(file_exists(dst));
    assert_false(file_exists(tmpdir_path("closed.log.gz.part")));
    assert_true(file_exists(src));
    assert_int_equal(file_gzip(src, dst, 6, &e), 0);
}

TEST(test_gzip_given_up_leaves_nothing)
{
    struct err e;
    _Atomic bool stop = true;
    const char *src = tmpdir_write("u.log", "hello", 5), *dst = tmpdir_path("u.log.gz");
    assert_int_equal(file_gzip_at(AT_FDCWD, src, dst, 6, &stop, &e), GPUFL_E_STATE);
    assert_false(file_exists(dst));
    assert_false(file_exists(tmpdir_path("u.log.gz.part")));
    stop = false;
    assert_int_equal(file_gzip_at(AT_FDCWD, src, dst, 6, &stop, &e), 0);
    assert_true(file_exists(dst));
}

static struct file_id new_file(const char *path, int *fd)
{
    *fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(*fd >= 0);
    return file_id_born(*fd);
}

/* On many file systems a new file gets the inode of a removed one. */
TEST(test_an_inode_that_another_file_gets)
{
    int fd;
    struct file_id first = new_file(tmpdir_path("inode"), &fd), id = first;
    assert_true(file_is(fd, first));
    assert_int_equal(rename(tmpdir_path("inode"), tmpdir_path("inode.1")), 0);
    assert_true(file_is(fd, first));
    close(fd);
    assert_int_equal(unlink(tmpdir_path("inode.1")), 0);
    for (int i = 0; i < 1000; i++) {
        id = new_file(tmpdir_path("inode"), &fd);
        assert_int_equal(file_is(fd, first), id.birth == first.birth && id.inode == first.inode);
        if (id.birth)
            assert_false(file_is(fd, first));
        close(fd);
        assert_int_equal(unlink(tmpdir_path("inode")), 0);
        if (id.inode == first.inode)
            break;
    }
    if (!id.birth || id.inode != first.inode)
        print_message("this file system keeps no time of birth, or gives no inode twice\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_mkdirs),
        cmocka_unit_test(test_try_dir),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_a_limit_of_sizes_is_an_error),
        cmocka_unit_test(test_read_all),
        cmocka_unit_test(test_read_at),
        cmocka_unit_test(test_read_all_does_not_wait),
        cmocka_unit_test(test_free_bytes),
        cmocka_unit_test(test_gzip_round_trip),
        cmocka_unit_test(test_gzip_failures_leave_nothing),
        cmocka_unit_test(test_gzip_that_cannot_be_closed),
        cmocka_unit_test(test_gzip_given_up_leaves_nothing),
        cmocka_unit_test(test_an_inode_that_another_file_gets),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
