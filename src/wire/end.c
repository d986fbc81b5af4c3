/* end.c - see end.h. */
#include "wire/end.h"

#include "base/json.h"

#include <string.h>

enum { END_LINE_MAX = 4096 }; /* bytes; of ours and of the public client's */

static bool is_end(const char *type)
{
    return strcmp(type, "end") == 0 || strcmp(type, "shutdown") == 0;
}

bool wire_line_ends(const char *line, size_t len)
{
    struct json j;
    char key[32], type[32];
    if (len > END_LINE_MAX ||
        (!memmem(line, len, "\"end\"", 5) && !memmem(line, len, "\"shutdown\"", 10)))
        return false;
    json_init(&j, line, len);
    if (json_read(&j).type != JSON_OBJECT)
        return false;
    for (;;) {
        struct json_value v = json_key(&j, key, sizeof key);
        if (v.type == JSON_END || v.type == JSON_ERROR)
            return false;
        if (strcmp(key, "type") == 0 && v.type == JSON_STRING) {
            json_text(v, type, sizeof type);
            return is_end(type);
        }
        if (!json_skip(&j, v))
            return false;
    }
}
