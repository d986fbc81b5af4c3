/* name_sets.c - see name_sets.h. */
#include "backend/common/name_sets.h"

#include "base/err.h"

#include <string.h>
#include <strings.h>

size_t name_sets_find(const struct name_sets *s, const char *word, size_t length)
{
    size_t i = 0;
    while (i < s->count && !(s->rows[i].set && strlen(s->rows[i].set) == length &&
                             strncasecmp(s->rows[i].set, word, length) == 0))
        i++;
    return i;
}

const struct name_row *name_sets_at(const struct name_sets *s, size_t i, const char **set)
{
    *set = "";
    for (size_t at = 0; at < s->count; at++) {
        if (!s->rows[at].name)
            *set = s->rows[at].set;
        else if (i-- == 0)
            return &s->rows[at];
    }
    return NULL;
}

int name_list_put(char *names, size_t room, size_t most, size_t *count, const char *name,
                  size_t length)
{
    for (size_t i = 0; i < *count; i++)
        if (strlen(names + i * room) == length && memcmp(names + i * room, name, length) == 0)
            return 0;
    if (length >= room || *count == most)
        return GPUFL_E_FULL;
    char *to = names + (*count)++ * room;
    memcpy(to, name, length);
    to[length] = '\0';
    return 0;
}
