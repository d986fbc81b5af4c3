/* ended.c - see ended.h. The queue is a list of workspaces, which are few. */
#include "server/analysis/ended.h"

#include "base/alloc.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

struct ended_line {
    struct ended_line *next;
    char workspace[STORE_ID_MAX];
    struct ended *first, *last;
    unsigned count;
};

void ended_fini(struct ended_queue *q)
{
    while (q->first) {
        struct ended_line *l = q->first;
        q->first = l->next;
        mem_free(l);
    }
    q->count = 0;
}

/* Returns where the workspace's line is linked: *at is NULL if there is none. */
static struct ended_line **find(struct ended_queue *q, const char *workspace)
{
    struct ended_line **at = &q->first;
    while (*at && strcmp((*at)->workspace, workspace) != 0)
        at = &(*at)->next;
    return at;
}

static void line_push(struct ended_line *l, struct ended *e, bool first)
{
    e->next = first ? l->first : NULL;
    if (!l->first)
        l->first = l->last = e;
    else if (first)
        l->first = e;
    else
        l->last = l->last->next = e;
    l->count++;
}

bool ended_push(struct ended_queue *q, struct ended *e, bool first)
{
    if (e->queued)
        return true;
    struct ended_line **at = find(q, e->workspace), *l = *at;
    if (!l && !(l = mem_zalloc(sizeof *l)))
        return false;
    snprintf(l->workspace, sizeof l->workspace, "%s", e->workspace);
    if (first) {
        *at = *at ? l->next : NULL;
        l->next = q->first;
        q->first = l;
    } else {
        *at = l;
    }
    line_push(l, e, first);
    e->queued = true;
    q->count++;
    return true;
}

struct ended *ended_pop(struct ended_queue *q)
{
    struct ended_line *l = q->first, **last = &q->first;
    if (!l)
        return NULL;
    struct ended *e = l->first;
    l->first = e->next;
    l->count--;
    q->count--;
    q->first = l->next;
    l->next = NULL;
    if (!l->first) {
        mem_free(l);
    } else {
        while (*last)
            last = &(*last)->next;
        *last = l;
    }
    e->queued = false;
    return e;
}

unsigned ended_of(const struct ended_queue *q, const char *workspace)
{
    for (const struct ended_line *l = q->first; l; l = l->next)
        if (strcmp(l->workspace, workspace) == 0)
            return l->count;
    return 0;
}
