/* peer.h - the public GPUFlight client's lines, as the visitor's calls.
 *
 * decode.h hands over every line whose type is found here. Times
 * of that format are ns since the Unix epoch; the header delivered says that
 * monotonic and real time are the same. Owner's thread. */
#ifndef GPUFL_WIRE_PEER_H
#define GPUFL_WIRE_PEER_H

#include "wire/decode.h"

struct peer;

int peer_open(struct peer **out, struct decode_stats *stats);
void peer_close(struct peer *p);

/* Index of a line type of that format, or -1. [any] */
int peer_find(const char *type, size_t len);

/* One line of the type with that index. A damaged one is counted and costs itself. */
int peer_feed(struct peer *p, int type, const char *line, size_t len, const struct wire_visitor *v);

/* Delivers the kernels that wait for detail lines. */
int peer_flush(struct peer *p, const struct wire_visitor *v);

/* Delivers all that is pending. */
int peer_finish(struct peer *p, const struct wire_visitor *v);

#endif
