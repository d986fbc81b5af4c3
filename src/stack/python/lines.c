/* lines.c - finds the line of an instruction, from a code object's line table.
 *
 * There are three formats, each with a decoder. All of them contain differences from the first
 * line, so that a table is read from its start to the wanted place. A damaged table gives 0,
 * unknown. The functions have no state. Called by any thread. */
#include "stack/python/inside.h"

enum {
    UNIT_BYTES = 2,       /* bytes of an instruction */
    RANGES_NONE = -128,   /* the delta that means "no line" */
    LOCATION_FLAG = 0x80, /* first byte of an entry, and of no other */
    CODE_ONE_LINE = 10,   /* to 12: 0 to 2 lines on */
    CODE_NO_COLUMNS = 13,
    CODE_LONG = 14,
    CODE_NONE = 15,
};

static int lines_pairs(const uint8_t *t, size_t size, int first, uint32_t place)
{
    int64_t line = first;
    uint64_t at = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        at += t[i];
        if (at > place)
            break;
        line += (int8_t)t[i + 1];
    }
    return line > 0 && line <= INT32_MAX ? (int)line : 0;
}

static int lines_ranges(const uint8_t *t, size_t size, int first, uint32_t place)
{
    int64_t line = first;
    uint64_t end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int8_t delta = (int8_t)t[i + 1];
        end += t[i];
        if (delta != RANGES_NONE)
            line += delta;
        if (place < end)
            return delta != RANGES_NONE && line > 0 && line <= INT32_MAX ? (int)line : 0;
    }
    return 0;
}

/* Reads six bits of each byte, lowest first. Bit 6: more bytes follow. The lowest bit is the
 * sign. */
static int64_t lines_signed(const uint8_t *t, size_t size, size_t i)
{
    uint64_t value = 0;
    for (unsigned shift = 0; i < size && shift < 36; i++, shift += 6) {
        value |= (uint64_t)(t[i] & 63) << shift;
        if (!(t[i] & 64))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int lines_locations(const uint8_t *t, size_t size, int first, uint32_t place)
{
    int64_t line = first;
    uint64_t end = 0;
    for (size_t i = 0; i < size;) {
        if (!(t[i] & LOCATION_FLAG))
            return 0;
        unsigned code = t[i] >> 3 & 15;
        end += ((t[i] & 7) + 1) * UNIT_BYTES;
        i++;
        if (code == CODE_LONG || code == CODE_NO_COLUMNS)
            line += lines_signed(t, size, i);
        else if (code >= CODE_ONE_LINE && code < CODE_NO_COLUMNS)
            line += code - CODE_ONE_LINE;
        if (place < end)
            return code != CODE_NONE && line > 0 && line <= INT32_MAX ? (int)line : 0;
        while (i < size && !(t[i] & LOCATION_FLAG))
            i++;
    }
    return 0;
}

int python_lines_find(enum python_lines_format format, const uint8_t *table, size_t size,
                      int first_line, uint32_t place)
{
    if (place == UINT32_MAX)
        return first_line > 0 ? first_line : 0;
    switch (format) {
    case LINES_PAIRS:
        return lines_pairs(table, size, first_line, place);
    case LINES_RANGES:
        return lines_ranges(table, size, first_line, place);
    case LINES_LOCATIONS:
        return lines_locations(table, size, first_line, place);
    }
    return 0;
}
