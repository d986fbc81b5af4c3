/* test_loader_failures.c - tests sessions whose store fails: their rows are loaded when the store
 * works again, or set aside if it stays broken, and other sessions are not delayed. */
#include "base/clock.h"
#include "base/file/file.h"
#include "server/intake/aside.h"
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "tests/unit/support/tmpdir.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Writes a file in place of a session's columns. */
static void write_file(const char *path, const char *text)
{
    assert_int_equal(file_mkdirs(tmpdir_path("columns/w"), 0700, NULL), 0);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

/* A session's file is no database: the session is sent again from its begin, and a new file
 * replaces this one, which is set aside. A sender that goes on gets the place. Others are not
 * delayed. */
TEST(test_replaced)
{
    int64_t other = 0;
    fix.config.idle_ns = 20000000;
    fixture_up(&fix, tmpdir);
    fixture_send_rows("well", 0, 1, &other);
    fixture_drain(&fix);
    const char *path = tmpdir_path("columns/w/sick.duckdb");
    write_file(path, "this is no database");
    size_t n;
    struct ingest_answer a;
    char *text = fixture_lines("sick", 0, 10, true, &n);
    struct ingest_request r = fixture_request("sick", "device", 0);
    r.offset = 4000;
    fixture_send(&fix, &r, text, n, 0, &a);
    assert_int_equal(a.status, 409);
    assert_int_equal(a.offset, 0);
    assert_true(file_exists(tmpdir_path("columns/w/sick.duckdb.damaged")));
    r.offset = 0;
    fixture_send(&fix, &r, text, n, 0, &a);
    assert_int_equal(a.status, 200);
    fixture_send_rows("well", 10, 1, &other);
    fixture_drain(&fix);
    assert_int_equal(fixture_kernels(&fix, "sick").correlation, 100 * 99 / 2);
    assert_int_equal(fixture_kernels(&fix, "well").count, 20);
    free(text);
    assert_int_equal(store_duckdb.drop(fix.store, "w", "sick", NULL), 0);
    assert_false(file_exists(tmpdir_path("columns/w/sick.duckdb.damaged")));
    fixture_down(&fix);
}

/* A process that accepts 100 rows, commits none of them, and is gone. It is this program once more,
 * since a process with DuckDB's threads is not forked. */
static void accept_and_crash(const char *session)
{
    char *argv[] = {"test", "accept", tmpdir, (char *)(uintptr_t)session, NULL};
    pid_t pid;
    int status;
    fflush(NULL);
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static const char peer_window[] =
    "{\"version\":1,\"type\":\"job_start\",\"pid\":7,\"app\":\"toy\",\"session_id\":\"peer-1\","
    "\"ts_ns\":1770000000000000000,\"hostname\":\"h1\",\"devices\":[{\"id\":0,\"name\":\"G\"}]}\n"
    "{\"version\":1,\"type\":\"dictionary_update\",\"session_id\":\"peer-1\",\"kernel_dict\":"
    "{\"1\":\"axpy\"}}\n"
    "{\"version\":1,\"type\":\"kernel_event_batch\",\"session_id\":\"peer-1\",\"batch_id\":1,"
    "\"base_time_ns\":1770000000000001000,\"columns\":[\"dt_ns\",\"kernel_id\",\"stream_id\","
    "\"duration_ns\",\"corr_id\"],\"rows\":[[0,1,7,420,0],[900,1,7,415,1]]}\n"
    "{\"type\":\"shutdown\",\"pid\":7,\"app\":\"toy\",\"session_id\":\"peer-1\",\"ts_ns\":"
    "1770000000000099000}\n";

static void send_peer_window(void)
{
    struct ingest_request r = fixture_request(NULL, NULL, 0);
    struct ingest_answer a;
    r.window_sequence = 1;
    fixture_send(&fix, &r, peer_window, sizeof peer_window - 1, 0, &a);
    assert_int_equal(a.status, 200);
}

/* Sends the public client's session, until the loader has received it and has not committed it. */
static _Noreturn void receive_main(void)
{
    struct stat st;
    send_peer_window();
    while (stat(tmpdir_path("kept/w/peer-1.frames"), &st) || st.st_size == 0)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    _exit(0);
}

static _Noreturn void accept_main(const char *dir, const char *session)
{
    int64_t offset = 0;
    snprintf(tmpdir, sizeof tmpdir, "%s", dir);
    fix.config.commit_ns = 3600000000000;
    fixture_up(&fix, tmpdir);
    if (strcmp(session, "peer-1") == 0)
        receive_main();
    fixture_send_rows(session, 0, 10, &offset);
    _exit(0);
}

static bool has_retried(const struct loader_stats *st)
{
    return st->retries >= 3;
}

static bool has_set_aside(const struct loader_stats *st)
{
    return st->set_aside > 0;
}

static bool has_loaded(const struct loader_stats *st)
{
    return st->kernels >= 100;
}

/* Rows are accepted, and then the file breaks: they are loaded when the file is sound again.
 * Another session is not delayed meanwhile. */
TEST(test_breaks_later)
{
    int64_t other = 0;
    accept_and_crash("sick");
    const char *path = tmpdir_path("columns/w/sick.duckdb");
    unlink(path);
    unlink(tmpdir_path("columns/w/sick.duckdb.wal"));
    write_file(path, "this is no database");
    fix.config.retry_ns = 30000000;
    fixture_up(&fix, tmpdir);
    fixture_send_rows("well", 0, 1, &other);
    fixture_wait_for(has_retried);
    assert_true(loader_drain(fix.intake.loader, 20000000000));
    assert_int_equal(fixture_kernels(&fix, "well").count, 10);
    unlink(path);
    fixture_wait_for(has_loaded);
    fixture_drain(&fix);
    assert_int_equal(fixture_kernels(&fix, "sick").correlation, 100 * 99 / 2);
    fixture_down(&fix);
}

/* A decoder receives again what it received before a commit that never came, and not twice:
 * otherwise statements that are made once, such as a session's process and its GPUs, would be left
 * out. */
TEST(test_received_and_not_committed)
{
    for (int round = 0; round < 2; round++)
        accept_and_crash("peer-1");
    fixture_up(&fix, tmpdir);
    send_peer_window(); /* again: the server has it */
    fixture_drain(&fix);
    assert_int_equal(fixture_rows(&fix, "peer-1", "kernel"), 2);
    assert_int_equal(fixture_rows(&fix, "peer-1", "device"), 1);
    fixture_down(&fix);
}

/* A session that stays broken has its frames set aside, and the journal releases them. */
TEST(test_set_aside)
{
    struct journal_stats st;
    accept_and_crash("sick");
    const char *path = tmpdir_path("columns/w/sick.duckdb");
    unlink(tmpdir_path("columns/w/sick.duckdb.wal"));
    write_file(path, "this is no database");
    fix.config.retry_ns = 2000000;
    fixture_up(&fix, tmpdir);
    fixture_wait_for(has_set_aside);
    journal_stats(fix.intake.journal, &st);
    assert_int_equal(st.unreleased, 0);
    assert_true(file_size(tmpdir_path("aside/w/sick.frames")) > 200);
    fixture_down(&fix);
}

static bool has_no_aside(const struct loader_stats *st)
{
    return st->aside_sessions == 0;
}

static int count_aside(void *arg, const struct aside_session *s)
{
    assert_string_equal(s->workspace, "w");
    assert_string_equal(s->session, "sick");
    assert_true(s->bytes > 0 && s->received > 0);
    *(uint64_t *)arg += s->frames;
    return 0;
}

/* The next start with a sound file loads the frames that were set aside, once, and removes the
 * file with the frames. A start at which the session is still broken leaves everything as it is. */
TEST(test_aside_comes_back)
{
    struct loader_stats st;
    accept_and_crash("sick");
    const char *path = tmpdir_path("columns/w/sick.duckdb");
    unlink(tmpdir_path("columns/w/sick.duckdb.wal"));
    write_file(path, "this is no database");
    fix.config.retry_ns = 2000000;
    fixture_up(&fix, tmpdir);
    fixture_wait_for(has_set_aside);
    fixture_down(&fix);
    fixture_up(&fix, tmpdir);
    loader_stats(fix.intake.loader, &st);
    assert_int_equal(st.aside_sessions, 1);
    uint64_t frames = 0;
    assert_int_equal(aside_list(tmpdir_path("aside"), count_aside, &frames, NULL), 0);
    assert_true(frames > 0);
    fixture_down(&fix);
    unlink(path);
    for (int round = 0; round < 2; round++) {
        fixture_up(&fix, tmpdir);
        fixture_wait_for(has_no_aside);
        fixture_drain(&fix);
        assert_int_equal(fixture_kernels(&fix, "sick").correlation, 100 * 99 / 2);
        fixture_down(&fix);
    }
}

/* The sender sends again what was set aside; later the frames that were set aside do not count a
 * second time. */
TEST(test_sent_again_after_aside)
{
    struct ingest_answer a;
    size_t n;
    accept_and_crash("sick");
    const char *path = tmpdir_path("columns/w/sick.duckdb");
    unlink(tmpdir_path("columns/w/sick.duckdb.wal"));
    write_file(path, "this is no database");
    fix.config.retry_ns = 2000000;
    fixture_up(&fix, tmpdir);
    fixture_wait_for(has_set_aside);
    char *text = fixture_lines("sick", 0, 10, true, &n);
    struct ingest_request r = fixture_request("sick", "device", (int64_t)n);
    fixture_send(&fix, &r, "\n", 1, 0, &a); /* the sender goes on from its place */
    assert_int_equal(a.status, 409);
    assert_int_equal(a.offset, 0);
    r.offset = 0;
    fixture_send(&fix, &r, text, n, 0, &a);
    assert_int_equal(a.status, 200);
    fixture_drain(&fix);
    free(text);
    fixture_down(&fix);
    fixture_up(&fix, tmpdir);
    fixture_wait_for(has_no_aside);
    fixture_drain(&fix);
    assert_int_equal(fixture_kernels(&fix, "sick").correlation, 100 * 99 / 2);
    fixture_down(&fix);
}

/* Many more sessions at the same time than the store has memory for: all of them are loaded, and
 * few are open. */
TEST(test_more_than_memory)
{
    enum { SESSIONS = 40 };
    struct loader_stats st;
    unsigned room;
    fix.memory = 80 << 20;
    fixture_up(&fix, tmpdir);
    room = store_duckdb.room(fix.store);
    for (int i = 0; i < SESSIONS; i++) {
        char name[32];
        int64_t offset = 0;
        snprintf(name, sizeof name, "small-%d", i);
        fixture_send_rows(name, 0, 100, &offset);
        loader_stats(fix.intake.loader, &st);
        assert_true(st.columns <= room);
    }
    fixture_drain(&fix);
    loader_stats(fix.intake.loader, &st);
    assert_int_equal(st.kernels, SESSIONS * 1000);
    assert_int_equal(st.failing_sessions, 0);
    assert_int_equal(st.set_aside, 0);
    fixture_down(&fix);
}

static _Atomic int away; /* enum gpufl_error: why no write succeeds; 0: writes succeed */

static int begin_unless_away(struct store_session *ss, struct err *e)
{
    return away ? err_set(e, away, "nobody is there") : store_duckdb.begin(ss, e);
}

static bool has_tried_often(const struct loader_stats *st)
{
    return st->retries > 2 * LOADER_TRIES;
}

static bool has_two_loaded(const struct loader_stats *st)
{
    return st->kernels == 20;
}

/* The loader waits for a store that is not reached, or that another server writes to: that is no
 * session's fault. */
TEST(test_away)
{
    static const int why[] = {GPUFL_E_UNAVAILABLE, GPUFL_E_BUSY};
    struct store_ops ops = store_duckdb;
    ops.begin = begin_unless_away;
    for (size_t i = 0; i < sizeof why / sizeof *why; i++) {
        const char *session = i ? "busy" : "away";
        int64_t offset = 0;
        fix.config.retry_ns = 20000;
        fix.config.ops = &ops;
        fixture_up(&fix, tmpdir);
        away = why[i];
        fixture_send_rows(session, 0, 1, &offset);
        assert_int_equal(fixture_wait_for(has_tried_often).set_aside, 0);
        away = 0;
        fixture_send_rows(session, 10, 1, &offset);
        if (why[i] == GPUFL_E_BUSY)
            fixture_drain(&fix); /* a drain waits until the other's turn is over */
        else
            fixture_wait_for(has_two_loaded);
        assert_int_equal(fixture_kernels(&fix, session).count, 20);
        fixture_down(&fix);
    }
}

static struct ingest_answer begin_in(const char *workspace, const char *session)
{
    struct ingest_answer a;
    size_t len;
    char *text = fixture_lines(session, 0, 1, true, &len);
    struct ingest_request r = fixture_request(session, "device", 0);
    r.workspace = workspace;
    fixture_send(&fix, &r, text, len, 0, &a);
    free(text);
    return a;
}

static bool is_failing(const struct loader_stats *st)
{
    return st->failing_sessions > 0;
}

/* DuckDB has too little memory for a session with a file of its own. New sessions of the workspace
 * are refused with the reason, and those of another one are accepted, until there is more memory:
 * then all that was acknowledged is loaded, and the refused session is accepted. */
TEST(test_refused_while_memory_is_short)
{
    enum { LARGE = 12000 }; /* batches: more than a small session has */
    int64_t offset = 0;
    fix.memory = 1 << 20;
    fix.config.retry_ns = 1000000;
    fixture_up(&fix, tmpdir);
    fixture_send_rows("large", 0, LARGE, &offset);
    fixture_wait_for(is_failing);
    struct ingest_answer a = begin_in("w", "next");
    assert_int_equal(a.status, 429);
    assert_non_null(strstr(a.text, "memory for columns is short: 1 sessions of the workspace"));
    assert_true(a.retry_after > 0);
    assert_int_equal(begin_in("other", "theirs").status, 200);
    fixture_down(&fix);
    fix.memory = 0;
    fixture_up(&fix, tmpdir);
    fixture_drain(&fix);
    assert_int_equal(fixture_kernels(&fix, "large").count, 10 * LARGE);
    assert_int_equal(fixture_rows(&fix, "next", "kernel"), -1); /* nothing of it was kept */
    assert_int_equal(begin_in("w", "next").status, 200);
    fixture_drain(&fix);
    assert_int_equal(fixture_kernels(&fix, "next").count, 10);
    fixture_down(&fix);
}

/* Memory is short for a while: bodies are accepted again without a restart. */
TEST(test_accepted_when_memory_is_back)
{
    struct store_ops ops = store_duckdb;
    int64_t offset = 0;
    ops.begin = begin_unless_away;
    fix.config.retry_ns = 20000;
    fix.config.ops = &ops;
    fixture_up(&fix, tmpdir);
    away = GPUFL_E_NOMEM;
    fixture_send_rows("first", 0, 1, &offset);
    fixture_wait_for(is_failing);
    assert_int_equal(begin_in("w", "second").status, 429);
    assert_int_equal(begin_in("other", "theirs").status, 200);
    away = 0;
    fixture_drain(&fix);
    for (int64_t until = clock_mono() + PATIENCE_NS;
         begin_in("w", "second").status != 200 && clock_mono() < until;)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    fixture_drain(&fix);
    fixture_check_kernels("first", 10);
    fixture_check_kernels("second", 10);
    fixture_down(&fix);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "accept") == 0)
        accept_main(argv[2], argv[3]);
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
    const struct CMUnitTest tests[] = {
        T(test_replaced),
        T(test_breaks_later),
        T(test_set_aside),
        T(test_aside_comes_back),
        T(test_sent_again_after_aside),
        T(test_received_and_not_committed),
        T(test_away),
        T(test_more_than_memory),
        T(test_refused_while_memory_is_short),
        T(test_accepted_when_memory_is_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
