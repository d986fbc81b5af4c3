/* passes_tables.c - writes the passes of `gpufl trace --passes` in both reports: what each gave,
 * and whether they were alike. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/insight/profile.h"
#include "analyze/report/json.h"
#include "analyze/report/page.h"
#include "symbol/names/demangle.h"

#include <string.h>

enum { TEXT_MAX = 1 << 20, KERNELS_SHOWN = 5 };

/* Lists the kinds of data that a pass gives: the words of the text report, the keys of JSON. */
static const struct {
    unsigned kind;
    const char *text, *noun, *key;
} kinds[] = {
    {PASS_TIMES, "times, launches, waits and idle time", "times", "times"},
    {MODEL_SAMPLES, "samples: why kernels stall", "samples", "samples"},
    {MODEL_INSTRUCTIONS, "counts of instructions", "counts", "instructions"},
    {MODEL_COUNTERS, "hardware counters", "counters", "counters"},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

const struct pass_group *report_group(const struct report *r)
{
    size_t passes = 0;
    if (r->group_count != 1)
        return NULL;
    for (unsigned i = 0; i < r->groups[0].count; i++)
        passes += r->groups[0].passes[i].sessions;
    return passes == r->count - r->failed ? &r->groups[0] : NULL;
}

/* ---- the list --------------------------------------------------------------------------- */

static void put_cell(struct grid *g, int64_t v)
{
    char a[UNITS_TEXT];
    grid_put(g, "%s", v == CELL_NULL ? "-" : units_count(a, v));
}

static const char *kind_text(unsigned kind)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kind & kind)
            return kinds[i].text;
    return "nothing";
}

static void put_list(struct page *p, const struct pass_group *g)
{
    static const struct grid_column columns[] = {
        {"pass", GRID_RIGHT}, {"engine", GRID_LEFT},    {"sessions", GRID_RIGHT},
        {"time", GRID_RIGHT}, {"launched", GRID_RIGHT}, {"recorded", GRID_RIGHT},
        {"gives", GRID_TEXT},
    };
    char a[UNITS_TEXT];
    struct grid grid;
    grid_init(&grid, columns, 7);
    for (unsigned i = 0; i < g->count; i++) {
        const struct pass *one = &g->passes[i];
        grid_put(&grid, "%lld", (long long)one->number);
        grid_put(&grid, "%s", model_text(p->model, one->asked));
        grid_put(&grid, "%u", one->sessions);
        grid_put(&grid, "%s", units_time(a, one->duration));
        put_cell(&grid, one->launched);
        put_cell(&grid, one->recorded);
        grid_put(&grid, "%s", kind_text(one->gives));
    }
    page_grid(p, &grid);
}

/* Writes "pass 2 (PcSampling)" */
static void put_pass(const struct model *m, const struct pass *one, struct buf *out)
{
    buf_printf(out, "pass %lld (%s)", (long long)one->number, model_text(m, one->asked));
}

/* ---- were they alike? ------------------------------------------------------------------- */

/* Appends "6 in pass 1 (Trace), 4 in pass 2 (PcSampling)"; counts: by pass, CELL_NULL is left
 * out. */
static void put_counts(const struct pass_group *g, const struct model *m, const int64_t *counts,
                       struct buf *out)
{
    char a[UNITS_TEXT];
    const char *comma = "";
    for (unsigned i = 0; i < g->count; i++) {
        if (counts[i] == CELL_NULL)
            continue;
        buf_printf(out, "%s%s in ", comma, units_count(a, counts[i]));
        put_pass(m, &g->passes[i], out);
        comma = ", ";
    }
}

static void put_different(struct page *p, const struct pass_group *g, struct buf *text)
{
    int64_t launched[PASSES_MAX];
    for (unsigned i = 0; i < g->count; i++)
        launched[i] = g->passes[i].launched;
    buf_str(text, "THE PASSES WERE NOT ALIKE. Launches of kernels: ");
    put_counts(g, p->model, launched, text);
    buf_str(text, ". What is said below of one kernel comes from runs that did not do the same: "
                  "shares and efficiencies may hold, numbers of one pass do not fit the times of "
                  "the other.");
    page_item(p, "  ", text);
    for (size_t i = 0; i < g->kernel_count && i < KERNELS_SHOWN; i++) {
        const struct pass_kernel *k = &g->kernels[i];
        insight_put_kernel(p->model, k->name, text);
        buf_printf(text,
                   ", %lld x %lld x %lld blocks of %lld x %lld x %lld: ", (long long)k->grid[0],
                   (long long)k->grid[1], (long long)k->grid[2], (long long)k->block[0],
                   (long long)k->block[1], (long long)k->block[2]);
        put_counts(g, p->model, k->launches, text);
        page_item(p, "    ", text);
    }
    size_t more = g->kernel_count + g->kernels_more;
    if (more > KERNELS_SHOWN)
        page_text(p, "  … and %zu more kernels and shapes: see --json", more - KERNELS_SHOWN);
}

static void put_alike(struct page *p, const struct pass_group *g)
{
    struct buf text;
    char a[UNITS_TEXT];
    buf_init(&text, TEXT_MAX);
    if (g->alike == PASSES_DIFFER)
        put_different(p, g, &text);
    else if (g->alike == PASSES_UNKNOWN)
        page_text(p, "Not every pass counted its launches: whether they were alike is not known. "
                     "Kernels are matched by name.");
    else if (g->by_kernel)
        page_text(p,
                  "The passes were alike: of every kernel and launch shape as many launches, %s "
                  "in all.",
                  units_count(a, g->passes[0].recorded));
    else
        page_text(p,
                  "Each pass launched as many kernels (%s); not all of them were recorded one by "
                  "one, so they are matched by name alone.",
                  units_count(a, g->passes[0].launched));
    if (buf_error(&text))
        p->code = GPUFL_E_NOMEM;
    buf_fini(&text);
}

/* Says what a pass did not give or lost, except for the pass of the times, which the ledger is
 * about. */
static void put_failures(struct page *p, const struct pass_group *g)
{
    struct buf text;
    buf_init(&text, TEXT_MAX);
    for (unsigned i = 1; i < g->count; i++) {
        const struct pass *one = &g->passes[i];
        if (one->nothing) {
            put_pass(p->model, one, &text);
            buf_printf(&text, " gave nothing%s%s: %s.",
                       one->ran != one->asked ? "; it ran as " : "",
                       one->ran != one->asked ? model_text(p->model, one->ran) : "", one->nothing);
            page_item(p, "  ", &text);
        }
        if (one->verdict == LEDGER_INCOMPLETE) {
            put_pass(p->model, one, &text);
            buf_printf(&text, " is INCOMPLETE: %s", one->missing);
            page_item(p, "  ", &text);
        }
    }
    if (buf_error(&text))
        p->code = GPUFL_E_NOMEM;
    buf_fini(&text);
}

static void put_group(struct page *p, const struct pass_group *g)
{
    char title[256], of[32] = "";
    if (g->announced > g->count)
        snprintf(of, sizeof of, " of %lld", (long long)g->announced);
    snprintf(title, sizeof title, "%u%s passes of run %.128s%s", g->count, of,
             model_text(p->model, g->run), *of ? "; the others are not there" : "");
    page_heading(p, title);
    put_list(p, g);
    put_alike(p, g);
    put_failures(p, g);
}

void page_passes(struct page *p)
{
    for (size_t i = 0; i < p->report->group_count; i++)
        put_group(p, &p->report->groups[i]);
    if (p->report->group_count && p->report->count > 1 && !report_group(p->report))
        fputc('\n', p->out); /* the list of sessions follows */
}

void page_of_pass(struct page *p, unsigned kind)
{
    const struct report *r = p->report;
    struct buf text;
    buf_init(&text, TEXT_MAX);
    for (size_t i = 0; i < r->group_count; i++) {
        const struct pass_group *g = &r->groups[i];
        for (unsigned k = 0; k < g->count; k++) {
            if (!(g->passes[k].gives & kind))
                continue;
            buf_str(&text, text.len ? ", " : "Of ");
            put_pass(p->model, &g->passes[k], &text);
            if (r->group_count > 1)
                buf_printf(&text, " of run %s", model_text(p->model, g->run));
        }
    }
    if (text.len)
        buf_char(&text, '.');
    page_item(p, "  ", &text);
    buf_fini(&text);
}

/* ---- findings --------------------------------------------------------------------------- */

static bool was_sampled(const struct model *m, uint32_t kernel)
{
    for (uint32_t i = 1; kernel && i < m->code.functions.count; i++)
        if (device_code_at(&m->code, i)->name == kernel && device_code_at(&m->code, i)->samples)
            return true;
    return false;
}

static bool rests_on(const struct insight *i, const char *fact)
{
    unsigned n = 0;
    while (fact && n < i->fact_count && strcmp(i->facts[n].key, fact) != 0)
        n++;
    return !fact || n < i->fact_count;
}

/* Returns the kinds of data from which a finding was made. */
static unsigned kinds_of(const struct model *m, const struct insight *i)
{
    static const struct {
        const char *rule;
        unsigned kinds, sampled; /* sampled: also samples, where the kernel has some */
        const char *fact;        /* only findings that have this fact; NULL: all */
    } rules[] = {
        {"stall", MODEL_SAMPLES, 0, NULL},
        {"divergence", MODEL_INSTRUCTIONS, 0, NULL},
        {"uncoalesced", MODEL_INSTRUCTIONS, MODEL_SAMPLES, NULL},
        {"bank_conflicts", MODEL_INSTRUCTIONS, MODEL_SAMPLES, NULL},
        {"spills", MODEL_INSTRUCTIONS, MODEL_SAMPLES, "local_sectors"},
    };
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        if (strcmp(rules[r].rule, i->rule->id) == 0 && rests_on(i, rules[r].fact))
            return PASS_TIMES | rules[r].kinds | (was_sampled(m, i->kernel) ? rules[r].sampled : 0);
    return PASS_TIMES;
}

/* Puts how often the kernel was launched, if the passes differ in that. */
static void put_launches(const struct pass_group *g, const struct pass *one, uint32_t kernel,
                         struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    size_t at = (size_t)(one - g->passes);
    for (size_t i = 0; kernel && i < g->kernel_count; i++) {
        const int64_t *n = g->kernels[i].launches;
        if (g->kernels[i].name != kernel || n[at] == CELL_NULL || n[at] == n[0])
            continue;
        buf_printf(out, " (which launched a shape of it %s times, the pass of the times %s times)",
                   units_count(a, n[at]), units_count(b, n[0]));
        return;
    }
}

void page_evidence(struct page *p, const struct insight *i, struct buf *out)
{
    const struct report *r = p->report;
    unsigned rests = kinds_of(p->model, i);
    const char *lead = out->len ? " Evidence: " : "Evidence: ";
    bool any = false;
    for (size_t k = 0; k < r->group_count; k++)
        for (size_t n = 0; n < KINDS; n++) {
            const struct pass_group *g = &r->groups[k];
            const struct pass *one = rests & kinds[n].kind ? pass_group_of(g, kinds[n].kind) : NULL;
            if (!one)
                continue;
            buf_printf(out, "%s%s of ", any ? ", " : lead, kinds[n].noun);
            put_pass(p->model, one, out);
            put_launches(g, one, i->kernel, out);
            any = true;
        }
    if (any)
        buf_char(out, '.');
}

/* ---- for programs ----------------------------------------------------------------------- */

void json_evidence(const struct report *r, struct json_out *j, const struct insight *i)
{
    const struct pass_group *g = r->group_count == 1 ? &r->groups[0] : NULL;
    if (!g)
        return;
    unsigned rests = kinds_of(&r->model, i);
    json_out_array(j, "passes");
    for (unsigned k = 0; k < g->count; k++)
        if (g->passes[k].gives & rests)
            json_out_int(j, NULL, g->passes[k].number);
    json_out_close_array(j);
}

static void json_pass(const struct report *r, struct json_out *j, const struct pass *one)
{
    json_out_object(j, NULL);
    json_out_int(j, "pass", one->number);
    json_out_text(j, "engine", model_text(&r->model, one->asked));
    json_out_text_or_null(j, "engine_ran", model_text(&r->model, one->ran));
    json_out_count(j, "sessions", one->sessions);
    json_out_int(j, "duration_ns", one->duration);
    json_out_int(j, "kernels_launched", one->launched);
    json_out_int(j, "kernels_recorded", one->recorded);
    json_out_array(j, "gives");
    for (size_t i = 0; i < KINDS; i++)
        if (one->gives & kinds[i].kind)
            json_out_text(j, NULL, kinds[i].key);
    json_out_close_array(j);
    json_out_text_or_null(j, "gave_nothing", one->nothing ? one->nothing : "");
    json_out_text(j, "verdict", sum_ledger_verdict_key(one->verdict));
    json_out_pieces(j, "missing", one->missing, '\n');
    json_out_close_object(j);
}

static void json_dimensions(struct json_out *j, const char *key, const int64_t of[3])
{
    json_out_array(j, key);
    for (int i = 0; i < 3; i++)
        json_out_int(j, NULL, of[i]);
    json_out_close_array(j);
}

static void json_kernel(const struct report *r, struct json_out *j, const struct pass_group *g,
                        const struct pass_kernel *k)
{
    json_out_object(j, NULL);
    json_kernel_name(&r->model, j, "name", k->name);
    json_short_name(&r->model, j, k->name);
    json_out_text(j, "symbol", model_text(&r->model, k->name));
    json_dimensions(j, "grid", k->grid);
    json_dimensions(j, "block", k->block);
    json_out_array(j, "launches");
    for (unsigned i = 0; i < g->count; i++) {
        json_out_object(j, NULL);
        json_out_int(j, "pass", g->passes[i].number);
        json_out_int(j, "count", k->launches[i]);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_close_object(j);
}

void json_passes(const struct report *r, struct json_out *j)
{
    static const char *const alike[] = {"yes", "unknown", "no"};
    if (!r->group_count)
        return;
    json_out_array(j, "groups");
    for (size_t i = 0; i < r->group_count; i++) {
        const struct pass_group *g = &r->groups[i];
        json_out_object(j, NULL);
        json_out_text(j, "run", model_text(&r->model, g->run));
        json_out_int(j, "announced", g->announced);
        json_out_text(j, "alike", alike[g->alike]);
        json_out_bool(j, "compared_by_kernel", g->by_kernel);
        json_out_array(j, "passes");
        for (unsigned k = 0; k < g->count; k++)
            json_pass(r, j, &g->passes[k]);
        json_out_close_array(j);
        json_out_array(j, "different_kernels");
        for (size_t k = 0; k < g->kernel_count; k++)
            json_kernel(r, j, g, &g->kernels[k]);
        json_out_close_array(j);
        json_out_count(j, "different_kernels_more", g->kernels_more);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}
