/* bookmarks.c - serves named places on a session's timeline. Members write them; a client that sees
 * the session reads them, also by a link. */
#include "server/auth/secret.h"
#include "server/request/access.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"
#include "server/request/rows.h"

#include "base/clock.h"

enum { BOOKMARKS_MAX = 1000 /* of a session */ };

/* Lists the session's bookmarks. false: answered. */
static bool list(struct call *c, const char *session, struct region *mem,
                 struct meta_bookmark **rows, size_t *count)
{
    struct meta_session row;
    struct err e = {0};
    const struct meta_ask ask = call_ask(c, mem, &e);
    int rc = meta_session_get(&ask, session, &row);
    if (rc == 0)
        rc = meta_bookmark_list(&ask, session, rows, count);
    if (rc)
        call_fail_named(c, rc, "session", &e);
    return rc == 0;
}

void api_bookmarks(struct call *c)
{
    struct meta_bookmark *rows = NULL;
    size_t count = 0;
    struct region mem;
    region_init(&mem, ROWS_MEMORY);
    if (list(c, ARG(c, bookmarks, session)->text, &mem, &rows, &count))
        rows_send(c, META_ROW_bookmark, rows, count, NULL);
    region_fini(&mem);
}

/* Returns true if the session may have one more. */
static bool has_room(struct call *c, const char *session)
{
    struct meta_bookmark *rows = NULL;
    size_t count = 0;
    struct region mem;
    region_init(&mem, ROWS_MEMORY);
    bool known = list(c, session, &mem, &rows, &count);
    region_fini(&mem);
    if (known && count >= BOOKMARKS_MAX)
        http_problem(c->http, 409, "A session has at most %d bookmarks.", BOOKMARKS_MAX);
    return known && count < BOOKMARKS_MAX;
}

void api_bookmark_make(struct call *c)
{
    char id[SECRET_ID];
    struct err e = {0};
    const char *session = ARG(c, bookmark_make, session)->text;
    if (!has_room(c, session))
        return;
    auth_secret_id(id);
    const struct meta_bookmark b = {.id = id,
                                    .session = session,
                                    .start = ARG(c, bookmark_make, start)->i,
                                    .duration = ARG(c, bookmark_make, duration)->i,
                                    .note = ARG(c, bookmark_make, note)->text,
                                    .created = clock_real(),
                                    .creator = c->who.actor};
    int rc = meta_bookmark_add(c->parts->meta, c->who.workspace, &b, &e);
    if (rc) {
        call_fail_named(c, rc, "session", &e);
        return;
    }
    access_note(c, "bookmark.create", session);
    rows_send_one(c, META_ROW_bookmark, &b);
}

static void done(struct call *c, int rc, const struct err *e, const char *action,
                 const char *session)
{
    if (rc) {
        call_fail_named(c, rc, "bookmark", e);
        return;
    }
    access_note(c, action, session);
    http_send_nothing(c->http, 204);
}

void api_bookmark_put(struct call *c)
{
    struct err e = {0};
    const struct meta_bookmark b = {.id = ARG(c, bookmark_put, bookmark)->text,
                                    .session = ARG(c, bookmark_put, session)->text,
                                    .note = ARG(c, bookmark_put, note)->text};
    int rc = meta_bookmark_note(c->parts->meta, c->who.workspace, &b, &e);
    done(c, rc, &e, "bookmark.change", b.session);
}

void api_bookmark_delete(struct call *c)
{
    struct err e = {0};
    const char *session = ARG(c, bookmark_delete, session)->text;
    int rc = meta_bookmark_remove(c->parts->meta, c->who.workspace, session,
                                  ARG(c, bookmark_delete, bookmark)->text, &e);
    done(c, rc, &e, "bookmark.delete", session);
}
