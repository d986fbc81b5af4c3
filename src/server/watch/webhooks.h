/* webhooks.h - webhooks: makes the posts that alerts have written, with retries.
 *
 * Threads take what is due from the small tables, each post for a while its own, so that several
 * servers share the work and a server that dies in one leaves it to others. 2xx is taken; an
 * answer that may be different next time is tried again, later and later, WEBHOOKS_TRIES times
 * over some hours; anything else is given up. The log of deliveries has every attempt.
 *
 * The operator chooses where a post may go (--webhooks), which is checked when the connection is
 * made (net/client/address.h); there are no redirects and no proxy. A body is signed with the
 * rule's secret:
 *   X-GpuFlight-Signature: sha256=<HMAC-SHA256 of "<X-GpuFlight-Timestamp>.<body>", hexadecimal>
 * Logs name the server of a URL and never the rest: paths and queries of hooks are secrets. */
#ifndef GPUFL_SERVER_WATCH_WEBHOOKS_H
#define GPUFL_SERVER_WATCH_WEBHOOKS_H

#include "base/err.h"
#include "meta/meta.h"
#include "net/client/address.h"

#include <stdint.h>

enum { WEBHOOKS_TRIES = 12 };

/* The reach of posts, in the order of --webhooks. */
enum webhooks_reach { WEBHOOKS_OFF, WEBHOOKS_PUBLIC, WEBHOOKS_PRIVATE, WEBHOOKS_ANY };

enum { WEBHOOKS_TARGETS = 32 };

/* Where posts may go in addition to what the reach allows: a network and a port. */
struct webhooks_targets {
    struct {
        struct address_net net;
        uint16_t port;
    } items[WEBHOOKS_TARGETS];
    unsigned count;
};

/* list: "10.0.0.5:9093,[fd00::/8]:443"; NULL or "": none. INVAL with a sentence. */
int webhooks_targets_read(struct webhooks_targets *t, const char *list, struct err *e);

struct webhooks_config {
    struct meta *meta;
    enum webhooks_reach reach;
    struct webhooks_targets targets;
    int64_t least_ns; /* the first wait's bound; 0: 10 s */
};

struct webhooks;

int webhooks_open(struct webhooks **out, const struct webhooks_config *c, struct err *e);
void webhooks_close(struct webhooks *h); /* NULL: nothing */
void webhooks_wake(struct webhooks *h);  /* something is due [any] */

/* INVAL and a sentence where the URL's text alone shows that posts to it are refused. */
int webhooks_check(const struct webhooks_config *c, const char *url, struct err *e);
const struct webhooks_config *webhooks_config_of(const struct webhooks *h);

enum { WEBHOOKS_SIGNATURE = 72 }; /* "sha256=", 64 digits, NUL */
void webhooks_sign(char out[WEBHOOKS_SIGNATURE], const char *secret, const char *timestamp,
                   const char *body);

#endif
