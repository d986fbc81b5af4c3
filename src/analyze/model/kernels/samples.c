/* samples.c - see samples.h. */
#include "analyze/model/kernels/samples.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "analyze/model/scopes/path.h"
#include "analyze/model/scopes/samples.h"
#include "base/alloc.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

enum { IDS_MAX = 1 << 16, REASONS_MAX = 1 << 12 };

/* Holds the reason that an id of the log means. */
struct sample_source {
    uint32_t reason;
    int8_t issued; /* -1: not in the log */
};

void sum_samples_init(struct model *m)
{
    struct sum_samples *s = &m->samples;
    keyed_init(&s->reasons, sizeof(struct sample_reason), sizeof(uint32_t), REASONS_MAX);
    keyed_init(&s->functions, sizeof(struct sample_group), 2 * sizeof(uint32_t), SAMPLES_GROUPS);
    keyed_init(&s->scopes, sizeof(struct sample_group), 2 * sizeof(uint32_t), SAMPLES_GROUPS);
    keyed_init(&s->places, sizeof(struct sample_place), offsetof(struct sample_place, count),
               SAMPLES_PLACES);
    keyed_init(&s->pools, sizeof(struct sample_pool), offsetof(struct sample_pool, samples),
               SAMPLES_GROUPS);
    keyed_init(&s->estimates, sizeof(struct sample_estimate), 2 * sizeof(uint32_t), SAMPLES_GROUPS);
    busy_init(&s->windows);
}

void sum_samples_fini(struct model *m)
{
    struct sum_samples *s = &m->samples;
    keyed_fini(&s->reasons);
    keyed_fini(&s->functions);
    keyed_fini(&s->scopes);
    keyed_fini(&s->places);
    keyed_fini(&s->pools);
    keyed_fini(&s->estimates);
    busy_fini(&s->windows);
    mem_free(s->ids);
    memset(s, 0, sizeof *s);
}

/* ---- reasons ----------------------------------------------------------------------------- */

static int put_reason(struct model *m, uint32_t name, uint32_t *index)
{
    bool added;
    int rc = keyed_put(&m->samples.reasons, &name, index, &added);
    if (added) {
        struct sample_reason *r = keyed_at(&m->samples.reasons, *index);
        r->stall = stall_find(model_text(m, name));
    }
    return rc;
}

static int take_reason(struct model *m, const struct wire_batch *b, size_t i)
{
    struct sum_samples *s = &m->samples;
    int64_t id = cells_get(b, COL_stall_reason_id, i);
    int64_t issued = cells_get(b, COL_stall_reason_issued, i);
    if (id <= 0 || id >= IDS_MAX)
        return 0;
    size_t n = (size_t)id + 1;
    int rc = mem_grow(&s->ids, &s->id_cap, n, sizeof *s->ids, IDS_MAX);
    for (; !rc && s->id_count < n; s->id_count++)
        s->ids[s->id_count] = (struct sample_source){0, -1};
    if (rc)
        return rc;
    s->ids[id].issued = (int8_t)(issued == 0 || issued == 1 ? issued : -1);
    uint32_t name = model_name_cell(m, cells_get(b, COL_stall_reason_name, i));
    return name ? put_reason(m, name, &s->ids[id].reason) : 0;
}

/* ---- samples ----------------------------------------------------------------------------- */

static int add_group(struct keyed *k, uint32_t owner, uint32_t reason, const struct sample_count *n)
{
    uint32_t key[2] = {owner, reason}, index;
    int rc = keyed_put(k, key, &index, NULL);
    if (!rc)
        sample_count_add(&((struct sample_group *)keyed_at(k, index))->count, n);
    return rc;
}

int sum_samples_add_estimate(struct model *m, const struct sample_estimate *more)
{
    uint32_t index;
    int rc = keyed_put(&m->samples.estimates, more, &index, NULL);
    if (rc)
        return rc;
    if (index)
        ((struct sample_estimate *)keyed_at(&m->samples.estimates, index))->samples +=
            more->samples;
    else
        m->samples.left_out += more->samples;
    return 0;
}

/* Adds to the sums of a scope, if the log has one, and to the function's pool. */
static int add_scope(struct model *m, const struct sample_place *p, int64_t instance)
{
    struct sum_samples *s = &m->samples;
    struct sample_pool pool;
    uint32_t index;
    int rc = 0;
    memset(&pool, 0, sizeof pool);
    pool.scope = instance >= 0 ? 0 : SAMPLES_NO_SCOPE;
    pool.function = p->function;
    pool.reason = p->reason;
    if (instance > 0)
        rc = scope_path_handle(m, instance, false, &pool.scope);
    if (!rc && instance > 0 && pool.scope)
        rc = add_group(&s->scopes, pool.scope, p->reason, &p->count);
    else if (instance > 0) /* beyond the followed instances: in some unknown scope */
        pool.scope = SAMPLES_NO_SCOPE;
    rc = rc ? rc : keyed_put(&s->pools, &pool, &index, NULL);
    if (rc)
        return rc;
    if (index)
        ((struct sample_pool *)keyed_at(&s->pools, index))->samples += p->count.all;
    else
        s->left_out += (double)p->count.all;
    return 0;
}

static int add_place(struct sum_samples *s, const struct sample_place *p)
{
    uint32_t index;
    int rc = keyed_put(&s->places, p, &index, NULL);
    if (!rc && index)
        sample_count_add(&((struct sample_place *)keyed_at(&s->places, index))->count, &p->count);
    return rc;
}

static int take_sample(struct model *m, const struct wire_batch *b, size_t i)
{
    struct sum_samples *s = &m->samples;
    int64_t n = cells_get(b, COL_pc_sample_samples, i), id = cells_get(b, COL_pc_sample_reason, i);
    struct sample_place p;
    memset(&p, 0, sizeof p);
    if (n <= 0 || n > INT32_MAX) { /* no drain has so many samples */
        s->invalid++;
        return 0;
    }
    const struct sample_source *from =
        id > 0 && (uint64_t)id < s->id_count ? &s->ids[id] : &(struct sample_source){0, -1};
    p.function = device_code_function(&m->code, cells_get(b, COL_pc_sample_function, i));
    p.reason = from->reason;
    p.offset = cells_get(b, COL_pc_sample_offset, i);
    p.count.all = (uint64_t)n;
    p.count.idle = from->issued == 0 ? (uint64_t)n : 0;
    p.count.issue_known = from->issued >= 0 ? (uint64_t)n : 0;
    sample_count_add(&s->total, &p.count);
    int rc = add_group(&s->functions, p.function, p.reason, &p.count);
    if (!rc && p.function && p.offset >= 0)
        rc = add_place(s, &p);
    return rc ? rc : add_scope(m, &p, cells_get(b, COL_pc_sample_scope, i));
}

/* Takes the windows of a batch. All rows of one drain have the same window. */
static int take_windows(struct sum_samples *s, const struct wire_batch *b)
{
    int64_t last = CELL_NULL, end;
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        int64_t start = cells_get(b, COL_pc_sample_start, i);
        if (start == last)
            continue;
        last = start;
        if (cells_interval(start, cells_get(b, COL_pc_sample_duration, i), &end) && end > start)
            rc = busy_add(&s->windows, start, end);
    }
    return rc;
}

int sum_samples_batch(struct model *m, const struct wire_batch *b)
{
    m->samples.reading = true;
    int rc = b->type == RECORD_pc_sample ? take_windows(&m->samples, b) : 0;
    for (size_t i = 0; !rc && i < b->rows; i++)
        rc = b->type == RECORD_pc_sample ? take_sample(m, b, i) : take_reason(m, b, i);
    return rc;
}

/* ---- merging, the end -------------------------------------------------------------------- */

/* Finds the twin of a reason. *to: the index here of the other model's reason. */
static int twin_reason(struct model *into, const struct sum_samples *o, uint32_t reason,
                       uint32_t *to)
{
    uint32_t name = reason ? sum_samples_reason(o, reason)->name : 0;
    *to = 0;
    return name ? put_reason(into, name, to) : 0;
}

static int merge_groups(struct model *into, struct keyed *to, const struct sum_samples *o,
                        const struct keyed *from, const uint32_t *owners)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < from->count; i++) {
        const struct sample_group *g = sum_samples_group(from, i);
        uint32_t reason;
        if (!g->count.all)
            continue;
        rc = twin_reason(into, o, g->reason, &reason);
        if (!rc)
            rc = add_group(to, owners ? owners[g->owner] : g->owner, reason, &g->count);
    }
    return rc;
}

/* Uses the measured samples of scopes as the estimate of a model without estimates. */
static int estimate_as_measured(struct model *into, const struct sum_samples *o)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < o->scopes.count; i++) {
        const struct sample_group *g = sum_samples_group(&o->scopes, i);
        struct sample_estimate e = {.scope = g->owner, .samples = (double)g->count.all};
        rc = twin_reason(into, o, g->reason, &e.reason);
        rc = rc ? rc : sum_samples_add_estimate(into, &e);
    }
    return rc;
}

/* Merges estimates, before the measured samples are merged. If one side has estimates, both need
 * them, because scopes are ranked by them. */
static int merge_estimates(struct model *into, const struct sum_samples *o)
{
    struct sum_samples *s = &into->samples;
    int rc = 0;
    if (s->estimated != o->estimated)
        rc = estimate_as_measured(into, s->estimated ? o : s);
    for (size_t i = 1; !rc && i < o->estimates.count; i++) {
        struct sample_estimate e = *sum_samples_estimate(o, i);
        rc = twin_reason(into, o, e.reason, &e.reason);
        rc = rc ? rc : sum_samples_add_estimate(into, &e);
    }
    s->estimated |= o->estimated;
    s->shared += o->shared;
    s->left_out += o->left_out;
    return rc;
}

int sum_samples_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_samples *s = &into->samples;
    const struct sum_samples *o = &from->samples;
    const uint32_t *functions = into->code.merged;
    sample_count_add(&s->total, &o->total);
    s->invalid += o->invalid;
    int rc = busy_merge(&s->windows, &o->windows, shift);
    rc = rc ? rc : merge_groups(into, &s->functions, o, &o->functions, functions);
    rc = rc ? rc : merge_estimates(into, o);
    rc = rc ? rc : merge_groups(into, &s->scopes, o, &o->scopes, NULL);
    for (size_t i = 1; !rc && i < o->places.count; i++) {
        struct sample_place p = *sum_samples_place(o, i);
        rc = twin_reason(into, o, p.reason, &p.reason);
        p.function = functions[p.function];
        if (!rc && p.function)
            rc = add_place(s, &p);
    }
    return rc;
}

/* Replaces handles of scopes by the names of their paths. */
static int name_scopes(struct model *m)
{
    struct sum_samples *s = &m->samples;
    struct keyed named;
    int rc = 0;
    keyed_init(&named, s->scopes.item_size, s->scopes.key_size, s->scopes.max);
    for (size_t i = 1; !rc && i < s->scopes.count; i++) {
        const struct sample_group *g = sum_samples_group(&s->scopes, i);
        uint32_t name;
        rc = scope_path_name(m, g->owner, &name);
        if (!rc && name)
            rc = add_group(&named, name, g->reason, &g->count);
    }
    keyed_fini(&s->scopes);
    s->scopes = named;
    return rc;
}

/* Gives every function the number of samples of its kernel. */
static int sum_kernels(struct model *m)
{
    struct sum_samples *s = &m->samples;
    struct keyed kernels;
    uint32_t index;
    int rc = 0;
    keyed_init(&kernels, sizeof(struct sample_group), sizeof(uint32_t), SIZE_MAX / 64);
    for (size_t i = 1; !rc && i < s->functions.count; i++) {
        const struct sample_group *g = sum_samples_group(&s->functions, i);
        const struct code_function *f = device_code_at(&m->code, g->owner);
        if (!f)
            continue;
        rc = keyed_put(&kernels, &f->shown, &index, NULL);
        if (!rc)
            sample_count_add(&((struct sample_group *)keyed_at(&kernels, index))->count, &g->count);
    }
    for (size_t i = 1; !rc && i < m->code.functions.count; i++) {
        struct code_function *f = keyed_at(&m->code.functions, i);
        index = keyed_find(&kernels, &f->shown);
        f->samples = index ? sum_samples_group(&kernels, index)->count.all : 0;
    }
    keyed_fini(&kernels);
    return rc;
}

int sum_samples_finish(struct model *m)
{
    struct sum_samples *s = &m->samples;
    int rc = busy_settle(&s->windows);
    if (!rc && s->reading)
        rc = scope_samples_estimate(m);
    s->left_out = s->estimated ? s->left_out : 0;
    keyed_fini(&s->pools);
    if (!rc && s->reading)
        rc = name_scopes(m);
    rc = rc ? rc : sum_kernels(m);
    s->reading = false;
    mem_free(s->ids);
    s->ids = NULL;
    s->id_count = s->id_cap = 0;
    return rc;
}

double sample_margin(double share, uint64_t n)
{
    const double z = 1.96, count = (double)n;
    if (!n)
        return 1;
    return z / (1 + z * z / count) *
           sqrt(share * (1 - share) / count + z * z / (4 * count * count));
}

double sum_samples_margin(const struct model *m, uint64_t samples)
{
    uint64_t all = m->samples.total.all;
    int64_t at_once = 1;
    for (size_t i = 0; i < m->devices.count; i++)
        if (m->devices.items[i].row.sm_count > at_once)
            at_once = m->devices.items[i].row.sm_count;
    return all ? sample_margin((double)samples / (double)all, all / (uint64_t)at_once) : 1;
}
