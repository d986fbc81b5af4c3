/* idle.c - writes idle time of the GPU by cause and by line, for people. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/model/idle/fork.h"
#include "analyze/model/idle/operators.h"
#include "analyze/model/idle/table.h"
#include "analyze/report/page.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>

enum { TEXT_MAX = 1 << 16, STEP_COLUMNS = 60, FUNCTION_COLUMNS = 56 };

/* ---- by cause ---------------------------------------------------------------------------- */

static int compare_causes(const void *a, const void *b, void *arg)
{
    const struct idle_sum *sums = arg;
    int x = *(const int *)a, y = *(const int *)b;
    if (sums[x].time != sums[y].time)
        return sums[x].time > sums[y].time ? -1 : 1;
    return x - y;
}

static void put_causes(struct page *p, struct idle_sum *sums, unsigned devices)
{
    struct idle_sum shared[IDLE_CAUSES];
    int64_t all;
    static const struct grid_column columns[] = {
        {"idle", GRID_RIGHT}, {"share", GRID_RIGHT}, {"gaps", GRID_RIGHT}, {"because", GRID_TEXT}};
    int order[IDLE_CAUSES];
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    struct grid g;
    page_heading(p, "Idle time of the GPU by cause");
    for (int i = 0; i < IDLE_CAUSES; i++)
        order[i] = i;
    qsort_r(order, IDLE_CAUSES, sizeof *order, compare_causes, sums);
    grid_init(&g, columns, 4);
    sum_idle_steady(p->model, shared, &all);
    for (int i = 0; i < IDLE_CAUSES; i++) {
        const struct idle_sum *s = &sums[order[i]];
        if (!s->gaps)
            continue;
        grid_put(&g, "%s", units_time(a, s->time));
        grid_put(&g, "%s",
                 units_percent(b, (double)shared[order[i]].time,
                               shared[order[i]].time ? (double)all : 0));
        grid_put(&g, "%s", units_count(c, (int64_t)s->gaps));
        grid_put(&g, "%s", sum_idle_text((enum idle_cause)order[i]));
    }
    page_grid(p, &g);
    if (sum_steps_steady(p->model))
        page_text(p, "Shares are of the idle time in the steady part.");
    if (devices > 1 || p->model->facts.sessions > 1)
        page_text(p, "Summed over %u device%s and %u session%s%s.", devices,
                  devices == 1 ? "" : "s", p->model->facts.sessions,
                  p->model->facts.sessions == 1 ? "" : "s",
                  p->model->facts.sessions == 1
                      ? ""
                      : ": each counts its own gaps, even while another one used the GPU");
    if (p->model->wait_lines.beyond)
        page_text(p, "%s calls could not be kept one by one: their idle time counts as the host's.",
                  units_count(a, (int64_t)p->model->wait_lines.beyond));
    if (p->model->idle.doubtful)
        page_text(p, "Up to %s of it may have been work whose records came late.",
                  units_time(a, p->model->idle.doubtful));
}

/* ---- by line ----------------------------------------------------------------------------- */

void page_put_inner(const struct model *m, uint32_t place, uint32_t node, struct buf *out)
{
    struct stacks_walk w = {.node = node};
    struct stacks_step step;
    const struct stacks_place *p = stacks_place_at(&m->stacks, place);
    while (p && stacks_next(&m->stacks, &w, &step)) {
        if (step.file == p->file && step.line == p->line)
            break;
        if (step.kind == STACKS_PYTHON && step.file && step.line) {
            stacks_put_step(m, &step, STEP_COLUMNS, out);
            break;
        }
    }
}

void page_put_line(const struct model *m, uint32_t place, struct buf *out)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, place);
    stacks_put_place(m, place, out);
    buf_str(out, stacks_place_is_library(p) ? " (library)" : "");
    if (p && p->function && !stacks_place_is_function(p)) {
        buf_char(out, ' ');
        stacks_put_function(m, p->function, FUNCTION_COLUMNS, out);
    }
}

const char *page_doing(uint32_t doing)
{
    switch (IDLE_DOING_STATE(doing)) {
    case IDLE_RUNNABLE:
        return "ready, but no core was free";
    case IDLE_WAITS_FOR_GIL:
        return "waited for the GIL";
    default:
        return idle_doing_key(doing);
    }
}

/* Puts the operator with half of the row's launches: "AddmmBackward0". Where the host did something
 * else before a launch, the launch's operator does not say what. */
static void put_operator(const struct model *m, const struct idle_row *r, struct buf *out)
{
    bool launches = r->cause == IDLE_SLOW || r->ended_by || r->inherited || r->exact > r->ns / 2;
    if (!r->ops_bytes || !launches)
        return;
    buf_str(out, out->len ? " " : "");
    operators_put_innermost(m, r->ops, r->ops_bytes, out);
}

/* Puts what is known besides the line: the innermost frame of a library, the operator, and the
 * thread's state. */
static void put_inside(const struct model *m, const struct idle_row *r, struct buf *out)
{
    const char *state = idle_doing_key(r->doing), *call = idle_doing_call(r->doing);
    page_put_inner(m, r->place, r->node, out);
    put_operator(m, r, out);
    const char *space = out->len ? " " : "";
    if (IDLE_DOING_STATE(r->doing) == IDLE_BLOCKED)
        buf_printf(out, "%s(blocked%s%s)", space, *call ? ": " : "", call);
    else if (IDLE_DOING_STATE(r->doing) > IDLE_RUNNING)
        buf_printf(out, "%s(%s)", space, page_doing(r->doing));
    else if (r->inherited)
        buf_printf(out, "%s(%s)", space, *state ? state : "waiting");
}

static void put_place(const struct model *m, const struct idle_row *r, struct buf *out)
{
    if (!stacks_place_at(&m->stacks, r->place)) {
        buf_printf(out, "(%s)", idle_reason_text((enum idle_reason)r->reason));
        return;
    }
    buf_str(out, r->ended_by ? "ended by " : "");
    page_put_line(m, r->place, out);
}

static void put_row(struct page *page, const struct idle_row *r, int64_t all, struct grid *g)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    struct buf place, inside;
    buf_init(&place, TEXT_MAX);
    buf_init(&inside, TEXT_MAX);
    put_place(page->model, r, &place);
    if (r->place)
        put_inside(page->model, r, &inside);
    bool counts = sum_idle_counts(page->model, (enum idle_cause)r->cause);
    grid_put(g, "%s", units_percent(a, (double)r->ns, counts ? (double)all : 0));
    grid_put(g, "%s", units_time(b, r->ns));
    grid_put(g, "%s",
             !r->estimated || !r->place   ? ""
             : r->half_width == CELL_NULL ? "?"
                                          : units_time(c, r->half_width));
    grid_put(g, "%s", r->cause < IDLE_CAUSES ? sum_idle_key((enum idle_cause)r->cause) : "");
    grid_put(g, "%s", buf_cstr(&place));
    grid_put(g, "%s", buf_cstr(&inside));
    if (buf_error(&place) || buf_error(&inside))
        page->code = GPUFL_E_NOMEM;
    buf_fini(&place);
    buf_fini(&inside);
}

/* Says how much time has no known line, and why. */
static void put_unknown(struct page *p, const struct idle_table *t, const int64_t *by_reason)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    const char *comma = "";
    int64_t unknown = 0;
    struct buf text;
    for (int r = 0; r < IDLE_REASONS; r++)
        if (idle_reason_is_unknown((enum idle_reason)r))
            unknown = cells_sum(unknown, by_reason[r]);
    if (!unknown)
        return;
    buf_init(&text, TEXT_MAX);
    buf_printf(&text, "No line is known for %s (%s): ", units_time(a, unknown),
               units_percent(b, (double)unknown, (double)t->all));
    for (int r = 0; r < IDLE_REASONS; r++) {
        if (!idle_reason_is_unknown((enum idle_reason)r) || !by_reason[r])
            continue;
        buf_printf(&text, "%s%s %s", comma, units_time(a, by_reason[r]),
                   idle_reason_text((enum idle_reason)r));
        comma = "; ";
    }
    buf_char(&text, '.');
    page_item(p, "  ", &text);
    buf_fini(&text);
}

/* Puts as many rows with a line as --top says, and the sums of the rows without a line. */
static void put_rows(struct page *p, const struct idle_table *t)
{
    static const struct grid_column columns[] = {
        {"share", GRID_RIGHT}, {"idle", GRID_RIGHT}, {"±", GRID_RIGHT},
        {"cause", GRID_LEFT},  {"line", GRID_TEXT},  {"inside", GRID_TEXT},
    };
    int64_t by_reason[IDLE_REASONS] = {0};
    size_t top = report_top(p->report), shown = t->lines < top ? t->lines : top;
    struct grid g;
    grid_init(&g, columns, 6);
    for (size_t i = 0; i < shown; i++)
        put_row(p, &t->rows[i], t->all, &g);
    for (size_t i = t->lines; i < t->count; i++)
        if (sum_idle_counts(p->model, (enum idle_cause)t->rows[i].cause))
            by_reason[t->rows[i].reason] = cells_sum(by_reason[t->rows[i].reason], t->rows[i].ns);
    for (uint32_t r = 0; r < IDLE_REASONS; r++) {
        struct idle_row row = {.reason = r, .cause = IDLE_CAUSES, .ns = by_reason[r]};
        if (row.ns && !idle_reason_is_unknown((enum idle_reason)r))
            put_row(p, &row, t->all, &g);
    }
    page_grid(p, &g);
    if (t->lines > shown)
        page_text(p, "… and %zu more lines", t->lines - shown);
    put_unknown(p, t, by_reason);
}

void page_late(struct page *p)
{
    enum { MANY = 5 /* % */ };
    char a[UNITS_TEXT];
    const struct ledger_row *l = &p->model->ledger.row;
    double late = (double)l->host_samples_late, all = (double)l->host_samples;
    if (p->model->ledger.any && l->host_samples > 0 && l->host_samples_late > 0 &&
        late * 100 > MANY * all)
        page_text(p,
                  "%s of the samples came more than 1 ms late, as on a busy machine: shares may be "
                  "off by several points more than ± says.",
                  units_percent(a, late, all));
}

/* Says from how many samples and launches the table was made. */
static void put_grounds(struct page *p, const struct idle_table *t)
{
    const struct idle_lines *l = &p->model->idle.lines;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    bool ended = false; /* a row that is shown says so */
    for (size_t i = 0; i < t->lines && i < report_top(p->report); i++)
        ended |= t->rows[i].ended_by;
    if (l->looks || l->captures)
        page_text(p, "By %s samples of threads and %s launches with a stack; ± is at 95 %%.",
                  units_count(a, (int64_t)l->looks), units_count(b, (int64_t)l->captures));
    if (ended)
        page_text(p,
                  "“Ended by”: the line launched the work that ended the time; there are too few "
                  "samples of what the host did in it, or none.");
    if (l->looks_beyond || l->captures_beyond)
        page_text(p, "%s samples and %s launches could not be kept and count for nothing here.",
                  units_count(a, (int64_t)l->looks_beyond),
                  units_count(b, (int64_t)l->captures_beyond));
}

/* ---- the fork below a line --------------------------------------------------------------- */

void page_branches(struct page *p, uint32_t place, const struct idle_fork *f)
{
    char a[UNITS_TEXT];
    struct buf text;
    buf_init(&text, TEXT_MAX);
    buf_str(&text, "Below ");
    stacks_put_place(p->model, place, &text);
    if (f->at.function) {
        buf_str(&text, " > ");
        stacks_put_function(p->model, f->at.function, FUNCTION_COLUMNS, &text);
    }
    buf_char(&text, ':');
    page_item(p, "  ", &text);
    for (size_t i = 0; i < f->count; i++) {
        buf_printf(&text, "%s ", units_percent(a, (double)f->branches[i].ns, (double)f->ns));
        stacks_put_step(p->model, &f->branches[i].step, STEP_COLUMNS, &text);
        page_item(p, "    ", &text);
    }
    buf_fini(&text);
}

/* Shows the fork below a line that has nearly all idle time. */
static void put_fork(struct page *p, const struct idle_table *t)
{
    struct idle_fork fork;
    uint32_t causes = 0;
    for (int c = 0; c < IDLE_CAUSES; c++)
        causes |= sum_idle_counts(p->model, (enum idle_cause)c) ? 1u << c : 0;
    for (size_t i = 0; i < t->lines; i++) {
        uint32_t place = t->rows[i].place;
        int64_t ns = 0;
        for (size_t k = 0; k < t->lines; k++)
            if (t->rows[k].place == place && !t->rows[k].ended_by &&
                sum_idle_counts(p->model, (enum idle_cause)t->rows[k].cause))
                ns = cells_sum(ns, t->rows[k].ns);
        if ((double)ns * 100 <= IDLE_FORK_ALONE * (double)t->all)
            continue;
        int rc = idle_fork_find(p->model, place, causes, &fork);
        p->code = p->code ? p->code : rc;
        if (!rc && fork.count > 1)
            page_branches(p, place, &fork);
        return;
    }
}

static void put_lines(struct page *p)
{
    struct idle_table t;
    int rc = idle_table_make(p->model, &t);
    p->code = p->code ? p->code : rc;
    if (!rc && t.lines) {
        page_heading(p, "Idle time by line");
        put_rows(p, &t);
        put_grounds(p, &t);
        page_late(p);
        put_fork(p, &t);
    }
    idle_table_fini(&t);
}

void page_idle(struct page *p)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all;
    unsigned devices = sum_idle_total(p->model, sums, &all);
    if (!devices || all <= 0)
        return;
    put_causes(p, sums, devices);
    put_lines(p);
}
