/* marks.c - see marks.h. */
#include "capture/records/marks.h"

#include "wire/decimal.h"

#include <stdbool.h>
#include <string.h>

enum { DIGITS_DOUBLE = 15, DIGITS_FLOAT = 7 }; /* decimal digits that the types hold exactly */

static bool payload_number(enum mark_kind kind, uint64_t payload, struct decimal *out)
{
    uint32_t low = (uint32_t)payload;
    double wide;
    float narrow;
    memcpy(&wide, &payload, sizeof wide);
    memcpy(&narrow, &low, sizeof narrow);
    *out = (struct decimal){(int64_t)payload, 0};
    switch (kind) {
    case MARK_PLAIN:
        return false;
    case MARK_UNSIGNED:
        return payload <= INT64_MAX || decimal_of((double)payload, DIGITS_DOUBLE, out);
    case MARK_SIGNED:
        return out->mantissa != CELL_NULL || decimal_of((double)out->mantissa, DIGITS_DOUBLE, out);
    case MARK_DOUBLE:
        return decimal_of(wide, DIGITS_DOUBLE, out);
    case MARK_FLOAT:
        return decimal_of((double)narrow, DIGITS_FLOAT, out);
    }
    return false;
}

struct mark_row mark_row_of(uint32_t name, uint64_t packed, uint64_t payload)
{
    struct decimal number;
    bool has = payload_number((enum mark_kind)(packed >> 32), payload, &number);
    return (struct mark_row){
        .name = name,
        .tag = (uint32_t)packed,
        .value = has ? number.mantissa : CELL_NULL,
        .exponent = has ? number.exponent : CELL_NULL,
    };
}
