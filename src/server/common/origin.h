/* origin.h - checks the Host and Origin of a request.
 *
 * In local mode nobody but this machine's user may ask, and any page in the user's
 * browser can send requests to loopback, by a name of its own if it likes (DNS
 * rebinding). So the Host must be this server's loopback address and port, exactly,
 * and an Origin, where there is one, its own. Elsewhere what changes something may
 * come from pages of the same origin only. Constant once set; any thread. */
#ifndef GPUFL_SERVER_COMMON_ORIGIN_H
#define GPUFL_SERVER_COMMON_ORIGIN_H

#include "net/server/http.h"

struct origin {
    bool local;
    bool tls;
    uint16_t port;
    char url[256]; /* the public one, "scheme://host[:port]"; "": none */
};

/* public_url: NULL, or "https://host[:port]" with or without a '/' at its end. INVAL. */
int origin_init(struct origin *o, bool local, bool tls, uint16_t port, const char *public_url,
                struct err *e);

/* Says whether the request may be answered; else why not, as a sentence. */
bool origin_ok(const struct origin *o, const struct http_request *r, const char **why);

#endif
