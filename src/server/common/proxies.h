/* proxies.h - the address of the client behind proxies that the operator trusts.
 *
 * X-Forwarded-For and Forwarded (RFC 7239) are lists to which each proxy appends the address that
 * asked it. Anybody may send such a list, so that an entry counts only if a trusted proxy wrote
 * it: the walk goes from the end of the list, as long as the address that asked is a trusted
 * proxy's, and the first other address is the client. A request that has both fields names nobody:
 * proxies append to one of them and pass the other on as it came. Pure; any thread. */
#ifndef GPUFL_SERVER_COMMON_PROXIES_H
#define GPUFL_SERVER_COMMON_PROXIES_H

#include "base/err.h"
#include "net/client/address.h"
#include "net/server/http.h"

enum { PROXIES_MAX = 32 };

struct proxies {
    struct address_net nets[PROXIES_MAX];
    unsigned count;
};

/* list: networks and addresses with commas between; NULL or "": none. INVAL with a sentence. */
int proxies_init(struct proxies *p, const char *list, struct err *e);

/* Replaces r->peer by the client's address where the peer is a trusted proxy. */
void proxies_client(const struct proxies *p, struct http_request *r);

#endif
