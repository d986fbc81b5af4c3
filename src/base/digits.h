/* digits.h - writes decimal digits of a number into memory, eight at a time.
 *
 * Cells of a log are mostly short numbers whose length varies, so a loop over
 * digits costs one mispredicted branch for each number. Here eight digits are one
 * 64-bit word: three multiplications split it, and leading zeros are shifted
 * out. On columns of mixed lengths this takes half the time of a table that gives
 * two digits a step. Little-endian machines only. [any] */
#ifndef GPUFL_BASE_DIGITS_H
#define GPUFL_BASE_DIGITS_H

#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words hold digits lowest byte first");

#define DIGITS_ROOM 24 /* bytes that writing one number may touch, sign included */

/* Returns the eight digits of v < 10^8, most significant in the lowest byte, values 0 to 9. */
static inline uint64_t digits_spread(uint32_t v)
{
    uint64_t fours = (v / 10000) | ((uint64_t)(v % 10000) << 32);
    uint64_t hundreds = ((fours * 10486) >> 20) & 0x0000007f0000007full; /* / 100 */
    uint64_t twos = hundreds | ((fours - hundreds * 100) << 16);
    uint64_t tens = ((twos * 103) >> 10) & 0x000f000f000f000full; /* / 10 */
    return tens | ((twos - tens * 10) << 8);
}

/* Writes v < 10^8 without leading zeros; returns the end. */
static inline char *digits_put8(char *p, uint32_t v)
{
    uint64_t d = digits_spread(v);
    unsigned zeros = (unsigned)__builtin_ctzll(d | 1ull << 56) / 8;
    d = (d | 0x3030303030303030ull) >> (zeros * 8);
    memcpy(p, &d, 8);
    return p + 8 - zeros;
}

/* Writes all eight digits of v < 10^8. */
static inline char *digits_put8_full(char *p, uint32_t v)
{
    uint64_t d = digits_spread(v) | 0x3030303030303030ull;
    memcpy(p, &d, 8);
    return p + 8;
}

/* Writes any v, and may touch DIGITS_ROOM bytes at p. */
static inline char *digits_put_u64(char *p, uint64_t v)
{
    const uint64_t e8 = 100000000;
    if (__builtin_expect(v < e8, 1))
        return digits_put8(p, (uint32_t)v);
    if (v < e8 * e8)
        return digits_put8_full(digits_put8(p, (uint32_t)(v / e8)), (uint32_t)(v % e8));
    p = digits_put8(p, (uint32_t)(v / (e8 * e8)));
    v %= e8 * e8;
    return digits_put8_full(digits_put8_full(p, (uint32_t)(v / e8)), (uint32_t)(v % e8));
}

static inline char *digits_put_i64(char *p, int64_t v)
{
    uint64_t negative = (uint64_t)(v < 0);
    *p = '-';
    return digits_put_u64(p + negative, ((uint64_t)v ^ -negative) + negative);
}

#endif
