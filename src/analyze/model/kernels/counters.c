/* counters.c - see counters.h. */
#include "analyze/model/kernels/counters.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "analyze/model/scopes/path.h"
#include "base/err.h"
#include "wire/decimal.h"

#include <stddef.h>
#include <string.h>

enum { EXPONENT_MOST = 99 };

void sum_counters_init(struct model *m)
{
    keyed_init(&m->counters.items, sizeof(struct counter_sum), offsetof(struct counter_sum, count),
               COUNTERS_MAX);
}

void sum_counters_fini(struct model *m)
{
    keyed_fini(&m->counters.items);
    memset(&m->counters, 0, sizeof m->counters);
}

static int add(struct keyed *k, const struct counter_sum *c)
{
    uint32_t index;
    int rc = keyed_put(k, c, &index, NULL);
    if (rc || !index)
        return rc;
    struct counter_sum *to = keyed_at(k, index);
    to->least = !to->count || c->least < to->least ? c->least : to->least;
    to->most = !to->count || c->most > to->most ? c->most : to->most;
    to->sum += c->sum;
    to->count += c->count;
    return 0;
}

int sum_counters_batch(struct model *m, const struct wire_batch *b)
{
    struct sum_counters *s = &m->counters;
    int rc = 0;
    s->reading = true;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        struct decimal d = {cells_get(b, COL_counter_value, i),
                            cells_or(b, COL_counter_exponent, i, 0)};
        int64_t scope = cells_get(b, COL_counter_scope, i);
        int64_t source = cells_or(b, COL_counter_source, i, 0);
        struct counter_sum c;
        memset(&c, 0, sizeof c);
        c.metric = model_name_cell(m, cells_get(b, COL_counter_metric, i));
        if (d.mantissa == CELL_NULL || !c.metric || d.exponent > EXPONENT_MOST ||
            d.exponent < -EXPONENT_MOST || source < COUNTER_SAMPLED || source > COUNTER_KERNEL) {
            s->invalid++;
            continue;
        }
        c.source = (uint32_t)source;
        c.device = model_device_cell(m, cells_get(b, COL_counter_device, i));
        c.range = model_name_cell(m, cells_get(b, COL_counter_range, i));
        c.kernel = model_name_cell(m, cells_get(b, COL_counter_kernel, i));
        c.count = 1;
        c.sum = c.least = c.most = decimal_double(d);
        if (scope > 0)
            rc = scope_path_handle(m, scope, false, &c.scope);
        rc = rc ? rc : add(&s->items, &c);
    }
    return rc;
}

int sum_counters_merge(struct model *into, const struct model *from, int64_t shift)
{
    const struct sum_counters *o = &from->counters;
    int rc = 0;
    (void)shift;
    into->counters.invalid += o->invalid;
    for (size_t i = 1; !rc && i < o->items.count; i++) {
        struct counter_sum c = *sum_counters_at(o, i);
        c.device = into->devices.merged[c.device];
        rc = add(&into->counters.items, &c);
    }
    return rc;
}

int sum_counters_finish(struct model *m)
{
    struct sum_counters *s = &m->counters;
    struct keyed named;
    int rc = 0;
    if (!s->reading)
        return 0;
    s->reading = false;
    keyed_init(&named, s->items.item_size, s->items.key_size, s->items.max);
    for (size_t i = 1; !rc && i < s->items.count; i++) {
        struct counter_sum c = *sum_counters_at(s, i);
        rc = scope_path_name(m, c.scope, &c.scope);
        rc = rc ? rc : add(&named, &c);
    }
    keyed_fini(&s->items);
    s->items = named;
    return rc;
}
