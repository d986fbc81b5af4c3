/* bins.h - has bins for durations and sizes: up to 255 each value has a bin of its own, above that
 * 128 bins of equal width share an octave.
 *
 * The middle of a bin differs from each value in it by at most 1/256 (0.39 %). Numbers of bins are
 * stored in files, so they never change. The functions have no state. Called by any thread. */
#ifndef GPUFL_BASE_BINS_H
#define GPUFL_BASE_BINS_H

#include <stdint.h>

enum {
    BINS_OCTAVE = 128, /* bins of an octave */
    BINS_OCTAVES = 57, /* octaves: values up to 2^63 - 1 */
    BINS_COUNT = BINS_OCTAVE * BINS_OCTAVES,
};

/* Returns the bin of a value. v >= 0. */
static inline unsigned bins_of(int64_t v)
{
    if (v < 2 * BINS_OCTAVE)
        return (unsigned)v;
    unsigned shift = 56 - (unsigned)__builtin_clzll((uint64_t)v); /* v >> shift is 128 to 255 */
    return (shift + 1) * BINS_OCTAVE + ((unsigned)(v >> shift) - BINS_OCTAVE);
}

/* Returns the least value of a bin, and the value in its middle. bin < BINS_COUNT. */
static inline int64_t bins_least(unsigned bin)
{
    if (bin < 2 * BINS_OCTAVE)
        return bin;
    return (int64_t)(BINS_OCTAVE + bin % BINS_OCTAVE) << (bin / BINS_OCTAVE - 1);
}

static inline int64_t bins_middle(unsigned bin)
{
    if (bin < 2 * BINS_OCTAVE)
        return bin;
    return bins_least(bin) + ((int64_t)1 << (bin / BINS_OCTAVE - 1)) / 2;
}

#endif
