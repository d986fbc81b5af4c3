/* marks.c - writes the marks of the program, by name: most frequent first. */
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/report/json.h"
#include "analyze/report/page.h"

#include <inttypes.h>

void page_marks(struct page *p)
{
    static const struct grid_column columns[] = {{"marks", GRID_RIGHT},
                                                 {"first", GRID_RIGHT},
                                                 {"last", GRID_RIGHT},
                                                 {"domain", GRID_LEFT},
                                                 {"name", GRID_TEXT}};
    const struct model *m = p->model;
    const struct sum_marks *s = &m->marks;
    size_t top = report_top(p->report);
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    struct grid g;
    if (!s->count)
        return;
    page_heading(p, "Marks: moments that the program marked, since its start");
    grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->order_count && i < top; i++) {
        const struct mark_sum *one = keyed_at(&s->names, s->order[i]);
        grid_put(&g, "%s", units_count(a, (int64_t)one->count));
        grid_put(&g, "%s", units_time(b, one->first - m->facts.start));
        grid_put(&g, "%s", units_time(c, one->last - m->facts.start));
        grid_put(&g, "%s", model_text(m, (uint32_t)one->tag));
        grid_put(&g, "%s", model_text(m, (uint32_t)one->name));
    }
    page_grid(p, &g);
    if (s->order_count > top || s->names.refused)
        page_text(p, "%s marks in all, of %s%s names.", units_count(a, (int64_t)s->count),
                  s->names.refused ? "more than " : "", units_count(b, (int64_t)s->order_count));
}

void json_marks(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_marks *s = &m->marks;
    bool known = sum_marks_known(m);
    json_out_object(j, "marks");
    json_out_known(j, "count", known, (int64_t)s->count);
    json_out_known(j, "names", known, (int64_t)s->order_count);
    json_out_bool(j, "more_names", s->names.refused > 0);
    json_out_array(j, "by_name");
    for (size_t i = 0; i < s->order_count && i < report_top(r); i++) {
        const struct mark_sum *one = keyed_at(&s->names, s->order[i]);
        json_out_object(j, NULL);
        json_out_text(j, "name", model_text(m, (uint32_t)one->name));
        json_out_text(j, "domain", model_text(m, (uint32_t)one->tag));
        json_out_count(j, "count", one->count);
        json_out_int(j, "first_ns", one->first - m->facts.start);
        json_out_int(j, "last_ns", one->last - m->facts.start);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_close_object(j);
}
