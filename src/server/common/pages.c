/* pages.c - finds files by their path, types by their ending, bytes by what the browser takes. */
#include "server/common/pages.h"

#include "base/intern.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *ending, *type;
} TYPES[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".wasm", "application/wasm"},
    {".txt", "text/plain; charset=utf-8"},
    {".webmanifest", "application/manifest+json"},
};

static const char PLAIN[] =
    "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
    "<title>gpufl-server</title></head>\n<body>\n<h1>gpufl-server</h1>\n"
    "<p>This build carries no dashboard: the web bundle was not there when it was made. Everything "
    "else works.</p>\n<ul>\n"
    "<li><a href=\"/api/v1/openapi.json\">/api/v1/openapi.json</a>: what can be asked, for "
    "programs</li>\n"
    "<li><a href=\"/api/v1/info/version\">/api/v1/info/version</a>: what this server is</li>\n"
    "<li><a href=\"/healthz\">/healthz</a>, <a href=\"/readyz\">/readyz</a>: how it does</li>\n"
    "</ul>\n<p><code>gpufl report DIR</code> reads sessions without a server.</p>\n"
    "</body>\n</html>\n";

static const char *type_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof TYPES / sizeof TYPES[0]; i++)
        if (strcmp(dot, TYPES[i].ending) == 0)
            return TYPES[i].type;
    return "application/octet-stream";
}

static const struct pages_file *find(const char *path)
{
    for (const struct pages_file *f = pages_files; f->path; f++)
        if (strcmp(f->path, path) == 0)
            return f;
    return NULL;
}

/* A page of the dashboard is neither an address of the API nor a file. Files are at the top, with
 * an ending, and below /assets; after a page's first part come names, such as a host's, and these
 * have dots. */
static bool is_page(const struct uri *u)
{
    if (u->segment_count == 0)
        return true;
    const char *top = u->segments[0];
    return strcmp(top, "api") != 0 && strcmp(top, "assets") != 0 &&
           (u->segment_count > 1 || strchr(top, '.') == NULL);
}

/* Answers with the smallest form that the client accepts. The tag is that of the uncompressed
 * bytes, since the meaning is equal. */
static void send_file(struct http_request *r, const struct pages_file *f)
{
    size_t size = (size_t)(f->plain.end - f->plain.begin);
    bool brotli = f->brotli.begin && http_field_has(r, "Accept-Encoding", "br");
    bool gzip = !brotli && f->gzip.begin && http_field_has(r, "Accept-Encoding", "gzip");
    const struct pages_bytes *b = brotli ? &f->brotli : gzip ? &f->gzip : &f->plain;
    char tag[32];
    http_send_static(r, 200, type_of(f->path), b->begin, (size_t)(b->end - b->begin));
    snprintf(tag, sizeof tag, "W/\"%016llx\"",
             (unsigned long long)intern_hash((const char *)f->plain.begin, size));
    http_set(r, "ETag", tag);
    if (!brotli && !gzip)
        return; /* http_answer.c adds Vary */
    http_set(r, "Content-Encoding", brotli ? "br" : "gzip");
    http_set(r, "Vary", "Accept-Encoding");
}

bool pages_answer(struct http_request *r)
{
    if (r->method != HTTP_GET && r->method != HTTP_HEAD)
        return false;
    const struct pages_file *f = find(r->uri.path);
    if (!f && is_page(&r->uri)) {
        f = find("/index.html");
        if (!f && r->uri.segment_count == 0) {
            http_send_static(r, 200, TYPES[0].type, PLAIN, sizeof PLAIN - 1);
            return true;
        }
    }
    if (!f)
        return false;
    send_file(r, f);
    /* The bundler names what is under /assets by its content. */
    if (strncmp(f->path, "/assets/", 8) == 0)
        http_set(r, "Cache-Control", "public, max-age=31536000, immutable");
    return true;
}
