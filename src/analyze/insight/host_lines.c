/* host_lines.c - finds the lines of idle time that looks at threads show, and the activities at
 * each line. */
#include "analyze/insight/host_lines.h"

#include "analyze/common/cells.h"
#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

/* Returns true for causes of the host's own time, except those of a storm of launches in `to`. */
static bool is_host(const struct insights *to, uint32_t cause)
{
    bool storm = false;
    for (size_t i = 0; i < to->count; i++)
        storm |= !strcmp(to->items[i].rule->id, "launch_storm");
    return cause == IDLE_LATE || cause == IDLE_NOTHING || (cause == IDLE_SLOW && !storm);
}

static struct host_line *line_of(struct host_lines *l, uint32_t place)
{
    if (!l->at[place]) {
        l->items[l->count] = (struct host_line){.place = place};
        l->at[place] = (uint32_t)++l->count;
    }
    return &l->items[l->at[place] - 1];
}

static void add_row(struct host_lines *l, const struct idle_row *r)
{
    struct host_line *to = line_of(l, r->place);
    to->ns = cells_sum(to->ns, r->ns);
    to->by_cause[r->cause] = cells_sum(to->by_cause[r->cause], r->ns);
    to->looks += r->looks;
    idle_longest_put(&to->longest, &r->longest, 0);
    if (r->half_width != CELL_NULL)
        to->variance += (double)r->half_width * (double)r->half_width;
    if (r->ns > to->most) {
        to->most = r->ns;
        to->doing = r->doing;
        to->main = (enum idle_cause)r->cause;
        to->inherited = r->inherited;
        to->launcher = r->launcher;
        to->looked_at = r->looked_at;
    }
}

/* Returns true for states that a change of the line does not end. */
static bool is_stuck(uint32_t doing)
{
    return IDLE_DOING_STATE(doing) == IDLE_RUNNABLE ||
           IDLE_DOING_STATE(doing) == IDLE_WAITS_FOR_GIL;
}

static void add_did(struct host_did *d, const struct idle_line *r)
{
    d->ns = cells_sum(d->ns, r->estimated);
    d->by_cause[r->cause] = cells_sum(d->by_cause[r->cause], r->estimated);
    d->looks += r->looks;
    idle_longest_put(&d->longest, &r->longest, 0);
}

static struct host_did *did_of(const struct model *m, struct host_lines *l, const uint8_t *nodes,
                               uint32_t node)
{
    uint32_t at = nodes[node] ? l->at[stacks_node_at(&m->stacks, node)->place] : 0;
    return at ? &l->items[at - 1].did[nodes[node]] : NULL;
}

/* Adds what an activity costs besides the host's own time: calls that waited and copies whose
 * stacks show the activity. A checkpoint, for example, copies what it writes. */
static void add_made_for(const struct model *m, struct host_lines *l, const uint8_t *nodes)
{
    for (size_t i = 1; i < m->idle.lines.rows.count; i++) {
        const struct idle_line *r = keyed_at(&m->idle.lines.rows, i);
        struct host_did *d = r->node && r->cause <= IDLE_CODE ? did_of(m, l, nodes, r->node) : NULL;
        if (d)
            d->calls = cells_sum(d->calls, r->exact);
    }
    for (size_t i = 1; i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        struct host_did *d = w->kind < WORK_KERNEL ? did_of(m, l, nodes, w->stack) : NULL;
        if (d)
            d->copies = cells_sum(d->copies, w->time);
    }
}

/* Adds what the host did at each line, and the time of the line's main state. */
static int add_activities(const struct model *m, const struct insights *to, struct host_lines *l)
{
    uint8_t *nodes = idle_activity_list(m);
    for (size_t i = 1; nodes && i < m->idle.lines.rows.count; i++) {
        const struct idle_line *r = keyed_at(&m->idle.lines.rows, i);
        uint32_t at = r->node ? l->at[stacks_node_at(&m->stacks, r->node)->place] : 0;
        if (!at || !r->looks || r->flags & IDLE_ENDED_BY || !is_host(to, r->cause))
            continue;
        struct host_line *line = &l->items[at - 1];
        if (nodes[r->node])
            add_did(&line->did[nodes[r->node]], r);
        if (is_stuck(r->doing) && IDLE_DOING_STATE(r->doing) == IDLE_DOING_STATE(line->doing))
            add_did(&line->stuck, r);
    }
    if (nodes)
        add_made_for(m, l, nodes);
    int rc = nodes ? 0 : GPUFL_E_NOMEM;
    mem_free(nodes);
    return rc;
}

/* Computes how well a part of a line's time is known. True: the part is at least half of the
 * time. */
static bool judge(const struct host_line *l, struct host_did *d)
{
    if (!d->looks || d->looks > l->looks)
        return false;
    double share = cells_share((double)d->ns, (double)l->ns),
           half = idle_lines_half_width(d->looks, l->looks) * (double)l->ns;
    d->variance = share * share * l->variance + half * half;
    return 2 * (double)d->ns >= (double)l->ns;
}

/* Finds the activity, or the state, that has half of a line's time. */
static void judge_activities(struct host_line *l)
{
    for (int a = 1; a < ACTIVITIES; a++)
        if (judge(l, &l->did[a]))
            l->activity = (enum idle_activity)a;
    if (!judge(l, &l->stuck))
        l->stuck = (struct host_did){0};
}

/* Adds the activities of a line that its finding does not name. */
static void add_spread(struct host_lines *l, const struct host_line *line, bool kept)
{
    for (int a = 1; a < ACTIVITIES; a++) {
        const struct host_did *d = &line->did[a];
        struct host_spread *s = &l->spread[a];
        if (!d->ns || (kept && line->activity == (enum idle_activity)a))
            continue;
        s->did.ns = cells_sum(s->did.ns, d->ns);
        for (int c = 0; c < IDLE_CAUSES; c++)
            s->did.by_cause[c] = cells_sum(s->did.by_cause[c], d->by_cause[c]);
        s->did.looks += d->looks;
        idle_longest_put(&s->did.longest, &d->longest, 0);
        s->did.variance += d->variance;
        s->did.calls = cells_sum(s->did.calls, d->calls);
        s->did.copies = cells_sum(s->did.copies, d->copies);
        s->lines++;
        if (d->ns > s->most.ns) {
            s->most = *d;
            s->place = line->place;
        }
    }
}

/* Keeps the lines that are worth a finding. */
static void keep(const struct model *m, struct host_lines *l)
{
    size_t kept = 0;
    int64_t wall = sum_steps_time(m);
    for (size_t i = 0; i < l->count; i++) {
        struct host_line *line = &l->items[i];
        int64_t ns = sum_idle_of_run(m, line->ns);
        bool is_kept = ns <= wall && insight_is_share(m, ns, INSIGHT_line_idle, 100);
        judge_activities(line);
        add_spread(l, line, is_kept);
        l->at[line->place] = 0;
        if (is_kept) {
            l->items[kept++] = *line;
            l->at[line->place] = (uint32_t)kept;
        }
    }
    l->count = kept;
}

void host_lines_drop(struct host_lines *l)
{
    mem_free(l->items);
    mem_free(l->at);
}

int host_lines_find(const struct model *m, const struct insights *to, struct host_lines *l)
{
    struct idle_table t;
    *l = (struct host_lines){0};
    int rc = idle_table_make(m, &t);
    l->items = rc ? NULL : mem_array(t.lines + 1, sizeof *l->items);
    l->at = rc ? NULL : mem_array(m->stacks.places.count + 1, sizeof *l->at);
    rc = rc || (l->items && l->at) ? rc : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < t.count; i++) {
        const struct idle_row *r = &t.rows[i];
        const struct stacks_place *p = stacks_place_at(&m->stacks, r->place);
        if (!p)
            l->none[r->cause][r->reason] = cells_sum(l->none[r->cause][r->reason], r->ns);
        else if (p->mark)
            continue;
        else if (r->ended_by && r->ns > l->ended[r->cause].part) {
            l->ended[r->cause] = (struct insight_heaviest){.place = r->place, .part = r->ns};
            l->ended_longest[r->cause] = r->longest;
        } else if (!r->ended_by && is_host(to, r->cause)) {
            add_row(l, r);
        } else if (r->cause == IDLE_CODE && r->ns > l->code.part) {
            l->code = (struct insight_heaviest){.place = r->place, .part = r->ns};
        }
    }
    rc = rc ? rc : add_activities(m, to, l);
    if (!rc)
        keep(m, l);
    for (size_t i = 0; !rc && i < t.count; i++)
        if (t.rows[i].reason != IDLE_SHARED && (t.rows[i].ended_by || !l->at[t.rows[i].place]))
            idle_longest_put(&l->rest_longest[t.rows[i].cause], &t.rows[i].longest, 0);
    idle_table_fini(&t);
    return rc;
}
