/* read.c - reads the ranges that engine RangeProfiler counted. A range that cannot be read is lost,
 * and its scope is reported. [any], with the lock (range/inside.h). */
#include "backend/nvidia/engine/range/inside.h"

#include <string.h>

void ranges_not_counted(struct trace *t, const struct range *r, enum range_passed why)
{
    atomic_fetch_add_explicit(&ranging.passed_by[why], 1, memory_order_relaxed);
    t->sink->ops->uncounted(t->sink, r->scope, ranges_why(why));
}

void ranges_drop(struct trace *t)
{
    for (size_t i = 0; i < ranging.range_count; i++) {
        if (ranging.ranges[i].outside || ranging.ranges[i].read)
            continue;
        ranges_not_counted(t, &ranging.ranges[i], UNREAD);
        ranging.lost++;
    }
    ranging.range_count = 0;
}

int ranges_close(struct trace *t)
{
    ranges_drop(t);
    return range_context_close(&ranging.at);
}

static struct range *range_named(const char *name)
{
    for (size_t i = 0; name && i < ranging.range_count; i++)
        if (strcmp(ranging.ranges[i].name, name) == 0)
            return &ranging.ranges[i];
    return NULL; /* a range of an earlier session */
}

void ranges_name_metrics(struct range_result *to)
{
    to->count = ranging.at.host.count;
    for (size_t i = 0; i < to->count; i++)
        to->metrics[i] =
            (uint8_t)((size_t)(ranging.at.host.names[i] - ranging.metrics.names[0]) / METRIC_NAME);
}

static void take_range(size_t index)
{
    const char *name;
    struct range_result *to = &ranging.results[ranging.result_count];
    if (ranging.result_count == RANGE_RESULTS ||
        range_context_values(&ranging.at, index, &name, to->values) != CUPTI_OK)
        return;
    struct range *r = range_named(name);
    if (!r || r->outside)
        return;
    ranges_name_metrics(to);
    to->source = RANGE_SOURCE_RANGE;
    to->instance = r->instance;
    to->start = r->start;
    to->end = r->end;
    r->read = true;
    ranging.result_count++;
}

void ranges_take(struct trace *t, size_t count)
{
    for (size_t i = 0; i < count; i++)
        take_range(i);
    ranges_drop(t);
}

int ranges_collect(struct trace *t)
{
    size_t count;
    int result = range_context_stop(&ranging.at, &count);
    ranges_take(t, count);
    return result;
}
