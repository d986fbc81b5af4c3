/* host_table.c - makes the rows of host_time.h by line and state, for readers. */
#include "analyze/common/cells.h"
#include "analyze/model/host/host_time.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

struct item {
    const struct host_part *line;
    uint32_t place;
    int64_t ns;
};

/* Sorts by row of the table, then by stack and what the thread did. */
static int by_row(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int o = ORDER(x->place, y->place);
    o = o ? o : ORDER(!x->line->call, !y->line->call);
    o = o ? o : ORDER(IDLE_DOING_STATE(x->line->doing), IDLE_DOING_STATE(y->line->doing));
    o = o ? o : ORDER(x->line->reason, y->line->reason);
    o = o ? o : ORDER(x->line->node, y->line->node);
    o = o ? o : ORDER(x->line->doing, y->line->doing);
    return o ? o : ORDER(x->line->call, y->line->call);
}

static bool is_same(const struct item *x, const struct item *y)
{
    return x->place == y->place && !x->line->call == !y->line->call &&
           IDLE_DOING_STATE(x->line->doing) == IDLE_DOING_STATE(y->line->doing) &&
           x->line->reason == y->line->reason;
}

/* Sums up n items of one row. Stack, call and system call are those of the largest item. */
static struct host_row sum_up(const struct item *items, size_t n)
{
    struct host_row row = {.place = items->place, .reason = items->line->reason};
    double variance = 0;
    int64_t most = -1;
    for (size_t i = 0; i < n; i++) {
        const struct host_part *l = items[i].line;
        row.ns = cells_sum(row.ns, items[i].ns);
        row.exact = cells_sum(row.exact, l->exact);
        row.estimated = cells_sum(row.estimated, l->estimated);
        row.looks += l->looks;
        variance += l->variance;
        if (items[i].ns <= most)
            continue;
        most = items[i].ns;
        row.node = l->node;
        row.doing = l->doing;
        row.call = l->call;
    }
    row.half_width = cells_whole(sqrt(variance));
    if (row.half_width > row.ns)
        row.half_width = row.ns;
    return row;
}

static int by_time(const void *a, const void *b)
{
    const struct host_row *x = a, *y = b;
    int o = ORDER(!x->place, !y->place);
    o = o ? o : ORDER(y->ns, x->ns);
    o = o ? o : ORDER(x->place, y->place);
    o = o ? o : ORDER(x->reason, y->reason);
    o = o ? o : ORDER(!x->call, !y->call);
    return o ? o : ORDER(x->doing, y->doing);
}

static size_t list(const struct model *m, struct item *items)
{
    const struct keyed *rows = &m->host_time.rows;
    size_t n = 0;
    for (size_t i = 1; i < rows->count; i++) {
        const struct host_part *l = keyed_at(rows, i);
        int64_t ns = cells_sum(l->exact, l->estimated);
        if (ns > 0)
            items[n++] =
                (struct item){l, l->node ? stacks_node_at(&m->stacks, l->node)->place : 0, ns};
    }
    return n;
}

/* Finds the place with most of the time; the rows are in order of places. */
static void find_most(struct host_table *t)
{
    int64_t ns = 0;
    double variance = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct host_row *r = &t->rows[i];
        bool same = i && r->place == t->rows[i - 1].place;
        ns = same ? cells_sum(ns, r->ns) : r->ns;
        variance = (same ? variance : 0) + (double)r->half_width * (double)r->half_width;
        if (!r->place || ns <= t->most)
            continue;
        t->most = ns;
        t->most_half = cells_whole(sqrt(variance));
        t->most_place = r->place;
    }
}

int host_table_make(const struct model *m, struct host_table *t)
{
    const struct sum_host_time *s = &m->host_time;
    struct item *items = mem_array(s->rows.count + 1, sizeof *items);
    size_t n = items ? list(m, items) : 0;
    *t = (struct host_table){.rows = mem_array(n + 1, sizeof *t->rows)};
    int rc = items && t->rows ? 0 : GPUFL_E_NOMEM;
    if (n && !rc)
        qsort(items, n, sizeof *items, by_row);
    for (size_t i = 0, k; !rc && i < n; i += k) {
        for (k = 1; i + k < n && is_same(&items[i], &items[i + k]);)
            k++;
        t->rows[t->count++] = sum_up(&items[i], k);
    }
    find_most(t);
    if (!rc && s->lost)
        t->rows[t->count++] =
            (struct host_row){.reason = IDLE_LOST, .ns = s->lost, .estimated = s->lost};
    for (size_t i = 0; !rc && i < t->count; i++)
        t->lines += t->rows[i].place != 0;
    if (!rc && t->count)
        qsort(t->rows, t->count, sizeof *t->rows, by_time);
    mem_free(items);
    return rc;
}

void host_table_fini(struct host_table *t)
{
    mem_free(t->rows);
    *t = (struct host_table){0};
}
