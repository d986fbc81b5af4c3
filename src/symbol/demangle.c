/* demangle.c - __cxa_demangle with bounds, and names that fit a table. */
#include "symbol/demangle.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_MAX = 65536 };              /* bytes of a demangled name that is looked at */
static const double EXPANDED_MAX = 1e10; /* a bound far above what real names come near */

/* Of the C++ runtime; its result is the C library's malloc's. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

static bool mangled(const char *name)
{
    size_t len = strlen(name);
    return len <= DEMANGLE_MAX && len > 2 && name[0] == '_' && name[1] == 'Z';
}

/* The C++ runtime writes every reference to an earlier part of the name (S_, S0_, T_ …)
 * out in full, and references may nest: a name of 300 bytes can be made that needs
 * gigabytes. The product of the references bounds how often any part is written. */
static bool may_explode(const char *name)
{
    enum { KINDS = 2, INDICES = 64 };
    uint32_t seen[KINDS][INDICES] = {{0}};
    double bound = (double)strlen(name);
    for (const char *c = name; *c; c++) {
        if (*c != 'S' && *c != 'T')
            continue;
        size_t digits = strspn(c + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (c[1 + digits] != '_' || digits > 3)
            continue;
        unsigned index = digits ? (unsigned)strtoul(c + 1, NULL, 36) + 1 : 0;
        seen[*c == 'T'][index % INDICES]++;
    }
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < INDICES; i++)
            bound *= seen[k][i] + 1;
    return bound > EXPANDED_MAX;
}

void demangle_put(struct buf *out, const char *name)
{
    int status = -1;
    char *text =
        mangled(name) && !may_explode(name) ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    bool fits = text && status == 0 && strnlen(text, DEMANGLED_MAX) < DEMANGLED_MAX;
    buf_str(out, fits ? text : name);
    free(text);
}

/* ---- shortening ------------------------------------------------------------------------ */

struct span {
    const char *at;
    size_t len;
};

static bool starts(struct span s, size_t i, const char *word)
{
    size_t n = strlen(word);
    return i + n <= s.len && !memcmp(s.at + i, word, n);
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

/* Passes over "operator" and its sign: its brackets are none. */
static size_t skip_operator(struct span s, size_t i)
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

/* Without the parameter list, and what stands behind it: up to the last '(' outside all
 * brackets that opens one (not that of "(anonymous namespace)"). */
static struct span drop_parameters(struct span s)
{
    int depth = 0;
    size_t cut = s.len;
    for (size_t i = 0; i < s.len; i++) {
        size_t after = skip_operator(s, i);
        if (after > i) {
            i = after - 1;
            continue;
        }
        char c = s.at[i];
        if (c == '(' && depth == 0 && i && !starts(s, i, "(anonymous namespace)") &&
            !starts(s, i, "({lambda"))
            cut = i;
        depth += c == '<' || c == '(' || c == '[' || c == '{';
        depth -= (c == '>' && !(i && s.at[i - 1] == '-')) || c == ')' || c == ']' || c == '}';
    }
    return (struct span){s.at, cut};
}

/* Without the return type: what stands before the last space outside brackets. */
static struct span drop_return_type(struct span s)
{
    int depth = 0;
    size_t from = 0;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (starts(s, i, "operator") && (i == 0 || !is_word(s.at[i - 1])))
            break;
        depth += c == '<' || c == '(' || c == '[' || c == '{';
        depth -= c == '>' || c == ')' || c == ']' || c == '}';
        if (c == ' ' && depth == 0 && i + 1 < s.len)
            from = i + 1;
    }
    return (struct span){s.at + from, s.len - from};
}

/* Copies s without namespaces inside at least bare_from angle brackets. */
static void copy_bare(struct buf *out, struct span s, int bare_from)
{
    static const char anonymous[] = "(anonymous namespace)::";
    int depth = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (starts(s, i, anonymous)) {
            i += strlen(anonymous) - 1;
            continue;
        }
        if (depth >= bare_from && starts(s, i, "::")) {
            while (out->len && is_word(out->data[out->len - 1]))
                out->len--;
            i++;
            continue;
        }
        depth += s.at[i] == '<';
        depth -= s.at[i] == '>' && depth;
        buf_char(out, s.at[i]);
    }
}

/* Columns of UTF-8 text. */
static size_t columns(const char *at, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)at[i] & 0xc0) != 0x80;
    return n;
}

/* Byte at which column n of the text starts. */
static size_t column_at(const char *at, size_t len, size_t n)
{
    size_t i = 0;
    for (; i < len; i++)
        if (((unsigned char)at[i] & 0xc0) != 0x80 && n-- == 0)
            break;
    return i;
}

/* Cuts the middle out of the text at `from`: instances of one template often differ in their
 * last arguments only. */
static void cut_middle(struct buf *out, size_t from, size_t width)
{
    char *at = out->data + from;
    size_t len = out->len - from, all = columns(at, len), keep = width > 2 ? width - 2 : 0;
    size_t head = column_at(at, len, keep - keep / 3), tail = column_at(at, len, all - keep / 3);
    memmove(at + head + 2, at + tail, len - tail);
    at[head] = at[head + 1] = '.';
    out->len = from + head + 2 + len - tail;
}

void demangle_short(struct buf *out, const char *demangled, size_t width)
{
    static const int bare_from[] = {INT_MAX, 1, 0};
    struct span s = {demangled, strnlen(demangled, SHORT_MAX)};
    struct span name = drop_return_type(drop_parameters(s));
    size_t from = out->len;
    if (!name.len)
        name = s;
    for (size_t i = 0; i < sizeof bare_from / sizeof *bare_from && !buf_error(out); i++) {
        out->len = from;
        copy_bare(out, name, bare_from[i]);
        if (columns(out->data + from, out->len - from) <= width)
            return;
    }
    if (!buf_error(out))
        cut_middle(out, from, width);
}
