/* tables.c - writes the tables of kernels, copies and waits, as text. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/findings.h"
#include "analyze/report/page.h"
#include "base/alloc.h"
#include "symbol/names/demangle.h"

#include <inttypes.h>
#include <string.h>

enum { CONFIGS_EACH = 2 };

/* Writes a kernel's demangled name as a cell. */
static void put_name(struct page *p, struct grid *g, int64_t name)
{
    struct buf text;
    buf_init(&text, DEMANGLE_ROOM);
    demangle_put(&text, name ? model_text(p->model, (uint32_t)name) : "(kernel not known)");
    grid_put(g, "%s", buf_cstr(&text));
    p->code = p->code ? p->code : buf_error(&text) ? GPUFL_E_NOMEM : 0;
    buf_fini(&text);
}

/* ---- kernels --------------------------------------------------------------------------- */

static void put_busy(const struct page *p)
{
    const struct model *m = p->model;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT], name[160], doubt[80];
    int64_t duration = sum_windows_gpu_time(m);
    unsigned idle = findings_idle_devices(m);
    for (uint32_t i = 0; i < m->devices.count; i++) {
        struct busy_result k, any;
        const struct device_sum *s = &m->devices.items[i];
        busy_result(&s->compute, &k);
        busy_result(&s->any, &any);
        if (!any.busy)
            continue;
        if (!s->kernels && m->devices.items[0].kernels)
            continue; /* it may have run some of the kernels without a device in the log */
        *doubt = '\0';
        if (k.doubtful)
            snprintf(doubt, sizeof doubt, " (up to %s more: too many gaps to keep apart)",
                     units_time(d, k.doubtful));
        bool copies = sum_known_why(m, KNOWN_COPIES) != KNOWN_UNRECORDED;
        page_text(p, "%s: kernels ran %s of the %s (%s)%s%s%s.",
                  findings_device(m, i, name, sizeof name),
                  units_percent(a, (double)k.busy, (double)duration),
                  sum_windows_gpu_any(m)  ? "windows"
                  : sum_windows_partly(m) ? "time in which they were recorded"
                  : m->facts.sessions > 1 ? "sessions' time"
                                          : "run",
                  units_time(b, k.busy), doubt, copies ? ", with copies and fills " : "",
                  copies ? units_percent(c, (double)any.busy, (double)duration) : "");
    }
    if (idle)
        page_text(p, "%u other GPU%s had no work.", idle, idle == 1 ? "" : "s");
}

static void put_summary(const struct page *p)
{
    const struct sum_kernels *k = &p->model->kernels;
    const struct histogram *h = &k->time;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT], e[UNITS_TEXT], f[UNITS_TEXT],
        g[UNITS_TEXT];
    page_text(p, "%s kernel%s of %s name%s, %s together.", units_count(a, (int64_t)h->count),
              h->count == 1 ? "" : "s", units_count(b, (int64_t)k->name_count),
              k->name_count == 1 ? "" : "s", units_time(c, h->total));
    put_busy(p);
    page_text(p, "Each: mean %s, median %s, P90 %s, P99 %s, least %s, most %s.",
              units_time(b, histogram_mean(h)), units_time(c, histogram_quantile(h, 0.5)),
              units_time(d, histogram_quantile(h, 0.9)), units_time(e, histogram_quantile(h, 0.99)),
              units_time(f, h->min), units_time(g, h->max));
    if (k->invalid)
        page_text(p, "%s kernels have impossible times and are in no sum.",
                  units_count(a, (int64_t)k->invalid));
}

/* Writes where a kernel is defined as a cell. */
static void put_definition(struct page *p, struct grid *g, uint32_t name)
{
    struct buf text;
    buf_init(&text, DEMANGLE_ROOM);
    sum_definitions_put(p->model, sum_definitions_of(p->model, name), &text);
    grid_put(g, "%s", buf_cstr(&text));
    p->code = p->code ? p->code : buf_error(&text) ? GPUFL_E_NOMEM : 0;
    buf_fini(&text);
}

/* Says which columns the table of kernels has besides those that it always has. */
struct top_columns {
    bool all;     /* the page is wide */
    bool defined; /* it is known where some kernel is defined */
};

static void put_top_row(struct page *p, struct grid *g, size_t i, struct top_columns has)
{
    const struct sum_kernels *k = &p->model->kernels;
    const struct kernel_name *n = &k->names[i];
    char text[UNITS_TEXT];
    grid_put(g, "%zu", i + 1);
    grid_put(g, "%s", units_percent(text, (double)n->time.total, (double)k->time.total));
    grid_put(g, "%s", units_time(text, n->time.total));
    grid_put(g, "%s", units_count(text, (int64_t)n->time.count));
    grid_put(g, "%s", units_time(text, histogram_mean(&n->time)));
    if (has.all) {
        grid_put(g, "%s", units_time(text, histogram_quantile(&n->time, 0.5)));
        grid_put(g, "%s", units_time(text, n->time.max));
    }
    if (has.defined)
        put_definition(p, g, n->name);
    put_name(p, g, n->name);
}

static void put_top(struct page *p)
{
    const struct sum_kernels *k = &p->model->kernels;
    size_t shown = k->name_count < report_top(p->report) ? k->name_count : report_top(p->report);
    struct top_columns has = {.all = p->width >= PAGE_WIDE};
    int64_t rest = k->time.total;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    struct grid g;
    for (size_t i = 0; i < shown; i++) {
        has.defined |= sum_definitions_of(p->model, k->names[i].name) != NULL;
        rest -= k->names[i].time.total;
    }
    const struct {
        struct grid_column column;
        bool here;
    } every[] = {
        {{"#", GRID_RIGHT}, true},      {{"share", GRID_RIGHT}, true},
        {{"total", GRID_RIGHT}, true},  {{"calls", GRID_RIGHT}, true},
        {{"mean", GRID_RIGHT}, true},   {{"median", GRID_RIGHT}, has.all},
        {{"max", GRID_RIGHT}, has.all}, {{"defined at", GRID_LEFT}, has.defined},
        {{"kernel", GRID_NAME}, true},
    };
    struct grid_column columns[sizeof every / sizeof *every];
    unsigned count = 0;
    for (size_t i = 0; i < sizeof every / sizeof *every; i++)
        if (every[i].here)
            columns[count++] = every[i].column;
    grid_init(&g, columns, count);
    for (size_t i = 0; i < shown; i++)
        put_top_row(p, &g, i, has);
    page_heading(p, "Top kernels by time");
    page_grid(p, &g);
    if (shown < k->name_count)
        page_text(p, "… %s more names, %s (%s)", units_count(a, (int64_t)(k->name_count - shown)),
                  units_time(b, rest), units_percent(c, (double)rest, (double)k->time.total));
}

/* Writes "256", "32x8", "16x16x4". */
static void put_dims(struct grid *g, int64_t x, int64_t y, int64_t z)
{
    if (x == CELL_NULL || x <= 0)
        grid_put(g, "-");
    else if (z > 1)
        grid_put(g, "%lldx%lldx%lld", (long long)x, (long long)y, (long long)z);
    else if (y > 1)
        grid_put(g, "%lldx%lld", (long long)x, (long long)y);
    else
        grid_put(g, "%lld", (long long)x);
}

static int64_t known(int64_t v)
{
    return v == CELL_NULL || v < 0 ? 0 : v;
}

static void put_occupancy(struct page *p, struct grid *g, const struct config_row *r)
{
    const struct model *m = p->model;
    const struct device_row *d = &m->devices.items[sum_devices_resolve(m, r->device)].row;
    double blocks = (double)known(r->grid_x) * (double)known(r->grid_y) * (double)known(r->grid_z);
    double room = (double)known(r->occ_blocks) * (double)known(d->sm_count);
    if (r->occ_warps == CELL_NULL || known(r->occ_max_warps) == 0)
        grid_put(g, "-");
    else
        grid_put(g, "%.1f", 100 * (double)r->occ_warps / (double)r->occ_max_warps);
    grid_put(g, "%s", r->occ_limiter ? model_text(m, (uint32_t)r->occ_limiter) : "-");
    if (room > 0 && blocks > 0 && blocks / room < 0.005)
        grid_put(g, "<0.01");
    else if (room > 0)
        grid_put(g, blocks / room < 100 ? "%.2f" : "%.0f", blocks / room);
    else
        grid_put(g, "-");
}

/* Describes a launch configuration as the text shows it: equal ones of several devices are one
 * row. */
struct shown_config {
    struct config_row row;
    uint64_t count;
};

static void put_config(struct page *p, struct grid *g, const struct shown_config *c)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], d[UNITS_TEXT];
    const struct config_row *r = &c->row;
    put_dims(g, r->grid_x, r->grid_y, r->grid_z);
    put_dims(g, r->block_x, r->block_y, r->block_z);
    grid_put(g, "%s", r->registers == CELL_NULL ? "-" : units_count(a, r->registers));
    grid_put(g, "%s",
             r->shared_static == CELL_NULL || r->shared_dynamic == CELL_NULL
                 ? "-"
                 : units_bytes(b, cells_sum(r->shared_static, r->shared_dynamic)));
    grid_put(g, "%s",
             r->local_per_thread == CELL_NULL ? "-"
             : r->local_per_thread == 0       ? "0"
                                              : units_bytes(d, r->local_per_thread));
    put_occupancy(p, g, r);
    grid_put(g, "%s", units_count(a, (int64_t)c->count));
}

static bool same_launch(const struct config_row *a, const struct config_row *b)
{
    struct config_row c = *b;
    c.device = a->device;
    return !memcmp(a, &c, sizeof c);
}

/* Picks the heaviest configurations of a kernel. Returns their number; *more: there are others. */
static int pick_configs(const struct sum_kernels *k, const struct kernel_name *n,
                        struct shown_config *out, bool *more)
{
    int count = 0;
    for (uint32_t i = 0; i < n->configs; i++) {
        const struct kernel_config *c = sum_kernels_config(k, k->by_name[n->first + i]);
        int at = 0;
        if (k->by_name[n->first + i] == 0)
            continue;
        while (at < count && !same_launch(&out[at].row, &c->row))
            at++;
        if (at == CONFIGS_EACH) {
            *more = true;
            continue;
        }
        if (at == count)
            out[count++] = (struct shown_config){.row = c->row};
        out[at].count += c->time.count;
    }
    return count;
}

static void put_configs(struct page *p)
{
    const struct words *w = model_words(p->model);
    const struct grid_column columns[] = {
        {"#", GRID_RIGHT},      {"grid", GRID_RIGHT},          {w->block, GRID_RIGHT},
        {"regs", GRID_RIGHT},   {w->shared_short, GRID_RIGHT}, {w->local_short, GRID_RIGHT},
        {"occ. %", GRID_RIGHT}, {"limiter", GRID_LEFT},        {w->waves, GRID_RIGHT},
        {"calls", GRID_RIGHT},
    };
    const struct sum_kernels *k = &p->model->kernels;
    struct shown_config shown[CONFIGS_EACH];
    struct grid g;
    bool spills = false, more = false;
    size_t top = report_top(p->report);
    grid_init(&g, columns, 10);
    for (size_t i = 0; i < k->name_count && i < top; i++) {
        int count = pick_configs(k, &k->names[i], shown, &more);
        for (int c = 0; c < count; c++) {
            spills |= known(shown[c].row.local_per_thread) > 0;
            grid_put(&g, "%zu", i + 1);
            put_config(p, &g, &shown[c]);
        }
    }
    page_heading(p, "How they were launched (# as above), and their theoretical occupancy");
    if (g.cells) {
        page_grid(p, &g);
    } else {
        grid_fini(&g);
        page_text(p, "The log does not say how kernels were launched.");
    }
    char memory[128] = "";
    if (spills)
        snprintf(memory, sizeof memory,
                 " %s: bytes of a %s in memory: registers spilled, or arrays on its stack.",
                 w->local_short, w->thread);
    page_text(p, "%s: %s / (%s that all %s hold at once); below 1, %s stay empty.%s%s", w->waves,
              w->blocks, w->blocks, w->sms, w->sms, memory,
              more ? " The two heaviest of each kernel; --json has all." : "");
}

void page_kernels(struct page *p)
{
    const struct model *m = p->model;
    page_heading(p, "Kernels");
    if (!m->kernels.time.count) {
        if (m->graphs.whole)
            page_text(p,
                      "Kernels were launched in %s, which were recorded as a whole. "
                      "cuda_graph_activity=nodes records each kernel.",
                      model_words(m)->graphs);
        else
            page_none(p, "kernels");
        return;
    }
    put_summary(p);
    put_top(p);
    put_configs(p);
    page_occupancy(p);
}

/* ---- copies and fills ------------------------------------------------------------------ */

static void put_transfer(struct grid *g, const char *kind, const char *which,
                         const struct transfer_sum *s)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT], e[UNITS_TEXT];
    if (!s->count)
        return;
    grid_put(g, "%s%s", kind, which);
    grid_put(g, "%s", units_count(a, (int64_t)s->count));
    grid_put(g, "%s", units_bytes(b, s->bytes));
    grid_put(g, "%s", units_time(c, s->time));
    grid_put(g, "%s", units_rate(d, s->bytes, s->time));
    grid_put(g, "%s", units_time(e, s->max));
}

void page_transfers(struct page *p)
{
    static const struct grid_column columns[] = {
        {"kind", GRID_LEFT},  {"count", GRID_RIGHT}, {"bytes", GRID_RIGHT},
        {"time", GRID_RIGHT}, {"rate", GRID_RIGHT},  {"longest", GRID_RIGHT},
    };
    const struct sum_transfers *t = &p->model->transfers;
    struct transfer_sum all = sum_transfers_copies(p->model);
    char a[UNITS_TEXT];
    struct grid g;
    page_heading(p, "Copies and fills");
    if (!all.count && !t->fills.count) {
        page_none(p, "copies");
        return;
    }
    grid_init(&g, columns, 6);
    for (int i = 0; i < TRANSFER_KINDS; i++) {
        put_transfer(&g, sum_transfers_kind(i), "", &t->kinds[i]);
        put_transfer(&g, "  of it ", "pageable", &t->pageable[i]);
    }
    put_transfer(&g, "fill", "", &t->fills);
    page_grid(p, &g);
    if (t->invalid)
        page_text(p, "%s rows have impossible times and are in no sum.",
                  units_count(a, (int64_t)t->invalid));
}

/* ---- waits ----------------------------------------------------------------------------- */

static void put_sync_rows(struct page *p)
{
    static const struct grid_column columns[] = {
        {"kind", GRID_LEFT}, {"count", GRID_RIGHT},   {"time", GRID_RIGHT}, {"mean", GRID_RIGHT},
        {"P99", GRID_RIGHT}, {"longest", GRID_RIGHT}, {"", GRID_LEFT},
    };
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT], e[UNITS_TEXT];
    struct grid g;
    grid_init(&g, columns, 7);
    for (int i = 0; i < SYNC_KINDS; i++) {
        const struct histogram *h = &p->model->wait_kinds.kinds[i];
        if (!h->count)
            continue;
        grid_put(&g, "%s", sum_wait_kinds_name(i, model_words(p->model)));
        grid_put(&g, "%s", units_count(a, (int64_t)h->count));
        grid_put(&g, "%s", units_time(b, h->total));
        grid_put(&g, "%s", units_time(c, histogram_mean(h)));
        grid_put(&g, "%s", units_time(d, histogram_quantile(h, 0.99)));
        grid_put(&g, "%s", units_time(e, h->max));
        grid_put(&g, "%s", sum_wait_kinds_blocks(i) ? "the host waits" : "the host does not wait");
    }
    page_grid(p, &g);
}

/* Says how long launches of graphs took on the GPU. */
static void put_graph_runs(struct page *p)
{
    const struct sum_graphs *s = &p->model->graphs;
    const struct graph_sum *all = &s->all;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
    if (!all->launches)
        return;
    page_text(p, "On the GPU: %s launches in %s, mean %s, longest %s; %s.",
              units_count(a, (int64_t)all->launches), units_time(b, all->time),
              units_time(c, all->time / (int64_t)all->launches), units_time(d, all->max),
              s->whole ? "each recorded as a whole, so that their kernels are not among those above"
                       : "put together from their kernels");
    for (size_t i = 0; i < s->by_time_count && i < report_top(p->report); i++) {
        const struct graph_sum *g = keyed_at(&s->graphs, s->by_time[i]);
        page_text(p, "  graph %" PRId64 ": %s launches, %s, mean %s", g->graph,
                  units_count(a, (int64_t)g->launches), units_time(b, g->time),
                  units_time(c, g->time / (int64_t)g->launches));
    }
}

/* Puts launches of graphs; a log of the public client has neither times nor sizes of them. */
static void put_graphs(struct page *p)
{
    const struct sum_wait_kinds *w = &p->model->wait_kinds;
    char text[UNITS_TEXT], time[UNITS_TEXT + 32] = "", nodes[UNITS_TEXT + 32] = "";
    if (w->graph_untimed < w->graph_launches)
        snprintf(time, sizeof time, ", %s in the launch calls", units_time(text, w->graph_time));
    if (w->graph_unknown < w->graph_launches)
        snprintf(nodes, sizeof nodes, ", %s kernel nodes", units_count(text, w->graph_kernels));
    page_heading(p, model_words(p->model)->graphs);
    if (w->graph_launches)
        page_text(p, "%s launches%s%s.", units_count(text, (int64_t)w->graph_launches), time,
                  nodes);
    put_graph_runs(p);
}

/* Puts how much managed memory was moved, and its faults. */
static void put_managed(struct page *p)
{
    const struct sum_managed *s = &p->model->managed;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    if (!s->rows)
        return;
    page_heading(p, "Managed memory");
    for (int i = 0; i < MANAGED_KINDS; i++) {
        const struct managed_sum *k = &s->kinds[i];
        if (!k->count)
            continue;
        if (k->faults)
            page_text(p, "%s: %s", sum_managed_kind(i), units_count(a, k->faults));
        else
            page_text(p, "%s: %s in %s, %s", sum_managed_kind(i), units_bytes(a, k->bytes),
                      units_count(b, (int64_t)k->count), units_time(c, k->time));
    }
}

static void put_overheads(struct page *p)
{
    const struct sum_wait_kinds *w = &p->model->wait_kinds;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (!w->overhead_count)
        return;
    page_heading(p, "What profiling took, by the vendor library's own records and as measured");
    for (unsigned i = 0; i < w->overhead_count; i++) {
        char kind[64];
        snprintf(kind, sizeof kind, "%s",
                 w->overheads[i].kind ? model_text(p->model, w->overheads[i].kind) : "other");
        for (char *c = kind; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        page_text(p, "%s: %s in %s", kind, units_time(a, w->overheads[i].time),
                  units_count(b, (int64_t)w->overheads[i].count));
    }
}

static void put_external(struct page *p)
{
    const struct sum_external *s = &p->model->external;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    if (!s->kernels)
        return;
    page_heading(p, "Operation ids that the program pushed (external correlation)");
    page_text(p, "%s kernels of %s ids%s, %s on the GPU; --json lists them",
              units_count(a, (int64_t)s->kernels), units_count(b, (int64_t)s->by_time_count),
              s->ids.refused ? " and more" : "", units_time(c, s->ns));
}

static void put_windows(struct page *p)
{
    const struct sum_windows *s = &p->model->windows;
    int64_t run = sum_facts_duration(p->model), ns = sum_windows_time(p->model);
    int64_t of_kernels = sum_windows_gpu_time(p->model);
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    if (s->kernels.opened) {
        page_heading(p, "Windows of kernel records");
        page_text(p,
                  "%s, %s in all, %s of the run; program counters were sampled in between "
                  "(pc_kernel_collect=windows). Counts and times of kernels, copies and fills are "
                  "those of the windows; idle time of the GPU in them stands for the rest of the "
                  "run.",
                  units_count(a, (int64_t)s->kernels.opened), units_time(b, of_kernels),
                  units_percent(c, (double)of_kernels, (double)run));
    }
    if (!s->capture.opened)
        return;
    page_heading(p, "Windows of capture");
    page_text(p,
              "%s opened%s, %s in all, %s of the run. Nothing was recorded outside the windows: "
              "percentages are shares of the windows' time, and the GPU counts as idle if a gap "
              "lies inside a window.",
              units_count(a, (int64_t)s->capture.opened),
              s->capture.open ? ", one still open at the end" : "", units_time(b, ns),
              units_percent(c, (double)ns, (double)run));
}

static void put_memory(struct page *p, const char *heading, const struct memory_use *u)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (!u->allocs && !u->frees)
        return;
    page_heading(p, heading);
    if (u->allocs_unsized)
        page_text(p, "%s allocations; the size of %s is not known",
                  units_count(a, (int64_t)u->allocs), units_count(b, (int64_t)u->allocs_unsized));
    else
        page_text(p, "%s allocations of %s", units_count(a, (int64_t)u->allocs),
                  units_bytes(b, u->alloc_bytes));
    if (sum_memory_sized(u))
        page_text(p, "%s frees; %s at most in use at once", units_count(a, (int64_t)u->frees),
                  units_bytes(b, u->peak));
    else
        page_text(p,
                  "%s frees, %s of them of a size that is not known: how much was in use at once "
                  "is not known",
                  units_count(a, (int64_t)u->frees), units_count(b, (int64_t)u->frees_unsized));
}

void page_waits(struct page *p)
{
    const struct model *m = p->model;
    const struct sum_wait_kinds *w = &m->wait_kinds;
    char a[UNITS_TEXT];
    uint64_t rows = 0;
    for (int i = 0; i < SYNC_KINDS; i++)
        rows += w->kinds[i].count;
    page_heading(p, "Synchronizations");
    if (rows)
        put_sync_rows(p);
    else if (m->wait_lines.calls)
        page_text(p, "%s calls that can wait, timed on the program's threads: see above.",
                  units_count(a, (int64_t)m->wait_lines.calls));
    else
        page_none(p, sum_known_why(m, KNOWN_WAITS) == KNOWN_DAMAGED ? "waits" : "synchronizations");
    if (w->graph_launches || m->graphs.all.launches)
        put_graphs(p);
    put_memory(p, "GPU memory", &m->memory.gpu);
    put_memory(p, "Memory of the host that the GPU reaches", &m->memory.host);
    put_managed(p);
    put_external(p);
    put_windows(p);
    put_overheads(p);
}
