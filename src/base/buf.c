/* buf.c - makes buffers grow up to a ceiling, and writes numbers and JSON strings.
 *
 * Numbers are written by digits.h, which may touch DIGITS_ROOM bytes even if a number
 * needs fewer; near the ceiling they are written to the stack first and then copied.
 *
 * One byte more than cap is allocated: buf_cstr never has to grow. */
#include "base/buf.h"

#include "base/alloc.h"
#include "base/digits.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_CAP = 256 };

void buf_init(struct buf *b, size_t max)
{
    memset(b, 0, sizeof *b);
    b->max = max < SIZE_MAX ? max : SIZE_MAX - 1;
}

void buf_fini(struct buf *b)
{
    mem_free(b->data);
    memset(b, 0, sizeof *b);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->error = 0;
}

int buf_error(const struct buf *b)
{
    return b->error;
}

int buf_reserve(struct buf *b, size_t more)
{
    if (b->error)
        return b->error;
    if (more <= b->cap - b->len)
        return 0;
    if (more > b->max - b->len)
        return b->error = GPUFL_E_FULL;
    size_t need = b->len + more;
    size_t cap = b->cap < FIRST_CAP ? FIRST_CAP : b->cap;
    while (cap < need)
        cap = cap > b->max / 2 ? b->max : cap * 2;
    if (cap > b->max)
        cap = b->max;
    char *grown = mem_realloc(b->data, cap + 1);
    if (!grown)
        return b->error = GPUFL_E_NOMEM;
    b->data = grown;
    b->cap = cap;
    return 0;
}

void buf_put(struct buf *b, const void *data, size_t n)
{
    if (n == 0 || buf_reserve(b, n))
        return;
    memcpy(b->data + b->len, data, n);
    b->len += n;
}

void buf_str(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
    if (buf_reserve(b, 1))
        return;
    b->data[b->len++] = c;
}

void buf_i64(struct buf *b, int64_t v)
{
    if (__builtin_expect((b->cap - b->len >= DIGITS_ROOM) & (b->error == 0), 1)) {
        b->len = (size_t)(digits_put_i64(b->data + b->len, v) - b->data);
        return;
    }
    char text[DIGITS_ROOM];
    buf_put(b, text, (size_t)(digits_put_i64(text, v) - text));
}

void buf_u64(struct buf *b, uint64_t v)
{
    char text[DIGITS_ROOM];
    buf_put(b, text, (size_t)(digits_put_u64(text, v) - text));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    if (b->error)
        return;
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    size_t room = b->data ? b->cap - b->len + 1 : 0;
    int n = vsnprintf(b->data ? b->data + b->len : NULL, room, fmt, args);
    va_end(args);
    if (n < 0)
        b->error = GPUFL_E_INVAL;
    else if ((size_t)n < room)
        b->len += (size_t)n;
    else if (n > 0 && buf_reserve(b, (size_t)n) == 0)
        b->len += (size_t)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
    va_end(again);
}

size_t utf8_sequence(const unsigned char *s, size_t n)
{
    size_t len = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

static inline int json_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Writes one character that needs an escape; returns how many bytes at s it takes. */
static size_t json_special(struct buf *b, const unsigned char *s, size_t n)
{
    static const char short_escape[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    if (s[0] >= 0x80) {
        size_t len = utf8_sequence(s, n);
        if (s[0] == 0xc2 && len && s[1] < 0xa0)
            buf_printf(b, "\\u%04x", s[1]); /* a terminal obeys these, too */
        else if (len)
            buf_put(b, s, len);
        else
            buf_put(b, "\xef\xbf\xbd", 3);
        return len ? len : 1;
    }
    char escape = s[0] < 0x20 ? short_escape[s[0]] : s[0] == 0x7f ? '\0' : (char)s[0];
    if (escape)
        buf_put(b, (char[]){'\\', escape}, 2);
    else
        buf_printf(b, "\\u%04x", s[0]);
    return 1;
}

void buf_json(struct buf *b, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    buf_char(b, '"');
    for (size_t i = 0; i < n;) {
        size_t start = i;
        while (i < n && json_plain(s[i]))
            i++;
        buf_put(b, s + start, i - start);
        if (i < n)
            i += json_special(b, s + i, n - i);
    }
    buf_char(b, '"');
}

void buf_json_str(struct buf *b, const char *s)
{
    buf_json(b, s, strlen(s));
}

const char *buf_cstr(struct buf *b)
{
    if (b->error || !b->data)
        return "";
    b->data[b->len] = '\0';
    return b->data;
}
