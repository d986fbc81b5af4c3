/* host_time.c - writes the host's time by line and state, for people, if no kernels were
 * recorded. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/insight/findings.h"
#include "analyze/model/idle/table.h"
#include "analyze/report/page.h"
#include "base/err.h"

enum {
    TEXT_MAX = 1 << 16,
    FIRST_ROWS = 5,
    FIRST_SHARE = 10 /* of 1000: the first screen shows lines from this share on */
};

/* Puts "blocked: read", or "waited for the GPU: stream". */
static void put_what(const struct model *m, const struct host_row *r, struct buf *out)
{
    const char *call = idle_doing_call(r->doing);
    if (r->call)
        buf_printf(out, "waited for the GPU: %s",
                   sum_wait_lines_word((int)r->call - 1, model_words(m)));
    else
        buf_printf(out, "%s%s%s", page_doing(r->doing), *call ? ": " : "", call);
}

static const char *threads_text(const struct sum_host_time *s)
{
    return s->threads == 1 ? "thread that calls the GPU" : "threads that call the GPU";
}

static void put_whose(struct page *p)
{
    const struct sum_host_time *s = &p->model->host_time;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct buf text;
    buf_init(&text, TEXT_MAX);
    if (s->threads > 1)
        buf_printf(&text, "What the %u %s did in %s together", s->threads, threads_text(s),
                   units_time(a, s->time));
    else
        buf_printf(&text, "What the %s did in %s", threads_text(s), units_time(a, s->time));
    buf_printf(&text, ": calls that wait are measured, the rest is by %s, ± at 95 %%.",
               units_samples(b, s->looks));
    page_item(p, "  ", &text);
    buf_fini(&text);
}

/* ---- the first screen -------------------------------------------------------------------- */

static void put_first_row(struct page *p, const struct host_row *r, struct grid *g)
{
    int64_t all = p->model->host_time.time;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct buf what, place;
    buf_init(&what, TEXT_MAX);
    buf_init(&place, TEXT_MAX);
    put_what(p->model, r, &what);
    page_put_line(p->model, r->place, &place);
    grid_put(g, "%s", units_percent(a, (double)r->ns, (double)all));
    grid_put(g, "%s", r->half_width ? units_percent(b, (double)r->half_width, (double)all) : "");
    grid_put(g, "%s", buf_cstr(&what));
    grid_put(g, "%s", buf_cstr(&place));
    if (buf_error(&what) || buf_error(&place))
        p->code = GPUFL_E_NOMEM;
    buf_fini(&what);
    buf_fini(&place);
}

void page_host_first(struct page *p)
{
    static const struct grid_column columns[] = {
        {"share", GRID_RIGHT}, {"±", GRID_RIGHT}, {"state", GRID_LEFT}, {"line", GRID_TEXT}};
    const struct sum_host_time *s = &p->model->host_time;
    struct host_table t;
    struct grid g;
    int rc = host_table_make(p->model, &t);
    p->code = p->code ? p->code : rc;
    if (!rc && t.lines && !findings_slowed(p->model)) {
        page_heading(p, "Where the host's time went");
        put_whose(p);
        grid_init(&g, columns, 4);
        for (size_t i = 0, shown = 0; i < t.lines && shown < FIRST_ROWS; i++)
            if (t.rows[i].call || t.rows[i].ns >= s->time / 1000 * FIRST_SHARE) {
                put_first_row(p, &t.rows[i], &g);
                shown++;
            }
        page_grid(p, &g);
    }
    host_table_fini(&t);
}

/* ---- the section ------------------------------------------------------------------------- */

static void put_row(struct page *page, const struct host_row *r, struct grid *g)
{
    const struct model *m = page->model;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    struct buf what, place, inner;
    buf_init(&what, TEXT_MAX);
    buf_init(&place, TEXT_MAX);
    buf_init(&inner, TEXT_MAX);
    put_what(m, r, &what);
    if (r->place)
        page_put_line(m, r->place, &place);
    else
        buf_printf(&place, "(%s)", idle_reason_text((enum idle_reason)r->reason));
    page_put_inner(m, r->place, r->node, &inner);
    grid_put(g, "%s", units_percent(a, (double)r->ns, (double)m->host_time.time));
    grid_put(g, "%s", units_time(b, r->ns));
    grid_put(g, "%s", r->half_width ? units_time(c, r->half_width) : r->exact ? "" : "?");
    grid_put(g, "%s", buf_cstr(&what));
    grid_put(g, "%s", buf_cstr(&place));
    grid_put(g, "%s", buf_cstr(&inner));
    if (buf_error(&what) || buf_error(&place) || buf_error(&inner))
        page->code = GPUFL_E_NOMEM;
    buf_fini(&what);
    buf_fini(&place);
    buf_fini(&inner);
}

static void put_rows(struct page *p, const struct host_table *t)
{
    static const struct grid_column columns[] = {
        {"share", GRID_RIGHT}, {"time", GRID_RIGHT}, {"±", GRID_RIGHT},
        {"state", GRID_LEFT},  {"line", GRID_TEXT},  {"inside", GRID_TEXT},
    };
    size_t top = report_top(p->report), shown = t->lines < top ? t->lines : top;
    struct grid g;
    grid_init(&g, columns, 6);
    for (size_t i = 0; i < shown; i++)
        put_row(p, &t->rows[i], &g);
    for (size_t i = t->lines; i < t->count; i++)
        put_row(p, &t->rows[i], &g);
    page_grid(p, &g);
    if (t->lines > shown)
        page_text(p, "… and %zu more lines", t->lines - shown);
}

void page_host_time(struct page *p)
{
    struct host_table t;
    int rc = host_table_make(p->model, &t);
    p->code = p->code ? p->code : rc;
    if (!rc && t.count) {
        page_heading(p, "Host time by line");
        put_whose(p);
        put_rows(p, &t);
        page_text(p, "Whether the GPU was idle meanwhile is not known: kernels were not recorded.");
        if (findings_slowed(p->model))
            page_text(p, "The engine made the program slower: the times are not its own.");
        page_late(p);
    }
    host_table_fini(&t);
}
