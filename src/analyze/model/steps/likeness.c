/* likeness.c - keeps the sequence of a device's kernels, and says how alike parts of it are. */
#include "analyze/model/steps/find.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { CLOSE = 98 /* % of its kernels that a close step shares with the typical one */ };

int step_sequence_init(struct step_sequence *q, uint32_t device)
{
    const struct step_rows *rows = q->rows;
    size_t n = 0;
    for (size_t i = 0; i < rows->count; i++)
        n += step_is_kernel(&rows->items[i]) && step_device(&rows->items[i]) == device;
    q->at = mem_array(n + 1, sizeof *q->at);
    q->typical = mem_array(q->names, sizeof *q->typical);
    q->seen = mem_array(q->names, sizeof *q->seen);
    if (!q->at || !q->typical || !q->seen)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < rows->count; i++)
        if (step_is_kernel(&rows->items[i]) && step_device(&rows->items[i]) == device)
            q->at[q->count++] = (uint32_t)i;
    return 0;
}

void step_sequence_fini(struct step_sequence *q)
{
    mem_free(q->at);
    mem_free(q->typical);
    mem_free(q->seen);
    *q = (struct step_sequence){0};
}

static bool begins_before(const struct step_sequence *q, size_t place, int64_t time)
{
    return q->rows->items[q->at[place]].start < time;
}

/* Looks at places that are ever farther from the last one, and then between two of these. */
size_t step_sequence_place(const struct step_sequence *q, size_t from, int64_t time)
{
    size_t low = from, far = 1;
    while (far <= q->count - low && begins_before(q, low + far - 1, time)) {
        low += far;
        far *= 2;
    }
    size_t within = far < q->count - low ? far : q->count - low;
    return low + ORDER_PLACE(within, i, begins_before(q, low + i, time));
}

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Returns the step of median length that is nearest to the middle. SIZE_MAX: no memory. */
static size_t find_typical(const size_t *cuts, size_t n)
{
    size_t *lengths = mem_array(n, sizeof *lengths);
    if (!lengths)
        return SIZE_MAX;
    for (size_t i = 0; i < n; i++)
        lengths[i] = cuts[i + 1] - cuts[i];
    qsort(lengths, n, sizeof *lengths, compare_sizes);
    size_t median = lengths[n / 2];
    mem_free(lengths);
    for (size_t away = 0; away <= n / 2; away++)
        for (int side = 0; side < 2; side++) {
            size_t best = side ? n / 2 - away : n / 2 + away;
            if (best < n && cuts[best + 1] - cuts[best] == median)
                return best;
        }
    return n / 2;
}

static uint32_t name_at(const struct step_sequence *q, size_t place)
{
    return step_name(&q->rows->items[q->at[place]]);
}

/* Counts the kernels that a step shares with the typical one. */
static size_t count_shared(const struct step_sequence *q, size_t from, size_t to)
{
    size_t shared = 0;
    for (size_t k = from; k < to; k++) {
        uint32_t name = name_at(q, k);
        shared += q->seen[name]++ < q->typical[name];
    }
    for (size_t k = from; k < to; k++)
        q->seen[name_at(q, k)] = 0;
    return shared;
}

int step_compare(const struct step_sequence *q, const size_t *cuts, size_t n, uint8_t *alike,
                 struct step_likeness *out)
{
    *out = (struct step_likeness){0};
    size_t typical = n ? find_typical(cuts, n) : 0;
    if (!n || typical == SIZE_MAX)
        return n ? GPUFL_E_NOMEM : 0;
    size_t first = cuts[typical], length = cuts[typical + 1] - first;
    for (size_t k = first; k < first + length; k++)
        out->kinds += !q->typical[name_at(q, k)]++;
    for (size_t i = 0; i < n; i++) {
        size_t own = cuts[i + 1] - cuts[i], both = 200 * count_shared(q, cuts[i], cuts[i + 1]),
               all = own + length;
        bool is_alike = own && both >= STEP_ALIKE * all;
        out->working += own > 0;
        out->alike += is_alike;
        out->close += own && both >= CLOSE * all;
        if (alike)
            alike[i] = is_alike;
    }
    for (size_t k = first; k < first + length; k++)
        q->typical[name_at(q, k)] = 0;
    return 0;
}
