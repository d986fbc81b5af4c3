/* sql_gate.c - keeps a list that is never longer than the statements at work; see sql_gate.h. */
#include "server/common/sql_gate.h"

#include <stdio.h>
#include <string.h>

void sql_gate_init(struct sql_gate *g, unsigned at_once)
{
    pthread_mutex_init(&g->lock, NULL);
    g->most = (at_once + 1) / 2;
    g->count = 0;
}

void sql_gate_fini(struct sql_gate *g)
{
    pthread_mutex_destroy(&g->lock);
}

bool sql_gate_enter(struct sql_gate *g, const char *workspace)
{
    unsigned n = 0;
    pthread_mutex_lock(&g->lock);
    for (unsigned i = 0; i < g->count; i++)
        n += strcmp(g->inside[i], workspace) == 0;
    bool room = n < g->most && g->count < SQL_GATE_MAX;
    if (room)
        snprintf(g->inside[g->count++], META_ID_MAX, "%s", workspace);
    pthread_mutex_unlock(&g->lock);
    return room;
}

void sql_gate_leave(struct sql_gate *g, const char *workspace)
{
    pthread_mutex_lock(&g->lock);
    for (unsigned i = 0; i < g->count; i++)
        if (strcmp(g->inside[i], workspace) == 0) {
            g->count--;
            memmove(g->inside[i], g->inside[g->count], META_ID_MAX);
            break;
        }
    pthread_mutex_unlock(&g->lock);
}
