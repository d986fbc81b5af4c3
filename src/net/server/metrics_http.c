/* metrics_http.c - see metrics_http.h. */
#include "net/server/metrics_http.h"

#include "base/alloc.h"
#include "net/server/http.h"
#include "net/server/listen.h"

#include <stdio.h>
#include <string.h>

enum { PAGE_MOST = 8 << 20, CONNECTIONS = 32 };

struct page {
    struct metrics_page_config config;
    struct http_server *server;
    char address[128];
};

static void handle(struct http_request *r)
{
    struct page *p = r->app;
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

static int open_page(void **out, const struct metrics_page_config *c, struct err *e)
{
    struct http_config http;
    *out = NULL;
    struct page *p = mem_zalloc(sizeof *p);
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

static void write_url(const void *page, char *out, size_t size)
{
    const struct page *p = page;
    bool v6 = strchr(p->address, ':') != NULL;
    snprintf(out, size, "http://%s%s%s:%u", v6 ? "[" : "", p->address, v6 ? "]" : "",
             http_port(p->server));
}

static void close_page(void *page)
{
    static const int64_t PATIENCE = 2000000000;
    struct page *p = page;
    http_quiesce(p->server);
    if (!http_wait(p->server, PATIENCE))
        http_cut(p->server);
    http_close(p->server);
    mem_free(p);
}

__attribute__((visibility("default"))) const struct metrics_http gpufl_metrics_http = {
    .version = GPUFL_VERSION, .open = open_page, .url = write_url, .close = close_page};
