/* gap_list.c - see gap_list.h. */
#include "analyze/model/idle/gap_list.h"

#include "analyze/common/cells.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

void idle_gap_list_init(struct idle_gap_list *l)
{
    memset(l, 0, sizeof *l);
    l->max = IDLE_GAPS;
}

void idle_gap_list_fini(struct idle_gap_list *l)
{
    mem_free(l->rows);
    idle_gap_list_init(l);
}

static void drop(struct idle_gap_list *l, const struct idle_kept_gap *gap)
{
    l->dropped++;
    l->dropped_ns = cells_sum(l->dropped_ns, gap->end - gap->start);
}

static int compare_lengths(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x < *y) - (*x > *y); /* the longest first */
}

int idle_gap_list_length(const struct idle_gap_list *l, size_t most, int64_t *length)
{
    *length = 0;
    if (l->count <= most)
        return 0;
    int64_t *lengths = mem_array(l->count, sizeof *lengths);
    if (!lengths)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < l->count; i++)
        lengths[i] = l->rows[i].end - l->rows[i].start;
    qsort(lengths, l->count, sizeof *lengths, compare_lengths);
    *length = lengths[most];
    mem_free(lengths);
    return 0;
}

/* Makes room: drops the shorter half, and all gaps as long as the longest gap of that half. */
static int halve(struct idle_gap_list *l)
{
    size_t kept = 0;
    int rc = idle_gap_list_length(l, l->max / 2, &l->least);
    for (size_t i = 0; !rc && i < l->count; i++) {
        if (l->rows[i].end - l->rows[i].start > l->least)
            l->rows[kept++] = l->rows[i];
        else
            drop(l, &l->rows[i]);
    }
    l->count = rc ? l->count : kept;
    return rc;
}

int idle_gap_list_add(struct idle_gap_list *l, const struct idle_kept_gap *gap)
{
    int rc = l->count >= l->max ? halve(l) : 0;
    if (rc)
        return rc;
    if (gap->end - gap->start <= l->least) {
        drop(l, gap);
        return 0;
    }
    rc = mem_grow(&l->rows, &l->cap, l->count + 1, sizeof *l->rows, l->max);
    if (!rc)
        l->rows[l->count++] = *gap;
    return rc;
}

static int compare_gaps(const void *a, const void *b)
{
    const struct idle_kept_gap *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return ORDER(x->start, y->start);
}

void idle_gap_list_sort(struct idle_gap_list *l)
{
    if (l->count)
        qsort(l->rows, l->count, sizeof *l->rows, compare_gaps);
}
