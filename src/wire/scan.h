/* scan.h - walks one line of JSON in place.
 *
 * The decoder's own reader: nothing is copied or allocated, integers and arrays of integers are
 * read at memory speed, other values are skipped. The reader accepts leading zeros and control
 * bytes in strings, but checks the structure strictly, so that a line that was cut or overwritten
 * is recognized. Every function returns false when the text is malformed; the position is then
 * meaningless. No function reads at or past end. Called by the owner's thread only. */
#ifndef GPUFL_WIRE_SCAN_H
#define GPUFL_WIRE_SCAN_H

#include "wire/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct scan {
    const char *at; /* next byte */
    const char *end;
};

struct span { /* bytes of the line: a string between its quotes, or a value */
    const char *at;
    size_t len;
};

/* Returns the character at the position after white space, 0 at the end. */
static inline char scan_peek(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
        s->at++;
    return s->at < s->end ? *s->at : 0;
}

/* Passes over the character c. */
static inline bool scan_char(struct scan *s, char c)
{
    if (scan_peek(s) != c)
        return false;
    s->at++;
    return true;
}

/* Takes a string, still escaped. */
bool scan_string(struct scan *s, struct span *out);

/* Takes any value; *out (may be NULL) gets its text, strings with their quotes. */
bool scan_value(struct scan *s, struct span *out);

/* Reads a signed 64-bit integer; fails for other numbers and for integers out of range.
 * *out is INT64_MIN only if the text has that number. */
bool scan_int(struct scan *s, int64_t *out);

/* Reads 0 to 2^64 - 1, as a bit pattern, and negative numbers down to -2^63. */
bool scan_bits(struct scan *s, int64_t *out);

/* Passes over null and returns true; leaves the position if the value is not null. */
static inline bool scan_null(struct scan *s)
{
    if (s->end - s->at < 4 || memcmp(s->at, "null", 4))
        return false;
    s->at += 4;
    return true;
}

/* Walks an object: a call with *first true expects the opening brace; each call yields a key,
 * whose value the caller reads. *more is false after the closing brace. */
bool scan_member(struct scan *s, bool *first, struct span *key, bool *more);

/* Does what scan_member does, for an array's elements. */
bool scan_element(struct scan *s, bool *first, bool *more);

/* Returns true if only white space is left. */
static inline bool scan_done(struct scan *s)
{
    scan_peek(s);
    return s->at == s->end;
}

static inline bool span_is(struct span s, const char *text)
{
    return s.at && strlen(text) == s.len && !memcmp(s.at, text, s.len);
}

#endif
