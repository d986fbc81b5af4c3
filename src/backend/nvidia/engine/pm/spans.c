/* spans.c - see pm/spans.h. */
#include "backend/nvidia/engine/pm/spans.h"

/* Returns the last window; there has been one. */
static struct pm_span *last(struct pm_spans *s)
{
    return &s->ring[(s->count - 1) % PM_SPANS];
}

bool pm_spans_open(const struct pm_spans *s)
{
    return !s->windowed || (s->count && s->ring[(s->count - 1) % PM_SPANS].to == INT64_MAX);
}

struct pm_span pm_spans_begin(struct pm_spans *s, int64_t at)
{
    struct pm_span *place = &s->ring[s->count++ % PM_SPANS], gone = {0};
    if (s->count > PM_SPANS)
        gone = *place;
    *place = (struct pm_span){at, INT64_MAX};
    return gone;
}

void pm_spans_end(struct pm_spans *s, int64_t at)
{
    if (s->windowed && pm_spans_open(s))
        last(s)->to = at;
}

bool pm_spans_have(const struct pm_spans *s, const struct pm_sample *sample)
{
    if (!s->windowed)
        return true;
    for (size_t i = 0; i < PM_SPANS && i < s->count; i++)
        if (sample->start >= s->ring[i].from && sample->end <= s->ring[i].to)
            return true;
    return false;
}

void pm_spans_count_rest(const struct pm_spans *s, struct pm_device *d, int64_t stopped)
{
    if (!s->windowed)
        pm_device_count_rest(d, INT64_MIN, stopped);
    for (uint64_t i = s->count > PM_SPANS ? s->count - PM_SPANS : 0; i < s->count; i++) {
        const struct pm_span *p = &s->ring[i % PM_SPANS];
        pm_device_count_rest(d, p->from, p->to < stopped ? p->to : stopped);
    }
}
