/* json_tables.c - writes what ran, for programs: devices, kernels, copies, waits and memory. */
#include "analyze/common/cells.h"
#include "analyze/report/json.h"

#include <inttypes.h>
#include <stdio.h>

static const char *text_of(const struct model *m, int64_t name)
{
    return name > 0 ? model_text(m, (uint32_t)name) : "";
}

static void put_sums(struct json_out *j, const struct histogram *h, bool known)
{
    json_out_known(j, "count", known, (int64_t)h->count);
    json_out_known(j, "total_ns", known, h->total);
    json_out_int(j, "min_ns", h->count ? h->min : CELL_NULL);
    json_out_int(j, "max_ns", h->count ? h->max : CELL_NULL);
    json_out_int(j, "mean_ns", h->count ? histogram_mean(h) : CELL_NULL);
    json_out_int(j, "median_ns", h->count ? histogram_quantile(h, 0.5) : CELL_NULL);
    json_out_int(j, "p90_ns", h->count ? histogram_quantile(h, 0.9) : CELL_NULL);
    json_out_int(j, "p99_ns", h->count ? histogram_quantile(h, 0.99) : CELL_NULL);
}

static void put_histogram(struct json_out *j, const struct histogram *h)
{
    put_sums(j, h, true);
}

/* ---- devices --------------------------------------------------------------------------- */

static void put_busy(struct json_out *j, const char *key, const struct busy *b, int64_t from,
                     bool known)
{
    struct busy_result r;
    busy_result(b, &r);
    json_out_object(j, key);
    json_out_known(j, "busy_ns", known, r.busy);
    json_out_known(j, "doubtful_ns", known, r.doubtful);
    json_out_known(j, "first_ns", r.busy > 0, r.first - from);
    json_out_known(j, "last_ns", r.busy > 0, r.last - from);
    json_out_known(j, "idle_ns", known, r.idle);
    json_out_array(j, "gaps");
    for (int i = 0; known && i < BUSY_GAP_CLASSES; i++) {
        json_out_object(j, NULL);
        json_out_int(j, "below_ns", i < BUSY_GAP_CLASSES - 1 ? busy_gap_limits[i] : CELL_NULL);
        json_out_count(j, "count", r.gaps.count[i]);
        json_out_int(j, "total_ns", r.gaps.total[i]);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_array(j, "longest_gaps");
    for (int i = 0; i < BUSY_GAPS && r.gaps.longest[i].end > r.gaps.longest[i].start; i++) {
        json_out_object(j, NULL);
        json_out_int(j, "start_ns", r.gaps.longest[i].start - from);
        json_out_int(j, "duration_ns", r.gaps.longest[i].end - r.gaps.longest[i].start);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_close_object(j);
}

/* Writes a metric. total: the values add up. */
static void put_metric(struct json_out *j, const char *name, const struct metric_sum *s, bool total)
{
    if (!s->count) {
        json_out_null(j, name);
        return;
    }
    json_out_object(j, name);
    json_out_count(j, "samples", s->count);
    json_out_number(j, "mean", sum_metrics_mean(s));
    json_out_int(j, "max", s->max);
    json_out_int(j, "min", s->min);
    if (total)
        json_out_number(j, "total", s->sum);
    json_out_close_object(j);
}

static void put_device_metrics(struct json_out *j, const struct device_metrics *d)
{
    double joules;
    bool counter;
    json_out_object(j, "metrics");
    json_out_count(j, "samples", d->samples);
    for (unsigned c = COL_device_metric_device + 1; c < COL_device_metric_COUNT; c++)
        if (c != COL_device_metric_throttle && c != COL_device_metric_energy)
            put_metric(j, records[RECORD_device_metric].columns[c].name, &d->metrics[c], false);
    bool known = sum_metrics_energy(d, &joules, &counter);
    if (known)
        json_out_number(j, "energy_j", joules);
    else
        json_out_null(j, "energy_j");
    json_out_text_or_null(j, "energy_source", counter ? "counter" : known ? "power" : "");
    json_out_object(j, "throttle_samples");
    json_out_count(j, "known", d->throttle_known);
    for (int i = 0; i < THROTTLE_BITS; i++)
        json_out_count(j, sum_metrics_throttle_key(i), d->throttled[i]);
    json_out_close_object(j);
    json_out_close_object(j);
}

static void put_device(const struct model *m, struct json_out *j, uint32_t i)
{
    const struct device_sum *d = &m->devices.items[i];
    const struct record *r = &records[RECORD_device];
    const int64_t *cells = (const int64_t *)&d->row;
    json_out_object(j, NULL);
    json_out_bool(j, "known", d->named);
    for (unsigned c = COL_device_index; c < COL_device_COUNT; c++)
        if (r->columns[c].ref == RECORD_name)
            json_out_text_or_null(j, r->columns[c].name, text_of(m, cells[c]));
        else
            json_out_int(j, r->columns[c].name, d->named ? cells[c] : CELL_NULL);
    bool known = sum_devices_known(m, i);
    json_out_known(j, "kernels", known, (int64_t)d->kernels);
    put_busy(j, "compute", &d->compute, m->facts.start, known);
    put_busy(j, "any", &d->any, m->facts.start,
             d->any.count || (known && sum_known_is(m, KNOWN_COPIES)));
    if (i < m->metrics.device_count && m->metrics.devices[i].samples)
        put_device_metrics(j, &m->metrics.devices[i]);
    else
        json_out_null(j, "metrics");
    json_out_close_object(j);
}

void json_devices(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    json_out_array(j, "devices");
    for (uint32_t i = 0; i < m->devices.count; i++)
        if (m->devices.items[i].named || m->devices.items[i].any.count ||
            (i < m->metrics.device_count && m->metrics.devices[i].samples))
            put_device(m, j, i);
    json_out_close_array(j);
}

void json_host(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    json_out_object(j, "host");
    json_out_count(j, "samples", m->metrics.host_samples);
    json_out_count(j, "process_samples", m->metrics.process_samples);
    for (unsigned c = COL_host_metric_time + 1; c < COL_host_metric_COUNT; c++)
        put_metric(j, records[RECORD_host_metric].columns[c].name, &m->metrics.host[c],
                   sum_metrics_is_count(c));
    json_out_close_object(j);
}

/* ---- kernels --------------------------------------------------------------------------- */

static void put_config(const struct model *m, struct json_out *j, const struct kernel_config *k)
{
    const struct record *r = &records[RECORD_config];
    const int64_t *cells = (const int64_t *)&k->row;
    uint32_t device = sum_devices_resolve(m, k->row.device);
    json_out_object(j, NULL);
    for (unsigned c = COL_config_device; c < COL_config_COUNT; c++)
        if (c == COL_config_device)
            json_out_int(j, "device", device ? m->devices.items[device].row.index : CELL_NULL);
        else if (r->columns[c].ref == RECORD_name)
            json_out_text_or_null(j, r->columns[c].name, text_of(m, cells[c]));
        else
            json_out_int(j, r->columns[c].name, cells[c]);
    put_histogram(j, &k->time);
    json_out_count(j, "graph", k->graph);
    json_out_close_object(j);
}

/* Puts the configurations with most time, and the number of all. */
static void put_configs(const struct report *r, struct json_out *j, const struct kernel_name *n)
{
    const struct sum_kernels *k = &r->model.kernels;
    size_t count = 0, most = report_bounded(SIZE_MAX, r->bounds.configs);
    json_out_array(j, "configs");
    for (uint32_t c = 0; c < n->configs; c++)
        if (k->by_name[n->first + c] && count++ < most)
            put_config(&r->model, j, sum_kernels_config(k, k->by_name[n->first + c]));
    json_out_close_array(j);
    json_out_count(j, "config_count", count);
}

/* Puts where the kernel is defined, or null. */
static void put_definition(const struct model *m, struct json_out *j, uint32_t name)
{
    const struct kernel_definition *d = sum_definitions_of(m, name);
    if (!d) {
        json_out_null(j, "defined");
        return;
    }
    json_out_object(j, "defined");
    json_out_text_or_null(j, "file", model_text(m, d->file));
    json_out_count(j, "line", (uint64_t)d->line);
    json_out_close_object(j);
}

static void put_kernel(const struct report *r, struct json_out *j, const struct kernel_name *n)
{
    const struct model *m = &r->model;
    json_out_object(j, NULL);
    json_kernel_name(m, j, "name", n->name);
    json_short_name(m, j, n->name);
    json_out_text_or_null(j, "symbol", text_of(m, n->name));
    put_definition(m, j, n->name);
    put_histogram(j, &n->time);
    json_out_count(j, "graph", n->graph);
    put_configs(r, j, n);
    json_out_close_object(j);
}

/* Puts the places of all kernels whose place is known, for readers that do not take by_name. */
static void put_definitions(const struct model *m, struct json_out *j)
{
    const struct sum_kernels *k = &m->kernels;
    json_out_array(j, "defined");
    for (size_t i = 0; i < k->name_count; i++) {
        if (!sum_definitions_of(m, k->names[i].name))
            continue;
        json_out_object(j, NULL);
        json_out_text_or_null(j, "symbol", text_of(m, k->names[i].name));
        put_definition(m, j, k->names[i].name);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

void json_kernels(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_kernels *k = &m->kernels;
    json_out_object(j, "kernels");
    bool known = sum_known_is(m, KNOWN_KERNELS);
    put_sums(j, &k->time, known);
    put_busy(j, "busy", &m->devices.compute, m->facts.start, known);
    json_out_count(j, "invalid", k->invalid);
    json_out_known(j, "names", known, (int64_t)k->name_count);
    json_out_array(j, "by_name");
    for (size_t i = 0; i < k->name_count && i < report_top(r); i++)
        put_kernel(r, j, &k->names[i]);
    json_out_close_array(j);
    put_definitions(m, j);
    json_out_close_object(j);
}

/* ---- copies, waits, memory ------------------------------------------------------------- */

static void put_transfer(struct json_out *j, const char *key, const struct transfer_sum *s,
                         bool known)
{
    json_out_object(j, key);
    json_out_known(j, "count", known, (int64_t)s->count);
    json_out_known(j, "bytes", known, s->bytes);
    json_out_known(j, "total_ns", known, s->time);
    json_out_known(j, "max_ns", known, s->max);
    if (s->time > 0)
        json_out_number(j, "gb_per_s", (double)s->bytes / (double)s->time);
    else
        json_out_null(j, "gb_per_s");
}

void json_transfers(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_transfers *t = &m->transfers;
    struct transfer_sum all = sum_transfers_copies(m);
    bool known = sum_known_is(m, KNOWN_COPIES);
    put_transfer(j, "copies", &all, known);
    json_out_object(j, "by_kind");
    for (int i = 0; i < TRANSFER_KINDS; i++) {
        if (!t->kinds[i].count)
            continue;
        put_transfer(j, sum_transfers_kind(i), &t->kinds[i], true);
        put_transfer(j, "pageable", &t->pageable[i], true);
        json_out_close_object(j);
        json_out_close_object(j);
    }
    json_out_close_object(j);
    json_out_count(j, "invalid", t->invalid);
    json_out_close_object(j);
    put_transfer(j, "fills", &t->fills, known);
    json_out_close_object(j);
}

/* Puts how long launches of graphs ran on the GPU. */
static void put_graph_runs(const struct report *r, struct json_out *j, bool known)
{
    const struct sum_graphs *s = &r->model.graphs;
    json_out_text_or_null(j, "activity", sum_graphs_activity(s));
    json_out_known(j, "runs", known, (int64_t)s->all.launches);
    json_out_known(j, "gpu_ns", known, s->all.time);
    json_out_known(j, "longest_ns", known, s->all.max);
    bool more = s->graphs.refused > 0; /* they are one item of by_time */
    json_out_known(j, "graphs", known, (int64_t)(s->by_time_count - more));
    json_out_bool(j, "more_graphs", more);
    json_out_array(j, "by_graph");
    for (size_t i = 0; i < s->by_time_count && i < report_top(r); i++) {
        const struct graph_sum *g = keyed_at(&s->graphs, s->by_time[i]);
        json_out_object(j, NULL);
        json_out_int(j, "graph", g->graph);
        json_out_count(j, "runs", g->launches);
        json_out_int(j, "gpu_ns", g->time);
        json_out_int(j, "longest_ns", g->max);
        json_out_int(j, "kernels", g->kernels ? (int64_t)g->kernels : CELL_NULL);
        json_out_int(j, "kernel_ns", g->kernels ? g->kernel_time : CELL_NULL);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

void json_waits(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_wait_kinds *w = &m->wait_kinds;
    uint64_t count;
    int64_t total;
    struct busy_result blocked;
    sum_wait_kinds_blocking(m, &count, &total);
    busy_result(&w->blocked, &blocked);
    json_out_object(j, "synchronizations");
    bool known = sum_known_is(m, KNOWN_SYNCS), timed = false;
    if (!known && sum_known_is(m, KNOWN_WAITS)) { /* engine Sync: calls on the program's threads */
        sum_wait_lines_explicit(m, &count, &total);
        timed = true;
    }
    json_out_known(j, "host_waits", known || timed, (int64_t)count);
    json_out_known(j, "host_wait_ns", known || timed, total);
    json_out_known(j, "host_waiting_ns", known, blocked.busy);
    json_out_object(j, "by_kind");
    for (int i = 0; i < SYNC_KINDS; i++) {
        if (!w->kinds[i].count)
            continue;
        json_out_object(j, sum_wait_kinds_key(i));
        json_out_bool(j, "blocks_host", sum_wait_kinds_blocks(i));
        put_histogram(j, &w->kinds[i]);
        json_out_close_object(j);
    }
    json_out_close_object(j);
    json_out_close_object(j);
}

void json_overhead(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_wait_kinds *w = &m->wait_kinds;
    json_out_array(j, "vendor_overhead");
    for (unsigned i = 0; i < w->overhead_count; i++) {
        json_out_object(j, NULL);
        json_out_text_or_null(j, "kind", text_of(m, w->overheads[i].kind));
        json_out_count(j, "count", w->overheads[i].count);
        json_out_int(j, "total_ns", w->overheads[i].time);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

void json_graphs(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_wait_kinds *w = &m->wait_kinds;
    json_out_object(j, "graphs");
    bool all = sum_known_is(m, KNOWN_GRAPHS); /* the number of launches is known */
    bool timed = w->graph_launches ? w->graph_untimed < w->graph_launches : all;
    bool sized = w->graph_launches ? w->graph_unknown < w->graph_launches : all;
    json_out_known(j, "launches", all, (int64_t)w->graph_launches);
    json_out_known(j, "launch_ns", timed, w->graph_time);
    json_out_known(j, "kernels", sized, w->graph_kernels);
    json_out_count(j, "launches_of_unknown_size", w->graph_unknown);
    put_graph_runs(r, j, all || sum_known_is(m, KNOWN_KERNELS)); /* from rows of kernels */
    json_out_close_object(j);
}

/* Puts every kind; null if it was not recorded. */
void json_managed(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    bool known = sum_known_is(m, KNOWN_MANAGED);
    json_out_object(j, "managed_memory");
    for (int i = 0; i < MANAGED_KINDS; i++) {
        const struct managed_sum *k = &m->managed.kinds[i];
        json_out_object(j, sum_managed_key(i));
        json_out_known(j, "count", known, (int64_t)k->count);
        json_out_known(j, "bytes", known, k->bytes);
        json_out_known(j, "faults", known, k->faults);
        json_out_known(j, "total_ns", known, k->time);
        json_out_close_object(j);
    }
    json_out_close_object(j);
}

static void put_memory_use(struct json_out *j, const struct memory_use *u, bool known)
{
    json_out_known(j, "allocations", known, (int64_t)u->allocs);
    json_out_known(j, "allocated_bytes", known && !u->allocs_unsized, u->alloc_bytes);
    json_out_known(j, "frees", known, (int64_t)u->frees);
    json_out_known(j, "freed_bytes", known && !u->frees_unsized, u->free_bytes);
    json_out_known(j, "peak_bytes", known && sum_memory_sized(u), u->peak);
}

void json_memory(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    json_out_object(j, "memory");
    bool known = sum_known_is(m, KNOWN_MEMORY);
    put_memory_use(j, &m->memory.gpu, known);
    json_out_object(j, "host");
    put_memory_use(j, &m->memory.host, known);
    json_out_close_object(j);
    json_out_close_object(j);
}

/* Ids are 64-bit patterns, which are written as text so that no digit is lost. */
void json_external(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_external *s = &m->external;
    json_out_object(j, "external_correlation");
    bool known = s->kernels || sum_known_is(m, KNOWN_KERNELS);
    json_out_known(j, "kernels", known, (int64_t)s->kernels);
    json_out_known(j, "total_ns", known, s->ns);
    json_out_known(j, "ids", known, (int64_t)s->by_time_count);
    json_out_bool(j, "more_ids", s->ids.refused > 0);
    json_out_array(j, "by_id");
    for (size_t i = 0; i < s->by_time_count && i < report_top(r); i++) {
        const struct external_sum *one = keyed_at(&s->ids, s->by_time[i]);
        char id[24];
        snprintf(id, sizeof id, "%" PRIu64, (uint64_t)one->id);
        json_out_object(j, NULL);
        json_out_text(j, "kind", sum_external_kind(one->kind));
        json_out_text(j, "id", id);
        json_out_count(j, "kernels", one->kernels);
        json_out_int(j, "total_ns", one->ns);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_close_object(j);
}
