/* app.c - leads from a request's header to its handler.
 *
 * The checks come in this order: the origin, the address, the parameters, all at once, since
 * they ask nobody; then, on a worker, who asks and what they may (access); only then the body. */
#include "base/clock.h"
#include "server/common/logs.h"
#include "server/common/pages.h"
#include "server/common/proxies.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"

#include <string.h>

enum { BODY_JSON_MAX = 1 << 20 };

/* Returns "GET, HEAD, OPTIONS" of a set of methods. */
static const char *methods(struct http_request *r, unsigned set)
{
    struct buf b;
    buf_init(&b, 128);
    set |= 1u << HTTP_OPTIONS;
    for (enum http_method m = 0; m < HTTP_OTHER; m++)
        if (set >> m & 1)
            buf_printf(&b, "%s%s", b.len ? ", " : "", http_method_name(m));
    const char *text = region_strdup(&r->memory, buf_cstr(&b));
    buf_fini(&b);
    return text ? text : "";
}

/* There is no row for it: other methods, a page of the dashboard, or nothing. */
static void no_route(struct http_request *r, unsigned allowed)
{
    if (!allowed && pages_answer(r))
        return;
    if (!allowed) {
        http_problem(r, 404,
                     "There is nothing at this address; /api/v1/openapi.json lists what "
                     "there is.");
    } else if (r->method == HTTP_OPTIONS) {
        http_send_nothing(r, 204);
        http_set(r, "Allow", methods(r, allowed));
    } else {
        const char *list = methods(r, allowed);
        http_problem(r, 405, "This address takes %s.", list);
        http_set(r, "Allow", list);
    }
}

/* Finds the caller, once for each request. */
static bool allowed(struct call *c)
{
    if (!c->decided) {
        c->decided = true;
        c->allowed = c->route->rights == RIGHTS_PUBLIC || access_decide(c);
    }
    return c->allowed;
}

/* Runs on a worker, or on the connection's thread where the handler never blocks. */
static void app_run(struct http_request *r)
{
    struct call *c = r->app;
    if (allowed(c) && params_body(r, c->route, c->values))
        c->route->handler(c);
}

/* Takes a piece of a body that is taken as it comes. */
static int app_take(struct http_request *r, const char *data, size_t n)
{
    struct call *c = r->app;
    return allowed(c) ? api_events_stream_take(c, data, n) : GPUFL_E_PERM;
}

static void app_done(struct http_request *r)
{
    struct call *c = r->app;
    if (c && c->done)
        c->done(c);
}

/* Handlers that never block run on the connection's thread, so that they answer when every worker
 * is busy. */
static bool quick(const struct route *route)
{
    enum route_id id = (enum route_id)(route - routes);
    return id == ROUTE_healthz || id == ROUTE_version;
}

static void app_begin(void *arg, struct http_request *r)
{
    const struct parts *s = arg;
    const char *why;
    unsigned allowed = 0;
    r->slot = COUNTERS_OTHER;
    r->workers = s->readers;
    if (!atomic_load_explicit(s->ready, memory_order_acquire)) {
        http_problem(r, 503, "The server is starting.");
        return;
    }
    proxies_client(s->proxies, r);
    if (!origin_ok(s->origin, r, &why)) {
        http_problem(r, 403, "%s", why);
        return;
    }
    const struct route *route = route_find(r->method, &r->uri, &allowed);
    if (!route) {
        no_route(r, allowed);
        return;
    }
    r->slot = (unsigned)(route - routes);
    r->route = route->id;
    struct call *c = region_array(&r->memory, 1, sizeof *c);
    if (!c) {
        http_nomem(r);
        return;
    }
    c->parts = s;
    c->http = r;
    c->route = route;
    c->memory = &r->memory;
    if (!params_read(r, route, c->values))
        return;
    r->app = c;
    r->handle = app_run;
    r->done = app_done;
    r->quick = quick(route);
    r->body_max = r->method == HTTP_GET || r->method == HTTP_HEAD ? 0 : BODY_JSON_MAX;
    if (r->slot == ROUTE_sql && s->selects)
        r->workers = s->selects; /* they wait for seconds */
    if (r->slot == ROUTE_events_stream) {
        r->consume = app_take;
        r->workers = s->uploads;
        r->body_max = (size_t)s->body_max;
    }
}

/* The path is logged, the query is not: it may hold a token. */
static void app_seen(void *arg, const struct http_request *r, int status, uint64_t sent, bool whole)
{
    const struct parts *s = arg;
    int64_t took = clock_mono() - r->began;
    struct logs_line l;
    counters_add(s->counters, r->slot, status, took, r->body_size, sent);
    bool chatter = status == 200 && (r->slot == ROUTE_healthz || r->slot == ROUTE_readyz ||
                                     r->slot == ROUTE_metrics);
    logs_begin(&l, status >= 500 ? LOG_WARN : chatter ? LOG_DEBUG : LOG_NOTE, "request");
    logs_text(&l, "id", r->id);
    logs_text(&l, "method", http_method_name(r->method));
    logs_text(&l, "path", r->uri.path ? r->uri.path : "?");
    logs_text(&l, "route", r->route);
    logs_int(&l, "status", status);
    logs_ms(&l, "ms", took);
    logs_int(&l, "in", (int64_t)r->body_size);
    logs_int(&l, "out", (int64_t)sent);
    logs_text(&l, "from", r->peer);
    if (status) /* else a worker may not know yet who asks */
        logs_text(&l, "user", r->user);
    if (!whole)
        logs_text(&l, "cut", "true");
    logs_end(&l);
}

struct http_app app_of(struct parts *s)
{
    return (struct http_app){.arg = s, .begin = app_begin, .seen = app_seen};
}
