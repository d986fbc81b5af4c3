/* http_stream.h - sends server-sent events for listeners.
 *
 * A hub has listeners, each with its bounded queue. Publishing never waits: a listener whose queue
 * is full loses that event, which is counted, and gets an event "lost" when it reads again, so that
 * it can ask for the whole state. After a silence a comment is sent, so that both ends notice a
 * broken connection. */
#ifndef GPUFL_NET_SERVER_HTTP_STREAM_H
#define GPUFL_NET_SERVER_HTTP_STREAM_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct http_hub;
struct http_stream;

struct http_hub_config {
    unsigned listeners; /* at most */
    size_t queue;       /* bytes that wait for one listener, at most */
    int64_t beat_ns;    /* silence after which a comment is sent */
};

struct http_hub_load {
    unsigned listeners;
    uint64_t opened;             /* listeners there ever were */
    uint64_t published, dropped; /* events, and those that a full queue lost */
};

int http_hub_open(struct http_hub **out, const struct http_hub_config *c, struct err *e);
/* Ends all listeners' answers; no new listener is accepted. To be called before http_close.
 * [any] */
void http_hub_end(struct http_hub *h);
void http_hub_close(struct http_hub *h); /* after http_close */

/* Opens a listener of a topic (a workspace's id), for http_send_stream. GPUFL_E_FULL: too many
 * listeners; GPUFL_E_STATE: the hub is ending. */
int http_stream_open(struct http_stream **out, struct http_hub *h, const char *topic);
/* Frees a stream that was never sent. */
void http_stream_drop(struct http_stream *s);

/* Publishes an event. event: a word; data: JSON on one line. [any] */
void http_hub_publish(struct http_hub *h, const char *topic, const char *event, const char *data,
                      size_t len);

struct http_hub_load http_hub_load(struct http_hub *h);

#endif
