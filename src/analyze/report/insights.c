/* insights.c - findings and waiting lines, for people. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/insight/insight.h"
#include "analyze/report/page.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 1 << 20,
    FUNCTION_COLUMNS = 56,
    STEP_COLUMNS = 72,
    STACKS_SHOWN = 3, /* stacks of a line */
    STEPS_SHOWN = 48, /* frames of a stack */
    FIRST_LINES = 2,
    FIRST_WORTH = 10, /* permille of the run that a finding on the first lines must give back */
    LOW_SHOWN = 3,    /* findings that give back next to nothing */
    RULE_SHOWN = 3,   /* findings of one rule */
};

/* ---- findings ---------------------------------------------------------------------------- */

static bool is_first(const struct page *p, size_t at)
{
    const struct insights *in = &p->report->insights;
    size_t before = 0;
    for (size_t k = 0; k < at; k++)
        before += !in->items[k].part_of && in->items[k].rule->bound == INSIGHT_MEASURED;
    return before < FIRST_LINES && !in->items[at].part_of &&
           in->items[at].rule->bound == INSIGHT_MEASURED &&
           insight_is_share(p->model, in->items[at].gives_back, FIRST_WORTH, 1000);
}

void page_first_lines(struct page *p)
{
    const struct insights *in = &p->report->insights;
    struct buf text;
    buf_init(&text, TEXT_MAX);
    for (size_t i = 0; i < in->count; i++) {
        if (!is_first(p, i))
            continue;
        buf_str(&text, in->items[i].text);
        page_item(p, "  ", &text);
    }
    buf_fini(&text);
}

/* A wait that holds nothing up: the GPU had work meanwhile. */
static bool is_vain(const struct insight *i)
{
    return i->rule->category == INSIGHT_SYNCHRONIZATION && !i->gives_back;
}

/* True where a finding above has the same next step: nobody reads a step twice. */
static bool step_is_above(const struct insights *in, const struct insight *i)
{
    for (const struct insight *a = in->items; a < i; a++)
        if (!a->part_of && !is_vain(a) && !strcmp(a->next, i->next))
            return true;
    return false;
}

static void put_insight(struct page *p, const struct insight *i)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct buf text;
    buf_init(&text, TEXT_MAX);
    buf_printf(&text, "%s %s: ", insight_severity_name(i->severity),
               insight_category_name(i->rule->category));
    page_put_headline(p->model, i, &text);
    if (is_vain(i))
        buf_str(&text, ". Nothing to win here");
    else if (i->least != CELL_NULL && insight_is_share(p->model, i->least, INSIGHT_worth, 1000))
        buf_printf(&text, ". Gives back %s (at most %s of %s)",
                   units_time_range(a, i->least, i->gives_back),
                   units_percent(b, (double)i->gives_back, (double)sum_steps_time(p->model)),
                   sum_steps_whole(p->model));
    else if (i->gives_back > 0)
        buf_printf(&text, ". %s %s (%s of %s)%s",
                   i->rule->bound == INSIGHT_ESTIMATED ? "Estimate: gives back at most"
                   : i->least != CELL_NULL             ? "May give back nothing, and at most"
                                                       : "Gives back at most",
                   units_time(a, i->gives_back),
                   units_percent(b, (double)i->gives_back, (double)sum_steps_time(p->model)),
                   sum_steps_whole(p->model),
                   i->rule->bound == INSIGHT_ESTIMATED ? ", if that is what holds it up" : "");
    page_item(p, "  ", &text);
    buf_str(&text, i->text);
    page_evidence(p, i, &text);
    page_item(p, "      ", &text);
    if (!is_vain(i))
        buf_printf(&text, "Next: %s",
                   step_is_above(&p->report->insights, i) ? "as above." : i->next);
    page_item(p, "      ", &text);
    buf_fini(&text);
}

/* How many findings of the same rule were shown above. */
static size_t same_rule(const struct insights *in, size_t at)
{
    size_t n = 0;
    for (size_t k = 0; k < at; k++)
        n += in->items[k].rule == in->items[at].rule && !in->items[k].part_of;
    return n;
}

/* Kernels too short to be worth a word about their launches. */
static void put_unjudged(struct page *p)
{
    const struct sum_kernels *k = &p->model->kernels;
    char a[UNITS_TEXT];
    size_t n = 0;
    for (size_t i = 0; i < k->name_count; i++)
        n += !insight_is_share(p->model, sum_windows_of_whole(p->model, k->names[i].time.total),
                               INSIGHT_worth, 1000);
    if (n)
        page_text(p, "%s kernel%s below 0.1 %% of %s %s not judged by occupancy and local memory.",
                  units_count(a, (int64_t)n), n == 1 ? "" : "s", sum_windows_whole(p->model),
                  n == 1 ? "is" : "are");
}

void page_insights(struct page *p)
{
    const struct insights *in = &p->report->insights;
    size_t shown = 0, small = 0, left = 0, top = report_top(p->report);
    for (size_t i = 0; i < in->count; i++) {
        const struct insight *f = &in->items[i];
        bool worth = insight_is_share(p->model, f->gives_back, FIRST_WORTH, 1000);
        if (f->part_of)
            continue;
        if (shown >= top || (!worth && small >= LOW_SHOWN) || same_rule(in, i) >= RULE_SHOWN) {
            left++;
            continue;
        }
        if (!shown)
            page_heading(p, "Insights");
        put_insight(p, f);
        small += !worth;
        shown++;
    }
    if (left)
        page_text(p, "… and %zu more: see --json", left);
    if (in->left_out)
        page_text(p, "… and %llu that give back less are kept nowhere",
                  (unsigned long long)in->left_out);
    if (shown)
        put_unjudged(p);
}

/* ---- lines ------------------------------------------------------------------------------- */

/* "file.py:90", or whatever else is known of a line. */
static void put_place(const struct model *m, const struct sync_line *l, struct buf *out)
{
    if (l->place)
        stacks_put_place(m, l->place, out);
    else
        buf_str(out, l == sum_sync_line(&m->sync, 0) ? "(other lines)" : "(no stack)");
}

static void put_line_row(struct page *page, const struct sync_line *l, struct grid *g)
{
    const struct model *m = page->model;
    const struct stacks_place *p = stacks_place_at(&m->stacks, l->place);
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    int64_t blocked = sum_sync_blocked(m, l);
    struct buf place, function;
    buf_init(&place, TEXT_MAX);
    buf_init(&function, TEXT_MAX);
    put_place(m, l, &place);
    buf_str(&place, stacks_place_is_library(p) ? " (library)" : "");
    if (p && !stacks_place_is_function(p))
        stacks_put_function(m, p->function, FUNCTION_COLUMNS, &function);
    grid_put(g, "%s", units_count(a, (int64_t)l->count));
    grid_put(g, "%s", units_time(b, blocked));
    grid_put(g, "%s", units_percent(c, (double)blocked, (double)sum_windows_time(m)));
    grid_put(g, "%s", sum_sync_call(sum_sync_main_call(l)));
    grid_put(g, "%s", buf_cstr(&place));
    grid_put(g, "%s", buf_cstr(&function));
    if (buf_error(&place) || buf_error(&function))
        page->code = GPUFL_E_NOMEM;
    buf_fini(&place);
    buf_fini(&function);
}

/* Puts one table: the lines that block, or those that do not. */
static void put_lines(struct page *p, const uint32_t *order, size_t count, bool apart)
{
    static const struct grid_column columns[] = {
        {"calls", GRID_RIGHT}, {"blocked", GRID_RIGHT}, {"share", GRID_RIGHT},
        {"call", GRID_LEFT},   {"line", GRID_LEFT},     {"function", GRID_TEXT},
    };
    struct grid g;
    size_t shown = 0, all = 0;
    grid_init(&g, columns, 6);
    for (size_t i = 0; i < count; i++) {
        const struct sync_line *l = sum_sync_line(&p->model->sync, order[i]);
        if ((l->apart != 0) != apart)
            continue;
        if (shown < report_top(p->report)) {
            put_line_row(p, l, &g);
            shown++;
        }
        all++;
    }
    page_grid(p, &g);
    if (all > shown)
        page_text(p, "… and %zu more", all - shown);
}

static bool has(const struct model *m, const uint32_t *order, size_t count, bool apart)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= (sum_sync_line(&m->sync, order[i])->apart != 0) == apart;
    return found;
}

/* ---- stacks of lines --------------------------------------------------------------------- */

static void put_stack(struct page *p, const struct sync_stack *s)
{
    struct stacks_walk w = {.node = s->node};
    struct stacks_step step;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct buf text;
    buf_init(&text, TEXT_MAX);
    buf_printf(&text, "%s in %s call%s:", units_time(a, s->time), units_count(b, (int64_t)s->calls),
               s->calls == 1 ? "" : "s");
    page_item(p, "    ", &text);
    for (int n = 0; n <= STEPS_SHOWN && stacks_next(&p->model->stacks, &w, &step); n++) {
        if (n < STEPS_SHOWN)
            stacks_put_step(p->model, &step, STEP_COLUMNS, &text);
        else
            buf_str(&text, "…");
        page_item(p, "      ", &text);
    }
    buf_fini(&text);
}

static void put_line_stacks(struct page *p, const uint32_t *order, size_t count)
{
    size_t stacks;
    const struct sync_stack **list = sum_sync_stacks(p->model, &stacks);
    if (!list) {
        p->code = GPUFL_E_NOMEM;
        return;
    }
    for (size_t i = 0; i < count && i < report_top(p->report); i++) {
        struct buf place;
        unsigned shown = 0;
        buf_init(&place, TEXT_MAX);
        size_t k = sum_sync_first_stack(list, stacks, order[i]);
        for (; k < stacks && list[k]->line == order[i] && shown < STACKS_SHOWN; k++) {
            if (!list[k]->node)
                continue;
            if (!shown++) {
                put_place(p->model, sum_sync_line(&p->model->sync, order[i]), &place);
                page_item(p, "  ", &place);
            }
            put_stack(p, list[k]);
        }
        buf_fini(&place);
    }
    mem_free(list);
}

static void put_tables(struct page *p, const uint32_t *order, size_t count)
{
    const struct model *m = p->model;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    int64_t blocked = sum_sync_blocked_all(m);
    page_heading(p, "Synchronization by line");
    if (has(m, order, count, false)) {
        page_text(p, "%s of %s (%s) with at least one thread in a call that waits.",
                  units_percent(a, (double)blocked, (double)sum_windows_time(m)),
                  sum_windows_whole(m), units_time(b, blocked));
        put_lines(p, order, count, false);
    }
    if (has(m, order, count, true)) {
        page_text(p, "Streams that wait for an event; the host goes on:");
        put_lines(p, order, count, true);
    }
    if (p->report->options.stacks)
        put_line_stacks(p, order, count);
    else
        page_text(p, "With --stacks: how the program came there.");
}

/* Puts nothing where no call has a stack and the table of synchronizations has the driver's
 * records. */
void page_sync_lines(struct page *p)
{
    size_t count;
    uint32_t *order = sum_sync_sorted(p->model, &count);
    bool any = p->model->facts.rows[RECORD_wait] && !p->model->facts.rows[RECORD_sync];
    for (size_t i = 0; order && i < count; i++)
        any |= sum_sync_line(&p->model->sync, order[i])->place != 0;
    if (!order)
        p->code = GPUFL_E_NOMEM;
    else if (any && count)
        put_tables(p, order, count);
    mem_free(order);
}
