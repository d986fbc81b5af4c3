/* time.c - writes the parts of the GPUs' time, as a bar and as JSON; see time.h. */
#include "analyze/report/time.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/report/json.h"
#include "analyze/report/page.h"

#include <stdlib.h>
#include <string.h>

enum { BAR_MOST = 100, SMALL = 5 /* SMALL: permille, less is summed up in the legend */ };

/* Without colours each part has its own glyph; with colours all parts are blocks. name: NULL for an
 * idle cause, which has its own (sum_idle_name). */
static const struct {
    const char *name, *glyph, *color;
} looks[TIME_PARTS] = {
    [TIME_KERNELS] = {"kernels", "█", "32"},
    [TIME_COPIES] = {"copies alone", "▒", "36"},
    [TIME_RANKS] = {"waiting for another rank", "&", "96"},
    [TIME_UNKNOWN] = {"not known", "?", "97"},
    [TIME_IDLE + IDLE_SYNC] = {NULL, "=", "31"},
    [TIME_IDLE + IDLE_COPY] = {NULL, ":", "91"},
    [TIME_IDLE + IDLE_MEMORY] = {NULL, "+", "95"},
    [TIME_IDLE + IDLE_CODE] = {NULL, "%", "94"},
    [TIME_IDLE + IDLE_QUEUED] = {NULL, "|", "93"},
    [TIME_IDLE + IDLE_BETWEEN] = {NULL, "'", "92"},
    [TIME_IDLE + IDLE_SLOW] = {NULL, "~", "34"},
    [TIME_IDLE + IDLE_LATE] = {NULL, "-", "33"},
    [TIME_IDLE + IDLE_NOTHING] = {NULL, ".", "35"},
    [TIME_IDLE + IDLE_BEFORE] = {NULL, "<", "90"},
    [TIME_IDLE + IDLE_AFTER] = {NULL, ">", "37"},
    [TIME_IDLE + IDLE_ENGINE] = {NULL, "!", "96"},
    [TIME_IDLE + IDLE_OTHER] = {NULL, "@", "37"},
    [TIME_IDLE + IDLE_START_UP] = {NULL, "^", "90"},
};

const char *time_part_name(int part)
{
    return part < TIME_IDLE ? looks[part].name : sum_idle_name((enum idle_cause)(part - TIME_IDLE));
}

const char *time_part_key(int part)
{
    return part == TIME_KERNELS  ? "kernels"
           : part == TIME_COPIES ? "copies"
           : part == TIME_RANKS  ? "rank_wait"
           : part < TIME_IDLE    ? "unknown"
                                 : sum_idle_key((enum idle_cause)(part - TIME_IDLE));
}

/* ---- parts ------------------------------------------------------------------------------- */

static void add(struct time_parts *t, int part, int64_t ns)
{
    if (ns <= 0)
        return;
    t->items[t->count++] = (struct time_part){.part = part, .ns = ns};
    t->whole = cells_sum(t->whole, ns);
}

static int compare_part(const void *a, const void *b)
{
    const struct time_part *x = a, *y = b;
    bool busy = x->part < TIME_UNKNOWN || y->part < TIME_UNKNOWN;
    if (busy || x->ns == y->ns)
        return x->part < y->part ? -1 : x->part > y->part;
    return x->ns > y->ns ? -1 : 1;
}

void time_parts_spread(const struct time_parts *t, int all, int cells[TIME_PARTS])
{
    double left[TIME_PARTS];
    int given = 0;
    for (size_t i = 0; i < t->count; i++) {
        double exact = (double)all * cells_share((double)t->items[i].ns, (double)t->whole);
        cells[i] = (int)exact;
        left[i] = exact - cells[i];
        given += cells[i];
    }
    while (t->count && given < all) {
        size_t most = 0;
        for (size_t i = 1; i < t->count; i++)
            if (left[i] > left[most])
                most = i;
        cells[most]++;
        left[most] = -1;
        given++;
    }
}

static void add_busy(const struct model *m, struct time_parts *t)
{
    struct idle_busy b;
    sum_idle_busy(m, t->idle, &b);
    int64_t ranks = m->late_ranks.waited < b.kernels ? m->late_ranks.waited : b.kernels;
    add(t, TIME_KERNELS, b.kernels - ranks);
    add(t, TIME_RANKS, ranks);
    add(t, TIME_COPIES, b.any - b.kernels);
    add(t, TIME_UNKNOWN, b.unknown);
    t->busy = b.any - ranks;
    t->ranks = ranks;
    t->unknown = b.unknown;
}

void time_parts_make(const struct model *m, struct time_parts *t)
{
    struct idle_sum sums[IDLE_CAUSES];
    int permille[TIME_PARTS];
    memset(t, 0, sizeof *t);
    t->devices = sum_idle_steady(m, sums, &t->idle);
    if (!t->devices)
        return;
    add_busy(m, t);
    for (int c = 0; c < IDLE_CAUSES; c++)
        add(t, TIME_IDLE + c, sums[c].time);
    if (!t->count)
        t->devices = 0;
    if (t->count)
        qsort(t->items, t->count, sizeof *t->items, compare_part);
    time_parts_spread(t, 1000, permille);
    for (size_t i = 0; i < t->count; i++)
        t->items[i].permille = permille[i];
}

/* ---- the bar ----------------------------------------------------------------------------- */

static void put_glyph(const struct page *p, int part, int n)
{
    if (n <= 0)
        return;
    if (p->color)
        fprintf(p->out, "\033[%sm", looks[part].color);
    for (int i = 0; i < n; i++)
        fputs(p->color ? "█" : looks[part].glyph, p->out);
    if (p->color)
        fputs("\033[0m", p->out);
}

/* Returns the columns of the legend's line, after an entry of `columns` columns. */
static int place_entry(const struct page *p, int at, int columns)
{
    if (at && at + 3 + columns > p->width) {
        fputc('\n', p->out);
        at = 0;
    }
    fprintf(p->out, "%*s", at ? 3 : 2, "");
    return (at ? at + 3 : 2) + columns;
}

static void put_legend(const struct page *p, const struct time_parts *t)
{
    int at = 0, small = 0;
    char text[64];
    for (size_t i = 0; i < t->count; i++) {
        const struct time_part *part = &t->items[i];
        if (part->part > TIME_KERNELS && part->permille < SMALL) {
            small += part->permille;
            continue;
        }
        bool trace = part->ns > 0 && !part->permille; /* small, but not 0 */
        int n = snprintf(text, sizeof text, " %s %s%d.%d %%", time_part_name(part->part),
                         trace ? "<" : "", part->permille / 10, trace ? 1 : part->permille % 10);
        at = place_entry(p, at, n + 1);
        put_glyph(p, part->part, 1);
        fputs(text, p->out);
    }
    if (small) {
        int n = snprintf(text, sizeof text, "others %d.%d %%", small / 10, small % 10);
        place_entry(p, at, n);
        fputs(text, p->out);
    }
    fputc('\n', p->out);
}

/* Prints what part of the time the GPUs worked. Where copies are not recorded, nobody knows whether
 * one ran between kernels. */
static void put_worked(const struct page *p, const struct time_parts *t, const char *of)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], unknown[96] = "", ranks[96] = "";
    bool copies = sum_known_why(p->model, KNOWN_COPIES) != KNOWN_UNRECORDED;
    if (t->unknown)
        snprintf(unknown, sizeof unknown, "; what ran for %s at the edges of windows is not known",
                 units_time(a, t->unknown));
    if (t->ranks)
        snprintf(ranks, sizeof ranks, "; kernels only waited for another rank for %s",
                 units_time(a, t->ranks));
    page_text(p, "Kernels%s ran for %s of %s%s%s%s; %s for %s%s%s.", copies ? " or copies" : "",
              units_percent(a, (double)t->busy, (double)t->whole),
              !sum_steps_steady(p->model)    ? ""
              : p->model->facts.sessions > 1 ? "the steady parts, "
                                             : "the steady part, ",
              units_time(b, t->whole), of, ranks, copies ? "nothing ran" : "no kernel ran",
              units_time(c, t->idle), unknown,
              copies ? "" : ", in which copies, which are not recorded, may have run");
}

/* Prints a bar of the whole time, and its legend. */
void page_time(struct page *p)
{
    struct time_parts t;
    int cells[TIME_PARTS], width = p->width - 4 < BAR_MOST ? p->width - 4 : BAR_MOST;
    char a[UNITS_TEXT], b[UNITS_TEXT], of[40] = "";
    bool steady = sum_steps_steady(p->model);
    time_parts_make(p->model, &t);
    if (!t.devices)
        return;
    if (p->model->facts.sessions > 1)
        snprintf(of, sizeof of, ", summed over sessions and GPUs");
    else if (t.devices > 1)
        snprintf(of, sizeof of, " of %u GPUs together", t.devices);
    page_heading(p, "Where the time went");
    put_worked(p, &t, of);
    time_parts_spread(&t, width, cells);
    fputs("  ", p->out);
    for (size_t i = 0; i < t.count; i++)
        put_glyph(p, t.items[i].part, cells[i]);
    fputc('\n', p->out);
    put_legend(p, &t);
    if (steady)
        page_text(p, "Not in the bar: start-up, %s, and %s after the last work%s.",
                  units_time(a, p->model->steps.start_up), units_time(b, p->model->steps.end),
                  p->model->steps.sessions > 1 ? ", of all sessions together" : "");
}

/* ---- for programs ------------------------------------------------------------------------ */

void json_time(const struct report *r, struct json_out *j)
{
    struct time_parts t;
    time_parts_make(&r->model, &t);
    json_out_object(j, "time");
    json_out_int(j, "whole_ns", t.devices ? t.whole : CELL_NULL);
    json_out_count(j, "devices", t.devices);
    json_out_text(j, "share_of", json_share_of(&r->model));
    bool steady = sum_steps_steady(&r->model);
    json_out_known(j, "start_up_ns", t.devices > 0, steady ? r->model.steps.start_up : 0);
    json_out_known(j, "end_ns", t.devices > 0, steady ? r->model.steps.end : 0);
    json_out_array(j, "parts");
    for (size_t i = 0; i < t.count; i++) {
        json_out_object(j, NULL);
        json_out_text(j, "part", time_part_key(t.items[i].part));
        json_out_text(j, "name", time_part_name(t.items[i].part));
        json_out_bool(j, "idle", t.items[i].part >= TIME_IDLE);
        json_out_int(j, "ns", t.items[i].ns);
        json_out_int(j, "permille", t.items[i].permille);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_close_object(j);
}
