/* marks.c - see marks.h. */
#include "analyze/model/scopes/marks.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MOST = 1 << 16 };

void sum_marks_init(struct model *m)
{
    keyed_init(&m->marks.names, sizeof(struct mark_sum), offsetof(struct mark_sum, count),
               NAMES_MOST);
}

void sum_marks_fini(struct model *m)
{
    keyed_fini(&m->marks.names);
    mem_free(m->marks.order);
    m->marks.order = NULL;
    m->marks.order_count = 0;
}

static int add(struct sum_marks *s, const struct mark_sum *what)
{
    uint32_t index;
    int rc = keyed_put(&s->names, what, &index, NULL);
    if (rc)
        return rc;
    struct mark_sum *at = keyed_at(&s->names, index);
    at->first = at->count == 0 || what->first < at->first ? what->first : at->first;
    at->last = at->count == 0 || what->last > at->last ? what->last : at->last;
    at->count += what->count;
    s->count += what->count;
    return 0;
}

int sum_marks_batch(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        int64_t time = cells_get(b, COL_mark_start, i);
        const struct mark_sum one = {.name = model_name_cell(m, cells_get(b, COL_mark_name, i)),
                                     .tag = model_name_cell(m, cells_get(b, COL_mark_tag, i)),
                                     .count = 1,
                                     .first = time,
                                     .last = time};
        if (cells_time_ok(time))
            rc = add(&m->marks, &one);
    }
    return rc;
}

int sum_marks_merge(struct model *into, const struct model *from, int64_t shift)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < from->marks.names.count; i++) {
        struct mark_sum one = *(const struct mark_sum *)keyed_at(&from->marks.names, i);
        one.first = cells_sum(one.first, shift);
        one.last = cells_sum(one.last, shift);
        if (one.count)
            rc = add(&into->marks, &one);
    }
    return rc;
}

static int before(const void *a, const void *b, void *arg)
{
    const struct sum_marks *s = arg;
    const struct mark_sum *x = keyed_at(&s->names, *(const uint32_t *)a);
    const struct mark_sum *y = keyed_at(&s->names, *(const uint32_t *)b);
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->first != y->first ? ORDER(x->first, y->first) : ORDER(x->name, y->name);
}

int sum_marks_finish(struct model *m)
{
    struct sum_marks *s = &m->marks;
    if (s->names.count < 2)
        return 0;
    mem_free(s->order);
    s->order_count = s->names.count - 1;
    s->order = mem_array(s->order_count, sizeof *s->order);
    if (!s->order) {
        s->order_count = 0;
        return GPUFL_E_NOMEM;
    }
    for (uint32_t i = 0; i < s->order_count; i++)
        s->order[i] = i + 1;
    qsort_r(s->order, s->order_count, sizeof *s->order, before, s);
    return 0;
}

bool sum_marks_known(const struct model *m)
{
    return m->marks.count || (m->ledger.any && m->ledger.row.marks_recorded != CELL_NULL);
}
