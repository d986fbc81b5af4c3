/* spans.h - when a device was at work, and which launches came first and last around each
 * gap.
 *
 * Spans are those of busy.h, and a span also remembers its first activity and the newest launch in
 * it, so that the gap before the span can be blamed. Where there are more than max_spans, the
 * shorter half of the gaps is reported and forgotten, except between the newest spans, where
 * activities still arrive. An activity in a gap that was reported already is counted (doubtful).
 * Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_SPANS_H
#define GPUFL_ANALYZE_MODEL_IDLE_SPANS_H

#include <stddef.h>
#include <stdint.h>

enum {
    IDLE_SPANS = 1 << 19,    /* default of max_spans: 21 MB */
    IDLE_UNSORTED = 1 << 16, /* activities out of order that wait to be sorted in */
};

/* An activity, or several without a gap between. */
struct idle_span {
    int64_t start, end;     /* ns */
    uint32_t first, newest; /* correlation of the first one, and the latest launched; 0: unknown */
    uint32_t thread, stack; /* ids in the log of its first launch's; 0: unknown */
    uint32_t scope;         /* handle of the first one's scope; 0: none */
    uint32_t count;         /* activities */
};

/* Receives a gap between two spans; in order of time within one call. The spans that follow are
 * after[1], … up to end. */
typedef int idle_gap_fn(void *arg, const struct idle_span *before, const struct idle_span *after,
                        const struct idle_span *end);

struct idle_spans {
    size_t max_spans;
    idle_gap_fn *report;
    void *arg;
    struct idle_span *spans; /* owned; sorted, disjoint */
    size_t count, cap;
    struct idle_span *late; /* owned; not yet in spans */
    size_t late_count, late_cap;
    int64_t reported_until; /* some gaps before this time were reported */
    int64_t doubtful;       /* ns of activities that came to lie before it */
};

void idle_spans_init(struct idle_spans *s, idle_gap_fn *report, void *arg); /* allocates nothing */
void idle_spans_fini(struct idle_spans *s);

/* 0, GPUFL_E_NOMEM, or the result of report. */
int idle_spans_add(struct idle_spans *s, const struct idle_span *a);
/* Puts everything in order. */
int idle_spans_settle(struct idle_spans *s);
/* Reports the gaps that are left and frees the spans between the first and the last. */
int idle_spans_report(struct idle_spans *s);

/* True where correlation id a is later than b. Ids begin again at 2^32. False where one is
 * unknown. */
static inline int idle_later(uint32_t a, uint32_t b)
{
    return a && b && (int32_t)(a - b) > 0;
}

#endif
