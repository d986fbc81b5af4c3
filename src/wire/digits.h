/* digits.h - decimal digits from memory, eight at a time; base/digits.h writes them.
 *
 * Cells of a log are mostly short numbers whose length varies, so that a loop
 * over digits costs a mispredicted branch a cell. These routines treat eight
 * digits as one 64-bit word instead. Little-endian machines only. [any] */
#ifndef GPUFL_WIRE_DIGITS_H
#define GPUFL_WIRE_DIGITS_H

#include "base/digits.h"

/* Digits at the start of the eight bytes w, 0 to 8. */
static inline unsigned digits_count(uint64_t w)
{
    uint64_t t = w ^ 0x3030303030303030ull;
    uint64_t other = (t | (t + 0x7676767676767676ull)) & 0x8080808080808080ull;
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
}

/* The value of the first n digits (1 to 8) of the eight bytes w. */
static inline uint32_t digits_value(uint64_t w, unsigned n)
{
    w = (w ^ 0x3030303030303030ull) << (64 - 8 * n);
    w = (w * 10 + (w >> 8)) & 0x00ff00ff00ff00ffull;
    w = (w * 100 + (w >> 16)) & 0x0000ffff0000ffffull;
    return (uint32_t)(w * 10000 + (w >> 32));
}

#endif
