/* access.c - gives a request's credentials to auth, and sends auth's answer to the client. */
#include "server/request/access.h"

#include "base/clock.h"
#include "server/common/logs.h"
#include "server/request/parts.h"

#include <stdio.h>
#include <string.h>

void access_fail(struct call *c, int rc, const struct err *e, int64_t wait)
{
    static const struct {
        int error, status;
    } fits[] = {
        {GPUFL_E_PERM, 401}, {GPUFL_E_STATE, 403}, {GPUFL_E_NOENT, 404}, {GPUFL_E_INVAL, 400}};
    char seconds[24];
    if (rc == GPUFL_E_TIMEOUT && wait > 0) {
        http_problem(c->http, 429, "%s.", e->text);
        snprintf(seconds, sizeof seconds, "%lld", (long long)((wait + 999999999) / 1000000000));
        http_set(c->http, "Retry-After", seconds);
        return;
    }
    for (size_t i = 0; i < sizeof fits / sizeof fits[0]; i++)
        if (fits[i].error == rc) {
            const char *text = e->text[0] ? e->text : err_text(rc);
            http_problem(c->http, fits[i].status, "%s.", text);
            if (rc == GPUFL_E_PERM)
                http_set(c->http, "WWW-Authenticate", "Bearer");
            return;
        }
    if (call_disk_full(c, e))
        return;
    http_problem(c->http, 503, "The server cannot find out who asks at the moment; try again.");
    logs_say(LOG_ERROR, "access", "request %s: %s", c->http->id, e->text);
}

struct auth_ask access_ask(const struct call *c, struct err *e)
{
    const char *agent = http_field(c->http, "User-Agent");
    return (struct auth_ask){
        .auth = c->parts->auth,
        .by = &c->who,
        .from = {.address = c->http->peer,
                 .agent = agent ? agent : "",
                 .now = clock_real(),
                 .device = http_cookie(c->http, c->parts->auth->device)},
        .e = e,
    };
}

static int ask(struct call *c, struct err *e)
{
    struct http_request *r = c->http;
    const struct auth_said said = {
        .authorization = http_field(r, "Authorization"),
        .cookie = http_cookie(r, c->parts->auth->cookie),
        .csrf = http_field(r, "X-CSRF-Token"),
        .workspace = uri_query(&r->uri, "workspace"),
        .writes = r->method != HTTP_GET && r->method != HTTP_HEAD,
        .now = clock_real(),
    };
    int rc = auth_who(c->parts->auth, &said, c->memory, &c->who, e);
    if (rc == 0 && *c->who.actor)
        r->user = c->who.actor;
    return rc;
}

void access_note(struct call *c, const char *action, const char *target)
{
    const struct auth_ask as = access_ask(c, NULL);
    auth_note(&as, c->who.workspace, action, target);
}

/* Returns the session of a route; NULL: none. */
static const char *session_of(const struct call *c)
{
    for (unsigned i = 0; i < c->route->param_count; i++)
        if (strcmp(c->route->params[i].name, "session") == 0 &&
            route_segment(c->route, "session") >= 0)
            return c->values[i].text;
    return NULL;
}

bool access_who(struct call *c)
{
    struct err e = {0};
    int rc = ask(c, &e);
    if (rc)
        access_fail(c, rc, &e, 0);
    return rc == 0;
}

bool access_decide(struct call *c)
{
    struct err e = {0};
    int rc = ask(c, &e);
    if (rc == 0)
        rc = auth_may(&c->who, c->route->rights, session_of(c), &e);
    if (rc)
        access_fail(c, rc, &e, 0);
    return rc == 0;
}
