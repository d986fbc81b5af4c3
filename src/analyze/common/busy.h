/* busy.h - how long at least one of many overlapping intervals was running.
 *
 * The set is a list of disjoint spans in order of time. Intervals may come in any order; in the
 * nearly sorted order of a log, an interval costs one comparison. Memory is bounded: if there are
 * more than max_spans spans, the shorter half of the gaps between them is closed. The length of
 * closed gaps is subtracted from the result, which stays exact until a later interval lies in a
 * closed gap. The member doubtful says how much time may be missing because of such intervals.
 * Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_COMMON_BUSY_H
#define GPUFL_ANALYZE_COMMON_BUSY_H

#include <stddef.h>
#include <stdint.h>

enum {
    BUSY_SPANS = 1 << 19, /* default of max_spans: 8 MiB */
    BUSY_LATE = 1 << 16,  /* intervals out of order that are kept before they are sorted in */
    BUSY_GAPS = 5,        /* longest gaps that are listed */
    BUSY_GAP_CLASSES = 6,
};

struct busy_span {
    int64_t start, end; /* ns, [start, end) */
};

/* Counts the gaps between spans by length: below 10 us, 100 us, 1 ms, 10 ms, 100 ms, and longer. */
struct busy_gaps {
    uint64_t count[BUSY_GAP_CLASSES];
    int64_t total[BUSY_GAP_CLASSES];     /* ns */
    struct busy_span longest[BUSY_GAPS]; /* descending; end == start: none */
};

extern const int64_t busy_gap_limits[BUSY_GAP_CLASSES - 1]; /* ns, upper ends */

struct busy {
    size_t max_spans;
    struct busy_span *spans; /* owned; sorted, disjoint, not touching */
    size_t count, cap;
    struct busy_span *late; /* owned; not yet in spans */
    size_t late_count, late_cap;
    int64_t closed;        /* ns of gaps inside spans */
    int64_t closed_until;  /* closed gaps lie before this time */
    int64_t doubtful;      /* ns of later intervals that lie in closed gaps */
    struct busy_gaps gaps; /* the closed gaps */
};

struct busy_result {
    int64_t busy;        /* ns in which an interval was running */
    int64_t doubtful;    /* ns that busy may be too small; 0: exact */
    int64_t first, last; /* first start and last end; both 0 if nothing was added */
    int64_t idle;        /* ns between first and last in which none was running */
    struct busy_gaps gaps;
};

void busy_init(struct busy *b); /* allocates nothing */
void busy_fini(struct busy *b);

/* Does what busy_add does in the general case. */
int busy_add_slow(struct busy *b, int64_t start, int64_t end);

/* Adds [start, end). 0 or GPUFL_E_NOMEM. */
static inline int busy_add(struct busy *b, int64_t start, int64_t end)
{
    if (b->count) {
        struct busy_span *last = &b->spans[b->count - 1];
        if (start >= b->closed_until && start >= last->start && start <= last->end) {
            if (end > last->end)
                last->end = end;
            return 0;
        }
    }
    return busy_add_slow(b, start, end);
}

/* Adds the spans of another set, moved by shift ns. */
int busy_merge(struct busy *b, const struct busy *other, int64_t shift);

/* Sorts in all late intervals. Call before busy_result, and for `other` before busy_merge. */
int busy_settle(struct busy *b);

/* Writes the result for the whole set. Call busy_settle first. */
void busy_result(const struct busy *b, struct busy_result *out);

#endif
