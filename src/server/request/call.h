/* call.h - a request that has found its route: the argument of a handler.
 *
 * Parameters have been checked, and who asks has been decided: a handler reads
 * ARG(c, <route>, <name>), asks, and answers. Runs on a worker, except the few
 * that never block. */
#ifndef GPUFL_SERVER_REQUEST_CALL_H
#define GPUFL_SERVER_REQUEST_CALL_H

#include "analyze/common/json_out.h"
#include "server/request/access.h"
#include "server/request/param.h"
#include "server/request/route.h"

struct parts;

struct call {
    const struct parts *parts; /* of the server */
    struct http_request *http;
    const struct route *route;
    struct region *memory; /* the request's */
    struct auth_who who;   /* decided before the handler runs, except on PUBLIC routes */
    struct value values[ROUTE_PARAMS_MAX];
    bool decided; /* access was asked; allowed: and granted */
    bool allowed;
    void *state;                  /* of a handler that takes a body piece by piece */
    void (*done)(struct call *c); /* its end, whatever happened; NULL: none */
};

/* The value of a parameter of call c's route. */
#define ARG(c, route, name) (&(c)->values[IN_##route##_##name])

enum { CALL_JSON_MAX = 64 << 20 }; /* bytes of a JSON answer */

/* An ask in the caller's workspace, for functions of meta/meta.h. */
struct meta_ask call_ask(const struct call *c, struct region *mem, struct err *e);

/* Begins a JSON answer, and sends what was written. A failure on the way becomes a 503. */
void call_json(struct call *c, struct json_out *j);
void call_json_send(struct call *c, struct json_out *j, int status);

/* True where the client has the document with this tag: 304 is the answer. */
bool call_unchanged(struct call *c, const char *tag);

/* Answers with 503 where the error is a full disk's, and logs the error; false: another error. */
bool call_disk_full(struct call *c, const struct err *e);

/* The problem that fits a code of base/err.h; what: of which thing ("session"). What is the
 * server's own failure is logged under the request's id. */
void call_fail(struct call *c, int rc, const char *what, const struct err *e);

/* Does what call_fail does, for a thing that the request names: if there is none, the answer says
 * so in the words of the API ("There is no such session."), not in those of the small tables. */
void call_fail_named(struct call *c, int rc, const char *what, const struct err *e);

#endif
