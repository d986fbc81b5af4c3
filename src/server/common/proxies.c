/* proxies.c - see proxies.h. Lists are read from their end, where trusted proxies write: what
 * stands before the first address that is not theirs is never looked at. */
#include "server/common/proxies.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

int proxies_init(struct proxies *p, const char *list, struct err *e)
{
    *p = (struct proxies){0};
    for (const char *s = list ? list : ""; *s;) {
        s += strspn(s, ", ");
        size_t n = strcspn(s, ", ");
        if (n && p->count == PROXIES_MAX)
            return err_set(e, GPUFL_E_INVAL, "--trusted-proxy takes %d networks", PROXIES_MAX);
        if (n && !address_net_parse(s, n, &p->nets[p->count]))
            return err_set(e, GPUFL_E_INVAL,
                           "--trusted-proxy '%.*s' is no network like 10.0.0.0/8, fd00::/8 or "
                           "192.0.2.7 (without bits after the network's)",
                           (int)n, s);
        p->count += n > 0;
        s += n;
    }
    return 0;
}

static bool is_trusted(const struct proxies *p, const uint8_t address[16])
{
    for (unsigned i = 0; i < p->count; i++)
        if (address_net_has(&p->nets[i], address))
            return true;
    return false;
}

/* Reads an address as proxies write it: "192.0.2.7", "192.0.2.7:4711", "2001:db8::7",
 * "[2001:db8::7]:4711". */
static bool read_node(const char *text, size_t len, uint8_t out[16])
{
    const char *end = len && *text == '[' ? memchr(text, ']', len) : NULL;
    const char *colon = memchr(text, ':', len);
    if (end)
        return address_bytes(text + 1, (size_t)(end - text) - 1, out);
    if (colon && !memchr(colon + 1, ':', len - (size_t)(colon - text) - 1))
        len = (size_t)(colon - text); /* IPv4 and a port */
    return address_bytes(text, len, out);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void trim(const char **text, size_t *len)
{
    while (*len && is_blank(**text)) {
        ++*text;
        --*len;
    }
    while (*len && is_blank((*text)[*len - 1]))
        --*len;
}

/* Finds the value of `for` in an element of Forwarded, without quotes; false: the element has
 * none. */
static bool find_for(const char **text, size_t *len)
{
    const char *at = *text, *end = *text + *len;
    while (at < end) {
        const char *semicolon = memchr(at, ';', (size_t)(end - at));
        const char *pair = at;
        size_t n = (size_t)((semicolon ? semicolon : end) - at);
        trim(&pair, &n);
        if (n > 4 && strncasecmp(pair, "for=", 4) == 0) {
            *text = pair + 4;
            *len = n - 4;
            if (*len > 1 && **text == '"' && (*text)[*len - 1] == '"') {
                ++*text;
                *len -= 2;
            }
            return true;
        }
        at = semicolon ? semicolon + 1 : end;
    }
    return false;
}

/* Walks a field's list from its end. True: the walk is over, and client is the last address that
 * was believed. */
static bool walk(const struct proxies *p, const char *list, bool forwarded, uint8_t client[16])
{
    for (const char *end = list + strlen(list); end > list;) {
        const char *at = end;
        while (at > list && at[-1] != ',')
            at--;
        const char *text = at;
        size_t len = (size_t)(end - at);
        uint8_t node[16];
        trim(&text, &len);
        if (len && ((forwarded && !find_for(&text, &len)) || !read_node(text, len, node)))
            return true; /* unknown, or hidden by the proxy */
        if (len)
            memcpy(client, node, sizeof node);
        if (len && !is_trusted(p, node))
            return true;
        end = at > list ? at - 1 : list;
    }
    return false;
}

static const char *peer_of(struct http_request *r, const uint8_t address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char text[INET6_ADDRSTRLEN] = "?";
    if (memcmp(address, mapped, sizeof mapped) == 0)
        inet_ntop(AF_INET, address + sizeof mapped, text, sizeof text);
    else
        inet_ntop(AF_INET6, address, text, sizeof text);
    const char *copy = region_strdup(&r->memory, text);
    return copy ? copy : r->peer;
}

void proxies_client(const struct proxies *p, struct http_request *r)
{
    uint8_t client[16];
    bool forwarded = http_field_count(r, "Forwarded") > 0;
    const char *name = forwarded ? "Forwarded" : "X-Forwarded-For";
    if (!p->count || !address_bytes(r->peer, strlen(r->peer), client) || !is_trusted(p, client) ||
        (forwarded && http_field_count(r, "X-Forwarded-For")))
        return;
    bool over = false;
    for (unsigned i = r->field_count; i > 0 && !over; i--)
        if (strcasecmp(r->fields[i - 1].name, name) == 0)
            over = walk(p, r->fields[i - 1].value, forwarded, client);
    r->peer = peer_of(r, client);
}
