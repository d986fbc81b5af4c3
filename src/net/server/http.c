/* http.c - has functions for handlers: fields of the request, and the answer. */
#include "net/server/http.h"

#include "net/server/http_inside.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { PROBLEM_MAX = 8192 };

static const struct {
    int status;
    const char *text;
} STATUSES[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {303, "See Other"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {507, "Insufficient Storage"},
};

const char *http_status_text(int status)
{
    for (size_t i = 0; i < sizeof STATUSES / sizeof STATUSES[0]; i++)
        if (STATUSES[i].status == status)
            return STATUSES[i].text;
    return "Unknown";
}

const char *http_method_name(enum http_method m)
{
    static const char *const names[] = {
#define HTTP_METHOD_NAME(name) #name,
        HTTP_METHODS(HTTP_METHOD_NAME)
#undef HTTP_METHOD_NAME
    };
    return m < HTTP_OTHER ? names[m] : "?";
}

const char *http_field(const struct http_request *r, const char *name)
{
    for (unsigned i = 0; i < r->field_count; i++)
        if (strcasecmp(r->fields[i].name, name) == 0)
            return r->fields[i].value;
    return NULL;
}

unsigned http_field_count(const struct http_request *r, const char *name)
{
    unsigned n = 0;
    for (unsigned i = 0; i < r->field_count; i++)
        n += strcasecmp(r->fields[i].name, name) == 0;
    return n;
}

/* Returns true if the parameters of a list's word exclude it: ";q=0", "; q=0.0". */
static bool refused(const char *parameters, size_t n)
{
    const char *q = memmem(parameters, n, "q=", 2);
    if (!q)
        return false;
    size_t left = n - (size_t)(q - parameters) - 2;
    for (q += 2; left && (*q == '0' || *q == '.'); q++)
        left--;
    return left == 0 || *q < '1' || *q > '9';
}

static bool list_has(const char *list, const char *word)
{
    size_t want = strlen(word);
    while (*list) {
        list += strspn(list, " \t,");
        size_t n = strcspn(list, ","), name = 0;
        while (name < n && list[name] != ';' && list[name] != ' ' && list[name] != '\t')
            name++;
        if (name == want && strncasecmp(list, word, want) == 0)
            return !refused(list + name, n - name);
        list += n;
    }
    return false;
}

bool http_field_has(const struct http_request *r, const char *name, const char *word)
{
    for (unsigned i = 0; i < r->field_count; i++)
        if (strcasecmp(r->fields[i].name, name) == 0 && list_has(r->fields[i].value, word))
            return true;
    return false;
}

const char *http_cookie(struct http_request *r, const char *name)
{
    size_t want = strlen(name);
    for (unsigned i = 0; i < r->field_count; i++) {
        if (strcasecmp(r->fields[i].name, "Cookie") != 0)
            continue;
        for (const char *s = r->fields[i].value; *s;) {
            s += strspn(s, " \t;");
            size_t n = strcspn(s, ";");
            if (n > want && s[want] == '=' && memcmp(s, name, want) == 0)
                return region_copy(&r->memory, s + want + 1, n - want - 1);
            s += n;
        }
    }
    return NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void problem(struct http_request *r, int status, const char *parameter, const char *detail,
                    va_list args)
{
    char text[1024];
    if (vsnprintf(text, sizeof text, detail, args) < 0)
        text[0] = '\0';
    /* Sentences of struct err begin with a small letter. */
    text[0] = (char)toupper((unsigned char)text[0]);
    struct buf *b = http_body(r, PROBLEM_MAX);
    buf_str(b, "{\"type\":\"about:blank\",\"title\":");
    buf_json_str(b, http_status_text(status));
    buf_printf(b, ",\"status\":%d,\"detail\":", status);
    buf_json_str(b, text);
    if (parameter) {
        buf_str(b, ",\"parameter\":");
        buf_json_str(b, parameter);
    }
    buf_str(b, ",\"request\":");
    buf_json_str(b, r->id);
    buf_str(b, "}\n");
    if (buf_error(b))
        buf_clear(b); /* the status has to suffice */
    http_send(r, status, "application/problem+json");
    r->answer.cacheable = false;
    if (status == 503)
        http_set(r, "Retry-After", "1");
}

void http_problem(struct http_request *r, int status, const char *detail, ...)
{
    va_list args;
    va_start(args, detail);
    problem(r, status, NULL, detail, args);
    va_end(args);
}

void http_problem_of(struct http_request *r, int status, const char *parameter, const char *detail,
                     ...)
{
    va_list args;
    va_start(args, detail);
    problem(r, status, parameter, detail, args);
    va_end(args);
}

void http_nomem(struct http_request *r)
{
    http_problem(r, 503, HTTP_NOMEM);
}

struct buf *http_body(struct http_request *r, size_t max)
{
    http_answer_drop(r);
    buf_init(&r->answer.body, max);
    return &r->answer.body;
}

void http_send(struct http_request *r, int status, const char *type)
{
    r->answer.kind = HTTP_ANSWER_BODY;
    r->answer.status = status;
    r->answer.type = type;
    r->answer.cacheable = status == 200;
}

void http_send_static(struct http_request *r, int status, const char *type, const void *bytes,
                      size_t size)
{
    http_answer_drop(r);
    r->answer.kind = HTTP_ANSWER_STATIC;
    r->answer.status = status;
    r->answer.type = type;
    r->answer.bytes = bytes;
    r->answer.size = size;
    r->answer.cacheable = status == 200;
}

void http_send_file(struct http_request *r, const char *type, int fd, uint64_t size)
{
    http_answer_drop(r);
    r->answer.kind = HTTP_ANSWER_FILE;
    r->answer.status = 200;
    r->answer.type = type;
    r->answer.fd = fd;
    r->answer.size = size;
}

void http_send_nothing(struct http_request *r, int status)
{
    http_send_static(r, status, NULL, NULL, 0);
    r->answer.cacheable = false;
}

void http_send_stream(struct http_request *r, struct http_stream *s)
{
    http_answer_drop(r);
    r->answer.kind = HTTP_ANSWER_STREAM;
    r->answer.status = 200;
    r->answer.type = "text/event-stream";
    r->answer.stream = s;
    r->answer.close = true;
}

void http_send_pipe(struct http_request *r, const char *type, struct http_pipe *p)
{
    http_answer_drop(r);
    r->answer.kind = HTTP_ANSWER_PIPE;
    r->answer.status = 200;
    r->answer.type = type;
    r->answer.pipe = p;
}

void http_set(struct http_request *r, const char *name, const char *value)
{
    struct http_answer *a = &r->answer;
    if (a->field_count == HTTP_ANSWER_FIELDS)
        return;
    const char *n = region_strdup(&r->memory, name), *v = region_strdup(&r->memory, value);
    if (n && v)
        a->fields[a->field_count++] = (struct http_field){n, v};
}
