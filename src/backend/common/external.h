/* external.h - keeps operation ids that frameworks push, by correlation id.
 *
 * A bounded table: an id is kept until another one takes its place, which with consecutive
 * correlation ids is 65 536 calls later. Called by the collector's thread only, except that the
 * owner's thread may close the table after the collector has ended. */
#ifndef GPUFL_BACKEND_COMMON_EXTERNAL_H
#define GPUFL_BACKEND_COMMON_EXTERNAL_H

#include <stdbool.h>
#include <stdint.h>

struct external;

struct external *external_open(void); /* NULL: out of memory */
void external_close(struct external *x);

/* Keeps an id; of several ids of one call, that with the lowest kind. */
void external_put(struct external *x, uint32_t correlation, int32_t kind, uint64_t id);
bool external_find(const struct external *x, uint32_t correlation, int32_t *kind, uint64_t *id);

#endif
