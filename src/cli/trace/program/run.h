/* run.h - runs the traced program as a child process: start, forwarded signals, end.
 *
 * The child gets the signal mask and dispositions that gpufl itself was started with, stays in
 * gpufl's process group (so that the terminal treats both as one job) and outlives gpufl if gpufl
 * is killed. Called by one thread only, which makes one run. */
#ifndef GPUFL_CLI_TRACE_PROGRAM_RUN_H
#define GPUFL_CLI_TRACE_PROGRAM_RUN_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct run {
    pid_t child;              /* the program; 0: not started */
    pid_t helper;             /* child process that makes a report; 0: none */
    int signals;              /* signalfd; -1: none */
    int status;               /* wait status of the program once ended */
    bool ended;               /* the program is over */
    bool child_stopped;       /* by a job-control signal */
    int stop_signal;          /* a stop signal that gpufl got, too; 0: none */
    int interrupts;           /* SIGINTs that came: Ctrl-C, or sent to gpufl */
    int over;                 /* INT, TERM, HUP or QUIT that came: nothing more may be started */
    bool more;                /* the caller's: another program follows, its stdin and stdout stay */
    bool no_input;            /* the caller's: the program's stdin is empty */
    sigset_t inherited;       /* mask that gpufl was started with */
    struct sigaction on_chld; /* disposition of SIGCHLD that gpufl was started with */
};

/* Says why run_wait returned. */
enum run_event {
    RUN_ENDED,       /* the program is over */
    RUN_INTERRUPTED, /* a SIGINT: see interrupts */
    RUN_READABLE,    /* the caller's descriptor has something to read */
    RUN_DEADLINE,    /* the caller's deadline passed */
    RUN_HELPER,      /* the helper is over */
};

/* This is a variable for the program's environment. */
struct run_variable {
    const char *name, *value;
};

/* Blocks and collects signals from here on. */
int run_open(struct run *r, struct err *e);
void run_close(struct run *r);

/* Starts argv with the variables added, ended by a row without name; again where the program
 * before has ended. Fails with e->vendor = errno where the command cannot be executed. */
int run_start(struct run *r, char *const *argv, const struct run_variable *env, struct err *e);

/* Waits for the next event, and forwards signals meanwhile. fd: -1 for none. deadline:
 * CLOCK_MONOTONIC ns, 0 for none. */
enum run_event run_wait(struct run *r, int fd, int64_t deadline);

/* Returns false if a signal has come after which nothing more may be started. */
bool run_goes_on(struct run *r);

/* Returns the exit code that a shell would show for the ended program. */
int run_exit_code(const struct run *r);

/* Runs fn(arg) in a process of its own with the inherited signal mask, so that the exit code of the
 * program is returned whatever happens there. False: it could not be started. */
bool run_helper_start(struct run *r, int (*fn)(void *arg), void *arg);

/* Waits for the helper, and returns its wait status. */
int run_helper_wait(struct run *r);

/* Returns CLOCK_MONOTONIC, ns. */
int64_t run_now(void);

#endif
