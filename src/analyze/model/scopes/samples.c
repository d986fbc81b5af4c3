/* samples.c - see samples.h.
 *
 * Scopes are numbered depth first: a scope and all scopes inside it are a range of numbers, and a
 * kernel's parts of one pool are neighbours. */
#include "analyze/model/scopes/samples.h"

#include "analyze/model/model.h"
#include "analyze/model/scopes/path.h"
#include "analyze/model/scopes/tree.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 1e-6 /* samples: less is a rounding error */

/* Describes a kernel in a scope. */
struct part {
    uint32_t kernel; /* index in model.kernels.names */
    uint32_t number; /* number of the scope, depth first; 0: outside all */
    uint32_t node;
    double ns;    /* on the GPU, of launches by the scope itself */
    double given; /* samples so far */
    double weight;
};

/* Counts the samples of a kernel that belong to a scope or to those inside it. */
struct pool {
    uint32_t kernel;
    uint32_t node; /* node of the scope; 0: outside all; SAMPLES_NO_SCOPE: any */
    uint32_t reason;
    /* not of the key: */
    uint32_t number, end; /* scopes that may have them: [number, end) */
    double samples;       /* with the rest of inner pools */
};

struct sharing {
    struct model *m;
    uint32_t *number, *end; /* owned; by node */
    struct part *parts;     /* owned; by kernel, then by number */
    size_t part_count;
    struct keyed pools; /* struct pool; sorted in place: by kernel, inner pools first */
    struct keyed sums;  /* struct sample_estimate by node */
};

/* Holds a kernel's name and its index in model.kernels.names. */
struct kernel_place {
    uint32_t name;
    /* not of the key: */
    uint32_t place;
};

static int number_scopes(struct sharing *s)
{
    const struct sum_scopes *scopes = &s->m->scopes;
    uint32_t *walk = mem_array(scopes->node_count, sizeof *walk);
    uint32_t n = 1;
    s->number = mem_array(scopes->node_count, sizeof *s->number);
    s->end = mem_array(scopes->node_count, sizeof *s->end);
    if (!walk || !s->number || !s->end) {
        mem_free(walk);
        return GPUFL_E_NOMEM;
    }
    s->number[0] = 0;
    for (uint32_t at = 0; scope_tree_next(scopes, &at); n++) {
        walk[n] = at;
        s->number[at] = n;
        s->end[at] = n + 1;
    }
    s->end[0] = n;
    while (n-- > 1) { /* inner scopes come before those around them */
        uint32_t at = walk[n], up = scopes->nodes[at].parent;
        s->end[up] = s->end[up] > s->end[at] ? s->end[up] : s->end[at];
    }
    mem_free(walk);
    return 0;
}

/* ---- parts ------------------------------------------------------------------------------- */

static int place_kernels(const struct sum_kernels *k, struct keyed *places)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < k->name_count; i++) {
        uint32_t index;
        rc = keyed_put(places, &k->names[i].name, &index, NULL);
        if (!rc)
            ((struct kernel_place *)keyed_at(places, index))->place = i;
    }
    return rc;
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    return ORDER(x->number, y->number);
}

/* Lists each kernel's time in scopes, and its time outside all scopes. */
static int list_parts(struct sharing *s)
{
    const struct sum_kernels *k = &s->m->kernels;
    const struct scope_kernels *in = &s->m->scopes.by_kernel;
    struct keyed places;
    keyed_init(&places, sizeof(struct kernel_place), sizeof(uint32_t), SIZE_MAX / 64);
    int rc = place_kernels(k, &places);
    s->parts = mem_array(k->name_count + in->count + 1, sizeof *s->parts);
    rc = rc || s->parts ? rc : GPUFL_E_NOMEM;
    for (uint32_t i = 0; !rc && i < k->name_count; i++)
        s->parts[i] = (struct part){.kernel = i, .ns = (double)k->names[i].time.total};
    s->part_count = rc ? 0 : k->name_count;
    for (size_t i = 0; !rc && i < in->count; i++) {
        const struct scope_kernel *one = &in->items[i];
        uint32_t index = keyed_find(&places, &one->name);
        if (!index)
            continue;
        struct part *outside = &s->parts[((struct kernel_place *)keyed_at(&places, index))->place];
        outside->ns -= (double)one->ns;
        s->parts[s->part_count++] = (struct part){.kernel = outside->kernel,
                                                  .number = s->number[one->handle],
                                                  .node = one->handle,
                                                  .ns = (double)one->ns};
    }
    for (size_t i = 0; !rc && i < k->name_count; i++)
        s->parts[i].ns = s->parts[i].ns > 0 ? s->parts[i].ns : 0;
    if (s->part_count)
        qsort(s->parts, s->part_count, sizeof *s->parts, compare_parts);
    keyed_fini(&places);
    return rc;
}

/* ---- pools ------------------------------------------------------------------------------- */

static int compare_pools(const void *a, const void *b)
{
    const struct pool *x = a, *y = b;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    if (x->number != y->number)
        return x->number > y->number ? -1 : 1;
    return x->end != y->end ? (x->end < y->end ? -1 : 1) : ORDER(x->reason, y->reason);
}

static int add_estimate(struct sharing *s, uint32_t node, uint32_t reason, double samples)
{
    uint32_t key[2] = {node, reason}, index;
    if (!node || node == SAMPLES_NO_SCOPE || samples <= 0)
        return 0;
    int rc = keyed_put(&s->sums, key, &index, NULL);
    if (rc)
        return rc;
    if (index)
        ((struct sample_estimate *)keyed_at(&s->sums, index))->samples += samples;
    else
        s->m->samples.left_out += samples;
    return 0;
}

/* Returns the scope of the pool that gets what the scopes of this pool do not need. */
static uint32_t around(const struct sharing *s, uint32_t node)
{
    uint32_t up = node ? s->m->scopes.nodes[node].parent : 0;
    return up ? up : SAMPLES_NO_SCOPE;
}

/* Adds a pool with the pools around it, which may get its rest. */
static int add_pool(struct sharing *s, uint32_t kernel, uint32_t node, uint32_t reason,
                    double samples)
{
    bool added = true;
    int rc = 0;
    for (uint32_t at = node; !rc && added; at = around(s, at)) {
        struct pool key = {.kernel = kernel, .node = at, .reason = reason};
        uint32_t index;
        rc = keyed_put(&s->pools, &key, &index, &added);
        if (rc)
            return rc;
        struct pool *pool = keyed_at(&s->pools, index);
        bool any = at == SAMPLES_NO_SCOPE;
        pool->number = any ? 0 : s->number[at];
        pool->end = any || at ? s->end[any ? 0 : at] : 1;
        pool->samples += at == node ? samples : 0;
        if (any)
            break;
    }
    return rc;
}

/* Samples of kernels without records stay where they were measured. */
static int list_pools(struct sharing *s)
{
    const struct keyed *from = &s->m->samples.pools;
    int rc = 0;
    for (size_t i = 1; !rc && i < from->count; i++) {
        const struct sample_pool *p = keyed_at(from, i);
        const struct code_function *f = device_code_at(&s->m->code, p->function);
        uint32_t node = p->scope;
        if (node && node != SAMPLES_NO_SCOPE)
            node = scope_tree_node(&s->m->scopes, node);
        if (!f || !f->kernel) {
            rc = add_estimate(s, node, p->reason, (double)p->samples);
            continue;
        }
        rc = add_pool(s, f->kernel - 1, node, p->reason, (double)p->samples);
        s->m->samples.shared += p->samples;
    }
    if (!rc && s->pools.count > 1) /* from here on they are found by their order */
        qsort(keyed_at(&s->pools, 1), s->pools.count - 1, sizeof(struct pool), compare_pools);
    return rc;
}

/* ---- sharing ----------------------------------------------------------------------------- */

/* Computes how many samples each part still needs; returns the sum. */
static double weigh(struct part *parts, size_t count, double per_ns)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double lacks = parts[i].ns * per_ns - parts[i].given;
        parts[i].weight = lacks > LEAST ? lacks : 0;
        sum += parts[i].weight;
    }
    return sum;
}

static double weigh_by_time(struct part *parts, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += parts[i].weight = parts[i].ns;
    return sum;
}

static void hand_up(struct sharing *s, const struct pool *from, double samples)
{
    struct pool key = *from, *to;
    key.node = around(s, from->node);
    key.number = key.node == SAMPLES_NO_SCOPE ? 0 : s->number[key.node];
    key.end = s->end[key.node == SAMPLES_NO_SCOPE ? 0 : key.node];
    to = bsearch(&key, keyed_at(&s->pools, 1), s->pools.count - 1, sizeof key, compare_pools);
    if (to) /* never NULL: add_pool made it */
        to->samples += samples;
}

/* Divides pools that differ only in their reason. A launch does not wait for its kernel, so samples
 * are also measured in a scope that waits for kernels of other scopes: a part gets at most what it
 * still needs. */
static int share_alike(struct sharing *s, const struct pool *pools, size_t count,
                       struct part *parts, size_t part_count, double per_ns)
{
    bool last = pools->node == SAMPLES_NO_SCOPE;
    double all = 0, sum = weigh(parts, part_count, per_ns);
    int rc = 0;
    for (size_t p = 0; p < count; p++)
        all += pools[p].samples;
    if (all <= LEAST)
        return 0;
    if (last && sum <= 0)
        sum = weigh_by_time(parts, part_count);
    double taken = last || sum >= all ? 1 : sum / all;
    for (size_t p = 0; !rc && p < count; p++) {
        for (size_t i = 0; !rc && sum > 0 && i < part_count; i++) {
            double samples = pools[p].samples * taken * parts[i].weight / sum;
            parts[i].given += samples;
            rc = add_estimate(s, parts[i].node, pools[p].reason, samples);
        }
        if (taken < 1)
            hand_up(s, &pools[p], pools[p].samples * (1 - taken));
    }
    return rc;
}

/* Keeps the measured samples if the records of a kernel have no time. */
static int keep_measured(struct sharing *s, const struct pool *pools, size_t count)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++)
        rc = add_estimate(s, pools[i].node, pools[i].reason, pools[i].samples);
    return rc;
}

static int share_kernel(struct sharing *s, const struct pool *pools, size_t count,
                        struct part *parts, size_t part_count)
{
    double samples = 0, ns = 0;
    int rc = 0;
    for (size_t i = 0; i < count; i++)
        samples += pools[i].samples;
    for (size_t i = 0; i < part_count; i++)
        ns += parts[i].ns;
    if (ns <= 0)
        return keep_measured(s, pools, count);
    for (size_t at = 0, next; !rc && at < count; at = next) {
        const struct pool *p = &pools[at];
        size_t first = 0, end;
        for (next = at + 1;
             next < count && pools[next].number == p->number && pools[next].end == p->end; next++)
            ;
        while (first < part_count && parts[first].number < p->number)
            first++;
        for (end = first; end < part_count && parts[end].number < p->end; end++)
            ;
        rc = share_alike(s, p, next - at, parts + first, end - first, samples / ns);
    }
    return rc;
}

static int share_all(struct sharing *s)
{
    const struct pool *pools = (const struct pool *)s->pools.items;
    int rc = 0;
    for (size_t at = 1, next, part = 0; !rc && at < s->pools.count; at = next) {
        uint32_t kernel = pools[at].kernel;
        size_t first, end;
        for (next = at + 1; next < s->pools.count && pools[next].kernel == kernel; next++)
            ;
        for (first = part; first < s->part_count && s->parts[first].kernel < kernel; first++)
            ;
        for (end = first; end < s->part_count && s->parts[end].kernel == kernel; end++)
            ;
        rc = share_kernel(s, pools + at, next - at, s->parts + first, end - first);
        part = end;
    }
    return rc;
}

/* Adds the estimates with the names of the scopes' paths. */
static int name_sums(struct sharing *s)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < s->sums.count; i++) {
        struct sample_estimate e = *(const struct sample_estimate *)keyed_at(&s->sums, i);
        rc = scope_path_name(s->m, s->m->scopes.nodes[e.scope].handle, &e.scope);
        rc = rc || !e.scope ? rc : sum_samples_add_estimate(s->m, &e);
    }
    return rc;
}

int scope_samples_estimate(struct model *m)
{
    struct sharing s = {.m = m};
    uint32_t any = 0;
    if (!m->samples.total.all || !scope_tree_next(&m->scopes, &any) || !m->kernels.time.count ||
        !sum_scopes_known(m, SCOPE_KERNELS))
        return 0;
    keyed_init(&s.sums, sizeof(struct sample_estimate), 2 * sizeof(uint32_t),
               m->samples.estimates.max);
    keyed_init(&s.pools, sizeof(struct pool), offsetof(struct pool, number), SIZE_MAX / 64);
    m->samples.estimated = true;
    int rc = number_scopes(&s);
    rc = rc ? rc : list_parts(&s);
    rc = rc ? rc : list_pools(&s);
    rc = rc ? rc : share_all(&s);
    rc = rc ? rc : name_sums(&s);
    keyed_fini(&s.sums);
    keyed_fini(&s.pools);
    mem_free(s.number);
    mem_free(s.end);
    mem_free(s.parts);
    return rc;
}
