/* aside.c - keeps a session that cannot be read under another name, so that it can be sent again.
 *
 * The rows stay where they are. The commit that counts them is written for `SESSION.damaged`, which
 * cannot be the id of a session, and the session gets a commit without rows. After a repair of
 * ClickHouse's parts, `commits` says which rows were meant. Deleting the session deletes both. */
#include "store/clickhouse/engine.h"

#include <stdio.h>
#include <string.h>

/* Makes the other name; the end of a long id is left out. */
static void name_aside(const struct store_session *ss, struct store_session *out)
{
    click_session_name(out, ss->store, ss->workspace, ss->at.id);
    snprintf(out->at.id, sizeof out->at.id, "%.*s.damaged", STORE_ID_MAX - 9, ss->at.id);
    out->key = place_key(out->at.id); /* on the same server: its rows are there */
}

static int move(const struct store_session *ss, struct err *e)
{
    struct store_session aside;
    struct state t, none;
    state_init(&t);
    state_init(&none);
    name_aside(ss, &aside);
    int rc = state_read(ss, &t, e);
    if (!rc && t.kind == STATE_DROPPED)
        rc = session_absent(ss->at.id, e);
    none.kind = STATE_MADE;
    none.commit = rc ? 0 : state_number(&t);
    t.kind = STATE_APART;
    if (rc == 0)
        rc = state_write(&aside, &t, e);
    if (rc == 0)
        rc = state_write(ss, &none, e);
    state_fini(&t);
    state_fini(&none);
    return rc;
}

int click_aside_end(const struct store_session *ss, struct err *e)
{
    struct store_session aside;
    struct state t;
    state_init(&t);
    name_aside(ss, &aside);
    int rc = state_read(&aside, &t, e);
    bool there = !rc && t.kind == STATE_APART;
    if (there) {
        struct state end = {.kind = STATE_DROPPED, .commit = t.commit + 1};
        rc = state_write(&aside, &end, e);
    }
    state_fini(&t);
    return rc == GPUFL_E_NOENT ? 0 : rc;
}

/* Closes the session if no caller has it open. */
static int close_open(struct store *s, const char *workspace, const char *session, struct err *e)
{
    int rc = 0;
    pthread_mutex_lock(&s->open.lock);
    struct listed *at = session_list_find_settled(&s->open, workspace, session);
    if (at && at->refs)
        rc = err_set(e, GPUFL_E_BUSY, "session %s is damaged and still read; try again", session);
    else if (at)
        session_list_close(&s->open, at);
    pthread_mutex_unlock(&s->open.lock);
    return rc;
}

int click_session_set_aside(struct store *s, const char *workspace, const char *session,
                            struct err *e)
{
    struct store_session ss;
    int rc = session_check_ids(workspace, session, e);
    struct workspace *w = rc ? NULL : workspace_of(s, workspace);
    if (rc || !w)
        return rc ? rc : err_nomem(e);
    rc = close_open(s, workspace, session, e);
    click_session_name(&ss, s, w, session);
    if (rc == 0)
        rc = turn_take(&ss, e);
    if (rc)
        return rc;
    rc = move(&ss, e);
    click_session_forget(s, workspace, session);
    int given = turn_give(&ss, rc ? NULL : e);
    return rc ? rc : given;
}
