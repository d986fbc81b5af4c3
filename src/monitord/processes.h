/* processes.h - which processes use which GPU, and whose they are.
 *
 * The driver lists process ids; a process is looked up in /proc once, when it is first seen, and
 * its start is compared again once a minute, so that another process with its number is not taken
 * for it. Its session of gpufl may begin later: a process announces it (announced.h). Where nothing
 * is announced, the session is looked for in /proc, in growing pauses of up to ten minutes. What
 * the driver no longer lists has ceased. The table is bounded: what finds no room is counted.
 * [sampling thread] */
#ifndef GPUFL_MONITORD_PROCESSES_H
#define GPUFL_MONITORD_PROCESSES_H

#include "backend/backend.h"
#include "monitord/announced.h"
#include "monitord/owner.h"

#include <stdbool.h>
#include <stdint.h>

enum { PROCESSES_MOST = 4096, PROCESSES_OF_GPU = PROCESSES_MOST };

enum process_phase { PROCESS_BEGAN, PROCESS_CEASED, PROCESS_THERE };

struct process {
    int gpu;
    struct device_process now;  /* as the driver said it last */
    struct device_process told; /* as it was written last; pid 0: never */
    int64_t told_at;            /* steady ns */
    struct owner owner;
    int64_t checked;   /* steady ns at which its start was compared */
    int64_t since;     /* steady ns at which it was looked up first */
    int64_t look_at;   /* steady ns at which its session is looked for again */
    bool listed;       /* by the last list of its GPU */
    bool is_announced; /* the session is what the process says */
};

/* Takes what has changed. A metric is reported where it differs, and once a minute. */
struct process_visitor {
    void (*phase)(void *arg, const struct process *p, enum process_phase phase);
    void (*metric)(void *arg, const struct process *p);
    void *arg;
};

struct processes {
    struct process *items; /* owned */
    size_t count, cap;
    const char *proc;            /* "/proc" */
    struct announced *announced; /* NULL: none */
    uint64_t seen, untold, unread;
};

void processes_init(struct processes *t, const char *proc, struct announced *announced);
void processes_fini(struct processes *t);

/* Takes the list of a GPU: n processes of `total`. now: steady ns. Seven parameters: a list is its
 * rows and two numbers, and the visitor gets what has changed. */
void processes_list(struct processes *t, int gpu, const struct device_process *list, int n,
                    int total, int64_t now, const struct process_visitor *v);

/* A GPU is gone or does not answer: its processes are no longer known to be there. */
void processes_gone(struct processes *t, int gpu, const struct process_visitor *v);

/* Reports all of them again: a session begins. */
void processes_again(struct processes *t, const struct process_visitor *v);

#endif
