/* marks.h - describes a mark: a moment with a name, and a payload if it has one.
 *
 * A payload is a number from NVTX. It is kept as 64 bits until the collector makes a decimal
 * fraction of it, so that a mark costs the program's thread no arithmetic. */
#ifndef GPUFL_CAPTURE_RECORDS_MARKS_H
#define GPUFL_CAPTURE_RECORDS_MARKS_H

#include "wire/record.h"

#include <stddef.h>
#include <stdint.h>

enum mark_kind { MARK_PLAIN, MARK_UNSIGNED, MARK_SIGNED, MARK_DOUBLE, MARK_FLOAT };

struct marked {
    const char *name; /* not empty */
    size_t length;
    const char *tag; /* not NULL */
    enum mark_kind kind;
    uint64_t payload; /* bits of the number; MARK_FLOAT: the lower 32 */
};

/* Packs the kind and the id of the tag's name into one word. */
static inline uint64_t mark_pack(enum mark_kind kind, uint32_t tag)
{
    return (uint64_t)kind << 32 | tag;
}

/* Returns the row of a mark with its name, tag and payload; the caller adds the rest. value is
 * CELL_NULL if there is no payload, or if it is no finite number. [collector] */
struct mark_row mark_row_of(uint32_t name, uint64_t packed, uint64_t payload);

#endif
