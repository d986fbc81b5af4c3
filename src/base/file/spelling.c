/* spelling.c - see spelling.h. */
#include "base/file/spelling.h"

#include "base/buf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { UNIT = 4 /* bytes of a spelled byte */ };

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the byte whose spelling begins at s; -1: no spelling begins there. */
static int spelled(const char *s)
{
    if (s[0] != '\\' || s[1] != 'x' || digit(s[2]) < 0 || digit(s[3]) < 0)
        return -1;
    return digit(s[2]) << 4 | digit(s[3]);
}

/* Returns how many bytes at s stay as they are; 0: the first one has to be spelled. */
static size_t plain(const char *s, size_t n)
{
    if ((unsigned char)*s >= 0x80)
        return utf8_sequence((const unsigned char *)s, n);
    return spelled(s) < 0;
}

const char *spelling_of(const char *path, char room[SPELLING_ROOM])
{
    size_t n = strlen(path), at = 0, to = 0;
    while (at < n && plain(path + at, n - at))
        at += plain(path + at, n - at);
    if (at == n)
        return path;
    for (at = 0; at < n && to + UNIT < SPELLING_ROOM;) {
        size_t len = plain(path + at, n - at);
        if (len)
            memcpy(room + to, path + at, len);
        else
            snprintf(room + to, UNIT + 1, "\\x%02x", (unsigned char)path[at]);
        to += len ? len : UNIT;
        at += len ? len : 1;
    }
    room[to] = '\0';
    return room;
}

const char *spelling_path(const char *text, char room[PATH_MAX])
{
    size_t to = 0;
    const char *at = text;
    while ((at = strchr(at, '\\')) && spelled(at) < 0)
        at++;
    if (!at)
        return text;
    for (at = text; *at && to + 1 < PATH_MAX;) {
        int byte = spelled(at);
        room[to++] = byte > 0 ? (char)byte : *at;
        at += byte > 0 ? UNIT : 1;
    }
    room[to] = '\0';
    return room;
}
