/* scan.c - see scan.h. */
#include "wire/scan.h"

enum { SCAN_DEPTH = 64 }; /* deeper nesting is damage */

/* Returns a word whose lowest set bit is in the byte of the first quote or backslash; 0: there is
 * none. */
static uint64_t find_special(uint64_t w)
{
    const uint64_t ones = 0x0101010101010101ull, highs = 0x8080808080808080ull;
    uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\';
    return (((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & highs;
}

/* Returns the first quote or backslash, or the end. */
static const char *skip_plain(const char *p, const char *end)
{
    for (; end - p >= 8; p += 8) {
        uint64_t w, found;
        memcpy(&w, p, 8);
        found = find_special(w);
        if (found)
            return p + __builtin_ctzll(found) / 8;
    }
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

bool scan_string(struct scan *s, struct span *out)
{
    if (!scan_char(s, '"'))
        return false;
    out->at = s->at;
    while (true) {
        s->at = skip_plain(s->at, s->end);
        if (s->end - s->at < 1)
            return false;
        if (*s->at == '"')
            break;
        if (s->end - s->at < 2)
            return false;
        s->at += 2;
    }
    out->len = (size_t)(s->at - out->at);
    s->at++;
    return true;
}

/* Skips a number or a literal; only its characters are checked. */
static bool scan_atom(struct scan *s)
{
    static const char *const literals[] = {"null", "true", "false"};
    const char *start = s->at;
    while (s->at < s->end && ((*s->at >= '0' && *s->at <= '9') || *s->at == '-' || *s->at == '+' ||
                              *s->at == '.' || *s->at == 'e' || *s->at == 'E'))
        s->at++;
    if (s->at > start)
        return true;
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(literals[i]);
        if ((size_t)(s->end - s->at) >= n && !memcmp(s->at, literals[i], n)) {
            s->at += n;
            return true;
        }
    }
    return false;
}

/* Closes the containers that end after a value, and passes the comma. */
static bool scan_after(struct scan *s, char *closers, int *depth)
{
    while (*depth) {
        char c = scan_peek(s);
        if (c == ',') {
            s->at++;
            break;
        }
        if (c != closers[*depth - 1])
            return false;
        s->at++;
        --*depth;
    }
    return true;
}

/* Enters the container at an opening bracket; *empty: the container was closed at once. */
static bool scan_enter(struct scan *s, char *closers, int *depth, bool *empty)
{
    char close = *s->at++ == '{' ? '}' : ']';
    *empty = scan_peek(s) == close;
    if (*empty) {
        s->at++;
        return true;
    }
    if (*depth == SCAN_DEPTH)
        return false;
    closers[(*depth)++] = close;
    return true;
}

bool scan_value(struct scan *s, struct span *out)
{
    char closers[SCAN_DEPTH];
    int depth = 0;
    struct span text;
    scan_peek(s);
    const char *start = s->at;
    do {
        if (depth && closers[depth - 1] == '}' && (!scan_string(s, &text) || !scan_char(s, ':')))
            return false;
        char c = scan_peek(s);
        if (c == '{' || c == '[') {
            bool empty;
            if (!scan_enter(s, closers, &depth, &empty))
                return false;
            if (!empty)
                continue;
        } else if (c == '"' ? !scan_string(s, &text) : !scan_atom(s)) {
            return false;
        }
        if (!scan_after(s, closers, &depth))
            return false;
    } while (depth);
    if (out)
        *out = (struct span){start, (size_t)(s->at - start)};
    return true;
}

/* Reads the digits at the position as a magnitude; a fraction must not follow. */
static bool scan_magnitude(struct scan *s, uint64_t *out)
{
    enum { DIGITS_SAFE = 19 }; /* so many fit 64 bits, whatever they are */
    const char *start = s->at, *safe = s->end - start < DIGITS_SAFE ? s->end : start + DIGITS_SAFE;
    uint64_t v = 0;
    while (s->at < safe && *s->at >= '0' && *s->at <= '9')
        v = v * 10 + (unsigned)(*s->at++ - '0');
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9') {
        unsigned digit = (unsigned)(*s->at++ - '0');
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    *out = v;
    bool fraction = s->at < s->end && (*s->at == '.' || *s->at == 'e' || *s->at == 'E');
    return s->at > start && !fraction;
}

bool scan_bits(struct scan *s, int64_t *out)
{
    bool negative = scan_peek(s) == '-';
    uint64_t v;
    s->at += negative;
    if (!scan_magnitude(s, &v) || (negative && v > 1ull << 63))
        return false;
    *out = (int64_t)(negative ? 0 - v : v);
    return true;
}

bool scan_int(struct scan *s, int64_t *out)
{
    bool negative = scan_peek(s) == '-';
    return scan_bits(s, out) && (negative || *out >= 0);
}

/* Passes the opening bracket, or the comma before any element but the first; *more is false after
 * the closing bracket. */
static inline bool scan_step(struct scan *s, bool *first, char open, char close, bool *more)
{
    bool start = *first;
    char c = scan_peek(s);
    if (start) {
        if (c != open)
            return false;
        s->at++;
        c = scan_peek(s);
    }
    *first = false;
    *more = c != close;
    if (*more)
        return start || scan_char(s, ',');
    s->at++;
    return true;
}

bool scan_member(struct scan *s, bool *first, struct span *key, bool *more)
{
    return scan_step(s, first, '{', '}', more) &&
           (!*more || (scan_string(s, key) && scan_char(s, ':')));
}

bool scan_element(struct scan *s, bool *first, bool *more)
{
    return scan_step(s, first, '[', ']', more);
}
