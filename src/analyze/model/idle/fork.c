/* fork.c - see fork.h. */
#include "analyze/model/idle/fork.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>

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

/* Returns the frames inside the line; NULL: out of memory. */
static struct way *read_way(const struct model *m, uint32_t node, const struct stacks_place *p)
{
    struct stacks_walk w = {.node = node};
    struct stacks_step step, inner[DEPTH_MOST];
    size_t depth = 0;
    while (stacks_next(&m->stacks, &w, &step) && !is_line(&step, p))
        if (step.file && step.line && step.function && depth < DEPTH_MOST)
            inner[depth++] = step;
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

static size_t count_rows(const struct model *m)
{
    size_t n = m->idle.lines.rows.count;
    return n < ROWS_MOST ? n : ROWS_MOST;
}

int idle_fork_find(const struct model *m, uint32_t place, uint32_t causes, struct idle_fork *out)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, place);
    size_t most = count_rows(m), n = 0;
    *out = (struct idle_fork){0};
    struct way **ways = mem_array(most + 1, sizeof *ways);
    int rc = ways ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 1; !rc && p && i < m->idle.lines.rows.count && n < most; i++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, i);
        if (!l->node || stacks_node_at(&m->stacks, l->node)->place != place ||
            l->flags & IDLE_ENDED_BY || !(causes >> l->cause & 1))
            continue;
        ways[n] = read_way(m, l->node, p);
        if (!ways[n]) {
            rc = GPUFL_E_NOMEM;
            break;
        }
        ways[n]->ns = cells_sum(l->exact, l->estimated);
        ways[n]->looks = l->looks;
        out->ns = cells_sum(out->ns, ways[n]->ns);
        out->looks += l->looks;
        n++;
    }
    struct way **all = ways;
    if (!rc && n)
        find(ways, n, out);
    for (size_t i = 0; i < n; i++)
        mem_free(all[i]);
    mem_free(all);
    return rc;
}
