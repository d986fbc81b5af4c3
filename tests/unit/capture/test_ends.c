/* The ways in which a process can end, and the data on disk after each: exit, _exit, SIGKILL, fork
 * with a child that stays silent, works on, or starts a session of its own. Each case runs in a
 * child of this process, which itself never has a session. */
#include "tests/test.h"
#include "tests/unit/support/session_log.h"

#include "base/clock.h"
#include "capture/session/session.h"
#include "tests/unit/support/tmpdir.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { THREADS_SURVIVE_FORK = 0 }; /* the sanitizers' own locks do not */
#else
enum { THREADS_SURVIVE_FORK = 1 };
#endif

#if defined(__SANITIZE_ADDRESS__)
/* A forked child does not free what it cannot free safely. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

static char logs[PATH_MAX];

static int setup(void **state)
{
    int rc = tmpdir_open(state);
    snprintf(logs, sizeof logs, "%s", tmpdir_path("logs"));
    return rc;
}

/* Runs fn in a child; returns its wait status. */
static int in_child(void (*fn)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        setenv("GPUFL_LOG_MAX_SPOOL_BYTES", "256M", 1); /* a limit if something goes wrong */
        alarm(60);
        fn();
        _exit(99);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Ends the child; after an assertion of cmocka the child would continue with other tests. */
static void must(bool ok, int code)
{
    if (!ok)
        _exit(code);
}

static void start(void)
{
    struct gpufl_options o = session_options(logs);
    must(gpufl_init(&o) == 0, 10);
}

static void scope(const char *name)
{
    gpufl_scope_end(gpufl_scope_begin(name, NULL));
}

static void expect_exit(int status, int code)
{
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

/* Runs fn in a child, which must exit with that code, and reads the only session. */
static void read_after_exit(void (*fn)(void), int code, struct session_log *log)
{
    expect_exit(in_child(fn), code);
    session_log_read(session_only(logs), log);
}

/* ---- exit ------------------------------------------------------------------------------------ */

static void run_exit(void)
{
    start();
    scope("a");
    exit(7);
}

TEST(test_exit_ends_the_session)
{
    struct session_log log;
    read_after_exit(run_exit, 7, &log);
    assert_string_equal(log.reason, "exit");
    assert_int_equal(log.ledger.final, 1);
    assert_int_equal(log.ledger.scopes_written, 1);
}

/* Works in bursts, like a program: without pauses the rows would keep a processor busy. */
static void *work(void *arg)
{
    enum { BURST = 256 };
    for (;;) {
        for (int i = 0; i < BURST; i++)
            scope("busy");
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return arg;
}

static void run_exit_with_threads(void)
{
    pthread_t t;
    start();
    for (int i = 0; i < 4; i++)
        must(pthread_create(&t, NULL, work, NULL) == 0, 11);
    must(session_flush() == 0, 12);
    exit(0);
}

static void test_exit_while_threads_work(void **state)
{
    (void)state;
    struct session_log log;
    for (int i = 0; i < 5; i++) {
        read_after_exit(run_exit_with_threads, 0, &log);
        assert_string_equal(log.reason, "exit");
        tmpdir_close(state);
        setup(state);
    }
}

/* ---- exit, and a disk that is slow ----------------------------------------------------------- */

enum { WORKERS = 4, FOREVER = -1 };
static _Atomic int disk_ms; /* how long a write takes; FOREVER: it never returns */

/* Replaces libc's: with flush_logs_always the log calls it after every write. */
int fdatasync(int fd)
{
    (void)fd;
    int ms = atomic_load(&disk_ms);
    struct timespec t = {.tv_nsec = ms * 1000000l};
    while (ms == FOREVER)
        pause();
    while (nanosleep(&t, &t) && errno == EINTR)
        continue;
    return 0;
}

static void start_on_slow_disk(int ms)
{
    struct gpufl_options o = session_options(logs);
    o.flush_logs_always = true;
    must(gpufl_init(&o) == 0, 10);
    must(session_flush() == 0, 12);
    atomic_store(&disk_ms, ms);
}

static pthread_barrier_t full;

/* Fills its ring, and then opens scopes with pauses, like a program that does other work, too. */
static void *fill_and_work(void *arg)
{
    uint64_t h;
    while ((h = gpufl_scope_begin("fast", NULL)))
        gpufl_scope_end(h);
    pthread_barrier_wait(&full);
    for (;;) {
        scope("busy");
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return arg;
}

/* The rings are full, with 32 batches: this disk needs more than three seconds for them. */
static void run_exit_with_full_rings(void)
{
    pthread_t t;
    start_on_slow_disk(100);
    must(pthread_barrier_init(&full, NULL, WORKERS + 1) == 0, 11);
    for (int i = 0; i < WORKERS; i++)
        must(pthread_create(&t, NULL, fill_and_work, NULL) == 0, 11);
    pthread_barrier_wait(&full);
    exit(0);
}

TEST(test_exit_waits_for_a_slow_collector)
{
    struct session_log log;
    read_after_exit(run_exit_with_full_rings, 0, &log);
    assert_string_equal(log.reason, "exit");
    assert_int_equal(log.ledger.final, 1);
    int64_t missing = log.ledger.scopes_opened - log.ledger.scopes_lost - log.ledger.scopes_written;
    assert_in_range(missing, 0, 2 * WORKERS); /* open at the end, or begun after the last round */
    assert_true(log.ledger.scopes_written >= WORKERS * 8000);
}

static void run_exit_on_wedged_disk(void)
{
    start_on_slow_disk(FOREVER);
    scope("a");
    exit(3);
}

TEST(test_exit_does_not_wait_for_a_wedged_disk)
{
    int64_t began = clock_mono();
    expect_exit(in_child(run_exit_on_wedged_disk), 3);
    /* Exit waits 2 s, not the 30 s that it waits if the log makes progress; a busy machine makes
     * it longer. */
    assert_in_range(clock_mono() - began, 1500000000, 25000000000);
}

static void *shut_down(void *arg)
{
    pthread_barrier_wait(&full);
    gpufl_shutdown();
    return arg;
}

/* Another thread ends the session, and holds its lock for longer than exit waits for a lock. */
static void run_exit_during_shutdown(void)
{
    pthread_t t;
    start_on_slow_disk(100);
    must(pthread_barrier_init(&full, NULL, 2) == 0, 11);
    for (uint64_t h; (h = gpufl_scope_begin("fast", NULL));)
        gpufl_scope_end(h);
    atomic_store(&disk_ms, 300);
    must(pthread_create(&t, NULL, shut_down, NULL) == 0 && pthread_detach(t) == 0, 11);
    pthread_barrier_wait(&full);
    while (gpufl_active())
        sched_yield();
    exit(0);
}

TEST(test_exit_while_another_thread_shuts_down)
{
    struct session_log log;
    read_after_exit(run_exit_during_shutdown, 0, &log);
    assert_string_equal(log.reason, "shutdown");
    assert_int_equal(log.ledger.final, 1);
}

/* ---- many sessions --------------------------------------------------------------------------- */

int __cxa_atexit(void (*fn)(void *), void *arg, void *object);

static int handlers; /* calls of atexit */

/* Replaces libc's, and counts the calls. */
int atexit(void (*fn)(void))
{
    handlers++;
    return __cxa_atexit((void (*)(void *))(uintptr_t)fn, NULL, NULL);
}

static void run_many_sessions(void)
{
    int before = handlers;
    for (int i = 0; i < 50; i++) {
        start();
        scope("a");
        gpufl_shutdown();
    }
    must(handlers - before == 1, 40);
    start();
    scope("the last one's");
    exit(0);
}

/* Many sessions register one atexit handler; the last session ends with the process. */
TEST(test_many_sessions)
{
    expect_exit(in_child(run_many_sessions), 0);
    assert_int_equal(session_count(logs), 51);
}

static void run_init_at_the_end(void)
{
    setenv("GPUFL_DURATION_MS", "50", 1);
    start_on_slow_disk(200);
    unsetenv("GPUFL_DURATION_MS");
    while (gpufl_active())
        sched_yield();
    start(); /* while the end of the first one is being written */
    must(gpufl_active(), 41);
    scope("of the second");
    exit(0);
}

TEST(test_init_while_a_session_ends_by_itself)
{
    expect_exit(in_child(run_init_at_the_end), 0);
    assert_int_equal(session_count(logs), 2);
}

/* ---- _exit, SIGKILL -------------------------------------------------------------------------- */

static void run_quick_exit(void)
{
    setenv("GPUFL_FLUSH_INTERVAL_MS", "10000", 1); /* only session_flush flushes */
    start();
    for (int i = 0; i < 10; i++)
        scope("flushed");
    gpufl_scope_begin("open", NULL);
    must(session_flush() == 0 && session_flush() == 0, 12);
    scope("not flushed");
    _exit(3);
}

TEST(test_quick_exit_leaves_what_was_flushed)
{
    struct session_log log;
    read_after_exit(run_quick_exit, 3, &log);
    assert_string_equal(log.reason, "");
    assert_int_equal(log.ledger.final, 0);
    assert_int_equal(log.ledger.scopes_opened, 11);
    assert_int_equal(log.parts.rows[RECORD_scope], 10);
    assert_int_equal(log.parts.rows[RECORD_scope_open], 1);
}

static void run_kill(void)
{
    start();
    scope("flushed");
    must(session_flush() == 0, 12);
    kill(getpid(), SIGKILL);
}

TEST(test_kill_leaves_what_was_flushed)
{
    struct session_log log;
    int status = in_child(run_kill);
    assert_true(WIFSIGNALED(status));
    session_log_read(session_only(logs), &log);
    assert_int_equal(log.parts.rows[RECORD_scope], 1);
    assert_int_equal(log.ledger.scopes_opened, 1);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static int wait_for(pid_t pid)
{
    int status = -1;
    must(pid > 0 && waitpid(pid, &status, 0) == pid, 20);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

static void silent_child(int how)
{
    must(!gpufl_active(), 30);
    must(!*gpufl_session_id(), 31);
    must(gpufl_scope_begin("in the child", NULL) == 0, 32);
    gpufl_scope_end(1);
    must(gpufl_system_start("x") == GPUFL_E_STATE, 33);
    gpufl_shutdown();
    how ? exit(0) : _exit(0);
}

static void run_fork_silent(void)
{
    start();
    uint64_t h = gpufl_scope_begin("around the fork", NULL);
    for (int how = 0; how < 2; how++) {
        pid_t pid = fork();
        if (pid == 0)
            silent_child(how);
        must(wait_for(pid) == 0, 21);
    }
    gpufl_scope_end(h);
    gpufl_shutdown();
    exit(0);
}

TEST(test_forked_child_is_silent)
{
    struct session_log log;
    read_after_exit(run_fork_silent, 0, &log);
    assert_string_equal(log.reason, "shutdown");
    assert_int_equal(log.ledger.scopes_opened, 1);
    assert_int_equal(log.ledger.scopes_written, 1);
}

static void own_session(void)
{
    start();
    scope("the child's");
    scope("the child's");
    gpufl_shutdown();
    exit(0);
}

/* Forks while other threads are inside of calls. */
static void run_fork_busy(void)
{
    pthread_t t;
    start();
    for (int i = 0; i < 3; i++)
        must(pthread_create(&t, NULL, work, NULL) == 0, 11);
    for (int i = 0; i < 8; i++) {
        pid_t pid = fork();
        if (pid == 0)
            own_session();
        must(wait_for(pid) == 0, 21);
    }
    exit(0);
}

TEST(test_forked_child_starts_its_own)
{
    if (!THREADS_SURVIVE_FORK)
        skip();
    expect_exit(in_child(run_fork_busy), 0);
    assert_int_equal(session_count(logs), 9);
}

/* ---- library calls at odd times -------------------------------------------------------------- */

static pthread_key_t key;

static void late(void *arg)
{
    (void)arg;
    scope("in a destructor"); /* ours may have run already */
}

static void *thread_with_destructor(void *arg)
{
    pthread_setspecific(key, arg);
    scope("in the thread");
    return NULL;
}

static void run_destructors(void)
{
    pthread_t t;
    start();
    pthread_key_create(&key, late);
    for (int i = 0; i < 20; i++) {
        must(pthread_create(&t, NULL, thread_with_destructor, &key) == 0, 11);
        pthread_join(t, NULL);
        must(session_flush() == 0, 12);
    }
    gpufl_shutdown();
    exit(0);
}

TEST(test_scopes_in_thread_destructors)
{
    struct session_log log;
    read_after_exit(run_destructors, 0, &log);
    assert_int_equal(log.ledger.scopes_written, 40);
}

static void at_exit(void)
{
    scope("after the end");
    gpufl_shutdown();
    struct gpufl_options o = session_options(logs);
    (void)gpufl_init(&o); /* ends with the process, like _exit */
}

static void run_late_atexit(void)
{
    atexit(at_exit); /* registered before ours: runs after it */
    start();
    scope("a");
    exit(0);
}

TEST(test_calls_after_the_end)
{
    expect_exit(in_child(run_late_atexit), 0);
    assert_int_equal(session_count(logs), 2);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, tmpdir_close)

/* An argument is a pattern of the tests to run, to repeat them under load. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(test_exit_ends_the_session),
        CASE(test_exit_while_threads_work),
        CASE(test_exit_waits_for_a_slow_collector),
        CASE(test_exit_does_not_wait_for_a_wedged_disk),
        CASE(test_exit_while_another_thread_shuts_down),
        CASE(test_many_sessions),
        CASE(test_init_while_a_session_ends_by_itself),
        CASE(test_quick_exit_leaves_what_was_flushed),
        CASE(test_kill_leaves_what_was_flushed),
        CASE(test_forked_child_is_silent),
        CASE(test_forked_child_starts_its_own),
        CASE(test_scopes_in_thread_destructors),
        CASE(test_calls_after_the_end),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
