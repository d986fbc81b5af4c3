/* uri.c - see uri.h. It is strict: text that two readers could understand differently is
 * refused. */
#include "net/server/uri.h"

#include "base/buf.h"

#include <stdbool.h>
#include <string.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns true for valid UTF-8 without control characters. */
static bool clean(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        if (c < 0x20 || c == 0x7f)
            return false;
        size_t len = c < 0x80 ? 1 : utf8_sequence((const unsigned char *)s + i, n - i);
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

/* Decodes n bytes at s into the region. NULL with *e set. */
static const char *decode(const char *s, size_t n, bool plus, struct region *a, struct err *e)
{
    char *out = region_take(a, n + 1);
    if (!out) {
        err_set(e, GPUFL_E_NOMEM, "the request is too large");
        return NULL;
    }
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '%') {
            int high = n - i > 2 ? hex(s[i + 1]) : -1, low = n - i > 2 ? hex(s[i + 2]) : -1;
            if (high < 0 || low < 0) {
                err_set(e, GPUFL_E_INVAL,
                        "the address has a '%%' that is not followed by two "
                        "hexadecimal digits");
                return NULL;
            }
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        out[len++] = c;
    }
    if (!clean(out, len)) {
        err_set(e, GPUFL_E_INVAL, "the address has control characters, or text that is not UTF-8");
        return NULL;
    }
    out[len] = '\0';
    return out;
}

static int parse_path(struct uri *u, const char *s, size_t n, struct region *a, struct err *e)
{
    for (size_t at = 1; at < n;) {
        const char *slash = memchr(s + at, '/', n - at);
        size_t len = slash ? (size_t)(slash - (s + at)) : n - at;
        if (u->segment_count == URI_SEGMENTS_MAX)
            return err_set(e, GPUFL_E_INVAL, "the path has more than %d parts", URI_SEGMENTS_MAX);
        const char *text = decode(s + at, len, false, a, e);
        if (!text)
            return e->code;
        if (*text == '\0' || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
            return err_set(e, GPUFL_E_INVAL, "the path has an empty part, or '.' or '..'");
        u->segments[u->segment_count++] = text;
        at += len + 1;
    }
    return 0;
}

static int parse_query(struct uri *u, const char *s, struct region *a, struct err *e)
{
    while (*s) {
        size_t n = strcspn(s, "&");
        const char *equals = memchr(s, '=', n);
        size_t name = equals ? (size_t)(equals - s) : n;
        if (n) {
            if (u->pair_count == URI_PAIRS_MAX)
                return err_set(e, GPUFL_E_INVAL, "the query has more than %d parameters",
                               URI_PAIRS_MAX);
            struct uri_pair *p = &u->pairs[u->pair_count];
            p->name = decode(s, name, true, a, e);
            if (!p->name)
                return e->code;
            p->value = equals ? decode(equals + 1, n - name - 1, true, a, e) : "";
            if (!p->value)
                return e->code;
            u->pair_count++;
        }
        s += n + (s[n] == '&');
    }
    return 0;
}

int uri_parse(struct uri *u, const char *target, struct region *a, struct err *e)
{
    struct err own;
    if (!e)
        e = &own;
    *u = (struct uri){.path = "/"};
    if (*target != '/')
        return err_set(e, GPUFL_E_INVAL, "the request's target must begin with '/'");
    size_t n = strcspn(target, "?#");
    if (target[n] == '#')
        return err_set(e, GPUFL_E_INVAL, "a '#' does not belong into a request");
    u->path = region_copy(a, target, n);
    if (!u->path) {
        u->path = "/";
        return err_set(e, GPUFL_E_NOMEM, "the request is too large");
    }
    int rc = parse_path(u, target, n, a, e);
    return rc || target[n] == '\0' ? rc : parse_query(u, target + n + 1, a, e);
}

const char *uri_query(const struct uri *u, const char *name)
{
    for (unsigned i = 0; i < u->pair_count; i++)
        if (strcmp(u->pairs[i].name, name) == 0)
            return u->pairs[i].value;
    return NULL;
}
