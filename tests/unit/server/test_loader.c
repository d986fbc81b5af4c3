/* test_loader.c - acknowledged rows are in the columns exactly once, after kills at any moment
 * and ends of every kind. test_loader_failures.c has failures of a session's store,
 * test_loader_together.c sessions that end at one time. */
#include "base/clock.h"
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "tests/unit/support/tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- kills ----------------------------------------------------------------------------------- */

enum { SESSIONS = 3, BATCHES = 60 };

/* A session's progress, as its sender knows it. */
struct progress {
    int64_t offset, rows;
};

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static void name_of(int i, char *out, size_t size)
{
    snprintf(out, size, "killed-%d", i);
}

/* Rows in a session's text before an offset; the text is the same however it was cut. */
static int64_t rows_before(const char *session, int64_t offset)
{
    size_t len;
    int64_t lines = 0;
    char *all = fixture_lines(session, 0, 80000, true, &len);
    if (offset > (int64_t)len)
        _exit(5);
    for (int64_t i = 0; i < offset; i++)
        lines += all[i] == '\n';
    free(all);
    return lines ? 10 * (lines - 1) : 0;
}

/* Sends until it is killed; reports each acknowledgement, in one write. */
static void child(const struct progress *from, int said)
{
    struct progress at[SESSIONS];
    struct fixture c = {0};
    memcpy(at, from, sizeof at);
    c.config.commit_ns = 15000000;
    c.config.commit_rows = 3000;
    c.config.threads = 2;
    c.config.idle_ns = 50000000;
    fixture_up(&c, tmpdir);
    for (unsigned n = 0;; n++) {
        int i = (int)draw(SESSIONS);
        char session[32];
        size_t len;
        struct ingest_answer a;
        name_of(i, session, sizeof session);
        int batches = 1 + (int)draw(BATCHES);
        char *text = fixture_lines(session, at[i].rows, batches, at[i].offset == 0, &len);
        struct ingest_request r = fixture_request(session, "device", at[i].offset);
        fixture_send(&c, &r, text, len, 1 + draw(40000), &a);
        free(text);
        if (a.status != 200 && a.status != 409)
            _exit(3);
        /* More may have been accepted than had been said when the sender before was killed. */
        bool more = a.offset != at[i].offset + (int64_t)len;
        at[i].rows = more ? rows_before(session, a.offset) : at[i].rows + 10 * batches;
        at[i].offset = a.offset;
        const struct {
            int i;
            struct progress p;
        } say = {i, at[i]};
        if (write(said, &say, sizeof say) != sizeof say)
            _exit(4);
        if (n % 16 == 7) { /* concurrently with the writer, as retention or an end would */
            struct store_session *ss;
            if (!store_duckdb.get(c.store, "w", session, false, &ss, NULL)) {
                store_duckdb.settle(ss, NULL);
                store_duckdb.put(ss);
            }
        }
    }
}

/* Starts a sender, and kills it ns after its start, or after its first acknowledgement. */
static void run_and_kill(struct progress *at, bool early, int64_t ns)
{
    int said[2];
    struct {
        int i;
        struct progress p;
    } one;
    assert_int_equal(pipe(said), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(said[0]);
        child(at, said[1]);
    }
    close(said[1]);
    if (!early && read(said[0], &one, sizeof one) == sizeof one)
        at[one.i] = one.p;
    struct timespec wait = {ns / 1000000000, ns % 1000000000}, left;
    while (nanosleep(&wait, &left) && errno == EINTR)
        wait = left;
    kill(pid, SIGKILL);
    while (read(said[0], &one, sizeof one) == sizeof one)
        at[one.i] = one.p;
    close(said[0]);
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status)); /* it did not end by itself */
}

TEST(test_killed)
{
    struct progress at[SESSIONS] = {{0, 0}};
    const char *fixed = getenv("GPUFL_TEST_SEED");
    seed = fixed ? strtoull(fixed, NULL, 0) : 0x9e3779b97f4a7c15;
    for (int round = 0; round < FEWER(12, 6); round++)
        run_and_kill(at, round % 3 == 0, (int64_t)draw(round % 3 ? 500000000 : 150000000));
    fixture_up(&fix, tmpdir);
    fixture_drain(&fix);
    int64_t all = 0;
    for (int i = 0; i < SESSIONS; i++) {
        char session[32];
        name_of(i, session, sizeof session);
        if (!at[i].offset)
            continue;
        struct fixture_kernels k = fixture_kernels(&fix, session);
        assert_true(k.count >= at[i].rows); /* all that was acknowledged … */
        assert_int_equal(k.correlation, k.count * (k.count - 1) / 2); /* … each row once */
        all += k.count;
    }
    assert_true(all > 0);
    struct journal_stats st;
    journal_stats(fix.intake.journal, &st);
    assert_int_equal(st.unreleased, 0);
    assert_int_equal(st.damaged, 0);
    fixture_down(&fix);
}

/* ---- the pyramid and counts go with the rows ------------------------------------------------- */

static int sum_lanes(void *arg, const struct store_chunk *c)
{
    int64_t *sum = arg;
    for (size_t i = 0; i < c->rows; i++)
        *sum += c->columns[1].ints[i];
    return 0;
}

TEST(test_pyramid)
{
    size_t n;
    struct ingest_answer a;
    struct store_session *ss;
    int64_t events = 0;
    fix.config.commit_rows = 700;
    fixture_up(&fix, tmpdir);
    char *text = fixture_lines("s", 0, 500, true, &n);
    struct ingest_request r = fixture_request("s", "device", 0);
    fixture_send(&fix, &r, text, n, 0, &a);
    fixture_drain(&fix);
    assert_int_equal(store_duckdb.get(fix.store, "w", "s", false, &ss, NULL), 0);
    assert_int_equal(
        store_duckdb.query(fix.store, &(struct store_question){"w", ss, QUERY_lanes, NULL},
                           &(struct store_visitor){.arg = &events, .chunk = sum_lanes}, NULL),
        0);
    assert_int_equal(events, 5000);
    store_duckdb.put(ss);
    free(text);
    fixture_down(&fix);
}

/* ---- registering, ending --------------------------------------------------------------------- */

static void test_registered(void **state)
{
    struct region mem;
    struct ingest_answer a;
    int64_t offset = 0;
    (void)state;
    fixture_up(&fix, tmpdir);
    fixture_send_rows("s", 0, 10, &offset);
    fixture_drain(&fix);
    struct meta_session row = fixture_entry("s", &mem);
    assert_string_equal(row.app, "app");
    assert_string_equal(row.host, "host");
    assert_string_equal(row.state, "live");
    assert_string_equal(row.format, "gpufl");
    assert_int_equal(row.pid, 77);
    assert_int_equal(row.started, 1770000000000000000);
    assert_true(row.simulated);
    region_fini(&mem);
    ingest_complete(fix.intake.ingest, "w", "s", &a);
    assert_int_equal(a.status, 200);
    fixture_drain(&fix);
    assert_true(fixture_reaches("s", "ended"));
    row = fixture_entry("s", &mem);
    assert_int_equal(row.kernels, 100);
    assert_int_equal(row.records, 100);
    assert_true(row.bytes > 0);
    region_fini(&mem);
    ingest_complete(fix.intake.ingest, "w", "never-seen", &a); /* creates no session */
    assert_int_equal(a.status, 200);
    fixture_drain(&fix);
    assert_int_equal(fixture_rows(&fix, "never-seen", "kernel"), -1);
    fixture_down(&fix);
}

/* Sends one GPU, whose model and vendor others share and whose UUID has a separate name. */
static void send_gpu(int64_t id, const char *header, const uint32_t *names,
                     const char *const *texts, size_t n, int64_t *offset)
{
    struct device_row d;
    struct ingest_answer a;
    size_t lens[4];
    struct buf b;
    buf_init(&b, 1 << 16);
    buf_str(&b, header);
    for (size_t i = 0; i < n; i++)
        lens[i] = strlen(texts[i]);
    encode_names(&b, names, texts, lens, n);
    for (unsigned c = 0; c < COL_device_COUNT; c++)
        ((int64_t *)&d)[c] = records[RECORD_device].columns[c].ref == RECORD_name ? 0 : CELL_NULL;
    d.id = id;
    d.index = id - 1;
    d.name = 2;
    d.vendor = 3;
    d.uuid = *texts[n - 1] == '?' ? 0 : names[n - 1]; /* the GPU has none */
    encode_rows(&b, RECORD_device, (const int64_t *)&d, 1);
    struct ingest_request r = fixture_request("g", "device", *offset);
    fixture_send(&fix, &r, b.data, b.len, 0, &a);
    assert_int_equal(a.status, 200);
    *offset = a.offset;
    buf_fini(&b);
    fixture_drain(&fix);
}

/* GPUs are reported one by one, with names that a log writes once: in an earlier commit, or before
 * a restart, and after more names than are remembered for later rows. */
TEST(test_gpus_one_by_one)
{
#define GPU(uuid) "{\"uuid\":\"" uuid "\",\"name\":\"H\",\"vendor\":\"amd\"}"
    struct region mem;
    int64_t offset = 0;
    size_t n;
    char *header = fixture_lines("g", 0, 1, true, &n);
    header[strcspn(header, "\n") + 1] = '\0';
    fixture_up(&fix, tmpdir);
    send_gpu(1, header, (const uint32_t[]){2, 3, 144, 400},
             (const char *const[]){"H", "amd", "other", "U-1"}, 4, &offset);
    send_gpu(2, "", (const uint32_t[]){401}, (const char *const[]){"U-2"}, 1, &offset);
    struct meta_session row = fixture_entry("g", &mem);
    assert_string_equal(row.gpus, "[" GPU("U-1") "," GPU("U-2") "]");
    region_fini(&mem);
    fixture_down(&fix);
    fixture_up(&fix, tmpdir);
    send_gpu(3, "", (const uint32_t[]){402}, (const char *const[]){"U-3"}, 1, &offset);
    row = fixture_entry("g", &mem);
    assert_string_equal(row.gpus, "[" GPU("U-1") "," GPU("U-2") "," GPU("U-3") "]");
    region_fini(&mem);
    fixture_down(&fix);
    free(header);
}

/* GPUs without a UUID have name and vendor all the same; a UUID that comes later belongs to the
 * GPU of that number. */
TEST(test_gpus_without_uuid)
{
    struct region mem;
    int64_t offset = 0;
    size_t n;
    char *header = fixture_lines("g", 0, 1, true, &n);
    header[strcspn(header, "\n") + 1] = '\0';
    fixture_up(&fix, tmpdir);
    send_gpu(1, header, (const uint32_t[]){2, 3, 400}, (const char *const[]){"H", "amd", "?"}, 3,
             &offset);
    send_gpu(2, "", (const uint32_t[]){401}, (const char *const[]){"?"}, 1, &offset);
    struct meta_session row = fixture_entry("g", &mem);
#define BARE "{\"name\":\"H\",\"vendor\":\"amd\"}"
    assert_string_equal(row.gpus, "[" BARE "," BARE "]");
    region_fini(&mem);
    send_gpu(2, "", (const uint32_t[]){402}, (const char *const[]){"U-2"}, 1, &offset);
    row = fixture_entry("g", &mem);
    assert_string_equal(row.gpus, "[" BARE "," GPU("U-2") "]");
    region_fini(&mem);
    fixture_down(&fix);
    free(header);
}

/* Sessions end by an `end` row and then quiet, or by silence; what comes late is still accepted,
 * over restarts. */
TEST(test_ends)
{
    static const char done[] = "{\"type\":\"end\",\"rows\":1,\"time\":99000}\n";
    int64_t offset = 0, other = 0;
    struct ingest_answer a;
    struct region mem;
    fix.config.quiet_ns = 100000000;
    fix.config.silence_ns = 400000000;
    fix.config.idle_ns = 50000000;
    fixture_up(&fix, tmpdir);
    fixture_send_rows("ending", 0, 5, &offset);
    struct ingest_request r = fixture_request("ending", "system", 0);
    fixture_send(&fix, &r, done, sizeof done - 1, 0, &a);
    assert_int_equal(a.status, 200);
    fixture_send_rows("silent", 0, 5, &other);
    assert_true(fixture_reaches("ending", "ended"));
    struct meta_session row = fixture_entry("ending", &mem);
    assert_int_equal(row.ended, 1770000000000000000 + 98000);
    region_fini(&mem);
    assert_true(fixture_reaches("silent", "aborted"));
    fixture_down(&fix);
    fixture_up(&fix, tmpdir);
    fixture_send_rows("ending", 50, 5, &offset);
    fixture_send_rows("silent", 50, 5, &other);
    fixture_drain(&fix);
    assert_int_equal(fixture_kernels(&fix, "ending").correlation, 100 * 99 / 2);
    assert_int_equal(fixture_kernels(&fix, "silent").correlation, 100 * 99 / 2);
    assert_true(fixture_reaches("ending", "ended"));
    assert_true(fixture_reaches("silent", "aborted"));
    row = fixture_entry("ending", &mem);
    assert_int_equal(row.kernels, 100);
    region_fini(&mem);
    fixture_down(&fix);
}

enum { SAID = 3 }; /* descriptor of a child's pipe */

/* Sends a whole session, says that it is complete, and waits to be killed. */
static _Noreturn void complete_main(const char *dir, const char *session)
{
    struct ingest_answer a;
    int64_t offset = 0;
    snprintf(tmpdir, sizeof tmpdir, "%s", dir);
    fixture_up(&fix, tmpdir);
    fixture_send_rows(session, 0, 5, &offset);
    ingest_complete(fix.intake.ingest, "w", session, &a);
    if (a.status != 200 || write(SAID, "", 1) != 1)
        _exit(3);
    for (;;)
        pause();
}

/* Runs another process of this program, and kills it ns after the process has sent all. */
static void complete_and_kill(const char *session, int64_t ns)
{
    char *argv[] = {(char *)(uintptr_t) "test", (char *)(uintptr_t) "complete", tmpdir,
                    (char *)(uintptr_t)session, NULL};
    posix_spawn_file_actions_t actions;
    int said[2], status;
    pid_t pid;
    char byte;
    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, said[1], SAID);
    fflush(NULL);
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(said[1]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    nanosleep(&(struct timespec){0, ns}, NULL);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    close(said[0]);
}

/* An acknowledged end is written, whenever the server is killed after that. */
TEST(test_ends_over_kills)
{
    enum { ROUNDS = FEWER(24, 8), WITHIN_NS = 80000000 }; /* longer than the loader's period */
    for (int i = 0; i < ROUNDS; i++) {
        char session[32];
        snprintf(session, sizeof session, "ends-%d", i);
        complete_and_kill(session, (int64_t)i * WITHIN_NS / ROUNDS);
        fixture_up(&fix, tmpdir);
        assert_true(fixture_reaches(session, "ended"));
        fixture_down(&fix);
    }
}

/* The end is written by a loader that stops before it looked at the session again. */
TEST(test_ends_when_stopped)
{
    for (int i = 0; i < 8; i++) {
        char session[32];
        struct ingest_answer a;
        struct loader_stats stats;
        int64_t offset = 0;
        snprintf(session, sizeof session, "stopped-%d", i);
        fixture_up(&fix, tmpdir);
        fixture_send_rows(session, 0, 5, &offset);
        fixture_drain(&fix);
        ingest_complete(fix.intake.ingest, "w", session, &a);
        assert_int_equal(a.status, 200);
        do
            loader_stats(fix.intake.loader, &stats);
        while (stats.waiting);
        fixture_down(&fix);
        fixture_up(&fix, tmpdir);
        assert_true(fixture_reaches(session, "ended"));
        fixture_down(&fix);
    }
}

/* Whenever the backlog is 0, all that was acknowledged is loaded and ended. */
TEST(test_no_backlog_is_loaded)
{
    fix.config.commit_ns = 15000000;
    fixture_up(&fix, tmpdir);
    for (int i = 0; i < 8; i++) {
        char session[32];
        struct ingest_answer a;
        struct loader_stats stats;
        struct region mem;
        int64_t offset = 0;
        snprintf(session, sizeof session, "counted-%d", i);
        fixture_send_rows(session, 0, 5, &offset);
        ingest_complete(fix.intake.ingest, "w", session, &a);
        assert_int_equal(a.status, 200);
        do
            loader_stats(fix.intake.loader, &stats);
        while (stats.backlog_sessions);
        struct meta_session row = fixture_entry(session, &mem);
        assert_string_equal(row.state, "ended");
        assert_int_equal(row.kernels, 50);
        region_fini(&mem);
    }
    fixture_down(&fix);
}

/* Sends rows of n sessions, from number `from` on, that stay open. */
static void begin_live(int from, int n)
{
    for (int i = from; i < from + n; i++) {
        char session[32];
        int64_t offset = 0;
        snprintf(session, sizeof session, "live-%d", i);
        fixture_send_rows(session, 0, 35, &offset);
    }
    fixture_drain(&fix);
}

/* A live session that waits for its next rows keeps what it needs to go on, and no room for lines,
 * sums or GPUs: a job of 1000 ranks is 1000 of them. */
TEST(test_live_sessions_are_small)
{
    enum { FIRST = 16, MORE = 64, EACH_MOST = 80 << 10 };
    struct loader_stats stats;
    if (SANITIZED)
        skip(); /* mallinfo2 knows the C library's allocator only */
    fixture_up(&fix, tmpdir);
    begin_live(0, FIRST);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    assert_true(before > 0);
    begin_live(FIRST, MORE);
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    loader_stats(fix.intake.loader, &stats);
    assert_int_equal(stats.open, FIRST + MORE);
    assert_in_range((after > before ? after - before : 0) / MORE, 0, EACH_MOST);
    fixture_check_kernels("live-79", 350);
    fixture_down(&fix);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "complete") == 0)
        complete_main(argv[2], argv[3]);
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        T(test_killed),
        T(test_pyramid),
        T(test_registered),
        T(test_gpus_one_by_one),
        T(test_gpus_without_uuid),
        T(test_ends),
        T(test_ends_over_kills),
        T(test_ends_when_stopped),
        T(test_no_backlog_is_loaded),
        T(test_live_sessions_are_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
