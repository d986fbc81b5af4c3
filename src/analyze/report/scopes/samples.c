/* samples.c - writes samples by scope as text: measured samples, and samples estimated from
 * kernels. */
#include "analyze/common/units.h"
#include "analyze/insight/profile.h"
#include "analyze/model/scopes/tree.h"
#include "analyze/report/cells.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>

/* Describes a scope. Its main stall reason is that of the estimate, if there is one. */
struct scope_samples {
    uint32_t scope; /* name of its path */
    uint32_t spare;
    /* not of the key: */
    uint64_t measured;
    double estimated, worst;
    uint32_t reason; /* 0: none stalls */
};

static int find(struct keyed *scopes, uint32_t scope, struct scope_samples **out)
{
    uint32_t index;
    int rc = keyed_put(scopes, &scope, &index, NULL);
    *out = rc ? NULL : keyed_at(scopes, index);
    return rc;
}

static void add_reason(const struct model *m, struct scope_samples *s, uint32_t reason,
                       double samples)
{
    if (!stall_waits(profile_stall(m, reason)) || samples <= s->worst)
        return;
    s->worst = samples;
    s->reason = reason;
}

static int sum_scopes_samples(const struct model *m, struct keyed *scopes)
{
    const struct sum_samples *s = &m->samples;
    struct scope_samples *one;
    int rc = 0;
    for (size_t i = 1; !rc && i < s->scopes.count; i++) {
        const struct sample_group *g = sum_samples_group(&s->scopes, i);
        rc = find(scopes, g->owner, &one);
        if (rc)
            break;
        one->measured += g->count.all;
        if (!s->estimated)
            add_reason(m, one, g->reason, (double)g->count.all);
    }
    for (size_t i = 1; !rc && i < s->estimates.count; i++) {
        const struct sample_estimate *e = sum_samples_estimate(s, i);
        rc = find(scopes, e->scope, &one);
        if (rc)
            break;
        one->estimated += e->samples;
        add_reason(m, one, e->reason, e->samples);
    }
    return rc;
}

static int compare(const void *a, const void *b)
{
    const struct scope_samples *x = a, *y = b;
    if (x->estimated != y->estimated)
        return x->estimated > y->estimated ? -1 : 1;
    if (x->measured != y->measured)
        return x->measured > y->measured ? -1 : 1;
    return (x->scope > y->scope) - (x->scope < y->scope);
}

static void put_scope(struct page *p, struct grid *g, const struct scope_samples *s)
{
    const struct sum_samples *all = &p->model->samples;
    char a[UNITS_TEXT];
    double of = all->estimated ? s->estimated : (double)s->measured;
    grid_put(g, "%s", units_percent(a, of, (double)all->total.all));
    if (all->estimated)
        grid_put(g, "%s", units_count(a, (int64_t)(s->estimated + 0.5)));
    grid_put(g, "%s", s->measured ? units_count(a, (int64_t)s->measured) : "-");
    if (s->reason)
        grid_put(g, "%s %s", report_cells_reason(p->model, s->reason),
                 units_percent(a, s->worst, of));
    else
        grid_put(g, "-");
    grid_put(g, "%s", model_text(p->model, s->scope));
}

static void put_table(struct page *p, const struct scope_samples *list, size_t count)
{
    static const struct grid_column estimated[] = {{"share", GRID_RIGHT},
                                                   {"estimate", GRID_RIGHT},
                                                   {"measured", GRID_RIGHT},
                                                   {"stalled most", GRID_LEFT},
                                                   {"scope", GRID_TEXT}},
                                    measured[] = {{"share", GRID_RIGHT},
                                                  {"measured", GRID_RIGHT},
                                                  {"stalled most", GRID_LEFT},
                                                  {"scope", GRID_TEXT}};
    bool both = p->model->samples.estimated;
    struct grid g;
    grid_init(&g, both ? estimated : measured, both ? 5 : 4);
    for (size_t i = 0; i < count && i < report_top(p->report); i++)
        put_scope(p, &g, &list[i]);
    page_grid(p, &g);
}

static void put_legend(const struct page *p)
{
    const struct sum_samples *s = &p->model->samples;
    char a[UNITS_TEXT];
    page_text(p, "measured: between two drains that the scope covers, and none inside it does; a "
                 "scope shorter than two of them may have none.");
    if (s->estimated)
        page_text(p,
                  "estimate: of the kernels that the scope itself launched, as many of each one's "
                  "samples as is its time on the GPU; for which reasons, what was measured says "
                  "first. %s of all samples are of kernels whose time is known.",
                  units_percent(a, (double)s->shared, (double)s->total.all));
    else
        page_text(p, "No estimate through kernels: the session has no record of a kernel with its "
                     "scope (pc_kernel_collect=none records none).");
    if (s->left_out >= 0.5)
        page_text(p,
                  "%s samples are in no estimate: there are more scopes, functions and reasons "
                  "than are kept one by one.",
                  units_count(a, (int64_t)(s->left_out + 0.5)));
}

void page_scope_samples(struct page *p)
{
    struct keyed scopes;
    uint32_t any = 0;
    if (!scope_tree_next(&p->model->scopes, &any) && p->model->samples.scopes.count < 2)
        return;
    keyed_init(&scopes, sizeof(struct scope_samples), sizeof(uint32_t), SIZE_MAX / 64);
    int rc = sum_scopes_samples(p->model, &scopes);
    p->code = p->code ? p->code : rc;
    page_heading(p, "Samples by scope");
    if (!rc && scopes.count > 1) {
        struct scope_samples *list = keyed_at(&scopes, 1);
        qsort(list, scopes.count - 1, sizeof *list, compare); /* no search follows */
        put_table(p, list, scopes.count - 1);
    }
    put_legend(p);
    keyed_fini(&scopes);
}
