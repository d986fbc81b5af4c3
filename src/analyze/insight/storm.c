/* storm.c - see storm.h.
 *
 * In a storm the launches take the time. So the launch that ended such time shows the line as well
 * as a sample of the host's stack, and both are added. */
#include "analyze/insight/storm.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/model/idle/table.h"
#include "base/alloc.h"
#include "base/err.h"

#include <math.h>

enum { LEAST = 10 /* %: a line with less is not named */ };

static void add_row(struct storm_line *to, const struct idle_row *r)
{
    to->place = r->place;
    to->ns = cells_sum(to->ns, r->ns);
    to->looks += r->looks;
    if (r->ended_by)
        to->ended = cells_sum(to->ended, r->ns);
    else if (r->half_width != CELL_NULL)
        to->variance += (double)r->half_width * (double)r->half_width;
}

static void keep_most(struct storm_lines *s, const struct storm_line *l)
{
    size_t at = s->count;
    while (at && s->most[at - 1].ns < l->ns)
        at--;
    if (at == STORM_LINES)
        return;
    s->count += s->count < STORM_LINES;
    for (size_t i = s->count - 1; i > at; i--)
        s->most[i] = s->most[i - 1];
    s->most[at] = *l;
}

int storm_lines_find(const struct model *m, struct storm_lines *out)
{
    struct idle_table t;
    *out = (struct storm_lines){0};
    struct storm_line *lines = mem_array(m->stacks.places.count + 1, sizeof *lines);
    int rc = idle_table_make(m, &t);
    rc = lines ? rc : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < t.count; i++) {
        const struct idle_row *r = &t.rows[i];
        if (r->cause != IDLE_SLOW)
            continue;
        out->all = cells_sum(out->all, r->ns);
        if (i < t.lines && !stacks_place_at(&m->stacks, r->place)->mark)
            add_row(&lines[r->place], r);
    }
    for (size_t p = 1; !rc && p < m->stacks.places.count; p++)
        if (lines[p].ns)
            keep_most(out, &lines[p]);
    idle_table_fini(&t);
    mem_free(lines);
    return rc;
}

int storm_lines_longest(const struct model *m, uint32_t place, struct idle_longest *longest)
{
    struct idle_longest of_line = {0};
    struct idle_table t;
    int rc = idle_table_make(m, &t);
    for (size_t i = 0; !rc && i < t.lines; i++)
        if (t.rows[i].cause == IDLE_SLOW && t.rows[i].place == place)
            idle_longest_put(&of_line, &t.rows[i].longest, 0);
    idle_table_fini(&t);
    *longest = of_line.part > 0 ? of_line : *longest;
    return rc;
}

int64_t storm_line_half_width(const struct storm_line *l)
{
    return l->ended > l->ns / 2 ? CELL_NULL : cells_whole(sqrt(l->variance));
}

static bool is_named(const struct storm_lines *s, size_t i)
{
    return i < s->count && 100 * cells_share((double)s->most[i].ns, (double)s->all) >= LEAST;
}

/* Puts "42 % (± 7 points)", or "42 % ± 7" without brackets; where the half-width goes beyond the
 * whole, the bound that it leaves: "at least 85 %". For time that launches ended, and for the
 * whole, there is no error. */
static void put_share(const struct storm_lines *s, const struct storm_line *l, struct buf *out,
                      bool brackets)
{
    int64_t half = storm_line_half_width(l);
    double share = 100 * cells_share((double)l->ns, (double)s->all);
    double error = half == CELL_NULL ? 0 : 100 * cells_share((double)half, (double)s->all);
    buf_printf(out, "%.0f %%", share);
    if (half == CELL_NULL || l->ns >= s->all)
        return;
    if (share + error <= 100)
        buf_printf(out, brackets ? " (± %.0f points)" : " ± %.0f", error);
    else if (error < share)
        buf_printf(out, brackets ? " (at least %.0f %%)" : ", at least %.0f %%,", share - error);
}

void storm_lines_put(const struct model *m, const struct storm_lines *s, struct buf *out)
{
    char a[UNITS_TEXT];
    uint64_t looks = 0;
    bool ended = false;
    for (size_t i = 0; is_named(s, i); i++) {
        const struct storm_line *l = &s->most[i];
        buf_str(out, !i                   ? "; of the time before slow launches the host spent "
                     : is_named(s, i + 1) ? ", "
                                          : " and ");
        put_share(s, l, out, true);
        insight_put_where(m, l->place, out);
        looks += l->looks;
        ended |= l->ended > l->ns / 20;
    }
    if (looks)
        buf_printf(out, ", by %s", units_samples(a, looks));
    if (ended)
        buf_printf(out, "%s the launches that have a stack", looks ? " and" : ", by");
}

void storm_lines_put_first(const struct model *m, const struct storm_lines *s, struct buf *out)
{
    if (!is_named(s, 0))
        return;
    put_share(s, &s->most[0], out, false);
    buf_str(out, " at ");
    stacks_put_place(m, s->most[0].place, out);
}
