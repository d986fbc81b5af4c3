/* auth.c - serves logins, the first admin, links that work once. */
#include "server/request/handlers.h"
#include "server/request/parts.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* Gives a cookie and the page's own token to a user who has just authenticated. */
static void entered(struct call *c, int rc, const struct auth_entry *entry, const struct err *e)
{
    char cookie[AUTH_COOKIE], expires[24];
    struct json_out j;
    if (rc) {
        access_fail(c, rc, e, entry->wait);
        return;
    }
    snprintf(expires, sizeof expires, "%lld", (long long)entry->expires);
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_text(&j, "csrf", entry->csrf);
    json_out_text(&j, "expires", expires);
    json_out_close_object(&j);
    call_json_send(c, &j, 200);
    c->http->answer.cacheable = false;
    auth_cookie_set(c->parts->auth, entry, clock_real(), cookie);
    http_set(c->http, "Set-Cookie", cookie);
    if (!*entry->device)
        return;
    auth_cookie_device(c->parts->auth, entry, cookie);
    http_set(c->http, "Set-Cookie", cookie);
}

void api_login(struct call *c)
{
    struct auth_entry entry = {0};
    struct err e = {0};
    const struct auth_ask as = access_ask(c, &e);
    int rc = auth_login(&as, ARG(c, login, email)->text, ARG(c, login, password)->text, &entry);
    entered(c, rc, &entry, &e);
}

void api_logout(struct call *c)
{
    char cookie[AUTH_COOKIE];
    struct err e = {0};
    const char *had = http_cookie(c->http, c->parts->auth->cookie);
    int rc = had ? auth_logout(c->parts->auth, had, &e) : 0;
    if (rc) {
        access_fail(c, rc, &e, 0);
        return;
    }
    http_send_nothing(c->http, 204);
    auth_cookie_clear(c->parts->auth, cookie);
    http_set(c->http, "Set-Cookie", cookie);
}

/* Writes the user's workspaces, for choosing among them. */
static int put_workspaces(struct call *c, struct json_out *j, struct err *e)
{
    struct meta_membership *rows = NULL;
    size_t count = 0;
    const struct meta_ask ask = call_ask(c, c->memory, e);
    int rc = strcmp(c->who.kind, "user") == 0
                 ? meta_user_memberships(&ask, c->who.actor, &rows, &count)
                 : 0;
    json_out_array(j, "workspaces");
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (i)
            buf_char(&j->buf, ',');
        meta_json(&j->buf, META_ROW_membership, &rows[i]);
    }
    json_out_close_array(j);
    return rc;
}

void api_me(struct call *c)
{
    char csrf[SECRET_TOKEN] = "";
    struct json_out j;
    struct err e = {0};
    if (!access_who(c))
        return;
    if (!*c->who.kind) {
        err_set(&e, GPUFL_E_PERM, "log in, or bear an API key");
        access_fail(c, GPUFL_E_PERM, &e, 0);
        return;
    }
    const char *cookie = http_cookie(c->http, c->parts->auth->cookie);
    if (cookie && strcmp(c->who.kind, "user") == 0)
        auth_secret_csrf(cookie, csrf);
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_text(&j, "kind", c->who.kind);
    json_out_text(&j, "id", c->who.actor);
    json_out_text(&j, "name", c->who.name);
    json_out_bool(&j, "admin", c->who.admin);
    json_out_text_or_null(&j, "workspace", c->who.workspace);
    json_out_text_or_null(&j, "role", c->who.role);
    json_out_text_or_null(&j, "session", c->who.session ? c->who.session : "");
    json_out_text_or_null(&j, "csrf", csrf);
    json_out_bool(&j, "local", c->parts->local);
    json_out_bool(&j, "view", c->parts->view);
    int rc = put_workspaces(c, &j, &e);
    json_out_close_object(&j);
    if (rc) {
        buf_fini(&j.buf);
        access_fail(c, rc, &e, 0);
        return;
    }
    call_json_send(c, &j, 200);
    c->http->answer.cacheable = false;
}

void api_setup_needed(struct call *c)
{
    struct err e = {0};
    struct json_out j;
    int64_t users = 0;
    int rc = meta_user_count(c->parts->meta, &users, &e);
    if (rc) {
        call_fail(c, rc, "table", &e);
        return;
    }
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_bool(&j, "needed", users == 0);
    json_out_bool(&j, "local", c->parts->local);
    json_out_close_object(&j);
    call_json_send(c, &j, 200);
    c->http->answer.cacheable = false;
}

void api_setup(struct call *c)
{
    struct auth_entry entry = {0};
    struct err e = {0};
    const struct auth_ask as = access_ask(c, &e);
    int rc = auth_setup(&as, ARG(c, setup, token)->text,
                        &(struct auth_setup){{ARG(c, setup, email)->text, ARG(c, setup, name)->text,
                                              ARG(c, setup, password)->text},
                                             ARG(c, setup, workspace_name)->text},
                        &entry);
    entered(c, rc, &entry, &e);
}

void api_accept(struct call *c)
{
    struct auth_entry entry = {0};
    struct err e = {0};
    const struct auth_ask as = access_ask(c, &e);
    int rc =
        auth_accept(&as, ARG(c, accept, token)->text,
                    &(struct auth_person){ARG(c, accept, email)->text, ARG(c, accept, name)->text,
                                          ARG(c, accept, password)->text},
                    &entry);
    entered(c, rc, &entry, &e);
}

void api_reset(struct call *c)
{
    struct auth_entry entry = {0};
    struct err e = {0};
    const struct auth_ask as = access_ask(c, &e);
    int rc = auth_reset(&as, ARG(c, reset, token)->text, ARG(c, reset, password)->text, &entry);
    entered(c, rc, &entry, &e);
}

/* Serves the address that local mode prints: the ticket in it works once and becomes a cookie, so
 * that nothing secret stays in the browser's address line or history. */
void api_open(struct call *c)
{
    struct auth_entry entry = {0};
    struct err e = {0};
    char cookie[AUTH_COOKIE];
    const struct auth_ask as = access_ask(c, &e);
    int rc = c->parts->local ? auth_local(&as, ARG(c, open, token)->text, &entry)
                             : err_set(&e, GPUFL_E_NOENT, "this server is not in local mode");
    if (rc) {
        access_fail(c, rc, &e, entry.wait);
        return;
    }
    http_send_nothing(c->http, 303);
    http_set(c->http, "Location", "/");
    auth_cookie_set(c->parts->auth, &entry, clock_real(), cookie);
    http_set(c->http, "Set-Cookie", cookie);
}

void api_password(struct call *c)
{
    struct err e = {0};
    int64_t wait = 0;
    const struct auth_ask as = access_ask(c, &e);
    const char *cookie = http_cookie(c->http, c->parts->auth->cookie);
    if (!access_who(c))
        return;
    int rc = strcmp(c->who.kind, "user") == 0
                 ? auth_password_change(&as, cookie ? cookie : "", ARG(c, password, old)->text,
                                        ARG(c, password, password)->text, &wait)
                 : err_set(&e, GPUFL_E_PERM, "log in first");
    if (rc)
        access_fail(c, rc, &e, wait);
    else
        http_send_nothing(c->http, 204);
}
