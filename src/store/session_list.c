/* session_list.c - see session_list.h. */
#include "store/session_list.h"

#include "store/tables.h"

#include <string.h>

void session_list_init(struct session_list *l, void (*close)(struct listed *at),
                       void (*free)(struct listed *at))
{
    *l = (struct session_list){.close = close, .free = free};
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
}

void session_list_close_all(struct session_list *l)
{
    pthread_mutex_lock(&l->lock);
    while (l->first)
        session_list_close(l, l->first);
    pthread_mutex_unlock(&l->lock);
}

void session_list_fini(struct session_list *l)
{
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
}

struct listed *session_list_find(struct session_list *l, const char *workspace, const char *id)
{
    struct listed *at = l->first;
    while (at && (strcmp(at->id, id) != 0 || strcmp(at->workspace, workspace) != 0))
        at = at->next;
    return at;
}

struct listed *session_list_find_settled(struct session_list *l, const char *workspace,
                                         const char *id)
{
    struct listed *at;
    while ((at = session_list_find(l, workspace, id)) && at->state != SESSION_OPEN)
        pthread_cond_wait(&l->changed, &l->lock);
    return at;
}

static void unlink_one(struct session_list *l, const struct listed *at)
{
    struct listed **place = &l->first;
    while (*place != at)
        place = &(*place)->next;
    *place = at->next;
}

void session_list_add(struct session_list *l, struct listed *at)
{
    at->refs = 1;
    at->state = SESSION_OPENING;
    at->next = l->first;
    l->first = at;
    l->count++;
}

void session_list_opened(struct session_list *l, struct listed *at)
{
    at->state = SESSION_OPEN;
    pthread_cond_broadcast(&l->changed);
}

void session_list_remove(struct session_list *l, struct listed *at)
{
    unlink_one(l, at);
    l->count--;
    pthread_cond_broadcast(&l->changed);
}

void session_list_used(struct session_list *l, struct listed *at)
{
    unlink_one(l, at);
    at->next = l->first;
    l->first = at;
}

void session_list_close(struct session_list *l, struct listed *at)
{
    at->state = SESSION_CLOSING;
    pthread_mutex_unlock(&l->lock);
    l->close(at);
    pthread_mutex_lock(&l->lock);
    session_list_remove(l, at);
    l->free(at);
}

void session_list_make_room(struct session_list *l)
{
    while (l->count >= l->most) {
        struct listed *last = NULL;
        for (struct listed *at = l->first; at; at = at->next)
            if (!at->refs && at->state == SESSION_OPEN)
                last = at;
        if (!last)
            return;
        session_list_close(l, last);
    }
}

int session_check_ids(const char *workspace, const char *session, struct err *e)
{
    if (store_id_ok(workspace) && store_id_ok(session))
        return 0;
    return err_set(e, GPUFL_E_INVAL,
                   "a workspace and a session are named by letters, digits, - and _, at most %d "
                   "of them",
                   STORE_ID_MAX - 1);
}

int session_absent(const char *session, struct err *e)
{
    return err_set(e, GPUFL_E_NOENT, "there is no session %.64s", session);
}

int session_going(const char *session, bool create, struct err *e)
{
    if (!create)
        return session_absent(session, e);
    return err_set(e, GPUFL_E_BUSY, "session %s is being deleted and still read; try again",
                   session);
}
