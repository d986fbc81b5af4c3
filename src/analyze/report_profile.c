/* report_profile.c - samples, metrics of instructions and hardware counters, for people: the
 * tables of the report, and SASS beside source for one kernel. */
#include "analyze/cells.h"
#include "analyze/grid.h"
#include "analyze/insight_profile.h"
#include "analyze/kernel_view.h"
#include "analyze/report.h"
#include "analyze/units.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/printable.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 1 << 20,
    SOURCE_MAX = 64 << 20,
    REASONS_SHOWN = 3,
    REASONS_NARROW = 2, /* on a page of less than WIDTH_REASONS columns */
    WIDTH_REASONS = 120,
    SERIES_MOST = 128,
    LINES_MOST = 10
};

static void print_grid(struct page *p, struct grid *g)
{
    int code = grid_print(g, p->out, p->width, p->color);
    p->code = p->code ? p->code : code;
    grid_fini(g);
}

static const char *reason_name(const struct model *m, uint32_t reason)
{
    return reason ? model_text(m, sum_samples_reason(&m->samples, reason)->name) : "-";
}

/* "-" where there is nothing. */
static void put_count(struct grid *g, int64_t n)
{
    char a[UNITS_TEXT];
    grid_put(g, "%s", n ? units_count(a, n) : "-");
}

/* part of whole where both metrics are known. */
static void put_share(struct grid *g, const struct sass_values *v, enum sass_metric part,
                      double parts, enum sass_metric whole, double wholes)
{
    char a[UNITS_TEXT];
    bool known = v && sass_has(v, part) && sass_has(v, whole);
    grid_put(g, "%s", known ? units_percent(a, parts, wholes) : "-");
}

static void put_threads(struct grid *g, const struct sass_values *v, int64_t warp)
{
    put_share(g, v, SASS_THREADS, v ? (double)v->value[SASS_THREADS] : 0, SASS_INST,
              v ? (double)v->value[SASS_INST] * (double)warp : 0);
}

static void put_sectors(struct grid *g, const struct sass_values *v)
{
    char a[UNITS_TEXT];
    int64_t ideal = v ? sass_ideal_sectors(v) : CELL_NULL;
    bool known = v && ideal > 0 && v->value[SASS_SECTORS] > 0;
    grid_put(g, "%s",
             known ? units_percent(a, (double)ideal, (double)v->value[SASS_SECTORS]) : "-");
}

static void put_waves(struct grid *g, const struct sass_values *v)
{
    bool known = v && v->value[SASS_WAVEFRONTS] > 0 && v->value[SASS_WAVEFRONTS_IDEAL] > 0;
    if (known)
        grid_put(g, "%.1f",
                 (double)v->value[SASS_WAVEFRONTS] / (double)v->value[SASS_WAVEFRONTS_IDEAL]);
    else
        grid_put(g, "-");
}

/* ---- samples ----------------------------------------------------------------------------- */

/* Samples of a kernel by reason. */
struct sampled {
    uint32_t kernel, reason;
    uint64_t of_kernel;
    struct sample_count samples;
    bool running;
};

static int compare_rows(const void *a, const void *b)
{
    const struct sampled *x = a, *y = b;
    if (x->of_kernel != y->of_kernel)
        return x->of_kernel > y->of_kernel ? -1 : 1;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    if (x->running != y->running)
        return x->running ? 1 : -1;
    if (x->samples.all != y->samples.all)
        return x->samples.all > y->samples.all ? -1 : 1;
    return (x->reason > y->reason) - (x->reason < y->reason);
}

static struct sampled *list_rows(const struct model *m, size_t *count)
{
    const struct keyed *k = &m->samples.functions;
    struct sampled *list = mem_array(k->count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 1; list && i < k->count; i++) {
        const struct sample_group *g = sum_samples_group(k, i);
        const struct code_function *f = device_code_at(&m->code, g->owner);
        list[(*count)++] =
            (struct sampled){f ? f->shown : 0, g->reason, f ? f->samples : 0, g->count,
                             profile_stall(m, g->reason)->class == STALL_RUNNING};
    }
    if (list && *count)
        qsort(list, *count, sizeof *list, compare_rows);
    return list;
}

/* One kernel's rows; how many they are. */
static size_t put_sampled(struct page *p, struct grid *g, const struct sampled *rows, size_t count)
{
    char a[UNITS_TEXT], text[256] = "";
    size_t n = 1, at = 0, most = p->width < WIDTH_REASONS ? REASONS_NARROW : REASONS_SHOWN;
    struct sample_count all = {0};
    uint64_t selected = 0;
    while (n < count && rows[n].kernel == rows[0].kernel && rows[n].of_kernel == rows[0].of_kernel)
        n++;
    for (size_t i = 0; i < n; i++) {
        sample_count_add(&all, &rows[i].samples);
        selected += rows[i].running ? rows[i].samples.all : 0;
        if (i < most && !rows[i].running && at < sizeof text - 80)
            at += (size_t)snprintf(
                text + at, sizeof text - at, "%s%.32s %s", at ? ", " : "",
                reason_name(p->model, rows[i].reason),
                units_percent(a, (double)rows[i].samples.all, (double)rows[0].of_kernel));
    }
    grid_put(g, "%s",
             units_percent(a, (double)rows[0].of_kernel, (double)p->model->samples.total.all));
    grid_put(g, "%.1f", 100 * sum_samples_margin(p->model, rows[0].of_kernel));
    put_count(g, (int64_t)rows[0].of_kernel);
    grid_put(g, "%s", units_percent(a, (double)selected, (double)rows[0].of_kernel));
    grid_put(g, "%s", all.told ? units_percent(a, (double)all.idle, (double)all.told) : "-");
    grid_put(g, "%s", text);
    grid_put(g, "%s", rows[0].kernel ? model_text(p->model, rows[0].kernel) : "(not known)");
    return n;
}

static void page_samples(struct page *p)
{
    static const struct grid_column columns[] = {{"share", GRID_RIGHT},    {"+-", GRID_RIGHT},
                                                 {"samples", GRID_RIGHT},  {"selected", GRID_RIGHT},
                                                 {"no issue", GRID_RIGHT}, {"stalled", GRID_LEFT},
                                                 {"kernel", GRID_NAME}};
    const struct sum_samples *s = &p->model->samples;
    size_t count, shown = 0;
    struct sampled *rows = list_rows(p->model, &count);
    struct grid g;
    char a[UNITS_TEXT];
    page_heading(p, "Samples by kernel");
    grid_init(&g, columns, 7);
    for (size_t i = 0; rows && i < count && shown < report_top(p->report); shown++)
        i += put_sampled(p, &g, rows + i, count - i);
    if (!rows)
        p->code = GPUFL_E_NOMEM;
    print_grid(p, &g);
    mem_free(rows);
    page_text(p,
              "%s samples in all; --kernel NAME shows the instructions of one. A kernel's share of "
              "them estimates its share of the time in which multiprocessors had work, to so many "
              "points at 95 %%.",
              units_count(a, (int64_t)s->total.all));
    page_text(
        p,
        "selected: the warp itself issued an instruction; no issue: its scheduler issued none in "
        "that cycle, of any warp, which alone is time to be had back.");
    page_of_pass(p, MODEL_SAMPLES);
    if (s->places.refused)
        page_text(p, "%s of their rows are of instructions beyond those kept one by one.",
                  units_count(a, (int64_t)s->places.refused));
}

/* ---- metrics of instructions --------------------------------------------------------------- */

struct metric_row {
    uint32_t function;
    const struct sass_values *values;
};

static int compare_metrics(const void *a, const void *b)
{
    const struct metric_row *x = a, *y = b;
    int64_t i = x->values->value[SASS_INST], j = y->values->value[SASS_INST];
    return i != j ? (i > j ? -1 : 1) : (x->function > y->function) - (x->function < y->function);
}

/* Sectors of local memory; 0 is a number, too. */
static void put_local(struct grid *g, const struct sass_values *v)
{
    char a[UNITS_TEXT];
    bool known = sass_has(v, SASS_SECTORS_LOCAL);
    grid_put(g, "%s", known ? units_count(a, v->value[SASS_SECTORS_LOCAL]) : "-");
}

static void put_branches(struct grid *g, const struct sass_values *v)
{
    double apart = (double)v->value[SASS_BRANCH_DIVERGENT];
    put_share(g, v, SASS_BRANCH_DIVERGENT, apart, SASS_BRANCH_UNIFORM,
              apart + (double)v->value[SASS_BRANCH_UNIFORM]);
}

/* Columns of metrics that the session does not have are left out. */
static unsigned instruction_columns(bool local, bool branches,
                                    struct grid_column columns[GRID_COLUMNS])
{
    static const struct grid_column all[] = {{"executed", GRID_RIGHT},  {"threads", GRID_RIGHT},
                                             {"diverged", GRID_RIGHT},  {"needed", GRID_RIGHT},
                                             {"conflicts", GRID_RIGHT}, {"spills", GRID_RIGHT},
                                             {"kernel", GRID_NAME}};
    const bool there[] = {true, true, branches, true, true, local, true};
    unsigned n = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (there[i])
            columns[n++] = all[i];
    return n;
}

static void put_instructions_legend(const struct page *p, bool local, bool branches)
{
    page_text(
        p,
        "threads: of a warp's, at work;%s needed: of the sectors of global memory; conflicts: "
        "wavefronts of shared memory for each that would do%s.",
        branches ? " diverged: of the branches, those at which a warp's threads went different "
                   "ways;"
                 : "",
        local ? "; spills: sectors of local memory, which holds spilled registers and arrays "
                "that did not fit"
              : "");
}

static void page_instructions(struct page *p)
{
    struct grid_column columns[GRID_COLUMNS];
    const struct model *m = p->model;
    bool local = sum_sass_counted(&m->sass, SASS_SECTORS_LOCAL),
         branches = sum_sass_counted(&m->sass, SASS_BRANCH_DIVERGENT);
    const struct keyed *k = &m->sass.groups;
    struct metric_row *rows = mem_array(k->count + 1, sizeof *rows);
    size_t n = 0;
    struct grid g;
    for (size_t i = 1; rows && i < k->count; i++) {
        const struct sass_group *s = sum_sass_group(&m->sass, i);
        if (!s->scope)
            rows[n++] = (struct metric_row){s->function, &s->values};
    }
    if (!rows)
        p->code = GPUFL_E_NOMEM;
    if (n)
        qsort(rows, n, sizeof *rows, compare_metrics);
    page_heading(p, "Counted instructions by kernel");
    grid_init(&g, columns, instruction_columns(local, branches, columns));
    for (size_t i = 0; i < n && i < report_top(p->report); i++) {
        put_count(&g, rows[i].values->value[SASS_INST]);
        put_threads(&g, rows[i].values, profile_warp(m));
        if (branches)
            put_branches(&g, rows[i].values);
        put_sectors(&g, rows[i].values);
        put_waves(&g, rows[i].values);
        if (local)
            put_local(&g, rows[i].values);
        grid_put(&g, "%s", model_text(m, profile_kernel(m, rows[i].function)));
    }
    print_grid(p, &g);
    mem_free(rows);
    put_instructions_legend(p, local, branches);
    page_of_pass(p, MODEL_INSTRUCTIONS);
}

/* ---- counters ---------------------------------------------------------------------------- */

static void put_subject(struct grid *g, const struct model *m, const struct counter_sum *c)
{
    struct buf text;
    if (c->kernel) {
        buf_init(&text, TEXT_MAX);
        insight_put_kernel(m, c->kernel, &text);
        if (c->scope)
            buf_printf(&text, " in %s", model_text(m, c->scope));
        grid_put(g, "%s", buf_cstr(&text));
        buf_fini(&text);
    } else {
        grid_put(g, "%s",
                 c->range   ? model_text(m, c->range)
                 : c->scope ? model_text(m, c->scope)
                            : "(outside scopes)");
    }
}

static void put_value(struct grid *g, double value)
{
    const double long_from = 10000, exact_to = 1e15;
    char a[UNITS_TEXT];
    if (value >= long_from && value < exact_to)
        grid_put(g, "%s", units_count(a, (int64_t)(value + 0.5)));
    else
        grid_put(g, "%.4g", value);
}

void report_put_values(struct grid *g, const struct counter_sum *c)
{
    put_count(g, (int64_t)c->count);
    put_value(g, c->sum / (double)c->count);
    put_value(g, c->least);
    put_value(g, c->most);
}

void page_counters_note(struct page *p, uint32_t kernel)
{
    const struct model *m = p->model;
    bool times = false, beyond = false;
    for (size_t i = 1; i < m->counters.items.count; i++) {
        const struct counter_sum *c = sum_counters_at(&m->counters, i);
        const char *metric = model_text(m, c->metric);
        if (kernel && c->kernel != kernel)
            continue;
        times |= strncmp(metric, "gpu__time_duration", strlen("gpu__time_duration")) == 0;
        beyond |= c->source != COUNTER_SAMPLED && strstr(metric, ".pct") && c->most > 100.5;
    }
    if (times)
        page_text(p, "gpu__time_duration is in ns.");
    if (beyond)
        page_text(p,
                  "What is above 100 %% was divided by what was counted in another pass, in which "
                  "the kernel did not do the same to a sector: of few sectors it says little.");
}

/* Series over time as a whole: one of each metric and device. How many there are, SERIES_MOST at
 * most. */
static size_t whole_series(const struct model *m, struct counter_sum series[SERIES_MOST])
{
    size_t count = 0;
    for (size_t i = 1; i < m->counters.items.count; i++) {
        const struct counter_sum *c = sum_counters_at(&m->counters, i);
        size_t at = 0;
        while (at < count && (series[at].metric != c->metric || series[at].device != c->device))
            at++;
        if (c->source != COUNTER_SAMPLED || at == SERIES_MOST)
            continue;
        if (at == count) {
            series[count++] = *c;
            continue;
        }
        struct counter_sum *to = &series[at];
        to->least = c->least < to->least ? c->least : to->least;
        to->most = c->most > to->most ? c->most : to->most;
        to->sum += c->sum;
        to->count += c->count;
    }
    return count;
}

/* Rows of a metric's series by scope. At most `rows`. */
static size_t put_series(struct grid *g, const struct model *m, const struct counter_sum *series,
                         size_t rows)
{
    size_t shown = 0;
    for (size_t i = 1; shown < rows && i < m->counters.items.count; i++) {
        const struct counter_sum *c = sum_counters_at(&m->counters, i);
        if (c->source != COUNTER_SAMPLED || c->metric != series->metric ||
            c->device != series->device || !c->scope)
            continue;
        grid_put(g, "%s", "");
        grid_put(g, "%s", model_text(m, c->scope));
        report_put_values(g, c);
        shown++;
    }
    return shown;
}

/* What was sampled over time: of the run, and by scope. How many rows of `left`. */
static size_t page_series(struct page *p, size_t left)
{
    static const struct grid_column columns[] = {{"metric", GRID_LEFT},  {"of", GRID_TEXT},
                                                 {"values", GRID_RIGHT}, {"mean", GRID_RIGHT},
                                                 {"least", GRID_RIGHT},  {"most", GRID_RIGHT}};
    const struct model *m = p->model;
    struct counter_sum series[SERIES_MOST];
    size_t count = whole_series(m, series), all = left;
    struct grid g;
    if (!count)
        return 0;
    grid_init(&g, columns, 6);
    for (size_t i = 0; left && i < count; i++, left--) {
        grid_put(&g, "%s", model_text(m, series[i].metric));
        if (series[i].device && m->devices.count > 2)
            grid_put(&g, "(the run, GPU %d)", (int)m->devices.items[series[i].device].row.index);
        else
            grid_put(&g, "(the run)");
        report_put_values(&g, &series[i]);
        left -= put_series(&g, m, &series[i], left - 1);
    }
    print_grid(p, &g);
    return all - left;
}

static bool same_subject(const struct counter_sum *a, const struct counter_sum *b)
{
    return a && a->kernel == b->kernel && a->range == b->range && a->scope == b->scope;
}

/* What was counted once or a few times: by kernel or scope, which is named above its metrics. */
static void page_counted(struct page *p, size_t left)
{
    static const struct grid_column columns[] = {{"kernel or scope", GRID_LEFT},
                                                 {"values", GRID_RIGHT},
                                                 {"mean", GRID_RIGHT},
                                                 {"least", GRID_RIGHT},
                                                 {"most", GRID_RIGHT}};
    const struct model *m = p->model;
    const struct counter_sum *before = NULL;
    struct grid g;
    grid_init(&g, columns, 5);
    for (size_t i = 1; left && i < m->counters.items.count; i++) {
        const struct counter_sum *c = sum_counters_at(&m->counters, i);
        if (c->source == COUNTER_SAMPLED)
            continue;
        if (!same_subject(before, c)) {
            put_subject(&g, m, c);
            for (int empty = 0; empty < 4; empty++)
                grid_put(&g, "%s", "");
        }
        grid_put(&g, "  %s", model_text(m, c->metric));
        report_put_values(&g, c);
        before = c;
        left--;
    }
    if (before)
        print_grid(p, &g);
    else
        grid_fini(&g);
}

static void page_counters(struct page *p)
{
    size_t left = p->report->options.top > 0 ? report_top(p->report) * 4 : SIZE_MAX;
    page_heading(p, "Hardware counters");
    left -= page_series(p, left);
    page_counted(p, left);
    page_counters_note(p, 0);
    page_of_pass(p, MODEL_COUNTERS);
}

void page_profile(struct page *p)
{
    if (p->model->samples.total.all) {
        page_samples(p);
        page_scope_samples(p);
    }
    if (p->model->sass.groups.count > 1)
        page_instructions(p);
    if (p->model->counters.items.count > 1)
        page_counters(p);
}

/* ---- SASS beside source ------------------------------------------------------------------ */

/* The text of a source and where its lines begin. */
struct source {
    uint32_t path;
    struct buf text;
    size_t *starts; /* owned */
    size_t count, cap;
};

/* A source of which a piece is missing has no lines. */
static int read_source(const struct model *m, struct source *s, uint32_t path)
{
    if (s->path == path)
        return 0;
    buf_clear(&s->text);
    s->path = path;
    s->count = 0;
    if (!device_code_source(m, path, &s->text))
        return buf_error(&s->text) ? GPUFL_E_NOMEM : 0;
    for (size_t at = 0; at < s->text.len;) {
        const char *lf = memchr(s->text.data + at, '\n', s->text.len - at);
        if (mem_grow(&s->starts, &s->cap, s->count + 1, sizeof *s->starts, SIZE_MAX / 16))
            return GPUFL_E_NOMEM;
        s->starts[s->count++] = at;
        at = lf ? (size_t)(lf - s->text.data) + 1 : s->text.len;
    }
    return 0;
}

/* A line of the source as it stands; nothing where its text is not in the session. */
static void put_source_line(const struct source *s, int64_t line, struct buf *out)
{
    if (line < 1 || (uint64_t)line > s->count)
        return;
    const char *at = s->text.data + s->starts[line - 1], *end = s->text.data + s->text.len;
    const char *lf = memchr(at, '\n', (size_t)(end - at));
    buf_str(out, "  ");
    buf_put(out, at, (size_t)((lf ? lf : end) - at));
}

/* Columns that a function has something for. */
struct shown {
    bool samples, counted, sectors, waves;
};

static struct shown shown_of(const struct kernel_view *v)
{
    const struct sass_values *s = &v->values;
    return (struct shown){v->samples != 0, s->known != 0, sass_has(s, SASS_SECTORS),
                          sass_has(s, SASS_WAVEFRONTS)};
}

static void put_numbers(struct page *p, struct grid *g, const struct kernel_view *v,
                        const struct kernel_instruction *at)
{
    struct shown shown = shown_of(v);
    char a[UNITS_TEXT];
    if (shown.samples) {
        put_count(g, (int64_t)at->samples);
        grid_put(g, "%s",
                 at->samples ? units_percent(a, (double)at->samples, (double)v->samples) : "-");
        grid_put(g, "%s", reason_name(p->model, at->top_reason));
    }
    if (shown.counted) {
        put_count(g, at->values ? at->values->value[SASS_INST] : 0);
        put_threads(g, at->values, profile_warp(p->model));
    }
    if (shown.sectors)
        put_sectors(g, at->values);
    if (shown.waves)
        put_waves(g, at->values);
}

/* The last column is never cut: a listing may be wider than the page. text: instructions have
 * theirs. */
static unsigned put_columns(const struct shown *shown, bool text,
                            struct grid_column columns[GRID_COLUMNS])
{
    static const struct grid_column all[] = {
        {"samples", GRID_RIGHT},  {"share", GRID_RIGHT},         {"stall", GRID_LEFT},
        {"executed", GRID_RIGHT}, {"threads", GRID_RIGHT},       {"needed", GRID_RIGHT},
        {"confl.", GRID_RIGHT},   {"source and SASS", GRID_LEFT}};
    const bool there[] = {shown->samples, shown->samples, shown->samples, shown->counted,
                          shown->counted, shown->sectors, shown->waves,   true};
    unsigned n = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (there[i])
            columns[n++] = all[i];
    if (!text)
        columns[n - 1].title = "offset";
    return n;
}

static void put_line_row(struct page *p, struct grid *g, const struct kernel_view *v,
                         const struct kernel_line *l, struct source *s, const char *mark)
{
    const char *file = model_text(p->model, l->file), *slash = strrchr(file, '/');
    const struct kernel_instruction sum = {
        .samples = l->samples, .top = l->top, .top_reason = l->top_reason, .values = &l->values};
    struct buf text;
    buf_init(&text, TEXT_MAX);
    if (read_source(p->model, s, l->file))
        p->code = GPUFL_E_NOMEM;
    put_source_line(s, l->line, &text);
    put_numbers(p, g, v, &sum);
    grid_put(g, "%s%s:%lld%s", mark, slash ? slash + 1 : file, (long long)l->line, buf_cstr(&text));
    p->code = p->code ? p->code : buf_error(&text) ? GPUFL_E_NOMEM : 0;
    buf_fini(&text);
}

/* Without its text an instruction is worth a row where it was sampled, or else counted: where the
 * time goes is an answer, an offset alone is none. */
static bool is_row(const struct kernel_view *v, const struct kernel_instruction *at, bool text)
{
    return text || (v->samples ? at->samples != 0 : at->values != NULL);
}

static void put_lines(struct page *p, const struct kernel_view *v)
{
    struct grid_column columns[GRID_COLUMNS];
    struct shown shown = shown_of(v);
    struct source source = {.path = 0};
    struct grid g;
    size_t count;
    const struct kernel_line **lines = kernel_view_lines(v, &count);
    if (!lines)
        p->code = GPUFL_E_NOMEM;
    if (!lines || count < 2) {
        mem_free(lines);
        return;
    }
    buf_init(&source.text, SOURCE_MAX);
    unsigned n = put_columns(&shown, true, columns);
    columns[n - 1].title = "line";
    grid_init(&g, columns, n);
    for (size_t i = 0; i < count && i < LINES_MOST; i++)
        put_line_row(p, &g, v, lines[i], &source, "");
    print_grid(p, &g);
    if (count > LINES_MOST)
        page_text(p, "… and %zu more lines, in the listing.", count - LINES_MOST);
    fputc('\n', p->out);
    buf_fini(&source.text);
    mem_free(source.starts);
    mem_free(lines);
}

/* Where a line comes again its numbers, which are of all its instructions, do not. */
static void put_line_again(struct page *p, struct grid *g, unsigned columns,
                           const struct kernel_line *l)
{
    const char *file = model_text(p->model, l->file), *slash = strrchr(file, '/');
    for (unsigned i = 1; i < columns; i++)
        grid_put(g, "%s", "");
    grid_put(g, "> %s:%lld", slash ? slash + 1 : file, (long long)l->line);
}

static void put_listing(struct page *p, const struct kernel_view *v, bool text)
{
    struct grid_column columns[GRID_COLUMNS];
    struct shown shown = shown_of(v);
    const struct kernel_line *last = NULL;
    struct source source = {.path = 0};
    struct grid g;
    bool *put = mem_zalloc(v->lines.count + 1);
    unsigned n = put_columns(&shown, text, columns);
    if (!put) {
        p->code = GPUFL_E_NOMEM;
        return;
    }
    buf_init(&source.text, SOURCE_MAX);
    grid_init(&g, columns, n);
    for (size_t i = 0; i < v->count; i++) {
        const struct kernel_instruction *at = &v->items[i];
        const struct kernel_line *l = kernel_view_line(v, at);
        if (!is_row(v, at, text))
            continue;
        size_t place = l ? keyed_index(&v->lines, l) : 0;
        if (l && l != last && put[place])
            put_line_again(p, &g, n, l);
        else if (l && l != last)
            put_line_row(p, &g, v, l, &source, "> ");
        put[place] = true;
        last = l ? l : last;
        put_numbers(p, &g, v, at);
        if (text)
            grid_put(&g, "  %05llx  %s", (unsigned long long)at->offset,
                     at->line && at->line->text ? model_text(p->model, at->line->text) : "-");
        else
            grid_put(&g, "  %05llx", (unsigned long long)at->offset);
    }
    print_grid(p, &g);
    buf_fini(&source.text);
    mem_free(source.starts);
    mem_free(put);
}

/* What the columns of the listings above are. */
static void put_columns_legend(const struct page *p, const struct shown *shown)
{
    if (shown->counted)
        page_text(p, "executed: how often warps ran it; threads: of a warp's, at work.");
    if (shown->sectors)
        page_text(p, "needed: of the sectors of global memory, those that coalesced accesses would "
                     "take; -: it accesses none.");
    if (shown->waves)
        page_text(p, "confl.: wavefronts of shared memory for each that would do without bank "
                     "conflicts.");
}

/* Where a function's PTX is, which is a source of its own (docs/format.md). */
static void put_ptx(struct page *p, uint32_t name)
{
    const struct model *m = p->model;
    char a[UNITS_TEXT];
    struct buf path, text;
    buf_init(&path, TEXT_MAX);
    buf_init(&text, SOURCE_MAX);
    buf_printf(&path, "%s.ptx", model_text(m, name));
    uint32_t source = buf_error(&path) ? 0 : intern_find(m->names, path.data, path.len);
    if (source && device_code_source(m, source, &text)) {
        int64_t lines = 0;
        for (size_t i = 0; i < text.len; i++)
            lines += text.data[i] == '\n' || i + 1 == text.len;
        page_text(p, "Its PTX, %s lines, is in the session; gpufl view shows it beside the SASS.",
                  units_count(a, lines));
    } else {
        page_text(p, "Its PTX is not in the session: code carries it where it was built with line "
                     "information (-lineinfo or -G).");
    }
    if (buf_error(&path) || buf_error(&text) == GPUFL_E_NOMEM)
        p->code = GPUFL_E_NOMEM;
    buf_fini(&path);
    buf_fini(&text);
}

/* A kernel's whole name as a heading. */
static void put_name(struct page *p, uint32_t name)
{
    char *text = mem_strdup(model_text(p->model, name));
    if (!text) {
        p->code = GPUFL_E_NOMEM;
        return;
    }
    printable_clean(text, strlen(text));
    page_heading(p, text);
    mem_free(text);
}

/* seen: columns that the page has had so far. */
static void put_function(struct page *p, uint32_t function, struct shown *seen)
{
    const struct code_function *f = device_code_at(&p->model->code, function);
    struct kernel_view v;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    p->code = p->code ? p->code : kernel_view_open(p->model, function, &v);
    if (p->code)
        return;
    put_name(p, f->shown);
    if (f->crc != CELL_NULL)
        page_text(p, "Code object %016llx%s%s.", (unsigned long long)f->crc, f->arch ? ", " : "",
                  model_text(p->model, f->arch));
    if (v.samples)
        page_text(p, "%s samples (%s of all).", units_count(a, (int64_t)v.samples),
                  units_percent(b, (double)v.samples, (double)p->model->samples.total.all));
    if (v.samples)
        page_of_pass(p, MODEL_SAMPLES);
    if (v.values.known)
        page_of_pass(p, MODEL_INSTRUCTIONS);
    bool text = kernel_view_has_text(&v);
    if (!v.count)
        page_text(p, "No instruction of it is in the session: %s.", report_no_text(p->report));
    else if (!text)
        page_text(p, "Its instructions have no text, only offsets: %s.", report_no_text(p->report));
    if (v.samples || v.values.known)
        put_lines(p, &v);
    if (v.samples || v.values.known || text)
        put_listing(p, &v, text);
    if (text)
        put_ptx(p, f->name);
    struct shown shown = shown_of(&v);
    seen->counted |= shown.counted;
    seen->sectors |= shown.sectors;
    seen->waves |= shown.waves;
    kernel_view_close(&v);
}

int report_kernel(const struct report *r, FILE *out)
{
    struct page p = {.report = r, .model = &r->model, .out = out, .color = r->options.color};
    size_t count;
    uint32_t *functions = kernel_view_find(&r->model, r->options.kernel, &count);
    if (!functions)
        return GPUFL_E_NOMEM;
    struct shown seen = {0};
    p.width = report_width(r);
    for (size_t i = 0; i < count && i < report_top(r); i++)
        put_function(&p, functions[i], &seen);
    put_columns_legend(&p, &seen);
    if (count > report_top(r))
        page_text(&p, "… and %zu more functions with %s in their names (--top 0: all)",
                  count - report_top(r), r->options.kernel);
    mem_free(functions);
    count += page_kernel_counters(&p);
    return p.code ? p.code : !count ? GPUFL_E_NOENT : ferror(out) ? GPUFL_E_IO : 0;
}
