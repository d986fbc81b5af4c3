/* parts.h - has the parts of the running server that a request may use.
 *
 * Handlers reach the server through these pointers and not through server.h, so that the rooms of
 * the server form layers: the server knows its handlers, and no handler knows the server.
 *
 * Threads: server.c fills the struct before `ready` is stored with release; constant from then on.
 * The objects behind the pointers have their own rules for threads. */
#ifndef GPUFL_SERVER_REQUEST_PARTS_H
#define GPUFL_SERVER_REQUEST_PARTS_H

#include "meta/meta.h"
#include "net/server/http.h"
#include "net/server/http_stream.h"
#include "server/analysis/analysis.h"
#include "server/auth/auth.h"
#include "server/common/origin.h"
#include "server/common/sql_gate.h"
#include "server/intake/intake.h"
#include "server/kafka/receiver.h"
#include "server/request/counters.h"
#include "server/request/session_ref.h"
#include "server/watch/alerts.h"
#include "server/watch/janitor.h"
#include "store/store.h"

#include <stdatomic.h>

struct parts {
    /* Settings. */
    const char *data;        /* the data folder */
    const char *metrics_key; /* NULL or "": /metrics needs no key */
    int64_t body_max;        /* most bytes of an uploaded body */
    bool local;              /* --local: one user on this machine */
    bool view;               /* local, and `gpufl view` started the server */
    bool alone;              /* no other server keeps columns of these small tables */
    int64_t began;           /* CLOCK_MONOTONIC, ns */

    /* State. */
    const atomic_bool *ready;  /* release in server_open; acquire in begin (app.c) */
    const atomic_bool *ending; /* relaxed: a hint */

    /* Data. */
    struct meta *meta;           /* small tables */
    const struct store_ops *ops; /* columns */
    struct store *store;
    struct starts *starts;

    /* Work. */
    const struct intake *intake; /* receives sessions */
    struct receiver *receiver;   /* reads from Kafka; NULL: none */
    struct analysis *analysis;
    struct janitor *janitor;
    struct alerts *alerts;
    struct webhooks *webhooks; /* sends the posts of alerts */
    struct auth *auth;
    const struct origin *origin;
    const struct proxies *proxies;
    struct counters *counters;
    struct sql_gate *sql_gate;
    struct quotas *quotas; /* limit what may be sent */

    /* Transport. */
    struct workers *readers; /* answer questions */
    struct workers *uploads; /* take bodies */
    struct workers *exports; /* make downloads */
    struct workers *selects; /* wait for SQL; NULL: the server allows none */
    struct http_hub *hub;    /* live data */
    struct http_server *http;
};

#endif
