/* handlers.h - the handlers that schema/routes.def names: api_<handler>. A file is one subject. */
#ifndef GPUFL_SERVER_REQUEST_HANDLERS_H
#define GPUFL_SERVER_REQUEST_HANDLERS_H

#include "net/server/http.h"
#include "server/request/call.h"

struct parts;

/* The HTTP server asks this app what to do with a request (app.c). parts outlives it. */
struct http_app app_of(struct parts *parts);

/* Several routes may share one: the declarations agree. */
#define ROUTE(id, method, path, rights, handler, answer, of, doc)                                  \
    void api_##handler(struct call *c);
#include "schema/routes.def"

/* A piece of the body of events/stream, before api_events_stream. Non-zero: the rest is not
 * wanted. */
int api_events_stream_take(struct call *c, const char *data, size_t n);

#endif
