/* tiles.h - builds the timeline's pyramid (wire/tile.h) from a session's batches.
 *
 * Batches may come in any order of time. Rows of sums and of long events go to the sink and are
 * then dropped; later rows of the same bucket add to those before. Memory is bounded by TILES_MOST
 * buckets a level, however long the session is: a full level goes to the sink early.
 *
 * An event is a row whose start and duration make an interval (analyze/common/cells.h); other rows
 * are left out and counted, as in the report. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_TILES_H
#define GPUFL_ANALYZE_MODEL_TILES_H

#include "wire/decode.h"
#include "wire/tile.h"

#include <stddef.h>
#include <stdint.h>

enum { TILES_MOST = 1 << 15, TILES_NAMES = 8 /* names distinguished in a bucket */ };

/* Receives rows, which are valid during the call. The first non-zero result ends the work and is
 * returned. */
struct tiles_sink {
    void *arg;
    int (*tiles)(void *arg, int level, const struct tile *rows, size_t n);
    int (*spans)(void *arg, int level, const struct tile_span *rows, size_t n);
};

struct tiles;

int tiles_open(struct tiles **out);
void tiles_close(struct tiles *t);

/* Takes a batch. Besides events only configurations are used. 0, the sink's code, or GPUFL_E_NOMEM;
 * after GPUFL_E_NOMEM drop what was added since the last flush. */
int tiles_batch(struct tiles *t, const struct wire_batch *b, const struct tiles_sink *sink);

/* Gives all that is left to the sink, and frees the memory for it: a session that waits for its
 * next rows keeps only its configurations' names. */
int tiles_flush(struct tiles *t, const struct tiles_sink *sink);

/* Drops what has not gone to the sink; configurations stay. [tests] */
void tiles_drop(struct tiles *t);

uint64_t tiles_left_out(const struct tiles *t); /* rows that are no events [tests] */

#endif
