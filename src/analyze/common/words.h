/* words.h - what the vendors of GPUs call the same things.
 *
 * A session's GPUs are of one vendor, and its reader knows that vendor's words. The texts of
 * insights have words of their own where a sentence differs by more than these. Constants. */
#ifndef GPUFL_ANALYZE_COMMON_WORDS_H
#define GPUFL_ANALYZE_COMMON_WORDS_H

#include <stdbool.h>

struct words {
    bool ptx;                 /* code carries the text that it was made from */
    const char *listing;      /* title of a column of lines and instructions */
    const char *warps, *warp; /* threads that run together */
    const char *sm, *sms;     /* the part of a GPU that runs them */
    const char *sm_long;      /* with its article, in a sentence */
    const char *blocks;       /* threads that share memory */
    const char *shared;       /* that memory, as a column's title */
    const char *graph;        /* launches that were recorded as one */
    const char *clock;        /* of the parts that compute */
};

/* The words for GPUs of an architecture ("sm_90", "gfx942"); NVIDIA's where it is unknown. */
const struct words *words_of(const char *arch);

#endif
