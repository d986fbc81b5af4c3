/* test_journal_damage.c - acknowledged frames are read back also after an incomplete end,
 * damage in the middle, a segment without its head, read errors, little memory, and a
 * kill at any moment. */
#include "base/alloc.h"
#include "base/err.h"
#include "base/file/file.h"
#include "tests/test.h"
#include "tests/unit/support/journal_fixture.h"
#include "tests/unit/support/tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The disk fails to read the file from there on. */
static int64_t unread_from = INT64_MAX;

ssize_t __real_pread(int fd, void *data, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at);

ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at)
{
    if (at + (off_t)n <= unread_from)
        return __real_pread(fd, data, n, at);
    errno = EIO;
    return -1;
}

/* Returns the path of the journal's segment of that number, from 0. */
static const char *segment_file(unsigned nth)
{
    static char path[PATH_MAX + 64];
    const char *dir = tmpdir_path("journal");
    struct dirent **names;
    int n = scandir(dir, &names, NULL, alphasort);
    unsigned at = 0;
    path[0] = '\0';
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(names[i]->d_name, '.');
        if (dot && strcmp(dot, ".journal") == 0 && at++ == nth)
            snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return path;
}

/* Writes n frames into segments of that size, and ends without closing the journal, like a
 * crash. */
static void leave_frames(unsigned n, int64_t segment_bytes)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct seen *s = seen_new();
        struct journal *j = open_journal(s, segment_bytes, 1 << 28);
        for (unsigned i = 0; i < n; i++)
            append(j, i);
        _exit(journal_wait(j, 0, NULL) ? 1 : 0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A tail is cut anywhere: the whole frames before it are read, and the journal goes on after
 * them. */
TEST(test_torn)
{
    for (int64_t cut = 1; cut < 4000; cut = cut * 3 + 1) {
        struct seen *s = seen_new(), *again = seen_new();
        struct journal_stats st;
        tmpdir_close(NULL);
        tmpdir_open(NULL);
        leave_frames(30, 1 << 24);
        const char *path = segment_file(0);
        int64_t size = file_size(path);
        assert_int_equal(truncate(path, size - cut), 0);
        struct journal *j = open_journal(s, 1 << 24, 1 << 28);
        journal_stats(j, &st);
        assert_true(s->count < 30 && s->count > 0);
        assert_int_equal(st.damaged, 0);
        size_t left = s->count;
        for (size_t i = 0; i < left; i++)
            assert_int_equal(s->frames[i].number, i + 1);
        append(j, 77);
        assert_int_equal(journal_wait(j, 0, NULL), 0);
        journal_close(j);
        j = open_journal(again, 1 << 24, 1 << 28);
        assert_int_equal(again->count, left + 1);
        assert_int_equal(again->frames[left].lines, 77);
        journal_close(j);
        free(s);
        free(again);
    }
}

static void damage(const char *path, int64_t at, size_t n)
{
    char junk[256];
    int fd = open(path, O_RDWR);
    memset(junk, 0x5a, sizeof junk);
    assert_true(fd >= 0 && n <= sizeof junk);
    assert_int_equal(pwrite(fd, junk, n, at), n);
    close(fd);
}

/* Damage in the middle costs the frames it hits: they are set aside and counted. The rest is read:
 * once, and again at the next start. */
TEST(test_damage)
{
    struct seen *s = seen_new(), *again = seen_new();
    struct journal_stats st;
    leave_frames(60, 1 << 24);
    struct journal *j = open_journal(s, 1 << 24, 1 << 28);
    struct journal_place hit = s->places[20], whole = s->places[40];
    journal_close(j);
    damage(segment_file(0), hit.at + FRAME_HEAD + 3, 1); /* a byte of the payload or a text */
    damage(segment_file(0), whole.at, 60);               /* a head */
    j = open_journal(again, 1 << 24, 1 << 28);
    journal_stats(j, &st);
    assert_int_equal(st.damaged, 2);
    assert_true(st.damaged_bytes == (int64_t)hit.size + whole.size);
    assert_int_equal(again->count, 58);
    for (size_t i = 0; i < 58; i++)
        assert_int_equal(again->frames[i].lines, i < 20 ? i : i < 39 ? i + 1 : i + 2);
    assert_int_equal(files_ending(".damaged"), 1);
    journal_close(j);
    free(s);
    free(again);
}

/* A segment whose head is gone is set aside as a whole; the others are read. */
TEST(test_lost_segment)
{
    struct seen *s = seen_new();
    struct journal_stats st;
    leave_frames(200, 64 << 10);
    unsigned before = files_ending(".journal");
    damage(segment_file(1), 4, 20);
    struct journal *j = open_journal(s, 64 << 10, 1 << 28);
    journal_stats(j, &st);
    assert_int_equal(st.damaged, 1);
    assert_true(s->count < 200 && s->count > 100);
    assert_int_equal(files_ending(".damaged"), 1);
    assert_int_equal(files_ending(".journal"), before); /* one less, and a new one */
    journal_close(j);
    free(s);
}

/* A disk that fails to read is no torn tail: the start fails, and the next start has all frames. */
TEST(test_disk_that_fails)
{
    struct seen *s = seen_new(), *again = seen_new();
    const struct journal_config c = {
        .folder = tmpdir_path("journal"), .keep_free = 1, .arg = again, .durable = take_frame};
    struct journal_stats st;
    leave_frames(60, 1 << 24);
    struct journal *j = open_journal(s, 1 << 24, 1 << 28);
    const int64_t places[] = {0, s->places[0].at, s->places[20].at + 5, s->places[59].at};
    journal_close(j);
    int64_t size = file_size(segment_file(0));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct err e = {0};
        unread_from = places[i];
        again->count = 0;
        int rc = journal_open(&j, &c, &e);
        unread_from = INT64_MAX;
        assert_int_equal(rc, GPUFL_E_IO);
        assert_int_equal(e.vendor, EIO);
        assert_non_null(strstr(e.text, "disk"));
        assert_int_equal(file_size(segment_file(0)), size);
        assert_int_equal(files_ending(".damaged"), 0);
    }
    again->count = 0;
    j = open_journal(again, 1 << 24, 1 << 28);
    journal_stats(j, &st);
    journal_close(j);
    assert_int_equal(again->count, 60);
    assert_int_equal(st.damaged + (uint64_t)st.torn_bytes, 0);
    free(s);
    free(again);
}

/* A start that runs out of memory fails; it takes nothing for damage, and cuts nothing off. */
TEST(test_start_without_memory)
{
    struct seen *s = seen_new(), *again = seen_new();
    const struct journal_config c = {
        .folder = tmpdir_path("journal"), .keep_free = 1, .arg = again, .durable = take_frame};
    leave_frames(60, 1 << 24);
    struct journal *j = open_journal(s, 1 << 24, 1 << 28);
    struct journal_place hit = s->places[20];
    journal_close(j);
    damage(segment_file(0), hit.at + FRAME_HEAD + 3, 1);
    for (int64_t n = 0;; n++) {
        struct err e = {0};
        again->count = 0;
        mem_fail_at(n);
        int rc = journal_open(&j, &c, &e);
        bool done = mem_count() <= n;
        mem_fail_at(-1);
        if (!rc)
            journal_close(j);
        assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
        if (done)
            break;
    }
    assert_int_equal(again->count, 59);
    for (size_t i = 0; i < 59; i++)
        assert_int_equal(again->frames[i].lines, i < 20 ? i : i + 1);
    free(s);
    free(again);
}

/* A process killed at any moment: all that a sender had waited for is there, whole and in order. */
TEST(test_killed)
{
    for (unsigned round = 0; round < 12; round++) {
        struct seen *s = seen_new();
        int said[2];
        uint64_t acknowledged = 0, one;
        tmpdir_close(NULL);
        tmpdir_open(NULL);
        assert_int_equal(pipe(said), 0);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            struct journal *j = open_journal(seen_new(), 128 << 10, 1 << 28);
            for (unsigned i = 0; i < JOURNAL_MOST; i++) {
                struct journal_frame f = make_frame(i);
                if (journal_append(j, &f, payload, NULL))
                    _exit(1);
                if (i % 3 == 0 && (journal_wait(j, f.number, NULL) ||
                                   write(said[1], &f.number, sizeof f.number) < 0))
                    _exit(1);
            }
            _exit(0);
        }
        close(said[1]);
        for (unsigned i = 0; i < 1 + round * 9; i++)
            if (read(said[0], &one, sizeof one) == sizeof one)
                acknowledged = one;
        kill(pid, SIGKILL);
        while (read(said[0], &one, sizeof one) == sizeof one)
            acknowledged = one;
        close(said[0]);
        waitpid(pid, NULL, 0);
        struct journal *j = open_journal(s, 128 << 10, 1 << 28);
        struct journal_reader *r;
        assert_true(s->count >= acknowledged && acknowledged > 0);
        assert_int_equal(journal_reader_open(&r, j), 0);
        for (size_t i = 0; i < s->count; i++) {
            assert_int_equal(s->frames[i].number, i + 1);
            check_frame(r, s, i, (unsigned)i);
        }
        journal_reader_close(r);
        journal_close(j);
        free(s);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, tmpdir_open, tmpdir_close)
    const struct CMUnitTest tests[] = {
        T(test_torn),
        T(test_damage),
        T(test_lost_segment),
        T(test_disk_that_fails),
        T(test_start_without_memory),
        T(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
