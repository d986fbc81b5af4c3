/* scope_text.c - see scope_text.h. */
#include "analyze/common/scope_text.h"

#include <string.h>

static bool is_special(char c)
{
    return c == '|' || c == '\\';
}

size_t scope_text_size(const char *name)
{
    size_t n = 0;
    for (; *name; name++)
        n += is_special(*name) ? 2 : 1;
    return n;
}

char *scope_text_put(char *out, const char *name)
{
    for (; *name; name++) {
        if (is_special(*name))
            *out++ = '\\';
        *out++ = *name;
    }
    return out;
}

/* A backslash there stands for the letter after it. */
static bool escapes(const char *text, size_t at, size_t len)
{
    return text[at] == '\\' && at + 1 < len && is_special(text[at + 1]);
}

size_t scope_text_first(const char *path, size_t len)
{
    size_t at = 0;
    while (at < len && path[at] != '|')
        at += escapes(path, at, len) ? 2 : 1;
    return at;
}

size_t scope_text_outer(const char *path, size_t len)
{
    size_t outer = 0, at = scope_text_first(path, len);
    while (at < len) {
        outer = at;
        at += 1 + scope_text_first(path + at + 1, len - at - 1);
    }
    return outer;
}

bool scope_text_is(const char *text, size_t len, const char *name)
{
    size_t at = 0;
    for (; at < len && *name; name++) {
        at += escapes(text, at, len);
        if (text[at++] != *name)
            return false;
    }
    return at == len && !*name;
}

size_t scope_text_plain(char *out, const char *text, size_t len)
{
    size_t n = 0;
    for (size_t at = 0; at < len; at++) {
        at += escapes(text, at, len);
        out[n++] = text[at];
    }
    return n;
}
