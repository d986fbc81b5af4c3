/* http_header.c - reads the header of a request: the header is copied, and refused where two
 * readers could understand it differently.
 *
 * A proxy in front and this server must agree on where a request ends, whose it is and what it
 * is about; what libmicrohttpd accepts in spite of doubt is refused here. Where the length of
 * the body is in doubt the connection ends with the answer: what follows is believed to be
 * neither the body nor the next request. */
#include "net/server/http_inside.h"

#include <string.h>
#include <strings.h>

enum { FIELDS_MAX = 64 };

/* Lists fields that may occur once only: readers differ in which of two they take. */
static const char *const SINGLE[] = {
    "Host",         "Authorization", "Content-Encoding",  "Content-Length",
    "Content-Type", "Origin",        "Transfer-Encoding", "X-CSRF-Token"};

struct field_copy {
    struct http_request *r;
    struct http_field *fields;
    size_t bytes;
    bool too_many, no_memory, no_token;
};

/* Returns true for a token (RFC 9110, 5.6.2). "Content-Length " is another name to some readers,
 * and the same name to others. */
static bool is_token(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789!#$%&'*+-.^_`|~";
    return *name && name[strspn(name, letters)] == '\0';
}

static enum MHD_Result copy_field(void *cls, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    (void)kind;
    struct field_copy *f = cls;
    struct http_request *r = f->r;
    f->bytes += strlen(name) + (value ? strlen(value) : 0) + 4;
    f->too_many =
        r->field_count == FIELDS_MAX || f->bytes > r->transport->server->config.header_max;
    f->no_token = !is_token(name);
    if (f->too_many || f->no_token)
        return MHD_NO;
    struct http_field *field = &f->fields[r->field_count];
    field->name = region_strdup(&r->memory, name);
    field->value = region_strdup(&r->memory, value ? value : "");
    f->no_memory = !field->name || !field->value;
    if (f->no_memory)
        return MHD_NO;
    r->field_count++;
    return MHD_YES;
}

static void copy_fields(struct http_request *r)
{
    struct field_copy f = {.r = r};
    f.fields = region_array(&r->memory, FIELDS_MAX, sizeof *f.fields);
    if (f.fields) {
        r->fields = f.fields;
        MHD_get_connection_values(r->transport->connection, MHD_HEADER_KIND, copy_field, &f);
    }
    r->transport->doubtful = !f.fields || f.no_memory || f.too_many || f.no_token;
    if (!f.fields || f.no_memory)
        http_nomem(r);
    else if (f.too_many)
        http_problem(r, 431, "The header has more than %zu bytes or %d fields.",
                     r->transport->server->config.header_max, FIELDS_MAX);
    else if (f.no_token)
        http_problem(r, 400, "The header has a field with an invalid name.");
}

/* A body's length is given once, in one way. */
static void check_length(struct http_request *r)
{
    const char *transfer = http_field(r, "Transfer-Encoding");
    if (!transfer)
        return;
    r->transport->doubtful = true;
    if (http_field(r, "Content-Length"))
        http_problem(r, 400,
                     "There are Content-Length and Transfer-Encoding in the header: where the "
                     "body ends is not clear.");
    else if (strcasecmp(transfer, "chunked") != 0)
        http_problem(r, 501, "Transfer-Encoding may be chunked, and nothing else.");
    else
        r->transport->doubtful = false;
}

void http_header_read(struct http_request *r, const char *version)
{
    copy_fields(r);
    for (size_t i = 0; i < sizeof SINGLE / sizeof SINGLE[0] && !http_answered(r); i++)
        if (http_field_count(r, SINGLE[i]) > 1) {
            http_problem(r, 400, "There is more than one %s in the header.", SINGLE[i]);
            r->transport->doubtful = true;
        }
    if (!http_answered(r))
        check_length(r);
    if (!http_answered(r) && strcmp(version, "HTTP/1.1") == 0 && !http_field(r, "Host"))
        http_problem(r, 400, "There is no Host in the header.");
}
