/* launch.c - finds storms of launches: kernels shorter than their launches. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/storm.h"
#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

enum { TEXT_MAX = 1 << 16 };

/* ---- storms ------------------------------------------------------------------------------ */

struct storm {
    uint64_t tiny, all; /* single launches */
    uint64_t kernels;   /* different tiny ones */
    int64_t time;       /* ns of the tiny ones */
    int64_t floor;      /* ns of the share base that so many of the shortest kernel would take */
};

/* A kernel takes about a microsecond on the GPU, however little it does. The shortest kernel of the
 * session that is launched often shows that time. Fused kernels save it for all launches except
 * one. */
static struct storm count_tiny(const struct model *m)
{
    struct storm s = {0};
    int64_t shortest = INT64_MAX;
    for (size_t i = 0; i < m->kernels.configs.count; i++) {
        const struct kernel_config *c = sum_kernels_config(&m->kernels, i);
        uint64_t single = c->time.count > c->graph ? c->time.count - c->graph : 0;
        s.all += single;
        int64_t median = histogram_quantile(&c->time, 0.5);
        if (!single || median >= INSIGHT_storm_kernel)
            continue;
        shortest = single >= INSIGHT_storm_often && median < shortest ? median : shortest;
        s.tiny += single;
        s.kernels++;
        s.time = cells_sum(s.time, c->time.total);
    }
    if (shortest < INT64_MAX)
        s.floor = insight_of_run(m, (int64_t)s.tiny * shortest);
    return s;
}

/* Finds the place that launched most kernels, if launches have stacks. */
static int main_launcher(const struct model *m, struct insight_heaviest *out)
{
    int64_t *counts = mem_array(m->stacks.places.count + 1, sizeof *counts);
    if (!counts)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        if (w->kind == WORK_KERNEL)
            counts[w->place] = cells_sum(counts[w->place], (int64_t)w->count);
    }
    *out = insight_heaviest(m, counts, (int64_t)m->kernels.time.count);
    mem_free(counts);
    return 0;
}

/* Gives the finding its line: where the host spent most of the time (returns true), else the line
 * that launched most. */
static bool own(const struct model *m, struct insight *i, const struct insight_heaviest *launcher,
                const struct storm_lines *lines, int64_t idle)
{
    const struct storm_line *l = &lines->most[0];
    struct insight_heaviest of_all = {.place = l->place, .part = l->ns, .all = idle};
    insight_own(i, &of_all);
    if (!i->place) {
        insight_own(i, launcher);
        return false;
    }
    int64_t half = storm_line_half_width(l);
    i->half_width = half == CELL_NULL ? CELL_NULL : sum_idle_of_run(m, half);
    return true;
}

/* Names the line that launched most, if kernels have stacks, and the lines at which the host
 * was. */
static void put_lines(const struct model *m, const struct insight_heaviest *launcher,
                      const struct storm_lines *lines, int64_t idle, struct buf *out)
{
    char a[UNITS_TEXT];
    insight_put_heaviest(m, launcher, " of all launches", out);
    buf_printf(out, ". A launch takes longer than that: the GPU was idle for %s between them",
               units_time(a, idle));
    storm_lines_put(m, lines, out);
    buf_char(out, '.');
}

/* Says how the time is divided below the finding's line, or for a finding without a line which line
 * has most. */
static int put_inside(const struct model *m, struct insight *i, const struct storm_lines *lines,
                      bool by_lines, struct buf *text)
{
    struct buf first;
    if (i->place)
        return by_lines ? insight_inside(m, i, 1u << IDLE_SLOW, text) : 0;
    buf_init(&first, TEXT_MAX);
    storm_lines_put_first(m, lines, &first);
    int rc = *buf_cstr(&first) ? insight_say(&i->inside, &first) : buf_error(&first);
    buf_fini(&first);
    return rc;
}

/* Says of a program that has graphs already what keeps most of its kernels out of them. */
static void put_breaks(const struct model *m, struct insight *i, const struct storm *s,
                       struct buf *out)
{
    const struct sum_order *o = &m->order;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (!insight_graphs_break(m) || o->singles < s->all / 2)
        return;
    buf_printf(out,
               " %s kernels were launched one by one between %s launches of %s: something in the "
               "program breaks the graphs.",
               units_count(a, (int64_t)o->singles), units_count(b, (int64_t)o->graphs),
               model_words(m)->graphs);
    insight_fact(i, "graph_launches", (int64_t)o->graphs);
    insight_fact(i, "single_kernels", (int64_t)o->singles);
    i->next = insight_rule_of("broken_graphs")->next;
}

int insight_launch_storm(const struct model *m, struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct storm s = count_tiny(m);
    struct insight *i;
    struct buf text;
    struct insight_heaviest launcher;
    struct storm_lines lines;
    struct insight_idle slow = insight_idle_of(m, IDLE_SLOW);
    struct insight_idle between = insight_idle_of(m, IDLE_BETWEEN);
    int64_t idle = cells_sum(slow.time, between.time);
    /* The gaps of all devices, like the kernels' time. */
    double gaps = (double)slow.all + (double)between.all;
    if (s.tiny < INSIGHT_storm_launches || s.tiny < s.all / 2 ||
        s.tiny < s.kernels * INSIGHT_storm_repeats ||
        !insight_is_share(m, idle, INSIGHT_storm_idle, 1000) ||
        100 * gaps < INSIGHT_storm_share * (gaps + (double)s.time))
        return 0;
    int rc = insight_add(to, "launch_storm", &i);
    rc = rc ? rc : main_launcher(m, &launcher);
    rc = rc ? rc : storm_lines_find(m, &lines);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->gives_back = cells_sum(idle, s.floor);
    bool by_lines = own(m, i, &launcher, &lines, cells_sum(slow.all, between.all));
    i->severity = insight_by_share(m, i->gives_back);
    insight_of(i, IDLE_SLOW, slow.all);
    insight_of(i, IDLE_BETWEEN, between.all);
    insight_fact(i, "launches", (int64_t)s.tiny);
    insight_fact(i, "all_launches", (int64_t)s.all);
    insight_fact(i, "launch_configurations", (int64_t)s.kernels);
    insight_fact(i, "gpu_ns", s.time);
    insight_fact(i, "gpu_floor_ns", s.floor);
    insight_fact(i, "gpu_idle_ns", cells_sum(slow.all, between.all));
    idle_longest_put(&slow.longest, &between.longest, 0);
    rc = i->place ? storm_lines_longest(m, i->place, &slow.longest) : 0;
    insight_fact_longest(m, i, slow.longest.start, slow.longest.end);
    buf_printf(&text, "Tiny kernels × %s, launched one by one", units_count(a, (int64_t)s.tiny));
    rc = rc ? rc : insight_say(&i->title, &text);
    buf_printf(&text, "%s launches of kernels that take %s on average",
               units_count(a, (int64_t)s.tiny), units_time(b, s.time / (int64_t)s.tiny));
    put_lines(m, &launcher, &lines, cells_sum(slow.all, between.all), &text);
    if (insight_is_share(m, s.floor, INSIGHT_worth, 1000))
        buf_printf(&text,
                   " Of the kernels' own time %s is what any kernel takes, however little it does: "
                   "fused ones save that as well.",
                   units_time(a, s.floor));
    put_breaks(m, i, &s, &text);
    rc = rc ? rc : put_inside(m, i, &lines, by_lines, &text);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}
