/* fields.h - picks the known members of a JSON object into a struct, by table.
 *
 * The lines have members that are single values. Members may come in any order; if one is missing
 * or of another type, its field keeps the value that the caller put there. The text must have
 * passed scan_value before. Called by the owner's thread only. */
#ifndef GPUFL_WIRE_FIELDS_H
#define GPUFL_WIRE_FIELDS_H

#include "wire/scan.h"

enum field_kind {
    FIELD_INT,        /* int64_t: a number, or one in quotes; 64-bit patterns wrap */
    FIELD_MILLIONTHS, /* int64_t: a decimal fraction x 10^6, cut */
    FIELD_BOOL,       /* int64_t: 0 or 1 */
    FIELD_TEXT,       /* struct span: a string, still escaped */
    FIELD_VALUE,      /* struct span: any value's text */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset; /* in the caller's struct */
};

/* Makes a row of a table for members of struct type. */
#define FIELD(type, name, kind, member)                                                            \
    {                                                                                              \
        name, FIELD_##kind, offsetof(struct type, member)                                          \
    }

void fields_read(struct scan s, const struct field *table, unsigned count, void *out);

/* Takes the next element of an array's text as its own scan; false at the end. first: see
 * scan_element.
 */
bool fields_next(struct scan *array, bool *first, struct scan *element);

/* Returns a span as a text to scan; a span that was never set is an empty text. */
static inline struct scan scan_of(struct span s)
{
    static const char none[1];
    return s.at ? (struct scan){s.at, s.at + s.len} : (struct scan){none, none};
}

#endif
