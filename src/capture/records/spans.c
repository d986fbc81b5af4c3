/* spans.c - see spans.h. */
#include "capture/records/spans.h"

#include "wire/record.h"

void spans_begin(struct spans *s, int64_t shortest)
{
    s->shortest = shortest;
    s->newest = s->lost = INT64_MIN;
    s->next = 0;
    for (size_t i = 0; i < SPANS; i++)
        s->items[i].end = INT64_MIN;
}

void spans_add(struct spans *s, const struct span *ended)
{
    if (ended->end - ended->start < s->shortest)
        return;
    struct span *at = &s->items[s->next++ % SPANS];
    if (at->end > s->lost)
        s->lost = at->end;
    *at = *ended;
    if (ended->end > s->newest)
        s->newest = ended->end;
}

void spans_consider(struct spans_answer *a, const struct span *p)
{
    if (p->start > a->start || p->end < a->end)
        return;
    a->threads = !a->threads ? 1 : a->thread != p->thread ? 2 : a->threads;
    a->thread = p->thread;
    if (!a->instance || p->start > a->from || (p->start == a->from && p->end <= a->to)) {
        a->from = p->start;
        a->to = p->end;
        a->instance = p->instance;
    }
}

void spans_look(const struct spans *s, struct spans_answer *a)
{
    for (size_t i = 0; a->end <= s->newest && i < SPANS; i++)
        spans_consider(a, &s->items[i]);
}

int64_t spans_covering(const struct spans *s, const struct spans_answer *a)
{
    if (a->threads > 1 || a->start <= s->lost)
        return CELL_NULL;
    return (int64_t)a->instance;
}
