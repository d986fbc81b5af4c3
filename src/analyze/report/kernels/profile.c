/* profile.c - writes samples, metrics of instructions and hardware counters, for people. */
#include "analyze/insight/profile.h"
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/report/cells.h"
#include "analyze/report/page.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 1 << 20,
    REASONS_SHOWN = 3,
    REASONS_NARROW = 2, /* reasons on a page of less than WIDTH_REASONS columns */
    WIDTH_REASONS = 120,
    SERIES_MOST = 128,
};

/* ---- samples ----------------------------------------------------------------------------- */

/* Counts the samples of a kernel by reason. */
struct sampled {
    uint32_t kernel, reason;
    uint64_t of_kernel;
    struct sample_count samples;
    enum stall_class class;
};

/* Samples that wait come first. */
static bool is_waiting(const struct sampled *s)
{
    return s->class != STALL_RUNNING && s->class != STALL_UNKNOWN;
}

static int compare_rows(const void *a, const void *b)
{
    const struct sampled *x = a, *y = b;
    if (x->of_kernel != y->of_kernel)
        return x->of_kernel > y->of_kernel ? -1 : 1;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    if (is_waiting(x) != is_waiting(y))
        return is_waiting(x) ? -1 : 1;
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
        list[(*count)++] = (struct sampled){f ? f->shown : 0, g->reason, f ? f->samples : 0,
                                            g->count, profile_stall(m, g->reason)->class};
    }
    if (list && *count)
        qsort(list, *count, sizeof *list, compare_rows);
    return list;
}

/* Puts one kernel's rows. Returns their number. */
static size_t put_sampled(struct page *p, struct grid *g, const struct sampled *rows, size_t count)
{
    char a[UNITS_TEXT], text[256] = "";
    size_t n = 1, at = 0, most = p->width < WIDTH_REASONS ? REASONS_NARROW : REASONS_SHOWN;
    struct sample_count all = {0};
    uint64_t selected = 0, unknown = 0;
    while (n < count && rows[n].kernel == rows[0].kernel && rows[n].of_kernel == rows[0].of_kernel)
        n++;
    for (size_t i = 0; i < n; i++) {
        sample_count_add(&all, &rows[i].samples);
        selected += rows[i].class == STALL_RUNNING ? rows[i].samples.all : 0;
        unknown += rows[i].class == STALL_UNKNOWN ? rows[i].samples.all : 0;
        if (i < most && is_waiting(&rows[i]) && at < sizeof text - 80)
            at += (size_t)snprintf(
                text + at, sizeof text - at, "%s%.32s %s", at ? ", " : "",
                report_cells_reason(p->model, rows[i].reason),
                units_percent(a, (double)rows[i].samples.all, (double)rows[0].of_kernel));
    }
    grid_put(g, "%s",
             units_percent(a, (double)rows[0].of_kernel, (double)p->model->samples.total.all));
    grid_put(g, "%.1f", 100 * sum_samples_margin(p->model, rows[0].of_kernel));
    report_cells_put_count(g, (int64_t)rows[0].of_kernel);
    uint64_t known = all.all - unknown;
    grid_put(g, "%s", known ? units_percent(a, (double)selected, (double)known) : "-");
    grid_put(g, "%s",
             all.issue_known ? units_percent(a, (double)all.idle, (double)all.issue_known) : "-");
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
    const struct words *w = model_words(p->model);
    bool issues_known = s->total.issue_known > 0;
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
    page_grid(p, &g);
    mem_free(rows);
    page_text(p,
              "%s samples in all; --kernel NAME shows the instructions of one. A kernel's share of "
              "them estimates its share of the time in which %s had work, to so many points at "
              "95 %%.",
              units_count(a, (int64_t)s->total.all), w->sms);
    page_text(p, "selected: the %s itself issued an instruction%s%s%s.", w->warp,
              issues_known ? "; no issue: its scheduler issued none in that cycle, of any " : "",
              issues_known ? w->warp : "", issues_known ? ": only this time can be won back" : "");
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

/* Puts sectors of local memory, also if they are 0. */
static void put_local(struct grid *g, const struct sass_values *v)
{
    char a[UNITS_TEXT];
    bool known = sass_has(v, SASS_SECTORS_LOCAL);
    grid_put(g, "%s", known ? units_count(a, v->value[SASS_SECTORS_LOCAL]) : "-");
}

static void put_branches(struct grid *g, const struct sass_values *v)
{
    double apart = (double)v->value[SASS_BRANCH_DIVERGENT];
    report_cells_put_share(g, v, SASS_BRANCH_DIVERGENT, apart, SASS_BRANCH_UNIFORM,
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
        report_cells_put_count(&g, rows[i].values->value[SASS_INST]);
        report_cells_put_threads(&g, rows[i].values, profile_warp(m));
        if (branches)
            put_branches(&g, rows[i].values);
        report_cells_put_sectors(&g, rows[i].values);
        report_cells_put_waves(&g, rows[i].values);
        if (local)
            put_local(&g, rows[i].values);
        grid_put(&g, "%s", model_text(m, profile_kernel(m, rows[i].function)));
    }
    page_grid(p, &g);
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
    report_cells_put_count(g, (int64_t)c->count);
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

/* Sums up series over time, one for each metric and device. Returns their number, at most
 * SERIES_MOST. */
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

/* Puts at most `rows` rows of a metric's series by scope. */
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

/* Puts counters that were sampled over time, for the run and by scope. Returns how many of `left`
 * rows it used. */
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
    page_grid(p, &g);
    return all - left;
}

static bool same_subject(const struct counter_sum *a, const struct counter_sum *b)
{
    return a && a->kernel == b->kernel && a->range == b->range && a->scope == b->scope;
}

/* Puts counters that were counted once or a few times, by kernel or scope, whose name precedes
 * its metrics. */
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
        page_grid(p, &g);
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

/* Lists the settings of a name that scopes without counters have. Returns how many there are, with
 * those beyond the first `top`. */
static size_t list_uncounted(struct page *p, const char *name, const char *form, size_t top)
{
    static const char title[] = "Scopes without hardware counters: how often, and why";
    const struct sum_facts *f = &p->model->facts;
    size_t n = 0;
    for (size_t i = 0; i < f->setting_count; i++) {
        if (strcmp(model_text(p->model, f->settings[i].name), name) != 0 || n++ >= top)
            continue;
        if (n == 1 && !*form)
            page_heading(p, title);
        page_text(p, "%s%s", form, model_text(p->model, f->settings[i].value));
    }
    return n;
}

/* Lists the scopes without counters of RangeProfiler, from the session's settings. */
static void page_uncounted(struct page *p)
{
    size_t top = report_top(p->report), n = list_uncounted(p, "uncounted_scope", "", top);
    if (n > top)
        page_text(p, "… and %zu more names and reasons (--top 0: all)", n - top);
    (void)list_uncounted(p, "uncounted_unnamed", "further names: ", SIZE_MAX);
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
    page_uncounted(p);
}
