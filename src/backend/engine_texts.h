/* engine_texts.h - what the engines record, need and cost on the GPUs of a vendor, in words: the
 * vendor's part of schema/engines.def, for `gpufl info`. Constants. */
#ifndef GPUFL_BACKEND_ENGINE_TEXTS_H
#define GPUFL_BACKEND_ENGINE_TEXTS_H

#include "backend/backend.h"

/* "": there is nothing to say. */
struct engine_words {
    const char *brings;  /* what a session records */
    const char *needs;   /* what the engine needs beyond counters and compute */
    const char *costs;   /* what the program pays */
    const char *windows; /* what windows of capture do with the engine */
    /* A session that begins after the program has used the GPU lacks this, beyond what ran before
     * the session. */
    const char *late;
    const char *instead; /* what runs where the engine is not available; NULL: engine_row.next */
    unsigned compute;    /* least compute capability, 10 x major + minor; 0: any */
    bool counters;       /* the driver's permission for hardware counters is needed */
};

/* FIRST   b's records are on before a begins, and stay on
 * NEVER   a session runs one of them
 * TURNS   a session runs one after the other, a before b, never both at once
 * OFF     a's records are off while b runs (trace_ops.alone); launches, waits and scopes are
 *         recorded */
enum engine_rule { ENGINES_FIRST, ENGINES_NEVER, ENGINES_TURNS, ENGINES_OFF };

/* Two engines that do not simply run together. No engine of the ladder asks for a pair of rule
 * NEVER, so nothing has to be checked while a program runs. */
struct engine_pair {
    const char *why;
    unsigned a, b; /* enum engine_bit, one each */
    enum engine_rule rule;
};

/* What keeps engines from doing all of it, and what to do. */
struct engine_limit {
    const char *what, *then;
};

struct engine_texts {
    const struct engine_words *words;  /* by enum gpufl_engine */
    const struct engine_pair *pairs;   /* ends with a why of NULL */
    const struct engine_limit *limits; /* ends with a what of NULL */
};

/* The pair that keeps these from running in one session; NULL: none does. A session runs one row of
 * engine_table, and a test holds every row to this: the capture need not ask. [any] */
const struct engine_pair *engine_conflict(const struct engine_pair *pairs, unsigned asks);

#endif
