/* spans.h - says when a device was at work, and which launches came first and last around each gap.
 *
 * Spans are like those of busy.h. A span also has its first activity and its newest launch, from
 * which the cause of the gap before it is found. If there are more than max_spans, the shorter half
 * of the gaps is reported and dropped, except between the newest spans, where activities still
 * arrive. Time of an activity in a gap that was reported already is counted (doubtful). Called by
 * the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_SPANS_H
#define GPUFL_ANALYZE_MODEL_IDLE_SPANS_H

#include <stddef.h>
#include <stdint.h>

enum {
    IDLE_SPANS = 1 << 19,    /* default of max_spans: 21 MB */
    IDLE_UNSORTED = 1 << 16, /* activities out of order that wait to be sorted in */
};

/* Describes one activity, or several without a gap between them. */
struct idle_span {
    int64_t start, end;     /* ns */
    uint32_t first, newest; /* correlation: of the first, and the last launched; 0: unknown */
    uint32_t thread, stack; /* ids in the log, of the first one's launch; 0: unknown */
    uint32_t scope;         /* handle of the first one's scope; 0: none */
    uint32_t count;         /* activities */
};

/* Receives a gap between two spans. Gaps that one call reports are in order of time. The spans
 * after the gap are after[0], after[1], … up to end. */
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
    int64_t doubtful;       /* ns of later activities in gaps that were reported */
};

void idle_spans_init(struct idle_spans *s, idle_gap_fn *report, void *arg); /* allocates nothing */
void idle_spans_fini(struct idle_spans *s);

/* Returns 0, GPUFL_E_NOMEM, or the result of report. */
int idle_spans_add(struct idle_spans *s, const struct idle_span *a);
/* Sorts in all late activities. */ int idle_spans_settle(struct idle_spans *s);
/* Reports the gaps that are left and frees the spans between the first and the last. */
int idle_spans_report(struct idle_spans *s);

/* Returns true if correlation id a is later than b. Ids wrap around at 2^32. False if one is
 * unknown. */
static inline int idle_later(uint32_t a, uint32_t b)
{
    return a && b && (int32_t)(a - b) > 0;
}

#endif
