/* wait_cost.c - see wait_cost.h. */
#include "analyze/insight/wait_cost.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"

int64_t wait_cost_gives_back(const struct model *m, int64_t idle, int64_t blocked)
{
    struct idle_sum causes[IDLE_CAUSES];
    int64_t all;
    if (!sum_idle_total(m, causes, &all))
        return blocked;
    idle = sum_windows_of_whole(m, idle);
    return idle < blocked ? idle : blocked;
}

void wait_cost_put_facts(const struct model *m, const struct wait_line *l,
                         const struct wait_cost *w, struct insight *i)
{
    insight_fact(i, "calls", (int64_t)w->calls);
    insight_fact(i, "blocked_ns", w->ns);
    if (sum_idle_is_known(m)) {
        insight_fact(i, "gpu_idle_ns", w->idle);
        insight_fact(i, "gpu_idle_without_waits_less_ns", w->lead);
        if (w->least != CELL_NULL)
            insight_fact(i, "gpu_idle_without_waits_less_least_ns", w->least);
    }
    insight_fact(i, "threads", l->threads);
    insight_fact(i, "first_ns", sum_wait_lines_first(m, l));
    insight_fact(i, "longest_ns", l->longest.end - l->longest.start);
    insight_fact(i, "longest_start_ns", sum_wait_lines_longest(m, l));
    insight_fact(i, "longest_correlation", l->longest.correlation);
    insight_fact(i, "longest_thread", l->longest.thread);
}

void wait_cost_put_library(const struct model *m, const struct wait_line *l, struct insight *i,
                           struct buf *out)
{
    const char *name = model_text(m, l->thread);
    char others[UNITS_TEXT];
    if (!stacks_place_is_library(stacks_place_at(&m->stacks, l->place)))
        return;
    i->next =
        "Look in your own code for what hands that thread work or waits for it, and do that less "
        "often. Scopes around the steps show which one, and --stacks who called.";
    bool nameless = stacks_place_at(&m->stacks, l->place)->nameless;
    buf_printf(out, " The line is a library's: %s",
               nameless ? "the frames of the program itself on its stack have no names"
                        : "no frame of the program itself is on its stack");
    if (l->longest.thread)
        buf_printf(out, ". The longest wait was on thread %u%s%s%s", l->longest.thread,
                   *name ? " (" : "", name, *name ? ")" : "");
    if (l->longest.thread && l->threads > 1)
        buf_printf(out, ", one of %s", units_count(others, l->threads));
    buf_str(out, ".");
}
