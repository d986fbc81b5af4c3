/* run.c - runs the traced program as a child process.
 *
 * Signals are blocked and read from a signalfd: no handler can race, and the sender is known. A
 * signal of the kernel (Ctrl-C, Ctrl-\, a hang-up) goes to the whole foreground group and has
 * reached the program already, so it is not passed on. A signal that another process sent to gpufl
 * is passed on, unless the program itself sent it (kill(0, …)).
 *
 * Job control: a stop that reaches us too (Ctrl-Z, or sent to us) is answered only when the program
 * has stopped, with the same signal, so that the shell sees the job stop as a whole; a program that
 * ignores the signal keeps us running. */
#include "cli/trace/program/run.h"

#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

/* Lists signals that are passed on if another process sent them; so are real-time signals. */
static const int forwarded[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};
/* Lists the signals of job control. */
static const int stopping[] = {SIGTSTP, SIGTTIN, SIGTTOU};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

int64_t run_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

/* Keeps the numbers of closed standard descriptors from being used by ours; the program still finds
 * them closed. */
static void occupy_standard_fds(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", O_RDWR | O_CLOEXEC);
}

int run_open(struct run *r, struct err *e)
{
    *r = (struct run){.signals = -1};
    occupy_standard_fds();
    sigset_t collected, blocked;
    sigemptyset(&collected);
    for (size_t i = 0; i < COUNT(forwarded); i++)
        sigaddset(&collected, forwarded[i]);
    for (size_t i = 0; i < COUNT(stopping); i++)
        sigaddset(&collected, stopping[i]);
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
        sigaddset(&collected, s);
    sigaddset(&collected, SIGCHLD);
    sigaddset(&collected, SIGCONT);
    blocked = collected;
    sigaddset(&blocked, SIGPIPE); /* a closed stderr must not end gpufl before the program */
    sigaddset(&blocked, SIGXFSZ); /* neither must a file that reaches its size limit */

    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &normal, &r->on_chld); /* while it is ignored, exit codes are lost */
    sigprocmask(SIG_BLOCK, &blocked, &r->inherited);
    r->signals = signalfd(-1, &collected, SFD_CLOEXEC | SFD_NONBLOCK);
    if (r->signals < 0)
        return err_set_vendor(e, GPUFL_E_IO, errno, "cannot watch signals");
    return GPUFL_OK;
}

void run_close(struct run *r)
{
    if (r->signals >= 0)
        close(r->signals);
    r->signals = -1;
    /* A signal that a failed write left pending must not end gpufl when signals are unblocked. */
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    while (sigtimedwait(&ours, NULL, &(struct timespec){0, 0}) > 0)
        ;
    sigprocmask(SIG_SETMASK, &r->inherited, NULL);
}

/* ---- start ------------------------------------------------------------------------------ */

/* Becomes, in the child, the program, or reports errno. */
static void become(struct run *r, char *const *argv, const struct run_variable *env, int report)
{
    int ok = 0, null = r->no_input ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    for (; env->name && ok == 0; env++)
        ok = setenv(env->name, env->value, 1);
    sigaction(SIGCHLD, &r->on_chld, NULL);
    sigprocmask(SIG_SETMASK, &r->inherited, NULL);
    cmd_leave_stack();
    if (ok == 0)
        execvp(argv[0], argv);
    int error = errno;
    (void)!write(report, &error, sizeof error);
    _exit(127);
}

/* Leaves stdin and stdout to the program: a reader of its output sees the end when the program
 * closes it, not when gpufl does. */
static void leave_standard_fds(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (null > STDERR_FILENO)
        close(null);
}

int run_start(struct run *r, char *const *argv, const struct run_variable *env, struct err *e)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return err_set(e, GPUFL_E_UNAVAILABLE, "cannot start a process: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0)
        become(r, argv, env, report[1]);
    int error = errno;
    close(report[1]);
    if (child < 0) {
        close(report[0]);
        return err_set(e, GPUFL_E_UNAVAILABLE, "cannot start a process: %s", strerror(error));
    }
    ssize_t n;
    do
        n = read(report[0], &error, sizeof error);
    while (n < 0 && errno == EINTR);
    close(report[0]);
    if (n == sizeof error) {
        waitpid(child, &r->status, 0);
        err_set(e, GPUFL_E_NOENT, "cannot run %s: %s", argv[0], strerror(error));
        e->vendor = error;
        return e->code;
    }
    r->child = child;
    r->ended = r->child_stopped = false;
    if (!r->more)
        leave_standard_fds();
    return GPUFL_OK;
}

/* ---- signals ---------------------------------------------------------------------------- */

/* Returns true if the signal was sent to us by a process other than the program. */
static bool sent_to_us(const struct run *r, const struct signalfd_siginfo *s)
{
    return s->ssi_code <= 0 && (pid_t)s->ssi_pid != r->child;
}

static void pass_on(const struct run *r, const struct signalfd_siginfo *s)
{
    if (r->ended || !sent_to_us(r, s))
        return;
    if (s->ssi_code == SI_QUEUE)
        sigqueue(r->child, (int)s->ssi_signo, (union sigval){.sival_ptr = (void *)s->ssi_ptr});
    else
        kill(r->child, (int)s->ssi_signo);
}

/* Stops this process with the signal that stopped the program; returns after SIGCONT. */
static void stop_self(int signal)
{
    struct sigaction a;
    if (sigaction(signal, NULL, &a) != 0 || a.sa_handler != SIG_DFL)
        return;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* the signal takes effect here */
    sigprocmask(SIG_BLOCK, &one, NULL);
}

static void stop_if_due(struct run *r)
{
    if (!r->stop_signal || !r->child_stopped)
        return;
    int signal = r->stop_signal;
    r->stop_signal = 0;
    stop_self(signal);
}

static void on_continue(struct run *r, const struct signalfd_siginfo *s)
{
    r->stop_signal = 0;
    if (r->child_stopped)
        pass_on(r, s);
}

/* Takes the states of the program and the helper; true when the helper is over. */
static bool reap(struct run *r)
{
    int status;
    while (r->child && !r->ended) {
        pid_t got = waitpid(r->child, &status, WNOHANG | WUNTRACED | WCONTINUED);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        if (got < 0)
            continue;
        r->child_stopped = WIFSTOPPED(status);
        r->ended = WIFEXITED(status) || WIFSIGNALED(status);
        r->status = status;
    }
    if (r->helper && waitpid(r->helper, &status, WNOHANG) == r->helper) {
        r->helper = 0;
        return true;
    }
    return false;
}

/* Notes a signal that asks for the end of everything. */
static void note_over(struct run *r, int signal)
{
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT)
        r->over = signal;
}

/* Handles one signal; returns true if run_wait should return for the signal. */
static bool take_signal(struct run *r, const struct signalfd_siginfo *s)
{
    note_over(r, (int)s->ssi_signo);
    switch ((int)s->ssi_signo) {
    case SIGCHLD:
        return false;
    case SIGCONT:
        on_continue(r, s);
        return false;
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
        r->stop_signal = (int)s->ssi_signo;
        pass_on(r, s);
        return false;
    case SIGINT:
        r->interrupts++;
        pass_on(r, s);
        return true;
    default:
        pass_on(r, s);
        return false;
    }
}

/* ---- waiting ---------------------------------------------------------------------------- */

/* Returns the milliseconds for poll until the deadline, rounded up. */
static int poll_timeout(int64_t deadline)
{
    if (deadline == 0)
        return -1;
    int64_t left = deadline - run_now();
    if (left <= 0)
        return 0;
    int64_t ms = (left + 999999) / 1000000;
    return ms > 3600000 ? 3600000 : (int)ms;
}

enum run_event run_wait(struct run *r, int fd, int64_t deadline)
{
    for (;;) {
        struct signalfd_siginfo s;
        bool interrupted = false;
        while (!interrupted && read(r->signals, &s, sizeof s) == sizeof s)
            interrupted = take_signal(r, &s);
        if (reap(r))
            return RUN_HELPER;
        if (r->ended)
            return RUN_ENDED;
        if (interrupted)
            return RUN_INTERRUPTED;
        stop_if_due(r);
        if (deadline && run_now() >= deadline)
            return RUN_DEADLINE;
        struct pollfd polled[2] = {{.fd = r->signals, .events = POLLIN},
                                   {.fd = fd, .events = POLLIN}};
        int n = poll(polled, 2, poll_timeout(deadline));
        if (n > 0 && (polled[1].revents & POLLIN) && !(polled[0].revents & POLLIN))
            return RUN_READABLE;
    }
}

bool run_goes_on(struct run *r)
{
    struct signalfd_siginfo s;
    while (read(r->signals, &s, sizeof s) == sizeof s)
        take_signal(r, &s);
    return r->over == 0;
}

int run_exit_code(const struct run *r)
{
    if (WIFSIGNALED(r->status))
        return 128 + WTERMSIG(r->status);
    return WEXITSTATUS(r->status);
}

/* ---- helper ----------------------------------------------------------------------------- */

bool run_helper_start(struct run *r, int (*fn)(void *arg), void *arg)
{
    fflush(stderr);
    pid_t pid = fork();
    if (pid > 0)
        r->helper = pid;
    if (pid != 0)
        return pid > 0;
    close(r->signals);
    sigprocmask(SIG_SETMASK, &r->inherited, NULL);
    int rc = fn(arg);
    fflush(NULL);
    _exit(rc);
}

static bool is_stopping(int signal)
{
    for (size_t i = 0; i < COUNT(stopping); i++)
        if (stopping[i] == signal)
            return true;
    return false;
}

/* Handles one signal while only the helper is left. */
static void take_helper_signal(struct run *r, const struct signalfd_siginfo *s)
{
    int signal = (int)s->ssi_signo;
    note_over(r, signal);
    bool sent = s->ssi_code <= 0; /* to gpufl alone; the helper gets the terminal's, too */
    if (signal == SIGCHLD || signal == SIGCONT)
        return;
    if (sent)
        kill(r->helper, signal); /* a signal that ends gpufl ends the report */
    if (is_stopping(signal)) {
        stop_self(signal);
        kill(r->helper, SIGCONT); /* in case only gpufl was continued */
    }
}

int run_helper_wait(struct run *r)
{
    int status = 0;
    while (r->helper) {
        struct signalfd_siginfo s;
        struct pollfd polled = {.fd = r->signals, .events = POLLIN};
        pid_t got = waitpid(r->helper, &status, WNOHANG);
        if (got == r->helper || (got < 0 && errno != EINTR))
            break;
        if (read(r->signals, &s, sizeof s) != sizeof s)
            poll(&polled, 1, -1);
        else
            take_helper_signal(r, &s);
    }
    r->helper = 0;
    return status;
}
