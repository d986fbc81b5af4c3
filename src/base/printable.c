/* printable.c - see printable.h. The length never changes, so that callers can
 * clean a text in place. */
#include "base/printable.h"

#include "base/buf.h"

#include <stdbool.h>
#include <string.h>

/* Returns true for U+0080 to U+009F, U+202A to U+202E and U+2066 to U+2069. s: well-formed, len
 * bytes. */
static bool acts(const unsigned char *s, size_t len)
{
    if (len == 2)
        return s[0] == 0xc2 && s[1] < 0xa0;
    if (len != 3 || s[0] != 0xe2)
        return false;
    return (s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) ||
           (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

void printable_clean(char *text, size_t n)
{
    unsigned char *s = (unsigned char *)text;
    for (size_t i = 0; i < n;) {
        if (s[i] < 0x80) {
            if (s[i] < 0x20 || s[i] == 0x7f)
                s[i] = ' ';
            i++;
            continue;
        }
        size_t len = utf8_sequence(s + i, n - i), bad = len ? len : 1;
        if (!len || acts(s + i, len))
            memset(s + i, '?', bad);
        i += bad;
    }
}

size_t printable_cut(const char *text, size_t n, size_t most)
{
    size_t at = n < most ? n : most;
    for (int back = 0; at < n && at && back < 3 && ((unsigned char)text[at] & 0xc0) == 0x80; back++)
        at--;
    return at;
}

size_t printable_copy(char *out, size_t size, const char *text, size_t n)
{
    n = printable_cut(text, n, size - 1);
    memcpy(out, text, n);
    out[n] = '\0';
    printable_clean(out, n);
    return n;
}
