/* stall_name.c - see stall_name.h. */
#include "wire/stall_name.h"

#include "wire/record.h"

#include <stdbool.h>
#include <string.h>

/* Returns a letter or digit in lower case; 0: something between words. */
static char plain(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c + 32);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : 0;
}

static bool cut_front(char *text, const char *front)
{
    size_t n = strlen(front), len = strlen(text);
    if (len <= n || memcmp(text, front, n) != 0)
        return false;
    memmove(text, text + n, len - n + 1);
    return true;
}

static bool cut_end(char *text, const char *end)
{
    size_t n = strlen(end), len = strlen(text);
    if (len <= n || memcmp(text + len - n, end, n) != 0)
        return false;
    text[len - n] = '\0';
    return true;
}

struct stall_name stall_name_of(const char *driver, size_t len)
{
    struct stall_name out = {.issued = CELL_NULL};
    size_t n = 0;
    for (size_t i = 0; i < len && n < STALL_NAME_ROOM - 1; i++) {
        char c = plain(driver[i]);
        if (c)
            out.text[n++] = c;
        else if (n && out.text[n - 1] != '_')
            out.text[n++] = '_';
    }
    while (n && out.text[n - 1] == '_')
        n--;
    out.text[n] = '\0';
    bool sampled = cut_front(out.text, "smsp_pcsamp_");
    if (cut_end(out.text, "_not_issued"))
        out.issued = 0;
    else if (sampled)
        out.issued = 1; /* this interface has another name for cycles without an issue */
    cut_front(out.text, "warps_issue_");
    cut_front(out.text, "stall_");
    cut_front(out.text, "stalled_");
    return out;
}
