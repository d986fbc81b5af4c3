/* test_trace_exits.c - the launcher learns from marks how processes other than its children
 * ended; an older kernel reports nothing, and then the end is unknown. */
#include "cli/trace/program/marks.h"
#include "tests/test.h"

#include "capture/options/options.h"
#include "capture/session/mark.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN     "exits-test"
#define PROCESS "0000-%d"

enum { BY_SIGNAL = -1, RUNS = -2, MANY = 600 };

/* Linux 6.16 and later have all that exits.h needs. */
static bool kernel_reports(void)
{
    struct utsname u;
    int major = 0, minor = 0;
    assert_int_equal(uname(&u), 0);
    assert_int_equal(sscanf(u.release, "%d.%d", &major, &minor), 2);
    return major > 6 || (major == 6 && minor >= 16);
}

/* Starts a process that reports the begin of session `number` and ends with `code` (BY_SIGNAL: by a
 * signal). Its parent, our child, takes its status and ends. RUNS: the process goes on, and its id
 * is returned; else 0. */
static pid_t process(int number, int code)
{
    int to_us[2];
    pid_t child, parent;
    char dir[64];
    assert_int_equal(pipe(to_us), 0);
    parent = fork();
    if (parent == 0) {
        child = fork();
        if (child == 0) {
            snprintf(dir, sizeof dir, "/logs/" PROCESS, number);
            if (!mark_send(MARK_LOADED, "") || !mark_send(MARK_BEGAN, dir))
                _exit(99);
            if (code == BY_SIGNAL)
                raise(SIGKILL);
            child = getpid();
            alarm(120); /* in case the test ends first */
            if (code == RUNS && write(to_us[1], &child, sizeof child) == sizeof child)
                pause();
            _exit(code);
        }
        _exit(code != RUNS && waitpid(child, NULL, 0) != child);
    }
    int status;
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_int_equal(status, 0);
    child = 0;
    if (code == RUNS)
        assert_int_equal(read(to_us[0], &child, sizeof child), sizeof child);
    close(to_us[0]);
    close(to_us[1]);
    return child;
}

/* Kills a process and returns when it has ended, and with it its copy of the socket. */
static void end(pid_t pid)
{
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    assert_true(ended.fd >= 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(poll(&ended, 1, -1), 1);
    close(ended.fd);
}

static void check(const struct marks *m, int number, bool known, int expected)
{
    char session[64];
    int status = -1;
    snprintf(session, sizeof session, PROCESS, number);
    assert_int_equal(exits_status(&m->exits, session, &status), known);
    if (known)
        assert_int_equal(status, expected);
}

/* The fate of a process by its marks; the test fails if there is none. */
static struct exits_fate fate_of(const struct marks *m, const char *session, long pid)
{
    for (size_t i = 0; i < m->exits.count; i++) {
        struct exits_fate f = exits_fate(&m->exits, i);
        if (strcmp(f.session, session) == 0 && (!pid || f.pid == pid))
            return f;
    }
    fail_msg("no process %ld with session '%s'", pid, session);
    return (struct exits_fate){0};
}

/* Starts a process that reports its load, then `answer` (0: none), and ends by signal `number`. */
static pid_t loaded(int answer, int number)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (!mark_send(MARK_LOADED, "") || (answer && !mark_send(answer, "why")))
            _exit(99);
        (void)sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        raise(number);
        _exit(98);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    return pid;
}

/* Processes that were loaded and ended before a session began are known, too. */
TEST(ended_before_a_session)
{
    struct marks m;
    marks_open(&m, RUN);
    process(0, 7);
    pid_t silent = loaded(0, SIGSEGV), failed = loaded(MARK_FAILED, SIGKILL),
          off = loaded(MARK_DISABLED, SIGKILL);
    marks_take(&m);
    assert_int_equal(m.exits.count, 4); /* each process is one, though its session began later */
    struct exits_fate f = fate_of(&m, "0000-0", 0);
    assert_true(f.over && f.known == kernel_reports() && !f.answered);
    f = fate_of(&m, "", silent);
    assert_true(f.over && f.known == kernel_reports() && !f.answered);
    assert_int_equal(f.known ? f.status : SIGSEGV, SIGSEGV);
    assert_true(fate_of(&m, "", failed).answered);
    assert_true(fate_of(&m, "", off).answered);
    marks_close(&m);
}

/* The driver loads the library after a session of the program's own has begun: one process. */
TEST(loaded_after_a_session)
{
    struct marks m;
    marks_open(&m, RUN);
    assert_true(mark_send(MARK_BEGAN, "/logs/own") && mark_send(MARK_LOADED, ""));
    marks_take(&m);
    assert_int_equal(m.exits.count, 1);
    assert_false(fate_of(&m, "own", getpid()).over);
    marks_close(&m);
}

TEST(children_of_others)
{
    struct marks m;
    marks_open(&m, RUN);
    assert_true(m.fd >= 0);
    process(0, 0);
    process(1, 42);
    marks_take(&m);
    process(2, BY_SIGNAL);
    pid_t runs = process(3, RUNS);
    marks_take(&m);
    assert_int_equal(m.began, 4);
    check(&m, 0, kernel_reports(), 0);
    check(&m, 1, kernel_reports(), 42 << 8);
    check(&m, 2, kernel_reports(), SIGKILL);
    check(&m, 3, false, 0); /* it has not ended */
    check(&m, 4, false, 0);
    end(runs);
    process(4, 1);
    marks_forget(&m);
    assert_int_equal(m.began, 0);
    check(&m, 1, false, 0);
    check(&m, 4, false, 0);
    marks_close(&m);
}

/* The number of descriptors is bounded; they are closed as processes end. */
TEST(many)
{
    struct marks m;
    marks_open(&m, RUN);
    assert_true(m.fd >= 0);
    int before = dup(m.fd), after;
    close(before);
    for (int i = 0; i < MANY; i++) {
        process(i, i % 100);
        marks_take(&m);
    }
    for (int i = 0; i < MANY; i++)
        check(&m, i, kernel_reports(), i % 100 << 8);
    assert_true(m.exits.open <= MANY / 2);
    marks_close(&m);
    after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(after <= before);
    close(after);
}

static int set_up(void **state)
{
    (void)state;
    return setenv(OPTIONS_TRACE_VARIABLE, "run_id=" RUN "\n", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(children_of_others), cmocka_unit_test(many),
                                       cmocka_unit_test(ended_before_a_session),
                                       cmocka_unit_test(loaded_after_a_session)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
