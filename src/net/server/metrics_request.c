/* metrics_request.c - see metrics_request.h. */
#include "net/server/metrics_request.h"

#include <string.h>
#include <strings.h>

/* This is a piece of the head: neither terminated nor owned. */
struct piece {
    const char *at;
    size_t len;
};

static bool piece_is(struct piece p, const char *text)
{
    return p.len == strlen(text) && memcmp(p.at, text, p.len) == 0;
}

/* Removes and returns the text before the next `end`, and removes `end`, too; all of it if there is
 * none. */
static struct piece take(struct piece *rest, char end)
{
    const char *at = memchr(rest->at, end, rest->len);
    struct piece taken = {rest->at, at ? (size_t)(at - rest->at) : rest->len};
    size_t off = taken.len + (at != NULL);
    rest->at += off;
    rest->len -= off;
    return taken;
}

static struct piece take_line(struct piece *rest)
{
    struct piece line = take(rest, '\n');
    if (line.len && line.at[line.len - 1] == '\r')
        line.len--;
    return line;
}

static struct piece take_word(struct piece *rest)
{
    return take(rest, ' ');
}

/* Sets head to the lines before the empty one that ends it; false: that line has not come. */
static bool whole_head(const char *bytes, size_t len, struct piece *head)
{
    struct piece rest = {bytes, len};
    while (memchr(rest.at, '\n', rest.len)) {
        *head = (struct piece){bytes, (size_t)(rest.at - bytes)};
        if (take_line(&rest).len == 0)
            return true;
    }
    return false;
}

/* Returns true if the fields are well formed, with exactly one Host if the version needs one. */
static bool fields_right(struct piece rest, bool host_wanted)
{
    static const char host[] = "Host:";
    unsigned hosts = 0;
    while (rest.len) {
        struct piece line = take_line(&rest);
        const char *colon = memchr(line.at, ':', line.len);
        if (!colon || colon == line.at || *line.at == ' ' || *line.at == '\t')
            return false;
        hosts += line.len >= sizeof host - 1 && strncasecmp(line.at, host, sizeof host - 1) == 0;
    }
    return hosts == 1 || (hosts == 0 && !host_wanted);
}

static enum metrics_target target_of(struct piece target)
{
    const char *query = memchr(target.at, '?', target.len);
    if (query)
        target.len = (size_t)(query - target.at);
    return piece_is(target, "/metrics")   ? METRICS_SAMPLES
           : piece_is(target, "/healthz") ? METRICS_HEALTH
                                          : METRICS_NONE;
}

struct metrics_request metrics_request_read(const char *bytes, size_t len)
{
    struct metrics_request r = {0};
    struct piece rest;
    if (!whole_head(bytes, len, &rest)) {
        r.status = len >= METRICS_HEAD_MOST ? 431 : 0;
        return r;
    }
    bool zero = memchr(rest.at, '\0', rest.len) != NULL;
    struct piece line = take_line(&rest);
    struct piece method = take_word(&line), target = take_word(&line), version = line;
    r.head = piece_is(method, "HEAD");
    r.target = target_of(target);
    bool v11 = piece_is(version, "HTTP/1.1"), v10 = piece_is(version, "HTTP/1.0");
    bool http = version.len > 5 && memcmp(version.at, "HTTP/", 5) == 0;
    bool known = v11 || v10;
    if (zero || !method.len || !target.len || !http || (known && !fields_right(rest, v11)))
        r.status = 400;
    else if (!known)
        r.status = 505;
    else if (r.target == METRICS_NONE)
        r.status = 404;
    else
        r.status = r.head || piece_is(method, "GET") ? 200 : 405;
    return r;
}

static const struct {
    int status;
    const char *text, *advice;
} statuses[] = {
    {200, "OK", ""},
    {400, "Bad Request", "This is no request of HTTP/1.1."},
    {404, "Not Found", "There are /metrics and /healthz here."},
    {405, "Method Not Allowed", "Ask with GET."},
    {431, "Request Header Fields Too Large", "The head of the request has more than 8 KiB."},
    {503, "Service Unavailable", "There is no memory for the page."},
    {505, "HTTP Version Not Supported", "Ask with HTTP/1.1."},
};

const char *metrics_status_text(int status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    return "";
}

const char *metrics_status_advice(int status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status)
            return statuses[i].advice;
    return "";
}
