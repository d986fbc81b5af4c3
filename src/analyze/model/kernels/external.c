/* external.c - see external.h. Only the code that pushed an id knows its meaning, so ids are
 * counted by kind and number. */
#include "analyze/model/kernels/external.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { IDS_MOST = 1 << 16 };

static const char *const kinds[] = {"none", "unknown", "OpenACC", "custom0", "custom1", "custom2"};

const char *sum_external_kind(int64_t kind)
{
    return kind >= 0 && kind < (int64_t)(sizeof kinds / sizeof *kinds) ? kinds[kind] : "other";
}

void sum_external_init(struct model *m)
{
    keyed_init(&m->external.ids, sizeof(struct external_sum),
               offsetof(struct external_sum, kernels), IDS_MOST);
}

void sum_external_fini(struct model *m)
{
    keyed_fini(&m->external.ids);
    mem_free(m->external.by_time);
    m->external.by_time = NULL;
    m->external.by_time_count = 0;
}

static int add(struct sum_external *s, const struct external_sum *what)
{
    uint32_t index;
    int rc = keyed_put(&s->ids, what, &index, NULL);
    if (rc)
        return rc;
    struct external_sum *at = keyed_at(&s->ids, index);
    at->kernels += what->kernels;
    at->ns = cells_sum(at->ns, what->ns);
    s->kernels += what->kernels;
    s->ns = cells_sum(s->ns, what->ns);
    return 0;
}

int sum_external_batch(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && b->col[COL_kernel_external_kind] && i < b->rows; i++) {
        int64_t ns = cells_or(b, COL_kernel_duration, i, 0);
        const struct external_sum one = {.kind = cells_or(b, COL_kernel_external_kind, i, 0),
                                         .id = cells_or(b, COL_kernel_external_id, i, 0),
                                         .kernels = 1,
                                         .ns = ns > 0 ? ns : 0};
        if (one.kind > 0)
            rc = add(&m->external, &one);
    }
    return rc;
}

int sum_external_merge(struct model *into, const struct model *from, int64_t shift)
{
    int rc = 0;
    (void)shift;
    for (size_t i = 0; !rc && i < from->external.ids.count; i++) {
        const struct external_sum *one = keyed_at(&from->external.ids, i);
        if (one->kernels)
            rc = add(&into->external, one);
    }
    return rc;
}

static int longer(const void *a, const void *b, void *arg)
{
    const struct sum_external *s = arg;
    const struct external_sum *x = keyed_at(&s->ids, *(const uint32_t *)a),
                              *y = keyed_at(&s->ids, *(const uint32_t *)b);
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return ORDER(x->id, y->id);
}

int sum_external_finish(struct model *m)
{
    struct sum_external *s = &m->external;
    if (s->ids.count < 2)
        return 0;
    mem_free(s->by_time);
    s->by_time_count = s->ids.count - 1;
    s->by_time = mem_array(s->by_time_count, sizeof *s->by_time);
    if (!s->by_time) {
        s->by_time_count = 0;
        return GPUFL_E_NOMEM;
    }
    for (uint32_t i = 0; i < s->by_time_count; i++)
        s->by_time[i] = i + 1;
    qsort_r(s->by_time, s->by_time_count, sizeof *s->by_time, longer, s);
    return 0;
}
