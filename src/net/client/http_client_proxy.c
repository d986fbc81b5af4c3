/* http_client_proxy.c - chooses the environment's proxy for a request; see http_client.h.
 *
 * libcurl reads the same variables by itself. The choice is made here nevertheless, and handed
 * to libcurl: a key must not go to a proxy for a server on this machine, and what a message says
 * of the connection (unencrypted, through which proxy) has to be what happens. */
#include "net/client/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HOST_MAX = 256 };

/* A host as a name, or as an address. */
struct host {
    char text[HOST_MAX]; /* without brackets, port and final dots; "" where it does not fit */
    int family;          /* AF_INET, AF_INET6; 0: a name */
    uint8_t bytes[16];
};

static void read_host(struct host *h, const char *at, size_t len)
{
    struct in_addr four;
    *h = (struct host){0};
    if (len >= 2 && at[0] == '[' && at[len - 1] == ']') {
        at++;
        len -= 2;
    }
    while (len && at[len - 1] == '.')
        len--;
    if (len >= sizeof h->text)
        return;
    memcpy(h->text, at, len);
    if (inet_pton(AF_INET6, h->text, h->bytes) == 1) {
        h->family = AF_INET6;
    } else if (inet_aton(h->text, &four)) { /* also 127.1, as libcurl takes it */
        memcpy(h->bytes, &four, sizeof four);
        h->family = AF_INET;
    }
}

/* The host of a clean URL, or of an entry of no_proxy, which may have a port, too. */
static void host_of(struct host *h, const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *at = scheme ? scheme + 3 : url;
    size_t len = *at == '[' ? strcspn(at, "]") + 1 : strcspn(at, ":/?#");
    read_host(h, at, len);
}

static bool name_ends(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcasecmp(name + n - m, end) == 0 && (n == m || name[n - m - 1] == '.');
}

bool http_client_is_here(const char *clean_url)
{
    static const uint8_t none[16], one[16] = {[15] = 1}, mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct host h;
    host_of(&h, clean_url);
    const uint8_t *four = h.bytes;
    if (h.family == 0)
        return name_ends(h.text, "localhost");
    if (h.family == AF_INET6 && memcmp(h.bytes, mapped, sizeof mapped) != 0)
        return !memcmp(h.bytes, one, sizeof one) || !memcmp(h.bytes, none, sizeof none);
    if (h.family == AF_INET6)
        four += sizeof mapped;
    return four[0] == 127 || !memcmp(four, none, 4);
}

bool http_client_in_clear(const char *clean_url)
{
    return strncmp(clean_url, "http://", 7) == 0 && !http_client_is_here(clean_url);
}

/* ---- no_proxy ------------------------------------------------------------------------------ */

static bool lies_in(const struct host *h, const struct host *net, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (h->family != net->family || bits > (h->family == AF_INET ? 32U : 128U) ||
        memcmp(h->bytes, net->bytes, whole) != 0)
        return false;
    return !rest || (uint8_t)(h->bytes[whole] ^ net->bytes[whole]) >> (8 - rest) == 0;
}

/* An entry: "*", a name for itself and what ends with it, an address, a network with its bits. */
static bool entry_covers(const char *entry, const struct host *h)
{
    struct host own;
    const char *slash = strchr(entry, '/');
    unsigned bits = 128;
    entry += *entry == '.';
    if (strcmp(entry, "*") == 0)
        return true;
    if (slash)
        read_host(&own, entry, (size_t)(slash - entry));
    else if (strchr(entry, ':') != strrchr(entry, ':') && *entry != '[')
        read_host(&own, entry, strlen(entry)); /* an IPv6 address without brackets */
    else
        host_of(&own, entry);
    if (!own.family)
        return !h->family && *own.text && name_ends(h->text, own.text);
    if (own.family == AF_INET)
        bits = 32;
    if (slash) {
        char *end;
        unsigned long given = strtoul(slash + 1, &end, 10);
        if (end == slash + 1 || *end || given > bits)
            return false;
        bits = (unsigned)given;
    }
    return h->family && lies_in(h, &own, bits);
}

static const char *set_variable(const char *const *names)
{
    for (; *names; names++) {
        const char *value = getenv(*names);
        if (value && *value)
            return value;
    }
    return NULL;
}

static bool is_excepted(const char *clean_url)
{
    static const char *const names[] = {"no_proxy", "NO_PROXY", NULL};
    static const char separators[] = ", \t";
    const char *list = set_variable(names);
    struct host h;
    host_of(&h, clean_url);
    while (list && *(list += strspn(list, separators))) {
        char entry[HOST_MAX + 16];
        size_t len = strcspn(list, separators);
        if (len < sizeof entry) {
            memcpy(entry, list, len);
            entry[len] = '\0';
            if (entry_covers(entry, &h))
                return true;
        }
        list += len;
    }
    return false;
}

/* ---- the choice ---------------------------------------------------------------------------- */

int http_client_find_proxy(const char *clean_url, char *out, size_t size, struct err *e)
{
    /* HTTP_PROXY in capitals may be a field of somebody's request (httpoxy): not taken. */
    static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
    static const char *const tls[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL};
    const char *proxy = set_variable(strncmp(clean_url, "http://", 7) == 0 ? plain : tls);
    out[0] = '\0';
    if (!proxy || http_client_is_here(clean_url) || is_excepted(clean_url))
        return 0;
    for (const char *c = proxy; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return err_set(e, GPUFL_E_INVAL,
                           "the proxy that the environment names for %s has spaces or control "
                           "characters in it",
                           clean_url);
    const char *lead = strstr(proxy, "://") ? "" : "http://";
    if (strlen(lead) + strlen(proxy) >= size)
        return err_set(e, GPUFL_E_INVAL, "the proxy that the environment names for %s is too long",
                       clean_url);
    memcpy(out, lead, strlen(lead));
    memcpy(out + strlen(lead), proxy, strlen(proxy) + 1);
    return 0;
}

void http_client_show_proxy(const char *proxy, char *out, size_t size)
{
    const char *scheme = strstr(proxy, "://");
    const char *host = scheme ? scheme + 3 : proxy, *name = host;
    size_t len = strcspn(host, "/?#");
    for (size_t i = 0; i < len; i++) /* of a name and password the last '@' is the end */
        if (host[i] == '@')
            name = host + i + 1;
    size_t lead = (size_t)(host - proxy), rest = len - (size_t)(name - host);
    out[0] = '\0';
    if (lead + rest >= size)
        return;
    memcpy(out, proxy, lead);
    memcpy(out + lead, name, rest);
    out[lead + rest] = '\0';
}
