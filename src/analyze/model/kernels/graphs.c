/* graphs.c - see graphs.h. */
#include "analyze/model/kernels/graphs.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

void sum_graphs_init(struct model *m)
{
    keyed_init(&m->graphs.graphs, sizeof(struct graph_sum), offsetof(struct graph_sum, launches),
               GRAPHS_MOST);
}

static void release_under(struct sum_graphs *s)
{
    mem_free(s->under);
    s->under = NULL;
}

void sum_graphs_fini(struct model *m)
{
    keyed_fini(&m->graphs.graphs);
    mem_free(m->graphs.by_time);
    release_under(&m->graphs);
    memset(&m->graphs, 0, sizeof m->graphs);
}

static void sum(struct graph_sum *at, const struct graph_sum *one)
{
    at->launches += one->launches;
    at->kernels += one->kernels;
    at->time = cells_sum(at->time, one->time);
    at->kernel_time = cells_sum(at->kernel_time, one->kernel_time);
    at->max = one->max > at->max ? one->max : at->max;
}

static int add(struct sum_graphs *s, const struct graph_sum *one)
{
    uint32_t index;
    int rc = keyed_put(&s->graphs, one, &index, NULL);
    if (rc)
        return rc;
    sum(keyed_at(&s->graphs, index), one);
    sum(&s->all, one);
    return 0;
}

/* Counts a completed launch. */
static int complete(struct sum_graphs *s, struct graph_run *r)
{
    struct graph_sum one = {.graph = r->graph,
                            .launches = 1,
                            .kernels = r->kernels,
                            .time = r->end - r->start,
                            .max = r->end - r->start,
                            .kernel_time = r->kernel_time};
    int rc = r->kernels ? add(s, &one) : 0;
    *r = (struct graph_run){0};
    return rc;
}

static int take_kernel(struct sum_graphs *s, const struct graph_run *k)
{
    if (!s->under)
        s->under = mem_zalloc(GRAPHS_UNDER_WAY * sizeof *s->under);
    if (!s->under)
        return GPUFL_E_NOMEM;
    struct graph_run *r = &s->under[(uint64_t)k->correlation % GRAPHS_UNDER_WAY];
    bool same = r->graph == k->graph && r->correlation == k->correlation && r->node != k->node;
    int rc = same ? 0 : complete(s, r);
    if (!r->kernels) {
        *r = *k;
        return rc;
    }
    r->kernels++;
    r->start = k->start < r->start ? k->start : r->start;
    r->end = k->end > r->end ? k->end : r->end;
    r->kernel_time = cells_sum(r->kernel_time, k->kernel_time);
    return rc;
}

int sum_graphs_batch(struct model *m, const struct wire_batch *b)
{
    _Static_assert(COL_kernel_start == 0 && COL_graph_run_start == 0 && COL_kernel_duration == 1 &&
                       COL_graph_run_duration == 1,
                   "these columns are read by place");
    struct sum_graphs *s = &m->graphs;
    bool whole = b->type == RECORD_graph_run;
    const int64_t *graph = b->col[whole ? COL_graph_run_graph : COL_kernel_graph];
    const int64_t *start = b->col[0], *duration = b->col[1];
    int64_t end;
    int rc = 0;
    for (size_t i = 0; !rc && graph && start && duration && i < b->rows; i++) {
        if ((graph[i] <= 0 && !whole) || !cells_interval(start[i], duration[i], &end))
            continue;
        if (!whole) {
            const struct graph_run k = {.graph = graph[i],
                                        .correlation = cells_or(b, COL_kernel_correlation, i, 0),
                                        .node = cells_or(b, COL_kernel_graph_node, i, 0),
                                        .start = start[i],
                                        .end = end,
                                        .kernels = 1,
                                        .kernel_time = duration[i]};
            rc = take_kernel(s, &k);
            continue;
        }
        const struct graph_sum one = {
            .graph = graph[i], .launches = 1, .time = duration[i], .max = duration[i]};
        s->whole++;
        rc = add(s, &one);
    }
    return rc;
}

/* Graphs of different processes may share a number, and are different graphs. */
int sum_graphs_merge(struct model *into, const struct model *from, int64_t shift)
{
    const struct sum_graphs *o = &from->graphs;
    int64_t before = (int64_t)into->facts.sessions - (int64_t)from->facts.sessions;
    int rc = 0;
    (void)shift;
    for (size_t i = 0; !rc && i < o->graphs.count; i++) {
        struct graph_sum one = *(const struct graph_sum *)keyed_at(&o->graphs, i);
        one.session += before;
        rc = one.launches ? add(&into->graphs, &one) : 0;
    }
    into->graphs.whole += o->whole;
    return rc;
}

static int longer(const void *a, const void *b, void *arg)
{
    const struct keyed *graphs = arg;
    const struct graph_sum *x = keyed_at(graphs, *(const uint32_t *)a),
                           *y = keyed_at(graphs, *(const uint32_t *)b);
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return x->graph < y->graph ? -1 : x->graph > y->graph;
}

int sum_graphs_finish(struct model *m)
{
    struct sum_graphs *s = &m->graphs;
    int rc = 0;
    for (size_t i = 0; !rc && s->under && i < GRAPHS_UNDER_WAY; i++)
        rc = complete(s, &s->under[i]);
    release_under(s);
    if (rc || s->by_time || !s->graphs.count)
        return rc;
    s->by_time = mem_array(s->graphs.count, sizeof *s->by_time);
    if (!s->by_time)
        return GPUFL_E_NOMEM;
    for (uint32_t i = 0; i < s->graphs.count; i++)
        if (((const struct graph_sum *)keyed_at(&s->graphs, i))->launches)
            s->by_time[s->by_time_count++] = i;
    qsort_r(s->by_time, s->by_time_count, sizeof *s->by_time, longer, &s->graphs);
    return 0;
}

const char *sum_graphs_activity(const struct sum_graphs *s)
{
    if (!s->all.launches)
        return "";
    return !s->whole ? "nodes" : s->whole == s->all.launches ? "launches" : "both";
}
