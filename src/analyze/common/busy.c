/* busy.c - union of intervals: an interval near the end is put in place, others are sorted in
 * later. */
#include "analyze/common/busy.h"

#include "analyze/common/cells.h"
#include "analyze/common/histogram.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS_BACK = 32, /* spans from the end within which an interval is put in place */
    RECENT = 8192,   /* newest spans, whose gaps stay open: intervals still come there */
};

const int64_t busy_gap_limits[BUSY_GAP_CLASSES - 1] = {10000, 100000, 1000000, 10000000, 100000000};

void busy_init(struct busy *b)
{
    memset(b, 0, sizeof *b);
    b->max_spans = BUSY_SPANS;
    b->closed_until = INT64_MIN;
}

void busy_fini(struct busy *b)
{
    mem_free(b->spans);
    mem_free(b->late);
    busy_init(b);
}

static void note_gap(struct busy_gaps *g, int64_t start, int64_t end)
{
    int class = 0;
    while (class < BUSY_GAP_CLASSES - 1 && end - start >= busy_gap_limits[class])
        class ++;
    g->count[class]++;
    g->total[class] = cells_sum(g->total[class], end - start);
    struct busy_span gap = {start, end};
    if (end - start <= g->longest[BUSY_GAPS - 1].end - g->longest[BUSY_GAPS - 1].start)
        return; /* most gaps: the list is sorted, and its last gap is the shortest */
    for (int i = 0; i < BUSY_GAPS; i++) {
        struct busy_span *at = &g->longest[i];
        if (gap.end - gap.start > at->end - at->start) {
            struct busy_span shorter = *at;
            *at = gap;
            gap = shorter;
        }
    }
}

/* Finds a length that at least half of the gaps between the first n spans do not exceed. */
static int middle_gap(const struct busy *b, size_t n, int64_t *limit)
{
    struct histogram h;
    int rc = 0;
    histogram_init(&h);
    for (size_t i = 1; !rc && i < n; i++)
        rc = histogram_add(&h, b->spans[i].start - b->spans[i - 1].end);
    /* The quantile is the middle of a bucket: half a bucket more includes the whole bucket. */
    int64_t middle = histogram_quantile(&h, 0.5);
    *limit = middle + middle / HISTOGRAM_PAGE + 1;
    histogram_fini(&h);
    return rc;
}

/* Closes the shorter half of the gaps, except between the newest spans. */
static int close_gaps(struct busy *b)
{
    int64_t limit;
    size_t recent = b->max_spans / 4 < RECENT ? b->max_spans / 4 : RECENT, out = 0;
    int rc = middle_gap(b, b->count - recent, &limit);
    for (size_t i = 1; !rc && i < b->count; i++) {
        int64_t gap = b->spans[i].start - b->spans[out].end;
        if (gap <= limit && i + recent < b->count) {
            note_gap(&b->gaps, b->spans[out].end, b->spans[i].start);
            b->closed = cells_sum(b->closed, gap);
            if (b->spans[i].start > b->closed_until)
                b->closed_until = b->spans[i].start;
            b->spans[out].end = b->spans[i].end;
        } else {
            b->spans[++out] = b->spans[i];
        }
    }
    if (!rc)
        b->count = out + 1;
    return rc;
}

/* Makes room for one more span. */
static int make_room(struct busy *b)
{
    if (b->count >= b->max_spans)
        return close_gaps(b);
    return mem_grow(&b->spans, &b->cap, b->count + 1, sizeof *b->spans, b->max_spans);
}

/* Time that is in both may be missing from the result if it lies in a closed gap. */
static void note_overlap(struct busy *b, struct busy_span x, struct busy_span y)
{
    int64_t start = x.start > y.start ? x.start : y.start, end = x.end < y.end ? x.end : y.end;
    if (end > b->closed_until)
        end = b->closed_until;
    if (end > start)
        b->doubtful = cells_sum(b->doubtful, end - start);
}

/* Merges the interval into the spans [at, …) that it touches, or inserts it before them. */
static int put_at(struct busy *b, size_t at, struct busy_span s)
{
    size_t to = at;
    for (; to < b->count && b->spans[to].start <= s.end; to++) {
        note_overlap(b, b->spans[to], s);
        if (b->spans[to].start < s.start)
            s.start = b->spans[to].start;
        if (b->spans[to].end > s.end)
            s.end = b->spans[to].end;
    }
    if (to == at) {
        size_t before = b->count;
        int rc = make_room(b);
        if (rc)
            return rc;
        if (b->count < before) /* gaps were closed, so the index has changed */
            return busy_add_slow(b, s.start, s.end);
        memmove(&b->spans[at + 1], &b->spans[at], (b->count - at) * sizeof s);
        b->count++;
        to++;
    }
    b->spans[at] = s;
    memmove(&b->spans[at + 1], &b->spans[to], (b->count - to) * sizeof s);
    b->count -= to - at - 1;
    return 0;
}

static int put_late(struct busy *b, struct busy_span s)
{
    if (b->late_count == BUSY_LATE) {
        int rc = busy_settle(b);
        if (rc)
            return rc;
    }
    int rc = mem_grow(&b->late, &b->late_cap, b->late_count + 1, sizeof *b->late, BUSY_LATE);
    if (!rc)
        b->late[b->late_count++] = s;
    return rc;
}

int busy_add_slow(struct busy *b, int64_t start, int64_t end)
{
    if (end <= start)
        return 0;
    struct busy_span s = {start, end};
    size_t at = b->count, least = at > STEPS_BACK ? at - STEPS_BACK : 0;
    while (at > least && b->spans[at - 1].end >= start)
        at--;
    if (at > 0 && b->spans[at - 1].end >= start)
        return put_late(b, s);
    return put_at(b, at, s);
}

static int compare_spans(const void *a, const void *b)
{
    int64_t x = ((const struct busy_span *)a)->start, y = ((const struct busy_span *)b)->start;
    return ORDER(x, y);
}

/* Appends a span to out, whose last span starts no later. */
static void append(struct busy *b, struct busy_span *out, size_t *n, struct busy_span s)
{
    if (*n && s.start <= out[*n - 1].end) {
        note_overlap(b, out[*n - 1], s);
        if (s.end > out[*n - 1].end)
            out[*n - 1].end = s.end;
    } else {
        out[(*n)++] = s;
    }
}

/* Sorts in the late spans: the spans from the earliest late one on are merged again. */
int busy_settle(struct busy *b)
{
    if (!b->late_count)
        return 0;
    qsort(b->late, b->late_count, sizeof *b->late, compare_spans);
    size_t low = ORDER_PLACE(b->count, i, b->spans[i].end < b->late[0].start);
    size_t tail = b->count - low, need = low + tail + b->late_count, n = 0;
    struct busy_span *merged = mem_array(tail + b->late_count, sizeof *merged);
    if (!merged)
        return GPUFL_E_NOMEM;
    if (mem_grow(&b->spans, &b->cap, need, sizeof *b->spans, SIZE_MAX)) {
        mem_free(merged);
        return GPUFL_E_NOMEM;
    }
    for (size_t i = low, j = 0; i < b->count || j < b->late_count;) {
        bool span = j == b->late_count || (i < b->count && b->spans[i].start <= b->late[j].start);
        append(b, merged, &n, span ? b->spans[i++] : b->late[j++]);
    }
    memcpy(&b->spans[low], merged, n * sizeof *merged);
    mem_free(merged);
    b->count = low + n;
    b->late_count = 0;
    int rc = 0;
    while (!rc && b->count > b->max_spans)
        rc = close_gaps(b);
    return rc;
}

int busy_merge(struct busy *b, const struct busy *other, int64_t shift)
{
    int rc = 0;
    /* done first, so that overlaps count as doubtful */
    if (other->closed && other->closed_until + shift > b->closed_until)
        b->closed_until = other->closed_until + shift;
    for (size_t i = 0; !rc && i < other->count; i++)
        rc = busy_add(b, other->spans[i].start + shift, other->spans[i].end + shift);
    if (rc)
        return rc;
    b->closed = cells_sum(b->closed, other->closed);
    b->doubtful = cells_sum(b->doubtful, other->doubtful);
    for (int i = 0; i < BUSY_GAP_CLASSES; i++) {
        b->gaps.count[i] += other->gaps.count[i];
        b->gaps.total[i] = cells_sum(b->gaps.total[i], other->gaps.total[i]);
    }
    return busy_settle(b);
}

void busy_result(const struct busy *b, struct busy_result *out)
{
    memset(out, 0, sizeof *out);
    out->gaps = b->gaps;
    for (size_t i = 0; i < b->count; i++) {
        out->busy = cells_sum(out->busy, b->spans[i].end - b->spans[i].start);
        if (i)
            note_gap(&out->gaps, b->spans[i - 1].end, b->spans[i].start);
    }
    out->busy -= b->closed;
    if (out->busy < 0)
        out->busy = 0;
    out->doubtful = b->doubtful < b->closed ? b->doubtful : b->closed;
    if (b->count) {
        out->first = b->spans[0].start;
        out->last = b->spans[b->count - 1].end;
        out->idle = out->last - out->first - out->busy;
    }
}
