/* digest_json.c - writes a digest as JSON, and reads it. There are thousands of bins, so they are
 * one flat array, [bin, count, bin, count, …]. */
#include "analyze/compare/digest.h"

#include "analyze/common/cells.h"

#include "base/bins.h"
#include "base/err.h"
#include "base/json.h"
#include "wire/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- out ------------------------------------------------------------------------------------- */

static void put_item(struct json_out *j, const struct digest_item *item)
{
    json_out_object(j, NULL);
    json_out_text(j, "name", item->name);
    json_out_int(j, "calls", item->calls);
    json_out_int(j, "total", item->total);
    json_out_int(j, "gpu", item->gpu);
    json_out_int(j, "p50", item->p50);
    json_out_int(j, "p99", item->p99);
    json_out_int(j, "longest", item->longest);
    json_out_array(j, "bins");
    for (size_t i = 0; i < item->bin_count; i++) {
        json_out_int(j, NULL, item->bins[i].bin);
        json_out_count(j, NULL, item->bins[i].count);
    }
    json_out_close_array(j);
    json_out_array(j, "shapes");
    for (size_t i = 0; i < item->shape_count; i++) {
        json_out_text(j, NULL, item->shapes[i].text);
        json_out_int(j, NULL, item->shapes[i].calls);
    }
    json_out_close_array(j);
    json_out_close_object(j);
}

static void put_items(struct json_out *j, const char *key, const struct digest_item *items,
                      size_t n)
{
    json_out_array(j, key);
    for (size_t i = 0; i < n; i++)
        put_item(j, &items[i]);
    json_out_close_array(j);
}

void digest_put(const struct digest *d, struct json_out *j)
{
    json_out_object(j, NULL);
    json_out_int(j, "digest", DIGEST_FORMAT);
    json_out_text(j, "session", d->session);
    json_out_text(j, "app", d->app);
    json_out_text(j, "host", d->host);
    json_out_int(j, "started", d->started);
    json_out_int(j, "duration", d->duration);
    json_out_int(j, "kernel_count", d->kernel_count);
    json_out_int(j, "kernel_time", d->kernel_time);
    json_out_int(j, "busy", d->busy);
    json_out_int(j, "kernels_all", d->kernels_all);
    json_out_int(j, "scopes_all", d->scopes_all);
    json_out_int(j, "simulated", d->simulated);
    if (d->scopes_unknown)
        json_out_int(j, "scopes_unknown", 1);
    if (d->damaged)
        json_out_int(j, "damaged", 1);
    json_out_array(j, "facts");
    for (size_t i = 0; i < d->fact_count; i++) {
        char number[40] = "";
        json_out_text(j, NULL, d->facts[i].key);
        json_out_text(j, NULL, d->facts[i].value);
        if (!isnan(d->facts[i].number))
            snprintf(number, sizeof number, "%.17g", d->facts[i].number);
        json_out_text(j, NULL, number);
    }
    json_out_close_array(j);
    put_items(j, "kernels", d->kernels, d->kernel_item_count);
    put_items(j, "scopes", d->scopes, d->scope_count);
    json_out_close_object(j);
}

/* ---- back ------------------------------------------------------------------------------------ */

enum { NOT_SAID = -1 };

/* Holds a JSON reader at a value of an object or array, and where the value goes. */
struct reading {
    struct digest *d;
    struct json j;
    struct digest_item *item; /* whose members are read */
    int64_t format, simulated, scopes_unknown, damaged;
    int rc; /* the first failure */
};

static const char *text_of(struct reading *r, struct json_value v)
{
    if (v.type != JSON_STRING)
        return NULL;
    size_t n = json_text(v, NULL, 0);
    char *out = region_take(&r->d->memory, n + 1);
    if (out)
        json_text(v, out, n + 1);
    return out;
}

/* Counts the values of the array that begins here, with a copy of the reader, which stays where it
 * is. */
static size_t count_values(struct json j)
{
    size_t n = 0;
    for (struct json_value v; v = json_next(&j), v.type > JSON_END; n++)
        if (!json_skip(&j, v))
            break;
    return n;
}

static int read_bins(struct reading *r, struct digest_item *item)
{
    size_t n = count_values(r->j) / 2;
    int64_t bin = 0;
    bool whole = true; /* pairs, so far */
    item->bins = region_array(&r->d->memory, n + 1, sizeof *item->bins);
    if (!item->bins)
        return GPUFL_E_NOMEM;
    for (struct json_value v; v = json_next(&r->j), v.type > JSON_END; whole = !whole) {
        if (v.type != JSON_INT || v.integer < 0)
            return GPUFL_E_CORRUPT;
        if (whole) {
            bin = v.integer;
            continue;
        }
        if (bin >= BINS_COUNT || item->bin_count >= n ||
            (item->bin_count && item->bins[item->bin_count - 1].bin >= bin))
            return GPUFL_E_CORRUPT;
        item->bins[item->bin_count++] = (struct stats_bin){(uint32_t)bin, (uint64_t)v.integer};
    }
    return whole ? 0 : GPUFL_E_CORRUPT;
}

static int read_shapes(struct reading *r, struct digest_item *item)
{
    size_t n = count_values(r->j) / 2;
    const char *text = NULL;
    item->shapes = region_array(&r->d->memory, n + 1, sizeof *item->shapes);
    if (!item->shapes)
        return GPUFL_E_NOMEM;
    for (struct json_value v; v = json_next(&r->j), v.type > JSON_END;) {
        if (!text && (text = text_of(r, v)))
            continue;
        if (!text || v.type != JSON_INT || item->shape_count >= n)
            return GPUFL_E_CORRUPT;
        item->shapes[item->shape_count++] = (struct digest_shape){text, v.integer};
        text = NULL;
    }
    return text ? GPUFL_E_CORRUPT : 0;
}

static bool take_item_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct reading *r = to;
    struct digest_item *item = r->item;
    const struct {
        const char *key;
        int64_t *at;
    } ints[] = {{"calls", &item->calls}, {"total", &item->total}, {"gpu", &item->gpu},
                {"p50", &item->p50},     {"p99", &item->p99},     {"longest", &item->longest}};
    if (v.type == JSON_ARRAY && strcmp(key, "bins") == 0)
        return (r->rc = read_bins(r, item)) == 0;
    if (v.type == JSON_ARRAY && strcmp(key, "shapes") == 0)
        return (r->rc = read_shapes(r, item)) == 0;
    if (strcmp(key, "name") == 0)
        item->name = text_of(r, v);
    for (size_t i = 0; v.type == JSON_INT && i < sizeof ints / sizeof *ints; i++)
        if (strcmp(key, ints[i].key) == 0)
            *ints[i].at = v.integer;
    return json_skip(j, v);
}

static int read_item(struct reading *r, struct digest_item *item, bool kernel)
{
    *item = (struct digest_item){.gpu = CELL_NULL};
    r->item = item;
    json_members(&r->j, take_item_member, r);
    int rc = r->rc;
    if (rc || !item->name || item->calls < 0 || item->total < 0)
        return rc ? rc : GPUFL_E_CORRUPT;
    char *own = region_take(&r->d->memory, strlen(item->name) + 1);
    if (!own)
        return GPUFL_E_NOMEM;
    if (kernel)
        digest_key(item->name, own);
    item->key = kernel ? own : item->name;
    return 0;
}

static int read_items(struct reading *r, struct digest_item **items, size_t *count, bool kernels)
{
    size_t n = count_values(r->j);
    int rc = 0;
    *items = region_array(&r->d->memory, n + 1, sizeof **items);
    if (!*items)
        return GPUFL_E_NOMEM;
    for (struct json_value v; !rc && (v = json_next(&r->j), v.type > JSON_END);) {
        rc = v.type == JSON_OBJECT && *count < n ? read_item(r, &(*items)[*count], kernels)
                                                 : GPUFL_E_CORRUPT;
        *count += !rc;
    }
    return rc;
}

static int read_facts(struct reading *r)
{
    size_t n = count_values(r->j) / 3, part = 0;
    const char *texts[3] = {0};
    r->d->facts = region_array(&r->d->memory, n + 1, sizeof *r->d->facts);
    if (!r->d->facts)
        return GPUFL_E_NOMEM;
    for (struct json_value v; v = json_next(&r->j), v.type > JSON_END;) {
        texts[part] = text_of(r, v);
        if (!texts[part] || r->d->fact_count >= n)
            return GPUFL_E_CORRUPT;
        if (++part < 3)
            continue;
        part = 0;
        r->d->facts[r->d->fact_count++] =
            (struct digest_fact){texts[0], texts[1], *texts[2] ? strtod(texts[2], NULL) : NAN};
    }
    return part ? GPUFL_E_CORRUPT : 0;
}

static int read_member(struct reading *r, const char *key, struct json_value v)
{
    struct digest *d = r->d;
    const struct {
        const char *key;
        int64_t *at;
        bool unknown; /* it may be null */
    } ints[] = {
        {"digest", &r->format, false},          {"started", &d->started, false},
        {"duration", &d->duration, false},      {"kernel_count", &d->kernel_count, true},
        {"kernel_time", &d->kernel_time, true}, {"busy", &d->busy, true},
        {"simulated", &r->simulated, false},    {"scopes_unknown", &r->scopes_unknown, false},
        {"damaged", &r->damaged, false},        {"kernels_all", &d->kernels_all, true},
        {"scopes_all", &d->scopes_all, true}};
    const struct {
        const char *key;
        const char **at;
    } texts[] = {{"session", &d->session}, {"app", &d->app}, {"host", &d->host}};
    if (v.type == JSON_ARRAY && strcmp(key, "kernels") == 0 && !d->kernels)
        return read_items(r, &d->kernels, &d->kernel_item_count, true);
    if (v.type == JSON_ARRAY && strcmp(key, "scopes") == 0 && !d->scopes)
        return read_items(r, &d->scopes, &d->scope_count, false);
    if (v.type == JSON_ARRAY && strcmp(key, "facts") == 0 && !d->facts)
        return read_facts(r);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        if (strcmp(key, ints[i].key) == 0 &&
            (v.type == JSON_INT || (v.type == JSON_NULL && ints[i].unknown)))
            *ints[i].at = v.type == JSON_INT ? v.integer : CELL_NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0)
            *texts[i].at = text_of(r, v);
    return json_skip(&r->j, v) ? 0 : GPUFL_E_CORRUPT;
}

static bool take_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct reading *r = to;
    (void)j; /* r->j, which the readers of arrays use as well */
    r->rc = read_member(r, key, v);
    return r->rc == 0;
}

/* A digest of an earlier version says no numbers of all: an array that is not full has all. */
static int64_t number_of_all(int64_t said, size_t count, bool known)
{
    if (!known)
        return CELL_NULL;
    if (said == NOT_SAID)
        return count < DIGEST_ITEMS ? (int64_t)count : CELL_NULL;
    return said == CELL_NULL || said >= (int64_t)count ? said : CELL_NULL;
}

int digest_read(struct digest *d, const char *text, size_t len)
{
    struct reading r = {.d = d};
    memset(d, 0, sizeof *d);
    d->kernels_all = d->scopes_all = NOT_SAID;
    region_init(&d->memory, DIGEST_MEMORY);
    json_init(&r.j, text, len);
    if (json_read(&r.j).type != JSON_OBJECT)
        return GPUFL_E_CORRUPT;
    json_members(&r.j, take_member, &r);
    d->simulated = r.simulated != 0;
    d->scopes_unknown = r.scopes_unknown != 0;
    d->damaged = r.damaged != 0;
    d->kernels_all =
        number_of_all(d->kernels_all, d->kernel_item_count, d->kernel_count != CELL_NULL);
    d->scopes_all = number_of_all(d->scopes_all, d->scope_count, !d->scopes_unknown);
    if (r.rc || r.j.error)
        return r.rc ? r.rc : GPUFL_E_CORRUPT;
    if (r.format > DIGEST_FORMAT)
        return GPUFL_E_STATE;
    return r.format == DIGEST_FORMAT && d->session && d->app && d->host && d->kernels &&
                   d->scopes && d->facts
               ? 0
               : GPUFL_E_CORRUPT;
}
