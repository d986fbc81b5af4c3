/* server.h - the parts of a running server, and their order.
 *
 * server_open starts them from the ground up, server_run waits for the end,
 * server_close takes them down in the opposite order. Handlers reach what
 * they need through parts.h; each part knows its own threads. */
#ifndef GPUFL_SERVER_SERVER_H
#define GPUFL_SERVER_SERVER_H

#include "net/server/http.h"
#include "net/server/http_stream.h"
#include "server/analysis/analysis.h"
#include "server/api/quota.h"
#include "server/auth/auth.h"
#include "server/common/origin.h"
#include "server/common/proxies.h"
#include "server/common/sql_gate.h"
#include "server/data_lock.h"
#include "server/intake/fleet.h"
#include "server/intake/intake.h"
#include "server/kafka/receiver.h"
#include "server/options.h"
#include "server/request/counters.h"
#include "server/request/parts.h"
#include "server/request/session_ref.h"
#include "server/watch/alerts.h"
#include "server/watch/janitor.h"
#include "server/watch/webhooks.h"
#include "server/write_lease.h"

#include <stdatomic.h>

struct server {
    struct options options;
    int64_t began; /* CLOCK_MONOTONIC, ns */
    char address[256];
    uint16_t port;
    atomic_bool ready;        /* requests can be answered; release, read with acquire */
    atomic_bool ending;       /* relaxed: a hint */
    char *tls_cert, *tls_key; /* owned: PEM texts */
    uint64_t tls_stamp;       /* of their files when they were read */
    struct origin origin;
    struct proxies proxies; /* whose word about clients' addresses counts */
    struct counters counters;
    struct data_lock lock;       /* of the data folder */
    struct meta *meta;           /* small tables */
    const struct store_ops *ops; /* columns */
    struct store *store;
    struct write_lease write_lease; /* of several servers that share ClickHouse */
    struct starts starts;
    struct intake intake;      /* what receives sessions */
    struct receiver *receiver; /* reads sessions from Kafka; NULL: not wanted */
    struct fleet *fleet;       /* what hosts and GPUs do now */
    struct analysis *analysis; /* sums them up */
    struct janitor janitor;
    struct alerts *alerts;
    struct webhooks *webhooks; /* what alerts post */
    struct auth auth;
    bool auth_open;          /* auth_init has succeeded */
    struct workers *readers; /* what asks */
    struct workers *uploads; /* what takes bodies in */
    struct workers *exports; /* what makes downloads */
    struct workers *selects; /* what waits for SQL; NULL: none is taken */
    struct sql_gate sql_gate;
    struct quotas quotas; /* of what may be sent in a day */
    struct http_hub *hub; /* live data */
    struct http_server *http;
    struct parts parts; /* what handlers use of the above */
};

int server_open(struct server *s, const struct options *o, struct err *e);

/* The store that the options name, open; turns: NULL where no other process writes to it. */
int server_open_columns(const struct options *o, const struct store_turns *turns,
                        const struct store_ops **ops, struct store **out, struct err *e);

/* Until SIGTERM or SIGINT, in local mode SIGHUP as well: drains then, at most options.drain long,
 * or until a second signal; what is in work then is cut off. Before that, SIGHUP or a changed file
 * has the certificate read again. Signals must be blocked in all threads. 0; TIMEOUT: requests were
 * cut off, and have ended; STATE: they have not, so that server_close must not be called. */
int server_run(struct server *s);
void server_close(struct server *s);

#endif
