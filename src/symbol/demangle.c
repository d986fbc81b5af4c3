/* demangle.c - __cxa_demangle with bounds, and names that fit a table. */
#include "symbol/demangle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_MAX = 65536 }; /* bytes of a demangled name that is looked at */

/* Of the C++ runtime; its result is the C library's malloc's. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

static bool mangled(const char *name)
{
    size_t len = strlen(name);
    return len <= DEMANGLE_MAX && len > 2 && name[0] == '_' && name[1] == 'Z';
}

void demangle_put(struct buf *out, const char *name)
{
    int status = -1;
    char *text = mangled(name) ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    buf_str(out, text && status == 0 ? text : name);
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

struct cut {
    int bare_from;    /* bracket depth from which namespaces are left out */
    int nothing_from; /* bracket depth from which everything is left out */
};

/* Copies s without what the cut leaves out; "<" and ">" stay with ".." for what was inside. */
static void copy_cut(struct buf *out, struct span s, struct cut cut)
{
    static const char anonymous[] = "(anonymous namespace)::";
    int depth = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (starts(s, i, anonymous)) {
            i += strlen(anonymous) - 1;
            continue;
        }
        char c = s.at[i];
        if (c == '>' && depth)
            depth--;
        if (depth < cut.nothing_from) {
            if (depth >= cut.bare_from && starts(s, i, "::")) {
                while (out->len && is_word(out->data[out->len - 1]))
                    out->len--;
                i++;
                continue;
            }
            buf_char(out, c);
        }
        if (c == '<' && ++depth == cut.nothing_from)
            buf_str(out, "..");
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

/* Cuts the text at `from` to width columns, with ".." at its end. */
static void cut_end(struct buf *out, size_t from, size_t width)
{
    size_t keep = width > 2 ? width - 2 : 0, at = from, n = 0;
    while (at < out->len) {
        n += ((unsigned char)out->data[at] & 0xc0) != 0x80;
        if (n > keep)
            break;
        at++;
    }
    out->len = at;
    buf_str(out, width > 1 ? ".." : "");
}

void demangle_short(struct buf *out, const char *demangled, size_t width)
{
    static const struct cut cuts[] = {{99, 99}, {1, 99}, {1, 3}, {1, 2}, {1, 1}, {0, 1}};
    struct span s = {demangled, strnlen(demangled, SHORT_MAX)};
    struct span name = drop_return_type(drop_parameters(s));
    size_t from = out->len;
    if (!name.len)
        name = s;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts && !buf_error(out); i++) {
        out->len = from;
        copy_cut(out, name, cuts[i]);
        if (columns(out->data + from, out->len - from) <= width)
            return;
    }
    if (!buf_error(out))
        cut_end(out, from, width);
}
