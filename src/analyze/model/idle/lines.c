/* lines.c - see lines.h. */
#include "analyze/model/idle/lines.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1 << 20 };

void idle_lines_init(struct idle_lines *l)
{
    memset(l, 0, sizeof *l);
    keyed_init(&l->rows, sizeof(struct idle_line), offsetof(struct idle_line, exact), ROWS_MAX);
}

void idle_lines_fini(struct idle_lines *l)
{
    keyed_fini(&l->rows);
    idle_lines_init(l);
}

int idle_lines_add(struct model *m, const struct idle_line *row)
{
    struct idle_lines *l = &m->idle.lines;
    struct idle_line key = *row;
    uint32_t at, place;
    int rc = stacks_find_place(m, key.node, &place);
    if (!rc && !place) {
        key.node = key.doing = key.flags = 0;
        key.reason = key.reason ? key.reason : IDLE_NO_STACK;
    }
    key.exact = key.estimated = 0;
    key.looks = 0;
    key.variance = 0;
    key.longest = (struct idle_longest){0};
    key.launcher = key.looked_at = 0;
    rc = rc ? rc : keyed_put(&l->rows, &key, &at, NULL);
    if (rc)
        return rc;
    if (!at) {
        l->lost[key.cause] = cells_sum(l->lost[key.cause], cells_sum(row->exact, row->estimated));
        return 0;
    }
    struct idle_line *to = keyed_at(&l->rows, at);
    to->exact = cells_sum(to->exact, row->exact);
    to->estimated = cells_sum(to->estimated, row->estimated);
    to->looks += row->looks;
    to->variance += row->variance;
    idle_longest_put(&to->longest, &row->longest, 0);
    idle_thread_put(&to->launcher, row->launcher);
    idle_thread_put(&to->looked_at, row->looked_at);
    return 0;
}

/* ---- numbers ----------------------------------------------------------------------------- */

struct remainder {
    uint64_t rest;
    size_t at;
};

static int by_rest(const void *a, const void *b)
{
    const struct remainder *x = a, *y = b;
    if (x->rest != y->rest)
        return x->rest > y->rest ? -1 : 1;
    return ORDER(x->at, y->at);
}

int idle_lines_divide(int64_t ns, const uint64_t *counts, size_t n, uint64_t total, int64_t *out)
{
    struct remainder *rests = mem_array(n + 1, sizeof *rests);
    int64_t left = ns;
    if (!rests)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        unsigned __int128 share = (unsigned __int128)(uint64_t)ns * counts[i];
        out[i] = (int64_t)(share / total);
        rests[i] = (struct remainder){(uint64_t)(share % total), i};
        left -= out[i];
    }
    qsort(rests, n, sizeof *rests, by_rest);
    for (size_t i = 0; i < n && left > 0; i++, left--)
        out[rests[i].at]++;
    mem_free(rests);
    return 0;
}

double idle_lines_half_width(uint64_t hits, uint64_t n)
{
    const double z = 1.959964;
    double p = (double)hits / (double)n, of = (double)n;
    return z * sqrt(p * (1 - p) / of + z * z / (4 * of * of)) / (1 + z * z / of);
}

/* ---- two sessions ------------------------------------------------------------------------ */

int idle_lines_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct idle_lines *l = &into->idle.lines;
    const struct idle_lines *o = &from->idle.lines;
    int rc = 0;
    for (size_t i = 1; !rc && i < o->rows.count; i++) {
        struct idle_line row = *(const struct idle_line *)keyed_at(&o->rows, i);
        row.node = into->stacks.merged[row.node];
        row.longest.start += shift;
        row.longest.end += shift;
        rc = idle_lines_add(into, &row);
    }
    for (int c = 0; c < IDLE_CAUSES; c++)
        l->lost[c] = cells_sum(l->lost[c], o->lost[c]);
    l->looks += o->looks;
    l->looks_beyond += o->looks_beyond;
    l->captures += o->captures;
    l->captures_beyond += o->captures_beyond;
    return rc;
}
