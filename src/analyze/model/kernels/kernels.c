/* kernels.c - configurations by content, rows into them, names out of them. */
#include "analyze/model/kernels/kernels.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIGS_MAX = 1 << 22 }; /* different launch configurations; further ones are "not known" */

void sum_kernels_init(struct model *m)
{
    histogram_init(&m->kernels.time);
}

void sum_kernels_fini(struct model *m)
{
    struct sum_kernels *k = &m->kernels;
    for (size_t i = 0; i < k->config_count; i++)
        histogram_fini(&k->configs[i].time);
    for (size_t i = 0; i < k->name_count; i++)
        histogram_fini(&k->names[i].time);
    histogram_fini(&k->time);
    mem_free(k->configs);
    mem_free(k->slots);
    mem_free(k->names);
    mem_free(k->by_name);
    memset(k, 0, sizeof *k);
}

/* ---- configurations by content --------------------------------------------------------- */

static size_t slot_of(const struct sum_kernels *k, const struct config_row *row)
{
    return intern_hash((const char *)row, sizeof *row) & (k->slot_count - 1);
}

static int rehash(struct sum_kernels *k)
{
    size_t count = k->slot_count ? k->slot_count * 2 : 64;
    uint32_t *slots = mem_array(count, sizeof *slots);
    if (!slots)
        return GPUFL_E_NOMEM;
    mem_free(k->slots);
    k->slots = slots;
    k->slot_count = count;
    for (size_t i = 1; i < k->config_count; i++) {
        size_t at = slot_of(k, &k->configs[i].row);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i;
    }
    return 0;
}

static int append(struct sum_kernels *k, const struct config_row *row)
{
    int rc =
        mem_grow(&k->configs, &k->config_cap, k->config_count + 1, sizeof *k->configs, CONFIGS_MAX);
    if (rc)
        return rc;
    struct kernel_config *c = &k->configs[k->config_count++];
    c->row = *row;
    c->graph = 0;
    histogram_init(&c->time);
    return 0;
}

static int ensure_unknown(struct sum_kernels *k)
{
    struct config_row none = {0};
    return k->config_count ? 0 : append(k, &none);
}

/* Index of the configuration with that content, added where it is new. */
static int find(struct sum_kernels *k, const struct config_row *row, uint32_t *index)
{
    int rc = ensure_unknown(k);
    *index = 0;
    if (!rc && k->config_count * 2 >= k->slot_count)
        rc = rehash(k);
    if (rc)
        return rc;
    size_t at = slot_of(k, row);
    while (k->slots[at]) {
        *index = k->slots[at];
        if (!memcmp(&k->configs[*index].row, row, sizeof *row))
            return 0;
        at = (at + 1) & (k->slot_count - 1);
    }
    *index = 0;
    if (k->config_count == CONFIGS_MAX)
        return 0;
    rc = append(k, row);
    if (!rc)
        *index = k->slots[at] = (uint32_t)k->config_count - 1;
    return rc;
}

static int take_configs(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        struct config_row row;
        int64_t *cells = (int64_t *)&row, id = cells_get(b, COL_config_id, i);
        uint32_t index;
        for (unsigned c = 0; c < COL_config_COUNT; c++) {
            cells[c] = cells_get(b, c, i);
            if (b->record->columns[c].ref == RECORD_name)
                cells[c] = model_name_cell(m, cells[c]);
        }
        row.id = 0;
        row.device = model_device_cell(m, row.device);
        rc = find(&m->kernels, &row, &index);
        if (!rc)
            rc = model_ref_put(&m->refs.configs, &m->refs.config_count, &m->refs.config_cap, id,
                               index);
    }
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------ */

static int take_kernels(struct model *m, const struct wire_batch *b)
{
    struct sum_kernels *k = &m->kernels;
    const int64_t *start = b->col[COL_kernel_start], *duration = b->col[COL_kernel_duration],
                  *config = b->col[COL_kernel_config], *graph = b->col[COL_kernel_graph];
    int rc = ensure_unknown(k);
    int64_t end;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        if (!start || !duration || !cells_interval(start[i], duration[i], &end)) {
            k->invalid++;
            continue;
        }
        int64_t id = config ? config[i] : 0;
        uint32_t at = id > 0 && (uint64_t)id < m->refs.config_count ? m->refs.configs[id] : 0;
        struct kernel_config *c = &k->configs[at];
        c->graph += graph && graph[i] > 0;
        rc = histogram_add(&c->time, duration[i]);
    }
    return rc;
}

int sum_kernels_batch(struct model *m, const struct wire_batch *b)
{
    return b->type == RECORD_config ? take_configs(m, b) : take_kernels(m, b);
}

int sum_kernels_merge(struct model *into, const struct model *from, int64_t shift)
{
    const struct sum_kernels *o = &from->kernels;
    int rc = ensure_unknown(&into->kernels);
    (void)shift;
    into->kernels.invalid += o->invalid;
    for (size_t i = 0; !rc && i < o->config_count; i++) {
        struct config_row row = o->configs[i].row;
        uint32_t at = 0;
        if (i) {
            row.device = into->devices.merged[row.device];
            rc = find(&into->kernels, &row, &at);
        }
        if (rc)
            break;
        into->kernels.configs[at].graph += o->configs[i].graph;
        rc = histogram_merge(&into->kernels.configs[at].time, &o->configs[i].time);
    }
    return rc;
}

/* ---- by name --------------------------------------------------------------------------- */

/* qsort has no argument of its own for what is compared, qsort_r has. */
static int compare_by_name(const void *a, const void *b, void *arg)
{
    const struct kernel_config *configs = arg, *x = &configs[*(const uint32_t *)a],
                               *y = &configs[*(const uint32_t *)b];
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

/* Configurations that rows refer to, sorted by name. */
static int list_configs(struct sum_kernels *k, size_t *count)
{
    k->by_name = mem_array(k->config_count ? k->config_count : 1, sizeof *k->by_name);
    if (!k->by_name)
        return GPUFL_E_NOMEM;
    *count = 0;
    for (size_t i = 0; i < k->config_count; i++)
        if (k->configs[i].time.count)
            k->by_name[(*count)++] = (uint32_t)i;
    qsort_r(k->by_name, *count, sizeof *k->by_name, compare_by_name, k->configs);
    return 0;
}

static int add_config(struct sum_kernels *k, uint32_t place)
{
    const struct kernel_config *c = &k->configs[k->by_name[place]];
    bool first = !k->name_count || k->names[k->name_count - 1].name != (uint32_t)c->row.name;
    struct kernel_name *n = &k->names[first ? k->name_count++ : k->name_count - 1];
    if (first) {
        *n = (struct kernel_name){.name = (uint32_t)c->row.name, .first = place};
        histogram_init(&n->time);
    }
    n->configs++;
    n->graph += c->graph;
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
