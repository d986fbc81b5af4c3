/* insight_launch.c - idle time that is nobody's wait: launches, and nothing to launch. Pageable
 * copies, too. */
#include "analyze/cells.h"
#include "analyze/insight.h"
#include "analyze/units.h"
#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

enum { TEXT_MAX = 1 << 16 };

/* Idle time of one cause, of a device on average, and its gaps. */
struct idle {
    unsigned devices;
    int64_t time;
    uint64_t gaps;
};

static struct idle idle_of(const struct model *m, enum idle_cause c)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all;
    unsigned devices = sum_idle_total(m, sums, &all);
    return (struct idle){devices, devices ? sums[c].time / devices : 0, sums[c].gaps};
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
    for (size_t i = 0; i < m->kernels.config_count; i++) {
        const struct kernel_config *c = &m->kernels.configs[i];
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

/* *place gets the one that launched most kernels, where launches have stacks; else 0. */
static int main_launcher(const struct model *m, uint32_t *place)
{
    uint64_t *counts = mem_array(m->stacks.places.count + 1, sizeof *counts);
    *place = 0;
    if (!counts)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        const struct stacks_place *p = stacks_place_at(&m->stacks, w->place);
        if (w->kind != WORK_KERNEL || !p || p->mark)
            continue;
        counts[w->place] += w->count;
        if (counts[w->place] > counts[*place])
            *place = w->place;
    }
    mem_free(counts);
    return 0;
}

int insight_launch_storm(const struct model *m, struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct storm s = count_tiny(m);
    struct insight *i;
    struct buf text;
    struct idle slow = idle_of(m, IDLE_SLOW);
    int64_t idle = cells_sum(slow.time, idle_of(m, IDLE_BETWEEN).time);
    double gaps = (double)idle * slow.devices; /* all devices, as the kernels' time */
    if (s.tiny < INSIGHT_storm_launches || s.tiny < s.all / 2 ||
        s.tiny < s.kernels * INSIGHT_storm_repeats ||
        !insight_is_share(m, idle, INSIGHT_storm_idle, 1000) ||
        100 * gaps < INSIGHT_storm_share * (gaps + (double)s.time))
        return 0;
    int code = insight_add(to, "launch_storm", &i);
    code = code ? code : main_launcher(m, &i->place);
    if (code)
        return code;
    buf_init(&text, TEXT_MAX);
    i->gives_back = idle;
    i->severity = insight_by_share(m, idle);
    insight_fact(i, "launches", (int64_t)s.tiny);
    insight_fact(i, "all_launches", (int64_t)s.all);
    insight_fact(i, "launch_configurations", (int64_t)s.kernels);
    insight_fact(i, "gpu_ns", s.time);
    insight_fact(i, "gpu_idle_ns", idle);
    buf_printf(&text, "Tiny kernels × %llu, launched one by one", (unsigned long long)s.tiny);
    code = insight_say(&i->title, &text);
    buf_printf(&text, "%s launches of kernels that take %s on average",
               units_count(a, (int64_t)s.tiny), units_time(b, s.time / (int64_t)s.tiny));
    insight_put_where(m, i->place, &text);
    buf_printf(&text, "; the GPU was idle for %s between them, for launches take longer.",
               units_time(a, idle));
    code = code ? code : insight_say(&i->text, &text);
    buf_fini(&text);
    return code;
}

/* ---- gaps -------------------------------------------------------------------------------- */

/* Of a cause: the place whose launches ended most of the idle time; 0: not known. */
static uint32_t late_place(const struct model *m, enum idle_cause c)
{
    uint32_t node = 0;
    int64_t most = 0;
    for (size_t i = 1; i < m->idle.launches.count; i++) {
        const struct idle_launch *l = keyed_at(&m->idle.launches, i);
        if (l->cause == (uint32_t)c && l->time > most) {
            most = l->time;
            node = l->node;
        }
    }
    return node ? stacks_node_at(&m->stacks, node)->place : 0;
}

static int add_gaps(const struct model *m, const char *rule, enum idle_cause c, const char *title,
                    struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], d[UNITS_TEXT];
    struct idle idle = idle_of(m, c);
    struct insight *i;
    struct buf text;
    int code = insight_add(to, rule, &i);
    if (code)
        return code;
    buf_init(&text, TEXT_MAX);
    i->place = late_place(m, c);
    i->gives_back = idle.time;
    i->severity = insight_by_share(m, idle.time);
    insight_fact(i, "gpu_idle_ns", idle.time);
    insight_fact(i, "gaps", (int64_t)idle.gaps);
    insight_fact(i, "devices", idle.devices);
    buf_printf(&text, "%s", title);
    code = insight_say(&i->title, &text);
    buf_printf(&text, "The GPU%s sat idle for %s (%s of the run) in %s gap%s: %s",
               idle.devices > 1 ? "s" : "", units_time(a, idle.time),
               units_percent(b, (double)idle.time, (double)sum_facts_duration(m)),
               units_count(d, (int64_t)idle.gaps), idle.gaps == 1 ? "" : "s", sum_idle_text(c));
    if (i->place) {
        buf_str(&text, "; most of it ended with launches");
        insight_put_where(m, i->place, &text);
    }
    buf_str(&text, ".");
    code = code ? code : insight_say(&i->text, &text);
    buf_fini(&text);
    return code;
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
    } told[] = {
        {IDLE_NOTHING, "Nothing submitted"},
        {IDLE_QUEUED, "Work held up by other work"},
        {IDLE_CODE, "Loading code"},
    };
    int code = 0;
    for (size_t i = 0; !code && i < sizeof told / sizeof *told; i++)
        if (insight_is_share(m, idle_of(m, told[i].cause).time, INSIGHT_idle_share, 100) &&
            idle_of(m, told[i].cause).gaps)
            code = add_gaps(m, "idle_cause", told[i].cause, told[i].title, to);
    return code;
}

/* ---- pageable copies ---------------------------------------------------------------------- */

/* The line whose pageable copies of that direction took longest; 0: not known. */
static uint32_t pageable_place(const struct model *m, uint32_t kind)
{
    uint32_t place = 0;
    int64_t most = 0;
    for (size_t i = 1; i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        const struct stacks_place *p = stacks_place_at(&m->stacks, w->place);
        if (w->kind == kind && p && !p->mark && w->pageable_time > most) {
            most = w->pageable_time;
            place = w->place;
        }
    }
    return place;
}

static int add_pageable(const struct model *m, uint32_t kind, const struct transfer_sum *t,
                        int64_t gain, struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int code = insight_add(to, "pageable_copies", &i);
    if (code)
        return code;
    buf_init(&text, TEXT_MAX);
    i->place = pageable_place(m, kind);
    i->gives_back = gain;
    i->severity = insight_by_share(m, gain);
    insight_fact(i, "copies", (int64_t)t->count);
    insight_fact(i, "bytes", t->bytes);
    insight_fact(i, "gpu_ns", t->time);
    buf_printf(&text, "Pageable copies %s × %llu", sum_transfers_kind((int)kind),
               (unsigned long long)t->count);
    code = insight_say(&i->title, &text);
    buf_printf(&text, "%s in %s %s copies of host memory that is not pinned",
               units_bytes(a, t->bytes), units_count(b, (int64_t)t->count),
               sum_transfers_kind((int)kind));
    if (i->place) {
        buf_str(&text, ", most of it");
        insight_put_where(m, i->place, &text);
    }
    buf_printf(&text, ": %s at %s, and the host is held up by each.", units_time(c, t->time),
               units_rate(d, t->bytes, t->time));
    code = code ? code : insight_say(&i->text, &text);
    buf_fini(&text);
    return code;
}

int insight_pageable_copies(const struct model *m, struct insights *to)
{
    struct busy_result compute, any;
    int code = 0;
    busy_result(&m->devices.compute, &compute);
    busy_result(&m->devices.any, &any);
    int64_t alone = any.busy - compute.busy;
    for (uint32_t k = 0; !code && k < TRANSFER_KINDS; k++) {
        const struct transfer_sum *t = &m->transfers.pageable[k];
        if (t->bytes >= INSIGHT_pageable_bytes && insight_is_share(m, t->time, INSIGHT_worth, 1000))
            code = add_pageable(m, k, t, t->time < alone ? t->time : alone, to);
    }
    return code;
}
