/* name_sets.h - has tables of named sets of a vendor's counters, and lists that have each name
 * once. Pure. [any] */
#ifndef GPUFL_BACKEND_COMMON_NAME_SETS_H
#define GPUFL_BACKEND_COMMON_NAME_SETS_H

#include <stddef.h>

struct name_row {
    const char *set, *name; /* a row with a set begins that set; other rows have a name */
    int kinds;              /* of the table's own meaning */
};

struct name_sets {
    const struct name_row *rows;
    size_t count;
};

/* Returns the row that begins the set with this name, without regard to case; the number of rows if
 * there is none. */
size_t name_sets_find(const struct name_sets *s, const char *word, size_t length);

/* Returns name i of all sets, set by set, and gives the name of its set; NULL after the last. */
const struct name_row *name_sets_at(const struct name_sets *s, size_t i, const char **set);

/* Adds a name to a list, unless the list has the name: *count of at most `most` names, each in
 * `room` bytes. 0, or GPUFL_E_FULL if the list or the room does not suffice. */
int name_list_put(char *names, size_t room, size_t most, size_t *count, const char *name,
                  size_t length);

#endif
