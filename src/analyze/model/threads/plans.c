/* plans.c - see plans.h. */
#include "analyze/model/threads/plans.h"

#include "analyze/model/model.h"
#include "analyze/model/threads/activity.h"
#include "analyze/model/threads/calls.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdbool.h>

/* Returns the innermost frame of Python on a stack; 0: none. */
static uint32_t python_frame(const struct stacks *s, uint32_t node)
{
    for (; node; node = stacks_node_at(s, node)->parent) {
        uint32_t frame = stacks_node_at(s, node)->frame;
        if (((const struct stacks_frame *)keyed_at(&s->frames, frame))->kind == STACKS_PYTHON)
            return frame;
    }
    return 0;
}

/* Gives the call's stack to the samples just before the call. */
static void take_looks(struct model *m, const struct wait_item *w, int64_t since)
{
    struct idle_looks *l = &m->idle.looks;
    const struct stacks *s = &m->stacks;
    uint32_t frame = python_frame(s, stacks_node_of(s, w->stack));
    for (size_t i = idle_looks_from(l, w->start); frame && i-- > 0;) {
        struct idle_look *look = &l->rows[i];
        if (look->time <= since)
            return;
        if (look->thread != w->thread)
            continue;
        uint32_t node = stacks_node_of(s, look->stack);
        if (!node || stacks_node_at(s, node)->frame != frame)
            return;
        look->stack = w->stack;
    }
}

/* Finds the plans of a thread that has samples. Several loads without a launch in between are one
 * plan. */
static void of_thread(struct model *m, const struct wait_list *l, const uint8_t *nodes,
                      const struct idle_thread *t)
{
    const struct wait_item *w, *before = NULL;
    bool was_plan = false;
    for (size_t i = 0; i < t->count; i++, before = w) {
        w = &l->items[t->calls[i]];
        bool plan =
            w->call == WAIT_MODULE && nodes[stacks_node_of(&m->stacks, w->stack)] == ACTIVITY_PLAN;
        int64_t since = before ? before->end : INT64_MIN;
        int64_t launched = idle_captured_before(&m->idle.captured, w->thread, w->start);
        if (plan && (!was_plan || launched >= since))
            idle_activity_began(m, ACTIVITY_PLAN, w->start);
        if (plan)
            take_looks(m, w, launched > since ? launched : since);
        was_plan = plan;
    }
}

int idle_plans_find(struct model *m)
{
    struct sum_idle *s = &m->idle;
    const struct wait_list *l;
    int rc = s->looks.threads.count > 1 ? idle_calls_prepare(m, &l) : 0;
    if (rc || s->looks.threads.count < 2)
        return rc;
    rc = idle_captured_sort(&s->captured);
    uint8_t *nodes = rc ? NULL : idle_activity_list(m);
    idle_looks_sort(&s->looks);
    for (size_t i = 1; nodes && i < s->looks.threads.count; i++) {
        const uint32_t *id = keyed_at(&s->looks.threads, i);
        const struct idle_thread *t = idle_calls_thread(s, *id);
        if (t)
            of_thread(m, l, nodes, t);
    }
    rc = rc || nodes ? rc : GPUFL_E_NOMEM;
    mem_free(nodes);
    return rc;
}
