/* digest.c - makes a digest from a model; see digest.h. */
#include "analyze/compare/digest.h"

#include "analyze/common/cells.h"
#include "analyze/common/scope_text.h"
#include "analyze/common/words.h"
#include "analyze/model/model.h"
#include "analyze/model/scopes/longest.h"
#include "base/alloc.h"
#include "base/err.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FACTS = 320, FACT_TEXT = 256 };

/* ---- keys ------------------------------------------------------------------------------------ */

static bool is_hash(const char *p, const char *end)
{
    enum { DIGITS = 8 };
    for (int i = 0; i < DIGITS; i++)
        if (p + i >= end || !isxdigit((unsigned char)p[i]) || isupper((unsigned char)p[i]))
            return false;
    return p + DIGITS == end || p[DIGITS] == '_';
}

void digest_key(const char *name, char *out)
{
    static const char mark[] = "_GLOBAL__N__";
    size_t len = strlen(name);
    memcpy(out, name, len + 1);
    for (const char *at = name; (at = strstr(at, mark)) != NULL;) {
        /* The number before it is the length of the component. */
        const char *digits = at;
        while (digits > name && isdigit((unsigned char)digits[-1]) && at - digits < 6)
            digits--;
        size_t n = digits < at ? (size_t)atoi(digits) : 0;
        const char *end = n <= len - (size_t)(at - name) ? at + n : name + len;
        for (const char *p = at + sizeof mark - 2; p < end; p++)
            if (*p == '_' && is_hash(p + 1, end))
                memset(out + (p + 1 - name), '0', 8);
        at += sizeof mark - 1;
    }
}

/* ---- items ----------------------------------------------------------------------------------- */

static int by_bin(const void *a, const void *b)
{
    const struct stats_bin *x = a, *y = b;
    return x->bin < y->bin ? -1 : x->bin > y->bin;
}

static int put_bins(struct digest *d, struct digest_item *item, const struct histogram *h)
{
    size_t room = h->samples ? (size_t)h->count : 0, n = 0;
    for (unsigned page = 0; h->pages && page < HISTOGRAM_PAGES; page++)
        for (unsigned i = 0; h->pages[page] && i < HISTOGRAM_PAGE; i++)
            room += h->pages[page][i] != 0;
    item->bins = region_array(&d->memory, room + 1, sizeof *item->bins);
    if (!item->bins)
        return GPUFL_E_NOMEM;
    for (uint64_t i = 0; h->samples && i < h->count; i++)
        item->bins[n++] = (struct stats_bin){bins_of(h->samples[i] > 0 ? h->samples[i] : 0), 1};
    for (unsigned page = 0; h->pages && page < HISTOGRAM_PAGES; page++)
        for (unsigned i = 0; h->pages[page] && i < HISTOGRAM_PAGE; i++)
            if (h->pages[page][i])
                item->bins[n++] = (struct stats_bin){page * HISTOGRAM_PAGE + i, h->pages[page][i]};
    qsort(item->bins, n, sizeof *item->bins, by_bin);
    for (size_t i = 0; i < n; i++) { /* values of one bin together */
        if (item->bin_count && item->bins[item->bin_count - 1].bin == item->bins[i].bin)
            item->bins[item->bin_count - 1].count += item->bins[i].count;
        else
            item->bins[item->bin_count++] = item->bins[i];
    }
    return 0;
}

static int put_item(struct digest *d, struct digest_item *item, const char *name, bool kernel,
                    const struct histogram *h)
{
    size_t len = strlen(name);
    char *key = region_take(&d->memory, len + 1);
    *item = (struct digest_item){.key = key,
                                 .name = region_copy(&d->memory, name, len),
                                 .calls = (int64_t)h->count,
                                 .total = h->total,
                                 .gpu = CELL_NULL,
                                 .p50 = histogram_quantile(h, 0.5),
                                 .p99 = histogram_quantile(h, 0.99),
                                 .longest = h->count ? h->max : 0};
    if (!key || !item->name)
        return GPUFL_E_NOMEM;
    if (kernel)
        digest_key(name, key);
    else
        memcpy(key, name, len + 1);
    return put_bins(d, item, h);
}

static int64_t known(int64_t v)
{
    return v == CELL_NULL ? 0 : v;
}

static int put_shape(struct digest *d, struct digest_item *item, const struct kernel_config *c)
{
    const struct config_row *r = &c->row;
    char text[160];
    bool there = r->grid_x != CELL_NULL && r->block_x != CELL_NULL;
    int n = !there
                ? snprintf(text, sizeof text, "unknown")
                : snprintf(text, sizeof text,
                           "%" PRId64 "x%" PRId64 "x%" PRId64 "/%" PRId64 "x%" PRId64 "x%" PRId64,
                           r->grid_x, r->grid_y, r->grid_z, r->block_x, r->block_y, r->block_z);
    if (there && r->registers != CELL_NULL)
        n += snprintf(text + n, sizeof text - (size_t)n, ", %" PRId64 " registers", r->registers);
    int64_t shared = known(r->shared_static) + known(r->shared_dynamic);
    if (there && shared)
        snprintf(text + n, sizeof text - (size_t)n, ", %" PRId64 " bytes shared", shared);
    for (size_t i = 0; i < item->shape_count; i++)
        if (strcmp(item->shapes[i].text, text) == 0) {
            item->shapes[i].calls += (int64_t)c->time.count;
            return 0;
        }
    if (item->shape_count == DIGEST_SHAPES)
        return 0;
    const char *own = region_strdup(&d->memory, text);
    item->shapes[item->shape_count++] = (struct digest_shape){own, (int64_t)c->time.count};
    return own ? 0 : GPUFL_E_NOMEM;
}

static void put_rest(struct digest_rest *rest, const struct histogram *h)
{
    rest->calls = cells_sum(rest->calls, (int64_t)h->count);
    rest->total = cells_sum(rest->total, h->total);
}

static int put_kernels(struct digest *d, const struct sum_kernels *k, const struct model *m)
{
    size_t n = k->name_count < DIGEST_ITEMS ? k->name_count : DIGEST_ITEMS;
    int rc = 0;
    d->kernels_all = 0;
    d->kernels = region_array(&d->memory, n + 1, sizeof *d->kernels);
    if (!d->kernels)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < k->name_count; i++) {
        const struct kernel_name *name = &k->names[i];
        struct digest_item *item = &d->kernels[d->kernel_item_count];
        if (!name->time.count || !name->name)
            continue;
        d->kernels_all++;
        if (d->kernel_item_count == n) {
            put_rest(&d->kernel_rest, &name->time);
            continue;
        }
        rc = put_item(d, item, model_text(m, name->name), true, &name->time);
        item->shapes = region_array(&d->memory, DIGEST_SHAPES, sizeof *item->shapes);
        rc = rc ? rc : item->shapes ? 0 : GPUFL_E_NOMEM;
        for (uint32_t c = 0; !rc && c < name->configs; c++)
            rc = put_shape(d, item, sum_kernels_config(k, k->by_name[name->first + c]));
        d->kernel_item_count++;
    }
    return rc;
}

void digest_path(const struct model *m, uint32_t node, char *out, size_t size)
{
    size_t at = size - 1;
    out[at] = '\0';
    for (; node; node = m->scopes.nodes[node].parent) {
        const char *name = model_text(m, m->scopes.nodes[node].name);
        size_t n = scope_text_size(name), bar = out[at] != '\0';
        if (n + bar > at)
            break; /* the innermost names are kept */
        if (bar)
            out[--at] = '|';
        at -= n;
        scope_text_put(out + at, name);
    }
    memmove(out, out + at, size - at);
}

static int by_total(const void *a, const void *b)
{
    const struct digest_item *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return strcmp(x->key, y->key);
}

static int put_scopes(struct digest *d, const struct model *m)
{
    const struct scope_node *nodes = m->scopes.nodes;
    bool known = sum_scopes_known(m, SCOPE_KERNELS) && !sum_known_is_cut(m, KNOWN_KERNELS);
    size_t all;
    uint32_t *longest = scope_longest(m, &all);
    size_t n = all < DIGEST_ITEMS ? all : DIGEST_ITEMS;
    char *path = mem_alloc(DIGEST_PATH);
    int rc = path && longest ? 0 : GPUFL_E_NOMEM;
    d->scopes_all = m->scopes.more_paths ? CELL_NULL : (int64_t)all;
    d->scopes = region_array(&d->memory, n + 1, sizeof *d->scopes);
    rc = d->scopes ? rc : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < n; i++) {
        struct digest_item *item = &d->scopes[d->scope_count++];
        digest_path(m, longest[i], path, DIGEST_PATH);
        rc = put_item(d, item, path, false, &nodes[longest[i]].walls);
        item->gpu = known ? nodes[longest[i]].all.gpu : CELL_NULL;
    }
    for (size_t i = n; !rc && i < all; i++)
        put_rest(&d->scope_rest, &nodes[longest[i]].walls);
    mem_free(longest);
    mem_free(path);
    if (!rc)
        qsort(d->scopes, d->scope_count, sizeof *d->scopes, by_total);
    return rc;
}

/* Returns true if the number of a session's kernels or scopes is known. */
static bool is_whole(const struct model *m, enum known_kind k)
{
    return sum_known_is(m, k) && !sum_known_is_cut(m, k);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static int put_fact(struct digest *d, const char *key, const char *value, double number)
{
    if (!*value || d->fact_count >= FACTS)
        return 0;
    const struct digest_fact f = {region_strdup(&d->memory, key), region_strdup(&d->memory, value),
                                  number};
    d->facts[d->fact_count++] = f;
    return f.key && f.value ? 0 : GPUFL_E_NOMEM;
}

/* Returns true for options about the log's path and names, which say nothing about the program. */
static bool of_the_log(const char *option)
{
    static const char *const names[] = {
        "app_name",    "log_path", "run_id", "backend_url",        "api_key",          "api_path",
        "config_file", "pass",     "passes", "remote_config_name", "remote_config_dir"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(option, names[i]) == 0)
            return true;
    return false;
}

static int put_measured(struct digest *d, const char *key, const char *unit,
                        const struct metric_sum *sum)
{
    char text[64];
    if (!sum->count)
        return 0;
    double mean = sum_metrics_mean(sum);
    snprintf(text, sizeof text, "%.4g %s", mean, unit);
    return put_fact(d, key, text, mean);
}

/* Puts a fact once if all GPUs in use have it in common. */
static int put_devices(struct digest *d, const struct model *m)
{
    unsigned used = 0;
    char text[FACT_TEXT], name[FACT_TEXT];
    int rc = 0;
    for (uint32_t i = 0; i < m->devices.count && !rc; i++) {
        const struct device_sum *s = &m->devices.items[i];
        const char *clock = model_device_words(m, &s->row)->clock;
        if (!s->named || !s->compute.count)
            continue;
        used++;
        rc = put_fact(d, "GPU", model_text(m, (uint32_t)known(s->row.name)), NAN);
        rc = rc ? rc : put_fact(d, "driver", model_text(m, (uint32_t)known(s->row.driver)), NAN);
        if (!rc && s->row.clock_max_sm != CELL_NULL) {
            snprintf(text, sizeof text, "%" PRId64 " MHz", s->row.clock_max_sm);
            snprintf(name, sizeof name, "highest %s", clock);
            rc = put_fact(d, name, text, NAN);
        }
        if (rc || i >= m->metrics.device_count)
            continue;
        const struct device_metrics *x = &m->metrics.devices[i];
        snprintf(name, sizeof name, "%s, mean", clock);
        rc = put_measured(d, name, "MHz", &x->metrics[COL_device_metric_clock_sm]);
        rc = rc ? rc
                : put_measured(d, "memory clock, mean", "MHz",
                               &x->metrics[COL_device_metric_clock_mem]);
    }
    if (rc || !is_whole(m, KNOWN_KERNELS)) /* which GPUs were in use is unknown then */
        return rc;
    snprintf(text, sizeof text, "%u", used);
    return put_fact(d, "GPUs in use", text, NAN);
}

static int put_facts(struct digest *d, const struct model *m)
{
    const struct sum_facts *f = &m->facts;
    const struct {
        const char *key;
        uint32_t name;
    } rows[] = {{"application", f->app},    {"host", f->host},     {"operating system", f->system},
                {"command", f->command},    {"engine", f->engine}, {"backend", f->backend},
                {"recorded by", f->version}};
    char key[FACT_TEXT];
    int rc = 0;
    d->facts = region_array(&d->memory, FACTS, sizeof *d->facts);
    if (!d->facts)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < sizeof rows / sizeof *rows; i++)
        rc = put_fact(d, rows[i].key, model_text(m, rows[i].name), NAN);
    rc = rc ? rc : put_devices(d, m);
    for (size_t i = 0; !rc && i < f->option_count; i++) {
        const char *name = model_text(m, f->options[i].name);
        if (of_the_log(name))
            continue;
        snprintf(key, sizeof key, "option %.200s", name);
        rc = put_fact(d, key, model_text(m, f->options[i].value), NAN);
    }
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int digest_open(struct digest *d, const struct model *m)
{
    struct busy_result busy;
    memset(d, 0, sizeof *d);
    region_init(&d->memory, DIGEST_MEMORY);
    d->session = region_strdup(&d->memory, model_text(m, m->facts.session));
    d->app = region_strdup(&d->memory, model_text(m, m->facts.app));
    d->host = region_strdup(&d->memory, model_text(m, m->facts.host));
    if (!d->session || !d->app || !d->host)
        return GPUFL_E_NOMEM;
    busy_result(&m->devices.compute, &busy);
    int64_t offset = sum_facts_epoch(m);
    d->started = offset ? m->facts.start + offset : 0;
    d->duration = sum_facts_duration(m);
    bool known = is_whole(m, KNOWN_KERNELS);
    d->kernel_count = known ? (int64_t)m->kernels.time.count : CELL_NULL;
    d->kernel_time = known ? m->kernels.time.total : CELL_NULL;
    d->busy = known ? busy.busy : CELL_NULL;
    d->simulated = m->facts.simulated;
    d->scopes_unknown = !is_whole(m, KNOWN_SCOPES);
    d->damaged = m->facts.damaged != 0;
    int rc = put_facts(d, m);
    rc = rc ? rc : put_kernels(d, &m->kernels, m);
    rc = rc ? rc : put_scopes(d, m);
    if (!known)
        d->kernels_all = CELL_NULL;
    if (d->scopes_unknown)
        d->scopes_all = CELL_NULL;
    return rc;
}

void digest_close(struct digest *d)
{
    region_fini(&d->memory);
    memset(d, 0, sizeof *d);
}
