/* sql_gate.h - limits the concurrent statements of a workspace.
 *
 * A workspace gets half of the server's concurrent statements, rounded up, so that it does not keep
 * the others out. [any] */
#ifndef GPUFL_SERVER_COMMON_SQL_GATE_H
#define GPUFL_SERVER_COMMON_SQL_GATE_H

#include "meta/meta.h"

#include <pthread.h>
#include <stdbool.h>

enum { SQL_GATE_MAX = 64 };

struct sql_gate {
    pthread_mutex_t lock;
    unsigned most; /* for one workspace */
    unsigned count;
    char inside[SQL_GATE_MAX]
               [META_ID_MAX]; /* workspaces, one for each statement; guarded by lock */
};

void sql_gate_init(struct sql_gate *g, unsigned at_once);
void sql_gate_fini(struct sql_gate *g);

/* Returns false if the workspace has reached its limit. */
bool sql_gate_enter(struct sql_gate *g, const char *workspace);
void sql_gate_leave(struct sql_gate *g, const char *workspace);

#endif
