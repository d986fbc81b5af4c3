/* proxies.h - finds the address of a client whose request comes through trusted proxies.
 *
 * X-Forwarded-For and Forwarded (RFC 7239) are lists to which each proxy appends the address of its
 * client. Anybody may send such a list, so an entry counts only if a trusted proxy wrote it: the
 * list is walked from its end as long as addresses are those of trusted proxies, and the first
 * other address is the client's. A request with both fields is not trusted: proxies append to one
 * of them and pass the other on unchanged. The functions have no state. Called by any thread. */
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

/* Prepares the list. list: networks and addresses, separated by commas; NULL or "": none.
 * GPUFL_E_INVAL with a sentence. */
int proxies_init(struct proxies *p, const char *list, struct err *e);

/* Replaces r->peer by the client's address if the peer is a trusted proxy. */
void proxies_client(const struct proxies *p, struct http_request *r);

#endif
