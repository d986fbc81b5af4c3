/* rust.c - reads Rust's legacy scheme, and chooses between it and v0. */
#include "symbol/names/rust/rust.h"

#include "base/err.h"
#include "symbol/names/rust/v0.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { HASH_LEN = 17 }; /* h and 16 hexadecimal digits, the last part of a legacy name */

/* Takes the next <length><text> part of a legacy name; false: there is none. */
static bool next_part(const char **at, const char *end, const char **part, size_t *len)
{
    size_t n = 0;
    const char *c = *at;
    while (c < end && *c >= '0' && *c <= '9' && n < (size_t)(end - c))
        n = n * 10 + (size_t)(*c++ - '0');
    if (!n || n > (size_t)(end - c))
        return false;
    *part = c;
    *len = n;
    *at = c + n;
    return true;
}

static bool is_hash(const char *part, size_t len)
{
    size_t i = 1;
    while (i < len && ((part[i] >= '0' && part[i] <= '9') || (part[i] >= 'a' && part[i] <= 'f')))
        i++;
    return len == HASH_LEN && part[0] == 'h' && i == len;
}

/* Writes $u<hexadecimal digits>$ as UTF-8. Returns the bytes taken; 0: it is no such
 * escape. */
static size_t put_code_point(struct buf *out, const char *at, size_t len)
{
    uint32_t c = 0;
    size_t i = 2;
    if (len < 4 || at[0] != '$' || at[1] != 'u')
        return 0;
    for (; i < len && i < 8 && at[i] != '$'; i++) {
        bool digit = at[i] >= '0' && at[i] <= '9';
        if (!digit && !(at[i] >= 'a' && at[i] <= 'f'))
            return 0;
        c = c * 16 + (uint32_t)(digit ? at[i] - '0' : at[i] - 'a' + 10);
    }
    if (i == 2 || i == len || at[i] != '$' || c < ' ' || c > 0x10ffff)
        return 0;
    rust_put_utf8(out, c);
    return i + 1;
}

/* Writes the character for which $LT$ or a similar escape stands. Returns the bytes taken; 0: it is
 * no such escape. */
static size_t put_escape(struct buf *out, const char *at, size_t len)
{
    static const struct {
        const char *code, *text;
    } rows[] = {
        {"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"}, {"$GT$", ">"},
        {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","},  {"..", "::"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = strlen(rows[i].code);
        if (n <= len && !memcmp(at, rows[i].code, n)) {
            buf_str(out, rows[i].text);
            return n;
        }
    }
    return put_code_point(out, at, len);
}

static void put_part(struct buf *out, const char *part, size_t len)
{
    size_t i = len > 1 && part[0] == '_' && part[1] == '$';
    while (i < len) {
        size_t taken = put_escape(out, part + i, len - i);
        if (!taken)
            buf_char(out, part[i]);
        i += taken ? taken : 1;
    }
}

/* Returns true for _ZN <part>+ 17h<16 hexadecimal digits> E, which no C++ compiler makes. *end: the
 * E. */
static bool is_legacy(const char *name, size_t len, const char **end)
{
    const char *at = name + 3, *stop = name + len, *part = NULL;
    size_t n = 0, parts = 0;
    if (len < 3 || memcmp(name, "_ZN", 3) != 0)
        return false;
    while (next_part(&at, stop, &part, &n))
        parts++;
    *end = at;
    bool ends = at < stop && *at == 'E' && (at + 1 == stop || at[1] == '.');
    return ends && parts > 1 && is_hash(part, n);
}

static int put_legacy(struct buf *out, const char *name, const char *end, size_t most)
{
    const char *at = name + 3, *part;
    size_t before = out->len, n;
    bool first = true;
    if ((size_t)(end - name) > most) /* no escape is longer when it is decoded */
        return GPUFL_E_FULL;
    while (next_part(&at, end, &part, &n) && at < end) {
        if (!first)
            buf_str(out, "::");
        put_part(out, part, n);
        first = false;
    }
    if (!buf_error(out))
        return 0;
    out->len = before;
    return GPUFL_E_NOMEM;
}

int rust_put(struct buf *out, const char *name, size_t len, size_t most)
{
    const char *end;
    if (len > 2 && name[0] == '_' && name[1] == 'R')
        return rust_v0_put(out, name, len, most);
    return is_legacy(name, len, &end) ? put_legacy(out, name, end, most) : GPUFL_E_CORRUPT;
}
