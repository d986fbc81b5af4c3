/* puny.c - decodes identifiers of Rust that are not ASCII: Punycode (RFC 3492) with _ as its
 * dash. */
#include "symbol/names/rust/v0.h"

#include <string.h>

enum { PUNY_MOST = 256 }; /* letters of an identifier */

void rust_put_utf8(struct buf *out, uint32_t c)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    char b[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        b[i] = (char)(0x80 | (c & 0x3f));
    b[0] = (char)(lead[n] | c);
    buf_put(out, b, n);
}

/* Takes one delta of Punycode (RFC 3492). */
static bool take_delta(const char **at, const char *end, uint32_t bias, uint64_t *i)
{
    uint64_t weight = 1;
    for (uint32_t k = 36;; k += 36) {
        char c = *at < end ? *(*at)++ : '\0';
        uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0') + 26 : (uint32_t)(c - 'a');
        uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (digit > 35 || weight > UINT32_MAX)
            return false;
        *i += digit * weight;
        if (digit < t)
            return *i <= UINT32_MAX;
        weight *= 36 - t;
    }
}

bool rust_put_puny(struct buf *out, const char *name, size_t len)
{
    uint32_t text[PUNY_MOST], bias = 72, c = 128;
    uint64_t i = 0;
    size_t count = 0, dash = len;
    const char *end = name + len;
    while (dash && name[dash - 1] != '_')
        dash--;
    if (len > PUNY_MOST)
        return false;
    for (size_t k = 0; k + 1 < dash; k++)
        text[count++] = (unsigned char)name[k];
    for (const char *at = name + dash; at < end; i++) {
        uint64_t old = i;
        if (count == PUNY_MOST || !take_delta(&at, end, bias, &i))
            return false;
        uint64_t delta = old ? (i - old) / 2 : i / 700;
        uint32_t k = 0;
        count++;
        for (delta += delta / count; delta > 455; k += 36)
            delta /= 35;
        bias = k + (uint32_t)(36 * delta / (delta + 38));
        if (i / count > 0x10ffff || (c += (uint32_t)(i / count)) > 0x10ffff)
            return false;
        i %= count;
        memmove(text + i + 1, text + i, (count - 1 - i) * sizeof *text);
        text[i] = c;
    }
    for (size_t k = 0; k < count; k++)
        rust_put_utf8(out, text[k]);
    return true;
}
