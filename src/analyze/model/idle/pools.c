/* pools.c - divides the host's own time in the ratio of looks (lines.h has the rule).
 *
 * The key of a class (parts.h) has the scope of its launch; classes that differ only in the scope
 * are one pool, and small ones share a pool with the other small classes of their thread and cause.
 * The scope of a share is that of the gaps with its looks. */
#include "analyze/common/cells.h"
#include "analyze/model/idle/operators.h"
#include "analyze/model/model.h"
#include "analyze/model/scopes/path.h"
#include "analyze/model/threads/looks.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>

enum pool_kind {
    POOL_CLASS,  /* one class with enough looks */
    POOL_SMALL,  /* classes with few looks, of a thread that was in Python */
    POOL_NATIVE, /* launches without Python: looks at waiting threads of Python count, too */
    POOL_WORKERS /* such launches of all threads whose POOL_NATIVE has too few looks */
};

struct pool {
    uint32_t thread, stack, cause, kind; /* stack: 0 except in POOL_CLASS */
    /* not of the key: */
    uint64_t looks;
    int64_t time; /* ns */
};

/* Looks of a pool with equal stacks and scopes. */
struct share {
    uint32_t pool, place, node, doing, scope, ops, how, torn;
    uint32_t thread; /* of the looks */
    uint64_t count;
    struct idle_longest longest;
};

struct pools {
    struct model *m;
    struct keyed classes; /* struct pool of kind POOL_CLASS, before they are judged */
    struct keyed pools;
    uint32_t *of;         /* owned: by index in parts.own, the pool */
    uint32_t *ops;        /* owned: by the same index, the operators of the class's launch */
    struct share *shares; /* owned */
    size_t count;
};

/* ---- classes ----------------------------------------------------------------------------- */

static bool has_python(const struct model *m, uint32_t node)
{
    struct stacks_walk w = {.node = node};
    struct stacks_step step;
    while (stacks_next(&m->stacks, &w, &step))
        if (step.kind == STACKS_PYTHON)
            return true;
    return false;
}

static const struct idle_own *own_at(const struct pools *p, size_t i)
{
    return keyed_at(&p->m->idle.parts.own, i);
}

/* Finds or adds the pool; time and looks are added to it. *at 0: there is no room. */
static int put(struct keyed *k, const struct idle_own *own, enum pool_kind kind, uint64_t looks,
               int64_t time, uint32_t *at)
{
    struct pool key = {.thread = own->thread,
                       .stack = kind == POOL_CLASS ? own->stack : 0,
                       .cause = own->cause,
                       .kind = kind};
    int rc = keyed_put(k, &key, at, NULL);
    if (!rc && *at) {
        struct pool *to = keyed_at(k, *at);
        to->looks += looks;
        to->time = cells_sum(to->time, time);
    }
    return rc;
}

/* Returns true for a look at another thread than that which launched. */
static bool is_elsewhere(uint32_t how)
{
    return how == IDLE_SEEN_INHERITED || how == IDLE_SEEN_SEVERAL;
}

/* Counts the looks of each item of parts.own: at its own thread [0], and at others [1]. */
static uint64_t (*count_looks(const struct pools *p))[2]
{
    const struct idle_parts *parts = &p->m->idle.parts;
    uint64_t(*looks)[2] = mem_array(parts->own.count + 1, sizeof *looks);
    for (size_t i = 1; looks && i < parts->seen.count; i++) {
        const struct idle_seen *s = keyed_at(&parts->seen, i);
        looks[s->own][is_elsewhere(s->how)] += s->count;
    }
    return looks;
}

static int judge(struct pools *p, uint64_t (*looks)[2])
{
    size_t n = p->m->idle.parts.own.count;
    int rc = 0;
    uint32_t at;
    for (size_t i = 1; !rc && i < n; i++)
        rc = put(&p->classes, own_at(p, i), POOL_CLASS, looks[i][0], 0, &at);
    for (size_t i = 1; !rc && i < n; i++) {
        const struct idle_own *own = own_at(p, i);
        bool python = own->stack ? has_python(p->m, stacks_node_of(&p->m->stacks, own->stack))
                                 : idle_looks_at(&p->m->idle.looks, own->thread);
        struct pool key = {.thread = own->thread, .stack = own->stack, .cause = own->cause};
        const struct pool *class = keyed_at(&p->classes, keyed_find(&p->classes, &key));
        enum pool_kind kind = !python                           ? POOL_NATIVE
                              : class->looks < IDLE_LOOKS_LEAST ? POOL_SMALL
                                                                : POOL_CLASS;
        rc = put(&p->pools, own, kind, looks[i][0] + (python ? 0 : looks[i][1]), own->time,
                 &p->of[i]);
    }
    return rc;
}

static const struct pool *pool_of(const struct pools *p, size_t i)
{
    return p->of[i] ? keyed_at(&p->pools, p->of[i]) : NULL;
}

/* Puts the native items of a cause into the pool of workers: those whose pool has too few looks for
 * a division, or all of them. */
static int join(struct pools *p, uint64_t (*looks)[2], uint32_t cause, bool all)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < p->m->idle.parts.own.count; i++) {
        const struct pool *pool = pool_of(p, i);
        struct idle_own own = *own_at(p, i);
        if (!pool || own.cause != cause || pool->kind != POOL_NATIVE ||
            (!all && pool->looks >= IDLE_POOL_LEAST))
            continue;
        own.thread = 0;
        rc = put(&p->pools, &own, POOL_WORKERS, looks[i][0] + looks[i][1], own.time, &p->of[i]);
    }
    return rc;
}

/* A runtime launches from any of its worker threads, while the program's own thread decides what
 * and when: native pools that have too few looks for a division are put together, by cause. If they
 * are too few even together, all native pools of the cause are. */
static int join_workers(struct pools *p, uint64_t (*looks)[2])
{
    int rc = 0;
    for (uint32_t c = 0; !rc && c < IDLE_CAUSES; c++) {
        struct pool key = {.cause = c, .kind = POOL_WORKERS};
        rc = join(p, looks, c, false);
        uint32_t at = keyed_find(&p->pools, &key);
        if (!rc && at && ((const struct pool *)keyed_at(&p->pools, at))->looks < IDLE_POOL_LEAST)
            rc = join(p, looks, c, true);
    }
    return rc;
}

/* ---- shares ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    int o = ORDER(x->pool, y->pool);
    o = o ? o : ORDER(x->place, y->place);
    o = o ? o : ORDER(x->node, y->node);
    o = o ? o : ORDER(x->doing, y->doing);
    o = o ? o : ORDER(x->scope, y->scope);
    o = o ? o : ORDER(x->ops, y->ops);
    o = o ? o : ORDER(x->torn, y->torn);
    return o ? o : ORDER(x->how, y->how);
}

/* Lists the looks that count, by pool. */
static int list(struct pools *p)
{
    struct model *m = p->m;
    const struct keyed *seen = &m->idle.parts.seen;
    int rc = 0;
    p->shares = mem_array(seen->count + 1, sizeof *p->shares);
    if (!p->shares)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; !rc && i < seen->count; i++) {
        const struct idle_seen *s = keyed_at(seen, i);
        const struct pool *pool = keyed_at(&p->pools, p->of[s->own]);
        uint32_t stack = s->how == IDLE_SEEN_RUNNING ? own_at(p, s->own)->stack : s->stack;
        struct share one = {.pool = p->of[s->own],
                            .node = stacks_node_of(&m->stacks, stack),
                            .doing = s->doing,
                            .how = s->how,
                            .torn = s->torn,
                            .count = s->count,
                            .ops = p->ops[s->own],
                            .thread = s->thread,
                            .longest = s->longest};
        if (!one.pool || (pool->kind < POOL_NATIVE && is_elsewhere(s->how)))
            continue;
        rc = scope_path_name(m, own_at(p, s->own)->scope, &one.scope);
        rc = rc ? rc : stacks_find_place(m, one.node, &one.place);
        p->shares[p->count++] = one;
    }
    if (p->count)
        qsort(p->shares, p->count, sizeof *p->shares, compare);
    return rc;
}

/* ---- rows -------------------------------------------------------------------------------- */

static struct idle_line row_of(const struct pool *pool, const struct share *s)
{
    struct idle_line row = {.cause = pool->cause, .scope = s->scope, .ops = s->ops};
    if (s->place) {
        row.node = s->node;
        row.doing = s->doing;
        row.flags = s->how == IDLE_SEEN_INHERITED ? IDLE_INHERITED
                    : s->how == IDLE_SEEN_RUNNING ? IDLE_ENDED_BY
                                                  : 0;
    } else {
        row.reason = s->how == IDLE_SEEN_SEVERAL             ? IDLE_SEVERAL
                     : s->torn                               ? IDLE_LOST
                     : s->node || s->how == IDLE_SEEN_NATIVE ? IDLE_NO_STACK
                     : s->how == IDLE_SEEN_RUNNING           ? IDLE_FEW
                                                             : IDLE_NO_PYTHON;
    }
    return row;
}

/* Returns true if both shares are of one row of the table: of the place, or of the launches there
 * that ended the time. */
static bool is_one_row(const struct share *a, const struct share *b)
{
    return a->place == b->place && (a->how == IDLE_SEEN_RUNNING) == (b->how == IDLE_SEEN_RUNNING);
}

/* Returns the squared half width, in ns of the pool, of the interval around the looks of a share's
 * row. 0 except for the row's first share. */
static double variance_of(const struct pool *pool, const struct share *s, size_t at, size_t n)
{
    uint64_t hits = 0;
    for (size_t i = at; i-- > 0 && s[i].place == s[at].place;)
        if (is_one_row(&s[i], &s[at]))
            return 0;
    for (size_t i = at; i < n && s[i].place == s[at].place; i++)
        hits += is_one_row(&s[i], &s[at]) ? s[i].count : 0;
    double half = idle_lines_half_width(hits, pool->looks) * (double)pool->time;
    return half * half;
}

/* Divides one pool among its shares. */
static int divide(const struct pools *p, const struct pool *pool, const struct share *s, size_t n)
{
    uint64_t *counts = mem_array(n + 1, sizeof *counts);
    int64_t *ns = mem_array(n + 1, sizeof *ns);
    int rc = counts && ns ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < n; i++)
        counts[i] = s[i].count;
    rc = rc ? rc : idle_lines_divide(pool->time, counts, n, pool->looks, ns);
    for (size_t i = 0; !rc && i < n; i++) {
        struct idle_line row = row_of(pool, &s[i]);
        row.estimated = ns[i];
        row.looks = s[i].count;
        row.longest = s[i].longest;
        row.variance = variance_of(pool, s, i, n);
        if (row.flags & IDLE_INHERITED) {
            row.launcher = pool->kind == POOL_WORKERS ? IDLE_SEVERAL_THREADS
                                                      : sum_wait_lines_thread(p->m, pool->thread);
            row.looked_at = sum_wait_lines_thread(p->m, s[i].thread);
        }
        rc = idle_lines_add(p->m, &row);
    }
    mem_free(counts);
    mem_free(ns);
    return rc;
}

static int divide_all(const struct pools *p)
{
    int rc = 0;
    for (size_t i = 0, n; !rc && i < p->count; i += n) {
        const struct pool *pool = keyed_at(&p->pools, p->shares[i].pool);
        for (n = 1; i + n < p->count && p->shares[i + n].pool == p->shares[i].pool;)
            n++;
        if (pool->looks >= IDLE_POOL_LEAST)
            rc = divide(p, pool, &p->shares[i], n);
    }
    return rc;
}

/* Gives the classes with too few looks to the launches that ended them. */
static int give_to_launches(const struct pools *p)
{
    struct model *m = p->m;
    int rc = 0;
    for (size_t i = 1; !rc && i < m->idle.parts.own.count; i++) {
        const struct idle_own *own = own_at(p, i);
        const struct pool *pool = pool_of(p, i);
        struct idle_line row = {.node = stacks_node_of(&m->stacks, own->stack),
                                .cause = own->cause,
                                .flags = IDLE_ENDED_BY,
                                .ops = p->ops[i],
                                .estimated = own->time,
                                .longest = own->longest};
        if (pool && pool->looks >= IDLE_POOL_LEAST)
            continue;
        if (!row.node) {
            row.flags = 0;
            row.reason = own->stack ? IDLE_NO_STACK : IDLE_FEW;
        }
        rc = scope_path_name(m, own->scope, &row.scope);
        rc = rc ? rc : idle_lines_add(m, &row);
    }
    return rc;
}

static int find_operators(struct pools *p)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < p->m->idle.parts.own.count; i++)
        rc = operators_find(p->m, stacks_node_of(&p->m->stacks, own_at(p, i)->stack), &p->ops[i]);
    return rc;
}

static int add_pools(struct model *m)
{
    size_t n = m->idle.parts.own.count;
    struct pools p = {.m = m};
    keyed_init(&p.classes, sizeof(struct pool), offsetof(struct pool, looks), n + 1);
    keyed_init(&p.pools, sizeof(struct pool), offsetof(struct pool, looks), n + 1);
    uint64_t(*looks)[2] = count_looks(&p);
    p.of = mem_array(n + 1, sizeof *p.of);
    p.ops = mem_array(n + 1, sizeof *p.ops);
    int rc = looks && p.of && p.ops ? 0 : GPUFL_E_NOMEM;
    rc = rc ? rc : find_operators(&p);
    rc = rc ? rc : judge(&p, looks);
    rc = rc ? rc : join_workers(&p, looks);
    rc = rc ? rc : list(&p);
    rc = rc ? rc : divide_all(&p);
    rc = rc ? rc : give_to_launches(&p);
    mem_free(looks);
    mem_free(p.of);
    mem_free(p.ops);
    mem_free(p.shares);
    keyed_fini(&p.classes);
    keyed_fini(&p.pools);
    return rc;
}

static int add_known(struct model *m)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < m->idle.parts.known.count; i++) {
        const struct idle_part *part = keyed_at(&m->idle.parts.known, i);
        struct idle_line row = {.node = stacks_node_of(&m->stacks, part->stack),
                                .cause = part->cause,
                                .flags = part->flags,
                                .exact = part->time,
                                .longest = part->longest};
        rc = scope_path_name(m, part->scope, &row.scope);
        rc = rc ? rc : operators_find(m, row.node, &row.ops);
        rc = rc ? rc : idle_lines_add(m, &row);
    }
    return rc;
}

int idle_lines_finish(struct model *m)
{
    struct sum_idle *s = &m->idle;
    int rc = add_known(m);
    s->lines.looks += s->looks.count;
    s->lines.looks_beyond += s->looks.beyond;
    s->lines.captures += s->captured.count;
    s->lines.captures_beyond += s->captured.beyond;
    rc = rc || m->idle.parts.own.count < 2 ? rc : add_pools(m);
    for (int c = 0; !rc && c < IDLE_CAUSES; c++)
        for (int r = 0; !rc && r < IDLE_REASONS; r++) {
            int64_t ns = m->idle.parts.none[c][r];
            struct idle_line row = {.cause = (uint32_t)c, .reason = (uint32_t)r, .exact = ns};
            if (ns)
                rc = idle_lines_add(m, &row);
        }
    return rc;
}
