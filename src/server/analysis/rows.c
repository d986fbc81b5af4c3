/* rows.c - turns a report's model into rows of tables; see rows.h. */
#include "server/analysis/rows.h"

#include "analyze/common/cells.h"
#include "analyze/compare/digest.h"
#include "analyze/model/scopes/longest.h"
#include "base/alloc.h"
#include "base/bins.h"
#include "base/printable.h"
#include "symbol/names/demangle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DAY_NS 86400000000000ll

enum { DAYS_MAX = 400, HISTORY_MAX = 1 << 16, HISTORY_SCOPES = 1024 };

/* Returns a name in the form of the tables: UTF-8 without control characters, cut. "" for none. */
static const char *table_text(struct region *memory, const char *text)
{
    size_t len = strlen(text), size = (len < META_TEXT_MAX ? len : META_TEXT_MAX - 1) + 1;
    char *out = region_take(memory, size);
    if (out)
        printable_copy(out, size, text, len);
    return out;
}

static const char *name_text(const struct report *r, struct region *memory, int64_t name)
{
    return table_text(memory, name > 0 ? model_text(&r->model, (uint32_t)name) : "");
}

/* Returns a function's name for people: host frames are logged mangled, as kernels are. */
static const char *function_text(const struct report *r, struct region *memory, int64_t name)
{
    struct buf text;
    if (name <= 0)
        return table_text(memory, "");
    buf_init(&text, DEMANGLE_ROOM);
    demangle_put(&text, model_text(&r->model, (uint32_t)name));
    const char *out = buf_error(&text) ? NULL : table_text(memory, buf_cstr(&text));
    buf_fini(&text);
    return out;
}

static const char *short_text(const struct report *r, struct region *memory, uint32_t kernel)
{
    struct buf text;
    buf_init(&text, DEMANGLE_ROOM);
    sum_short_name_put(&r->model, kernel, &text);
    const char *out = buf_error(&text) ? NULL : table_text(memory, buf_cstr(&text));
    buf_fini(&text);
    return out;
}

/* ---- findings -------------------------------------------------------------------------------- */

static bool fill_finding(const struct report *r, const struct insight *i, struct region *memory,
                         struct meta_finding *f)
{
    const struct model *m = &r->model;
    const struct stacks_place *p = stacks_place_at(&m->stacks, i->place);
    const struct device_sum *d = i->device ? &m->devices.items[i->device] : NULL;
    f->rule = i->rule->id;
    f->category = insight_category_name(i->rule->category);
    f->severity = i->severity;
    f->measured = i->rule->bound == INSIGHT_MEASURED;
    f->gives_back = i->gives_back;
    f->share = cells_share((double)i->gives_back, (double)sum_steps_time(m));
    f->title = table_text(memory, i->title ? i->title : "");
    f->text = table_text(memory, i->text ? i->text : "");
    f->file = name_text(r, memory, i->file ? i->file : p ? p->file : 0);
    f->line = i->file ? i->line : p ? p->line : 0;
    f->function =
        i->file ? short_text(r, memory, i->kernel) : function_text(r, memory, p ? p->function : 0);
    f->kernel = name_text(r, memory, i->kernel);
    f->gpu = name_text(r, memory, d ? d->row.uuid : 0);
    return f->title && f->text && f->file && f->function && f->kernel && f->gpu;
}

int analysis_findings(const struct report *r, const char *session, struct region *memory,
                      struct meta_finding **out, size_t *count)
{
    size_t n = r->insights.count < META_FINDINGS_MAX ? r->insights.count : META_FINDINGS_MAX;
    struct meta_finding *rows = region_array(memory, n ? n : 1, sizeof *rows);
    if (!rows)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        rows[i].session = session;
        rows[i].number = (int64_t)i;
        if (!fill_finding(r, &r->insights.items[i], memory, &rows[i]))
            return GPUFL_E_NOMEM;
    }
    *out = rows;
    *count = n;
    return 0;
}

/* ---- history --------------------------------------------------------------------------------- */

/* Lists the columns of the answer, in the order of schema/queries.def. */
enum {
    H_session,
    H_started,
    H_app,
    H_host,
    H_device,
    H_name,
    H_shape,
    H_calls,
    H_total,
    H_mean,
    H_deviation,
    H_p50,
    H_p99,
    H_share,
    H_kind,
    H_COUNT
};

struct history {
    struct region *memory;
    struct store_vec columns[H_COUNT];
    uint64_t *shares; /* whose share is known: bits, for history.columns[H_share].valid */
    size_t room, rows;
    bool failed;
};

static void history_text(struct history *h, int column, const char *text)
{
    struct store_text *at = (struct store_text *)(uintptr_t)h->columns[column].texts;
    h->failed |= !text;
    at[h->rows] = (struct store_text){text ? text : "", text ? strlen(text) : 0};
}

static void history_int(struct history *h, int column, int64_t v)
{
    ((int64_t *)(uintptr_t)h->columns[column].ints)[h->rows] = v;
}

static void history_real(struct history *h, int column, double v)
{
    ((double *)(uintptr_t)h->columns[column].reals)[h->rows] = v;
}

/* Returns the deviation of the sample; if there are too many values to keep, of the bins, which
 * is as near as their width. */
static double deviation_of(const struct histogram *t)
{
    double mean = (double)t->total / (double)t->count, sum = 0;
    if (t->count < 2)
        return 0;
    for (uint64_t i = 0; t->samples && i < t->count; i++)
        sum += ((double)t->samples[i] - mean) * ((double)t->samples[i] - mean);
    for (unsigned page = 0; t->pages && page < HISTOGRAM_PAGES; page++)
        for (unsigned k = 0; t->pages[page] && k < HISTOGRAM_PAGE; k++) {
            double v = (double)histogram_middle(page * HISTOGRAM_PAGE + k) - mean;
            sum += t->pages[page][k] * v * v;
        }
    return sqrt(sum / (double)(t->count - 1));
}

enum { KIND_KERNEL, KIND_SCOPE, KIND_APP };

/* This is one kernel, scope or application of a session. */
struct history_item {
    int kind;
    const char *name, *shape;
    uint32_t device;
    const struct histogram *time;
    double share; /* NAN: unknown */
};

/* Puts the cells that all kinds of rows have. */
static void history_put(const struct report *r, struct history *h, const char *session,
                        const struct history_item *item)
{
    const struct model *m = &r->model;
    const struct histogram *time = item->time;
    uint32_t device = item->device;
    double share = item->share;
    history_text(h, H_session, session);
    history_int(h, H_started, r->sessions[0].start);
    history_text(h, H_app, name_text(r, h->memory, r->sessions[0].app));
    history_text(h, H_host, name_text(r, h->memory, r->sessions[0].host));
    history_text(h, H_device,
                 name_text(r, h->memory, device ? m->devices.items[device].row.uuid : 0));
    history_text(h, H_name, item->name);
    history_text(h, H_shape, region_strdup(h->memory, item->shape));
    history_int(h, H_calls, (int64_t)time->count);
    history_int(h, H_total, time->total);
    history_real(h, H_mean, (double)time->total / (double)time->count);
    history_real(h, H_deviation, deviation_of(time));
    history_real(h, H_p50, (double)histogram_quantile(time, 0.5));
    history_real(h, H_p99, (double)histogram_quantile(time, 0.99));
    history_real(h, H_share, isnan(share) ? 0 : share);
    if (!isnan(share))
        h->shares[h->rows / 64] |= UINT64_C(1) << (h->rows % 64);
    history_int(h, H_kind, item->kind);
    h->rows++;
}

static void history_row(const struct report *r, struct history *h, const char *session,
                        const struct kernel_config *k, const struct histogram *time)
{
    const struct config_row *c = &k->row;
    char shape[160];
    snprintf(shape, sizeof shape, "%lldx%lldx%lld/%lldx%lldx%lld", (long long)c->grid_x,
             (long long)c->grid_y, (long long)c->grid_z, (long long)c->block_x,
             (long long)c->block_y, (long long)c->block_z);
    bool known = c->grid_x != CELL_NULL && c->block_x != CELL_NULL;
    history_put(r, h, session,
                &(struct history_item){
                    KIND_KERNEL, name_text(r, h->memory, c->name), known ? shape : "",
                    sum_devices_resolve(&r->model, c->device), time,
                    cells_share((double)time->total, (double)r->model.kernels.time.total)});
}

/* Returns the device of a session that used one; 0: none, or several. */
static uint32_t only_device(const struct model *m)
{
    uint32_t only = 0;
    return sum_devices_worked(m, &only) == 1 ? only : 0;
}

/* Puts the `most` scopes with most wall time. */
static void history_scopes(const struct report *r, struct history *h, const char *session,
                           size_t most)
{
    const struct model *m = &r->model;
    char *path = region_take(h->memory, DIGEST_PATH);
    uint32_t device = only_device(m);
    size_t count;
    uint32_t *longest = scope_longest(m, &count);
    h->failed |= !path || !longest;
    for (size_t i = 0; !h->failed && i < count && i < most && h->rows < h->room; i++) {
        const struct scope_node *node = &m->scopes.nodes[longest[i]];
        digest_path(m, longest[i], path, DIGEST_PATH);
        history_put(r, h, session,
                    &(struct history_item){
                        KIND_SCOPE, table_text(h->memory, path), "", device, &node->walls,
                        cells_share((double)node->self.wall, (double)r->sessions[0].duration)});
    }
    mem_free(longest);
}

static int history_app(const struct report *r, struct history *h, const char *session)
{
    const struct report_session *s = &r->sessions[0];
    struct histogram one;
    if (s->duration <= 0 || h->rows >= h->room)
        return 0;
    histogram_init(&one);
    int rc = histogram_add(&one, s->duration);
    if (!rc)
        history_put(r, h, session,
                    &(struct history_item){
                        KIND_APP, name_text(r, h->memory, s->app), "", only_device(&r->model), &one,
                        s->unknown ? NAN : cells_share((double)s->busy, (double)s->recorded)});
    histogram_fini(&one);
    return rc;
}

static bool same_shape(const struct config_row *a, const struct config_row *b)
{
    return a->device == b->device && a->grid_x == b->grid_x && a->grid_y == b->grid_y &&
           a->grid_z == b->grid_z && a->block_x == b->block_x && a->block_y == b->block_y &&
           a->block_z == b->block_z;
}

/* Groups configurations: those of a kernel that differ in less than the shape count together. */
static int history_kernel(const struct report *r, struct history *h, const char *session,
                          const struct kernel_name *n)
{
    const struct sum_kernels *k = &r->model.kernels;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < n->configs && h->rows < h->room; i++) {
        const struct kernel_config *c = sum_kernels_config(k, k->by_name[n->first + i]);
        struct histogram time;
        bool first = c->time.count > 0;
        for (uint32_t p = 0; p < i && first; p++)
            first = !same_shape(&sum_kernels_config(k, k->by_name[n->first + p])->row, &c->row);
        if (!first)
            continue;
        histogram_init(&time);
        for (uint32_t q = i; !rc && q < n->configs; q++) {
            const struct kernel_config *o = sum_kernels_config(k, k->by_name[n->first + q]);
            if (same_shape(&o->row, &c->row))
                rc = histogram_merge(&time, &o->time);
        }
        if (!rc)
            history_row(r, h, session, c, &time);
        histogram_fini(&time);
    }
    return rc;
}

int analysis_history(const struct report *r, const char *session, struct region *memory,
                     struct store_chunk *out)
{
    const struct sum_kernels *k = &r->model.kernels;
    const struct store_query_def *def = &store_queries[QUERY_kernel_history];
    size_t scopes = r->model.scopes.live < HISTORY_SCOPES ? r->model.scopes.live : HISTORY_SCOPES;
    size_t kernels = k->configs.count < HISTORY_MAX ? k->configs.count : HISTORY_MAX;
    struct history h = {.memory = memory, .room = kernels};
    struct store_vec *columns = region_array(memory, H_COUNT, sizeof *columns);
    _Static_assert(sizeof(int64_t) == sizeof(double), "one size of cell");
    for (unsigned i = 0; columns && i < H_COUNT; i++) {
        bool text = def->columns[i].type == STORE_TEXT || def->columns[i].type == STORE_NAME;
        void *cells = region_array(memory, kernels + scopes + 1,
                                   text ? sizeof(struct store_text) : sizeof(int64_t));
        h.columns[i] = (struct store_vec){.type = def->columns[i].type};
        if (text)
            h.columns[i].texts = cells;
        else if (def->columns[i].type == STORE_REAL)
            h.columns[i].reals = cells;
        else
            h.columns[i].ints = cells;
        h.failed |= !cells;
    }
    h.shares = region_array(memory, (kernels + scopes) / 64 + 1, sizeof *h.shares);
    if (!columns || h.failed || !h.shares || def->column_count != H_COUNT)
        return GPUFL_E_NOMEM;
    memset(h.shares, 0, ((kernels + scopes) / 64 + 1) * sizeof *h.shares);
    h.columns[H_share].valid = h.shares;
    int rc = 0;
    for (size_t i = 0; !rc && i < k->name_count; i++)
        rc = history_kernel(r, &h, session, &k->names[i]);
    h.room = kernels + scopes + 1;
    if (!rc)
        history_scopes(r, &h, session, scopes);
    if (rc == 0)
        rc = history_app(r, &h, session);
    memcpy(columns, h.columns, sizeof h.columns);
    *out = (struct store_chunk){.rows = h.rows, .column_count = H_COUNT, .columns = columns};
    return rc ? rc : h.failed ? GPUFL_E_NOMEM : 0;
}

/* ---- use by day ------------------------------------------------------------------------------ */

static int64_t part_of(int64_t whole, int64_t part, int64_t of)
{
    return of > 0 ? (int64_t)((double)whole * ((double)part / (double)of)) : 0;
}

/* Holds the averages of a device's samples over the whole session. */
struct sampled {
    double utilization; /* 0 to 1; NAN: unknown */
    double energy;      /* mJ; NAN: unknown */
};

static struct sampled sampled_of(const struct model *m, uint32_t device)
{
    struct sampled s = {NAN, NAN};
    if (device >= m->metrics.device_count)
        return s;
    const struct device_metrics *d = &m->metrics.devices[device];
    const struct metric_sum *util = &d->metrics[COL_device_metric_gpu_util];
    double joules;
    bool counter;
    if (util->count)
        s.utilization = sum_metrics_mean(util) / 100;
    if (sum_metrics_energy(d, &joules, &counter))
        s.energy = joules * 1000;
    return s;
}

static void fill_sampled(struct meta_usage *u, const struct sampled *s, int64_t wall)
{
    u->sampled = isnan(s->utilization) ? 0 : u->wall;
    u->utilized = isnan(s->utilization) ? 0 : (int64_t)((double)u->wall * s->utilization);
    u->energy =
        isnan(s->energy) ? META_NONE : (int64_t)(s->energy * ((double)u->wall / (double)wall));
}

int analysis_usage(const struct report *r, struct region *memory, struct meta_usage **out,
                   size_t *count)
{
    const struct model *m = &r->model;
    const struct report_session *s = &r->sessions[0];
    int64_t wall = s->duration, first = s->start / DAY_NS, last = (s->start + wall) / DAY_NS;
    *out = NULL;
    *count = 0;
    if (s->start <= 0 || wall <= 0 || last - first >= DAYS_MAX)
        return 0;
    size_t most = m->devices.count * (size_t)(last - first + 1);
    struct meta_usage *rows = region_array(memory, most ? most : 1, sizeof *rows);
    if (!rows)
        return GPUFL_E_NOMEM;
    for (uint32_t i = 0; i < m->devices.count; i++) {
        const struct device_sum *d = &m->devices.items[i];
        struct busy_result busy;
        if (!d->row.uuid || (!d->named && !d->kernels))
            continue;
        busy_result(&d->compute, &busy);
        const struct sampled sampled = sampled_of(m, i);
        const bool known = sum_devices_known(m, i);
        for (int64_t day = first; day <= last; day++) {
            int64_t from = day * DAY_NS > s->start ? day * DAY_NS : s->start;
            int64_t to = (day + 1) * DAY_NS;
            to = to < s->start + wall ? to : s->start + wall;
            struct meta_usage *u = &rows[(*count)++];
            *u = (struct meta_usage){.day = day,
                                     .gpu = name_text(r, memory, d->row.uuid),
                                     .host = name_text(r, memory, s->host),
                                     .app = name_text(r, memory, s->app),
                                     .wall = to - from,
                                     .busy = META_NONE,
                                     .kernels = META_NONE};
            if (known) {
                u->busy = part_of(busy.busy, to - from, wall);
                u->kernels = part_of((int64_t)d->kernels, to - from, wall);
            }
            fill_sampled(u, &sampled, wall);
            if (m->watch.is_monitor)
                u->wall = 0; /* a monitor samples GPUs, and uses none */
        }
    }
    for (size_t i = 0; i < *count; i++)
        if (!rows[i].gpu || !rows[i].host || !rows[i].app)
            return GPUFL_E_NOMEM;
    *out = rows;
    return 0;
}

double analysis_busy(const struct report *r)
{
    const struct report_session *s = &r->sessions[0];
    double part = cells_share((double)s->busy, (double)s->recorded);
    return s->recorded <= 0 || s->unknown ? NAN : part > 1 ? 1 : part;
}

int64_t analysis_kernels(const struct report *r)
{
    const struct report_session *s = &r->sessions[0];
    return s->unknown ? META_NONE : (int64_t)s->kernels;
}
