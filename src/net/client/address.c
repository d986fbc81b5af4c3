/* address.c - has tables of networks; see address.h. From IANA's registries of special addresses,
 * and the addresses of clouds' metadata services. */
#include "net/client/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const struct {
    uint8_t net[4];
    unsigned bits;
    enum address_kind kind;
} nets4[] = {
    {{100, 100, 100, 200}, 32, ADDRESS_SPECIAL}, /* metadata: Alibaba */
    {{168, 63, 129, 16}, 32, ADDRESS_SPECIAL},   /* metadata: Azure */
    {{0, 0, 0, 0}, 8, ADDRESS_SPECIAL},          /* this machine */
    {{10, 0, 0, 0}, 8, ADDRESS_PRIVATE},
    {{100, 64, 0, 0}, 10, ADDRESS_PRIVATE},  /* addresses of a carrier's NAT */
    {{127, 0, 0, 0}, 8, ADDRESS_SPECIAL},    /* loopback */
    {{169, 254, 0, 0}, 16, ADDRESS_SPECIAL}, /* link; metadata of most clouds */
    {{172, 16, 0, 0}, 12, ADDRESS_PRIVATE},
    {{192, 0, 0, 0}, 24, ADDRESS_SPECIAL},   /* protocols; metadata: Oracle */
    {{192, 0, 2, 0}, 24, ADDRESS_SPECIAL},   /* examples */
    {{192, 88, 99, 0}, 24, ADDRESS_SPECIAL}, /* relays of 6to4 */
    {{192, 168, 0, 0}, 16, ADDRESS_PRIVATE},
    {{198, 18, 0, 0}, 15, ADDRESS_SPECIAL},   /* measurements */
    {{198, 51, 100, 0}, 24, ADDRESS_SPECIAL}, /* examples */
    {{203, 0, 113, 0}, 24, ADDRESS_SPECIAL},  /* examples */
    {{224, 0, 0, 0}, 4, ADDRESS_SPECIAL},     /* multicast */
    {{240, 0, 0, 0}, 4, ADDRESS_SPECIAL},     /* reserved, broadcast */
};

enum { INSIDE_NONE = -1 };

static const struct {
    uint8_t net[16];
    unsigned bits;
    enum address_kind kind;
    int inside;   /* offset of the inner IPv4 address, whose kind counts; INSIDE_NONE: none */
    uint8_t mask; /* with which its bytes are inverted */
} nets6[] = {
    {{0xfd, 0, 0x0e, 0xc2}, 32, ADDRESS_SPECIAL, INSIDE_NONE, 0},             /* metadata: AWS */
    {{0xfd, 0x20, 0, 0xce}, 32, ADDRESS_SPECIAL, INSIDE_NONE, 0},             /* metadata: Google */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, ADDRESS_SPECIAL, 12, 0}, /* mapped */
    {{0, 0x64, 0xff, 0x9b}, 96, ADDRESS_SPECIAL, 12, 0},                      /* NAT64 */
    {{0x20, 0x01, 0, 0}, 32, ADDRESS_SPECIAL, 12, 0xff},                      /* Teredo */
    {{0x20, 0x02}, 16, ADDRESS_SPECIAL, 2, 0},                                /* 6to4 */
    {{0x20, 0x01, 0x0d, 0xb8}, 32, ADDRESS_SPECIAL, INSIDE_NONE, 0},          /* examples */
    {{0xfc}, 7, ADDRESS_PRIVATE, INSIDE_NONE, 0},
    {{0x20}, 3, ADDRESS_PUBLIC, INSIDE_NONE, 0}, /* all assigned addresses */
};

static bool lies_in(const uint8_t *address, const uint8_t *net, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(address, net, whole) != 0)
        return false;
    return !rest || (uint8_t)(address[whole] ^ net[whole]) >> (8 - rest) == 0;
}

static enum address_kind kind4(const uint8_t *a)
{
    for (size_t i = 0; i < sizeof nets4 / sizeof nets4[0]; i++)
        if (lies_in(a, nets4[i].net, nets4[i].bits))
            return nets4[i].kind;
    return ADDRESS_PUBLIC;
}

static enum address_kind kind6(const uint8_t *a)
{
    for (size_t i = 0; i < sizeof nets6 / sizeof nets6[0]; i++) {
        if (!lies_in(a, nets6[i].net, nets6[i].bits))
            continue;
        if (nets6[i].inside == INSIDE_NONE)
            return nets6[i].kind;
        uint8_t inside[4];
        for (int k = 0; k < 4; k++)
            inside[k] = (uint8_t)(a[nets6[i].inside + k] ^ nets6[i].mask);
        return kind4(inside);
    }
    return ADDRESS_SPECIAL;
}

enum address_kind address_kind(const struct sockaddr *a, socklen_t len)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    if (a->sa_family == AF_INET && len >= (socklen_t)sizeof in) {
        memcpy(&in, a, sizeof in);
        return kind4((const uint8_t *)&in.sin_addr);
    }
    if (a->sa_family == AF_INET6 && len >= (socklen_t)sizeof in6) {
        memcpy(&in6, a, sizeof in6);
        return kind6(in6.sin6_addr.s6_addr);
    }
    return ADDRESS_SPECIAL;
}

bool address_parse(const char *text, enum address_kind *kind)
{
    char plain[INET6_ADDRSTRLEN];
    uint8_t bytes[16];
    struct in_addr old;
    size_t n = strlen(text), skip = 0;
    if (n > 2 && text[0] == '[' && text[n - 1] == ']')
        skip = 1;
    n -= 2 * skip;
    if (n >= sizeof plain)
        return false;
    memcpy(plain, text + skip, n);
    plain[n] = '\0';
    if (inet_pton(AF_INET, plain, bytes) == 1)
        *kind = kind4(bytes);
    else if (inet_pton(AF_INET6, plain, bytes) == 1)
        *kind = kind6(bytes);
    else if (inet_aton(plain, &old)) /* as resolvers read it: 127.1, 0x7f000001, 2130706433 */
        *kind = kind4((const uint8_t *)&old.s_addr);
    else
        return false;
    return true;
}

/* ---- networks that a user names ------------------------------------------------------------ */

enum { MAPPED = 12 /* bytes before an IPv4 address that is mapped */ };

bool address_bytes(const char *text, size_t len, uint8_t out[16])
{
    char plain[INET6_ADDRSTRLEN];
    if (len >= sizeof plain)
        return false;
    memcpy(plain, text, len);
    plain[len] = '\0';
    memset(out, 0, 16);
    if (inet_pton(AF_INET6, plain, out) == 1)
        return true;
    out[10] = out[11] = 0xff;
    return inet_pton(AF_INET, plain, out + MAPPED) == 1;
}

bool address_net_has(const struct address_net *net, const uint8_t address[16])
{
    return lies_in(address, net->net, net->bits);
}

bool address_net_parse(const char *text, size_t len, struct address_net *out)
{
    const char *slash = memchr(text, '/', len);
    size_t n = slash ? (size_t)(slash - text) : len;
    unsigned most = memchr(text, ':', n) ? 128 : 32, bits = 0;
    if (!address_bytes(text, n, out->net))
        return false;
    if (slash && (slash + 1 == text + len || len - n > 4))
        return false;
    for (const char *c = slash ? slash + 1 : text + len; c < text + len; c++) {
        if (*c < '0' || *c > '9')
            return false;
        bits = bits * 10 + (unsigned)(*c - '0');
    }
    if (bits > most)
        return false;
    out->bits = (slash ? bits : most) + (most == 32 ? 8 * MAPPED : 0);
    for (unsigned i = out->bits; i < 128; i++)
        if (out->net[i / 8] >> (7 - i % 8) & 1)
            return false;
    return true;
}
