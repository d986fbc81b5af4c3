/* kernels.c - has a hash table of pairs whose keys become equal while it fills.
 *
 * The table is not a struct keyed, because folding changes keys and merges items in place. */
#include "analyze/model/scopes/kernels.h"

#include "analyze/common/cells.h"
#include "analyze/model/scopes/tree.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

void scope_kernels_fini(struct scope_kernels *k)
{
    mem_free(k->items);
    mem_free(k->slots);
    memset(k, 0, sizeof *k);
}

/* Returns the slot of a pair, or the free slot for it. */
static size_t slot_of(const struct scope_kernels *k, uint32_t handle, uint32_t name)
{
    size_t at = hash_pair(handle, name) & (k->slot_count - 1);
    while (k->slots[at]) {
        const struct scope_kernel *item = &k->items[k->slots[at] - 1];
        if (item->handle == handle && item->name == name)
            break;
        at = (at + 1) & (k->slot_count - 1);
    }
    return at;
}

/* Merges pairs whose scopes have become one, and fills the slots again. */
static void fold(struct sum_scopes *s)
{
    struct scope_kernels *k = &s->by_kernel;
    size_t n = 0;
    memset(k->slots, 0, k->slot_count * sizeof *k->slots);
    for (size_t i = 0; i < k->count; i++) {
        struct scope_kernel item = k->items[i];
        item.handle = s->nodes[scope_tree_node(s, item.handle)].handle;
        size_t at = slot_of(k, item.handle, item.name);
        if (k->slots[at]) {
            struct scope_kernel *same = &k->items[k->slots[at] - 1];
            same->count += item.count;
            same->ns = cells_sum(same->ns, item.ns);
        } else {
            k->items[n++] = item;
            k->slots[at] = (uint32_t)n;
        }
    }
    k->count = n;
    k->last = 0;
}

static int grow(struct scope_kernels *k)
{
    size_t count = k->slot_count ? k->slot_count * 2 : FIRST_SLOTS;
    uint32_t *slots = mem_array(count, sizeof *slots);
    if (!slots)
        return GPUFL_E_NOMEM;
    mem_free(k->slots);
    k->slots = slots;
    k->slot_count = count;
    for (size_t i = 0; i < k->count; i++)
        k->slots[slot_of(k, k->items[i].handle, k->items[i].name)] = (uint32_t)i + 1;
    return 0;
}

/* Makes room for one more pair if possible; at most half of the slots are used. */
static int reserve(struct sum_scopes *s)
{
    struct scope_kernels *k = &s->by_kernel;
    if ((k->count + 1) * 2 <= k->slot_count)
        return 0;
    if (k->slot_count)
        fold(s);
    if (k->slot_count == (size_t)SCOPE_PAIRS * 2) {
        k->full = k->count > SCOPE_PAIRS / 4 * 3; /* else folding will free some again later */
        return 0;
    }
    return !k->slot_count || k->count * 4 > k->slot_count ? grow(k) : 0;
}

/* Returns true for the kernel and scope of the last call, which is the usual case. */
static bool is_last(const struct scope_kernels *k, const struct scope_kernel *more)
{
    return k->count && k->items[k->last].handle == more->handle &&
           k->items[k->last].name == more->name;
}

int scope_kernels_add(struct sum_scopes *s, const struct scope_kernel *more)
{
    struct scope_kernels *k = &s->by_kernel;
    if (!is_last(k, more)) {
        size_t at = k->slot_count ? slot_of(k, more->handle, more->name) : 0;
        if (!k->slot_count || !k->slots[at]) {
            int rc = k->full ? 0 : reserve(s);
            if (rc || k->full)
                return rc;
            if (mem_grow(&k->items, &k->cap, k->count + 1, sizeof *k->items, SCOPE_PAIRS))
                return GPUFL_E_NOMEM;
            at = slot_of(k, more->handle, more->name);
            k->items[k->count++] =
                (struct scope_kernel){.handle = more->handle, .name = more->name};
            k->slots[at] = (uint32_t)k->count;
        }
        k->last = k->slots[at] - 1;
    }
    struct scope_kernel *last = &k->items[k->last];
    last->count += more->count;
    last->ns = cells_sum(last->ns, more->ns);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct scope_kernel *x = a, *y = b;
    if (x->handle != y->handle)
        return x->handle < y->handle ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return ORDER(x->name, y->name);
}

int scope_kernels_finish(struct sum_scopes *s)
{
    struct scope_kernels *k = &s->by_kernel;
    if (k->count)
        fold(s);
    mem_free(k->slots);
    k->slots = NULL;
    k->slot_count = 0;
    size_t inside = 0;
    for (size_t i = 0; i < k->count; i++) {
        k->items[i].handle = scope_tree_node(s, k->items[i].handle);
        if (k->items[i].handle) /* not outside all scopes after all */
            k->items[inside++] = k->items[i];
    }
    k->count = inside;
    if (k->count)
        qsort(k->items, k->count, sizeof *k->items, compare);
    for (size_t i = 0; i < k->count; i++) {
        struct scope_node *node = &s->nodes[k->items[i].handle];
        if (!node->kernel_names++)
            node->first_kernel = (uint32_t)i;
    }
    return 0;
}
