/* counter_text.h - reads numbers after a key, as files of the kernel have them. [any] */
#ifndef GPUFL_MONITOR_COUNTER_TEXT_H
#define GPUFL_MONITOR_COUNTER_TEXT_H

#include "wire/record.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number after a key ("pswpin ", with the separators), times unit; CELL_NULL: there is
 * none, or the product is too large. */
static inline int64_t counter_text(const char *text, const char *key, int64_t unit)
{
    const char *at = strstr(text, key);
    char *end;
    if (!at)
        return CELL_NULL;
    at += strlen(key);
    int64_t v = strtoll(at, &end, 10);
    return end == at || v < 0 || v > INT64_MAX / unit ? CELL_NULL : v * unit;
}

/* Returns the growth of a counter; CELL_NULL: unknown, or the counter was reset. */
static inline int64_t counter_grown(int64_t before, int64_t now)
{
    return before == CELL_NULL || now == CELL_NULL || now < before ? CELL_NULL : now - before;
}

#endif
