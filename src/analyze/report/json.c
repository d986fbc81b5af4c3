/* json.c - the report for programs: exact integers under stable keys.
 *
 * docs/report.md describes the keys. Times are ns, sizes bytes; what is unknown
 * is null. Keys are added, never renamed. */
#include "analyze/common/cells.h"
#include "analyze/common/json_out.h"
#include "analyze/insight/findings.h"
#include "analyze/report/report.h"
#include "symbol/names/demangle.h"

#include <inttypes.h>
#include <string.h>

enum { JSON_FORMAT = 1 };

struct page_json {
    const struct report *report;
    const struct model *model;
    struct json_out out;
    int code; /* first failure beside the output's own */
};

static const char *text_of(const struct page_json *p, int64_t name)
{
    return name > 0 ? model_text(p->model, (uint32_t)name) : "";
}

/* Sentences, a line each, as an array of strings. */
static void put_lines(struct page_json *p, const char *key, struct buf *text)
{
    json_out_array(&p->out, key);
    const char *at = buf_cstr(text);
    if (buf_error(text))
        p->code = GPUFL_E_NOMEM;
    while (*at) {
        size_t len = strcspn(at, "\n");
        char line[1024];
        snprintf(line, sizeof line, "%.*s", (int)len, at);
        json_out_text(&p->out, NULL, line);
        at += len + (at[len] == '\n');
    }
    json_out_close_array(&p->out);
}

/* A number, or null where nobody knows. */
static void put_known(struct json_out *j, const char *key, bool known, int64_t v)
{
    json_out_int(j, key, known ? v : CELL_NULL);
}

static void put_sums(struct json_out *j, const struct histogram *h, bool known)
{
    put_known(j, "count", known, (int64_t)h->count);
    put_known(j, "total_ns", known, h->total);
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

/* ---- sessions -------------------------------------------------------------------------- */

static void put_facts(struct page_json *p)
{
    const struct sum_facts *f = &p->model->facts;
    struct json_out *j = &p->out;
    bool merged = p->report->count > 1;
    json_out_object(j, merged ? "run" : "session");
    const struct {
        const char *key;
        uint32_t name;
    } texts[] = {{"id", f->session},      {"app", f->app},
                 {"host", f->host},       {"run", f->run},
                 {"command", f->command}, {"engine", f->engine},
                 {"backend", f->backend}, {"version", f->version},
                 {"system", f->system},   {"end_reason", f->end_reason},
                 {"ending", f->ending}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        json_out_text_or_null(j, texts[i].key, text_of(p, texts[i].name));
    json_out_int(j, "pid", f->sessions == 1 && f->pid > 0 ? f->pid : CELL_NULL);
    json_out_bool(j, "simulated", f->simulated);
    json_out_bool(j, "partial", f->partial);
    json_out_bool(j, "clean_end", !f->unclean);
    json_out_count(j, "unclean_sessions", f->unclean);
    json_out_count(j, "cut_short_sessions", f->cut_short);
    json_out_count(j, "sessions_without_gpu_work", f->apart);
    int64_t start = merged ? f->start : f->clock.known ? f->start + f->clock.offset : CELL_NULL;
    json_out_int(j, "start_epoch_ns", start);
    json_out_int(j, "duration_ns", sum_facts_duration(p->model));
    json_out_int(j, "clock_offset_ns", merged || !f->clock.known ? CELL_NULL : f->clock.offset);
    json_out_close_object(j);
}

static void put_sessions(struct page_json *p)
{
    struct json_out *j = &p->out;
    json_out_array(j, "sessions");
    for (size_t i = 0; i < p->report->count; i++) {
        const struct report_session *s = &p->report->sessions[i];
        json_out_object(j, NULL);
        json_out_text(j, "dir", s->dir);
        json_out_text_or_null(j, "error", s->failure ? s->failure : "");
        json_out_text_or_null(j, "id", text_of(p, s->session));
        json_out_text_or_null(j, "app", text_of(p, s->app));
        json_out_text_or_null(j, "host", text_of(p, s->host));
        json_out_text_or_null(j, "run", text_of(p, s->run));
        json_out_text_or_null(j, "engine", text_of(p, s->engine));
        json_out_text_or_null(j, "asked", text_of(p, s->stand_in.asked));
        json_out_text_or_null(j, "ran_as", text_of(p, s->stand_in.ran));
        json_out_text_or_null(j, "why", text_of(p, s->stand_in.why));
        json_out_text_or_null(j, "backend", text_of(p, s->backend));
        json_out_int(j, "pid", s->pid > 0 ? s->pid : CELL_NULL);
        json_out_int(j, "pass", s->pass ? s->pass : CELL_NULL);
        json_out_int(j, "start_epoch_ns", s->start ? s->start : CELL_NULL);
        json_out_int(j, "duration_ns", s->duration);
        json_out_int(j, "kernels", s->unknown ? CELL_NULL : (int64_t)s->kernels);
        json_out_int(j, "kernel_ns", s->unknown ? CELL_NULL : s->kernel_time);
        json_out_int(j, "busy_ns", s->unknown ? CELL_NULL : s->busy);
        json_out_bool(j, "gpu_work", !s->idle);
        json_out_bool(j, "simulated", s->simulated);
        json_out_bool(j, "clean_end", !s->unclean);
        json_out_bool(j, "cut_short", s->cut_short);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

static void put_log(struct page_json *p)
{
    const struct load_stats *s = &p->report->stats;
    struct json_out *j = &p->out;
    json_out_object(j, "log");
    json_out_count(j, "parts", s->files.parts);
    json_out_count(j, "missing_parts", s->missing);
    json_out_count(j, "unreadable_parts", s->files.unreadable);
    json_out_count(j, "broken_off_parts", s->files.cut);
    json_out_count(j, "lines", s->lines.lines);
    json_out_count(j, "damaged_lines", s->lines.damaged - s->cut_lines);
    json_out_count(j, "unfinished_lines", s->cut_lines);
    json_out_count(j, "too_long_lines", s->files.too_long);
    json_out_count(j, "unknown_records", s->lines.unknown_records);
    json_out_count(j, "unknown_columns", s->lines.unknown_columns);
    json_out_count(j, "gpuflight_lines", s->lines.foreign);
    json_out_count(j, "gpuflight_lines_unused", s->lines.foreign_unmapped);
    json_out_count(j, "gpuflight_losses", p->report->losses);
    json_out_count(j, "foreign_files", p->report->foreign);
    json_out_close_object(j);
}

/* ---- ledger ---------------------------------------------------------------------------- */

static void put_rows_read(struct page_json *p)
{
    json_out_object(&p->out, "rows_read");
    for (int i = 0; i < RECORD_COUNT; i++)
        if (records[i].kind == RECORD_KIND_EVENT)
            json_out_count(&p->out, records[i].type, p->model->facts.rows[i]);
    json_out_close_object(&p->out);
}

static void put_ledger(struct page_json *p)
{
    static const char *const verdicts[] = {"absent", "complete", "uncounted", "incomplete"};
    const struct sum_ledger *l = &p->model->ledger;
    const int64_t *cells = (const int64_t *)&l->row;
    struct json_out *j = &p->out;
    struct buf text;
    buf_init(&text, 1 << 16);
    json_out_object(j, "ledger");
    json_out_text(j, "verdict", verdicts[sum_ledger_judge(p->model, &text)]);
    put_lines(p, "missing", &text);
    json_out_bool(j, "final", l->final);
    for (unsigned c = COL_ledger_launches; c < COL_ledger_COUNT; c++)
        json_out_int(j, records[RECORD_ledger].columns[c].name, l->any ? cells[c] : CELL_NULL);
    put_rows_read(p);
    json_out_close_object(j);
    buf_fini(&text);
}

/* What other sessions say of the feature. */
static void put_other_answers(struct page_json *p, const struct facts_capability *best)
{
    const struct sum_facts *f = &p->model->facts;
    struct json_out *j = &p->out;
    json_out_array(j, "others");
    for (size_t i = 0; i < f->capability_count; i++) {
        const struct facts_capability *c = &f->capabilities[i];
        if (c == best || c->feature != best->feature)
            continue;
        json_out_object(j, NULL);
        json_out_bool(j, "requested", c->requested);
        json_out_text(j, "status", text_of(p, c->status));
        json_out_text_or_null(j, "reason", text_of(p, c->reason));
        json_out_int(j, "sessions", c->sessions);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

static void put_lists(struct page_json *p)
{
    const struct sum_facts *f = &p->model->facts;
    struct json_out *j = &p->out;
    json_out_array(j, "settings");
    for (size_t k = 0; k < f->setting_count; k++) {
        json_out_object(j, NULL);
        json_out_text(j, "engine", text_of(p, f->settings[k].engine));
        json_out_text(j, "name", text_of(p, f->settings[k].name));
        json_out_text(j, "value", text_of(p, f->settings[k].value));
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_array(j, "capabilities");
    for (size_t i = 0; i < f->capability_count; i++) {
        if (!sum_facts_is_best(p->model, &f->capabilities[i]))
            continue;
        json_out_object(j, NULL);
        json_out_text(j, "feature", text_of(p, f->capabilities[i].feature));
        json_out_bool(j, "requested", f->capabilities[i].requested);
        json_out_text(j, "status", text_of(p, f->capabilities[i].status));
        json_out_text_or_null(j, "reason", text_of(p, f->capabilities[i].reason));
        json_out_int(j, "pass", f->capabilities[i].pass ? f->capabilities[i].pass : CELL_NULL);
        json_out_int(j, "sessions", f->capabilities[i].sessions);
        put_other_answers(p, &f->capabilities[i]);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_array(j, "options");
    for (size_t i = 0; i < f->option_count; i++) {
        json_out_object(j, NULL);
        json_out_text(j, "name", text_of(p, f->options[i].name));
        json_out_text(j, "value", text_of(p, f->options[i].value));
        json_out_text(j, "source", text_of(p, f->options[i].source));
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_array(j, "messages");
    for (size_t i = 0; i < f->message_count; i++) {
        static const char *const severities[] = {"", "note", "warning", "error"};
        json_out_object(j, NULL);
        json_out_text(j, "severity", severities[f->messages[i].severity]);
        json_out_text(j, "code", text_of(p, f->messages[i].code));
        json_out_text(j, "text", text_of(p, f->messages[i].text));
        json_out_count(j, "count", f->messages[i].count);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

/* ---- devices --------------------------------------------------------------------------- */

static void put_busy(struct json_out *j, const char *key, const struct busy *b, int64_t from,
                     bool known)
{
    struct busy_result r;
    busy_result(b, &r);
    json_out_object(j, key);
    put_known(j, "busy_ns", known, r.busy);
    put_known(j, "doubtful_ns", known, r.doubtful);
    put_known(j, "first_ns", r.busy > 0, r.first - from);
    put_known(j, "last_ns", r.busy > 0, r.last - from);
    put_known(j, "idle_ns", known, r.idle);
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

static void put_metric(struct json_out *j, const char *name, const struct metric_sum *s)
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
            put_metric(j, records[RECORD_device_metric].columns[c].name, &d->metrics[c]);
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

static void put_device(struct page_json *p, uint32_t i)
{
    const struct device_sum *d = &p->model->devices.items[i];
    const struct record *r = &records[RECORD_device];
    const int64_t *cells = (const int64_t *)&d->row;
    struct json_out *j = &p->out;
    json_out_object(j, NULL);
    json_out_bool(j, "known", d->named);
    for (unsigned c = COL_device_index; c < COL_device_COUNT; c++)
        if (r->columns[c].ref == RECORD_name)
            json_out_text_or_null(j, r->columns[c].name, text_of(p, cells[c]));
        else
            json_out_int(j, r->columns[c].name, d->named ? cells[c] : CELL_NULL);
    bool known = sum_devices_known(p->model, i);
    put_known(j, "kernels", known, (int64_t)d->kernels);
    put_busy(j, "compute", &d->compute, p->model->facts.start, known);
    put_busy(j, "any", &d->any, p->model->facts.start,
             d->any.count || (known && sum_known_is(p->model, KNOWN_COPIES)));
    if (i < p->model->metrics.device_count && p->model->metrics.devices[i].samples)
        put_device_metrics(j, &p->model->metrics.devices[i]);
    else
        json_out_null(j, "metrics");
    json_out_close_object(j);
}

static void put_devices(struct page_json *p)
{
    const struct model *m = p->model;
    json_out_array(&p->out, "devices");
    for (uint32_t i = 0; i < m->devices.count; i++)
        if (m->devices.items[i].named || m->devices.items[i].any.count ||
            (i < m->metrics.device_count && m->metrics.devices[i].samples))
            put_device(p, i);
    json_out_close_array(&p->out);
    json_out_object(&p->out, "host");
    json_out_count(&p->out, "samples", m->metrics.host_samples);
    json_out_count(&p->out, "process_samples", m->metrics.process_samples);
    for (unsigned c = COL_host_metric_time + 1; c < COL_host_metric_COUNT; c++)
        put_metric(&p->out, records[RECORD_host_metric].columns[c].name, &m->metrics.host[c]);
    json_out_close_object(&p->out);
}

/* ---- kernels --------------------------------------------------------------------------- */

static void put_config(struct page_json *p, const struct kernel_config *k)
{
    const struct record *r = &records[RECORD_config];
    const int64_t *cells = (const int64_t *)&k->row;
    uint32_t device = sum_devices_resolve(p->model, k->row.device);
    struct json_out *j = &p->out;
    json_out_object(j, NULL);
    for (unsigned c = COL_config_device; c < COL_config_COUNT; c++)
        if (c == COL_config_device)
            json_out_int(j, "device",
                         device ? p->model->devices.items[device].row.index : CELL_NULL);
        else if (r->columns[c].ref == RECORD_name)
            json_out_text_or_null(j, r->columns[c].name, text_of(p, cells[c]));
        else
            json_out_int(j, r->columns[c].name, cells[c]);
    put_histogram(j, &k->time);
    json_out_count(j, "graph", k->graph);
    json_out_close_object(j);
}

static void put_kernel(struct page_json *p, const struct kernel_name *n)
{
    const struct sum_kernels *k = &p->model->kernels;
    struct json_out *j = &p->out;
    struct buf name;
    buf_init(&name, DEMANGLE_ROOM);
    demangle_put(&name, text_of(p, n->name));
    json_out_object(j, NULL);
    json_out_text_or_null(j, "name", buf_cstr(&name));
    json_out_text_or_null(j, "symbol", text_of(p, n->name));
    put_histogram(j, &n->time);
    json_out_count(j, "graph", n->graph);
    json_out_array(j, "configs");
    for (uint32_t c = 0; c < n->configs; c++)
        if (k->by_name[n->first + c])
            put_config(p, sum_kernels_config(k, k->by_name[n->first + c]));
    json_out_close_array(j);
    json_out_close_object(j);
    if (buf_error(&name))
        p->code = GPUFL_E_NOMEM;
    buf_fini(&name);
}

static void put_kernels(struct page_json *p)
{
    const struct sum_kernels *k = &p->model->kernels;
    struct json_out *j = &p->out;
    json_out_object(j, "kernels");
    bool known = sum_known_is(p->model, KNOWN_KERNELS);
    put_sums(j, &k->time, known);
    put_busy(j, "busy", &p->model->devices.compute, p->model->facts.start, known);
    json_out_count(j, "invalid", k->invalid);
    put_known(j, "names", known, (int64_t)k->name_count);
    json_out_array(j, "by_name");
    for (size_t i = 0; i < k->name_count && i < report_top(p->report); i++)
        put_kernel(p, &k->names[i]);
    json_out_close_array(j);
    json_out_close_object(j);
}

/* ---- the rest -------------------------------------------------------------------------- */

static void put_transfer(struct json_out *j, const char *key, const struct transfer_sum *s,
                         bool known)
{
    json_out_object(j, key);
    put_known(j, "count", known, (int64_t)s->count);
    put_known(j, "bytes", known, s->bytes);
    put_known(j, "total_ns", known, s->time);
    put_known(j, "max_ns", known, s->max);
    if (s->time > 0)
        json_out_number(j, "gb_per_s", (double)s->bytes / (double)s->time);
    else
        json_out_null(j, "gb_per_s");
}

static void put_transfers(struct page_json *p)
{
    const struct sum_transfers *t = &p->model->transfers;
    struct transfer_sum all = sum_transfers_copies(p->model);
    struct json_out *j = &p->out;
    bool known = sum_known_is(p->model, KNOWN_COPIES);
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

/* How launches of graphs ran on the GPU. */
static void put_graph_runs(struct page_json *p, bool known)
{
    const struct sum_graphs *s = &p->model->graphs;
    struct json_out *j = &p->out;
    json_out_text_or_null(j, "activity", sum_graphs_activity(s));
    put_known(j, "runs", known, (int64_t)s->all.launches);
    put_known(j, "gpu_ns", known, s->all.time);
    put_known(j, "longest_ns", known, s->all.max);
    json_out_array(j, "by_graph");
    for (size_t i = 0; i < s->by_time_count && i < report_top(p->report); i++) {
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

static void put_waits(struct page_json *p)
{
    const struct sum_waits *w = &p->model->waits;
    struct json_out *j = &p->out;
    uint64_t count;
    int64_t total;
    struct busy_result blocked;
    sum_waits_blocking(p->model, &count, &total);
    busy_result(&w->blocked, &blocked);
    json_out_object(j, "synchronizations");
    bool known = sum_known_is(p->model, KNOWN_SYNCS);
    put_known(j, "host_waits", known, (int64_t)count);
    put_known(j, "host_wait_ns", known, total);
    put_known(j, "host_waiting_ns", known, blocked.busy);
    json_out_object(j, "by_kind");
    for (int i = 0; i < WAIT_KINDS; i++) {
        if (!w->kinds[i].count)
            continue;
        json_out_object(j, sum_waits_key(i));
        json_out_bool(j, "blocks_host", sum_waits_blocks(i));
        put_histogram(j, &w->kinds[i]);
        json_out_close_object(j);
    }
    json_out_close_object(j);
    json_out_close_object(j);
    json_out_array(j, "vendor_overhead");
    for (unsigned i = 0; i < w->overhead_count; i++) {
        json_out_object(j, NULL);
        json_out_text_or_null(j, "kind", text_of(p, w->overheads[i].kind));
        json_out_count(j, "count", w->overheads[i].count);
        json_out_int(j, "total_ns", w->overheads[i].time);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_object(j, "graphs");
    bool all = sum_known_is(p->model, KNOWN_GRAPHS); /* no launch is not known of */
    bool timed = w->graph_launches ? w->graph_untimed < w->graph_launches : all;
    bool sized = w->graph_launches ? w->graph_unknown < w->graph_launches : all;
    put_known(j, "launches", all, (int64_t)w->graph_launches);
    put_known(j, "launch_ns", timed, w->graph_time);
    put_known(j, "kernels", sized, w->graph_kernels);
    json_out_count(j, "launches_of_unknown_size", w->graph_unknown);
    put_graph_runs(p, all || sum_known_is(p->model, KNOWN_KERNELS)); /* they are of kernels */
    json_out_close_object(j);
}

/* All kinds: null where it was not recorded. */
static void put_managed(struct page_json *p)
{
    struct json_out *j = &p->out;
    bool known = sum_known_is(p->model, KNOWN_MANAGED);
    json_out_object(j, "managed_memory");
    for (int i = 0; i < MANAGED_KINDS; i++) {
        const struct managed_sum *k = &p->model->managed.kinds[i];
        json_out_object(j, sum_managed_key(i));
        put_known(j, "count", known, (int64_t)k->count);
        put_known(j, "bytes", known, k->bytes);
        put_known(j, "faults", known, k->faults);
        put_known(j, "total_ns", known, k->time);
        json_out_close_object(j);
    }
    json_out_close_object(j);
}

static void put_memory_use(struct json_out *j, const struct memory_use *u, bool known)
{
    put_known(j, "allocations", known, (int64_t)u->allocs);
    put_known(j, "allocated_bytes", known, u->alloc_bytes);
    put_known(j, "frees", known, (int64_t)u->frees);
    put_known(j, "freed_bytes", known, u->free_bytes);
    put_known(j, "peak_bytes", known, u->peak);
}

static void put_memory(struct page_json *p)
{
    json_out_object(&p->out, "memory");
    bool known = sum_known_is(p->model, KNOWN_MEMORY);
    put_memory_use(&p->out, &p->model->memory.gpu, known);
    json_out_object(&p->out, "host");
    put_memory_use(&p->out, &p->model->memory.host, known);
    json_out_close_object(&p->out);
    json_out_close_object(&p->out);
}

/* Ids are 64-bit patterns: as text, which loses no digit. */
static void put_external(struct page_json *p)
{
    const struct sum_external *s = &p->model->external;
    struct json_out *j = &p->out;
    json_out_object(j, "external_correlation");
    bool known = s->kernels || sum_known_is(p->model, KNOWN_KERNELS);
    put_known(j, "kernels", known, (int64_t)s->kernels);
    put_known(j, "total_ns", known, s->ns);
    put_known(j, "ids", known, (int64_t)s->by_time_count);
    json_out_bool(j, "more_ids", s->ids.refused > 0);
    json_out_array(j, "by_id");
    for (size_t i = 0; i < s->by_time_count && i < report_top(p->report); i++) {
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

/* Tells, for each kind of activity, how many sessions know what they did, and why others do not. */
static void put_what_is_known(struct page_json *p)
{
    static const char *const answers[KNOWN_ANSWERS] = {NULL, "not_recorded", "damaged", "lost",
                                                       "not_told"};
    struct json_out *j = &p->out;
    struct buf text;
    buf_init(&text, 1 << 12);
    json_out_object(j, "known");
    for (int k = 0; k < KNOWN_KINDS; k++) {
        const char *feature = sum_known_feature((enum known_kind)k);
        unsigned without = sum_known_without(p->model, (enum known_kind)k);
        const char *why = answers[sum_known_why(p->model, (enum known_kind)k)];
        if (without)
            findings_put_none(p->model, feature, &text);
        if (buf_error(&text))
            p->code = GPUFL_E_NOMEM;
        json_out_object(j, feature);
        json_out_count(j, "sessions", p->model->known.sessions[k][KNOWN_COUNTED]);
        json_out_count(j, "without", without);
        json_out_text_or_null(j, "why", why ? why : "");
        json_out_text_or_null(j, "text", buf_cstr(&text));
        json_out_close_object(j);
        buf_clear(&text);
    }
    json_out_close_object(j);
    buf_fini(&text);
}

static void put_windows(struct page_json *p)
{
    const struct sum_windows *s = &p->model->windows;
    json_out_object(&p->out, "windows");
    json_out_count(&p->out, "opened", s->capture.opened);
    json_out_int(&p->out, "recorded_ns", s->capture.opened ? sum_windows_time(p->model) : 0);
    json_out_bool(&p->out, "still_open", s->capture.open > 0);
    json_out_count(&p->out, "kernels_opened", s->kernels.opened);
    json_out_int(&p->out, "kernels_recorded_ns",
                 s->kernels.opened ? sum_windows_gpu_time(p->model) : 0);
    json_out_close_object(&p->out);
}

static void put_sentences(struct page_json *p, const char *key,
                          void (*put)(const struct model *m, struct buf *out))
{
    struct buf text;
    buf_init(&text, 1 << 20); /* names are shortened in it */
    put(p->model, &text);
    put_lines(p, key, &text);
    buf_fini(&text);
}

int report_json(const struct report *r, FILE *out)
{
    struct page_json p = {.report = r, .model = &r->model};
    json_out_init(&p.out, out);
    json_out_object(&p.out, NULL);
    json_out_int(&p.out, "format", JSON_FORMAT);
    json_out_text(&p.out, "gpufl", GPUFL_VERSION);
    json_out_bool(&p.out, "simulated", p.model->facts.simulated);
    put_sentences(&p, "summary", findings_put);
    put_sentences(&p, "caveats", findings_caveats);
    if (json_insights(r, &p.out) || json_profile(r, &p.out))
        p.code = GPUFL_E_NOMEM;
    put_facts(&p);
    put_sessions(&p);
    json_passes(r, &p.out);
    put_log(&p);
    put_ledger(&p);
    put_lists(&p);
    put_what_is_known(&p);
    put_devices(&p);
    if (json_shared(r, &p.out))
        p.code = GPUFL_E_NOMEM;
    put_kernels(&p);
    put_transfers(&p);
    put_waits(&p);
    put_memory(&p);
    put_managed(&p);
    put_external(&p);
    put_windows(&p);
    if (json_scopes(r, &p.out))
        p.code = GPUFL_E_NOMEM;
    json_out_close_object(&p.out);
    int rc = json_out_finish(&p.out);
    return rc ? rc : p.code;
}
