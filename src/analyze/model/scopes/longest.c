/* longest.c - see longest.h. */
#include "analyze/model/scopes/longest.h"

#include "analyze/model/model.h"
#include "analyze/model/scopes/tree.h"
#include "base/alloc.h"

#include <stdlib.h>

struct timed {
    int64_t wall;
    uint32_t node;
    uint32_t place; /* index in the walk */
};

static int by_wall(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;
    if (x->wall != y->wall)
        return x->wall > y->wall ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

uint32_t *scope_longest(const struct model *m, size_t *count)
{
    const struct sum_scopes *s = &m->scopes;
    struct timed *list = mem_array(s->node_count + 1, sizeof *list);
    uint32_t *nodes = mem_array(s->node_count + 1, sizeof *nodes);
    size_t n = 0;
    for (uint32_t at = 0; list && nodes && scope_tree_next(s, &at);)
        if (s->nodes[at].walls.count) {
            list[n] = (struct timed){s->nodes[at].walls.total, at, (uint32_t)n};
            n++;
        }
    if (list && nodes)
        qsort(list, n, sizeof *list, by_wall);
    for (size_t i = 0; i < n; i++)
        nodes[i] = list[i].node;
    if (!list) {
        mem_free(nodes);
        nodes = NULL;
    }
    mem_free(list);
    *count = n;
    return nodes;
}
