/* exits.h - finds how the processes ended in which capture began, although another process is their
 * parent.
 *
 * A mark (marks.h) comes with a descriptor of its sender (SCM_PIDFD). With it the kernel gives the
 * wait status after the process has ended, also to processes that are not its parent
 * (PIDFD_GET_INFO). Both need Linux 6.16 (6.15 if the mark was taken while the process ran); on
 * older kernels the status is unknown. Called by one thread only. */
#ifndef GPUFL_CLI_TRACE_PROGRAM_EXITS_H
#define GPUFL_CLI_TRACE_PROGRAM_EXITS_H

#include <stdbool.h>
#include <stddef.h>

struct exits {
    struct exits_process *items; /* owned */
    size_t count, capacity;
    size_t open; /* open descriptors */
};

/* Makes the socket give a descriptor of each sender. */
void exits_listen(int socket);

/* Notes that the driver has called the library in a process; pid: as the process sees its number.
 * Takes over the descriptor of the process; -1: there is none. */
void exits_keep_loaded(struct exits *x, long pid, int pidfd);

/* Notes that the process has said why it has no session. */
void exits_keep_answered(struct exits *x, long pid);

/* Notes that a session began. Takes over the descriptor of the process that writes it; -1: there is
 * none. */
void exits_keep(struct exits *x, const char *session, long pid, int pidfd);

/* Notes that a session ended, and that its log could not take the end. */
void exits_keep_unwritten(struct exits *x, const char *session);
bool exits_unwritten(const struct exits *x, const char *session);

/* Returns true if the process of the session is over and its wait status is known. */
bool exits_status(const struct exits *x, const char *session, int *status);

/* Holds the known facts of one process. */
struct exits_fate {
    const char *session; /* "": none began */
    long pid;            /* as the process sees its number */
    bool answered;       /* it said why it has no session */
    bool over;           /* it is known to have ended */
    bool known;          /* the status is */
    int status;          /* wait status */
};

/* Returns the fate of a process. i: below count. */
struct exits_fate exits_fate(const struct exits *x, size_t i);

void exits_fini(struct exits *x);

#endif
