/* shared.c - see shared.h. */
#include "analyze/model/system/shared.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

enum { SPANS_MAX = 1 << 16 };

void sum_shared_init(struct model *m)
{
    (void)m;
}

void sum_shared_fini(struct model *m)
{
    mem_free(m->shared.spans);
    mem_free(m->shared.sources);
    memset(&m->shared, 0, sizeof m->shared);
}

static int append(struct sum_shared *s, const struct shared_span *span)
{
    if (s->count == SPANS_MAX)
        return 0; /* further samples stay unknown */
    int rc = mem_grow(&s->spans, &s->cap, s->count + 1, sizeof *s->spans, SPANS_MAX);
    if (!rc)
        s->spans[s->count++] = *span;
    return rc;
}

/* Ends the open span of the device. */
static void end_span(struct sum_shared *s, uint32_t device, int64_t time)
{
    for (size_t i = s->count; i-- > 0;)
        if (s->spans[i].device == device && s->spans[i].to == CELL_NULL)
            s->spans[i].to = time;
}

static int take(struct model *m, const struct wire_batch *b, size_t i)
{
    struct sum_shared *s = &m->shared;
    int64_t device = cells_or(b, COL_sampler_device, i, 0);
    struct shared_span span = {
        .session = model_name_cell(m, cells_get(b, COL_sampler_taken_by, i)),
        .host = model_name_cell(m, cells_get(b, COL_sampler_host, i)),
        .place = model_name_cell(m, cells_get(b, COL_sampler_place, i)),
        .by = m->facts.session,
        .interval = cells_get(b, COL_sampler_interval, i),
        .from = cells_get(b, COL_sampler_time, i),
        .to = CELL_NULL,
    };
    int rc = device ? sum_devices_expect(m, device, &span.device) : 0;
    if (rc || !cells_time_ok(span.from) || (device && !span.device))
        return rc;
    end_span(s, span.device, span.from);
    return span.session && span.session != m->facts.session ? append(s, &span) : 0;
}

int sum_shared_batch(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++)
        rc = take(m, b, i);
    return rc;
}

int sum_shared_merge(struct model *into, const struct model *from, int64_t shift)
{
    const struct sum_shared *o = &from->shared;
    int rc = 0;
    for (size_t i = 0; !rc && i < o->count; i++) {
        struct shared_span span = o->spans[i];
        span.device = span.device ? into->devices.merged[span.device] : 0;
        span.from = cells_sum(span.from, shift);
        span.to = cells_sum(span.to, shift);
        rc = append(&into->shared, &span);
    }
    return rc;
}

int sum_shared_finish(struct model *m)
{
    struct sum_shared *s = &m->shared;
    for (size_t i = 0; i < s->count; i++)
        if (s->spans[i].to == CELL_NULL)
            s->spans[i].to = m->facts.end > s->spans[i].from ? m->facts.end : s->spans[i].from;
    return 0;
}

/* ---- sources --------------------------------------------------------------------------- */

int sum_shared_list(struct model *m)
{
    struct sum_shared *s = &m->shared;
    int rc = 0;
    s->source_count = 0;
    for (size_t i = 0; !rc && i < s->count; i++) {
        const struct shared_span *span = &s->spans[i];
        size_t at = 0;
        while (at < s->source_count && s->sources[at].session != span->session)
            at++;
        if (at < s->source_count)
            continue;
        rc = mem_grow(&s->sources, &s->source_cap, at + 1, sizeof *s->sources, SPANS_MAX);
        if (!rc)
            s->sources[s->source_count++] = (struct shared_source){
                .session = span->session, .host = span->host, .place = span->place, .by = span->by};
    }
    return rc;
}

static int64_t offset_of(const struct model *m)
{
    return m->facts.clock.known ? m->facts.clock.offset : 0;
}

static bool same_device(const struct model *a, uint32_t i, const struct model *b, uint32_t j)
{
    if (i == 0 || j == 0)
        return i == j;
    return a->devices.items[i].row.uuid &&
           a->devices.items[i].row.uuid == b->devices.items[j].row.uuid;
}

enum shared_row sum_shared_takes(const struct shared_filter *f, const struct model *m,
                                 uint32_t device, int64_t time)
{
    const struct sum_shared *s = &f->into->shared;
    enum shared_row found = SHARED_NONE;
    if (!cells_time_ok(time))
        return SHARED_NONE;
    int64_t at = time + offset_of(m) - offset_of(f->into);
    for (size_t i = 0; i < s->count && found != SHARED_WITHIN; i++) {
        const struct shared_span *x = &s->spans[i];
        if (x->session != f->session || at > x->to || !same_device(f->into, x->device, m, device))
            continue;
        if (at >= x->from)
            found = SHARED_WITHIN;
        else if (x->interval > 0 && x->from - at < x->interval)
            found = SHARED_BEFORE;
    }
    return found;
}

int sum_shared_add(struct model *into, const struct model *from, struct shared_source *source)
{
    int64_t shift = offset_of(from) - offset_of(into);
    int rc = sum_devices_match(into, from, shift);
    rc = rc ? rc : sum_metrics_merge(into, from, shift);
    source->read = rc == 0;
    source->samples = from->metrics.host_samples;
    for (size_t i = 0; i < from->metrics.device_count; i++)
        source->samples += from->metrics.devices[i].samples;
    return rc;
}
