/* http_pipe.h - handles an answer that is made while it is sent: exports of any size.
 *
 * A producer thread writes, and waits while the client does not read. If the client does not read
 * for too long, or has gone, writing fails with a code. Memory is one buffer. */
#ifndef GPUFL_NET_SERVER_HTTP_PIPE_H
#define GPUFL_NET_SERVER_HTTP_PIPE_H

#include "net/server/workers.h"

#include <stddef.h>
#include <stdint.h>

struct http_pipe;

/* Runs produce(arg, p) on a worker while the answer is sent; done(arg) is called once, after
 * produce or instead of it. If produce does not return 0, the answer breaks off, so that the client
 * sees that it is incomplete. */
int http_pipe_open(struct http_pipe **out, struct workers *w, int64_t patience_ns,
                   int (*produce)(void *arg, struct http_pipe *p), void (*done)(void *arg),
                   void *arg);
/* Frees a pipe that was never sent. */
void http_pipe_drop(struct http_pipe *p);

/* Writes bytes of the answer, from produce only. GPUFL_E_TIMEOUT: the client does not read;
 * GPUFL_E_STATE: it has gone. */
int http_pipe_write(struct http_pipe *p, const void *data, size_t n);

#endif
