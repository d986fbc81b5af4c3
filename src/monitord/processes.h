/* processes.h - which processes use which GPU, and what they belong to (owner.h).
 *
 * The driver lists process ids. A process is looked up in /proc once, when it is first seen; its
 * start is compared once a minute, so that a later process with the same id is not mistaken for it.
 * Its session of gpufl may begin later: a process announces it (announced.h). Without an
 * announcement the session is searched for in /proc, at growing intervals of up to ten minutes. A
 * process that the driver no longer lists has ceased to use the GPU. The table is bounded;
 * processes that find no room are counted. [sampling thread] */
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
    struct device_process now;     /* as the driver listed it last */
    struct device_process written; /* as it was written last; pid 0: never */
    int64_t written_at;            /* steady ns */
    struct owner owner;
    int64_t checked;   /* steady ns at which its start was compared */
    int64_t since;     /* steady ns at which it was looked up first */
    int64_t look_at;   /* steady ns of the next search for its session */
    bool listed;       /* by the last list of its GPU */
    bool is_announced; /* the session is the one that the process announced */
};

/* Takes changes. A metric is reported when it differs, and once a minute. */
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
    uint64_t seen, without_room, unread;
};

void processes_init(struct processes *t, const char *proc, struct announced *announced);
void processes_fini(struct processes *t);

/* Takes the driver's list of a GPU: n processes of `total`; the visitor gets the changes. now:
 * steady ns. Seven parameters: the list is its rows and two numbers. */
void processes_list(struct processes *t, int gpu, const struct device_process *list, int n,
                    int total, int64_t now, const struct process_visitor *v);

/* Call this function when a GPU is gone or does not answer: its processes count as ended. */
void processes_gone(struct processes *t, int gpu, const struct process_visitor *v);

/* Reports all processes again, for a session that begins. */
void processes_again(struct processes *t, const struct process_visitor *v);

#endif
