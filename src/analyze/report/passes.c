/* passes.c - see passes.h. */
#include "analyze/report/passes.h"

#include "analyze/common/cells.h"
#include "analyze/insight/findings.h"
#include "base/alloc.h"
#include "wire/engine.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

/* Returns the row of the engine that the pass was to run; NULL: no pass runs it. */
static const struct engine_row *engine_of(const struct model *m, const struct pass *p)
{
    const struct engine_row *r = engine_find(model_text(m, p->asked));
    return r && !r->no_pass ? r : NULL;
}

/* Returns what a pass gives whose engine adds this record. */
static unsigned gives_of(enum record_type record)
{
    switch (record) {
    case RECORD_kernel:
        return PASS_TIMES;
    case RECORD_pc_sample:
        return MODEL_SAMPLES;
    case RECORD_sass_metric:
        return MODEL_INSTRUCTIONS;
    case RECORD_counter:
        return MODEL_COUNTERS;
    default:
        return 0; /* the report has no part of its own for it */
    }
}

/* Returns why the pass gave nothing: the capability of the engine's own record says that. */
static const char *why_nothing(const struct model *m, const struct engine_row *r)
{
    if (!r)
        return "passes are not for its engine";
    return findings_why_none(m, *r->feature ? r->feature : "kernels");
}

void pass_group_fini(struct pass_group *g)
{
    for (unsigned i = 0; i < g->count; i++) {
        mem_free(g->passes[i].nothing);
        mem_free(g->passes[i].missing);
    }
    mem_free(g->passes);
    mem_free(g->kernels);
    memset(g, 0, sizeof *g);
}

const struct pass *pass_group_of(const struct pass_group *g, unsigned kind)
{
    for (unsigned i = 0; i < g->count; i++)
        if (g->passes[i].gives & kind)
            return &g->passes[i];
    return NULL;
}

/* ---- sessions --------------------------------------------------------------------------- */

void passes_init(struct passes *p, struct intern *names)
{
    *p = (struct passes){.names = names};
}

static void drop(struct passes *p)
{
    for (unsigned i = 0; i < p->count; i++) {
        model_fini(p->open[i].model);
        mem_free(p->open[i].model);
    }
    p->count = 0;
    p->run = 0;
}

void passes_fini(struct passes *p)
{
    drop(p);
}

bool passes_has(const struct model *m)
{
    return m->facts.pass > 0 && m->facts.run;
}

bool passes_fits(const struct passes *p, const struct model *m)
{
    return !p->run || p->run == m->facts.run;
}

/* Finds or makes the model of a pass. */
static int find(struct passes *p, int64_t number, struct model **at, struct err *e)
{
    for (unsigned i = 0; i < p->count; i++)
        if (p->open[i].number == number) {
            *at = p->open[i].model;
            return 0;
        }
    if (p->count == PASSES_MAX)
        return err_set(e, GPUFL_E_FULL,
                       "the run has more than %d passes, the most that a report can join",
                       PASSES_MAX);
    struct model *m = mem_array(1, sizeof *m);
    if (!m)
        return err_nomem(e);
    model_init(m, p->names);
    p->open[p->count].number = number;
    p->open[p->count++].model = *at = m;
    return 0;
}

int passes_take(struct passes *p, const struct model *m, struct err *e)
{
    struct model *into = NULL;
    p->run = m->facts.run;
    p->announced = m->facts.passes > p->announced || !p->count ? m->facts.passes : p->announced;
    int rc = find(p, m->facts.pass, &into, e);
    if (!rc && (rc = model_merge(into, m)))
        err_set(e, rc, "%s", err_text(rc));
    return rc;
}

/* ---- what a pass is --------------------------------------------------------------------- */

static bool has(const struct model *m, unsigned kind)
{
    return kind == MODEL_SAMPLES        ? m->samples.total.all > 0
           : kind == MODEL_INSTRUCTIONS ? m->sass.groups.count > 1
           : kind == MODEL_COUNTERS     ? m->counters.items.count > 1
                                        : m->kernels.time.count > 0;
}

/* Returns the number of launched kernels; CELL_NULL if not all were counted. */
static int64_t launched(const struct model *m)
{
    const struct ledger_row *l = &m->ledger.row;
    bool unknown = l->graphs_recorded == CELL_NULL && l->graph_unknown > 0;
    return unknown ? CELL_NULL : sum_ledger_launched(&m->ledger);
}

static int say_missing(struct pass *p, const struct model *m)
{
    struct buf text;
    buf_init(&text, TEXT_MAX);
    p->verdict = sum_ledger_judge(m, &text);
    p->missing = mem_strdup(buf_cstr(&text));
    int rc = buf_error(&text) || !p->missing ? GPUFL_E_NOMEM : 0;
    buf_fini(&text);
    return rc;
}

static int describe(struct pass *p, const struct model *m, int64_t number)
{
    uint32_t asked = sum_facts_option(m, "profiling_engine");
    *p = (struct pass){.number = number,
                       .asked = asked ? asked : m->facts.engine,
                       .ran = m->facts.engine,
                       .sessions = m->facts.sessions,
                       .launched = launched(m),
                       .recorded = sum_known_is(m, KNOWN_KERNELS) ? (int64_t)m->kernels.time.count
                                                                  : CELL_NULL,
                       .duration = sum_facts_duration(m)};
    const struct engine_row *r = engine_of(m, p);
    unsigned gives = r ? gives_of(r->record) : 0;
    if (gives && (gives == PASS_TIMES || has(m, gives)))
        p->gives = gives;
    else if (!(p->nothing = mem_strdup(why_nothing(m, r))))
        return GPUFL_E_NOMEM;
    return say_missing(p, m);
}

/* ---- were they alike? ------------------------------------------------------------------- */

struct shape {
    uint32_t name, spare;
    int64_t grid[3], block[3], cluster[3], shared;
    /* not of the key: */
    int64_t launches[PASSES_MAX];
};

static int count_shapes(const struct model *m, struct keyed *to, unsigned which)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < m->kernels.configs.count; i++) {
        const struct kernel_config *c = sum_kernels_config(&m->kernels, i);
        const struct config_row *r = &c->row;
        struct shape s;
        uint32_t at;
        memset(&s, 0, sizeof s);
        s.name = (uint32_t)r->name;
        memcpy(s.grid, (int64_t[]){r->grid_x, r->grid_y, r->grid_z}, sizeof s.grid);
        memcpy(s.block, (int64_t[]){r->block_x, r->block_y, r->block_z}, sizeof s.block);
        memcpy(s.cluster, (int64_t[]){r->cluster_x, r->cluster_y, r->cluster_z}, sizeof s.cluster);
        s.shared = r->shared_dynamic;
        rc = c->time.count ? keyed_put(to, &s, &at, NULL) : 0;
        if (!rc && c->time.count && at)
            ((struct shape *)keyed_at(to, at))->launches[which] += (int64_t)c->time.count;
    }
    return rc;
}

/* Returns true if every launch has a row. */
static bool all_recorded(const struct pass *p)
{
    return p->recorded > 0 && (p->launched == CELL_NULL || p->recorded >= p->launched);
}

/* Returns the largest difference from the launches of the first pass. */
static int64_t difference(const struct pass_kernel *k)
{
    int64_t most = 0;
    for (unsigned i = 1; i < PASSES_MAX; i++) {
        int64_t by = k->launches[i] == CELL_NULL ? 0 : k->launches[i] - k->launches[0];
        by = by < 0 ? -by : by;
        most = by > most ? by : most;
    }
    return most;
}

static int compare_kernels(const void *a, const void *b)
{
    const struct pass_kernel *x = a, *y = b;
    int64_t i = difference(x), j = difference(y);
    if (i != j)
        return i > j ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

/* Keeps the shapes that differ most. */
static int keep_different(struct pass_group *g, const struct keyed *shapes)
{
    size_t n = 0;
    struct pass_kernel *all = mem_array(shapes->count + 1, sizeof *all);
    if (!all)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; i < shapes->count; i++) {
        const struct shape *s = keyed_at(shapes, i);
        struct pass_kernel *k = &all[n];
        k->name = s->name;
        memcpy(k->grid, s->grid, sizeof k->grid);
        memcpy(k->block, s->block, sizeof k->block);
        for (unsigned p = 0; p < PASSES_MAX; p++)
            k->launches[p] =
                p < g->count && all_recorded(&g->passes[p]) ? s->launches[p] : CELL_NULL;
        n += difference(k) > 0;
    }
    if (n)
        qsort(all, n, sizeof *all, compare_kernels);
    g->kernels = all;
    g->kernel_count = n > PASSES_KERNELS ? PASSES_KERNELS : n;
    g->kernels_more = n - g->kernel_count;
    return 0;
}

static int compare_shapes(struct passes *p, struct pass_group *g)
{
    struct keyed shapes;
    int rc = 0;
    keyed_init(&shapes, sizeof(struct shape), offsetof(struct shape, launches), SIZE_MAX / 256);
    for (unsigned i = 0; !rc && i < g->count; i++)
        if (all_recorded(&g->passes[i]))
            rc = count_shapes(p->open[i].model, &shapes, i);
    rc = rc ? rc : keep_different(g, &shapes);
    keyed_fini(&shapes);
    return rc;
}

/* Compares all passes with the pass of the times. */
static int compare_passes(struct passes *p, struct pass_group *g)
{
    const struct pass *first = &g->passes[0];
    bool unknown = false;
    g->by_kernel = true;
    for (unsigned i = 0; i < g->count; i++) {
        const struct pass *one = &g->passes[i];
        bool counted = first->launched != CELL_NULL && one->launched != CELL_NULL;
        bool recorded = all_recorded(first) && all_recorded(one);
        if (counted && first->launched != one->launched)
            g->alike = PASSES_DIFFER;
        unknown |= !counted && !recorded;
        g->by_kernel &= recorded;
    }
    int rc = all_recorded(first) ? compare_shapes(p, g) : 0;
    if (g->kernel_count)
        g->alike = PASSES_DIFFER;
    else if (g->alike == PASSES_ALIKE && unknown)
        g->alike = PASSES_UNKNOWN;
    return rc;
}

/* ---- together --------------------------------------------------------------------------- */

static int compare_open(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Describes the passes, the pass of the times first; *timed false: there is none. */
static int describe_all(struct passes *p, struct pass_group *g, bool *timed)
{
    _Static_assert(offsetof(typeof(p->open[0]), number) == 0, "compare_open reads it there");
    int rc = 0;
    qsort(p->open, p->count, sizeof *p->open, compare_open);
    g->passes = mem_array(p->count, sizeof *g->passes);
    if (!g->passes)
        return GPUFL_E_NOMEM;
    for (; !rc && g->count < p->count; g->count++)
        rc = describe(&g->passes[g->count], p->open[g->count].model, p->open[g->count].number);
    *timed = !rc && g->passes[0].gives == PASS_TIMES;
    return rc;
}

static int merge_group(struct passes *p, struct model *into, struct pass_group *g)
{
    unsigned given = 0;
    int rc = model_merge(into, p->open[0].model);
    for (unsigned i = 1; !rc && i < g->count; i++) {
        struct pass *one = &g->passes[i];
        /* Counters of both engines are kept, since their sources differ. */
        one->gives &= ~(given & ~(unsigned)MODEL_COUNTERS);
        given |= one->gives;
        rc = model_merge_pass(into, p->open[i].model, one->gives);
    }
    return rc ? rc : compare_passes(p, g);
}

int passes_close(struct passes *p, struct model *into, struct pass_group *out, struct err *e)
{
    struct pass_group g = {.run = p->run, .announced = p->announced};
    bool timed = true;
    int rc = 0;
    *out = (struct pass_group){0};
    for (unsigned i = 0; !rc && i < p->count; i++)
        rc = model_settle(p->open[i].model);
    if (!rc && p->count == 1)
        rc = model_merge(into, p->open[0].model);
    else if (!rc && p->count)
        rc = describe_all(p, &g, &timed);
    if (!rc && p->count > 1 && timed)
        rc = merge_group(p, into, &g);
    if (rc)
        err_set(e, rc, "%s", err_text(rc));
    else if (!timed)
        rc = err_set(e, GPUFL_E_STATE,
                     "the passes of run %s lack the one of engine Trace, which has the times; name "
                     "the directory of one pass to read it alone",
                     model_text(into, p->run));
    drop(p);
    if (rc || !g.count)
        pass_group_fini(&g);
    else
        *out = g;
    return rc;
}
