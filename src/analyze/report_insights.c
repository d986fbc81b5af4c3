/* report_insights.c - what stands in the way, and which line waits, for people. */
#include "analyze/cells.h"
#include "analyze/grid.h"
#include "analyze/report.h"
#include "analyze/units.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { FUNCTION_COLUMNS = 56, STACKS_SHOWN = 3, STEPS_SHOWN = 40 };

/* "file.py:90" or what else is known of a line. */
static void put_place(const struct model *m, const struct sync_line *l, struct buf *out)
{
    if (l->place)
        stacks_put_place(m, l->place, out);
    else
        buf_str(out, l == sum_sync_line(&m->sync, 0) ? "(other lines)" : "(no stack)");
}

static void put_line_row(const struct model *m, const struct sync_line *l, struct grid *g)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, l->place);
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    int64_t blocked = sum_sync_blocked(m, l);
    struct buf place, function;
    buf_init(&place, 1 << 16);
    buf_init(&function, 1 << 16);
    put_place(m, l, &place);
    if (p)
        stacks_put_function(m, p->function, FUNCTION_COLUMNS, &function);
    grid_put(g, "%s", units_count(a, (int64_t)l->count));
    grid_put(g, "%s", units_time(b, blocked));
    grid_put(g, "%s", units_percent(c, (double)blocked, (double)sum_facts_duration(m)));
    grid_put(g, "%s", sum_sync_call(sum_sync_main_call(l)));
    grid_put(g, "%s", buf_cstr(&place));
    grid_put(g, "%s", buf_cstr(&function));
    buf_fini(&place);
    buf_fini(&function);
}

/* Lines of one table: those that block, or those that do not. */
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
        if (l->apart != apart)
            continue;
        if (shown < report_top(p->report)) {
            put_line_row(p->model, l, &g);
            shown++;
        }
        all++;
    }
    p->code = p->code ? p->code : grid_print(&g, p->out, p->width, p->color);
    grid_fini(&g);
    if (all > shown)
        page_text(p, "… and %zu more", all - shown);
}

static bool has(const struct model *m, const uint32_t *order, size_t count, bool apart)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= sum_sync_line(&m->sync, order[i])->apart == apart;
    return found;
}

void page_sync_lines(struct page *p)
{
    const struct model *m = p->model;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    size_t count;
    uint32_t *order = sum_sync_sorted(m, &count);
    if (!order) {
        p->code = GPUFL_E_NOMEM;
        return;
    }
    bool blocking = has(m, order, count, false), apart = has(m, order, count, true);
    if (count && m->sync.unstacked < m->sync.calls) {
        int64_t blocked = sum_sync_blocked_all(m);
        page_heading(p, "Synchronization by line");
        if (blocking) {
            page_text(p, "%s of the run (%s) with at least one thread in a call that waits.",
                      units_percent(a, (double)blocked, (double)sum_facts_duration(m)),
                      units_time(b, blocked));
            put_lines(p, order, count, false);
        }
        if (apart) {
            page_text(p, "Streams that wait for an event; the host goes on:");
            put_lines(p, order, count, true);
        }
    }
    mem_free(order);
}
