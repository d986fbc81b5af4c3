/* control.h - serves the agent's local socket: commands from `gpufl-agent status` and the like.
 *
 * A command is one line, the answer one line of JSON. flush, drain and retry are answered when they
 * are done. Only the agent's user may connect. A thread of its own serves the socket; the agent's
 * loop reads the tasks under the lock, and reports when they are done. */
#ifndef GPUFL_AGENT_DAEMON_CONTROL_H
#define GPUFL_AGENT_DAEMON_CONTROL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/process/thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { CONTROL_CLIENTS = 16, CONTROL_LINE = 64, CONTROL_RESULT = 768, CONTROL_ANSWER = 64 << 10 };

/* Lists commands that are answered when they are done. */
enum control_task { CONTROL_NOTHING, CONTROL_FLUSH, CONTROL_DRAIN, CONTROL_RETRY, CONTROL_TASKS };

struct control_client {
    int fd; /* -1: free */
    char line[CONTROL_LINE];
    size_t len;
    enum control_task task;
    uint64_t ticket;
};

struct control {
    int listener, notify, wake; /* notify: to the thread; wake: to the agent's loop (eventfds) */
    char path[108];
    uint64_t inode; /* of the socket, so that no other one is removed at the end */
    struct thread thread;
    struct control_client clients[CONTROL_CLIENTS]; /* the thread's */
    void (*status)(void *arg, struct buf *out);     /* [control thread] */
    void *arg;

    pthread_mutex_t lock;
    uint64_t asked[CONTROL_TASKS], done[CONTROL_TASKS]; /* guarded by lock, as the rest */
    char answers[CONTROL_TASKS][CONTROL_RESULT];        /* JSON: results of the last time */
    bool paused, ending, resumed;
};

/* Listens, and starts the thread. */
int control_open(struct control *c, const char *path, void (*status)(void *arg, struct buf *out),
                 void *arg, struct err *e);
/* Checks that the path can be a control socket's, and changes nothing. 0 even if an agent
 * listens there. */
int control_check(const char *path, struct err *e);
/* Answers waiting clients that the agent ends, and ends the thread. */
void control_close(struct control *c);

bool control_paused(struct control *c);
/* Returns true if `resume` came since the last call. */
bool control_resumed(struct control *c);
/* Returns the ticket of a task that is requested and not done; 0: none. */
uint64_t control_task(struct control *c, enum control_task t);
/* Notes that the task is done up to that ticket; answer: JSON. */
void control_done(struct control *c, enum control_task t, uint64_t ticket, const char *answer);

/* Sends a command to the agent that listens at path; its answer is appended to out. GPUFL_E_NOENT:
 * no agent listens. [any] */
int control_ask(const char *path, const char *command, struct buf *out, struct err *e);

#endif
