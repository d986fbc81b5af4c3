/* digits.h - reads decimal digits from memory, eight at a time; base/digits.h writes them.
 *
 * Cells of a log are mostly short numbers whose length varies, so a loop over
 * digits costs one mispredicted branch for each cell. These routines treat eight
 * digits as one 64-bit word instead, and find the commas in 64 bytes first, so
 * that the place of a number is known before the number in front of it is parsed.
 * Little-endian machines only. [any] */
#ifndef GPUFL_WIRE_DIGITS_H
#define GPUFL_WIRE_DIGITS_H

#include "base/digits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Says how many bytes digits_commas reads. */
#define DIGITS_BLOCK 64

/* Bit i is set where p[i] is a comma. */
static inline uint64_t digits_commas(const char *p)
{
    uint64_t commas = 0;
#ifdef __SSE2__
    for (int i = 0; i < 4; i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
        unsigned bits = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(',')));
        commas |= (uint64_t)bits << (16 * i);
    }
#else
    const uint64_t low = 0x7f7f7f7f7f7f7f7full;
    for (int i = 0; i < 8; i++) {
        uint64_t w;
        memcpy(&w, p + 8 * i, 8);
        w ^= 0x2c2c2c2c2c2c2c2cull;
        w = ~(((w & low) + low) | w | low) >> 7; /* 1 in the lowest bit of each comma's byte */
        commas |= (w * 0x0102040810204080ull >> 56) << (8 * i);
    }
#endif
    return commas;
}

/* Reads the 1 to 8 digits before end, of which 8 bytes must be readable;
 * false if another character stands among them. */
static inline bool digits_read(const char *end, size_t digits, uint32_t *out)
{
    uint64_t w;
    memcpy(&w, end - 8, 8);
    w = (w ^ 0x3030303030303030ull) >> (64 - 8 * digits) << (64 - 8 * digits);
    uint64_t other = (w | (w + 0x7676767676767676ull)) & 0x8080808080808080ull;
    w = (w * 10 + (w >> 8)) & 0x00ff00ff00ff00ffull;
    w = (w * 100 + (w >> 16)) & 0x0000ffff0000ffffull;
    *out = (uint32_t)(w * 10000 + (w >> 32));
    return other == 0;
}

#endif
