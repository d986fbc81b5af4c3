/* wait_lines.c - writes the lines of the program that waited for the GPU, as text. */
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/model/idle/fork.h"
#include "analyze/report/page.h"
#include "base/alloc.h"

enum {
    TEXT_MAX = 1 << 20,
    FUNCTION_COLUMNS = 56,
    STEP_COLUMNS = 72,
    STACKS_SHOWN = 3, /* stacks of a line */
    STEPS_SHOWN = 48, /* frames of a stack */
};

/* Puts "file.py:90", or what else is known of a line. */
static void put_place(const struct model *m, const struct wait_line *l, struct buf *out)
{
    if (l->place)
        stacks_put_place(m, l->place, out);
    else
        buf_str(out, l == sum_wait_lines_at(&m->wait_lines, 0) ? "(other lines)" : "(no stack)");
}

static void put_line_row(struct page *page, const struct wait_line *l, struct grid *g)
{
    const struct model *m = page->model;
    const struct stacks_place *p = stacks_place_at(&m->stacks, l->place);
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    int64_t blocked = sum_wait_lines_blocked(m, l);
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
    enum wait_call most = sum_wait_lines_main_call(l);
    grid_put(g, "%s%s", sum_wait_lines_word(most, model_words(m)),
             l->count > l->calls[most] ? ", …" : "");
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
    bool several = false;
    grid_init(&g, columns, 6);
    for (size_t i = 0; i < count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&p->model->wait_lines, order[i]);
        if ((l->apart != 0) != apart)
            continue;
        if (shown < report_top(p->report)) {
            put_line_row(p, l, &g);
            several |= l->count > l->calls[sum_wait_lines_main_call(l)];
            shown++;
        }
        all++;
    }
    page_grid(p, &g);
    if (all > shown)
        page_text(p, "… and %zu more", all - shown);
    if (several)
        page_text(p, "call, …: the line has other calls as well; this one took most of its time.");
}

static bool has(const struct model *m, const uint32_t *order, size_t count, bool apart)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= (sum_wait_lines_at(&m->wait_lines, order[i])->apart != 0) == apart;
    return found;
}

/* ---- stacks of lines --------------------------------------------------------------------- */

static void put_stack(struct page *p, const struct wait_stack *s)
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
    const struct wait_stack **list = sum_wait_lines_stacks(p->model, &stacks);
    if (!list) {
        p->code = GPUFL_E_NOMEM;
        return;
    }
    for (size_t i = 0; i < count && i < report_top(p->report); i++) {
        struct buf place;
        unsigned shown = 0;
        buf_init(&place, TEXT_MAX);
        size_t k = sum_wait_lines_first_stack(list, stacks, order[i]);
        for (; k < stacks && list[k]->line == order[i] && shown < STACKS_SHOWN; k++) {
            if (!list[k]->node)
                continue;
            if (!shown++) {
                put_place(p->model, sum_wait_lines_at(&p->model->wait_lines, order[i]), &place);
                page_item(p, "  ", &place);
            }
            put_stack(p, list[k]);
        }
        buf_fini(&place);
    }
    mem_free(list);
}

/* Shows the fork below a line that has nearly all of the time in which a thread waited. */
static void put_fork(struct page *p, const uint32_t *order, size_t count)
{
    const struct model *m = p->model;
    int64_t all = sum_wait_lines_blocked_all(m);
    struct idle_fork fork;
    for (size_t i = 0; i < count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, order[i]);
        if (l->apart || !l->place ||
            (double)sum_wait_lines_blocked(m, l) * 100 <= IDLE_FORK_ALONE * (double)all)
            continue;
        int rc = wait_fork_find(m, order[i], &fork);
        p->code = p->code ? p->code : rc;
        if (!rc && fork.count > 1)
            page_branches(p, l->place, &fork);
        return;
    }
}

/* Returns true if threads waited concurrently at different lines. */
static bool lines_overlap(const struct model *m, const uint32_t *order, size_t count)
{
    int64_t sum = 0, all = sum_wait_lines_blocked_all(m);
    for (size_t i = 0; i < count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, order[i]);
        if (!l->apart)
            sum = cells_sum(sum, sum_wait_lines_blocked(m, l));
    }
    return sum > all + all / 100;
}

static void put_tables(struct page *p, const uint32_t *order, size_t count)
{
    const struct model *m = p->model;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    int64_t blocked = sum_wait_lines_blocked_all(m);
    page_heading(p, "Synchronization by line");
    if (has(m, order, count, false)) {
        page_text(p, "%s of %s (%s) with at least one thread in a call that waits.",
                  units_percent(a, (double)blocked, (double)sum_windows_time(m)),
                  sum_windows_whole(m), units_time(b, blocked));
        if (lines_overlap(m, order, count))
            page_text(p, "Several threads wait at once: shares of lines overlap.");
        put_lines(p, order, count, false);
        put_fork(p, order, count);
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

/* Prints nothing if no call has a stack and the table of synchronizations has the driver's
 * records. */
void page_wait_lines(struct page *p)
{
    size_t count;
    uint32_t *order = sum_wait_lines_sorted(p->model, &count);
    bool any = p->model->facts.rows[RECORD_wait] && !p->model->facts.rows[RECORD_sync];
    for (size_t i = 0; order && i < count; i++)
        any |= sum_wait_lines_at(&p->model->wait_lines, order[i])->place != 0;
    if (!order)
        p->code = GPUFL_E_NOMEM;
    else if (any && count)
        put_tables(p, order, count);
    mem_free(order);
}
