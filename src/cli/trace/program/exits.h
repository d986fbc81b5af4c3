/* exits.h - how the processes ended in which capture began, though another process is their
 * parent.
 *
 * A mark (marks.h) comes with a descriptor of its sender (SCM_PIDFD). The kernel answers it with
 * the wait status after the process is gone, also to strangers (PIDFD_GET_INFO). Both need Linux
 * 6.16 (6.15 where the mark was taken while the process ran); elsewhere no status is known.
 * One thread. */
#ifndef GPUFL_CLI_TRACE_PROGRAM_EXITS_H
#define GPUFL_CLI_TRACE_PROGRAM_EXITS_H

#include <stdbool.h>
#include <stddef.h>

struct exits {
    struct exits_process *items; /* owned */
    size_t count, capacity;
    size_t open; /* descriptors that are kept */
};

/* Asks for a descriptor of each sender on a socket. */
void exits_listen(int socket);

/* The driver has called the library in a process, which knows itself by that number. Takes over the
 * descriptor of the process; -1: there is none. */
void exits_keep_loaded(struct exits *x, long pid, int pidfd);

/* The process says why it has no session. */
void exits_keep_answered(struct exits *x, long pid);

/* A session began. Takes over the descriptor of the process that writes it; -1: there is none. */
void exits_keep(struct exits *x, const char *session, long pid, int pidfd);

/* A session ended, and its log could not take that. */
void exits_keep_unwritten(struct exits *x, const char *session);
bool exits_unwritten(const struct exits *x, const char *session);

/* True where the process of the session is over and its wait status is known. */
bool exits_status(const struct exits *x, const char *session, int *status);

/* One process, as far as it is known. */
struct exits_fate {
    const char *session; /* "": none began */
    long pid;            /* as the process sees its number */
    bool answered;       /* it said why it has no session */
    bool over;           /* it is known to be over */
    bool known;          /* the status is */
    int status;          /* wait status */
};

/* i: below count. */
struct exits_fate exits_fate(const struct exits *x, size_t i);

void exits_fini(struct exits *x);

#endif
