/* peer.h - turns the public GPUFlight client's lines into calls of the visitor.
 *
 * The decoder gives every line whose type peer_find knows to peer_feed. Times of that format are ns
 * since the Unix epoch, so the delivered header says that monotonic and real time are equal. Called
 * by the owner's thread only. */
#ifndef GPUFL_WIRE_PEER_H
#define GPUFL_WIRE_PEER_H

#include "wire/decode.h"

struct peer;

int peer_open(struct peer **out, struct decode_stats *stats);
void peer_close(struct peer *p);

/* Returns the index of a line type of that format, or -1. [any] */
int peer_find(const char *type, size_t len);

/* Reads one line of the type with that index. A damaged line is counted and dropped. */
int peer_feed(struct peer *p, int type, const char *line, size_t len, const struct wire_visitor *v);

/* Delivers the kernels that wait for detail lines. */
int peer_flush(struct peer *p, const struct wire_visitor *v);

/* Delivers all that is pending. */
int peer_finish(struct peer *p, const struct wire_visitor *v);

#endif
