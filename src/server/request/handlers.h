/* handlers.h - declares the handlers that schema/routes.def names: api_<handler>. There is a file
 * for each subject. */
#ifndef GPUFL_SERVER_REQUEST_HANDLERS_H
#define GPUFL_SERVER_REQUEST_HANDLERS_H

#include "net/server/http.h"
#include "server/request/call.h"

struct parts;

/* Makes the app that decides for the HTTP server what to do with a request (app.c). parts must
 * outlive it. */
struct http_app app_of(struct parts *parts);

/* Several routes may share a handler; the declarations agree. */
#define ROUTE(id, method, path, rights, handler, answer, of, doc)                                  \
    void api_##handler(struct call *c);
#include "schema/routes.def"

/* Takes a piece of the body of events/stream, before api_events_stream runs. Non-zero: the rest is
 * not needed. */
int api_events_stream_take(struct call *c, const char *data, size_t n);

#endif
