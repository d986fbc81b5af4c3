/* insights.c - writes findings, for people. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/insight/insight.h"
#include "analyze/report/page.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 1 << 20,
    FIRST_LINES = 2,
    FIRST_WORTH = 10, /* permille of the run that a finding on the first lines must give back */
    LOW_SHOWN = 3,    /* findings that give back next to nothing */
    RULE_SHOWN = 3,   /* findings of one rule */
};

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

/* Returns true for a wait that delays nothing, because the GPU had work meanwhile. */
static bool is_vain(const struct insight *i)
{
    return i->rule->category == INSIGHT_SYNCHRONIZATION && !i->gives_back;
}

/* Returns true if the finding printed directly above has the same next step, which is then not
 * repeated. */
static bool step_is_above(const struct insight *const *printed, size_t at)
{
    return at && !is_vain(printed[at - 1]) && !strcmp(printed[at - 1]->next, printed[at]->next);
}

/* Prints finding `at` of those that are printed. */
static void put_insight(struct page *p, const struct insight *const *printed, size_t at)
{
    const struct insight *i = printed[at];
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
        buf_printf(&text, "Next: %s", step_is_above(printed, at) ? "as above." : i->next);
    page_item(p, "      ", &text);
    buf_fini(&text);
}

/* Returns the number of findings of the same rule above. */
static size_t same_rule(const struct insights *in, size_t at)
{
    size_t n = 0;
    for (size_t k = 0; k < at; k++)
        n += in->items[k].rule == in->items[at].rule && !in->items[k].part_of;
    return n;
}

/* Counts the kernels that are too short for a finding about their launches. */
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

/* Fills *printed with the findings that are printed, those first that give back most: all of them,
 * if this section was asked for. Returns their number; *left is the number of the others. */
static size_t choose(const struct page *p, const struct insight **printed, size_t *left)
{
    const struct insights *in = &p->report->insights;
    size_t shown = 0, small = 0, top = report_top(p->report);
    bool all = report_has_sections(p->report) && report_has_section(p->report, "insights");
    for (size_t i = 0; i < in->count; i++) {
        const struct insight *f = &in->items[i];
        bool worth = insight_is_share(p->model, f->gives_back, FIRST_WORTH, 1000);
        if (f->part_of)
            continue;
        if (!all &&
            (shown >= top || (!worth && small >= LOW_SHOWN) || same_rule(in, i) >= RULE_SHOWN)) {
            ++*left;
            continue;
        }
        printed[shown++] = f;
        small += !worth;
    }
    return shown;
}

/* Sorts HIGH before MEDIUM before LOW, and within each in the order of insights, by what they give
 * back. */
static int by_severity(const void *a, const void *b)
{
    const struct insight *x = *(const struct insight *const *)a;
    const struct insight *y = *(const struct insight *const *)b;
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    return (x > y) - (x < y);
}

void page_insights(struct page *p)
{
    const struct insights *in = &p->report->insights;
    const struct insight **printed = calloc(in->count + 1, sizeof *printed);
    size_t left = 0;
    if (!printed) {
        p->code = GPUFL_E_NOMEM;
        return;
    }
    size_t shown = choose(p, printed, &left);
    qsort(printed, shown, sizeof *printed, by_severity);
    if (shown)
        page_heading(p, "Insights");
    for (size_t i = 0; i < shown; i++)
        put_insight(p, printed, i);
    if (left)
        page_text(p, "… and %zu more: see --json", left);
    if (in->left_out)
        page_text(p, "… and %llu that give back less are kept nowhere",
                  (unsigned long long)in->left_out);
    if (shown)
        put_unjudged(p);
    free(printed);
}
