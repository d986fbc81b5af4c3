/* counter_sets.c - see counter_sets.h. */
#include "backend/amd/trace/counter_sets.h"

#include "backend/common/name_sets.h"

#include <ctype.h>
#include <string.h>

static const struct name_row rows[] = {
#define SET(name)     {#name, NULL, 0},
#define COUNTER(name) {NULL, #name, 0},
#include "backend/amd/trace/counter_sets.def"
};
enum { ROWS = sizeof rows / sizeof *rows };
static const struct name_sets sets = {rows, ROWS};

static int add(struct counter_list *l, const char *name, size_t length, struct err *e)
{
    bool plain = length > 0;
    for (size_t i = 0; i < length; i++)
        plain &= isalnum((unsigned char)name[i]) || name[i] == '_';
    if (!plain || length >= COUNTER_NAME)
        return err_set(e, GPUFL_E_INVAL,
                       "counter_metrics: '%.*s' is neither a set (overview, memory, compute, "
                       "roofline) nor a name of a counter of AMD's, such as SQ_WAVES",
                       (int)(length < COUNTER_NAME ? length : COUNTER_NAME), name);
    if (name_list_put(l->names[0], COUNTER_NAME, COUNTERS_MOST, &l->count, name, length))
        return err_set(e, GPUFL_E_INVAL, "counter_metrics: at most %d counters", COUNTERS_MOST);
    return 0;
}

int counter_sets_read(struct counter_list *out, const char *text, struct err *e)
{
    static const char separators[] = ", \t\n";
    int rc = 0;
    *out = (struct counter_list){.of_set = true};
    for (const char *at = text + strspn(text, separators); !rc && *at;) {
        size_t length = strcspn(at, separators), set = name_sets_find(&sets, at, length);
        for (size_t i = set + 1; !rc && i < ROWS && rows[i].name; i++)
            rc = add(out, rows[i].name, strlen(rows[i].name), e);
        if (set == ROWS) {
            out->of_set = false;
            rc = add(out, at, length, e);
        }
        at += length;
        at += strspn(at, separators);
    }
    if (!rc && !out->count)
        rc = err_set(e, GPUFL_E_INVAL, "counter_metrics names no counter");
    return rc;
}

bool counter_sets_at(size_t i, const char **set, const char **counter)
{
    const struct name_row *row = name_sets_at(&sets, i, set);
    *counter = row ? row->name : NULL;
    return row != NULL;
}
