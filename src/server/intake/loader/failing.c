/* failing.c - keeps the sessions of each workspace that are tried again, as of a thread's last
 * check of all its sessions; see loader/inside.h. They count for their workspace alone: others may
 * send meanwhile. */
#include "server/intake/loader/inside.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { WORKSPACES_MAX = 1 << 16 };

/* Finds the workspace's entry. [t->lock held] */
static struct loader_failing *find(struct loader_thread *t, const char *workspace)
{
    for (size_t i = 0; i < t->failing_count; i++)
        if (strcmp(t->failing[i].workspace, workspace) == 0)
            return &t->failing[i];
    return NULL;
}

/* Returns the workspace's entry, made if there is none; NULL: there is no memory, and the session
 * is not counted. [t->lock held] */
static struct loader_failing *make(struct loader_thread *t, const char *workspace)
{
    struct loader_failing *f = find(t, workspace);
    if (f || mem_grow(&t->failing, &t->failing_cap, t->failing_count + 1, sizeof *t->failing,
                      WORKSPACES_MAX))
        return f;
    f = &t->failing[t->failing_count++];
    *f = (struct loader_failing){0};
    snprintf(f->workspace, sizeof f->workspace, "%s", workspace);
    return f;
}

void loader_failing_note(struct loader_thread *t)
{
    pthread_mutex_lock(&t->lock);
    t->failing_count = 0;
    for (const struct row_writer *g = t->list; g; g = g->next) {
        struct loader_failing *f = g->failures ? make(t, g->s->workspace) : NULL;
        struct loader_queue_load held = {.since = INT64_MAX};
        if (!f)
            continue;
        loader_hold(g, &held);
        f->sessions++;
        f->lack_memory += g->lacks_memory;
        f->bytes += held.bytes;
    }
    pthread_mutex_unlock(&t->lock);
}

void loader_failing_add(struct loader_thread *t, const char *workspace, struct ingest_backlog *out)
{
    pthread_mutex_lock(&t->lock);
    const struct loader_failing *f = find(t, workspace);
    if (f) {
        out->own_sessions += f->sessions;
        out->own_bytes += f->bytes;
        out->own_lack_memory += f->lack_memory;
    }
    pthread_mutex_unlock(&t->lock);
}

void loader_failing_free(struct loader_thread *t)
{
    mem_free(t->failing);
}
