/* test_log.c - tests prefixes, repetition, and a stderr that is full, closed or gone. */
#include "base/log.h"
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static char last[2048];
static int said;

static void remember(enum log_level level, const char *line)
{
    (void)level;
    snprintf(last, sizeof last, "%s", line);
    said++;
    errno = 99; /* a sink may change errno */
}

static int sink_open(void **state)
{
    (void)state;
    log_set_sink(remember);
    return 0;
}

static int sink_close(void **state)
{
    (void)state;
    log_set_sink(NULL);
    return 0;
}

TEST(test_prefixes)
{
    log_note("text %d", 1);
    assert_string_equal(last, "gpufl: text 1");
    log_warn("slow");
    assert_string_equal(last, "gpufl: warning: slow");
    log_error("broken");
    assert_string_equal(last, "gpufl: error: broken");
    said = 0;
    log_debug("hidden");
    assert_int_equal(said, 0);
    log_set_debug(true);
    log_debug("shown");
    assert_string_equal(last, "gpufl: debug: shown");
    log_set_debug(false);
    assert_false(log_debug_on());
}

TEST(test_one_line_whatever_is_in_it)
{
    char longer[5000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    log_note("two\nlines\r%s", "\x1b[31m");
    assert_string_equal(last, "gpufl: two lines  [31m");
    log_note("long %s", longer);
    assert_true(strlen(last) < 1024);
    assert_null(strchr(last, '\n'));
}

TEST(test_errno_is_kept)
{
    errno = ENOSPC;
    log_note("because: %m");
    assert_string_equal(last, "gpufl: because: No space left on device");
    assert_int_equal(errno, ENOSPC);
    errno = EAGAIN;
    for (int i = 0; i < 2; i++)
        log_note("kept or held back, errno stays");
    assert_int_equal(errno, EAGAIN);
}

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* A place in the code logs one line a second; the next line says how many were suppressed. */
TEST(test_repetition_is_counted)
{
    said = 0;
    int64_t start = now_ns();
    unsigned calls = 0;
    do {
        log_warn("again and again %u", calls);
        calls++;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    } while (said < 2 && now_ns() - start < PATIENCE_NS);
    assert_int_equal(said, 2);
    assert_true(now_ns() - start >= 990000000);
    char want[128];
    snprintf(want, sizeof want, "gpufl: warning: again and again %u (repeated %u times)", calls - 1,
             calls - 2);
    assert_string_equal(last, want);
}

/* A line that an earlier sink got within the second is no repetition for a new sink. */
TEST(test_a_new_reader_gets_all)
{
    said = 0;
    for (int reader = 0; reader < 3; reader++) {
        log_set_sink(remember);
        for (int i = 0; i < 2; i++)
            log_warn("said by one place %d", reader);
        assert_int_equal(said, reader + 1);
        assert_string_equal(strrchr(last, ' '), reader == 0 ? " 0" : reader == 1 ? " 1" : " 2");
    }
}

/* There are more places than one probe of the table covers; each logs twice within its second. */
TEST(test_many_places_are_known_apart)
{
    enum { PLACES = 20 };
    static char formats[PLACES][32];
    said = 0;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < PLACES; i++) {
            snprintf(formats[i], sizeof formats[i], "place %d of %%d", i);
            log_write(LOG_NOTE, formats[i], PLACES);
        }
    assert_int_equal(said, PLACES);
}

/* Redirects stderr to `to`; returns a copy of the old descriptor. */
static int stderr_lend(int to)
{
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    dup2(to, STDERR_FILENO);
    return kept;
}

static void stderr_return(int kept)
{
    dup2(kept, STDERR_FILENO);
    close(kept);
}

TEST(test_one_write_to_stderr)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_DIRECT | O_NONBLOCK), 0); /* packets: one read per write */
    int kept = stderr_lend(fds[1]);
    log_note("first %s", "line");
    log_error("second");
    stderr_return(kept);
    char text[256];
    ssize_t n = read(fds[0], text, sizeof text);
    assert_int_equal(n, strlen("gpufl: first line\n"));
    assert_memory_equal(text, "gpufl: first line\n", (size_t)n);
    n = read(fds[0], text, sizeof text);
    assert_memory_equal(text, "gpufl: error: second\n", strlen("gpufl: error: second\n"));
    assert_int_equal(n, strlen("gpufl: error: second\n"));
    close(fds[0]);
    close(fds[1]);
}

TEST(test_full_pipe_does_not_block)
{
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        int fds[2];
        char block[4096] = {0};
        assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
        while (write(fds[1], block, sizeof block) > 0)
            continue;
        if (!nonblocking)
            fcntl(fds[1], F_SETFL, 0);
        int kept = stderr_lend(fds[1]);
        int64_t start = now_ns();
        errno = 7;
        if (nonblocking)
            log_note("into a full pipe that would not block");
        else
            log_note("into a full pipe that would block");
        assert_int_equal(errno, 7);
        stderr_return(kept);
        assert_true(now_ns() - start < 20000000000);
        close(fds[0]);
        close(fds[1]);
    }
}

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
    (void)sig;
    signals++;
}

/* If the reader of stderr is gone, the host program gets no signal. */
TEST(test_broken_pipe_raises_nothing)
{
    struct sigaction count = {.sa_handler = count_signal}, old;
    sigaction(SIGPIPE, &count, &old);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    int kept = stderr_lend(fds[1]);
    log_note("into a broken pipe");
    close(STDERR_FILENO);
    log_note("into nothing");
    stderr_return(kept);
    close(fds[1]);
    sigset_t pending, mask;
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert_int_equal(sigismember(&pending, SIGPIPE), 0);
    assert_int_equal(sigismember(&mask, SIGPIPE), 0);
    sigaction(SIGPIPE, &old, NULL);
    assert_int_equal(signals, 0);
}

static void *says_and_goes_on(void *went_on)
{
    pthread_cancel(pthread_self());
    log_note("from a thread that is cancelled");
    *(bool *)went_on = true;
    pthread_testcancel();
    return NULL;
}

/* If the host program cancels a thread, it ends after our call, not in the middle of it. */
TEST(test_a_cancelled_thread_goes_on)
{
    pthread_t thread;
    void *result;
    int ends[2];
    bool went_on = false;
    assert_int_equal(pipe(ends), 0);
    int kept = stderr_lend(ends[1]);
    assert_int_equal(pthread_create(&thread, NULL, says_and_goes_on, &went_on), 0);
    pthread_join(thread, &result);
    stderr_return(kept);
    assert_true(went_on);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    close(ends[0]);
    close(ends[1]);
}

/* The host program's stderr is a file that has reached the limit of the process. */
TEST(test_file_at_its_limit_raises_nothing)
{
    struct sigaction count = {.sa_handler = count_signal}, old;
    struct rlimit before, small;
    int file = memfd_create("stderr", 0), ends[2];
    sigaction(SIGXFSZ, &count, &old);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4;
    int kept = stderr_lend(file);
    setrlimit(RLIMIT_FSIZE, &small);
    log_note("longer than four bytes"); /* written up to the limit */
    log_note("nothing of this fits");
    setrlimit(RLIMIT_FSIZE, &before);
    stderr_return(kept);
    sigset_t pending, mask;
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert_int_equal(sigismember(&pending, SIGXFSZ), 0);
    assert_int_equal(sigismember(&mask, SIGXFSZ), 0);
    assert_int_equal(signals, 0);
    assert_int_equal(lseek(file, 0, SEEK_END), 4);
    close(file);

    /* A signal of the program that is pending before the call is still pending after it. */
    sigset_t size_only;
    sigemptyset(&size_only);
    sigaddset(&size_only, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &size_only, &mask);
    raise(SIGXFSZ);
    assert_int_equal(pipe(ends), 0);
    kept = stderr_lend(ends[1]);
    log_note("while a signal waits");
    stderr_return(kept);
    sigpending(&pending);
    assert_int_equal(sigismember(&pending, SIGXFSZ), 1);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    assert_int_equal(signals, 1);
    sigaction(SIGXFSZ, &old, NULL);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
#define WITH_SINK(test) cmocka_unit_test_setup_teardown(test, sink_open, sink_close)
    const struct CMUnitTest tests[] = {
        WITH_SINK(test_prefixes),
        WITH_SINK(test_one_line_whatever_is_in_it),
        WITH_SINK(test_errno_is_kept),
        WITH_SINK(test_repetition_is_counted),
        WITH_SINK(test_a_new_reader_gets_all),
        WITH_SINK(test_many_places_are_known_apart),
        cmocka_unit_test(test_one_write_to_stderr),
        cmocka_unit_test(test_full_pipe_does_not_block),
        cmocka_unit_test(test_broken_pipe_raises_nothing),
        cmocka_unit_test(test_a_cancelled_thread_goes_on),
        cmocka_unit_test(test_file_at_its_limit_raises_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
