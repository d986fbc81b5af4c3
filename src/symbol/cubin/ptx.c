/* ptx.c - see ptx.h. */
#include "symbol/cubin/ptx.h"

#include "base/alloc.h"
#include "symbol/elf/file.h"

#include <string.h>

#define PTX_MOST ((size_t)64 << 20) /* bytes of one cubin's PTX */

char *ptx_read(const char *cubin, size_t *len)
{
    struct elf_file f;
    if (elf_file_open(&f, cubin, NULL))
        return NULL;
    char *text = elf_file_read(&f, elf_file_section(&f, ".nv_debug_ptx_txt"), PTX_MOST, len);
    elf_file_close(&f);
    for (size_t i = 0; text && i < *len; i++)
        if (!text[i])
            text[i] = '\n';
    return text;
}

/* Returns the length of a definition that starts at `text`, up to the brace that closes its first
 * brace; 0: it is a declaration, or incomplete. Braces in comments do not count. */
static size_t definition(const char *text)
{
    size_t depth = 0;
    for (const char *p = text; *p; p++) {
        if (p[0] == '/' && p[1] == '/')
            p += strcspn(p, "\n") - 1;
        else if (*p == '{')
            depth++;
        else if (!depth && (*p == ';' || *p == '}'))
            return 0;
        else if (*p == '}' && --depth == 0)
            return (size_t)(p + 1 - text);
    }
    return 0;
}

/* Returns the line that begins a function whose name is at p: `.visible .entry NAME(`, or `.func
 * (.param .b32 result) NAME(`. NULL: the name is only used there, or is a part of another name. */
static const char *beginning(const char *text, const char *p, size_t name_len)
{
    const char *line = memrchr(text, '\n', (size_t)(p - text));
    line = line ? line + 1 : text;
    size_t before = (size_t)(p - line);
    bool whole = before && strchr(" \t", p[-1]) && strchr(" \t\n(", p[name_len]);
    return whole && *line == '.' &&
                   (memmem(line, before, ".entry ", 7) || memmem(line, before, ".func ", 6))
               ? line
               : NULL;
}

bool ptx_find(const char *text, const char *name, size_t *at, size_t *len)
{
    size_t name_len = strlen(name);
    const char *p = name_len ? strstr(text, name) : NULL;
    for (; p; p = strstr(p + name_len, name)) {
        const char *line = beginning(text, p, name_len);
        *len = line ? definition(line) : 0;
        *at = line ? (size_t)(line - text) : 0;
        if (*len)
            return true;
    }
    return false;
}
