/* test_journal.c - what was acknowledged comes back: after a clean end, a torn tail, damage in
 * the middle; the ceiling and the full disk refuse without harm; segments go when they are done. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/thread.h"
#include "server/frame.h"
#include "server/journal.h"
#include "tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- what reached the disk ----------------------------------------------------------------------- */

enum { SEGMENTS = 256 };

/* Sizes of files when they were synced, but by the test's own thread; nobody syncs while held. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held, waiting;
    struct {
        ino_t file;
        off_t size;
    } synced[SEGMENTS];
    size_t count;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static pthread_t test_thread;

/* A disk that gives out no byte of the file from there on. */
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

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
    struct stat st;
    if (pthread_equal(pthread_self(), test_thread))
        return __real_fdatasync(fd);
    pthread_mutex_lock(&disk.lock);
    disk.waiting = true;
    pthread_cond_broadcast(&disk.changed);
    while (disk.held)
        pthread_cond_wait(&disk.changed, &disk.lock);
    disk.waiting = false;
    if (fstat(fd, &st) == 0 && disk.count < SEGMENTS) {
        disk.synced[disk.count].file = st.st_ino;
        disk.synced[disk.count++].size = st.st_size;
    }
    pthread_mutex_unlock(&disk.lock);
    return __real_fdatasync(fd);
}

/* ---- what was handed out ----------------------------------------------------------------------- */

enum { MOST = 20000 };

struct seen {
    pthread_mutex_t lock;
    struct journal_frame frames[MOST];
    struct journal_place places[MOST];
    size_t count;
};

static struct seen *seen_new(void)
{
    struct seen *s = calloc(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

static void take_frame(void *arg, const struct journal_frame *f, struct journal_place p)
{
    struct seen *s = arg;
    pthread_mutex_lock(&s->lock);
    assert_true(s->count < MOST);
    s->frames[s->count] = *f;
    s->places[s->count++] = p;
    pthread_mutex_unlock(&s->lock);
}

static struct journal *open_journal(struct seen *s, int64_t segment_bytes, int64_t most_bytes)
{
    struct err e = {0};
    struct journal *j;
    struct journal_config c = {.folder = tmpdir_path("journal"),
                               .segment_bytes = segment_bytes,
                               .most_bytes = most_bytes,
                               .keep_free = 1,
                               .arg = s,
                               .durable = take_frame};
    if (journal_open(&j, &c, &e))
        fail_msg("%s", e.text);
    return j;
}

/* A payload that says which it is; sizes from nothing to half a megabyte. */
static size_t make_payload(unsigned i, char *out)
{
    size_t n = i % 7 == 0 ? 0 : (i * 2654435761u) % (i % 11 == 0 ? 500000 : 900);
    for (size_t at = 0; at < n; at++)
        out[at] = (char)('a' + (at / 8 + i) % 26);
    return n;
}

static char payload[1 << 20];

static struct journal_frame make_frame(unsigned i)
{
    struct journal_frame f = {.kind = JOURNAL_LINES,
                              .offset = 1000 * (int64_t)i,
                              .length = 1000,
                              .received = 1770000000000000000 + i,
                              .lines = i,
                              .damaged = i / 2,
                              .too_long = i / 3};
    snprintf(f.workspace, sizeof f.workspace, "w%u", i % 3);
    snprintf(f.session, sizeof f.session, "session-%u", i % 5);
    snprintf(f.channel, sizeof f.channel, "device");
    f.plain = (uint32_t)make_payload(i, payload);
    return f;
}

static void append(struct journal *j, unsigned i)
{
    struct err e = {0};
    struct journal_frame f = make_frame(i);
    if (journal_append(j, &f, payload, &e))
        fail_msg("%s", e.text);
}

static void check_frame(struct journal_reader *r, const struct seen *s, size_t at, unsigned i)
{
    static char want[1 << 20];
    struct journal_frame f = {0}, expected = make_frame(i);
    struct err e = {0};
    char *got;
    size_t n = make_payload(i, want);
    expected.number = s->frames[at].number;
    assert_memory_equal(&s->frames[at], &expected, sizeof expected);
    if (journal_read(r, s->places[at], &f, &got, &e))
        fail_msg("%s", e.text);
    assert_memory_equal(&f, &expected, sizeof f);
    if (n)
        assert_memory_equal(got, want, n);
}

static unsigned files_ending(const char *suffix)
{
    DIR *d = opendir(tmpdir_path("journal"));
    const struct dirent *e;
    unsigned n = 0;
    assert_non_null(d);
    while ((e = readdir(d))) {
        size_t len = strlen(e->d_name), end = strlen(suffix);
        n += len > end && strcmp(e->d_name + len - end, suffix) == 0;
    }
    closedir(d);
    return n;
}

static int begin(void **state)
{
    return tmpdir_open(state);
}

static int end(void **state)
{
    return tmpdir_close(state);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static void test_round(void **state)
{
    enum { N = 400 };
    struct seen *s = seen_new(), *again = seen_new();
    struct journal *j = open_journal(s, 1 << 20, 1 << 28);
    struct journal_reader *r;
    (void)state;
    for (unsigned i = 0; i < N; i++)
        append(j, i);
    assert_int_equal(journal_wait(j, 0, NULL), 0);
    assert_int_equal(s->count, N);
    assert_int_equal(journal_reader_open(&r, j), 0);
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(s->frames[i].number, i + 1);
        check_frame(r, s, i, i);
    }
    uint64_t id = journal_id(j);
    journal_reader_close(r);
    journal_close(j);

    j = open_journal(again, 1 << 20, 1 << 28);
    assert_true(journal_id(j) == id && id != 0);
    assert_int_equal(again->count, N);
    assert_int_equal(journal_reader_open(&r, j), 0);
    for (unsigned i = 0; i < N; i++)
        check_frame(r, again, i, i);
    append(j, N);
    assert_int_equal(journal_wait(j, N + 1, NULL), 0);
    assert_int_equal(again->frames[N].number, N + 1); /* numbers go on */
    struct journal_stats st;
    journal_stats(j, &st);
    assert_int_equal(st.damaged + (uint64_t)st.torn_bytes, 0);
    assert_int_equal(st.unreleased, N + 1);
    journal_reader_close(r);
    journal_close(j);
    free(s);
    free(again);
}

/* Segments whose frames are released go, also where that happens out of order; numbers go on
 * though nothing is left. */
static void test_release(void **state)
{
    struct seen *s = seen_new();
    struct journal *j = open_journal(s, 64 << 10, 1 << 28);
    struct journal_stats st;
    (void)state;
    for (unsigned i = 0; i < 200; i++)
        append(j, i);
    assert_int_equal(journal_wait(j, 0, NULL), 0);
    unsigned before = files_ending(".journal");
    assert_true(before > 3);
    for (unsigned i = 0; i < 200; i += 2)
        journal_release(j, s->places[i]);
    assert_true(files_ending(".journal") >= before - 1);
    for (unsigned i = 1; i < 200; i += 2)
        journal_release(j, s->places[i]);
    assert_int_equal(files_ending(".journal"), 1);
    journal_stats(j, &st);
    assert_int_equal(st.unreleased, 0);
    journal_close(j);
    s->count = 0;
    j = open_journal(s, 64 << 10, 1 << 28);
    assert_int_equal(s->count, 0);
    append(j, 1);
    assert_int_equal(journal_wait(j, 0, NULL), 0);
    assert_int_equal(s->frames[0].number, 201);
    journal_close(j);
    free(s);
}

/* Path of the last segment that has frames. */
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

/* Writes n frames into one segment and leaves, as a crash would. */
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

/* A tail cut anywhere: what is whole before it is read, and the journal goes on behind. */
static void test_torn(void **state)
{
    (void)state;
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

/* Damage in the middle costs the frames it hits; they are kept aside, counted, and the rest is
 * read: once, and again at the next start. */
static void test_damage(void **state)
{
    struct seen *s = seen_new(), *again = seen_new();
    struct journal_stats st;
    (void)state;
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

/* A segment whose head is gone is put aside as a whole; the others are read. */
static void test_lost_segment(void **state)
{
    struct seen *s = seen_new();
    struct journal_stats st;
    (void)state;
    leave_frames(200, 64 << 10);
    unsigned before = files_ending(".journal");
    damage(segment_file(1), 4, 20);
    struct journal *j = open_journal(s, 64 << 10, 1 << 28);
    journal_stats(j, &st);
    assert_int_equal(st.damaged, 1);
    assert_true(s->count < 200 && s->count > 100);
    assert_int_equal(files_ending(".damaged"), 1);
    assert_int_equal(files_ending(".journal"), before); /* one less, one new */
    journal_close(j);
    free(s);
}

/* At its ceiling the journal refuses, and goes on when the loader has. */
static void test_ceiling(void **state)
{
    struct seen *s = seen_new();
    struct journal *j = open_journal(s, 64 << 10, 300 << 10);
    struct err e = {0};
    unsigned i = 0;
    int code;
    (void)state;
    do {
        struct journal_frame f = make_frame(1);
        f.plain = 800;
        for (size_t at = 0; at < 800; at++) /* does not compress */
            payload[at] = (char)(rand() & 255);
        code = journal_append(j, &f, payload, &e);
        i += code == 0;
    } while (!code && i < 5000);
    assert_int_equal(code, GPUFL_E_FULL);
    assert_true(journal_fill(j) > 0.95);
    assert_int_equal(journal_wait(j, 0, NULL), 0);
    assert_int_equal(s->count, i);
    for (size_t k = 0; k < s->count; k++)
        journal_release(j, s->places[k]);
    assert_true(journal_fill(j) < 0.3);
    append(j, 5);
    assert_int_equal(journal_wait(j, 0, NULL), 0);
    journal_close(j);
    free(s);
}

/* A disk that takes no more: the append says so, nothing of it is there later, and when there is
 * room again the journal goes on. */
static void test_full_disk(void **state)
{
    struct seen *s = seen_new(), *again = seen_new();
    struct rlimit before, small = {40000, RLIM_INFINITY};
    struct err e = {0};
    int code = 0;
    unsigned good = 0;
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    struct journal *j = open_journal(s, 1 << 20, 1 << 28);
    setrlimit(RLIMIT_FSIZE, &small); /* stands for ENOSPC: a write that is cut or refused */
    while (!code && good < 5000) {
        struct journal_frame f = make_frame(1);
        code = journal_append(j, &f, payload, &e);
        good += code == 0;
    }
    assert_int_equal(code, GPUFL_E_IO);
    assert_non_null(strstr(e.text, "journal"));
    setrlimit(RLIMIT_FSIZE, &before);
    append(j, 9);
    assert_int_equal(journal_wait(j, 0, NULL), 0);
    journal_close(j);
    j = open_journal(again, 1 << 20, 1 << 28);
    struct journal_stats st;
    journal_stats(j, &st);
    assert_int_equal(st.damaged, 0);
    assert_int_equal(again->count, good + 1);
    assert_int_equal(again->frames[good].lines, 9);
    journal_close(j);
    free(s);
    free(again);
}

/* No room for a segment: refused before anything is written. */
static void test_no_room(void **state)
{
    struct seen *s = seen_new();
    struct err e = {0};
    struct journal *j;
    (void)state;
    struct journal_config c = {.folder = tmpdir_path("journal"),
                               .segment_bytes = 1 << 20,
                               .keep_free = INT64_MAX / 2,
                               .arg = s,
                               .durable = take_frame};
    assert_int_equal(journal_open(&j, &c, &e), GPUFL_E_IO);
    assert_non_null(strstr(e.text, "MiB"));
    assert_int_equal(files_ending(".journal"), 0);
    free(s);
}

/* ---- many at once -------------------------------------------------------------------------------- */

struct sender {
    struct journal *j;
    unsigned from;
    uint64_t last;
};

static void *send_frames(void *arg)
{
    struct sender *s = arg;
    static const char text[] = "{\"type\":\"kernel\"}\n";
    for (unsigned i = 0; i < 500; i++) {
        struct journal_frame f = {.kind = JOURNAL_LINES, .lines = s->from + i};
        snprintf(f.session, sizeof f.session, "s%u", s->from);
        f.plain = sizeof text - 1;
        if (journal_append(s->j, &f, text, NULL) || journal_wait(s->j, f.number, NULL))
            abort();
        if (f.number <= s->last)
            abort();
        s->last = f.number;
    }
    return NULL;
}

static void test_group(void **state)
{
    enum { SENDERS = 8 };
    struct seen *s = seen_new();
    struct journal *j = open_journal(s, 256 << 10, 1 << 28);
    struct sender senders[SENDERS];
    struct thread threads[SENDERS];
    struct journal_stats st;
    (void)state;
    for (unsigned i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){j, i * 1000, 0};
        assert_int_equal(thread_start(&threads[i], "send", 0, send_frames, &senders[i]), 0);
    }
    for (unsigned i = 0; i < SENDERS; i++)
        thread_join(&threads[i]);
    assert_int_equal(s->count, SENDERS * 500);
    unsigned next[SENDERS] = {0};
    for (size_t i = 0; i < s->count; i++) {
        assert_int_equal(s->frames[i].number, i + 1);
        unsigned who = s->frames[i].lines / 1000;
        assert_int_equal(s->frames[i].lines % 1000, next[who]++); /* each sender's order */
    }
    journal_stats(j, &st);
    assert_true(st.syncs < SENDERS * 500); /* some were synced together */
    journal_close(j);
    free(s);
}

static bool is_synced(struct journal_place p)
{
    char name[64];
    struct stat st;
    bool synced = false;
    snprintf(name, sizeof name, "journal/%020llu.journal", (unsigned long long)p.segment);
    assert_int_equal(stat(tmpdir_path(name), &st), 0);
    pthread_mutex_lock(&disk.lock);
    for (size_t i = 0; i < disk.count; i++)
        synced |= disk.synced[i].file == st.st_ino && disk.synced[i].size >= p.at + (off_t)p.size;
    pthread_mutex_unlock(&disk.lock);
    return synced;
}

/* A disk that stood still while more segments were written than are synced at once: what is
 * said to be durable is. */
static void test_many_segments_at_once(void **state)
{
    struct seen *s = seen_new();
    (void)state;
    test_thread = pthread_self();
    disk.count = 0;
    disk.held = true;
    disk.waiting = false;
    struct journal *j = open_journal(s, 4096, 1 << 28);
    append(j, 1);
    pthread_mutex_lock(&disk.lock);
    while (!disk.waiting)
        pthread_cond_wait(&disk.changed, &disk.lock);
    pthread_mutex_unlock(&disk.lock);
    struct journal_stats st = {0};
    for (unsigned i = 2; st.segments < 150; i++) {
        append(j, i);
        journal_stats(j, &st);
    }
    pthread_mutex_lock(&disk.lock);
    disk.held = false;
    pthread_cond_broadcast(&disk.changed);
    pthread_mutex_unlock(&disk.lock);
    assert_int_equal(journal_wait(j, 0, NULL), 0);
    journal_close(j);
    assert_int_equal(s->count, st.frames);
    for (size_t i = 0; i < s->count; i++)
        if (!is_synced(s->places[i]))
            fail_msg("frame %zu of %zu is not on the disk", i, s->count);
    free(s);
}

/* A disk that fails to read is no torn tail: the start fails, and the next one has all of it. */
static void test_disk_that_fails(void **state)
{
    struct seen *s = seen_new(), *again = seen_new();
    const struct journal_config c = {
        .folder = tmpdir_path("journal"), .keep_free = 1, .arg = again, .durable = take_frame};
    struct journal_stats st;
    (void)state;
    leave_frames(60, 1 << 24);
    struct journal *j = open_journal(s, 1 << 24, 1 << 28);
    const int64_t places[] = {0, s->places[0].at, s->places[20].at + 5, s->places[59].at};
    journal_close(j);
    int64_t size = file_size(segment_file(0));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct err e = {0};
        unread_from = places[i];
        again->count = 0;
        int code = journal_open(&j, &c, &e);
        unread_from = INT64_MAX;
        assert_int_equal(code, GPUFL_E_IO);
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
static void test_start_without_memory(void **state)
{
    struct seen *s = seen_new(), *again = seen_new();
    const struct journal_config c = {
        .folder = tmpdir_path("journal"), .keep_free = 1, .arg = again, .durable = take_frame};
    (void)state;
    leave_frames(60, 1 << 24);
    struct journal *j = open_journal(s, 1 << 24, 1 << 28);
    struct journal_place hit = s->places[20];
    journal_close(j);
    damage(segment_file(0), hit.at + FRAME_HEAD + 3, 1);
    for (int64_t n = 0;; n++) {
        struct err e = {0};
        again->count = 0;
        mem_fail_at(n);
        int code = journal_open(&j, &c, &e);
        bool done = mem_count() <= n;
        mem_fail_at(-1);
        if (!code)
            journal_close(j);
        assert_int_equal(code, done ? 0 : GPUFL_E_NOMEM);
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
static void test_killed(void **state)
{
    (void)state;
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
            for (unsigned i = 0; i < MOST; i++) {
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
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(test_round),
        T(test_release),
        T(test_torn),
        T(test_damage),
        T(test_disk_that_fails),
        T(test_lost_segment),
        T(test_ceiling),
        T(test_full_disk),
        T(test_no_room),
        T(test_group),
        T(test_killed),
        T(test_many_segments_at_once),
        T(test_start_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
