/* sass.c - see sass.h. */
#include "analyze/model/kernels/sass.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "analyze/model/scopes/path.h"
#include "base/err.h"

#include <string.h>

const char *const sass_names[SASS_COUNT] = {
#define SASS_NAME(id, name) name,
    SASS_METRICS(SASS_NAME)
#undef SASS_NAME
};

void sum_sass_init(struct model *m)
{
    struct sum_sass *s = &m->sass;
    keyed_init(&s->places, sizeof(struct sass_place), offsetof(struct sass_place, values),
               SASS_PLACES);
    keyed_init(&s->groups, sizeof(struct sass_group), 2 * sizeof(uint32_t), SASS_GROUPS);
    keyed_init(&s->others, sizeof(struct sass_other), 2 * sizeof(uint32_t), SASS_OTHERS);
}

void sum_sass_fini(struct model *m)
{
    struct sum_sass *s = &m->sass;
    keyed_fini(&s->places);
    keyed_fini(&s->groups);
    keyed_fini(&s->others);
    memset(s, 0, sizeof *s);
}

void sass_values_add(struct sass_values *a, const struct sass_values *b)
{
    for (int i = 0; i < SASS_COUNT; i++)
        a->value[i] = cells_sum(a->value[i], b->value[i]);
    a->known |= b->known;
}

bool sum_sass_counted(const struct sum_sass *s, enum sass_metric a)
{
    for (size_t i = 1; i < s->groups.count; i++)
        if (sass_has(&sum_sass_group(s, i)->values, a))
            return true;
    return false;
}

int64_t sass_ideal_sectors(const struct sass_values *v)
{
    if (sass_has(v, SASS_SECTORS_IDEAL) && v->value[SASS_SECTORS_IDEAL] > 0)
        return v->value[SASS_SECTORS_IDEAL];
    if (!sass_has(v, SASS_SECTORS_LOAD_IDEAL) && !sass_has(v, SASS_SECTORS_STORE_IDEAL))
        return sass_has(v, SASS_SECTORS_IDEAL) ? 0 : CELL_NULL;
    return cells_sum(v->value[SASS_SECTORS_LOAD_IDEAL], v->value[SASS_SECTORS_STORE_IDEAL]);
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Most consecutive rows have one metric, so the last name's answer is kept. */
static enum sass_metric metric_of(struct model *m, uint32_t name)
{
    struct sum_sass *s = &m->sass;
    if (name == s->last_name && name)
        return s->metric;
    const char *text = model_text(m, name);
    int i = 0;
    while (i < SASS_COUNT && strcmp(sass_names[i], text) != 0)
        i++;
    s->last_name = name;
    return s->metric = (enum sass_metric)i;
}

static int add_place(struct sum_sass *s, const struct sass_place *p)
{
    uint32_t index;
    int rc = keyed_put(&s->places, p, &index, NULL);
    if (!rc && index)
        sass_values_add(&((struct sass_place *)keyed_at(&s->places, index))->values, &p->values);
    return rc;
}

static int add_group(struct keyed *k, const struct sass_group *g)
{
    uint32_t index;
    int rc = keyed_put(k, g, &index, NULL);
    if (!rc && index)
        sass_values_add(&((struct sass_group *)keyed_at(k, index))->values, &g->values);
    return rc;
}

static int add_other(struct sum_sass *s, uint32_t function, uint32_t metric, int64_t value)
{
    uint32_t key[2] = {function, metric}, index;
    int rc = keyed_put(&s->others, key, &index, NULL);
    if (!rc && index) {
        struct sass_other *o = keyed_at(&s->others, index);
        o->value = cells_sum(o->value, value);
    }
    return rc;
}

static int take_known(struct model *m, struct sass_place *p, int64_t scope)
{
    struct sum_sass *s = &m->sass;
    struct sass_group g;
    memset(&g, 0, sizeof g);
    g.function = p->function;
    g.values = p->values;
    int rc = add_group(&s->groups, &g);
    if (!rc && p->offset >= 0)
        rc = add_place(s, p);
    if (!rc && scope > 0) {
        rc = scope_path_handle(m, scope, false, &g.scope);
        if (!rc && g.scope)
            rc = add_group(&s->groups, &g);
    }
    return rc;
}

int sum_sass_batch(struct model *m, const struct wire_batch *b)
{
    struct sum_sass *s = &m->sass;
    int rc = 0;
    s->rows += b->rows;
    s->reading = true;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        int64_t value = cells_get(b, COL_sass_metric_value, i);
        uint32_t name = model_name_cell(m, cells_get(b, COL_sass_metric_metric, i));
        struct sass_place p;
        memset(&p, 0, sizeof p);
        p.function = device_code_function(&m->code, cells_get(b, COL_sass_metric_function, i));
        p.offset = cells_get(b, COL_sass_metric_offset, i);
        if (value < 0 || !name || !p.function) {
            s->invalid++;
            continue;
        }
        enum sass_metric metric = metric_of(m, name);
        if (metric == SASS_COUNT) {
            rc = add_other(s, p.function, name, value);
            continue;
        }
        p.values.value[metric] = value;
        p.values.known = 1u << metric;
        rc = take_known(m, &p, cells_get(b, COL_sass_metric_scope, i));
    }
    return rc;
}

/* ---- merging, the end -------------------------------------------------------------------- */

int sum_sass_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_sass *s = &into->sass;
    const struct sum_sass *o = &from->sass;
    const uint32_t *functions = into->code.merged;
    int rc = 0;
    (void)shift;
    s->rows += o->rows;
    s->invalid += o->invalid;
    for (size_t i = 1; !rc && i < o->places.count; i++) {
        struct sass_place p = *sum_sass_place(o, i);
        p.function = functions[p.function];
        rc = p.function ? add_place(s, &p) : 0;
    }
    for (size_t i = 1; !rc && i < o->groups.count; i++) {
        struct sass_group g = *sum_sass_group(o, i);
        g.function = functions[g.function];
        rc = g.function ? add_group(&s->groups, &g) : 0;
    }
    for (size_t i = 1; !rc && i < o->others.count; i++) {
        const struct sass_other *x = keyed_at(&o->others, i);
        uint32_t f = functions[x->function];
        rc = f ? add_other(s, f, x->metric, x->value) : 0;
    }
    return rc;
}

static int name_scopes(struct model *m)
{
    struct sum_sass *s = &m->sass;
    struct keyed named;
    int rc = 0;
    keyed_init(&named, s->groups.item_size, s->groups.key_size, s->groups.max);
    for (size_t i = 1; !rc && i < s->groups.count; i++) {
        struct sass_group g = *sum_sass_group(s, i);
        uint32_t handle = g.scope;
        rc = scope_path_name(m, handle, &g.scope);
        if (!rc && (g.scope || !handle))
            rc = add_group(&named, &g);
    }
    keyed_fini(&s->groups);
    s->groups = named;
    return rc;
}

int sum_sass_finish(struct model *m)
{
    bool read = m->sass.reading;
    m->sass.reading = false;
    return read ? name_scopes(m) : 0;
}

const struct sass_place *sum_sass_find(const struct sum_sass *s, uint32_t function, int64_t offset)
{
    struct sass_place key;
    memset(&key, 0, sizeof key);
    key.function = function;
    key.offset = offset;
    uint32_t index = keyed_find(&s->places, &key);
    return index ? sum_sass_place(s, index) : NULL;
}
