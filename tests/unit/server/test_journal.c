/* test_journal.c - acknowledged frames are read back; at the limit and with a full disk frames are
 * refused without harm; finished segments are removed; many threads write at once. Damage:
 * test_journal_damage.c. */
#include "base/err.h"
#include "base/process/thread.h"
#include "tests/test.h"
#include "tests/unit/support/journal_fixture.h"
#include "tests/unit/support/tmpdir.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what reached the disk ------------------------------------------------------------------- */

enum { SEGMENTS = 256 };

/* Sizes of files when they were synced, except by the test's own thread. No sync ends while
 * held. */
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

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(test_round)
{
    enum { N = 400 };
    struct seen *s = seen_new(), *again = seen_new();
    struct journal *j = open_journal(s, 1 << 20, 1 << 28);
    struct journal_reader *r;
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

/* Segments whose frames are released are removed, even if frames are released out of order; numbers
 * go on though nothing is left. */
TEST(test_release)
{
    struct seen *s = seen_new();
    struct journal *j = open_journal(s, 64 << 10, 1 << 28);
    struct journal_stats st;
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

/* At its limit the journal refuses frames, and accepts them again when the loader has released
 * some. */
TEST(test_ceiling)
{
    struct seen *s = seen_new();
    struct journal *j = open_journal(s, 64 << 10, 300 << 10);
    struct err e = {0};
    unsigned i = 0;
    int rc;
    do {
        struct journal_frame f = make_frame(1);
        f.plain = 800;
        for (size_t at = 0; at < 800; at++) /* does not compress */
            payload[at] = (char)(rand() & 255);
        rc = journal_append(j, &f, payload, &e);
        i += rc == 0;
    } while (!rc && i < 5000);
    assert_int_equal(rc, GPUFL_E_FULL);
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

/* If the disk takes no more, the append says so, and nothing of the frame is there later. When
 * there is room again, the journal goes on. */
TEST(test_full_disk)
{
    struct seen *s = seen_new(), *again = seen_new();
    struct rlimit before, small = {40000, RLIM_INFINITY};
    struct err e = {0};
    int rc = 0;
    unsigned good = 0;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    struct journal *j = open_journal(s, 1 << 20, 1 << 28);
    setrlimit(RLIMIT_FSIZE, &small); /* like ENOSPC: a write is cut or refused */
    while (!rc && good < 5000) {
        struct journal_frame f = make_frame(1);
        rc = journal_append(j, &f, payload, &e);
        good += rc == 0;
    }
    assert_int_equal(rc, GPUFL_E_IO);
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
TEST(test_no_room)
{
    struct seen *s = seen_new();
    struct err e = {0};
    struct journal *j;
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

/* ---- many at once ---------------------------------------------------------------------------- */

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

TEST(test_group)
{
    enum { SENDERS = 8 };
    struct seen *s = seen_new();
    struct journal *j = open_journal(s, 256 << 10, 1 << 28);
    struct sender senders[SENDERS];
    struct thread threads[SENDERS];
    struct journal_stats st;
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

/* The disk stands still while more segments are written than are synced at once: what is reported
 * as durable is durable. */
TEST(test_many_segments_at_once)
{
    struct seen *s = seen_new();
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

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, tmpdir_open, tmpdir_close)
    const struct CMUnitTest tests[] = {
        T(test_round),
        T(test_release),
        T(test_ceiling),
        T(test_full_disk),
        T(test_no_room),
        T(test_group),
        T(test_many_segments_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
