/* parts.c - see parts.h. */
#include "analyze/model/idle/parts.h"

#include "analyze/common/cells.h"
#include "analyze/model/threads/looks.h"

#include <stddef.h>
#include <string.h>

enum { PARTS_MAX = 1 << 19, SEEN_MAX = 1 << 20 };

void idle_parts_init(struct idle_parts *p)
{
    memset(p->none, 0, sizeof p->none);
    keyed_init(&p->known, sizeof(struct idle_part), offsetof(struct idle_part, time), PARTS_MAX);
    keyed_init(&p->own, sizeof(struct idle_own), offsetof(struct idle_own, time), PARTS_MAX);
    keyed_init(&p->seen, sizeof(struct idle_seen), offsetof(struct idle_seen, count), SEEN_MAX);
}

void idle_parts_fini(struct idle_parts *p)
{
    keyed_fini(&p->known);
    keyed_fini(&p->own);
    keyed_fini(&p->seen);
    idle_parts_init(p);
}

void idle_parts_none(struct idle_parts *p, enum idle_cause c, enum idle_reason r, int64_t ns)
{
    p->none[c][r] = cells_sum(p->none[c][r], ns);
}

int idle_parts_known(struct idle_parts *p, const struct idle_part *part, int64_t ns)
{
    uint32_t at = 0;
    struct idle_part key = *part;
    key.time = 0;
    key.longest = (struct idle_longest){0};
    int rc = part->stack ? keyed_put(&p->known, &key, &at, NULL) : 0;
    if (rc)
        return rc;
    if (at) {
        struct idle_part *to = keyed_at(&p->known, at);
        to->time = cells_sum(to->time, ns);
        idle_longest_put(&to->longest, &part->longest, 0);
    } else {
        idle_parts_none(p, (enum idle_cause)part->cause, part->stack ? IDLE_LOST : IDLE_NO_STACK,
                        ns);
    }
    return 0;
}

int idle_parts_own(struct idle_parts *p, const struct idle_own *own, int64_t ns, uint32_t *at)
{
    struct idle_own key = *own;
    key.time = 0;
    key.longest = (struct idle_longest){0};
    int rc = keyed_put(&p->own, &key, at, NULL);
    if (rc)
        return rc;
    if (*at) {
        struct idle_own *to = keyed_at(&p->own, *at);
        to->time = cells_sum(to->time, ns);
        idle_longest_put(&to->longest, &own->longest, 0);
    } else {
        idle_parts_none(p, (enum idle_cause)own->cause, IDLE_LOST, ns);
    }
    return 0;
}

int idle_parts_look(struct idle_parts *p, uint32_t own, const struct idle_look *look,
                    enum idle_seen_how how, const struct idle_longest *gap)
{
    struct idle_seen key = {.own = own, .how = how};
    uint32_t at;
    if (how == IDLE_SEEN_OWN || how == IDLE_SEEN_INHERITED) {
        key.stack = look->stack;
        key.torn = look->torn;
    } else if (how == IDLE_SEEN_NATIVE) {
        key.stack = look->native;
        key.torn = look->torn;
    }
    if (key.stack)
        key.doing = IDLE_DOING(look->state, look->syscall);
    int rc = keyed_put(&p->seen, &key, &at, NULL);
    if (!rc && at) {
        struct idle_seen *to = keyed_at(&p->seen, at);
        to->count++;
        if (how != IDLE_SEEN_SEVERAL)
            idle_thread_put(&to->thread, look->thread);
        idle_longest_put(&to->longest, gap, 0);
    }
    return rc;
}
