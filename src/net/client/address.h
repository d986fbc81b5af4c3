/* address.h - says the kind of network that an address is in.
 *
 * The server asks before it sends a request to a target that a user names (webhooks): it may reach
 * networks that the user must not reach. The check is of the address that is connected to, not of
 * the name, so a name that resolves to another address the second time gains nothing. The functions
 * have no state. Called by any thread. */
#ifndef GPUFL_NET_CLIENT_ADDRESS_H
#define GPUFL_NET_CLIENT_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum address_kind {
    ADDRESS_PUBLIC,
    ADDRESS_PRIVATE, /* private networks: RFC 1918, RFC 4193, RFC 6598 */
    ADDRESS_SPECIAL, /* this machine, link-local, clouds' metadata, multicast, unassigned */
};

/* An address that holds another one (mapped, 6to4, NAT64, Teredo) is of the inner address's kind.
 * Families other than IPv4 and IPv6 are ADDRESS_SPECIAL. */
enum address_kind address_kind(const struct sockaddr *a, socklen_t len);

/* Finds the kind of a numeric address as text, with or without brackets, also in the old forms of
 * IPv4 ("127.1"); false: it is no address. */
bool address_parse(const char *text, enum address_kind *kind);

/* This is a network: the first bits of an IPv6 address, or of an IPv4 address mapped into one. */
struct address_net {
    uint8_t net[16];
    unsigned bits;
};

/* Reads "10.0.0.0/8", "2001:db8::/32", or an address alone. len: bytes of the text. False: it is no
 * network, or has bits set after the prefix. */
bool address_net_parse(const char *text, size_t len, struct address_net *out);

/* Writes the address as 16 bytes, an IPv4 address mapped; false: it is no numeric address. */
bool address_bytes(const char *text, size_t len, uint8_t out[16]);
bool address_net_has(const struct address_net *net, const uint8_t address[16]);

#endif
