/* http_answer.c - turns a handler's answer into the bytes that are sent.
 *
 * Two steps: complete, on the worker, does what takes time (a tag of the content, the comparison
 * with the client's, compression); response, on the connection's thread, only wraps. Tags are weak,
 * since they are the same for compressed and uncompressed bodies.
 *
 * Every answer has the fields that make a browser strict: nothing is loaded from elsewhere, no
 * inline script runs, no other page may frame or read it. */
#include "net/server/http_inside.h"
#include "net/server/http_pipe.h"
#include "net/server/http_send.h"
#include "net/server/http_stream.h"

#include "base/alloc.h"
#include "base/intern.h"
#include "base/zmem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

enum {
    COMPRESS_LEAST = 2048,    /* bytes: a shorter body is sent plain */
    COMPRESS_WELL = 64 << 10, /* bytes: up to here a body is packed well */
    LEVEL_WELL = 5,
    LEVEL_FAST = 1
};

/* Lists the fields of every answer. */
static const struct http_field ALWAYS[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

/* Lists fields that have a meaning only for pages; other answers leave them out. */
static const struct http_field PAGE[] = {
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Permissions-Policy", "camera=(), geolocation=(), microphone=(), usb=()"},
};

/* This is the policy of a page; everything that is not a page may load nothing. */
static const char POLICY_PAGE[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src "
    "'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'";
/* This is the policy of a script: a worker is under its own file's policy, and may ask this
 * server. */
static const char POLICY_SCRIPT[] =
    "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'";
static const char POLICY_DATA[] = "default-src 'none'; frame-ancestors 'none'";

void http_answer_drop(struct http_request *r)
{
    struct http_answer *a = &r->answer;
    buf_fini(&a->body);
    if (a->fd >= 0)
        close(a->fd);
    if (a->stream)
        http_stream_drop(a->stream);
    if (a->pipe)
        http_pipe_drop(a->pipe);
    *a = (struct http_answer){.fd = -1};
}

/* ---- complete -------------------------------------------------------------------------------- */

bool http_tag_known(const struct http_request *r, const char *tag)
{
    const char *list = http_field(r, "If-None-Match");
    if (!list)
        return false;
    tag +=
        strncmp(tag, "W/", 2) == 0 ? 2 : 0; /* compared as weak ones; the quotes are part of it */
    return strcmp(list, "*") == 0 || strstr(list, tag) != NULL;
}

static const char *field_of(const struct http_answer *a, const char *name)
{
    for (unsigned i = 0; i < a->field_count; i++)
        if (strcasecmp(a->fields[i].name, name) == 0)
            return a->fields[i].value;
    return NULL;
}

static void tag(struct http_request *r)
{
    struct http_answer *a = &r->answer;
    if (!a->cacheable || a->status != 200 || (r->method != HTTP_GET && r->method != HTTP_HEAD))
        return;
    char text[32];
    const char *own = field_of(a, "ETag");
    if (!own) {
        const void *data = a->kind == HTTP_ANSWER_BODY ? a->body.data : a->bytes;
        size_t n = a->kind == HTTP_ANSWER_BODY ? a->body.len : (size_t)a->size;
        if (!data || a->kind == HTTP_ANSWER_FILE)
            return;
        snprintf(text, sizeof text, "W/\"%016llx\"", (unsigned long long)intern_hash(data, n));
        http_set(r, "ETag", text);
        own = text;
    }
    if (!http_tag_known(r, own))
        return;
    buf_fini(&a->body);
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    a->kind = HTTP_ANSWER_STATIC;
    a->status = 304;
    a->bytes = NULL;
    a->size = 0;
    a->type = NULL;
}

static bool compressible(const char *type)
{
    return type && (strncmp(type, "text/", 5) == 0 || strstr(type, "json") ||
                    strstr(type, "javascript") || strstr(type, "svg"));
}

/* Replaces the body by its gzip; after a failure the body stays unchanged. */
static void compress_body(struct http_request *r)
{
    struct http_answer *a = &r->answer;
    struct buf out;
    z_stream z = {.zalloc = zmem_alloc, .zfree = zmem_free};
    int level = a->body.len <= COMPRESS_WELL ? LEVEL_WELL : LEVEL_FAST;
    if (deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    size_t bound = deflateBound(&z, a->body.len);
    buf_init(&out, bound);
    if (buf_reserve(&out, bound) == 0) {
        z.next_in = (Bytef *)a->body.data;
        z.avail_in = (uInt)a->body.len;
        z.next_out = (Bytef *)out.data;
        z.avail_out = (uInt)bound;
        if (deflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out < a->body.len) {
            out.len = z.total_out;
            struct buf swap = a->body;
            a->body = out;
            out = swap;
            http_set(r, "Content-Encoding", "gzip");
        }
    }
    deflateEnd(&z);
    buf_fini(&out);
}

void http_answer_complete(struct http_request *r)
{
    struct http_answer *a = &r->answer;
    if (a->kind == HTTP_ANSWER_BODY && buf_error(&a->body))
        http_problem(r, 503, "The answer is too large; ask for less of it.");
    tag(r);
    if (!compressible(a->type) || field_of(a, "ETag") == NULL || field_of(a, "Content-Encoding"))
        return; /* problems, small answers and compressed bodies stay unchanged */
    http_set(r, "Vary", "Accept-Encoding");
    if (a->kind == HTTP_ANSWER_BODY && r->transport->server->config.compress &&
        a->body.len >= COMPRESS_LEAST && a->body.len < UINT32_MAX &&
        http_field_has(r, "Accept-Encoding", "gzip"))
        compress_body(r);
}

/* ---- response -------------------------------------------------------------------------------- */

static struct MHD_Response *wrap_body(struct http_answer *a)
{
    struct MHD_Response *m =
        MHD_create_response_from_buffer_with_free_callback(a->body.len, a->body.data, mem_free);
    if (m)
        a->body = (struct buf){0}; /* libmicrohttpd's from here on */
    return m;
}

static struct MHD_Response *wrap(struct http_request *r)
{
    struct http_answer *a = &r->answer;
    struct MHD_Response *m = NULL;
    switch (a->kind) {
    case HTTP_ANSWER_BODY:
        if (a->body.len)
            return wrap_body(a);
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    case HTTP_ANSWER_NONE:
    case HTTP_ANSWER_STATIC:
        return MHD_create_response_from_buffer((size_t)a->size, (void *)(uintptr_t)a->bytes,
                                               MHD_RESPMEM_PERSISTENT);
    case HTTP_ANSWER_FILE:
        m = MHD_create_response_from_fd64(a->size, a->fd);
        if (m)
            a->fd = -1;
        return m;
    case HTTP_ANSWER_STREAM:
        m = http_stream_response(a->stream, r->transport->connection, &r->transport->sent);
        if (m)
            a->stream = NULL;
        return m;
    case HTTP_ANSWER_PIPE:
        m = http_pipe_response(a->pipe, r->transport->connection, &r->transport->sent);
        if (m)
            a->pipe = NULL;
        return m;
    }
    return m;
}

static uint64_t answer_size(const struct http_answer *a)
{
    return a->kind == HTTP_ANSWER_BODY ? a->body.len : a->size;
}

static bool is_page(const char *type)
{
    return type && strncmp(type, "text/html", 9) == 0;
}

static const char *policy_of(const char *type)
{
    if (is_page(type))
        return POLICY_PAGE;
    return type && strncmp(type, "text/javascript", 15) == 0 ? POLICY_SCRIPT : POLICY_DATA;
}

struct MHD_Response *http_answer_response(struct http_request *r)
{
    struct http_answer *a = &r->answer;
    if (r->method != HTTP_HEAD)
        atomic_store_explicit(&r->transport->sent, answer_size(a), memory_order_relaxed);
    struct MHD_Response *m = wrap(r);
    if (!m)
        return NULL;
    for (size_t i = 0; i < sizeof ALWAYS / sizeof ALWAYS[0]; i++)
        MHD_add_response_header(m, ALWAYS[i].name, ALWAYS[i].value);
    for (size_t i = 0; i < sizeof PAGE / sizeof PAGE[0] && is_page(a->type); i++)
        MHD_add_response_header(m, PAGE[i].name, PAGE[i].value);
    if (a->status != 304) /* else a page in the browser's cache would get the policy for data */
        MHD_add_response_header(m, "Content-Security-Policy", policy_of(a->type));
    MHD_add_response_header(m, "X-Request-Id", r->id);
    bool cache = false;
    for (unsigned i = 0; i < a->field_count; i++) {
        MHD_add_response_header(m, a->fields[i].name, a->fields[i].value);
        cache = cache || strcasecmp(a->fields[i].name, "Cache-Control") == 0;
    }
    if (!cache)
        MHD_add_response_header(m, "Cache-Control",
                                a->cacheable ? "private, no-cache" : "no-store");
    if (a->type)
        MHD_add_response_header(m, "Content-Type", a->type);
    const struct http_server *s = r->transport->server;
    if (s->config.tls_cert)
        MHD_add_response_header(m, "Strict-Transport-Security", "max-age=31536000");
    if (a->close || atomic_load_explicit(&s->quiet, memory_order_relaxed))
        MHD_add_response_header(m, "Connection", "close");
    return m;
}
