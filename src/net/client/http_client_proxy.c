/* http_client_proxy.c - chooses the environment's proxy for a request; see http_client.h.
 *
 * libcurl reads the same variables by itself. The choice is made here nevertheless, and given to
 * libcurl: a key for a server on this machine must not go to a proxy, and messages about the
 * connection (unencrypted, through which proxy) must be true. */
#include "net/client/http_client.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HOST_MAX = 256 };

/* This is a host as a name, or as an address. */
struct host {
    char text[HOST_MAX]; /* without brackets, port, zone and final dots; "" if it does not fit */
    int family;          /* AF_INET, AF_INET6; 0: a name */
    uint8_t bytes[16];
};

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10 : -1;
}

/* Takes "%6c" as "l", as libcurl does in names and addresses of IPv4. */
static void decode(char *text)
{
    char *out = text;
    for (const char *at = text; *at; at++) {
        bool escaped = at[0] == '%' && hex(at[1]) >= 0 && hex(at[2]) >= 0;
        *out++ = escaped ? (char)(hex(at[1]) * 16 + hex(at[2])) : *at;
        at += escaped ? 2 : 0;
    }
    *out = '\0';
}

static void read_host(struct host *h, const char *at, size_t len)
{
    struct in_addr four;
    *h = (struct host){0};
    if (len >= 2 && at[0] == '[' && at[len - 1] == ']') {
        at++;
        len -= 2;
    }
    if (len >= sizeof h->text)
        return;
    memcpy(h->text, at, len);
    if (strchr(h->text, ':')) { /* of IPv6; its zone says which link, not which address */
        h->text[strcspn(h->text, "%")] = '\0';
        h->family = inet_pton(AF_INET6, h->text, h->bytes) == 1 ? AF_INET6 : 0;
        return;
    }
    decode(h->text);
    for (len = strlen(h->text); len && h->text[len - 1] == '.'; len--)
        h->text[len - 1] = '\0';
    if (inet_aton(h->text, &four)) { /* also 127.1, as libcurl takes it */
        memcpy(h->bytes, &four, sizeof four);
        h->family = AF_INET;
    }
}

/* Returns true if the host has letters that libcurl replaces before it resolves the name: it reads
 * wide and circled digits as ordinary ones. */
static bool is_rewritten(const struct host *h)
{
    for (const char *c = h->text; *c; c++)
        if ((unsigned char)*c >= 0x80)
            return true;
    return false;
}

/* Takes the host of a clean URL, or of an entry of no_proxy, which may have a port, too. */
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

/* Returns an IPv4 address, also one that is mapped into IPv6; NULL: the host has none. */
static const uint8_t *four_of(const struct host *h)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (h->family == AF_INET)
        return h->bytes;
    return h->family && !memcmp(h->bytes, mapped, sizeof mapped) ? h->bytes + sizeof mapped : NULL;
}

static bool is_loopback(const struct host *h)
{
    static const uint8_t one[16] = {[15] = 1};
    const uint8_t *four = four_of(h);
    if (!h->family)
        return name_ends(h->text, "localhost");
    return four ? four[0] == 127 : !memcmp(h->bytes, one, sizeof one);
}

/* Returns true for 0.0.0.0 and ::, with which a connection reaches this machine. */
static bool is_unspecified(const struct host *h)
{
    static const uint8_t none[16];
    const uint8_t *four = four_of(h);
    return h->family && !memcmp(four ? four : h->bytes, none, four ? 4 : sizeof none);
}

bool http_client_is_loopback(const char *clean_url)
{
    struct host h;
    host_of(&h, clean_url);
    return is_loopback(&h);
}

bool http_client_is_here(const char *clean_url)
{
    struct host h;
    host_of(&h, clean_url);
    return is_loopback(&h) || is_unspecified(&h);
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

/* An entry is "*", a name (for itself and names that end with it), an address, or a network with
 * its bits. */
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
    /* HTTP_PROXY in capitals is ignored: it may come from a field of a request (httpoxy). */
    static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
    static const char *const tls[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL};
    const char *proxy = set_variable(strncmp(clean_url, "http://", 7) == 0 ? plain : tls);
    struct host h;
    out[0] = '\0';
    if (!proxy || http_client_is_here(clean_url) || is_excepted(clean_url))
        return 0;
    host_of(&h, clean_url);
    if (is_rewritten(&h))
        return err_set(e, GPUFL_E_INVAL,
                       "%s: through a proxy the server's name has to be written in ASCII, as in "
                       "xn--: other letters can name this machine",
                       clean_url);
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
    for (size_t i = 0; i < len; i++) /* the last '@' ends the name and password */
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
