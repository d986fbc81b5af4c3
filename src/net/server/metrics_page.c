/* metrics_page.c - see metrics_page.h. */
#include "net/server/metrics_page.h"

#include "base/alloc.h"
#include "net/server/http.h"
#include "net/server/listen.h"

#include <stdio.h>
#include <string.h>

enum { PAGE_MOST = 8 << 20, CONNECTIONS = 32 };

struct metrics_page {
    struct metrics_page_config config;
    struct http_server *server;
    char address[128];
};

/* ---- the text ------------------------------------------------------------------------------ */

void metrics_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_escaped(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            buf_printf(out, "\\n");
        else if (*text == '"' || *text == '\\')
            buf_printf(out, "\\%c", *text);
        else
            buf_put(out, text, 1);
    }
}

void metrics_sample(struct buf *out, const char *name, const struct metrics_label *labels,
                    size_t count, double value)
{
    bool any = false;
    buf_printf(out, "%s", name);
    for (size_t i = 0; i < count; i++) {
        if (!labels[i].value || !*labels[i].value)
            continue;
        buf_printf(out, "%s%s=\"", any ? "," : "{", labels[i].name);
        put_escaped(out, labels[i].value);
        buf_printf(out, "\"");
        any = true;
    }
    buf_printf(out, "%s %.17g\n", any ? "}" : "", value);
}

/* ---- the page ------------------------------------------------------------------------------ */

static void handle(struct http_request *r)
{
    struct metrics_page *p = r->app;
    char why[256] = "";
    if (strcmp(r->uri.path, "/healthz") == 0) {
        bool ok = p->config.healthy(p->config.arg, why, sizeof why);
        buf_printf(http_body(r, 1024), "%s\n", ok ? "ok" : why);
        http_send(r, ok ? 200 : 503, "text/plain; charset=utf-8");
        return;
    }
    struct buf *page = http_body(r, PAGE_MOST);
    p->config.fill(p->config.arg, page);
    if (buf_error(page))
        http_problem(r, 503, "There is no memory for the page.");
    else
        http_send(r, 200, "text/plain; version=0.0.4; charset=utf-8");
}

static void begin(void *arg, struct http_request *r)
{
    bool known = !strcmp(r->uri.path, "/metrics") || !strcmp(r->uri.path, "/healthz");
    r->app = arg;
    r->quick = true;
    r->handle = handle;
    if (!known)
        http_problem(r, 404, "There are /metrics and /healthz here.");
    else if (r->method != HTTP_GET && r->method != HTTP_HEAD)
        http_problem(r, 405, "Ask with GET.");
}

static void seen(void *arg, const struct http_request *r, int status, uint64_t sent, bool whole)
{
    (void)arg, (void)r, (void)status, (void)sent, (void)whole;
}

int metrics_page_open(struct metrics_page **out, const struct metrics_page_config *c, struct err *e)
{
    struct http_config http;
    *out = NULL;
    struct metrics_page *p = mem_zalloc(sizeof *p);
    if (!p)
        return err_nomem(e);
    p->config = *c;
    http_config_init(&http);
    http.address = p->address;
    http.threads = 1;
    http.connections = CONNECTIONS;
    http.connections_per_address = CONNECTIONS;
    struct http_app app = {.arg = p, .begin = begin, .seen = seen};
    int rc = listen_parse(c->listen, p->address, sizeof p->address, &http.port, e);
    if (!rc)
        rc = http_open(&p->server, &http, &app, e);
    if (rc) {
        mem_free(p);
        return rc;
    }
    *out = p;
    return 0;
}

void metrics_page_url(const struct metrics_page *p, char *out, size_t size)
{
    bool v6 = strchr(p->address, ':') != NULL;
    snprintf(out, size, "http://%s%s%s:%u", v6 ? "[" : "", p->address, v6 ? "]" : "",
             http_port(p->server));
}

void metrics_page_close(struct metrics_page *p)
{
    static const int64_t PATIENCE = 2000000000;
    if (!p)
        return;
    http_quiesce(p->server);
    if (!http_wait(p->server, PATIENCE))
        http_cut(p->server);
    http_close(p->server);
    mem_free(p);
}
