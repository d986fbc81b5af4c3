/* tree.c - merges nodes without a name into the tree when their rows come. */
#include "analyze/model/scopes/tree.h"

#include "analyze/common/cells.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/hash.h"

#include <string.h>

#define FORWARD     (1u << 31) /* in handles[]: the other bits are another handle */
#define HANDLE_MASK (SCOPE_LIBRARY - 1)

/* ---- nodes and handles ----------------------------------------------------------------- */

static int new_node(struct sum_scopes *s, uint32_t name, uint32_t *node)
{
    uint32_t at = s->free_node;
    if (!at) {
        int rc =
            mem_grow(&s->nodes, &s->node_cap, s->node_count + 1, sizeof *s->nodes, HANDLE_MASK);
        if (rc)
            return GPUFL_E_NOMEM;
        at = (uint32_t)s->node_count;
    }
    if (mem_grow(&s->handles, &s->handle_cap, s->handle_count + 1, sizeof *s->handles, HANDLE_MASK))
        return GPUFL_E_NOMEM;
    if (at == s->node_count)
        s->node_count++;
    else
        s->free_node = s->nodes[at].next;
    memset(&s->nodes[at], 0, sizeof s->nodes[at]);
    s->nodes[at].name = name;
    s->nodes[at].handle = (uint32_t)s->handle_count;
    s->handles[s->handle_count++] = at;
    s->live++;
    *node = at;
    return 0;
}

uint32_t scope_tree_node(struct sum_scopes *s, uint32_t handle)
{
    uint32_t at = handle;
    while (s->handles[at] & FORWARD)
        at = s->handles[at] & ~FORWARD;
    while (s->handles[handle] & FORWARD) {
        uint32_t next = s->handles[handle] & ~FORWARD;
        s->handles[handle] = at | FORWARD;
        handle = next;
        if (handle == at)
            break;
    }
    return s->handles[at];
}

int scope_tree_ensure(struct sum_scopes *s)
{
    uint32_t root;
    return s->node_count ? 0 : new_node(s, 0, &root);
}

void scope_tree_free(struct sum_scopes *s)
{
    for (size_t i = 0; i < s->node_count; i++)
        histogram_fini(&s->nodes[i].walls);
    mem_free(s->nodes);
    mem_free(s->handles);
    mem_free(s->instances);
    mem_free(s->slots);
    mem_free(s->stack);
    keyed_fini(&s->waiting);
    scope_kernels_fini(&s->by_kernel);
    memset(s, 0, sizeof *s);
}

/* ---- children by name ------------------------------------------------------------------ */

/* The table is not a struct keyed, which cannot remove items: a merge moves nodes. */
static size_t slot_of(const struct sum_scopes *s, uint32_t parent, uint32_t name)
{
    return hash_pair(parent, name) & (s->slot_count - 1);
}

static void put_slot(struct sum_scopes *s, uint32_t node)
{
    size_t at = slot_of(s, s->nodes[node].parent, s->nodes[node].name);
    while (s->slots[at])
        at = (at + 1) & (s->slot_count - 1);
    s->slots[at] = node;
    s->slot_used++;
}

static int reserve_slot(struct sum_scopes *s)
{
    if ((s->slot_used + 1) * 2 <= s->slot_count)
        return 0;
    size_t old_count = s->slot_count, count = old_count ? old_count * 2 : 64;
    uint32_t *old = s->slots, *slots = mem_array(count, sizeof *slots);
    if (!slots)
        return GPUFL_E_NOMEM;
    s->slots = slots;
    s->slot_count = count;
    s->slot_used = 0;
    for (size_t i = 0; i < old_count; i++)
        if (old[i])
            put_slot(s, old[i]);
    mem_free(old);
    return 0;
}

static uint32_t find_child(const struct sum_scopes *s, uint32_t parent, uint32_t name)
{
    if (!s->slot_count)
        return 0;
    for (size_t at = slot_of(s, parent, name); s->slots[at]; at = (at + 1) & (s->slot_count - 1)) {
        const struct scope_node *n = &s->nodes[s->slots[at]];
        if (n->parent == parent && n->name == name)
            return s->slots[at];
    }
    return 0;
}

/* Removes a node from the slots; the following nodes move up, so that no mark is needed. */
static void drop_slot(struct sum_scopes *s, uint32_t node)
{
    size_t mask = s->slot_count - 1;
    size_t at = slot_of(s, s->nodes[node].parent, s->nodes[node].name);
    while (s->slots[at] != node)
        at = (at + 1) & mask;
    for (size_t next = (at + 1) & mask; s->slots[next]; next = (next + 1) & mask) {
        const struct scope_node *n = &s->nodes[s->slots[next]];
        size_t home = slot_of(s, n->parent, n->name);
        if (((next - home) & mask) >= ((next - at) & mask)) {
            s->slots[at] = s->slots[next];
            at = next;
        }
    }
    s->slots[at] = 0;
    s->slot_used--;
}

/* Links a node without a name or without a parent as a child with that name. */
static int attach(struct sum_scopes *s, uint32_t node, uint32_t parent, uint32_t name)
{
    int rc = reserve_slot(s);
    if (rc)
        return rc;
    struct scope_node *n = &s->nodes[node];
    n->parent = parent;
    n->name = name;
    n->next = s->nodes[parent].child;
    s->nodes[parent].child = node;
    put_slot(s, node);
    return 0;
}

int scope_tree_child(struct sum_scopes *s, uint32_t parent, uint32_t name, uint32_t *node)
{
    *node = find_child(s, parent, name);
    if (!*node && s->live >= SCOPE_NODES) {
        s->more_paths = true;
        name = s->other;
        *node = find_child(s, parent, name);
    }
    if (*node)
        return 0;
    int rc = new_node(s, name, node);
    return rc ? rc : attach(s, *node, parent, name);
}

/* ---- merging --------------------------------------------------------------------------- */

void scope_tree_add(struct scope_sum *a, const struct scope_sum *b)
{
    if (b->calls && (!a->calls || b->wall_min < a->wall_min))
        a->wall_min = b->wall_min;
    if (b->calls && (!a->calls || b->wall_max > a->wall_max))
        a->wall_max = b->wall_max;
    if (b->tags) {
        a->tags = !a->tags ? b->tags : a->tag == b->tag && b->tags == 1 ? a->tags : 2;
        a->tag = a->tag ? a->tag : b->tag;
    }
    a->calls += b->calls;
    a->open += b->open;
    a->wall = cells_sum(a->wall, b->wall);
    a->kernels += b->kernels;
    a->inherited += b->inherited;
    a->gpu = cells_sum(a->gpu, b->gpu);
    a->copy = cells_sum(a->copy, b->copy);
    a->waits += b->waits;
    a->wait = cells_sum(a->wait, b->wait);
    a->repeat = cells_sum(a->repeat, b->repeat);
    a->repeat_wall = cells_sum(a->repeat_wall, b->repeat_wall);
}

static int push(struct sum_scopes *s, size_t *n, uint32_t a, uint32_t b)
{
    if (mem_grow(&s->stack, &s->stack_cap, *n + 2, sizeof *s->stack, SIZE_MAX))
        return GPUFL_E_NOMEM;
    s->stack[(*n)++] = a;
    s->stack[(*n)++] = b;
    return 0;
}

/* Merges one pair: sums and children of `from` move to `into`; pairs of children that both have are
 * put on the stack. */
static int merge_pair(struct sum_scopes *s, size_t *depth, uint32_t into, uint32_t from)
{
    int failed = histogram_merge(&s->nodes[into].walls, &s->nodes[from].walls);
    if (failed)
        return failed;
    scope_tree_add(&s->nodes[into].self, &s->nodes[from].self);
    while (s->nodes[from].child) {
        uint32_t child = s->nodes[from].child, name = s->nodes[child].name;
        uint32_t twin = find_child(s, into, name);
        int rc = twin ? push(s, depth, twin, child) : 0;
        if (rc)
            return rc;
        s->nodes[from].child = s->nodes[child].next;
        drop_slot(s, child);
        if (!twin && (rc = attach(s, child, into, name)))
            return rc;
    }
    s->handles[s->nodes[from].handle] = s->nodes[into].handle | FORWARD;
    histogram_fini(&s->nodes[from].walls);
    s->nodes[from].next = s->free_node;
    s->nodes[from].name = 0;
    s->free_node = from;
    s->live--;
    return 0;
}

int scope_tree_merge(struct sum_scopes *s, uint32_t into, uint32_t from)
{
    size_t depth = 0;
    int rc = push(s, &depth, into, from);
    while (!rc && depth) {
        from = s->stack[--depth];
        into = s->stack[--depth];
        rc = merge_pair(s, &depth, into, from);
    }
    return rc;
}

int scope_tree_pending(struct sum_scopes *s, uint32_t *handle)
{
    uint32_t node;
    int rc = new_node(s, SCOPE_PENDING, &node);
    *handle = rc ? 0 : s->nodes[node].handle;
    return rc;
}

int scope_tree_leave(struct sum_scopes *s, uint32_t node, uint32_t into)
{
    if (mem_grow(&s->handles, &s->handle_cap, s->handle_count + 1, sizeof *s->handles, HANDLE_MASK))
        return GPUFL_E_NOMEM;
    s->handles[s->nodes[node].handle] = s->nodes[into].handle | FORWARD;
    s->nodes[node].handle = (uint32_t)s->handle_count;
    s->handles[s->handle_count++] = node;
    return 0;
}

/* ---- instances ------------------------------------------------------------------------- */

/* Finds or makes the item of an instance; NULL for one that is not followed, or without memory. */
static int instance_at(struct sum_scopes *s, int64_t instance, uint32_t **at)
{
    *at = NULL;
    if (instance <= 0 || instance >= SCOPE_INSTANCES)
        return 0;
    size_t i = (size_t)instance;
    if (i >= s->instance_count) {
        if (mem_grow(&s->instances, &s->instance_cap, i + 1, sizeof *s->instances, SCOPE_INSTANCES))
            return GPUFL_E_NOMEM;
        memset(s->instances + s->instance_count, 0,
               (i + 1 - s->instance_count) * sizeof *s->instances);
        s->instance_count = i + 1;
    }
    *at = &s->instances[i];
    return 0;
}

int scope_tree_instance(struct sum_scopes *s, int64_t instance, uint32_t *node)
{
    uint32_t *at;
    int rc = instance_at(s, instance, &at);
    *node = 0;
    if (rc || !at)
        return rc;
    if (*at & HANDLE_MASK) {
        *node = scope_tree_node(s, *at & HANDLE_MASK);
        return 0;
    }
    rc = new_node(s, SCOPE_PENDING, node);
    if (!rc)
        *at |= s->nodes[*node].handle;
    return rc;
}

int scope_tree_place(struct sum_scopes *s, int64_t instance, int64_t parent, uint32_t name,
                     uint32_t *node)
{
    uint32_t *at, above = 0;
    int rc = instance_at(s, instance, &at);
    uint32_t pending = !rc && at && *at & HANDLE_MASK ? scope_tree_node(s, *at & HANDLE_MASK) : 0;
    *node = pending;
    if (rc || (pending && s->nodes[pending].name != SCOPE_PENDING))
        return rc;
    /* A scope cannot be inside itself, whatever a damaged log says. */
    rc = parent == instance ? GPUFL_E_CORRUPT : scope_tree_instance(s, parent, &above);
    for (uint32_t up = rc ? 0 : above; pending && up; up = s->nodes[up].parent)
        if (up == pending)
            rc = GPUFL_E_CORRUPT;
    if (rc == GPUFL_E_CORRUPT) {
        above = 0;
        rc = 0;
    }
    if (rc)
        return rc;
    if (!pending) {
        rc = scope_tree_child(s, above, name, node);
        if (!rc && at && !(rc = instance_at(s, instance, &at)))
            *at |= s->nodes[*node].handle;
        return rc;
    }
    if (s->live >= SCOPE_NODES && !find_child(s, above, name)) {
        s->more_paths = true;
        name = s->other;
    }
    *node = find_child(s, above, name);
    if (*node)
        return scope_tree_merge(s, *node, pending);
    *node = pending;
    return attach(s, pending, above, name);
}

void scope_tree_flag(struct sum_scopes *s, int64_t instance, uint32_t flag)
{
    if (instance > 0 && (uint64_t)instance < s->instance_count)
        s->instances[instance] |= flag;
}

int scope_tree_adopt(struct sum_scopes *s)
{
    uint32_t home = 0;
    int rc = 0;
    for (size_t i = 1; !rc && i < s->node_count; i++) {
        if (s->nodes[i].name != SCOPE_PENDING)
            continue;
        if (!home)
            rc = scope_tree_child(s, 0, s->lost, &home);
        if (!rc)
            rc = scope_tree_merge(s, home, (uint32_t)i);
    }
    return rc;
}

uint32_t scope_tree_flags(const struct sum_scopes *s, int64_t instance)
{
    bool known = instance > 0 && (uint64_t)instance < s->instance_count;
    return known ? s->instances[instance] & ~HANDLE_MASK : 0;
}

bool scope_tree_next(const struct sum_scopes *s, uint32_t *node)
{
    if (!s->node_count)
        return false;
    if (s->nodes[*node].child) {
        *node = s->nodes[*node].child;
        return true;
    }
    while (*node && !s->nodes[*node].next)
        *node = s->nodes[*node].parent;
    *node = *node ? s->nodes[*node].next : 0;
    return *node != 0;
}
