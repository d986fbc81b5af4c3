/* holders.c - see holders.h. */
#include "analyze/model/threads/holders.h"

#include "analyze/model/model.h"

#include <stddef.h>

enum { HOLDERS_MAX = 1 << 16, NEAR_MOST = 256 /* looks on each side that are searched */ };

void idle_holders_init(struct idle_holders *h)
{
    *h = (struct idle_holders){0};
    keyed_init(&h->rows, sizeof(struct idle_holder), offsetof(struct idle_holder, looks),
               HOLDERS_MAX);
}

void idle_holders_fini(struct idle_holders *h)
{
    keyed_fini(&h->rows);
    idle_holders_init(h);
}

static int add(struct model *m, const struct idle_holder *one)
{
    uint32_t at, place;
    int rc = stacks_find_place(m, one->node, &place);
    rc = rc ? rc : keyed_put(&m->idle.holders.rows, one, &at, NULL);
    if (!rc && at)
        ((struct idle_holder *)keyed_at(&m->idle.holders.rows, at))->looks += one->looks;
    return rc;
}

/* Returns true if the thread of `other` may have held the lock when the thread of `look` waited for
 * it. */
static bool can_hold(const struct idle_look *look, const struct idle_look *other)
{
    int64_t apart = other->time > look->time ? other->time - look->time : look->time - other->time;
    return apart < IDLE_ROUND && other->thread != look->thread && other->stack &&
           other->state == IDLE_RUNNING;
}

/* Returns the stack of the only thread that may have held the lock; 0: none, or several. */
static uint32_t holder_of(const struct idle_looks *l, size_t at)
{
    const struct idle_look *found = NULL, *look = &l->rows[at];
    size_t from = at > NEAR_MOST ? at - NEAR_MOST : 0,
           to = l->count - at > NEAR_MOST ? at + NEAR_MOST : l->count;
    for (size_t i = from; i < to; i++) {
        const struct idle_look *other = &l->rows[i];
        if (!can_hold(look, other))
            continue;
        if (found && found->thread != other->thread)
            return 0;
        found = other;
    }
    return found ? found->stack : 0;
}

int idle_holders_find(struct model *m)
{
    const struct idle_looks *l = &m->idle.looks;
    int rc = 0;
    for (size_t i = 0; !rc && i < l->count; i++) {
        if (l->rows[i].state != IDLE_WAITS_FOR_GIL)
            continue;
        struct idle_holder one = {.node = stacks_node_of(&m->stacks, holder_of(l, i)), .looks = 1};
        m->idle.holders.looks++;
        m->idle.holders.seen += one.node != 0;
        rc = one.node ? add(m, &one) : 0;
    }
    return rc;
}

int idle_holders_merge(struct model *into, const struct model *from)
{
    const struct idle_holders *o = &from->idle.holders;
    int rc = 0;
    into->idle.holders.looks += o->looks;
    into->idle.holders.seen += o->seen;
    for (size_t i = 1; !rc && i < o->rows.count; i++) {
        struct idle_holder one = *(const struct idle_holder *)keyed_at(&o->rows, i);
        one.node = into->stacks.merged[one.node];
        rc = add(into, &one);
    }
    return rc;
}
