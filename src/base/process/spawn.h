/* spawn.h - another program as a child process: with the descriptors it is given and no others,
 * and with the signals that a shell would leave it.
 *
 * posix_spawn rather than fork: from a process with threads, and a large one, nothing else is
 * both safe and quick. The process is held by a pidfd where the kernel has them, so that it is
 * waited for without polling and the signal meant for it reaches no other.
 * Any thread; a struct spawned is its owner's alone. */
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
    const char *program; /* looked for in PATH where it has no slash */
    char *const *argv;   /* NULL-terminated */
    char *const *env;    /* NULL-terminated; NULL: ours */
    int fds
        [SPAWN_STANDARD]; /* what becomes its 0, 1 and 2: above 2 here, or SPAWN_NULL, SPAWN_KEEP */
    bool own_group;       /* the terminal's signals are not for it */
};

struct spawned {
    pid_t pid;   /* 0: none, or reaped */
    int process; /* a descriptor of it, ours to close; -1: none */
};

/* The initializer of one that no process was started for. */
#define SPAWNED_NONE                                                                               \
    {                                                                                              \
        .process = -1                                                                              \
    }

/* 0 or an errno: ENOENT where there is no such program. On failure *p is empty. */
int spawn_open(struct spawned *p, const struct spawn *s);

/* Waits until deadline (clock_mono, ns); 0 looks and does not wait. 0: it has ended and *status is
 * that of waitpid; ETIMEDOUT: it runs; ECHILD: it has ended, and somebody else took its status. */
int spawn_wait(struct spawned *p, int64_t deadline, int *status);

void spawn_signal(const struct spawned *p, int signal); /* nothing where it was reaped */

/* Lets go of the descriptor; the process is neither ended nor reaped. */
void spawn_close(struct spawned *p);

/* A pipe with close-on-exec whose ends are not 0, 1 or 2, which a program may have closed.
 * 0 or an errno; ends are -1 then. */
int spawn_pipe(int ends[2]);

#endif
