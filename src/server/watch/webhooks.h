/* webhooks.h - makes webhooks work: sends the posts that alerts have written, with retries.
 *
 * Threads take due posts from the small tables with a lease of limited time, so that several
 * servers share the work, and another server takes over from one that dies. A 2xx answer is a
 * success. After an answer that may be different the next time, the post is tried again with
 * growing delays, WEBHOOKS_TRIES times over some hours. After any other answer it is given up. The
 * log of deliveries has every attempt.
 *
 * The operator decides where a post may go (--webhooks). That is checked when the connection is
 * made (net/client/address.h); redirects and proxies are not used. A body is signed with the rule's
 * secret:
 *   X-GpuFlight-Signature: sha256=<HMAC-SHA256 of "<X-GpuFlight-Timestamp>.<body>", hexadecimal>
 * Logs have only the server of a URL, since paths and queries of webhooks are secrets. */
#ifndef GPUFL_SERVER_WATCH_WEBHOOKS_H
#define GPUFL_SERVER_WATCH_WEBHOOKS_H

#include "base/err.h"
#include "meta/meta.h"
#include "net/client/address.h"

#include <stdbool.h>
#include <stdint.h>

enum { WEBHOOKS_TRIES = 12 };

/* Says where posts may go, in the order of the values of --webhooks. */
enum webhooks_reach { WEBHOOKS_OFF, WEBHOOKS_PUBLIC, WEBHOOKS_PRIVATE, WEBHOOKS_ANY };

enum { WEBHOOKS_TARGETS = 32 };

/* Lists further targets besides the reach: a network and a port each. */
struct webhooks_targets {
    struct {
        struct address_net net;
        uint16_t port;
    } items[WEBHOOKS_TARGETS];
    unsigned count;
};

/* Reads a list: "10.0.0.5:9093,[fd00::/8]:443"; NULL or "": none. GPUFL_E_INVAL with a sentence. */
int webhooks_targets_read(struct webhooks_targets *t, const char *list, struct err *e);

struct webhooks_config {
    struct meta *meta;
    enum webhooks_reach reach;
    struct webhooks_targets targets;
    int64_t least_ns; /* upper bound of the first delay; 0: 10 s */
};

struct webhooks;

int webhooks_open(struct webhooks **out, const struct webhooks_config *c, struct err *e);
void webhooks_close(struct webhooks *h); /* NULL: nothing */
void webhooks_wake(struct webhooks *h);  /* call when a post is due [any] */

/* GPUFL_E_INVAL with a sentence if the text of the URL shows that posts to it would be refused. */
int webhooks_check(const struct webhooks_config *c, const char *url, struct err *e);
const struct webhooks_config *webhooks_config_of(const struct webhooks *h);

/* Makes a row of the small tables what the asker may see. If only the reach `private` or `any`
 * opens a post's address, those who do not administer the server (!may_see) see the post as "sent"
 * from its creation on, whatever becomes of it. */
void webhooks_veil(const struct webhooks *h, bool may_see, struct meta_delivery *d);

enum { WEBHOOKS_SIGNATURE = 72 }; /* "sha256=", 64 digits, NUL */
void webhooks_sign(char out[WEBHOOKS_SIGNATURE], const char *secret, const char *timestamp,
                   const char *body);

#endif
