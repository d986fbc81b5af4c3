/* view.c - ranks the scopes, keeps the first ones, and lists these depth first. */
#include "analyze/report/scopes/view.h"

#include "analyze/model/model.h"
#include "analyze/model/scopes/tree.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

struct ranked {
    uint32_t node;
    uint32_t depth;
    int64_t weight; /* ns; at least that of every node below */
    uint32_t place; /* index in the walk, for further ties */
};

struct place { /* by node: the tree of the nodes that are shown */
    int64_t weight;
    uint32_t child, next; /* 0: none */
};

/* Equal weights are ordered by name, so that the order does not depend on which came first. */
static int compare(const void *a, const void *b, void *arg)
{
    const struct ranked *x = a, *y = b;
    const struct model *m = *(const struct model *const *)arg;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    const struct scope_node *nodes = m->scopes.nodes;
    int o = strcmp(model_text(m, nodes[x->node].name), model_text(m, nodes[y->node].name));
    return o ? o : (x->place > y->place) - (x->place < y->place);
}

/* Ranks every scope, heaviest first. */
static size_t rank(const struct model *m, struct ranked *list, struct place *places)
{
    const struct sum_scopes *s = &m->scopes;
    size_t n = 0;
    for (uint32_t at = 0; scope_tree_next(s, &at); n++)
        list[n] = (struct ranked){.node = at, .depth = s->nodes[at].depth, .place = (uint32_t)n};
    for (size_t i = n; i-- > 0;) { /* children before parents */
        const struct scope_node *node = &s->nodes[list[i].node];
        struct place *p = &places[list[i].node];
        int64_t own = node->self.wall > node->all.gpu ? node->self.wall : node->all.gpu;
        p->weight = own > p->weight ? own : p->weight;
        if (places[node->parent].weight < p->weight)
            places[node->parent].weight = p->weight;
    }
    for (size_t i = 0; i < n; i++)
        list[i].weight = places[list[i].node].weight;
    qsort_r(list, n, sizeof *list, compare, &m);
    return n;
}

/* Lists the nodes of the shown tree, depth first. */
static void list_shown(struct scope_view *v, const struct sum_scopes *s, const struct place *places)
{
    uint32_t at = places[0].child;
    while (at) {
        v->nodes[v->count++] = at;
        v->numbers[at] = (uint32_t)v->count;
        if (places[at].child) {
            at = places[at].child;
            continue;
        }
        while (at && !places[at].next)
            at = s->nodes[at].parent;
        at = at ? places[at].next : 0;
    }
}

int scope_view_open(struct scope_view *v, const struct model *m, size_t top)
{
    const struct sum_scopes *s = &m->scopes;
    size_t room = s->node_count + 1;
    struct ranked *list = mem_array(room, sizeof *list);
    struct place *places = mem_array(room, sizeof *places);
    *v = (struct scope_view){.nodes = mem_array(room, sizeof *v->nodes),
                             .numbers = mem_array(room, sizeof *v->numbers)};
    int rc = list && places && v->nodes && v->numbers ? 0 : GPUFL_E_NOMEM;
    if (!rc) {
        v->all = rank(m, list, places);
        size_t shown = top && top < v->all ? top : v->all;
        for (size_t i = shown;
             i-- > 0;) { /* lightest first, so that the heaviest becomes the head */
            struct place *up = &places[s->nodes[list[i].node].parent];
            places[list[i].node].next = up->child;
            up->child = list[i].node;
        }
        list_shown(v, s, places);
    }
    mem_free(list);
    mem_free(places);
    if (rc)
        scope_view_close(v);
    return rc;
}

void scope_view_close(struct scope_view *v)
{
    mem_free(v->nodes);
    mem_free(v->numbers);
    memset(v, 0, sizeof *v);
}
