/* gate.c - callers get numbers in the order in which they come; see gate.h. */
#include "store/duckdb/gate.h"

void gate_init(struct gate *g, unsigned most)
{
    *g = (struct gate){.most = most ? most : 1};
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
}

void gate_fini(struct gate *g)
{
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
}

void gate_enter(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    uint64_t mine = g->came++;
    while (g->inside >= g->most || g->next != mine)
        pthread_cond_wait(&g->changed, &g->lock);
    g->inside++;
    g->next++;
    if (g->next < g->came && g->inside < g->most)
        pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

void gate_leave(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->inside--;
    if (g->next < g->came)
        pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}
