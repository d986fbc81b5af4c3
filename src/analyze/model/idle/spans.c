/* spans.c - an activity is appended, extends the last span, or is sorted in later. */
#include "analyze/model/idle/spans.h"

#include "analyze/common/cells.h"
#include "analyze/common/histogram.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { RECENT = 8192 }; /* newest spans, whose gaps are not reported yet */

void idle_spans_init(struct idle_spans *s, idle_gap_fn *report, void *arg)
{
    *s = (struct idle_spans){
        .max_spans = IDLE_SPANS, .report = report, .arg = arg, .reported_until = INT64_MIN};
}

void idle_spans_fini(struct idle_spans *s)
{
    mem_free(s->spans);
    mem_free(s->late);
    idle_spans_init(s, s->report, s->arg);
}

/* Joins b to the earlier span a, which it follows without a gap. */
static void join(struct idle_span *a, const struct idle_span *b)
{
    if (b->start == a->start && (!a->first || idle_later(a->first, b->first))) {
        a->first = b->first;
        a->thread = b->thread;
        a->stack = b->stack;
        a->scope = b->scope;
    }
    a->count += b->count;
    if (b->end > a->end)
        a->end = b->end;
    if (!a->newest || idle_later(b->newest, a->newest))
        a->newest = b->newest;
}

/* Finds a length that at least half of the gaps between the first n spans do not exceed. */
static int middle_gap(const struct idle_spans *s, size_t n, int64_t *limit)
{
    struct histogram h;
    int rc = 0;
    histogram_init(&h);
    for (size_t i = 1; !rc && i < n; i++)
        rc = histogram_add(&h, s->spans[i].start - s->spans[i - 1].end);
    int64_t middle = histogram_quantile(&h, 0.5);
    *limit = middle + middle / HISTOGRAM_PAGE + 1;
    histogram_fini(&h);
    return rc;
}

static int close_gaps(struct idle_spans *s)
{
    int64_t limit;
    size_t recent = s->max_spans / 4 < RECENT ? s->max_spans / 4 : RECENT, out = 0;
    int rc = middle_gap(s, s->count - recent, &limit);
    for (size_t i = 1; !rc && i < s->count; i++) {
        struct idle_span *a = &s->spans[out], *b = &s->spans[i];
        if (b->start - a->end > limit || i + recent >= s->count) {
            s->spans[++out] = *b;
            continue;
        }
        rc = s->report(s->arg, a, b, s->spans + s->count);
        if (b->start > s->reported_until)
            s->reported_until = b->start;
        join(a, b);
    }
    if (!rc)
        s->count = out + 1;
    return rc;
}

static int append(struct idle_spans *s, const struct idle_span *a)
{
    int rc = s->count < s->max_spans ? 0 : close_gaps(s);
    rc = rc ? rc : mem_grow(&s->spans, &s->cap, s->count + 1, sizeof *s->spans, s->max_spans);
    if (!rc)
        s->spans[s->count++] = *a;
    return rc;
}

int idle_spans_add(struct idle_spans *s, const struct idle_span *a)
{
    struct idle_span *last = s->count ? &s->spans[s->count - 1] : NULL;
    if (a->end <= a->start)
        return 0;
    if (a->start < s->reported_until)
        s->doubtful = cells_sum(s->doubtful, a->end - a->start);
    if (!last || a->start > last->end)
        return append(s, a);
    if (a->start >= last->start) {
        join(last, a);
        return 0;
    }
    int rc = s->late_count < IDLE_UNSORTED ? 0 : idle_spans_settle(s);
    rc = rc ? rc
            : mem_grow(&s->late, &s->late_cap, s->late_count + 1, sizeof *s->late, IDLE_UNSORTED);
    if (!rc)
        s->late[s->late_count++] = *a;
    return rc;
}

static int compare(const void *a, const void *b)
{
    const struct idle_span *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : ORDER(x->end, y->end);
}

/* Returns the first span that may touch the earliest of the late ones. */
static size_t first_touched(const struct idle_spans *s)
{
    return ORDER_PLACE(s->count, i, s->spans[i].end < s->late[0].start);
}

int idle_spans_settle(struct idle_spans *s)
{
    if (!s->late_count)
        return 0;
    qsort(s->late, s->late_count, sizeof *s->late, compare);
    size_t low = first_touched(s), tail = s->count - low, n = 0;
    struct idle_span *old = mem_array(tail + 1, sizeof *old);
    int rc =
        old ? mem_grow(&s->spans, &s->cap, s->count + s->late_count, sizeof *s->spans, SIZE_MAX)
            : GPUFL_E_NOMEM;
    if (rc) {
        mem_free(old);
        return rc;
    }
    memcpy(old, s->spans + low, tail * sizeof *old);
    struct idle_span *out = s->spans + low;
    for (size_t i = 0, j = 0; i < tail || j < s->late_count;) {
        bool span = j == s->late_count || (i < tail && compare(&old[i], &s->late[j]) <= 0);
        const struct idle_span *next = span ? &old[i++] : &s->late[j++];
        if (n && next->start <= out[n - 1].end)
            join(&out[n - 1], next);
        else
            out[n++] = *next;
    }
    mem_free(old);
    s->count = low + n;
    s->late_count = 0;
    while (!rc && s->count > s->max_spans)
        rc = close_gaps(s);
    return rc;
}

int idle_spans_report(struct idle_spans *s)
{
    int rc = idle_spans_settle(s);
    for (size_t i = 1; !rc && i < s->count; i++) {
        rc = s->report(s->arg, &s->spans[0], &s->spans[i], s->spans + s->count);
        join(&s->spans[0], &s->spans[i]);
    }
    if (!rc && s->count)
        s->count = 1;
    return rc;
}
