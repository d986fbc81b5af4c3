/* server.h - has the parts of a running server, and their order.
 *
 * server_open starts the parts in order, server_run waits for the end, server_close stops them in
 * the opposite order. Handlers reach what they need through parts.h; each part has its own rules
 * for threads. */
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
    /* Requests can be answered; written with release, read with acquire. */
    atomic_bool ready;
    atomic_bool ending;       /* relaxed: a hint */
    char *tls_cert, *tls_key; /* owned: PEM texts */
    uint64_t tls_stamp;       /* identifies their files' versions when they were read */
    struct origin origin;
    struct proxies proxies; /* trusted to name their clients' addresses */
    struct counters counters;
    struct data_lock lock;       /* of the data folder */
    struct meta *meta;           /* small tables */
    const struct store_ops *ops; /* columns */
    struct store *store;
    struct write_lease write_lease; /* for several servers that share ClickHouse */
    struct starts starts;
    struct intake intake;      /* receives sessions */
    struct receiver *receiver; /* reads sessions from Kafka; NULL: without --kafka */
    struct fleet *fleet;       /* present states of hosts and GPUs */
    struct analysis *analysis; /* analyses sessions */
    struct janitor janitor;
    struct alerts *alerts;
    struct webhooks *webhooks; /* sends the posts of alerts */
    struct auth auth;
    bool auth_open;          /* auth_init has succeeded */
    struct workers *readers; /* answer questions */
    struct workers *uploads; /* take bodies */
    struct workers *exports; /* make downloads */
    struct workers *selects; /* wait for SQL; NULL: the server allows none */
    struct sql_gate sql_gate;
    struct quotas quotas; /* limit what may be sent */
    struct http_hub *hub; /* live data */
    struct http_server *http;
    struct parts parts; /* the members that handlers use */
};

int server_open(struct server *s, const struct options *o, struct err *e);

/* Opens the store that the options name. turns: NULL if no other process writes to the store. */
int server_open_columns(const struct options *o, const struct store_turns *turns,
                        const struct store_ops **ops, struct store **out, struct err *e);

/* Runs until SIGTERM or SIGINT (in local mode also SIGHUP). Then running requests may finish, for
 * at most options.drain or until a second signal, and the rest is cut off. Before that, SIGHUP or a
 * changed file makes the server read the certificate again. Signals must be blocked in all threads.
 * 0; GPUFL_E_TIMEOUT: requests were cut off and have ended; GPUFL_E_STATE: some have not ended, so
 * server_close must not be called. */
int server_run(struct server *s);
void server_close(struct server *s);

#endif
