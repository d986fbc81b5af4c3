/* span.h - writes pieces of demangled names, for the files that shorten them. [any] */
#ifndef GPUFL_SYMBOL_NAMES_SPAN_H
#define GPUFL_SYMBOL_NAMES_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
    const char *at;
    size_t len;
};

static inline bool starts(struct span s, size_t i, const char *word)
{
    size_t n = strlen(word);
    return i + n <= s.len && !memcmp(s.at + i, word, n);
}

static inline bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

/* Skips "operator" and its sign, whose brackets do not count. */
static inline size_t skip_operator(struct span s, size_t i)
{
    if (!starts(s, i, "operator") || (i && is_word(s.at[i - 1])))
        return i;
    size_t sign = i + strlen("operator");
    static const char *const signs[] = {"()",  "<=>", "<<=", ">>=", "<<", ">>",
                                        "->*", "->",  "<=",  ">=",  "<",  ">"};
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
        if (starts(s, sign, signs[k]))
            return sign + strlen(signs[k]);
    return i;
}

/* Returns the number of columns of UTF-8 text. */
static inline size_t columns(const char *at, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)at[i] & 0xc0) != 0x80;
    return n;
}

/* Returns the byte at which column n of the text starts. */
static inline size_t column_at(const char *at, size_t len, size_t n)
{
    size_t i = 0;
    for (; i < len; i++)
        if (((unsigned char)at[i] & 0xc0) != 0x80 && n-- == 0)
            break;
    return i;
}

static inline bool span_same(struct span a, struct span b)
{
    return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

#endif
