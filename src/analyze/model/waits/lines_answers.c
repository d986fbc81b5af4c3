/* lines_answers.c - sorts lines and stacks, and says how long a line was blocked. */
#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "analyze/model/waits/lines.h"
#include "base/alloc.h"
#include "base/order.h"

#include <stdlib.h>

static int64_t union_within(const struct model *m, const struct busy *b, int64_t rest)
{
    struct busy_result r;
    int64_t wall = sum_windows_time(m);
    busy_result(b, &r);
    int64_t ns = cells_sum(r.busy, rest);
    return ns > wall ? wall : ns;
}

int64_t sum_wait_lines_blocked(const struct model *m, const struct wait_line *l)
{
    return union_within(m, &l->blocked, l->rest);
}

int64_t sum_wait_lines_blocked_all(const struct model *m)
{
    int64_t rest = 0;
    for (size_t i = 0; i < m->wait_lines.lines.count; i++)
        if (!sum_wait_lines_at(&m->wait_lines, i)->apart)
            rest = cells_sum(rest, sum_wait_lines_at(&m->wait_lines, i)->rest);
    return union_within(m, &m->wait_lines.blocked, rest);
}

void sum_wait_lines_explicit(const struct model *m, uint64_t *count, int64_t *total)
{
    static const enum wait_call calls[] = {WAIT_EVENT, WAIT_STREAM, WAIT_CONTEXT};
    *count = 0;
    *total = 0;
    for (size_t i = 0; i < m->wait_lines.lines.count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, i);
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            *count += l->calls[calls[c]];
            *total = cells_sum(*total, l->time[calls[c]]);
        }
    }
}

int64_t sum_wait_lines_first(const struct model *m, const struct wait_line *l)
{
    return l->first == INT64_MAX ? CELL_NULL : l->first - m->facts.start;
}

int64_t sum_wait_lines_longest(const struct model *m, const struct wait_line *l)
{
    return l->first == INT64_MAX ? CELL_NULL : l->longest.start - m->facts.start;
}

enum wait_call sum_wait_lines_main_call(const struct wait_line *l)
{
    int most = WAIT_OTHER;
    for (int c = 1; c < WAIT_CALLS; c++)
        if (l->calls[c] && (!l->calls[most] || l->time[c] > l->time[most]))
            most = c;
    return (enum wait_call)most;
}

struct sort {
    const struct model *m;
    const int64_t *blocked; /* by line */
};

static int compare_lines(const void *a, const void *b, void *arg)
{
    const struct sort *s = arg;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct wait_line *x = sum_wait_lines_at(&s->m->wait_lines, i),
                           *y = sum_wait_lines_at(&s->m->wait_lines, k);
    if (x->apart != y->apart)
        return x->apart < y->apart ? -1 : 1;
    if (s->blocked[i] != s->blocked[k])
        return s->blocked[i] > s->blocked[k] ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : ORDER(i, k);
}

uint32_t *sum_wait_lines_sorted(const struct model *m, size_t *count)
{
    size_t all = m->wait_lines.lines.count;
    uint32_t *order = mem_array(all + 1, sizeof *order);
    int64_t *blocked = mem_array(all + 1, sizeof *blocked);
    *count = 0;
    for (size_t i = 0; order && blocked && i < all; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, i);
        if (!l->count)
            continue;
        order[(*count)++] = (uint32_t)i;
        blocked[i] = sum_wait_lines_blocked(m, l);
    }
    if (order && blocked)
        qsort_r(order, *count, sizeof *order, compare_lines, &(struct sort){m, blocked});
    bool failed = !order || !blocked;
    mem_free(blocked);
    if (failed) {
        mem_free(order);
        return NULL;
    }
    return order;
}

static int compare_stacks(const void *a, const void *b)
{
    const struct wait_stack *x = *(const struct wait_stack *const *)a,
                            *y = *(const struct wait_stack *const *)b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return ORDER(x->node, y->node);
}

const struct wait_stack **sum_wait_lines_stacks(const struct model *m, size_t *count)
{
    const struct wait_stack **list = mem_array(m->wait_lines.stacks.count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 1; list && i < m->wait_lines.stacks.count; i++)
        list[(*count)++] = keyed_at(&m->wait_lines.stacks, i);
    if (list)
        qsort(list, *count, sizeof *list, compare_stacks);
    return list;
}

size_t sum_wait_lines_first_stack(const struct wait_stack *const *list, size_t count, uint32_t line)
{
    return ORDER_PLACE(count, i, list[i]->line < line);
}
