/* shortage.c - what the host was short of: CPU time of its control group, and memory. Both are
 * known only as counts for the whole session, so it is unknown which gaps of the GPU they caused: a
 * finding gives an upper bound. */
#include "analyze/insight/shortage.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/model/idle/table.h"
#include "base/err.h"

enum { TEXT_MAX = 1 << 16 };

static double sum_of(const struct model *m, unsigned column)
{
    return m->metrics.host[column].count ? m->metrics.host[column].sum : 0;
}

/* Returns the part of a time that lies in the share base, as if the time were spread evenly over
 * the session. */
static double of_steps(const struct model *m, double ns)
{
    double length = (double)sum_facts_duration(m);
    return length > 0 ? ns / length * (double)sum_steps_time(m) : 0;
}

/* Returns the idle time because the host launched late, as a part of the run. */
static int64_t late(const struct model *m)
{
    return cells_sum(insight_idle_of(m, IDLE_LATE).time, insight_idle_of(m, IDLE_NOTHING).time);
}

static void put_late(const struct model *m, struct insight *i)
{
    insight_of(i, IDLE_LATE, insight_idle_of(m, IDLE_LATE).all);
    insight_of(i, IDLE_NOTHING, insight_idle_of(m, IDLE_NOTHING).all);
}

static int64_t at_most(double ns, int64_t most)
{
    return ns < (double)most ? cells_whole(ns) : most;
}

/* ---- the CPU limit ----------------------------------------------------------------------- */

/* Returns the ns of the session in which the limit stopped threads, at most. The kernel's sum is
 * over cores; the number of stopped periods times the length of a period is another bound. */
static double stopped(const struct model *m)
{
    double periods = sum_of(m, COL_host_metric_cpu_periods),
           share = periods > 0 ? sum_of(m, COL_host_metric_cpu_throttled) / periods : 0,
           length = (double)sum_facts_duration(m) * (share < 1 ? share : 1),
           time = sum_of(m, COL_host_metric_cpu_throttled_time);
    time = m->facts.sessions > 1 ? time / (double)m->facts.sessions : time;
    return time < length ? time : length;
}

int64_t insight_cpu_limit_ns(const struct model *m)
{
    int64_t ns = at_most(of_steps(m, stopped(m)), late(m));
    return insight_is_share(m, ns, INSIGHT_cpu_limit, 100) ? ns : 0;
}

void insight_less_cpu_limit(const struct model *m, struct insight *i, int64_t ns, struct buf *out)
{
    int64_t limit = insight_cpu_limit_ns(m);
    double part = limit ? cells_share((double)limit, (double)late(m)) : 0;
    char a[UNITS_TEXT];
    if (!limit || !ns)
        return;
    int64_t less = cells_whole(part * (double)sum_idle_of_run(m, ns));
    less = less < i->gives_back ? less : i->gives_back;
    i->gives_back -= less;
    insight_fact(i, "cpu_limit_ns", less);
    buf_printf(out,
               " About %s of that was caused by the CPU limit, which has a finding of its own. All "
               "gaps are assumed to have the same share of it, since it is unknown which gaps the "
               "limit caused.",
               units_time(a, less));
}

static void put_limit(const struct model *m, struct buf *out)
{
    const struct metric_sum *limit = &m->metrics.host[COL_host_metric_cpu_limit];
    if (limit->count)
        buf_printf(out, " of %.4g core%s", sum_metrics_mean(limit) / 10000,
                   limit->min == 10000 && limit->max == 10000 ? "" : "s");
}

void insight_put_stopped(const struct model *m, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    double periods = sum_of(m, COL_host_metric_cpu_periods);
    buf_str(out, "The CPU limit");
    put_limit(m, out);
    buf_printf(out,
               " of the program's control group stopped its threads in %s of %s periods, for %s",
               units_percent(a, sum_of(m, COL_host_metric_cpu_throttled), periods),
               units_count(b, cells_whole(periods)),
               units_time(c, cells_whole(sum_of(m, COL_host_metric_cpu_throttled_time))));
    buf_str(out, " summed over cores.");
}

/* Ends a finding's text with the part of the late launches that it explains, and sets the text. */
static int say_late(const struct model *m, struct insight *i, const char *what, struct buf *text)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    buf_printf(text,
               " The GPU sat idle for %s because the host launched late; at most %s of it was "
               "such a %s.",
               units_time(a, late(m)), units_time(b, i->gives_back), what);
    return insight_say(&i->text, text);
}

int insight_cpu_limit(const struct model *m, struct insights *to)
{
    int64_t ns = insight_cpu_limit_ns(m);
    struct insight *i;
    struct buf text;
    int rc = ns ? insight_add(to, "cpu_limit", &i) : 0;
    if (rc || !ns)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->gives_back = ns;
    i->severity = insight_by_share(m, ns);
    put_late(m, i);
    insight_fact(i, "cpu_periods", cells_whole(sum_of(m, COL_host_metric_cpu_periods)));
    insight_fact(i, "cpu_throttled", cells_whole(sum_of(m, COL_host_metric_cpu_throttled)));
    insight_fact(i, "cpu_throttled_ns", cells_whole(sum_of(m, COL_host_metric_cpu_throttled_time)));
    insight_fact(i, "stopped_most_ns", cells_whole(of_steps(m, stopped(m))));
    insight_fact(i, "gpu_idle_ns", late(m));
    buf_str(&text, "Held up by a CPU limit");
    rc = insight_say(&i->title, &text);
    insight_put_stopped(m, &text);
    rc = rc ? rc : say_late(m, i, "stop", &text);
    buf_fini(&text);
    return rc;
}

/* ---- memory ------------------------------------------------------------------------------ */

bool insight_put_paging(const struct model *m, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    const struct metric_sum *h = m->metrics.host, *faults = &h[COL_host_metric_faults_major];
    if (!faults->count)
        return false;
    buf_printf(out, " %s page%s of the program had to be read from a disk",
               units_count(a, cells_whole(faults->sum)), faults->sum == 1 ? "" : "s");
    if (h[COL_host_metric_swap_in].count && h[COL_host_metric_swap_out].count)
        buf_printf(out, "; all programs of the host together read %s from swap and wrote %s to it",
                   units_bytes(a, cells_whole(h[COL_host_metric_swap_in].sum)),
                   units_bytes(b, cells_whole(h[COL_host_metric_swap_out].sum)));
    buf_char(out, '.');
    return true;
}

int insight_paging(const struct model *m, struct insights *to)
{
    double share = sum_metrics_mean(&m->metrics.host[COL_host_metric_memory_waits]) / 10000;
    int64_t ns = at_most(share * (double)sum_steps_time(m), late(m));
    struct insight *i;
    struct buf text;
    char a[UNITS_TEXT];
    if (sum_of(m, COL_host_metric_faults_major) < INSIGHT_paging_faults ||
        !insight_is_share(m, ns, INSIGHT_paging, 100))
        return 0;
    int rc = insight_add(to, "paging", &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->gives_back = ns;
    i->severity = insight_by_share(m, ns);
    put_late(m, i);
    insight_fact(i, "faults_major", cells_whole(sum_of(m, COL_host_metric_faults_major)));
    insight_fact(i, "swap_in_bytes", cells_whole(sum_of(m, COL_host_metric_swap_in)));
    insight_fact(i, "swap_out_bytes", cells_whole(sum_of(m, COL_host_metric_swap_out)));
    insight_fact(i, "gpu_idle_ns", late(m));
    buf_str(&text, "The host is short of memory");
    rc = insight_say(&i->title, &text);
    buf_printf(&text, "For %s of the time some thread of the host waited for memory.",
               units_percent(a, share, 1));
    insight_put_paging(m, &text);
    rc = rc ? rc : say_late(m, i, "wait", &text);
    buf_fini(&text);
    return rc;
}
