/* people.c - serves workspaces, members, keys, links, the audit log, retention. */
#include "server/backup/backup.h"
#include "server/common/logs.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"
#include "server/request/rows.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Sends {"id":…, member: secret}: a secret that is shown once. */
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

/* ---- the server's administrators ------------------------------------------------------------- */

void api_workspaces(struct call *c)
{
    struct meta_workspace *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_workspace_list(&l.ask, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_workspace, rows, NULL);
}

void api_workspace_make(struct call *c)
{
    char id[SECRET_ID];
    struct err e = {0};
    auth_secret_id(id);
    const struct meta_workspace w = {
        .id = id, .name = ARG(c, workspace_make, name)->text, .created = clock_real()};
    if (strcmp(c->who.kind, "user") != 0) {
        http_problem(c->http, 403, "Only somebody who is logged in can own a workspace.");
        return;
    }
    int rc = meta_workspace_add(c->parts->meta, &w, &e);
    if (rc == 0)
        rc = meta_member_put(c->parts->meta, id, c->who.actor, "owner", w.created, &e);
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
    const char *id = ARG(c, workspace_delete, id)->text;
    int rc = meta_workspace_remove(c->parts->meta, id, clock_real(), &e);
    if (rc) {
        call_fail_named(c, rc, "workspace", &e);
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
    struct meta_user *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_user_list(&l.ask, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_user, rows, NULL);
}

void api_user_reset(struct call *c)
{
    char token[SECRET_TOKEN] = "";
    struct err e = {0};
    const struct auth_ask as = access_ask(c, &e);
    int rc = auth_reset_ticket(&as, ARG(c, user_reset, user)->text, token);
    send_secret(c, rc, &e, "", "token", token);
}

/* ---- members --------------------------------------------------------------------------------- */

void api_members(struct call *c)
{
    struct meta_member *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_member_list(&l.ask, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_member, rows, NULL);
}

void api_member_put(struct call *c)
{
    static const char *const roles[] = {"owner", "member", "viewer"};
    struct err e = {0};
    struct meta_member is;
    const char *user = ARG(c, member_put, user)->text;
    /* Others join by invitation: no user becomes a member without agreeing. */
    const struct meta_ask ask = call_ask(c, c->memory, &e);
    int rc = meta_member_get(&ask, user, &is);
    if (rc == 0)
        rc = meta_member_put(c->parts->meta, c->who.workspace, user,
                             roles[ARG(c, member_put, role)->i], clock_real(), &e);
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
    const char *user = ARG(c, member_delete, user)->text;
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
    const struct auth_ask as = access_ask(c, &e);
    int rc = auth_invite(&as, roles[ARG(c, invite, role)->i], token);
    send_secret(c, rc, &e, "", "token", token);
}

/* ---- keys ------------------------------------------------------------------------------------ */

void api_keys(struct call *c)
{
    struct meta_key *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_key_list(&l.ask, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_key, rows, NULL);
}

void api_key_make(struct call *c)
{
    char key[SECRET_KEY] = "", id[SECRET_ID] = "";
    int64_t scopes = 0;
    struct err e = {0};
    const struct auth_ask as = access_ask(c, &e);
    int rc =
        scopes_parse(ARG(c, key_make, scopes)->text, &scopes)
            ? auth_key_make(&as, ARG(c, key_make, name)->text, scopes, ARG(c, key_make, expires)->i,
                            key, id)
            : err_set(&e, GPUFL_E_INVAL, "scopes are ingest, read and admin, with commas between");
    send_secret(c, rc, &e, id, "key", key);
}

void api_key_revoke(struct call *c)
{
    struct err e = {0};
    const struct auth_ask as = access_ask(c, &e);
    send_done(c, auth_key_revoke(&as, ARG(c, key_revoke, key)->text), &e);
}

/* ---- links ----------------------------------------------------------------------------------- */

void api_shares(struct call *c)
{
    struct meta_share *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_share_list(&l.ask, ARG(c, shares, of)->text, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_share, rows, NULL);
}

/* A session that was acknowledged a moment ago is not in the list before the loader has it: the
 * handler waits for that, since the sender knows the session. */
void api_share_make(struct call *c)
{
    static const int64_t wait_ns = 10000000000;
    char token[SECRET_KEY] = "", id[SECRET_ID] = "";
    struct err e = {0};
    const struct auth_ask as = access_ask(c, &e);
    const char *session = ARG(c, share_make, session)->text;
    const struct intake *in = c->parts->intake;
    int rc = GPUFL_E_NOENT;
    for (int again = 0; again < 2 && rc == GPUFL_E_NOENT; again++) {
        bool late = again && sessions_known(in->sessions, c->who.workspace, session);
        if (again && (!late || !loader_drain(in->loader, wait_ns)))
            break;
        rc = auth_share_make(&as, session, ARG(c, share_make, expires)->i, token, id);
    }
    send_secret(c, rc, &e, id, "token", token);
}

void api_share_revoke(struct call *c)
{
    struct err e = {0};
    const struct auth_ask as = access_ask(c, &e);
    send_done(c, auth_share_revoke(&as, ARG(c, share_revoke, share)->text), &e);
}

/* ---- the workspace --------------------------------------------------------------------------- */

void api_audit(struct call *c)
{
    struct meta_page page = ROWS_PAGE(c, audit);
    struct meta_audited *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_audit_list(&l.ask, &page, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_audited, rows, page.next);
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
    const struct meta_retention keep = {.sessions = ARG(c, retention_put, sessions)->i,
                                        .bytes = ARG(c, retention_put, bytes)->i,
                                        .metrics = ARG(c, retention_put, metrics)->i};
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
