/* answer.c - chooses one answer from the sorted findings; see answer.h. */
#include "analyze/insight/answer.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/findings.h"
#include "analyze/insight/start.h"
#include "base/err.h"

#include <stdio.h>

enum {
    BUSY_ENOUGH = 90, /* % of the run: if the GPU was busy for so long, the rest needs no search */
    JOINT = 10,       /* % of the run in collectives from which a rank alone says too little */
};

#define SAMPLE_KERNELS                                                                             \
    "Sample the kernels (gpufl trace -e PcSampling) to see what their instructions wait for."
#define LONGER_WINDOWS                                                                             \
    "Record longer windows (gpufl trace --launches, --duration), so that their edges are small."
#define TRACE_TOO                                                                                  \
    "Record kernels as well (gpufl trace -e Trace) to see whether the GPU was idle meanwhile."
#define ALL_RANKS                                                                                  \
    "Report the sessions of all ranks together (gpufl report with the folder that has them)."
#define LOOK_AT_IDLE "Read where the idle time lies (gpufl report --section idle)."

const char *answer_error(const struct model *m, int64_t half_width, char *text, size_t size)
{
    double share = half_width == CELL_NULL
                       ? 0
                       : 100 * cells_share((double)half_width, (double)sum_steps_time(m));
    *text = '\0';
    if (share > 0)
        snprintf(text, size, " ± %.1f", share);
    return text;
}

/* Returns the cause with most of the idle time. */
static enum idle_cause largest(const struct idle_sum sums[IDLE_CAUSES])
{
    int most = 0;
    for (int c = 1; c < IDLE_CAUSES; c++)
        if (sums[c].time > sums[most].time)
            most = c;
    return (enum idle_cause)most;
}

static void put_top_kernel(const struct model *m, struct answer *a, struct buf *out)
{
    const struct sum_kernels *k = &m->kernels;
    char share[UNITS_TEXT];
    if (!k->name_count || k->time.total <= 0)
        return;
    a->kernel = k->names[0].name;
    bool most = k->names[0].time.total * 2 > k->time.total;
    buf_str(out, most ? " Most of the kernel time is in " : " The kernel with most time is ");
    insight_put_kernel(m, a->kernel, out);
    buf_printf(out, " (%s).",
               units_percent(share, (double)k->names[0].time.total, (double)k->time.total));
}

/* Returns the part of the run in which it is unknown whether the GPU was busy. */
static int64_t unknown_of_run(const struct model *m, int64_t idle)
{
    struct idle_busy b;
    sum_idle_busy(m, idle, &b);
    return sum_idle_of_run(m, b.unknown);
}

static bool is_busy(int64_t idle, int64_t wall)
{
    return wall > 0 && (double)(wall - idle) * 100 >= BUSY_ENOUGH * (double)wall;
}

/* Writes the sentence for a GPU that was busy between its first and its last work, so that the idle
 * time is before and after: a short run, or one whose steps are unknown. If that is more than half
 * of the run and takes long, it is the answer instead. edges: that time, as a part of the run. */
static void put_edges(const struct model *m, int64_t quiet, int64_t edges, bool start,
                      struct answer *a, struct buf *out)
{
    int64_t wall = sum_steps_time(m), inner = wall - edges;
    char busy[UNITS_TEXT], time[UNITS_TEXT], rest[UNITS_TEXT];
    a->cause = "nothing_to_win";
    a->next = SAMPLE_KERNELS;
    buf_printf(out,
               "Nothing to win here: %s the last work, %s, the GPU was busy for "
               "%s, and no finding gives back 1 %% of the run. The other %s of the run lies before "
               "and after.",
               start ? "between the first 1 % of its work and" : "between the first and",
               units_time(time, inner), units_percent(busy, (double)(wall - quiet), (double)inner),
               units_percent(rest, (double)edges, (double)wall));
    put_top_kernel(m, a, out);
}

/* Names the finding that gives back most, which is too little for an answer. */
static void put_little(const struct model *m, const struct insight *i, struct buf *out)
{
    char share[UNITS_TEXT];
    units_percent(share, (double)i->gives_back, (double)sum_steps_time(m));
    buf_printf(out,
               i->rule->bound == INSIGHT_ESTIMATED ? " In theory %s more could be won at most: "
                                                   : " At most %s more could be won: ",
               share);
    buf_put(out, i->title, insight_title_words(i));
    if (i->place && !i->ended_by)
        insight_put_where(m, i->place, out);
    if (i->kernel) {
        buf_str(out, ", ");
        insight_put_kernel(m, i->kernel, out);
    }
    buf_str(out, " (--section insights).");
}

/* Says at which line the threads that call the GPU were most, where that is all that is known. */
static void put_host(const struct model *m, struct answer *a, struct buf *out)
{
    struct host_table t;
    char share[UNITS_TEXT];
    if (host_table_make(m, &t))
        out->error = GPUFL_E_NOMEM;
    else if (t.lines && !findings_slowed(m)) {
        a->next = TRACE_TOO;
        buf_str(out, " The host was");
        insight_put_where(m, t.most_place, out);
        buf_printf(out, " for %s", units_percent(share, (double)t.most, (double)m->host_time.time));
        if (t.most_half)
            buf_printf(out, " (± %.1f points)",
                       100 * cells_share((double)t.most_half, (double)m->host_time.time));
        buf_str(out, " of its time.");
    }
    host_table_fini(&t);
}

/* Returns the time of a rank's collectives of which it is unknown how long they only waited, if the
 * report has no other rank. */
static int64_t joint_time(const struct model *m)
{
    int64_t sum = 0;
    const struct rank *r = m->ranks.items;
    for (size_t k = 0; m->ranks.count == 1 && k < r->op_count; k++)
        if (r->ops[k].waited == CELL_NULL && r->ops[k].start >= r->begins)
            sum = cells_sum(sum, r->ops[k].end - r->ops[k].start);
    return sum;
}

/* Writes that a GPU that was busy with collectives may have waited for another rank. */
static void put_joint(const struct model *m, int64_t joint, struct answer *a, struct buf *out)
{
    char share[UNITS_TEXT];
    a->cause = "unknown";
    a->next = ALL_RANKS;
    buf_printf(out,
               "Whether this rank waited for others is not known: NCCL's kernels ran for %s of %s, "
               "and the record of one rank does not distinguish waiting from transferring.",
               units_percent(share, (double)joint, (double)sum_steps_time(m)), sum_steps_whole(m));
}

/* Answers how busy the GPU was, if no finding is worth 1 %, or 5 % for a busy GPU. little: the
 * first finding that is worth 1 %, or NULL. */
static void put_nothing(const struct model *m, const struct insight *little, struct answer *a,
                        struct buf *out)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all, wall = sum_steps_time(m);
    char share[UNITS_TEXT];
    unsigned devices = sum_idle_steady(m, sums, &all);
    int64_t idle = sum_idle_of_run(m, all), quiet = idle + unknown_of_run(m, all);
    int64_t until, start = insight_start_idle(m, &until), joint = joint_time(m);
    int64_t edges = sum_idle_of_run(m, sums[IDLE_BEFORE].time + sums[IDLE_AFTER].time + start);
    bool estimated = little && little->rule->bound == INSIGHT_ESTIMATED;
    const char *gpus = devices > 1 ? "GPUs were" : "GPU was", *whole = sum_steps_whole(m);
    if (!devices || wall <= 0) {
        a->next = "Read what was recorded and what is missing (gpufl report --section ledger).";
        bool known = sum_known_is(m, KNOWN_KERNELS);
        a->cause = known ? "no_gpu_work" : "unknown";
        buf_str(out, known ? "Nothing to win here: the GPU had no work (" : "Kernels: ");
        if (known)
            buf_printf(out, "%s)", findings_why_none(m, "kernels"));
        else
            findings_put_none(m, "kernels", out);
        buf_char(out, '.');
        if (!known)
            put_host(m, a, out);
    } else if (findings_slowed(m)) {
        a->cause = "unknown";
        a->next = "Trace the program with engine Trace for its own waits and idle time.";
        buf_str(out, "Nothing is known of the program's own idle time: the engine slows kernels.");
    } else if (is_busy(idle, wall) && !is_busy(quiet, wall)) {
        a->cause = "unknown";
        a->next = LONGER_WINDOWS;
        buf_printf(
            out,
            "Too little was recorded: what the GPU did for %s of %s is not known, before the "
            "first work in a window and after the last.",
            units_percent(share, (double)(quiet - idle), (double)wall), whole);
    } else if (is_busy(quiet, wall) && joint * 100 >= JOINT * wall) {
        put_joint(m, joint, a, out);
    } else if (is_busy(quiet, wall)) {
        a->cause = "nothing_to_win";
        a->next = SAMPLE_KERNELS;
        buf_printf(out,
                   "Nothing to win here: the %s busy for %s of %s, and no %s gives back %d %% "
                   "of it.",
                   gpus, units_percent(share, (double)(wall - quiet), (double)wall), whole,
                   estimated ? "measured finding" : "finding",
                   little && !estimated ? INSIGHT_severity_medium : 1);
        if (little)
            put_little(m, little, out);
        put_top_kernel(m, a, out);
    } else if (devices == 1 && (edges * 2 <= wall || edges < INSIGHT_edges * 1000000000ll) &&
               is_busy(quiet - edges, wall - edges)) {
        put_edges(m, quiet, edges, start > 0, a, out);
    } else {
        enum idle_cause c = largest(sums);
        a->cause = sum_idle_key(c);
        a->next = LOOK_AT_IDLE;
        buf_printf(out, "No line is known that gives back 1 %% of %s. The %s idle for %s of it",
                   whole, gpus, units_percent(share, (double)idle, (double)wall));
        buf_printf(out, ", %s of that for one cause: %s.",
                   units_percent(share, (double)sums[c].time, (double)all), sum_idle_text(c));
    }
}

/* A bound that is smaller than the variation from run to run promises nothing. If the GPU was busy,
 * such a finding is no answer, except an estimate in a session with an engine for kernels. */
static bool is_little(const struct model *m, const struct insight *i)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all;
    bool estimated = i->rule->bound == INSIGHT_ESTIMATED,
         asked = m->sass.rows || m->samples.functions.count;
    return i->band <= INSIGHT_BAND_WORTH && !(estimated && asked) &&
           sum_idle_steady(m, sums, &all) > 0 &&
           is_busy(sum_idle_of_run(m, all) + unknown_of_run(m, all), sum_steps_time(m));
}

void answer_find(const struct model *m, const struct insights *in, struct answer *a,
                 struct buf *statement)
{
    const struct insight *little = NULL;
    *a = (struct answer){0};
    for (size_t i = 0; i < in->count && !a->insight; i++)
        if (!in->items[i].part_of && !in->items[i].once && in->items[i].band >= INSIGHT_BAND_WORTH)
            a->insight = &in->items[i];
    if (a->insight && is_little(m, a->insight)) {
        little = a->insight;
        a->insight = NULL;
    }
    if (!a->insight) {
        put_nothing(m, little, a, statement);
        return;
    }
    const struct insight *i = a->insight;
    a->cause = i->rule->id;
    a->next = i->next;
    a->gives_back = i->gives_back;
    a->half_width = i->half_width;
    a->place = i->ended_by ? 0 : i->place;
    a->kernel = i->kernel;
    buf_str(statement, i->text);
}
