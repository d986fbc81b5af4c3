/* inherit.c - see inherit.h. If there was no memory for a thread's history, its scopes
 * are unknown, and no launch of the round is attributed. */
#include "capture/records/inherit.h"

#include "base/alloc.h"
#include "base/order.h"

#include <stdbool.h>

enum { KEPT_MOST = 1 << 22 };

/* Drops the history of a thread that had no scope in the whole round, as most threads have none. */
static void drop_empty(struct inherit *h)
{
    const struct inherit_history *last =
        h->history_count ? &h->histories[h->history_count - 1] : NULL;
    if (last && !last->before && !last->count)
        h->history_count--;
}

void inherit_thread(struct inherit *h, int32_t thread, uint64_t innermost)
{
    drop_empty(h);
    if (mem_grow(&h->histories, &h->history_cap, h->history_count + 1, sizeof *h->histories,
                 KEPT_MOST)) {
        h->lost++;
        return;
    }
    h->histories[h->history_count++] =
        (struct inherit_history){thread, innermost, h->change_count, 0};
}

void inherit_change(struct inherit *h, uint64_t tick, uint64_t instance)
{
    if (!h->history_count ||
        mem_grow(&h->changes, &h->change_cap, h->change_count + 1, sizeof *h->changes, KEPT_MOST)) {
        h->lost++;
        return;
    }
    h->changes[h->change_count++] = (struct inherit_change){tick, instance};
    h->histories[h->history_count - 1].count++;
}

void inherit_launch(struct inherit *h, uint64_t tick, const struct join *join)
{
    if (mem_grow(&h->launches, &h->launch_cap, h->launch_count + 1, sizeof *h->launches,
                 KEPT_MOST)) {
        h->lost++;
        return;
    }
    h->launches[h->launch_count++] = (struct inherit_launch){tick, *join};
}

void inherit_cancel(struct inherit *h, uint32_t correlation)
{
    if (h->launch_count && h->launches[h->launch_count - 1].join.correlation == correlation)
        h->launch_count--;
}

/* Returns the thread's innermost scope at a tick. */
static uint64_t scope_at(const struct inherit *h, const struct inherit_history *t, uint64_t tick)
{
    const struct inherit_change *c = h->changes + t->first;
    size_t done = ORDER_PLACE(t->count, i, c[i].tick <= tick);
    return done ? c[done - 1].instance : t->before;
}

/* Returns the scope of the only thread that has one, or 0. */
static uint64_t only_scope(struct inherit *h, const struct inherit_launch *l)
{
    uint64_t found = 0;
    for (size_t i = 0; i < h->history_count; i++) {
        const struct inherit_history *t = &h->histories[i];
        uint64_t scope = t->thread == l->join.thread ? 0 : scope_at(h, t, l->tick);
        if (scope && found) {
            h->several++;
            return 0;
        }
        found = scope ? scope : found;
    }
    return found;
}

void inherit_resolve(struct inherit *h, struct joins *joins)
{
    drop_empty(h);
    for (size_t i = 0; i < h->launch_count; i++) {
        struct join join = h->launches[i].join;
        join.scope = h->lost ? 0 : only_scope(h, &h->launches[i]);
        join.inherited = join.scope != 0;
        if (join.scope || join.stack)
            joins_put(joins, &join);
    }
    h->launch_count = h->history_count = h->change_count = 0;
}

void inherit_fini(struct inherit *h)
{
    mem_free(h->changes);
    mem_free(h->histories);
    mem_free(h->launches);
    *h = (struct inherit){0};
}
