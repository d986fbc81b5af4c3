/* decimal.h - writes decimal fractions as two integers: mantissa x 10^exponent.
 *
 * Counters have values such as 41.25 or 1.23457e+08; cells of records are
 * integers. The pair is exact, has one form (no trailing zeros; zero is 0 x 10^0)
 * and is read and written without floating point, whose text depends on the program's locale.
 * [any] */
#ifndef GPUFL_WIRE_DECIMAL_H
#define GPUFL_WIRE_DECIMAL_H

#include "base/buf.h"
#include "wire/scan.h"

#include <stdbool.h>
#include <stdint.h>

struct decimal {
    int64_t mantissa;
    int64_t exponent;
};

/* Reads a JSON number; digits beyond the 16th are cut. False if the text is no number, or its
 * exponent is beyond +-99. */
bool decimal_read(struct scan *s, struct decimal *out);

/* Writes d as a JSON number. */
void decimal_put(struct buf *b, struct decimal d);

double decimal_double(struct decimal d);

/* Finds the nearest decimal with this many digits (1 to 15). False if the value is not finite, or
 * beyond 10^+-99. */
bool decimal_of(double value, int digits, struct decimal *out);

/* Returns the pair in one cell, for a batch that is being read; never CELL_NULL. */
static inline int64_t decimal_pack(struct decimal d)
{
    return (int64_t)((uint64_t)d.mantissa << 8 | (uint8_t)(int8_t)d.exponent);
}

static inline struct decimal decimal_unpack(int64_t cell)
{
    return (struct decimal){cell >> 8, (int8_t)(uint8_t)(uint64_t)cell};
}

#endif
