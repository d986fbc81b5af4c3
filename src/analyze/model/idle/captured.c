/* captured.c - see captured.h. */
#include "analyze/model/idle/captured.h"

#include "analyze/common/cells.h"
#include "analyze/model/idle/spans.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>

enum {
    SUMS = 2,           /* launch.why */
    BACK_MOST = 1024,   /* captures that are searched back from the begin of the work */
    CLOSING_MOST = 256, /* captures that are searched for the next one that sums up */
    TRUSTED = 20        /* the rule is trusted if at most one thread in so many is wrong */
};

void idle_captured_fini(struct idle_captured *c)
{
    mem_free(c->rows);
    mem_free(c->order);
    *c = (struct idle_captured){0};
}

static uint32_t id_cell(const struct wire_batch *b, unsigned column, size_t i)
{
    int64_t v = cells_or(b, column, i, 0);
    return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

int idle_captured_batch(struct idle_captured *c, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        struct idle_capture r = {.start = cells_get(b, COL_launch_start, i),
                                 .correlation = id_cell(b, COL_launch_correlation, i),
                                 .thread = id_cell(b, COL_launch_thread, i),
                                 .stack = id_cell(b, COL_launch_stack, i),
                                 .sums = cells_get(b, COL_launch_why, i) == SUMS};
        if (!cells_time_ok(r.start))
            continue;
        if (c->count == IDLE_CAPTURES) {
            c->beyond++;
            continue;
        }
        rc = mem_grow(&c->rows, &c->cap, c->count + 1, sizeof *c->rows, IDLE_CAPTURES);
        if (rc)
            break;
        c->only = !c->count || c->only == r.thread ? r.thread : 0;
        c->rows[c->count++] = r;
        c->sorted = 0;
    }
    return rc;
}

/* ---- order ------------------------------------------------------------------------------- */

static int by_thread(const void *a, const void *b)
{
    const struct idle_capture *x = a, *y = b;
    int o = ORDER(x->thread, y->thread);
    o = o ? o : ORDER(x->start, y->start);
    o = o ? o : ORDER(x->correlation, y->correlation);
    o = o ? o : ORDER(x->stack, y->stack);
    return o ? o : ORDER(x->sums, y->sums);
}

static int by_correlation(const void *a, const void *b, void *rows)
{
    const struct idle_capture *x = (const struct idle_capture *)rows + *(const uint32_t *)a,
                              *y = (const struct idle_capture *)rows + *(const uint32_t *)b;
    int o = ORDER(x->correlation, y->correlation);
    o = o ? o : ORDER(x->start, y->start);
    return o ? o : ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

static const struct idle_capture *row_at(const struct idle_captured *c, size_t i)
{
    return &c->rows[c->order[i]];
}

/* Returns which of two neighbours by correlation has the thread of the launches between them. */
static const struct idle_capture *between(const struct idle_capture *before,
                                          const struct idle_capture *after)
{
    bool known = before->thread && after->thread;
    return known && (before->thread == after->thread || !after->sums) ? before : NULL;
}

/* Tests the rule on each row that sums up, whose thread is known. */
static void test_between(struct idle_captured *c)
{
    c->tested = c->wrong = 0;
    for (size_t i = 1; i + 1 < c->count; i++) {
        const struct idle_capture *r = row_at(c, i),
                                  *found = between(row_at(c, i - 1), row_at(c, i + 1));
        if (!r->sums || !r->correlation)
            continue;
        c->tested += found != NULL;
        c->wrong += found && found->thread != r->thread;
    }
}

int idle_captured_sort(struct idle_captured *c)
{
    if (!c->count || c->sorted == c->count)
        return 0;
    mem_free(c->order);
    c->order = mem_array(c->count, sizeof *c->order);
    if (!c->order)
        return GPUFL_E_NOMEM;
    qsort(c->rows, c->count, sizeof *c->rows, by_thread);
    for (size_t i = 0; i < c->count; i++)
        c->order[i] = (uint32_t)i;
    qsort_r(c->order, c->count, sizeof *c->order, by_correlation, c->rows);
    c->sorted = c->count;
    test_between(c);
    return 0;
}

/* ---- questions --------------------------------------------------------------------------- */

static bool is_before(const struct idle_capture *r, uint32_t correlation, int64_t until)
{
    return r->correlation < correlation || (r->correlation == correlation && r->start < until);
}

static bool is_before_in_thread(const struct idle_capture *r, uint32_t thread, int64_t until)
{
    return r->thread < thread || (r->thread == thread && r->start < until);
}

/* Returns the index in the order by correlation of the first row that is later than (correlation,
 * until). */
static size_t first_later(const struct idle_captured *c, uint32_t correlation, int64_t until)
{
    return ORDER_PLACE(c->sorted, i, is_before(row_at(c, i), correlation, until));
}

const struct idle_capture *idle_captured_find(const struct idle_captured *c, uint32_t correlation,
                                              int64_t until)
{
    size_t low = correlation ? first_later(c, correlation, until) : 0;
    const struct idle_capture *r = low ? row_at(c, low - 1) : NULL;
    return r && r->correlation == correlation ? r : NULL;
}

int64_t idle_captured_before(const struct idle_captured *c, uint32_t thread, int64_t t)
{
    size_t low = ORDER_PLACE(c->sorted, i, is_before_in_thread(&c->rows[i], thread, t));
    return low && c->rows[low - 1].thread == thread ? c->rows[low - 1].start : INT64_MIN;
}

const struct idle_capture *idle_captured_next(const struct idle_captured *c, uint32_t thread,
                                              uint32_t correlation, int64_t until)
{
    size_t count = thread && correlation ? c->sorted : 0;
    size_t low = ORDER_PLACE(count, i, is_before_in_thread(&c->rows[i], thread, until));
    for (int n = 0; low && c->rows[low - 1].thread == thread &&
                    idle_later(c->rows[low - 1].correlation, correlation);
         n++) {
        low--;
        if (n == BACK_MOST)
            break; /* an earlier row is after the launch, too, so it is the first */
    }
    return thread && correlation && low < c->sorted && c->rows[low].thread == thread ? &c->rows[low]
                                                                                     : NULL;
}

const struct idle_capture *idle_captured_around(const struct idle_captured *c, uint32_t correlation,
                                                int64_t until)
{
    size_t low = first_later(c, correlation, INT64_MAX);
    if (!correlation || !low || low == c->sorted || !c->tested || c->wrong * TRUSTED > c->tested)
        return NULL;
    const struct idle_capture *before = row_at(c, low - 1), *after = row_at(c, low),
                              *found = between(before, after);
    if (!found || !before->correlation || before->start >= until)
        return NULL; /* the ids have wrapped around */
    const struct idle_capture *next = idle_captured_next(c, found->thread, correlation, until);
    return next ? next : found;
}

const struct idle_capture *idle_captured_closing(const struct idle_captured *c,
                                                 const struct idle_capture *from)
{
    const struct idle_capture *end = c->rows + c->sorted;
    for (int n = 0; from < end && n < CLOSING_MOST; n++, from++) {
        if (n && from->thread != from[-1].thread)
            return NULL;
        if (from->sums)
            return from;
    }
    return NULL;
}
