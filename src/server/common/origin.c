/* origin.c - makes comparisons of whole texts: nothing is parsed that could be understood in two
 * ways. */
#include "server/common/origin.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

int origin_init(struct origin *o, bool local, bool tls, uint16_t port, const char *public_url,
                struct err *e)
{
    *o = (struct origin){.local = local, .tls = tls, .port = port};
    if (!public_url || !*public_url)
        return 0;
    size_t scheme = strncmp(public_url, "https://", 8) == 0  ? 8
                    : strncmp(public_url, "http://", 7) == 0 ? 7
                                                             : 0;
    size_t n = scheme + strcspn(public_url + scheme, "/?#@ ");
    if (!scheme || n == scheme || n >= sizeof o->url ||
        (public_url[n] && strcmp(public_url + n, "/") != 0))
        return err_set(e, GPUFL_E_INVAL,
                       "--public-url '%s' is not like https://gpu.example.org or "
                       "https://gpu.example.org:8443: scheme, host and port, no path",
                       public_url);
    memcpy(o->url, public_url, n);
    return 0;
}

/* Returns true if text is name:port of this server's loopback, with any name of loopback. */
static bool loopback(const struct origin *o, const char *text)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    char want[32];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(want, sizeof want, "%s:%u", names[i], o->port);
        if (strcasecmp(text, want) == 0)
            return true;
    }
    return false;
}

static bool writes(enum http_method m)
{
    return m != HTTP_GET && m != HTTP_HEAD && m != HTTP_OPTIONS;
}

/* Returns true if an Origin is the one to which this request was sent. */
static bool own(const struct origin *o, const char *from, const char *host)
{
    const char *scheme = o->tls ? "https://" : "http://";
    size_t n = strlen(scheme);
    if (o->url[0])
        return strcasecmp(from, o->url) == 0;
    return strncmp(from, scheme, n) == 0 && strcasecmp(from + n, host) == 0;
}

bool origin_ok(const struct origin *o, const struct http_request *r, const char **why)
{
    const char *host = http_field(r, "Host"), *from = http_field(r, "Origin");
    const char *site = http_field(r, "Sec-Fetch-Site");
    host = host ? host : "";
    *why = NULL;
    if (o->local && !loopback(o, host))
        *why = "This server answers only as the loopback address that it printed.";
    else if (o->local && from && !own(o, from, host))
        *why = "Pages of other origins may not ask this server.";
    else if (writes(r->method) && from && !own(o, from, host))
        *why = "Pages of other origins may not change anything here. Is --public-url set to the "
               "address in the browser?";
    else if ((o->local || writes(r->method)) && site && strcmp(site, "cross-site") == 0 && !from)
        *why = "Pages of other sites may not ask this.";
    return !*why;
}
