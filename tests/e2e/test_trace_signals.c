/* test_trace_signals.c - signals reach the traced program once, no matter who
 * sends them; the terminal and the shell see one job. */
#include "child.h"
#include "sessions.h"
#include "tests/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* gpufl trace of the program in a mode, with pipes or on a terminal. */
static void start_mode(struct world *w, struct child *c, const char *mode, bool tty)
{
    const char *argv[] = {path_gpufl(), "trace", "--no-report", path_program(), mode, "21", NULL};
    world_open(w);
    child_start(c, &(struct child_setup){.dir = w->dir, .argv = argv, .tty = tty});
}

static pid_t ready_pid(struct child *c)
{
    child_expect(c, CHILD_OUT, "ready ");
    child_expect(c, CHILD_OUT, "\n");
    return (pid_t)atoi(strstr(c->text[CHILD_OUT].data, "ready ") + 6);
}

static int occurrences(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

/* Each signal that is sent to gpufl arrives at the program once. */
static void send_all(struct child *c)
{
    static const int sent[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGQUIT, SIGALRM, SIGINT, SIGTERM};
    ready_pid(c);
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        char line[32];
        snprintf(line, sizeof line, "got %d\n", sent[i]);
        kill(c->pid, sent[i]);
        child_expect(c, CHILD_OUT, line);
    }
    assert_int_equal(child_end(c), 21);
    assert_int_equal(occurrences(c->text[CHILD_OUT].data, "got "), sizeof sent / sizeof sent[0]);
}

TEST(sent_signals_are_passed_on)
{
    struct world w;
    struct child c;
    start_mode(&w, &c, "signals", false);
    send_all(&c);
    child_free(&c);
    world_close(&w);
}

/* Under a small hard limit of the stack gpufl works on a thread of its own. */
TEST(signals_with_little_stack)
{
    struct world w;
    struct child c;
    char script[3 * PATH_MAX];
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    if (SANITIZED)
        skip(); /* sanitizers need more before main */
    world_open(&w);
    snprintf(script, sizeof script, "ulimit -s 64 && exec %s trace --no-report %s signals 21",
             path_gpufl(), path_program());
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv});
    send_all(&c);
    child_free(&c);
    world_close(&w);
}

/* Ctrl-C on the terminal arrives once. The USR1 after it would overtake nothing, so that a second
 * SIGINT would have been counted before the end. */
TEST(interrupt_arrives_once)
{
    struct world w;
    struct child c;
    start_mode(&w, &c, "signals", true);
    ready_pid(&c);
    child_send(&c, "\003", 1);
    child_expect(&c, CHILD_OUT, "got 2\r\n");
    kill(c.pid, SIGUSR1);
    child_expect(&c, CHILD_OUT, "got 10\r\n");
    kill(c.pid, SIGTERM);
    assert_int_equal(child_end(&c), 21);
    assert_int_equal(occurrences(c.text[CHILD_OUT].data, "got 2\r\n"), 1);
    child_free(&c);
    world_close(&w);
}

/* Ctrl-\ likewise. */
TEST(quit_arrives_once)
{
    struct world w;
    struct child c;
    start_mode(&w, &c, "signals", true);
    ready_pid(&c);
    child_send(&c, "\034", 1);
    child_expect(&c, CHILD_OUT, "got 3\r\n");
    kill(c.pid, SIGUSR1);
    child_expect(&c, CHILD_OUT, "got 10\r\n");
    kill(c.pid, SIGTERM);
    assert_int_equal(child_end(&c), 21);
    assert_int_equal(occurrences(c.text[CHILD_OUT].data, "got 3\r\n"), 1);
    child_free(&c);
    world_close(&w);
}

/* A program that Ctrl-C ends: gpufl still reports, and its code says signal 2. */
TEST(interrupted_program_is_reported)
{
    struct world w;
    struct child c;
    const char *argv[] = {path_gpufl(),   "trace", "--no-report",
                          "/bin/sh",      "-c",    "\"$0\" exit 0; echo ready 1; exec sleep 1000",
                          path_program(), NULL};
    world_open(&w);
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv, .tty = true});
    ready_pid(&c);
    child_send(&c, "\003", 1);
    assert_int_equal(child_end(&c), 128 + SIGINT);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: 1 session in "));
    child_free(&c);
    world_close(&w);
}

/* A program that Ctrl-C does not end: the second one says what is on disk, and it
 * runs on. The USR1 between them comes back only when gpufl has seen the first. */
TEST(second_interrupt_reports)
{
    struct world w;
    struct child c;
    start_mode(&w, &c, "signals", true);
    pid_t program = ready_pid(&c);
    child_send(&c, "\003", 1);
    child_expect(&c, CHILD_OUT, "got 2\r\n");
    kill(c.pid, SIGUSR1);
    child_expect(&c, CHILD_OUT, "got 10\r\n");
    assert_string_equal(c.text[CHILD_ERR].data, "");
    child_send(&c, "\003", 1);
    child_expect(&c, CHILD_ERR, "gpufl: 1 session in ");
    assert_true(child_alive(program));
    kill(c.pid, SIGTERM);
    assert_int_equal(child_end(&c), 21);
    assert_int_equal(occurrences(c.text[CHILD_ERR].data, "gpufl: 1 session in "), 2);
    child_free(&c);
    world_close(&w);
}

/* The state letter of a process in /proc. */
static char process_state(pid_t pid)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    (void)!fgets(line, sizeof line, f);
    fclose(f);
    const char *paren = strrchr(line, ')');
    return paren && paren[1] ? paren[2] : 0;
}

/* Ctrl-Z under a shell with job control: the shell gets the terminal back, fg goes on. */
TEST(suspend_and_resume)
{
    struct world w;
    struct child c;
    char command[2 * PATH_MAX + 64];
    const char *argv[] = {"/bin/bash", "--norc", "--noprofile", "-i", NULL};
    world_open(&w);
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv, .tty = true});
    snprintf(command, sizeof command, "%s trace --no-report %s stubborn 0\n", path_gpufl(),
             path_program());
    child_send(&c, command, strlen(command));
    pid_t program = ready_pid(&c);
    child_send(&c, "\032", 1);
    child_expect(&c, CHILD_ERR, "Stopped");
    assert_int_equal(process_state(program), 'T');
    child_send(&c, "echo shell-is-back-$((40 + 2))\n", 31);
    child_expect(&c, CHILD_OUT, "shell-is-back-42");
    child_send(&c, "fg\n", 3);
    child_expect(&c, CHILD_OUT, "stubborn 0\r\n");
    kill(program, SIGTERM);
    child_expect(&c, CHILD_ERR, "signal 15");
    child_send(&c, "exit 33\n", 8);
    assert_int_equal(child_end(&c), 33);
    child_free(&c);
    world_close(&w);
}

/* Returns true if the process is the executable gpufl, and a child of that process. */
static bool is_helper(const char *pid, pid_t gpufl)
{
    char path[PATH_MAX], exe[PATH_MAX] = "", wanted[PATH_MAX], line[512] = "";
    long parent = 0;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    (void)!fgets(line, sizeof line, f);
    fclose(f);
    const char *paren = strrchr(line, ')');
    snprintf(path, sizeof path, "/proc/%.20s/exe", pid);
    return paren && sscanf(paren, ") %*c %ld", &parent) == 1 && parent == gpufl &&
           readlink(path, exe, sizeof exe - 1) > 0 && realpath(path_gpufl(), wanted) &&
           strcmp(exe, wanted) == 0;
}

/* Waits until gpufl, whose program has been started long ago, has begun to report. */
static void wait_for_helper(pid_t gpufl)
{
    bool found = false;
    for (time_t end = time(NULL) + 60; !found;) {
        DIR *d = opendir("/proc");
        assert_non_null(d);
        for (struct dirent *f; !found && (f = readdir(d));)
            found = atoi(f->d_name) > 0 && is_helper(f->d_name, gpufl);
        closedir(d);
        assert_true(time(NULL) < end);
    }
}

/* A FIFO that nobody reads and that is full. */
static int full_fifo(struct world *w)
{
    char path[PATH_MAX + 16];
    static const char bytes[4096];
    snprintf(path, sizeof path, "%s/full", w->dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t n = sizeof bytes; n; n /= 2)
        while (write(fd, bytes, n) > 0)
            continue;
    return fd;
}

/* Ctrl-Z while the report is written to a FIFO that nobody reads: the shell gets the terminal back,
 * fg goes on. */
TEST(suspended_report)
{
    struct world w;
    struct child c;
    char command[3 * PATH_MAX];
    const char *argv[] = {"/bin/bash", "--norc", "--noprofile", "-i", NULL};
    world_open(&w);
    int full = full_fifo(&w);
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv, .tty = true});
    snprintf(command, sizeof command,
             "sh -c 'echo rea\"\"dy $$; exec %s trace --no-report sh -c \"%s exit 7; echo over\" "
             "2>full'\n",
             path_gpufl(), path_program());
    child_send(&c, command, strlen(command));
    pid_t gpufl = ready_pid(&c);
    child_expect(&c, CHILD_OUT, "\nover\r\n");
    wait_for_helper(gpufl);
    child_send(&c, "\032", 1);
    child_expect(&c, CHILD_ERR, "Stopped");
    child_send(&c, "echo shell-is-back-$((40 + 2))\n", 31);
    child_expect(&c, CHILD_OUT, "shell-is-back-42");
    char said[4096] = "";
    while (read(full, said, sizeof said) > 0)
        continue;
    child_send(&c, "fg\nexit 33\n", 11);
    assert_int_equal(child_end(&c), 33);
    memset(said, 0, sizeof said);
    assert_true(read(full, said, sizeof said - 1) > 0);
    assert_non_null(strstr(said, "gpufl: 1 session in "));
    close(full);
    child_free(&c);
    world_close(&w);
}

/* gpufl killed: the program runs on to its own end. */
TEST(program_outlives_gpufl)
{
    struct world w;
    struct child c;
    int status;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    start_mode(&w, &c, "signals", false);
    pid_t program = ready_pid(&c);
    kill(c.pid, SIGKILL);
    assert_int_equal(waitpid(c.pid, &c.status, 0), c.pid);
    c.ended = true;
    assert_true(child_alive(program));
    kill(program, SIGUSR1);
    child_expect(&c, CHILD_OUT, "got 10\n");
    kill(program, SIGTERM);
    assert_int_equal(waitpid(program, &status, 0), program);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 21);
    child_end(&c);
    child_free(&c);
    world_close(&w);
}

/* A reader of the program's stdout sees its end when the program closes it. */
TEST(stdout_is_not_held_open)
{
    struct world w;
    struct child c;
    start_mode(&w, &c, "detach-stdout", false);
    pid_t program = ready_pid(&c);
    child_expect_end(&c, CHILD_OUT);
    assert_true(child_alive(program));
    kill(c.pid, SIGTERM);
    child_end(&c);
    child_free(&c);
    world_close(&w);
}

int main(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sent_signals_are_passed_on),
        cmocka_unit_test(signals_with_little_stack),
        cmocka_unit_test(interrupt_arrives_once),
        cmocka_unit_test(quit_arrives_once),
        cmocka_unit_test(interrupted_program_is_reported),
        cmocka_unit_test(second_interrupt_reports),
        cmocka_unit_test(suspend_and_resume),
        cmocka_unit_test(suspended_report),
        cmocka_unit_test(program_outlives_gpufl),
        cmocka_unit_test(stdout_is_not_held_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
