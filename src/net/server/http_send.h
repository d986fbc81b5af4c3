/* http_send.h - answers that libmicrohttpd asks for piece by piece; for http_answer.c only.
 *
 * The response owns the stream or pipe from here on. */
#ifndef GPUFL_NET_SERVER_HTTP_SEND_H
#define GPUFL_NET_SERVER_HTTP_SEND_H

#include <microhttpd.h>
#include <stdatomic.h>

struct http_stream;
struct http_pipe;

/* Makes a response. sent: counts bytes, lives as long as the connection's request. NULL: out of
 * memory. */
struct MHD_Response *http_stream_response(struct http_stream *s, struct MHD_Connection *c,
                                          atomic_uint_fast64_t *sent);
struct MHD_Response *http_pipe_response(struct http_pipe *p, struct MHD_Connection *c,
                                        atomic_uint_fast64_t *sent);

#endif
