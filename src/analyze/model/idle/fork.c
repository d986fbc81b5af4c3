/* fork.c - see fork.h. */
#include "analyze/model/idle/fork.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 1 << 11, DEPTH_MOST = 128 /* frames below the line */ };

/* Holds a row's stack below the line. */
struct way {
    int64_t ns;
    uint64_t looks;
    size_t depth;
    struct stacks_step steps[]; /* from the line inwards */
};

static bool is_line(const struct stacks_step *step, const struct stacks_place *p)
{
    return p->file && p->line ? step->file == p->file && step->line == p->line
                              : step->function && step->function == p->symbol;
}

/* Returns the frames inside the line; NULL: out of memory. calls: a call's stack has the
 * interpreter's own frames, so that only Python counts below a line of Python. */
static struct way *read_way(const struct model *m, uint32_t node, const struct stacks_place *p,
                            bool calls)
{
    struct stacks_walk w = {.node = node};
    struct stacks_step step, inner[DEPTH_MOST];
    size_t depth = 0, kept = 0;
    while (stacks_next(&m->stacks, &w, &step) && !is_line(&step, p))
        if (step.file && step.line && step.function && depth < DEPTH_MOST)
            inner[depth++] = step;
    bool python = calls && step.kind == STACKS_PYTHON;
    for (size_t i = 0; i < depth; i++)
        if (!python || inner[i].kind == STACKS_PYTHON)
            inner[kept++] = inner[i];
    depth = kept;
    struct way *way = mem_alloc(sizeof *way + depth * sizeof *inner);
    if (!way)
        return NULL;
    way->depth = depth;
    for (size_t i = 0; i < depth; i++)
        way->steps[i] = inner[depth - 1 - i];
    return way;
}

static int by_steps(const void *a, const void *b)
{
    const struct way *x = *(const struct way *const *)a, *y = *(const struct way *const *)b;
    for (size_t i = 0; i < x->depth && i < y->depth; i++) {
        int o = ORDER(x->steps[i].file, y->steps[i].file);
        o = o ? o : ORDER(x->steps[i].function, y->steps[i].function);
        if (o)
            return o;
    }
    return ORDER(x->depth, y->depth);
}

static bool is_same(const struct way *x, const struct way *y, size_t level)
{
    return x->depth > level && y->depth > level && x->steps[level].file == y->steps[level].file &&
           x->steps[level].function == y->steps[level].function;
}

/* Sums up ways that are one branch; its step is at the line with most time. */
static struct idle_branch sum_branch(struct way *const *ways, size_t n, size_t level)
{
    struct idle_branch b = {.ns = 0};
    int64_t most = -1;
    for (size_t i = 0; i < n; i++) {
        int64_t ns = 0;
        b.ns = cells_sum(b.ns, ways[i]->ns);
        b.looks += ways[i]->looks;
        for (size_t k = 0; k < n; k++)
            if (ways[k]->steps[level].line == ways[i]->steps[level].line)
                ns = cells_sum(ns, ways[k]->ns);
        if (ns > most) {
            most = ns;
            b.step = ways[i]->steps[level];
        }
    }
    return b;
}

static int by_time(const void *a, const void *b)
{
    const struct idle_branch *x = a, *y = b;
    return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : ORDER(x->step.function, y->step.function);
}

/* Lists the branches at a level. The ways are equal above that level. Returns the first way of the
 * branch with most time. */
static size_t find_branches(struct way *const *ways, size_t n, size_t level, struct idle_fork *out)
{
    size_t best = 0;
    int64_t most = -1;
    out->count = 0;
    for (size_t i = 0, k; i < n; i += k) {
        for (k = 1; i + k < n && is_same(ways[i], ways[i + k], level);)
            k++;
        if (ways[i]->depth <= level)
            continue;
        struct idle_branch b = sum_branch(&ways[i], k, level);
        if (b.ns > most) {
            most = b.ns;
            best = i;
        }
        if ((double)b.ns * 100 >= IDLE_FORK_SHOWS * (double)out->ns && out->count < IDLE_FORK_MOST)
            out->branches[out->count++] = b;
    }
    qsort(out->branches, out->count, sizeof *out->branches, by_time);
    return best;
}

static void find(struct way **ways, size_t n, struct idle_fork *out)
{
    qsort(ways, n, sizeof *ways, by_steps);
    for (size_t level = 0; level < DEPTH_MOST; level++) {
        size_t best = find_branches(ways, n, level, out);
        const struct idle_branch *b = &out->branches[0];
        if (!out->count || (double)b->ns * 100 < IDLE_FORK_FOLLOWS * (double)out->ns)
            return;
        size_t k = 1;
        while (best + k < n && is_same(ways[best], ways[best + k], level))
            k++;
        bool ends = true;
        for (size_t i = 0; i < k; i++)
            ends &= ways[best + i]->depth <= level + 1;
        if (ends)
            return; /* the branch ends there: it is shown alone */
        out->at = b->step;
        ways += best;
        n = k;
    }
}

/* ---- the rows of a line ------------------------------------------------------------------ */

struct ways {
    const struct model *m;
    const struct stacks_place *place;
    struct idle_fork *out;
    bool calls;                   /* the rows are calls, not samples */
    struct way *items[ROWS_MOST]; /* owned */
    size_t count;
};

/* Adds a row of the line; rows beyond ROWS_MOST are left out. */
static int take(struct ways *to, uint32_t node, int64_t ns, uint64_t looks)
{
    if (to->count == ROWS_MOST)
        return 0;
    struct way *way = read_way(to->m, node, to->place, to->calls);
    if (!way)
        return GPUFL_E_NOMEM;
    way->ns = ns;
    way->looks = looks;
    to->out->ns = cells_sum(to->out->ns, ns);
    to->out->looks += looks;
    to->items[to->count++] = way;
    return 0;
}

/* Finds the fork if rc is 0, and frees the rows. */
static int settle(struct ways *w, int rc)
{
    struct way *all[ROWS_MOST];
    memcpy(all, w->items, w->count * sizeof *all);
    if (!rc && w->count)
        find(w->items, w->count, w->out);
    for (size_t i = 0; i < w->count; i++)
        mem_free(all[i]);
    return rc;
}

int idle_fork_find(const struct model *m, uint32_t place, uint32_t causes, struct idle_fork *out)
{
    struct ways ways = {.m = m, .place = stacks_place_at(&m->stacks, place), .out = out};
    int rc = 0;
    *out = (struct idle_fork){0};
    for (size_t i = 1; !rc && ways.place && i < m->idle.lines.rows.count; i++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, i);
        if (l->node && stacks_node_at(&m->stacks, l->node)->place == place &&
            !(l->flags & IDLE_ENDED_BY) && causes >> l->cause & 1)
            rc = take(&ways, l->node, cells_sum(l->exact, l->estimated), l->looks);
    }
    return settle(&ways, rc);
}

int wait_fork_find(const struct model *m, uint32_t line, struct idle_fork *out)
{
    const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, line);
    const struct keyed *stacks = &m->wait_lines.stacks;
    struct ways ways = {
        .m = m, .place = stacks_place_at(&m->stacks, l->place), .out = out, .calls = true};
    int rc = 0;
    *out = (struct idle_fork){0};
    for (size_t i = 1; !rc && ways.place && i < stacks->count; i++) {
        const struct wait_stack *s = keyed_at(stacks, i);
        if (s->line == line && s->node)
            rc = take(&ways, s->node, s->time, 0);
    }
    return settle(&ways, rc);
}
