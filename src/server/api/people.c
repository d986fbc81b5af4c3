/* people.c - workspaces, members, keys, links, the audit log, what is kept and for how long. */
#include "server/api/api.h"
#include "server/api/rows.h"
#include "server/backup.h"
#include "server/common/logs.h"
#include "server/parts.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define V(route, name) (&c->values[IN_##route##_##name])

/* {"id":…, member: secret}: what is told once. */
static void send_secret(struct call *c, int rc, const struct err *e, const char *id,
                        const char *member, const char *secret)
{
    struct json_out j;
    if (rc) {
        access_fail(c, rc, e, 0);
        return;
    }
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_text_or_null(&j, "id", id);
    json_out_text(&j, member, secret);
    json_out_close_object(&j);
    call_json_send(c, &j, 200);
    c->http->answer.cacheable = false;
}

static void send_done(struct call *c, int rc, const struct err *e)
{
    if (rc)
        access_fail(c, rc, e, 0);
    else
        http_send_nothing(c->http, 204);
}

/* ---- the server's administrators --------------------------------------------------------------- */

void api_workspaces(struct call *c)
{
    struct meta_workspace *rows;
    size_t count = 0;
    struct region mem;
    struct err e = {0};
    region_init(&mem, ROWS_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = meta_workspace_list(&ask, &rows, &count);
    if (rc)
        call_fail(c, rc, "list", &e);
    else
        rows_send(c, META_ROW_workspace, rows, count, NULL);
    region_fini(&mem);
}

void api_workspace_make(struct call *c)
{
    char id[SECRET_ID];
    struct err e = {0};
    auth_secret_id(id);
    const struct meta_workspace w = {
        .id = id, .name = V(workspace_make, name)->text, .created = clock_real()};
    if (strcmp(c->who.kind, "user") != 0) {
        http_problem(c->http, 403, "Only somebody who is logged in can own a workspace.");
        return;
    }
    int rc = meta_workspace_add(c->parts->meta, &w, &e);
    rc = rc ? rc : meta_member_put(c->parts->meta, id, c->who.actor, "owner", w.created, &e);
    if (rc) {
        call_fail(c, rc, "workspace", &e);
        return;
    }
    access_note(c, "workspace.create", id);
    rows_send_one(c, META_ROW_workspace, &w);
}

void api_workspace_delete(struct call *c)
{
    struct err e = {0};
    const char *id = V(workspace_delete, id)->text;
    int rc = meta_workspace_remove(c->parts->meta, id, clock_real(), &e);
    if (rc) {
        call_fail(c, rc, "workspace", rc == GPUFL_E_NOENT ? NULL : &e);
        return;
    }
    access_note(c, "workspace.delete", id);
    janitor_wake(c->parts->janitor);
    http_send_nothing(c->http, 204);
}

void api_backup(struct call *c)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT; /* acquired and released here */
    char name[32];
    int64_t bytes = 0;
    struct json_out j;
    struct err e = {0};
    if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
        http_problem(c->http, 409, "A backup is being made already.");
        return;
    }
    const struct backup_source source = {.data = c->parts->data,
                                         .meta = c->parts->meta,
                                         .ops = c->parts->ops,
                                         .store = c->parts->store,
                                         .loader = c->parts->intake->loader};
    int rc = backup_make(&source, name, sizeof name, &bytes, &e);
    atomic_flag_clear_explicit(&busy, memory_order_release);
    if (rc) {
        logs_say(LOG_ERROR, "backup", "%s", e.text);
        call_fail(c, rc, "backup", &e);
        return;
    }
    access_note(c, "backup.make", name);
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_text(&j, "name", name);
    json_out_int(&j, "bytes", bytes);
    json_out_close_object(&j);
    call_json_send(c, &j, 200);
    c->http->answer.cacheable = false;
}

void api_users(struct call *c)
{
    struct meta_user *rows;
    size_t count = 0;
    struct region mem;
    struct err e = {0};
    region_init(&mem, ROWS_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = meta_user_list(&ask, &rows, &count);
    if (rc)
        call_fail(c, rc, "list", &e);
    else
        rows_send(c, META_ROW_user, rows, count, NULL);
    region_fini(&mem);
}

void api_user_reset(struct call *c)
{
    char token[SECRET_TOKEN] = "";
    struct err e = {0};
    const struct auth_from from = access_from(c);
    int rc =
        auth_reset_ticket(c->parts->auth, &c->who, V(user_reset, user)->text, &from, token, &e);
    send_secret(c, rc, &e, "", "token", token);
}

/* ---- members --------------------------------------------------------------------------------- */

void api_members(struct call *c)
{
    struct meta_member *rows;
    size_t count = 0;
    struct region mem;
    struct err e = {0};
    region_init(&mem, ROWS_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = meta_member_list(&ask, &rows, &count);
    if (rc)
        call_fail(c, rc, "list", &e);
    else
        rows_send(c, META_ROW_member, rows, count, NULL);
    region_fini(&mem);
}

void api_member_put(struct call *c)
{
    static const char *const roles[] = {"owner", "member", "viewer"};
    struct err e = {0};
    struct meta_member is;
    const char *user = V(member_put, user)->text;
    /* Whoever is not here comes by invitation: nobody is put into a workspace unasked. */
    const struct meta_ask ask = call_ask(c, c->memory, &e);
    int rc = meta_member_get(&ask, user, &is);
    if (rc == 0)
        rc = meta_member_put(c->parts->meta, c->who.workspace, user, roles[V(member_put, role)->i],
                             clock_real(), &e);
    if (rc == 0)
        access_note(c, "member.role", user);
    if (rc)
        call_fail(c, rc, "member", &e);
    else
        http_send_nothing(c->http, 204);
}

void api_member_delete(struct call *c)
{
    struct err e = {0};
    const char *user = V(member_delete, user)->text;
    int rc = meta_member_remove(c->parts->meta, c->who.workspace, user, &e);
    if (rc == 0)
        access_note(c, "member.remove", user);
    if (rc)
        call_fail(c, rc, "member", &e);
    else
        http_send_nothing(c->http, 204);
}

void api_invite(struct call *c)
{
    static const char *const roles[] = {"owner", "member", "viewer"};
    char token[SECRET_TOKEN] = "";
    struct err e = {0};
    const struct auth_from from = access_from(c);
    int rc = auth_invite(c->parts->auth, &c->who, roles[V(invite, role)->i], &from, token, &e);
    send_secret(c, rc, &e, "", "token", token);
}

/* ---- keys -------------------------------------------------------------------------------------- */

void api_keys(struct call *c)
{
    struct meta_key *rows;
    size_t count = 0;
    struct region mem;
    struct err e = {0};
    region_init(&mem, ROWS_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = meta_key_list(&ask, &rows, &count);
    if (rc)
        call_fail(c, rc, "list", &e);
    else
        rows_send(c, META_ROW_key, rows, count, NULL);
    region_fini(&mem);
}

void api_key_make(struct call *c)
{
    char key[SECRET_KEY] = "", id[SECRET_ID] = "";
    int64_t scopes = 0;
    struct err e = {0};
    const struct auth_from from = access_from(c);
    int rc =
        scopes_parse(V(key_make, scopes)->text, &scopes)
            ? auth_key_make(c->parts->auth, &c->who, V(key_make, name)->text, scopes,
                            V(key_make, expires)->i, &from, key, id, &e)
            : err_set(&e, GPUFL_E_INVAL, "scopes are ingest, read and admin, with commas between");
    send_secret(c, rc, &e, id, "key", key);
}

void api_key_revoke(struct call *c)
{
    struct err e = {0};
    const struct auth_from from = access_from(c);
    send_done(c, auth_key_revoke(c->parts->auth, &c->who, V(key_revoke, key)->text, &from, &e), &e);
}

/* ---- links ---------------------------------------------------------------------------------------- */

void api_shares(struct call *c)
{
    struct meta_share *rows;
    size_t count = 0;
    struct region mem;
    struct err e = {0};
    region_init(&mem, ROWS_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = meta_share_list(&ask, V(shares, of)->text, &rows, &count);
    if (rc)
        call_fail(c, rc, "list", &e);
    else
        rows_send(c, META_ROW_share, rows, count, NULL);
    region_fini(&mem);
}

/* A session that was acknowledged a moment ago is not in the list before the loader has it: that is
 * waited for, since its sender knows that it is there. */
void api_share_make(struct call *c)
{
    static const int64_t wait_ns = 10000000000;
    char token[SECRET_KEY] = "", id[SECRET_ID] = "";
    struct err e = {0};
    const struct auth_from from = access_from(c);
    const char *session = V(share_make, session)->text;
    const struct intake *in = c->parts->intake;
    int rc = GPUFL_E_NOENT;
    for (int again = 0; again < 2 && rc == GPUFL_E_NOENT; again++) {
        bool late = again && sessions_known(in->sessions, c->who.workspace, session);
        if (again && (!late || !loader_drain(in->loader, wait_ns)))
            break;
        rc = auth_share_make(c->parts->auth, &c->who, session, V(share_make, expires)->i, &from,
                             token, id, &e);
    }
    send_secret(c, rc, &e, id, "token", token);
}

void api_share_revoke(struct call *c)
{
    struct err e = {0};
    const struct auth_from from = access_from(c);
    send_done(
        c, auth_share_revoke(c->parts->auth, &c->who, V(share_revoke, share)->text, &from, &e), &e);
}

/* ---- the workspace ---------------------------------------------------------------------------------- */

void api_audit(struct call *c)
{
    struct meta_page page = {.limit = (unsigned)V(audit, limit)->i, .after = V(audit, after)->text};
    struct meta_audited *rows;
    size_t count = 0;
    struct region mem;
    struct err e = {0};
    region_init(&mem, ROWS_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = meta_audit_list(&ask, &page, &rows, &count);
    if (rc)
        call_fail(c, rc, "list", &e);
    else
        rows_send(c, META_ROW_audited, rows, count, page.next);
    region_fini(&mem);
}

void api_retention(struct call *c)
{
    struct meta_retention keep;
    struct err e = {0};
    int rc = meta_retention_get(c->parts->meta, c->who.workspace, &keep, &e);
    if (rc)
        call_fail(c, rc, "workspace", &e);
    else
        rows_send_one(c, META_ROW_retention, &keep);
}

void api_retention_put(struct call *c)
{
    const struct meta_retention keep = {.sessions = V(retention_put, sessions)->i,
                                        .bytes = V(retention_put, bytes)->i,
                                        .metrics = V(retention_put, metrics)->i};
    struct err e = {0};
    int rc = meta_retention_put(c->parts->meta, c->who.workspace, &keep, &e);
    if (rc) {
        call_fail(c, rc, "workspace", &e);
        return;
    }
    access_note(c, "retention.set", "");
    janitor_wake(c->parts->janitor);
    http_send_nothing(c->http, 204);
}
