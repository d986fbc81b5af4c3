/* findings.c - says where the time went, in sentences. */
#include "analyze/insight/findings.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/insight.h"
#include "analyze/model/idle/table.h"
#include "wire/engine.h"

#include <stdio.h>
#include <string.h>

const char *findings_device(const struct model *m, uint32_t device, char *text, size_t size)
{
    const struct device_sum *d = &m->devices.items[device];
    if (!d->named)
        snprintf(text, size, "GPU (unknown)");
    else
        snprintf(text, size, "GPU %lld%s%s",
                 (long long)(d->row.index == CELL_NULL ? 0 : d->row.index), d->row.name ? " " : "",
                 model_text(m, (uint32_t)d->row.name));
    return text;
}

unsigned findings_idle_devices(const struct model *m)
{
    unsigned idle = 0;
    for (uint32_t i = 1; i < m->devices.count; i++)
        idle += !m->devices.items[i].any.count && sum_devices_known(m, i);
    /* such a device may have run the work that has no device in the log */
    return m->devices.count && m->devices.items[0].any.count ? 0 : idle;
}

static bool collects(const struct model *m, const char *feature)
{
    const struct facts_capability *c = sum_facts_capability(m, feature);
    const char *status = c ? model_text(m, c->status) : "";
    return !strcmp(status, "collected") || !strcmp(status, "partial");
}

/* Returns what the engine did to kernels (engine_row.slows); NULL: nothing. */
static const char *slowing(const struct model *m)
{
    const struct engine_row *r = engine_find(model_text(m, m->facts.engine));
    if (m->facts.simulated || !r || !r->slows || !collects(m, r->feature))
        return NULL;
    uint32_t value = r->slows_option ? sum_facts_option(m, r->slows_option) : 0;
    bool always = !r->slows_option;
    return always || (value && !strcmp(model_text(m, value), r->slows_value)) ? r->slows : NULL;
}

bool findings_slowed(const struct model *m)
{
    return slowing(m) != NULL;
}

/* ---- sentences ------------------------------------------------------------------------- */

static void say_slowed(const struct model *m, struct buf *out)
{
    const char *slows = slowing(m);
    if (slows)
        buf_printf(out,
                   "Waits and idle time are not the program's own: engine %s %s. Engine Trace "
                   "measures them.\n",
                   model_text(m, m->facts.engine), slows);
}

/* Returns the ns that GPUs were idle because an engine kept the program; *of_run gets that time as
 * a part of the run. */
static int64_t idle_of_engine(const struct model *m, int64_t *of_run)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all, ns = sum_idle_total(m, sums, &all) ? sums[IDLE_ENGINE].time : 0;
    *of_run = sum_idle_of_run(m, ns);
    return ns;
}

/* Names the engine's cost if it is more than a twentieth, which happens in short runs. */
static void say_engine(const struct model *m, struct buf *out)
{
    int64_t of_run, ns = idle_of_engine(m, &of_run), wall = sum_steps_time(m);
    int64_t before = sum_idle_start_up_engine(m);
    if (before > m->steps.start_up / 20) {
        char text[UNITS_TEXT];
        buf_printf(out,
                   "Of the start-up %s passed while engine %s was set up: that is not the "
                   "program's own.\n",
                   units_time(text, before), model_text(m, m->facts.engine));
    }
    if (wall <= 0 || of_run < wall / 20)
        return;
    buf_str(out, "The GPU was idle ");
    sum_idle_put(m, ns, out);
    buf_printf(out,
               " while engine %s was set up, read or released. That time is not the program's own, "
               "and most of it occurs once a run.\n",
               model_text(m, m->facts.engine));
}

enum { LISTED = 4 }; /* more devices than that: only the least and the most busy are named */

static void say_busy_devices(const struct model *m, unsigned used, int64_t duration,
                             struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct {
        int64_t busy;
        long long index;
    } least = {INT64_MAX, 0}, most = {-1, 0};
    const char *comma = "GPUs busy: ";
    for (uint32_t i = 1; i < m->devices.count; i++) {
        const struct device_sum *d = &m->devices.items[i];
        struct busy_result r;
        if (!d->any.count)
            continue;
        busy_result(&d->compute, &r);
        if (r.busy < least.busy)
            least.busy = r.busy, least.index = d->row.index;
        if (r.busy > most.busy)
            most.busy = r.busy, most.index = d->row.index;
        if (used > LISTED)
            continue;
        buf_printf(out, "%sGPU %lld %s", comma, (long long)d->row.index,
                   units_percent(a, (double)r.busy, (double)duration));
        comma = ", ";
    }
    if (used > LISTED)
        buf_printf(out, "%u GPUs busy from %s (GPU %lld) to %s (GPU %lld)", used,
                   units_percent(a, (double)least.busy, (double)duration), least.index,
                   units_percent(b, (double)most.busy, (double)duration), most.index);
}

/* Says the top kernel of a session whose kernels were sampled but not recorded. False: none were
 * sampled. */
static bool say_sampled(const struct model *m, struct buf *out)
{
    const struct code_function *most = NULL;
    double all = (double)m->samples.total.all;
    char a[UNITS_TEXT];
    for (size_t i = 1; i < m->code.functions.count; i++) {
        const struct code_function *f = device_code_at(&m->code, (uint32_t)i);
        if (f->samples && (!most || f->samples > most->samples))
            most = f;
    }
    if (!most)
        return false;
    buf_str(out, "Top kernel by samples, for kernels were not recorded: ");
    insight_put_kernel(m, most->shown, out);
    buf_printf(
        out, ", %s (+- %.1f points at 95 %%) of the time in which multiprocessors had work.\n",
        units_percent(a, (double)most->samples, all), 100 * sum_samples_margin(m, most->samples));
    return true;
}

/* The GPU's rows end at the time when the driver's library ended itself. */
static void say_ended(const struct model *m, struct buf *out)
{
    char a[UNITS_TEXT];
    int64_t ended = sum_facts_ended(m);
    if (ended == INT64_MAX)
        return;
    if (m->facts.sessions == 1 && ended > m->facts.start)
        buf_printf(out, "Nothing of the GPU was captured after the first %s: ",
                   units_time(a, ended - m->facts.start));
    else
        buf_str(out, "Nothing of the GPU was captured to the end of every session: ");
    buf_str(out, m->facts.library_handed
                     ? "the program began a profiler of its own, which has CUPTI since (see the "
                       "messages).\n"
                     : "the driver's profiling library ended itself (see the messages).\n");
}

static void say_no_kernels(const struct model *m, int64_t duration, const char *inside,
                           struct buf *out)
{
    char a[UNITS_TEXT];
    enum known why = sum_known_why(m, KNOWN_KERNELS);
    if (sum_known_is(m, KNOWN_KERNELS)) {
        buf_printf(out, "No kernels in %s%s: %s.\n", units_time(a, duration), inside,
                   findings_why_none(m, "kernels"));
        return;
    }
    if (say_sampled(m, out) && why == KNOWN_UNRECORDED)
        return;
    buf_str(out, why == KNOWN_UNRECORDED ? "Kernels: " : "Kernels ");
    findings_put_none(m, "kernels", out);
    buf_str(out, ".\n");
}

/* Says that the kernels of some sessions are unknown, or that a part of the log is damaged. */
static void say_known_in_part(const struct model *m, struct buf *out)
{
    unsigned without = sum_known_without(m, KNOWN_KERNELS);
    if (!m->kernels.time.count && !m->graphs.whole)
        return;
    if (without) {
        buf_printf(out, "Kernels of %u of the %u sessions are in no number below: ", without,
                   m->facts.sessions);
        findings_put_none(m, "kernels", out);
        buf_str(out, ".\n");
    }
    if (sum_known_is_cut(m, KNOWN_KERNELS))
        buf_str(out,
                "Parts of the device channel are damaged: the GPU did at least what is counted "
                "here.\n");
}

static void say_busy(const struct model *m, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct busy_result r;
    uint32_t only;
    int64_t duration = sum_windows_gpu_time(m);
    bool any = sum_windows_gpu_any(m);
    const char *inside = any                     ? " in windows"
                         : sum_windows_partly(m) ? " in which kernels were recorded"
                                                 : "";
    const char *whose = *inside ? "" : m->facts.sessions > 1 ? "the sessions' " : "the run's ";
    busy_result(&m->devices.compute, &r);
    if (!m->kernels.time.count && !m->graphs.whole) {
        say_no_kernels(m, duration, inside, out);
        return;
    }
    if (duration <= 0) {
        buf_printf(out, "The GPU ran kernels for %s.\n", units_time(a, r.busy));
        return;
    }
    unsigned used = sum_devices_used(m, &only), idle = findings_idle_devices(m);
    bool gpu_unknown = m->devices.items[0].compute.count > 0 && used > 1;
    if (used > 1 + idle && !gpu_unknown) {
        say_busy_devices(m, used - idle, duration, out);
        buf_printf(out, " of %s%s%s; at least one ran kernels %s of it", whose,
                   units_time(a, duration), inside,
                   units_percent(b, (double)r.busy, (double)duration));
    } else {
        bool cut = sum_known_is_cut(m, KNOWN_KERNELS);
        buf_printf(out, "GPU busy %s%s of %s%s%s", cut ? "at least " : "",
                   units_percent(a, (double)r.busy, (double)duration), whose,
                   units_time(b, duration), inside);
        if (duration > r.busy && !any && !cut)
            buf_printf(out, ", without a kernel for %s", units_time(a, duration - r.busy));
    }
    if (idle)
        buf_printf(out, "; %u other GPU%s had no work", idle, idle == 1 ? "" : "s");
    buf_str(out, gpu_unknown ? " (the log does not say on which of its GPUs).\n" : ".\n");
}

static void say_top_kernel(const struct model *m, struct buf *out)
{
    const struct sum_kernels *k = &m->kernels;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    if (!k->name_count || k->time.total <= 0)
        return;
    const struct kernel_name *n = &k->names[0];
    buf_str(out, "Top kernel: ");
    insight_put_kernel(m, n->name, out);
    buf_printf(out, ", %s of the kernel time in %s call%s of %s on average.\n",
               units_percent(a, (double)n->time.total, (double)k->time.total),
               units_count(b, (int64_t)n->time.count), n->time.count == 1 ? "" : "s",
               units_time(c, histogram_mean(&n->time)));
}

static void say_waits(const struct model *m, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    uint64_t count;
    int64_t total, duration = sum_windows_time(m);
    struct busy_result r;
    bool calls = false;
    sum_wait_kinds_blocking(m, &count, &total);
    busy_result(&m->wait_kinds.blocked, &r);
    /* With engine Sync the calls are timed, and the driver records nothing, or only in windows. */
    if ((!count || m->windows.kernels.opened) && m->wait_lines.calls)
        count = m->wait_lines.calls, total = r.busy = sum_wait_lines_blocked_all(m), calls = true;
    if (!count && sum_known_why(m, KNOWN_WAITS) == KNOWN_DAMAGED) {
        buf_str(out, "Waits ");
        findings_put_none(m, "waits", out);
        buf_str(out, ".\n");
    }
    if (!count)
        return;
    buf_printf(out, "The host waited %s in %s %s%s", units_time(a, total),
               units_count(b, (int64_t)count), calls ? "blocking call" : "synchronization",
               count == 1 ? "" : "s");
    if (duration > 0)
        buf_printf(out, " (%s of %s%s)", units_percent(c, (double)r.busy, (double)duration),
                   sum_windows_whole(m),
                   total > r.busy + r.busy / 100 ? " with at least one thread waiting" : "");
    buf_str(out, ".\n");
}

/* Names the line with most of the idle time, if looks or launches with a stack show it. */
static void say_idle_line(const struct model *m, struct buf *out)
{
    enum { WORTH = 20 /* % of the idle time */ };
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct idle_table t;
    if (!m->idle.lines.looks && !m->idle.lines.captures)
        return;
    int rc = idle_table_make(m, &t);
    const struct idle_row *top = NULL;
    for (size_t i = 0; !rc && i < t.lines && !top; i++)
        if (!t.rows[i].ended_by && sum_idle_counts(m, (enum idle_cause)t.rows[i].cause) &&
            !stacks_place_at(&m->stacks, t.rows[i].place)->mark)
            top = &t.rows[i];
    if (top && (double)top->ns * 100 >= WORTH * (double)t.all) {
        buf_printf(out, "Of the idle time of %s, %s was spent", sum_steps_whole(m),
                   units_percent(a, (double)top->ns, (double)t.all));
        insight_put_where(m, top->place, out);
        if (top->looks)
            buf_printf(out, ", by %s", units_samples(b, top->looks));
        buf_printf(out, ": %s.\n", sum_idle_text((enum idle_cause)top->cause));
    }
    idle_table_fini(&t);
    out->error = out->error ? out->error : rc;
}

/* ---- the largest of what else there is -------------------------------------------------- */

/* A remark appends its sentence where out is given, and returns the ns it is about; 0: not worth
 * a sentence. */
typedef int64_t remark_fn(const struct model *m, struct buf *out);

/* Writes the remark for a program that starts slowly or goes on without the GPU. */
static int64_t remark_edges(const struct model *m, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct busy_result r;
    int64_t duration = sum_facts_duration(m);
    if (sum_windows_gpu_any(m) || m->windows.kernels.cut || sum_known_is_cut(m, KNOWN_KERNELS))
        return 0;
    busy_result(&m->devices.any, &r);
    int64_t before = r.first - m->facts.start, after = m->facts.end - r.last, engine;
    idle_of_engine(m, &engine);
    if (!r.busy || before < 0 || after < 0 || m->facts.sessions > 1 ||
        before + after < duration / 5 || engine > (before + after) / 2)
        return 0;
    if (out)
        buf_printf(
            out, "The GPU had its first work %s after the start and its last %s before the end.\n",
            units_time(a, before), units_time(b, after));
    return before + after;
}

/* Names the class of gaps with most of the idle time, if there is much idle time. */
static int64_t remark_gaps(const struct model *m, struct buf *out)
{
    static const char *const classes[BUSY_GAP_CLASSES] = {
        "shorter than 10 us: between kernels back to back",
        "of 10 to 100 us: the host launches more slowly than the GPU runs",
        "of 0.1 to 1 ms: short work of the host between launches",
        "of 1 to 10 ms: work of the host between launches",
        "of 10 to 100 ms: long work of the host, or waiting for input",
        "longer than 100 ms: the GPU had nothing to do for long",
    };
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct busy_result r;
    int most = 0;
    int64_t duration = sum_facts_duration(m), engine;
    bool several = m->facts.sessions > 1 || m->devices.computing > 1;
    idle_of_engine(m, &engine);
    if (sum_windows_gpu_any(m) || sum_known_is_cut(m, KNOWN_KERNELS))
        return 0; /* gaps between windows, and those of lost rows, are not idle time */
    busy_result(&m->devices.any, &r);
    for (int i = 1; i < BUSY_GAP_CLASSES; i++)
        if (r.gaps.total[i] > r.gaps.total[most])
            most = i;
    if (r.last <= r.first || r.idle < (r.last - r.first) / 5 || !r.gaps.total[most] ||
        engine > r.idle / 2)
        return 0;
    /* between sessions that ran one after the other there was no work */
    if (m->facts.sessions > 1 && r.last - r.first > duration + duration / 20)
        return 0;
    if (!out)
        return r.idle;
    buf_printf(out, "Between %s first and last work %s for %s, %s of it in gaps %s",
               several ? "their" : "its",
               several ? "no session had any on a GPU" : "the GPU was idle", units_time(a, r.idle),
               units_percent(b, (double)r.gaps.total[most], (double)r.idle), classes[most]);
    int64_t longest = r.gaps.longest[0].end - r.gaps.longest[0].start;
    if (most >= BUSY_GAP_CLASSES - 3 && longest > 0 && m->facts.start <= r.gaps.longest[0].start)
        buf_printf(out, " (longest %s, %s after the start)", units_time(a, longest),
                   units_time(b, r.gaps.longest[0].start - m->facts.start));
    buf_str(out, ".\n");
    return r.idle;
}

static int64_t remark_copies(const struct model *m, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    struct transfer_sum all = sum_transfers_copies(m);
    struct busy_result compute, any;
    busy_result(&m->devices.compute, &compute);
    busy_result(&m->devices.any, &any);
    int64_t alone = any.busy - compute.busy;
    if (!all.count || alone <= any.busy / 10)
        return 0;
    if (out)
        buf_printf(out,
                   "Copies and fills ran alone for %s, while no kernel ran (%s in %s "
                   "cop%s).\n",
                   units_time(a, alone), units_bytes(b, all.bytes),
                   units_count(c, (int64_t)all.count), all.count == 1 ? "y" : "ies");
    return alone;
}

static void say_largest_remark(const struct model *m, struct buf *out)
{
    static remark_fn *const remarks[] = {remark_gaps, remark_edges, remark_copies};
    remark_fn *largest = NULL;
    int64_t ns = 0;
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (remarks[i](m, NULL) > ns) {
            ns = remarks[i](m, NULL);
            largest = remarks[i];
        }
    if (largest)
        largest(m, out);
}

static void say_windows(const struct model *m, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
    int64_t ns = sum_windows_time(m), run = sum_facts_duration(m);
    uint64_t opened = m->windows.capture.opened;
    if (sum_windows_any(m) && opened)
        buf_printf(out,
                   "%s window%s recorded %s of the %s that the program ran (%s). Percentages are "
                   "shares of the time in windows.\n",
                   units_count(d, (int64_t)opened), opened == 1 ? "" : "s", units_time(a, ns),
                   units_time(b, run), units_percent(c, (double)ns, (double)run));
}

void findings_caveats(const struct model *m, struct buf *out)
{
    say_slowed(m, out);
    say_engine(m, out);
}

/* Says what a monitor's samples do not cover. The counters are one monitor's: "at least". */
static void say_watched(const struct model *m, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    const struct sum_watch *w = &m->watch;
    if (!w->is_monitor || (!w->slept && !w->missed))
        return;
    if (w->slept)
        buf_printf(out, "The machine slept for at least %s, in which no samples were taken, and ",
                   units_time(a, w->slept));
    buf_printf(out, "%s rounds of samples were missed.\n", units_count(b, w->missed));
}

void findings_put_first(const struct model *m, struct buf *out)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all;
    findings_caveats(m, out);
    say_watched(m, out);
    say_ended(m, out);
    say_known_in_part(m, out);
    if (!sum_idle_total(m, sums, &all))
        say_busy(m, out);
    say_windows(m, out);
}

void findings_put(const struct model *m, struct buf *out)
{
    findings_caveats(m, out);
    say_watched(m, out);
    say_ended(m, out);
    say_known_in_part(m, out);
    say_busy(m, out);
    say_top_kernel(m, out);
    say_waits(m, out);
    if (!findings_slowed(m))
        say_idle_line(m, out);
    if (!findings_slowed(m))
        say_largest_remark(m, out);
    say_windows(m, out);
}
