/* end.c - see end.h. */
#include "wire/end.h"

#include "base/json.h"

#include <string.h>

enum { END_LINE_MAX = 4096 }; /* bytes; of ours and of the public client's */

static bool is_end(const char *type)
{
    return strcmp(type, "end") == 0 || strcmp(type, "shutdown") == 0;
}

static bool take_type(struct json *j, const char *key, struct json_value v, void *to)
{
    char type[32];
    if (strcmp(key, "type") != 0 || v.type != JSON_STRING)
        return json_skip(j, v);
    json_text(v, type, sizeof type);
    *(bool *)to = is_end(type);
    return false; /* nothing else is looked for */
}

bool wire_line_ends(const char *line, size_t len)
{
    bool ends = false;
    if (len > END_LINE_MAX ||
        (!memmem(line, len, "\"end\"", 5) && !memmem(line, len, "\"shutdown\"", 10)))
        return false;
    json_document(line, len, take_type, &ends);
    return ends;
}
