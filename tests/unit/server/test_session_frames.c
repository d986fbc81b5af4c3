/* test_session_frames.c - tests frames that a session keeps are read back, and frames that could
 * not be read are not cut off. */
#include "server/intake/session_frames.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "tests/unit/support/tmpdir.h"

#include <errno.h>
#include <unistd.h>

enum { FRAMES = 9 }; /* two pieces and their seal, three times */

static int reads_left = -1; /* until the disk fails; negative: it does not */
static bool failed;

ssize_t __real_pread(int fd, void *data, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at);

ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at)
{
    if (reads_left == 0) {
        failed = true;
        errno = EIO;
        return -1;
    }
    reads_left -= reads_left > 0;
    return __real_pread(fd, data, n, at);
}

static int open_kept(struct session_frames **k, struct err *e)
{
    return session_frames_open(k, tmpdir, "w", "s", true, e);
}

static void write_frames(void)
{
    struct session_frames *k;
    static char text[300000]; /* the reader's memory must grow for it */
    assert_int_equal(open_kept(&k, NULL), 0);
    for (uint64_t i = 1; i <= FRAMES; i++) {
        size_t n = i == 5 ? sizeof text : 10 * i;
        struct journal_frame f = {.number = i,
                                  .kind = i % 3 ? JOURNAL_PIECE : JOURNAL_SEAL,
                                  .identity = i,
                                  .plain = i % 3 ? (uint32_t)n : 0};
        for (size_t at = 0; at < n; at++)
            text[at] = (char)(at * 2654435761u >> 24);
        assert_int_equal(session_frames_append(k, &f, text, NULL), 0);
    }
    assert_int_equal(session_frames_sync(k, NULL), 0);
    session_frames_close(k);
}

static int count(void *arg, const struct journal_frame *f, char *payload)
{
    int *n = arg;
    (void)payload;
    *n += f->number > 0;
    return 0;
}

/* Opens, lists, reads or shrinks (`what`), and closes; *n frames were seen. */
static int act(int what, int *n)
{
    struct session_frames *k;
    struct err e = {0};
    const struct session_frames_visitor v = {n, count};
    int rc = open_kept(&k, &e);
    *n = 0;
    if (rc)
        return rc;
    rc = what == 0   ? session_frames_list(k, &v, &e)
         : what == 1 ? session_frames_read(k, UINT64_MAX, &v, &e)
                     : session_frames_shrink(k, &e);
    session_frames_close(k);
    return rc;
}

static void expect(int what, int frames)
{
    int n;
    assert_int_equal(act(what, &n), 0);
    assert_int_equal(n, frames);
}

TEST(test_read_back)
{
    struct session_frames *k;
    struct err e;
    int n = 0;
    assert_int_equal(session_frames_open(&k, tmpdir, "w", "s", false, &e), GPUFL_E_NOENT);
    write_frames();
    expect(0, FRAMES);
    expect(1, FRAMES);
    assert_int_equal(open_kept(&k, &e), 0);
    assert_int_equal(session_frames_read(k, 7, &(struct session_frames_visitor){&n, count}, &e), 0);
    assert_int_equal(n, 6); /* the third window's seal came later: it is cut off */
    session_frames_close(k);
    expect(0, 6);
    expect(2, 0);
    expect(0, 2); /* the seals */
}

TEST(test_a_torn_tail)
{
    int n;
    write_frames();
    const char *path = tmpdir_path("w/s.frames");
    assert_int_equal(truncate(path, file_size(path) - 1), 0);
    assert_int_equal(act(0, &n), 0);
    assert_int_equal(n, FRAMES - 1);
    expect(1, FRAMES - 3);
}

TEST(test_without_memory)
{
    write_frames();
    for (int what = 0; what < 3; what++)
        for (int64_t at = 0;; at++) {
            int n;
            mem_fail_at(at);
            int rc = act(what, &n);
            bool done = mem_count() <= at;
            mem_fail_at(-1);
            assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
            if (done)
                break;
            expect(0, FRAMES);
        }
    expect(0, FRAMES / 3);
}

TEST(test_a_disk_that_fails)
{
    write_frames();
    for (int what = 0; what < 3; what++)
        for (int after = 0;; after++) {
            int n;
            reads_left = after;
            failed = false;
            int rc = act(what, &n);
            reads_left = -1;
            assert_int_equal(rc, failed ? GPUFL_E_IO : 0);
            if (!failed)
                break;
            expect(0, FRAMES);
        }
    expect(0, FRAMES / 3);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, tmpdir_open, tmpdir_close)
    const struct CMUnitTest tests[] = {
        T(test_read_back),
        T(test_a_torn_tail),
        T(test_without_memory),
        T(test_a_disk_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
