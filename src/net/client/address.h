/* address.h - the kind of network that an address is in.
 *
 * For requests whose target a user names and the server makes (webhooks): what the
 * server can reach, that user may not. Looked at is the address that is connected to, not the name:
 * a name that resolves to something else the second time gains nothing. Pure; any
 * thread. */
#ifndef GPUFL_NET_CLIENT_ADDRESS_H
#define GPUFL_NET_CLIENT_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum address_kind {
    ADDRESS_PUBLIC,
    ADDRESS_PRIVATE, /* networks of one's own: RFC 1918, RFC 4193, RFC 6598 */
    ADDRESS_SPECIAL, /* this machine, its links, clouds' metadata, multicast, what nobody has */
};

/* Addresses that hold another one (mapped, 6to4, NAT64, Teredo) are of the kind of that. Families
 * other than IPv4 and IPv6 are SPECIAL. */
enum address_kind address_kind(const struct sockaddr *a, socklen_t len);

/* The kind of a numeric address as text, with or without brackets, in the old forms of IPv4 as
 * well ("127.1"); false: it is no address. */
bool address_parse(const char *text, enum address_kind *kind);

/* A network: the first bits of an IPv6 address, or of an IPv4 address mapped into one. */
struct address_net {
    uint8_t net[16];
    unsigned bits;
};

/* "10.0.0.0/8", "2001:db8::/32", or an address alone; false: it is not one, or has bits after the
 * network's. len: of the text. */
bool address_net_parse(const char *text, size_t len, struct address_net *out);

/* The address as 16 bytes, an IPv4 address mapped; false: it is no numeric address. */
bool address_bytes(const char *text, size_t len, uint8_t out[16]);
bool address_net_has(const struct address_net *net, const uint8_t address[16]);

#endif
