/* queue.c - see loader/queue.h. */
#include "server/intake/loader/queue.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define LONG_NS 10000000000 /* after which a session's size does not count */

enum { ITEMS_MAX = 1 << 24 };

/* This is a session's line; in its workspace's list while something waits. */
struct queue_session {
    struct queue_session *next;
    struct queue_workspace *workspace;
    struct intake_session *s; /* its items hold the references */
    struct item *items;       /* owned; from first on */
    size_t first, end, cap;
    int64_t bytes;
};

struct queue_workspace {
    struct queue_workspace *next;
    char id[STORE_ID_MAX];
    struct queue_session *first, *last;
};

/* ---- lists ----------------------------------------------------------------------------------- */

static struct queue_workspace *workspace_of(struct loader_queue *q, const char *id)
{
    struct queue_workspace *w = q->first;
    while (w && strcmp(w->id, id) != 0)
        w = w->next;
    if (w || !(w = mem_zalloc(sizeof *w)))
        return w;
    snprintf(w->id, sizeof w->id, "%s", id);
    if (q->last)
        q->last->next = w;
    else
        q->first = w;
    q->last = w;
    return w;
}

static void unlink_workspace(struct loader_queue *q, struct queue_workspace *w)
{
    struct queue_workspace *before = NULL, *at = q->first;
    while (at != w) {
        before = at;
        at = at->next;
    }
    if (before)
        before->next = w->next;
    else
        q->first = w->next;
    q->last = q->last == w ? before : q->last;
    w->next = NULL;
}

static void drop_if_empty(struct loader_queue *q, struct queue_workspace *w)
{
    if (w->first)
        return;
    unlink_workspace(q, w);
    mem_free(w);
}

static struct queue_session *line_of(struct loader_queue *q, struct intake_session *s)
{
    struct queue_session *l = s->waiting;
    if (l || !(l = mem_zalloc(sizeof *l)))
        return l;
    l->s = s;
    l->workspace = workspace_of(q, s->workspace);
    if (!l->workspace) {
        mem_free(l);
        return NULL;
    }
    if (l->workspace->last)
        l->workspace->last->next = l;
    else
        l->workspace->first = l;
    l->workspace->last = l;
    s->waiting = l;
    q->sessions++;
    return l;
}

static void drop_line(struct loader_queue *q, struct queue_session *l)
{
    struct queue_workspace *w = l->workspace;
    struct queue_session *before = NULL, *at = w->first;
    while (at != l) {
        before = at;
        at = at->next;
    }
    if (before)
        before->next = l->next;
    else
        w->first = l->next;
    w->last = w->last == l ? before : w->last;
    q->turn = q->turn == l ? NULL : q->turn;
    q->sessions--;
    l->s->waiting = NULL;
    mem_free(l->items);
    mem_free(l);
    drop_if_empty(q, w);
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Makes room for one more: the front is used again before the line grows. */
static int line_grow(struct queue_session *l)
{
    if (l->end < l->cap)
        return 0;
    if (l->first > l->cap / 2) {
        memmove(l->items, l->items + l->first, (l->end - l->first) * sizeof *l->items);
        l->end -= l->first;
        l->first = 0;
        return 0;
    }
    return mem_grow(&l->items, &l->cap, l->end + 1, sizeof *l->items, ITEMS_MAX);
}

int loader_queue_push(struct loader_queue *q, const struct item *item)
{
    struct queue_session *l = line_of(q, item->s);
    if (!l || line_grow(l)) {
        if (l && l->first == l->end)
            drop_line(q, l);
        return GPUFL_E_NOMEM;
    }
    l->items[l->end++] = *item;
    l->bytes += item->frame.place.size;
    q->bytes += item->frame.place.size;
    q->items++;
    return 0;
}

static void line_pop(struct loader_queue *q, struct queue_session *l, struct item *out)
{
    *out = l->items[l->first++];
    l->bytes -= out->frame.place.size;
    q->bytes -= out->frame.place.size;
    q->items--;
    if (l->first == l->end)
        drop_line(q, l);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Returns the session that is next in a workspace that has some: small ones first, but before them
 * those that have waited for long. */
static struct queue_session *pick(const struct queue_workspace *w, int64_t now)
{
    struct queue_session *small = w->first, *old = small;
    for (struct queue_session *l = small->next; l; l = l->next) {
        small = l->bytes < small->bytes ? l : small;
        old = l->items[l->first].frame.queued < old->items[old->first].frame.queued ? l : old;
    }
    return now - old->items[old->first].frame.queued > LONG_NS ? old : small;
}

static void next_turn(struct loader_queue *q, int64_t now)
{
    struct queue_workspace *w = q->first;
    unlink_workspace(q, w);
    if (q->last)
        q->last->next = w;
    else
        q->first = w;
    q->last = w;
    q->turn = pick(w, now);
    q->turn_bytes = 0;
}

bool loader_queue_pop(struct loader_queue *q, int64_t now, struct item *out)
{
    if (!q->items)
        return false;
    if (!q->turn || q->turn_bytes >= LOADER_TURN_BYTES)
        next_turn(q, now);
    struct queue_session *l = q->turn;
    q->turn_bytes += l->items[l->first].frame.place.size;
    line_pop(q, l, out);
    return true;
}

bool loader_queue_pop_of(struct loader_queue *q, struct intake_session *s, struct item *out)
{
    if (!s->waiting)
        return false;
    line_pop(q, s->waiting, out);
    return true;
}

int loader_queue_abandon_all(struct loader_queue *q, struct sessions *sessions)
{
    for (struct queue_workspace *w = q->first; w; w = w->next)
        for (struct queue_session *l = w->first; l; l = l->next) {
            struct item item = {.kind = ITEM_ABANDON, .frame.queued = clock_mono()};
            item.s = sessions_get(sessions, l->s->workspace, l->s->session);
            if (!item.s || loader_queue_push(q, &item)) {
                sessions_put(sessions, item.s);
                return GPUFL_E_NOMEM;
            }
        }
    return 0;
}

/* ---- load ------------------------------------------------------------------------------------ */

void loader_queue_load(const struct loader_queue *q, const char *workspace,
                       struct loader_queue_load *out)
{
    for (const struct queue_workspace *w = q->first; w; w = w->next) {
        if (workspace && strcmp(w->id, workspace) != 0)
            continue;
        for (const struct queue_session *l = w->first; l; l = l->next) {
            int64_t since = l->items[l->first].frame.queued;
            out->sessions++;
            out->bytes += l->bytes;
            out->since = since < out->since ? since : out->since;
        }
    }
}
