/* launch.c - idle time without a wait: slow launches, and nothing to launch. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/insight.h"
#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

enum { TEXT_MAX = 1 << 16 };

/* Idle time of one cause, and its gaps. None where it exceeds the run: the clock jumped. */
struct idle {
    unsigned devices;
    int64_t time; /* ns of the run: of a device on average */
    int64_t all;  /* ns, of all devices */
    uint64_t gaps;
};

static struct idle idle_of(const struct model *m, enum idle_cause c)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all;
    unsigned devices = sum_idle_total(m, sums, &all);
    int64_t time = sum_idle_of_run(m, sums[c].time);
    if (time > sum_windows_time(m))
        return (struct idle){.devices = devices};
    return (struct idle){devices, time, sums[c].time, sums[c].gaps};
}

/* ---- storms ------------------------------------------------------------------------------ */

struct storm {
    uint64_t tiny, all; /* single launches */
    uint64_t kernels;   /* different tiny ones */
    int64_t time;       /* ns of the tiny ones */
};

static struct storm count_tiny(const struct model *m)
{
    struct storm s = {0};
    for (size_t i = 0; i < m->kernels.configs.count; i++) {
        const struct kernel_config *c = sum_kernels_config(&m->kernels, i);
        uint64_t single = c->time.count > c->graph ? c->time.count - c->graph : 0;
        s.all += single;
        if (!single || histogram_quantile(&c->time, 0.5) >= INSIGHT_storm_kernel)
            continue;
        s.tiny += single;
        s.kernels++;
        s.time = cells_sum(s.time, c->time.total);
    }
    return s;
}

/* The place that launched most kernels, where launches have stacks. */
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

int insight_launch_storm(const struct model *m, struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct storm s = count_tiny(m);
    struct insight *i;
    struct buf text;
    struct insight_heaviest launcher;
    struct idle slow = idle_of(m, IDLE_SLOW);
    struct idle between = idle_of(m, IDLE_BETWEEN);
    int64_t idle = cells_sum(slow.time, between.time);
    double gaps = (double)slow.all + (double)between.all; /* all devices, as the kernels' time */
    if (s.tiny < INSIGHT_storm_launches || s.tiny < s.all / 2 ||
        s.tiny < s.kernels * INSIGHT_storm_repeats ||
        !insight_is_share(m, idle, INSIGHT_storm_idle, 1000) ||
        100 * gaps < INSIGHT_storm_share * (gaps + (double)s.time))
        return 0;
    int rc = insight_add(to, "launch_storm", &i);
    rc = rc ? rc : main_launcher(m, &launcher);
    if (rc)
        return rc;
    i->place = launcher.place;
    buf_init(&text, TEXT_MAX);
    i->gives_back = idle;
    i->severity = insight_by_share(m, idle);
    insight_fact(i, "launches", (int64_t)s.tiny);
    insight_fact(i, "all_launches", (int64_t)s.all);
    insight_fact(i, "launch_configurations", (int64_t)s.kernels);
    insight_fact(i, "gpu_ns", s.time);
    insight_fact(i, "gpu_idle_ns", cells_sum(slow.all, between.all));
    buf_printf(&text, "Tiny kernels × %llu, launched one by one", (unsigned long long)s.tiny);
    rc = insight_say(&i->title, &text);
    buf_printf(&text, "%s launches of kernels that take %s on average",
               units_count(a, (int64_t)s.tiny), units_time(b, s.time / (int64_t)s.tiny));
    insight_put_heaviest(m, &launcher, " of all launches", &text);
    buf_printf(&text, "; the GPU was idle for %s between them, for launches take longer.",
               units_time(a, cells_sum(slow.all, between.all)));
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

/* ---- gaps -------------------------------------------------------------------------------- */

/* The place whose launches ended most of a cause's idle time. */
static int late_place(const struct model *m, enum idle_cause c, struct insight_heaviest *out)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all, *ns = mem_array(m->stacks.places.count + 1, sizeof *ns);
    if (!ns)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; i < m->idle.lines.rows.count; i++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, i);
        uint32_t place = stacks_node_at(&m->stacks, l->node)->place;
        if (l->cause == (uint32_t)c && l->node)
            ns[place] = cells_sum(ns[place], cells_sum(l->exact, l->estimated));
    }
    sum_idle_total(m, sums, &all);
    *out = insight_heaviest(m, ns, sums[c].time);
    mem_free(ns);
    return 0;
}

static int add_gaps(const struct model *m, const char *rule, enum idle_cause c, const char *title,
                    struct insights *to)
{
    char a[UNITS_TEXT];
    struct idle idle = idle_of(m, c);
    struct insight *i;
    struct buf text;
    struct insight_heaviest late;
    int rc = insight_add(to, rule, &i);
    rc = rc ? rc : late_place(m, c, &late);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->place = late.place;
    i->gives_back = idle.time;
    i->severity = insight_by_share(m, idle.time);
    insight_fact(i, "gpu_idle_ns", idle.all);
    insight_fact(i, "gaps", (int64_t)idle.gaps);
    insight_fact(i, "devices", idle.devices);
    buf_printf(&text, "%s", title);
    rc = insight_say(&i->title, &text);
    buf_printf(&text, "The GPU%s sat idle for ", idle.devices > 1 ? "s" : "");
    sum_idle_put(m, idle.all, &text);
    buf_printf(&text, " in %s gap%s: %s", units_count(a, (int64_t)idle.gaps),
               idle.gaps == 1 ? "" : "s", sum_idle_text(c));
    insight_put_heaviest(m, &late, " of it ended with launches", &text);
    buf_str(&text, ".");
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

int insight_late_launch(const struct model *m, struct insights *to)
{
    struct idle late = idle_of(m, IDLE_LATE);
    if (late.gaps < INSIGHT_late_gaps || !insight_is_share(m, late.time, INSIGHT_late_idle, 100))
        return 0;
    return add_gaps(m, "late_launch", IDLE_LATE, "Late launches", to);
}

int insight_idle_cause(const struct model *m, struct insights *to)
{
    static const struct {
        enum idle_cause cause;
        const char *title;
    } causes[] = {
        {IDLE_NOTHING, "Nothing submitted"},
        {IDLE_QUEUED, "Work held up by other work"},
        {IDLE_CODE, "Loading code"},
    };
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof causes / sizeof *causes; i++)
        if (insight_is_share(m, idle_of(m, causes[i].cause).time, INSIGHT_idle_share, 100) &&
            idle_of(m, causes[i].cause).gaps)
            rc = add_gaps(m, "idle_cause", causes[i].cause, causes[i].title, to);
    return rc;
}
