/* metric_sets.c - see metric_sets.h. */
#include "backend/nvidia/library/metric_sets.h"

#include "backend/common/name_sets.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLED = METRIC_SAMPLED, RANGED = METRIC_RANGED };

static const struct name_row rows[] = {
#define SET(name, doc)        {#name, NULL, 0},
#define METRIC(metric, kinds) {NULL, metric, kinds},
#include "backend/nvidia/library/metric_sets.def"
};
enum { ROWS = sizeof rows / sizeof *rows };
static const struct name_sets all = {rows, ROWS};

static int add(struct metric_list *l, const char *name, size_t length, struct err *e)
{
    if (name_list_put(l->names[0], METRIC_NAME, METRICS_MOST, &l->count, name, length))
        return err_set(e, GPUFL_E_INVAL,
                       "counter_metrics: at most %d metrics of %d characters each", METRICS_MOST,
                       METRIC_NAME - 1);
    return 0;
}

static int add_set(struct metric_list *l, size_t at, enum metric_kind kind, struct err *e)
{
    int rc = 0;
    for (size_t i = at + 1; !rc && i < ROWS && rows[i].name; i++)
        if (rows[i].kinds & (int)kind)
            rc = add(l, rows[i].name, strlen(rows[i].name), e);
    return rc;
}

static int unknown(const char *word, size_t length, struct err *e)
{
    char sets[80] = "";
    for (size_t i = 0, n = 0; i < ROWS; i++)
        if (rows[i].set && n < sizeof sets)
            n += (size_t)snprintf(sets + n, sizeof sets - n, "%s%s", n ? ", " : "", rows[i].set);
    return err_set(e, GPUFL_E_INVAL,
                   "counter_metrics: '%.*s' is neither a set (%s) nor a metric's name such as "
                   "sm__cycles_active.avg",
                   (int)(length < METRIC_NAME ? length : METRIC_NAME), word, sets);
}

int metric_list_read(struct metric_list *out, const char *text, enum metric_kind kind,
                     struct err *e)
{
    static const char separators[] = ", \t\n";
    int rc = 0;
    *out = (struct metric_list){.count = 0};
    for (const char *at = text + strspn(text, separators); !rc && *at;) {
        size_t length = strcspn(at, separators), set = name_sets_find(&all, at, length);
        bool alone = at[length + strspn(at + length, separators)] == '\0' && !out->count;
        if (set < ROWS && alone)
            snprintf(out->set, sizeof out->set, "%s", rows[set].set);
        if (set < ROWS)
            rc = add_set(out, set, kind, e);
        else if (memchr(at, '.', length) && memchr(at, '_', length))
            rc = add(out, at, length, e);
        else
            rc = unknown(at, length, e);
        at += length;
        at += strspn(at, separators);
    }
    if (!rc && !out->count)
        rc = err_set(e, GPUFL_E_INVAL, "counter_metrics names no metric");
    return rc;
}

bool metric_sets_at(size_t i, struct metric_of_set *out)
{
    const struct name_row *row = name_sets_at(&all, i, &out->set);
    out->metric = row ? row->name : NULL;
    out->kinds = row ? row->kinds : 0;
    return row != NULL;
}

void metric_list_first(struct metric_list *l, const char *name)
{
    size_t at = 0;
    while (at < l->count && strcmp(l->names[at], name) != 0)
        at++;
    if (at == l->count && l->count < METRICS_MOST)
        l->count++;
    at = at < l->count ? at : l->count - 1;
    memmove(&l->names[1], &l->names[0], at * sizeof l->names[0]);
    snprintf(l->names[0], sizeof l->names[0], "%s", name);
}
