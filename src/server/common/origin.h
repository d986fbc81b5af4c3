/* origin.h - checks the Host and Origin of a request.
 *
 * In local mode only this machine's user may send requests, but any page in the user's browser can
 * send requests to loopback, even under its own name (DNS rebinding). So the Host must be exactly
 * this server's loopback address and port, and an Origin, if there is one, must be this server's.
 * Otherwise only requests that change something are checked: they must come from pages of this
 * server's origin. Constant once set; any thread. */
#ifndef GPUFL_SERVER_COMMON_ORIGIN_H
#define GPUFL_SERVER_COMMON_ORIGIN_H

#include "net/server/http.h"

struct origin {
    bool local;
    bool tls;
    uint16_t port;
    char url[256]; /* the public URL, "scheme://host[:port]"; "": none */
};

/* Prepares an origin. public_url: NULL, or "https://host[:port]" with or without a final '/'.
 * GPUFL_E_INVAL: another form. */
int origin_init(struct origin *o, bool local, bool tls, uint16_t port, const char *public_url,
                struct err *e);

/* Returns true if the request may be answered; else *why is a sentence. */
bool origin_ok(const struct origin *o, const struct http_request *r, const char **why);

#endif
