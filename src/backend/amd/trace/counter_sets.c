/* counter_sets.c - see counter_sets.h. */
#include "backend/amd/trace/counter_sets.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A row without a counter begins a set. */
static const struct {
    const char *set, *counter;
} rows[] = {
#define SET(name)     {#name, NULL},
#define COUNTER(name) {NULL, #name},
#include "backend/amd/trace/counter_sets.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

static int add(struct counter_list *l, const char *name, size_t length, struct err *e)
{
    bool plain = length > 0;
    for (size_t i = 0; i < length; i++)
        plain &= isalnum((unsigned char)name[i]) || name[i] == '_';
    for (size_t i = 0; i < l->count; i++)
        if (strlen(l->names[i]) == length && memcmp(l->names[i], name, length) == 0)
            return 0;
    if (!plain || length >= COUNTER_NAME)
        return err_set(e, GPUFL_E_INVAL,
                       "counter_metrics: '%.*s' is neither a set (overview, memory, compute, "
                       "roofline) nor a name of a counter of AMD's, such as SQ_WAVES",
                       (int)(length < COUNTER_NAME ? length : COUNTER_NAME), name);
    if (l->count == COUNTERS_MOST)
        return err_set(e, GPUFL_E_INVAL, "counter_metrics: at most %d counters", COUNTERS_MOST);
    memcpy(l->names[l->count], name, length);
    l->names[l->count++][length] = '\0';
    return 0;
}

static size_t find_set(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].set && strlen(rows[i].set) == length &&
            strncasecmp(rows[i].set, name, length) == 0)
            return i;
    return ROWS;
}

int counter_sets_read(struct counter_list *out, const char *text, struct err *e)
{
    static const char separators[] = ", \t\n";
    int rc = 0;
    *out = (struct counter_list){.of_set = true};
    for (const char *at = text + strspn(text, separators); !rc && *at;) {
        size_t length = strcspn(at, separators), set = find_set(at, length);
        for (size_t i = set + 1; !rc && i < ROWS && rows[i].counter; i++)
            rc = add(out, rows[i].counter, strlen(rows[i].counter), e);
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
    for (size_t at = 0; at < ROWS; at++) {
        if (!rows[at].counter) {
            *set = rows[at].set;
        } else if (i-- == 0) {
            *counter = rows[at].counter;
            return true;
        }
    }
    return false;
}
