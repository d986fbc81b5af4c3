/* inherited.c - see inherited.h. */
#include "analyze/model/scopes/inherited.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "analyze/model/scopes/tree.h"
#include "wire/library_range.h"

#include <stddef.h>

/* Counts the kernels that inherited an instance, at a node of their own. */
struct waiting {
    int64_t instance;
    uint32_t handle; /* not of the key */
};

bool scope_tag_is_library(struct model *m, uint32_t tag)
{
    struct sum_scopes *s = &m->scopes;
    if (tag != s->last_tag) {
        s->last_tag = tag;
        s->last_library = tag && library_range(model_text(m, tag));
    }
    return s->last_library;
}

int scope_inherited_node(struct sum_scopes *s, int64_t instance, uint32_t *node)
{
    uint32_t flags = scope_tree_flags(s, instance), at;
    bool added;
    if (instance <= 0 || instance >= SCOPE_INSTANCES ||
        (flags & (SCOPE_ENDED | SCOPE_LIBRARY)) == SCOPE_ENDED)
        return scope_tree_instance(s, instance, node);
    if (!s->waiting.item_size)
        keyed_init(&s->waiting, sizeof(struct waiting), offsetof(struct waiting, handle),
                   SCOPE_INSTANCES);
    int rc = keyed_put(&s->waiting, &instance, &at, &added);
    struct waiting *w = rc ? NULL : keyed_at(&s->waiting, at);
    if (!rc && added)
        rc = scope_tree_pending(s, &w->handle);
    if (!rc)
        *node = scope_tree_node(s, w->handle);
    return rc;
}

int scope_inherited_ended(struct sum_scopes *s, int64_t instance, uint32_t node)
{
    uint32_t at = s->waiting.count ? keyed_find(&s->waiting, &instance) : 0;
    if (!at)
        return 0;
    const struct waiting *w = keyed_at(&s->waiting, at);
    uint32_t from = scope_tree_node(s, w->handle);
    bool waits = from != node && s->nodes[from].name == SCOPE_PENDING && !s->nodes[from].parent;
    return waits ? scope_tree_merge(s, node, from) : 0;
}

static bool is_library(struct model *m, const struct scope_node *n)
{
    return n->self.tags && scope_tag_is_library(m, n->self.tag);
}

/* Returns true if work of other threads may belong to a scope of which only the path is known. */
static bool takes(struct model *m, const struct scope_node *n)
{
    return n->name != SCOPE_PENDING && n->self.calls && !n->self.open && !is_library(m, n);
}

static int settle(struct model *m, const struct waiting *w)
{
    struct sum_scopes *s = &m->scopes;
    uint32_t flags = scope_tree_flags(s, w->instance), from = scope_tree_node(s, w->handle), into;
    if (s->nodes[from].name != SCOPE_PENDING)
        return 0; /* the scope's end has come */
    int rc = scope_tree_instance(s, w->instance, &into);
    if (!rc && flags & (SCOPE_OPEN | SCOPE_ENDED) &&
        (flags & (SCOPE_ENDED | SCOPE_LIBRARY)) != SCOPE_ENDED)
        do
            into = s->nodes[into].parent;
        while (into && !takes(m, &s->nodes[into]));
    if (!rc && !into)
        s->nodes[from].self.inherited = 0;
    return rc ? rc : scope_tree_merge(s, into, from);
}

/* Returns true for a library's range of which no call ended. */
static bool never_ended(struct model *m, const struct scope_node *n)
{
    return n->self.open && !n->self.calls && is_library(m, n);
}

/* Moves the work of a scope to a scope around it. */
static int move_work(struct sum_scopes *s, uint32_t node, uint32_t into)
{
    struct scope_sum *from = &s->nodes[node].self, *to = &s->nodes[into].self;
    to->kernels += from->kernels;
    to->gpu = cells_sum(to->gpu, from->gpu);
    to->copy = cells_sum(to->copy, from->copy);
    to->waits += from->waits;
    to->wait = cells_sum(to->wait, from->wait);
    from->kernels = from->waits = 0;
    from->gpu = from->copy = from->wait = 0;
    return scope_tree_leave(s, node, into);
}

int scope_inherited_finish(struct model *m)
{
    struct sum_scopes *s = &m->scopes;
    int rc = 0;
    for (size_t i = 1; !rc && i < s->waiting.count; i++)
        rc = settle(m, keyed_at(&s->waiting, i));
    for (uint32_t n = 0; !rc && scope_tree_next(s, &n);) {
        uint32_t into = n;
        while (into && never_ended(m, &s->nodes[into]))
            into = s->nodes[into].parent;
        if (into != n)
            rc = move_work(s, n, into);
    }
    keyed_fini(&s->waiting);
    return rc;
}
