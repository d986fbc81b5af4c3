/* scopes.c - adds rows of scopes, and of the work inside them, to the tree. */
#include "analyze/model/scopes/scopes.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "analyze/model/scopes/inherited.h"
#include "analyze/model/scopes/tree.h"
#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

void sum_scopes_init(struct model *m)
{
    (void)m;
}

void sum_scopes_fini(struct model *m)
{
    scope_tree_free(&m->scopes);
}

int sum_scopes_ensure(struct model *m)
{
    struct sum_scopes *s = &m->scopes;
    if (s->node_count)
        return 0;
    s->other = intern_str(m->names, "(other)");
    s->lost = intern_str(m->names, "(scope not recorded)");
    return s->other && s->lost ? scope_tree_ensure(s) : GPUFL_E_NOMEM;
}

static int take_scope(struct model *m, const struct wire_batch *b, size_t i)
{
    struct sum_scopes *s = &m->scopes;
    int64_t instance = cells_or(b, COL_scope_instance, i, 0),
            ns = cells_get(b, COL_scope_duration, i), repeat = cells_or(b, COL_scope_repeat, i, 0);
    int64_t end, start = cells_get(b, COL_scope_start, i);
    uint32_t node, tag = model_name_cell(m, cells_get(b, COL_scope_tag, i));
    bool path = start == CELL_NULL && ns == CELL_NULL; /* the row only names an instance */
    if (!path && !cells_interval(start, ns, &end)) {
        s->invalid++;
        return 0;
    }
    int rc = scope_tree_place(s, instance, cells_or(b, COL_scope_parent, i, 0),
                              model_name_cell(m, cells_get(b, COL_scope_name, i)), &node);
    if (rc || path)
        return rc;
    struct scope_sum one = {.calls = 1,
                            .wall = ns,
                            .wall_min = ns,
                            .wall_max = ns,
                            .repeat = repeat > 0 ? repeat : 0,
                            .repeat_wall = repeat > 0 ? ns : 0,
                            .tag = tag,
                            .tags = tag != 0};
    scope_tree_add(&s->nodes[node].self, &one);
    bool library = scope_tag_is_library(m, tag);
    scope_tree_flag(s, instance, SCOPE_ENDED | (library ? SCOPE_LIBRARY : 0));
    rc = histogram_add(&s->nodes[node].walls, ns);
    return rc || library ? rc : scope_inherited_ended(s, instance, node);
}

static int take_open(struct model *m, const struct wire_batch *b, size_t i)
{
    struct sum_scopes *s = &m->scopes;
    int64_t instance = cells_or(b, COL_scope_open_instance, i, 0);
    uint32_t node;
    int rc = scope_tree_place(s, instance, cells_or(b, COL_scope_open_parent, i, 0),
                              model_name_cell(m, cells_get(b, COL_scope_open_name, i)), &node);
    if (rc)
        return rc;
    uint32_t tag = model_name_cell(m, cells_get(b, COL_scope_open_tag, i));
    struct scope_sum one = {.tag = tag, .tags = tag != 0};
    scope_tree_add(&s->nodes[node].self, &one);
    scope_tree_flag(s, instance, SCOPE_OPEN | (scope_tag_is_library(m, tag) ? SCOPE_LIBRARY : 0));
    return 0;
}

/* Adds ns of an activity to the node that launched it. */
static void add_activity(struct scope_sum *s, enum record_type type, int64_t ns)
{
    if (type == RECORD_sync) {
        s->waits++;
        s->wait = cells_sum(s->wait, ns);
    } else if (type == RECORD_graph_run) {
        s->gpu = cells_sum(s->gpu, ns);
    } else {
        s->copy = cells_sum(s->copy, ns);
    }
}

bool sum_scopes_known(const struct model *m, enum scope_activity a)
{
    static const enum known_kind kinds[SCOPE_ACTIVITIES] = {
        [SCOPE_KERNELS] = KNOWN_KERNELS, [SCOPE_GRAPHS] = KNOWN_KERNELS,
        [SCOPE_COPIES] = KNOWN_COPIES,   [SCOPE_FILLS] = KNOWN_COPIES,
        [SCOPE_WAITS] = KNOWN_SYNCS,
    };
    const struct scope_join *j = &m->scopes.joins[a];
    return j->rows ? j->known > 0 : sum_known_is(m, kinds[a]);
}

/* Returns the name of a kernel row's launch configuration: id of model.names, 0 if it is not
 * known. */
static uint32_t kernel_name(const struct model *m, int64_t config)
{
    bool known = config > 0 && (uint64_t)config < m->refs.config_count;
    uint32_t at = known ? m->refs.configs[config] : 0;
    return at ? (uint32_t)sum_kernels_config(&m->kernels, at)->row.name : 0;
}

/* Adds a kernel to a node. Kernels outside all scopes are not kept by name, because sum_kernels has
 * them. */
static int add_kernel(struct model *m, uint32_t node, const struct wire_batch *b, size_t row)
{
    struct sum_scopes *s = &m->scopes;
    struct scope_sum *sum = &s->nodes[node].self;
    int64_t ns = b->col[COL_kernel_duration][row];
    sum->kernels++;
    sum->gpu = cells_sum(sum->gpu, ns);
    if (!node)
        return 0;
    sum->inherited += cells_or(b, COL_kernel_inherited, row, 0) == 1;
    const struct scope_kernel one = {
        .handle = s->nodes[node].handle,
        .name = kernel_name(m, cells_or(b, COL_kernel_config, row, 0)),
        .count = 1,
        .ns = ns,
    };
    return scope_kernels_add(s, &one);
}

/* Most consecutive rows have one scope, so the last row's node is kept. */
static int take_activities(struct model *m, const struct wire_batch *b, unsigned column,
                           enum scope_activity kind)
{
    struct sum_scopes *s = &m->scopes;
    const int64_t *scope = b->col[column], *start = b->col[0], *duration = b->col[1];
    int64_t last = 0, end;
    bool heir = false; /* the last kernel inherited its scope */
    uint32_t node = 0;
    int rc = 0;
    for (size_t i = 0; !rc && start && duration && i < b->rows; i++) {
        int64_t instance = scope ? scope[i] : CELL_NULL;
        s->joins[kind].rows++;
        s->joins[kind].known += instance != CELL_NULL;
        bool inherits = kind == SCOPE_KERNELS && cells_or(b, COL_kernel_inherited, i, 0) == 1;
        if (instance != last || inherits != heir)
            rc = inherits ? scope_inherited_node(s, instance, &node)
                          : scope_tree_instance(s, instance, &node);
        last = instance;
        heir = inherits;
        if (rc || !cells_interval(start[i], duration[i], &end))
            continue;
        if (kind == SCOPE_KERNELS)
            rc = add_kernel(m, node, b, i);
        else if (b->type != RECORD_sync ||
                 sum_wait_kinds_blocks((int)cells_or(b, COL_sync_kind, i, 0)))
            add_activity(&s->nodes[node].self, b->type, duration[i]);
    }
    return rc;
}

int sum_scopes_batch(struct model *m, const struct wire_batch *b)
{
    int rc = sum_scopes_ensure(m);
    switch (b->type) {
    case RECORD_kernel:
        return rc ? rc : take_activities(m, b, COL_kernel_scope, SCOPE_KERNELS);
    case RECORD_graph_run:
        return rc ? rc : take_activities(m, b, COL_graph_run_scope, SCOPE_GRAPHS);
    case RECORD_memcpy:
        return rc ? rc : take_activities(m, b, COL_memcpy_scope, SCOPE_COPIES);
    case RECORD_memset:
        return rc ? rc : take_activities(m, b, COL_memset_scope, SCOPE_FILLS);
    case RECORD_sync:
        return rc ? rc : take_activities(m, b, COL_sync_scope, SCOPE_WAITS);
    default:
        break;
    }
    for (size_t i = 0; !rc && i < b->rows; i++)
        rc = b->type == RECORD_scope ? take_scope(m, b, i) : take_open(m, b, i);
    return rc;
}

static int merge_kernels(struct sum_scopes *s, const struct sum_scopes *from, const uint32_t *twins)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < from->by_kernel.count; i++) {
        struct scope_kernel more = from->by_kernel.items[i];
        more.handle = s->nodes[twins[more.handle]].handle;
        rc = scope_kernels_add(s, &more);
    }
    return rc;
}

/* Merges each node of `from` into the node of that path in `into`. Parents come first, so that the
 * parent's node there is known. */
int sum_scopes_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_scopes *s = &into->scopes;
    const struct sum_scopes *o = &from->scopes;
    int rc = sum_scopes_ensure(into);
    uint32_t *twins = o->node_count ? mem_array(o->node_count, sizeof *twins) : NULL;
    (void)shift;
    if (rc || !twins) {
        mem_free(twins);
        return rc ? rc : o->node_count ? GPUFL_E_NOMEM : 0;
    }
    for (int a = 0; a < SCOPE_ACTIVITIES; a++) {
        s->joins[a].rows += o->joins[a].rows;
        s->joins[a].known += o->joins[a].known;
    }
    scope_tree_add(&s->nodes[0].self, &o->nodes[0].self);
    for (uint32_t n = 0; !rc && scope_tree_next(o, &n);) {
        rc = scope_tree_child(s, twins[o->nodes[n].parent], o->nodes[n].name, &twins[n]);
        if (!rc)
            scope_tree_add(&s->nodes[twins[n]].self, &o->nodes[n].self);
        rc = rc ? rc : histogram_merge(&s->nodes[twins[n]].walls, &o->nodes[n].walls);
    }
    if (!rc)
        rc = merge_kernels(s, o, twins);
    s->invalid += o->invalid;
    s->more_paths |= o->more_paths;
    mem_free(twins);
    return rc;
}

static int count_open(struct sum_scopes *s)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < s->instance_count; i++) {
        uint32_t node;
        if ((s->instances[i] & (SCOPE_OPEN | SCOPE_ENDED)) != SCOPE_OPEN)
            continue;
        rc = scope_tree_instance(s, (int64_t)i, &node);
        if (!rc)
            s->nodes[node].self.open++;
    }
    return rc;
}

/* Sums up subtrees: nodes in the reverse order of a walk, so that children come first. */
static int sum_up(struct sum_scopes *s)
{
    uint32_t *order = mem_array(s->node_count + 1, sizeof *order);
    size_t n = 0;
    if (!order)
        return GPUFL_E_NOMEM;
    order[n++] = 0;
    for (uint32_t at = 0; scope_tree_next(s, &at);) {
        struct scope_node *node = &s->nodes[at];
        node->depth = node->parent ? s->nodes[node->parent].depth + 1 : 0;
        order[n++] = at;
    }
    for (size_t i = 0; i < n; i++)
        s->nodes[order[i]].all = s->nodes[order[i]].self;
    while (n-- > 1) {
        const struct scope_node *node = &s->nodes[order[n]];
        struct scope_sum *up = &s->nodes[node->parent].all;
        up->kernels += node->all.kernels;
        up->inherited += node->all.inherited;
        up->gpu = cells_sum(up->gpu, node->all.gpu);
        up->copy = cells_sum(up->copy, node->all.copy);
        up->waits += node->all.waits;
        up->wait = cells_sum(up->wait, node->all.wait);
    }
    mem_free(order);
    return 0;
}

int sum_scopes_finish(struct model *m)
{
    struct sum_scopes *s = &m->scopes;
    int rc = sum_scopes_ensure(m);
    rc = rc ? rc : count_open(s);
    rc = rc ? rc : scope_inherited_finish(m);
    rc = rc ? rc : scope_tree_adopt(s);
    rc = rc ? rc : sum_up(s);
    rc = rc ? rc : scope_kernels_finish(s);
    mem_free(s->instances);
    s->instances = NULL;
    s->instance_count = s->instance_cap = 0;
    return rc;
}
