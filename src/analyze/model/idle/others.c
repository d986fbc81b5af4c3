/* others.c - see others.h. */
#include "analyze/model/idle/others.h"

#include "analyze/common/cells.h"
#include "base/alloc.h"
#include "base/order.h"

#include <stdlib.h>

void idle_others_fini(struct idle_others *o)
{
    mem_free(o->rows);
    *o = (struct idle_others){0};
}

int idle_others_add(struct idle_others *o, uint32_t device, int64_t time, int64_t processes)
{
    struct idle_presence r = {time, device, (uint32_t)processes};
    if (!cells_time_ok(time) || processes < 0 || processes > UINT32_MAX)
        return 0;
    for (size_t n = 0; n < 16 && n < o->count; n++) { /* devices are sampled in turn */
        const struct idle_presence *last = &o->rows[o->count - 1 - n];
        if (last->device == device && last->since <= time && last->processes == r.processes)
            return 0;
        if (last->device == device)
            break;
    }
    if (o->count == IDLE_OTHERS_MAX)
        return 0;
    int rc = mem_grow(&o->rows, &o->cap, o->count + 1, sizeof r, IDLE_OTHERS_MAX);
    if (rc)
        return rc;
    o->rows[o->count++] = r;
    o->any |= processes > 1;
    o->sorted = 0;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct idle_presence *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->since != y->since)
        return x->since < y->since ? -1 : 1;
    return ORDER(x->processes, y->processes);
}

/* Returns true for a row of an earlier device, or of this device before t. */
static bool is_before(const struct idle_presence *r, uint32_t device, int64_t t)
{
    return r->device < device || (r->device == device && r->since < t);
}

bool idle_others_at(struct idle_others *o, uint32_t device, int64_t t)
{
    if (!o->any)
        return false;
    if (o->sorted != o->count)
        qsort(o->rows, o->count, sizeof *o->rows, compare);
    o->sorted = o->count;
    size_t low = ORDER_PLACE(o->count, i, is_before(&o->rows[i], device, t));
    if (low && o->rows[low - 1].device == device)
        return o->rows[low - 1].processes > 1;
    return low < o->count && o->rows[low].device == device && o->rows[low].processes > 1;
}
