/* call.h - is a request that has found its route: the argument of a handler.
 *
 * Parameters have been checked, and the caller is known: a handler reads ARG(c, <route>, <name>),
 * asks the tables, and answers. Handlers run on a worker, except the few that never block. */
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
    struct region *memory; /* of the request */
    struct auth_who who;   /* known before the handler runs, except on PUBLIC routes */
    struct value values[ROUTE_PARAMS_MAX];
    bool decided; /* access was checked; allowed: and granted */
    bool allowed;
    void *state;                  /* for a handler that takes a body piece by piece */
    void (*done)(struct call *c); /* called at the end in each case; may be NULL */
};

/* This is the value of a parameter of call c's route. */
#define ARG(c, route, name) (&(c)->values[IN_##route##_##name])

enum { CALL_JSON_MAX = 64 << 20 }; /* bytes of a JSON answer */

/* Makes the argument for functions of meta/meta.h, with the caller's workspace. */
struct meta_ask call_ask(const struct call *c, struct region *mem, struct err *e);

/* call_json begins a JSON answer; call_json_send sends what was written. A failure of writing
 * becomes a 503. */
void call_json(struct call *c, struct json_out *j);
void call_json_send(struct call *c, struct json_out *j, int status);

/* Returns true if the client has the document with this tag, and 304 was answered. */
bool call_unchanged(struct call *c, const char *tag);

/* Answers, for an error of a full disk, 503 and logs the error; false: another error. */
bool call_disk_full(struct call *c, const struct err *e);

/* Answers the problem for a code of base/err.h; what: the thing ("session"). A failure of the
 * server itself is logged with the request's id. */
void call_fail(struct call *c, int rc, const char *what, const struct err *e);

/* Does what call_fail does, for a thing that the request names: if it does not exist, the answer
 * has the API's words ("There is no such session."), not those of the small tables. */
void call_fail_named(struct call *c, int rc, const char *what, const struct err *e);

#endif
