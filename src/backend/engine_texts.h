/* engine_texts.h - has texts that say what the engines record, need and cost on a vendor's GPUs:
 * the vendor's part of schema/engines.def, for `gpufl info`. Constants. */
#ifndef GPUFL_BACKEND_ENGINE_TEXTS_H
#define GPUFL_BACKEND_ENGINE_TEXTS_H

#include "backend/backend.h"

/* Holds texts about one engine; "": there is nothing to say. */
struct engine_words {
    const char *brings;  /* what a session records */
    const char *needs;   /* what the engine needs beyond counters and compute */
    const char *costs;   /* what the program pays */
    const char *windows; /* what windows of capture do with the engine */
    /* Says what a session lacks that begins after the program has used the GPU, beyond work that
     * ran before the session. */
    const char *late;
    const char *instead; /* what runs if the engine is not available; NULL: engine_row.next */
    unsigned compute;    /* least compute capability, 10 x major + minor; 0: any */
    bool counters;       /* the driver's permission for hardware counters is needed */
};

/* FIRST   b's records are on before a begins, and stay on
 * NEVER   a session runs one of them
 * TURNS   a session runs one after the other, a before b, never both at once
 * OFF     a's records are off while b runs (trace_ops.alone); launches, waits and scopes are
 *         recorded */
enum engine_rule { ENGINES_FIRST, ENGINES_NEVER, ENGINES_TURNS, ENGINES_OFF };

/* Describes two engines that cannot simply run together. No engine of schema/engines.def asks for a
 * pair with rule NEVER, so nothing has to be checked while a program runs. */
struct engine_pair {
    const char *why;
    unsigned a, b; /* enum engine_bit, one each */
    enum engine_rule rule;
};

/* Describes a limit of engines on this vendor's GPUs, and what to do. */
struct engine_limit {
    const char *what, *then;
};

struct engine_texts {
    const struct engine_words *words;  /* by enum gpufl_engine */
    const struct engine_pair *pairs;   /* ends with a why of NULL */
    const struct engine_limit *limits; /* ends with a what of NULL */
};

/* Returns the pair that keeps these engines from running in one session; NULL: there is none. A
 * session runs one row of engine_table, and a test checks every row, so the capture does not call
 * this. [any] */
const struct engine_pair *engine_conflict(const struct engine_pair *pairs, unsigned asks);

#endif
