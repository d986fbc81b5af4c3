/* engines.c - see engines.h. */
#include "analyze/model/idle/engines.h"

#include "base/alloc.h"
#include "base/order.h"

#include <stdlib.h>

int idle_engines_add(struct idle_engines *e, int64_t start, int64_t end, uint32_t thread)
{
    if (e->count == IDLE_ENGINES_MAX)
        return 0;
    int rc = mem_grow(&e->stretches, &e->cap, e->count + 1, sizeof *e->stretches, IDLE_ENGINES_MAX);
    if (rc)
        return rc;
    e->stretches[e->count++] = (struct idle_stretch){.start = start, .end = end, .thread = thread};
    e->sorted = false;
    return 0;
}

void idle_engines_fini(struct idle_engines *e)
{
    mem_free(e->stretches);
    *e = (struct idle_engines){0};
}

static int by_start(const void *a, const void *b)
{
    int64_t x = ((const struct idle_stretch *)a)->start,
            y = ((const struct idle_stretch *)b)->start;
    return ORDER(x, y);
}

static void sort(struct idle_engines *e)
{
    int64_t until = INT64_MIN;
    qsort(e->stretches, e->count, sizeof *e->stretches, by_start);
    for (size_t i = 0; i < e->count; i++) {
        until = e->stretches[i].end > until ? e->stretches[i].end : until;
        e->stretches[i].until = until;
    }
    e->sorted = true;
}

/* Returns the index of the first stretch up to which any stretch ends after t. */
static size_t first_after(const struct idle_engines *e, int64_t t)
{
    return ORDER_PLACE(e->count, i, e->stretches[i].until <= t);
}

int64_t idle_engines_within(struct idle_engines *e, uint32_t thread, int64_t start, int64_t end)
{
    int64_t ns = 0, reached = start;
    if (!e->count)
        return 0;
    if (!e->sorted)
        sort(e);
    for (size_t i = first_after(e, start); i < e->count && e->stretches[i].start < end; i++) {
        const struct idle_stretch *s = &e->stretches[i];
        int64_t from = s->start > reached ? s->start : reached, to = s->end < end ? s->end : end;
        if ((thread && s->thread && s->thread != thread) || to <= from)
            continue;
        ns += to - from;
        reached = to;
    }
    return ns;
}
