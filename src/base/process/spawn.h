/* spawn.h - starts another program as a child process, with only the descriptors that it is given,
 * and with the signal dispositions that a shell would give it.
 *
 * Why posix_spawn and not fork: from a large process with threads only posix_spawn is both safe and
 * quick. If the kernel has pidfds, the process is held by one, so that waiting needs no polling and
 * a signal cannot reach another process with the same number.
 * Called by any thread; a struct spawned belongs to one owner. */
#ifndef GPUFL_BASE_PROCESS_SPAWN_H
#define GPUFL_BASE_PROCESS_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SPAWN_STANDARD = 3, /* stdin, stdout, stderr */
    SPAWN_NULL = -1,    /* /dev/null */
    SPAWN_KEEP = -2,    /* ours, whatever it is */
};

struct spawn {
    const char *program; /* looked for in PATH if it has no slash */
    char *const *argv;   /* NULL-terminated */
    char *const *env;    /* NULL-terminated; NULL: ours */
    int fds
        [SPAWN_STANDARD]; /* its descriptors 0, 1, 2: one of ours above 2, SPAWN_NULL, SPAWN_KEEP */
    bool own_group;       /* true: the terminal's signals do not reach it */
};

struct spawned {
    pid_t pid;   /* 0: none, or reaped */
    int process; /* a descriptor of it, ours to close; -1: none */
};

/* Initializes a struct spawned without a process. */
#define SPAWNED_NONE                                                                               \
    {                                                                                              \
        .process = -1                                                                              \
    }

/* Starts the program. 0 or an errno; ENOENT: there is no such program. On failure *p is empty. */
int spawn_open(struct spawned *p, const struct spawn *s);

/* Waits until deadline (clock_mono, ns); deadline 0 looks without waiting. Returns 0: the process
  * has ended, *status is that of waitpid; ETIMEDOUT: the process runs; ECHILD: the process has
  * ended, and its status was taken elsewhere. */
int spawn_wait(struct spawned *p, int64_t deadline, int *status);

void spawn_signal(const struct spawned *p, int signal); /* does nothing after it was reaped */

/* Closes the descriptor; the process is neither ended nor reaped. */
void spawn_close(struct spawned *p);

/* Makes a pipe with close-on-exec. Its ends are never 0, 1 or 2, even if the program has closed
 * these. 0 or an errno; on failure both ends are -1. */
int spawn_pipe(int ends[2]);

#endif
