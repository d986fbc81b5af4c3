/* kernels.c - adds rows to configurations, and configurations to names. */
#include "analyze/model/kernels/kernels.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "symbol/names/demangle.h"
#include "symbol/names/kinds.h"

#include <stdlib.h>
#include <string.h>

enum {
    CONFIGS_MAX = 1 << 22, /* different launch configurations; further ones are "not known" */
    NAMES_MAX = 1 << 16,   /* names whose kinds are found; further ones are of no kind */
};

struct name_kinds {
    uint32_t name;
    uint32_t kinds; /* not of the key */
};

void sum_kernels_init(struct model *m)
{
    histogram_init(&m->kernels.time);
    keyed_init(&m->kernels.configs, sizeof(struct kernel_config), sizeof(struct config_row),
               CONFIGS_MAX);
    keyed_init(&m->kernels.kinds, sizeof(struct name_kinds), offsetof(struct name_kinds, kinds),
               NAMES_MAX);
}

void sum_kernels_fini(struct model *m)
{
    struct sum_kernels *k = &m->kernels;
    for (size_t i = 0; i < k->configs.count; i++)
        histogram_fini(&sum_kernels_config(k, i)->time);
    for (size_t i = 0; i < k->name_count; i++)
        histogram_fini(&k->names[i].time);
    histogram_fini(&k->time);
    keyed_fini(&k->configs);
    keyed_fini(&k->kinds);
    mem_free(k->names);
    mem_free(k->by_name);
    memset(k, 0, sizeof *k);
    sum_kernels_init(m);
}

/* ---- kinds ----------------------------------------------------------------------------- */

uint32_t sum_kernels_kinds(const struct sum_kernels *k, uint32_t name)
{
    uint32_t at = keyed_find(&k->kinds, &name);
    return at ? ((const struct name_kinds *)keyed_at(&k->kinds, at))->kinds : 0;
}

/* *kinds gets the kinds of a name. 0 or GPUFL_E_NOMEM. */
static int find_kinds(struct model *m, uint32_t name, uint32_t *kinds)
{
    uint32_t at;
    bool added;
    struct buf full;
    *kinds = 0;
    int rc = name ? keyed_put(&m->kernels.kinds, &name, &at, &added) : 0;
    if (rc || !name || !at)
        return rc;
    struct name_kinds *n = keyed_at(&m->kernels.kinds, at);
    if (added) {
        buf_init(&full, DEMANGLE_ROOM);
        demangle_put(&full, model_text(m, name));
        n->kinds = kinds_of(buf_cstr(&full));
        rc = buf_error(&full) == GPUFL_E_NOMEM ? GPUFL_E_NOMEM : 0;
        buf_fini(&full);
    }
    *kinds = n->kinds;
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------ */

static int take_configs(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        struct config_row row;
        int64_t *cells = (int64_t *)&row, id = cells_get(b, COL_config_id, i);
        uint32_t index, kinds;
        bool added;
        for (unsigned c = 0; c < COL_config_COUNT; c++) {
            cells[c] = cells_get(b, c, i);
            if (b->record->columns[c].ref == RECORD_name)
                cells[c] = model_name_cell(m, cells[c]);
        }
        row.id = 0;
        row.device = model_device_cell(m, row.device);
        rc = keyed_put(&m->kernels.configs, &row, &index, &added);
        if (!rc && index && added) {
            rc = find_kinds(m, (uint32_t)row.name, &kinds);
            sum_kernels_config(&m->kernels, index)->kinds = kinds;
        }
        if (!rc)
            rc = model_ref_put(&m->refs.configs, &m->refs.config_count, &m->refs.config_cap, id,
                               index);
    }
    return rc;
}

static int take_kernels(struct model *m, const struct wire_batch *b)
{
    struct sum_kernels *k = &m->kernels;
    const int64_t *start = b->col[COL_kernel_start], *duration = b->col[COL_kernel_duration],
                  *config = b->col[COL_kernel_config], *graph = b->col[COL_kernel_graph];
    int rc = keyed_ensure_none(&k->configs);
    int64_t end;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        if (!start || !duration || !cells_interval(start[i], duration[i], &end)) {
            k->invalid++;
            continue;
        }
        int64_t id = config ? config[i] : 0;
        uint32_t at = id > 0 && (uint64_t)id < m->refs.config_count ? m->refs.configs[id] : 0;
        struct kernel_config *c = sum_kernels_config(k, at);
        c->graph += graph && graph[i] > 0;
        if (!c->time.count || duration[i] > c->time.max)
            c->longest_start = start[i];
        if (!c->time.count || start[i] < c->first_start)
            c->first_start = start[i];
        rc = histogram_add(&c->time, duration[i]);
    }
    return rc;
}

int sum_kernels_batch(struct model *m, const struct wire_batch *b)
{
    return b->type == RECORD_config ? take_configs(m, b) : take_kernels(m, b);
}

/* This is called before `from` is merged into `to`: *start becomes that of the longer row, of
 * equally long ones that of the earlier. */
static void keep_start(int64_t *start, const struct histogram *to, int64_t from_start,
                       const struct histogram *from)
{
    bool longer = from->count && (!to->count || from->max > to->max);
    bool equal = from->count && to->count && from->max == to->max;
    if (longer || (equal && from_start < *start))
        *start = from_start;
}

int sum_kernels_merge(struct model *into, const struct model *from, int64_t shift)
{
    const struct sum_kernels *o = &from->kernels;
    int rc = keyed_ensure_none(&into->kernels.configs);
    into->kernels.invalid += o->invalid;
    for (size_t i = 0; !rc && i < o->configs.count; i++) {
        const struct kernel_config *other = sum_kernels_config(o, i);
        struct config_row row = other->row;
        uint32_t at = 0;
        if (i) {
            row.device = into->devices.merged[row.device];
            rc = keyed_put(&into->kernels.configs, &row, &at, NULL);
        }
        uint32_t kinds = 0;
        rc = rc || !at ? rc : find_kinds(into, (uint32_t)row.name, &kinds);
        if (rc)
            break;
        struct kernel_config *to = sum_kernels_config(&into->kernels, at);
        to->kinds = kinds;
        to->graph += other->graph;
        if (other->time.count && (!to->time.count || other->first_start + shift < to->first_start))
            to->first_start = other->first_start + shift;
        keep_start(&to->longest_start, &to->time, other->longest_start + shift, &other->time);
        rc = histogram_merge(&to->time, &other->time);
    }
    return rc;
}

/* ---- by name --------------------------------------------------------------------------- */

/* Compares for qsort_r, since a comparison needs the configurations and qsort passes no
 * argument. */
static int compare_by_name(const void *a, const void *b, void *arg)
{
    const struct sum_kernels *k = arg;
    const struct kernel_config *x = sum_kernels_config(k, *(const uint32_t *)a),
                               *y = sum_kernels_config(k, *(const uint32_t *)b);
    if (x->row.name != y->row.name)
        return x->row.name < y->row.name ? -1 : 1;
    if (x->time.total != y->time.total)
        return x->time.total > y->time.total ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int compare_names(const void *a, const void *b)
{
    const struct kernel_name *x = a, *y = b;
    if (x->time.total != y->time.total)
        return x->time.total > y->time.total ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Lists configurations that rows refer to, sorted by name. */
static int list_configs(struct sum_kernels *k, size_t *count)
{
    k->by_name = mem_array(k->configs.count + 1, sizeof *k->by_name);
    if (!k->by_name)
        return GPUFL_E_NOMEM;
    *count = 0;
    for (size_t i = 0; i < k->configs.count; i++)
        if (sum_kernels_config(k, i)->time.count)
            k->by_name[(*count)++] = (uint32_t)i;
    qsort_r(k->by_name, *count, sizeof *k->by_name, compare_by_name, k);
    return 0;
}

static int add_config(struct sum_kernels *k, uint32_t place)
{
    const struct kernel_config *c = sum_kernels_config(k, k->by_name[place]);
    bool first = !k->name_count || k->names[k->name_count - 1].name != (uint32_t)c->row.name;
    struct kernel_name *n = &k->names[first ? k->name_count++ : k->name_count - 1];
    if (first) {
        *n = (struct kernel_name){.name = (uint32_t)c->row.name, .first = place, .kinds = c->kinds};
        histogram_init(&n->time);
    }
    n->configs++;
    n->graph += c->graph;
    keep_start(&n->longest_start, &n->time, c->longest_start, &c->time);
    int rc = histogram_merge(&n->time, &c->time);
    return rc ? rc : histogram_merge(&k->time, &c->time);
}

int sum_kernels_finish(struct model *m)
{
    struct sum_kernels *k = &m->kernels;
    size_t count;
    int rc = list_configs(k, &count);
    if (rc)
        return rc;
    k->names = mem_array(count ? count : 1, sizeof *k->names);
    if (!k->names)
        return GPUFL_E_NOMEM;
    for (uint32_t i = 0; !rc && i < count; i++)
        rc = add_config(k, i);
    qsort(k->names, k->name_count, sizeof *k->names, compare_names);
    return rc;
}

const struct kernel_name *sum_kernels_name(const struct sum_kernels *k, uint32_t name)
{
    for (size_t i = 0; i < k->name_count; i++)
        if (k->names[i].name == name)
            return &k->names[i];
    return NULL;
}
