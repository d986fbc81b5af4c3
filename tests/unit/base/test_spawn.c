/* test_spawn.c - tests what a started program inherits, and waiting for it. */
#include "base/process/spawn.h"
#include "tests/test.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t SECOND = 1000000000;

static int64_t soon(void)
{
    return clock_mono() + 60 * SECOND;
}

/* Starts sh with the script, whose standard input and output are `in` and `out`. */
static void start(struct spawned *p, const char *script, int in, int out)
{
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    struct spawn s = {.program = "sh", .argv = argv, .fds = {in, out, SPAWN_KEEP}};
    assert_int_equal(spawn_open(p, &s), 0);
    assert_true(p->pid > 0);
}

static int exit_code(struct spawned *p)
{
    int status;
    assert_int_equal(spawn_wait(p, soon(), &status), 0);
    assert_int_equal(p->pid, 0);
    spawn_close(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Returns what the script prints. */
static const char *said(const char *script)
{
    static char text[512];
    struct spawned p;
    int ends[2];
    size_t n = 0;
    assert_int_equal(spawn_pipe(ends), 0);
    start(&p, script, SPAWN_NULL, ends[1]);
    close(ends[1]);
    for (ssize_t got; n < sizeof text - 1 && (got = read(ends[0], text + n, sizeof text - 1 - n));)
        n += got > 0 ? (size_t)got : 0;
    text[n] = '\0';
    close(ends[0]);
    assert_int_equal(exit_code(&p), 0);
    return text;
}

TEST(test_it_gets_the_descriptors_it_is_given)
{
    int leak =
        fcntl(STDERR_FILENO, F_DUPFD, 100); /* without close-on-exec, like those of many programs */
    assert_true(leak >= 100);
    assert_string_equal(said("ls /proc/$$/fd; :"), "0\n1\n2\n");
    close(leak);
    assert_string_equal(said("cat; readlink /proc/self/fd/0"), "/dev/null\n");

    struct spawned p;
    int in[2], out[2];
    char text[8] = "";
    assert_int_equal(spawn_pipe(in), 0);
    assert_int_equal(spawn_pipe(out), 0);
    start(&p, "exec cat", in[0], out[1]);
    close(in[0]);
    close(out[1]);
    assert_int_equal(write(in[1], "there", 5), 5);
    close(in[1]);
    assert_int_equal(read(out[0], text, sizeof text), 5);
    assert_string_equal(text, "there");
    close(out[0]);
    assert_int_equal(exit_code(&p), 0);
}

TEST(test_its_signals_are_as_a_shell_has_them)
{
    sigset_t some, was;
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &some, &was), 0);
    signal(SIGUSR1, SIG_IGN);
    const char *text = said("grep SigBlk /proc/self/status\n" /* 32 and 33 are the C library's */
                            "grep SigIgn /proc/self/status | sed 's/.*\\(.\\{7\\}\\)$/\\1/'");
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    signal(SIGUSR1, SIG_DFL);
    assert_string_equal(text, "SigBlk:\t0000000000000000\n0000000\n");
}

TEST(test_a_group_of_its_own)
{
    char *argv[] = {"sleep", "600", NULL};
    struct spawn s = {
        .program = "sleep", .argv = argv, .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL}};
    for (int own = 0; own < 2; own++) {
        struct spawned p;
        s.own_group = own;
        assert_int_equal(spawn_open(&p, &s), 0);
        assert_int_equal(getpgid(p.pid), own ? p.pid : getpgrp());
        spawn_signal(&p, SIGKILL);
        assert_int_equal(exit_code(&p), -SIGKILL);
    }
}

TEST(test_its_environment)
{
    char *argv[] = {"sh", "-c", "test \"$ONLY\" = this && test -z \"$HOME\"", NULL};
    char *env[] = {"ONLY=this", NULL};
    struct spawned p;
    setenv("HOME", "/somewhere", 1);
    assert_int_equal(spawn_open(&p, &(struct spawn){.program = "/bin/sh",
                                                    .argv = argv,
                                                    .env = env,
                                                    .fds = {SPAWN_NULL, SPAWN_KEEP, SPAWN_KEEP}}),
                     0);
    assert_int_equal(exit_code(&p), 0);
}

TEST(test_what_cannot_be_started)
{
    char *argv[] = {"none", NULL};
    struct spawned p;
    struct spawn s = {.program = "/nowhere/none", .argv = argv, .fds = {SPAWN_NULL, -1, -1}};
    assert_int_equal(spawn_open(&p, &s), ENOENT);
    assert_int_equal(p.pid, 0);
    assert_int_equal(p.process, -1);
    s.program = "/dev/null";
    assert_int_equal(spawn_open(&p, &s), EACCES);
    s.program = "/bin/sh";
    s.fds[0] = 1; /* in another order it would be overwritten before it is copied */
    assert_int_equal(spawn_open(&p, &s), EBADF);
    int status;
    spawn_signal(&p, SIGKILL); /* there is no process: nothing happens */
    assert_int_equal(spawn_wait(&p, 0, &status), 0);
    spawn_close(&p);
}

TEST(test_waiting)
{
    struct spawned p;
    int status;
    start(&p, "exec sleep 600", SPAWN_NULL, SPAWN_NULL);
    assert_int_equal(spawn_wait(&p, 0, &status), ETIMEDOUT);
    int64_t until = clock_mono() + SECOND / 20;
    assert_int_equal(spawn_wait(&p, until, &status), ETIMEDOUT);
    assert_true(clock_mono() >= until);
    spawn_signal(&p, SIGTERM);
    assert_int_equal(exit_code(&p), -SIGTERM);
    start(&p, "exit 7", SPAWN_NULL, SPAWN_NULL);
    assert_int_equal(spawn_wait(&p, INT64_MAX, &status), 0);
    assert_int_equal(WEXITSTATUS(status), 7);
    spawn_close(&p);
}

/* A process without a pidfd: the kernel has none, or the program has no free descriptor. */
TEST(test_without_a_descriptor)
{
    struct spawned p;
    start(&p, "exec sleep 600", SPAWN_NULL, SPAWN_NULL);
    spawn_close(&p);
    int status;
    assert_int_equal(spawn_wait(&p, clock_mono() + SECOND / 20, &status), ETIMEDOUT);
    spawn_signal(&p, SIGTERM);
    assert_int_equal(exit_code(&p), -SIGTERM);
}

TEST(test_a_program_that_reaps_every_child)
{
    struct spawned p;
    int status;
    signal(SIGCHLD, SIG_IGN);
    start(&p, "exit 3", SPAWN_NULL, SPAWN_NULL);
    assert_int_equal(spawn_wait(&p, soon(), &status), ECHILD);
    assert_int_equal(p.pid, 0);
    spawn_close(&p);
    signal(SIGCHLD, SIG_DFL);
}

TEST(test_pipes_with_closed_standard_files)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        int ends[2];
        close(0);
        close(1);
        close(2);
        bool good = spawn_pipe(ends) == 0 && ends[0] > 2 && ends[1] > 2 &&
                    (fcntl(ends[0], F_GETFD) & FD_CLOEXEC) && fcntl(0, F_GETFD) < 0;
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_gets_the_descriptors_it_is_given),
        cmocka_unit_test(test_its_signals_are_as_a_shell_has_them),
        cmocka_unit_test(test_a_group_of_its_own),
        cmocka_unit_test(test_its_environment),
        cmocka_unit_test(test_what_cannot_be_started),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_without_a_descriptor),
        cmocka_unit_test(test_a_program_that_reaps_every_child),
        cmocka_unit_test(test_pipes_with_closed_standard_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
