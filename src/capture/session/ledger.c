/* ledger.c - see ledger.h. */
#include "capture/session/ledger.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/process/fd_thread.h"
#include "capture/samples/samples.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/threads.h"
#include "monitor/steady.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t sum_events(const uint64_t *by_type)
{
    uint64_t sum = 0;
    for (int t = 0; t < RECORD_COUNT; t++)
        if (records[t].kind == RECORD_KIND_EVENT)
            sum += by_type[t];
    return (int64_t)sum;
}

/* Adds the counts of the program's threads. */
static void read_threads(struct ledger *l, struct ledger_row *r, struct capture_sink *s)
{
    struct counts c;
    struct trace_cost cost = {0};
    threads_sum(&c);
    if (l->trace)
        l->ops->cost(l->trace, &cost);
    bool counted = (l->trace && cost.launches_counted) || l->past_counted;
    r->launches = counted ? (int64_t)c.launches : CELL_NULL;
    r->graph_launches = counted ? (int64_t)c.graph_launches : CELL_NULL;
    r->graph_kernels = counted ? (int64_t)c.graph_kernels : CELL_NULL;
    r->graph_unknown = counted ? (int64_t)c.graph_unknown : CELL_NULL;
    r->graphs_recorded = cost.graphs_whole ? (int64_t)s->recorded[RECORD_graph_run] : CELL_NULL;
    r->scopes_opened = (int64_t)c.scopes_opened;
    r->scopes_lost = (int64_t)(c.scopes_lost + l->scopes_lost);
    r->joins_lost = (int64_t)(c.joins_lost + s->joins.lost + l->joins_lost);
    r->launches_shared = (int64_t)l->launches_shared;
    r->waits_recorded = (int64_t)c.waits_recorded;
    r->waits_lost = (int64_t)c.waits_lost;
    r->marks_recorded = (int64_t)c.marks_recorded;
    r->marks_lost = (int64_t)c.marks_lost;
    r->names_other = (int64_t)c.names_other;
    r->launches_captured = l->captures ? (int64_t)c.launches_captured : CELL_NULL;
    r->captures_lost = l->captures ? (int64_t)c.captures_lost : CELL_NULL;
    r->cost_stacks = tick_curve_length(l->curve, c.stack_ticks);
    r->cost_callbacks = l->past_callbacks + cost.callbacks_ns;
    r->cost_callbacks += l->trace && cost.stacks_apart ? r->cost_stacks : 0;
}

static void read_stacks(struct ledger_row *r)
{
    struct stacking_counts n;
    stacking_counts(&n);
    r->stacks_captured = (int64_t)n.captured;
    r->stacks_distinct = (int64_t)n.distinct;
    r->stacks_lost = (int64_t)n.lost;
    r->stacks_cut = (int64_t)n.cut;
}

static void read_rows(struct ledger_row *r, struct capture_sink *s)
{
    struct writer_counts w;
    writer_counts(s->writer, &w);
    r->kernels_recorded = (int64_t)s->recorded[RECORD_kernel];
    r->kernels_written = (int64_t)w.rows[RECORD_kernel];
    r->copies_recorded = (int64_t)(s->recorded[RECORD_memcpy] + s->recorded[RECORD_memset]);
    r->copies_written = (int64_t)(w.rows[RECORD_memcpy] + w.rows[RECORD_memset]);
    r->syncs_recorded = (int64_t)s->recorded[RECORD_sync];
    r->syncs_written = (int64_t)w.rows[RECORD_sync];
    r->graphs_written =
        r->graphs_recorded == CELL_NULL ? CELL_NULL : (int64_t)w.rows[RECORD_graph_run];
    r->scopes_written = (int64_t)w.rows[RECORD_scope];
    r->waits_written = (int64_t)w.rows[RECORD_wait];
    r->marks_written = (int64_t)w.rows[RECORD_mark];
    r->lost_spool = sum_events(w.lost_disk);
    r->lost_memory = sum_events(w.lost_memory);
    r->bytes_written = (int64_t)w.bytes;
}

static int64_t lost(struct capture_sink *s, enum loss cause)
{
    return (int64_t)atomic_load_explicit(&s->lost[cause], memory_order_relaxed);
}

/* Adds samples, metrics of instructions and counters, which engines above Trace bring. */
static void read_profile(struct ledger_row *r, struct capture_sink *s)
{
    static const enum record_type types[] = {RECORD_pc_sample, RECORD_sass_metric, RECORD_counter};
    struct writer_counts w;
    writer_counts(s->writer, &w);
    r->profile_recorded = r->profile_written = 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        r->profile_recorded += (int64_t)s->recorded[types[i]];
        r->profile_written += (int64_t)w.rows[types[i]];
    }
    r->samples_recorded = s->samples;
    r->samples_lost = lost(s, LOSS_SAMPLES);
    r->samples_overflows = lost(s, LOSS_SAMPLES_OVERFLOW);
    r->samples_other = lost(s, LOSS_SAMPLES_OTHER);
    r->metrics_lost = lost(s, LOSS_METRICS);
}

/* Makes these counts unknown in a session without such an engine. */
static void unprofiled(const struct ledger *l, struct ledger_row *r)
{
    if (!l->samples)
        r->samples_recorded = r->samples_other = CELL_NULL;
    if (!l->samples && !l->counters)
        r->samples_lost = r->samples_overflows = CELL_NULL;
    if (!l->samples && !l->profile)
        r->profile_recorded = r->profile_written = CELL_NULL;
    if (!l->profile)
        r->metrics_lost = CELL_NULL;
}

/* Makes these counts unknown, which is not 0, in a session without activity records. */
static void unrecorded(struct ledger_row *r)
{
    r->kernels_recorded = r->kernels_written = CELL_NULL;
    r->copies_recorded = r->copies_written = CELL_NULL;
    r->syncs_recorded = r->syncs_written = CELL_NULL;
}

/* Makes the counts of waits and stacks unknown in a session that traces nothing. */
static void untraced(struct ledger_row *r)
{
    r->waits_recorded = r->waits_written = r->waits_lost = CELL_NULL;
    r->stacks_captured = r->stacks_distinct = r->stacks_lost = r->stacks_cut = CELL_NULL;
}

/* Adds looks at the program's threads: null if none were asked for. */
static void read_samples(struct ledger_row *r, struct capture_sink *s)
{
    struct samples_counts n;
    bool asked = samples_counts(&n);
    r->host_samples = asked ? (int64_t)s->recorded[RECORD_host_sample] : CELL_NULL;
    r->host_samples_torn = asked ? (int64_t)n.torn : CELL_NULL;
    r->host_samples_no_thread = asked ? (int64_t)n.no_thread : CELL_NULL;
    r->host_samples_no_memory = asked ? (int64_t)n.no_memory : CELL_NULL;
    r->host_samples_late = asked ? (int64_t)n.late : CELL_NULL;
    r->cost_host_samples = asked ? n.cpu_ns : CELL_NULL;
}

void ledger_read(struct ledger *l, struct capture_sink *s)
{
    struct ledger_row *r = &l->row;
    *r = (struct ledger_row){.time = clock_mono(), .cost_stop = CELL_NULL};
    read_threads(l, r, s);
    read_rows(r, s);
    if (!l->activity && !r->kernels_recorded) /* an engine that cannot run may become Trace */
        unrecorded(r);
    if (s->without_copies && !r->copies_recorded)
        r->copies_recorded = r->copies_written = CELL_NULL;
    read_stacks(r);
    read_profile(r, s);
    unprofiled(l, r);
    read_samples(r, s);
    r->lost_driver = lost(s, LOSS_DRIVER);
    r->lost_pool = lost(s, LOSS_POOL);
    r->lost_time = lost(s, LOSS_TIME);
    r->unknown_records = lost(s, LOSS_UNKNOWN_RECORD);
    r->lost_floor = lost(s, LOSS_FLOOR);
    r->cost_collector = clock_thread_cpu() + fd_thread_cpu_ns();
    r->cost_sampler = l->cost_sampler;
    r->cost_vendor = s->vendor_ns;
    r->cost_start = l->cost_start;
    if (!l->trace && !l->activity && !r->waits_recorded)
        untraced(r);
    if (l->stop_asked)
        r->cost_stop = steady_ns() - l->stop_asked;
}

/* Returns true if counts differ, except in columns that change by themselves: those need no new
 * row. */
static bool counts_differ(const struct ledger_row *a, const struct ledger_row *b)
{
    const int64_t *x = (const int64_t *)a, *y = (const int64_t *)b;
    for (int i = COL_ledger_launches; i <= COL_ledger_unknown_records; i++)
        if (x[i] != y[i])
            return true;
    return a->lost_floor != b->lost_floor || a->waits_recorded != b->waits_recorded ||
           a->waits_lost != b->waits_lost || a->samples_lost != b->samples_lost ||
           a->marks_recorded != b->marks_recorded || a->marks_lost != b->marks_lost ||
           a->marks_written != b->marks_written || a->names_other != b->names_other ||
           a->launches_captured != b->launches_captured || a->captures_lost != b->captures_lost ||
           a->metrics_lost != b->metrics_lost || a->graphs_written != b->graphs_written ||
           a->profile_recorded != b->profile_recorded;
}

void ledger_write(struct ledger *l, struct capture_sink *s, bool final)
{
    struct ledger_row before = l->row;
    ledger_read(l, s);
    l->row.final = final;
    if (final || counts_differ(&before, &l->row))
        writer_row(s->writer, RECORD_ledger, (const int64_t *)&l->row);
}

/* Returns the number of kernels that were launched and are neither recorded nor counted as lost. */
static int64_t missing_kernels(const struct ledger_row *r)
{
    bool whole = r->graphs_recorded != CELL_NULL;
    if (r->launches == CELL_NULL || r->kernels_recorded == CELL_NULL ||
        (r->graph_unknown != 0 && !whole))
        return 0;
    int64_t known = r->kernels_recorded + r->lost_driver + r->lost_time + r->lost_floor;
    return r->launches + (whole ? 0 : r->graph_kernels) - known;
}

/* Returns the number of graph launches without a record, if graphs are recorded as a whole. */
static int64_t missing_graphs(const struct ledger_row *r)
{
    if (r->graphs_recorded == CELL_NULL || r->graph_launches == CELL_NULL)
        return 0;
    return r->graph_launches - r->graphs_recorded - r->lost_driver - r->lost_time;
}

struct loss_line {
    int64_t n;
    const char *what;
};

enum { LOSS_LINES = 16 };

static void loss_lines(const struct ledger_row *r, struct loss_line out[LOSS_LINES])
{
    const struct loss_line losses[LOSS_LINES] = {
        {r->lost_driver, "records dropped by the driver"},
        {r->lost_pool, "requests for a buffer refused: raise activity_pool_bytes"},
        {r->lost_time, "records with impossible timestamps"},
        {r->lost_spool, "rows not written to disk"},
        {r->lost_memory, "rows lost for lack of memory"},
        {r->scopes_lost, "scopes not recorded: they came faster than they could be taken"},
        {r->joins_lost, "launches whose scope or stack is not known"},
        {r->waits_lost, "waits not recorded: they came faster than they could be taken"},
        {r->marks_lost, "marks not recorded: they came faster than they could be taken"},
        {r->names_other, "scopes and marks named (other): there were too many different names"},
        {r->captures_lost, "launches not captured: they came faster than they could be taken"},
        {r->stacks_lost, "stacks not captured"},
        {r->stacks_cut, "stacks cut: more libraries were loaded than there is room for"},
        {r->samples_lost,
         "samples that could not be read (drain more often or sample less), or ranges (named among "
         "the scopes that were not counted)"},
        {missing_kernels(r), "kernels launched of which no record came"},
        {missing_graphs(r), "graphs launched of which no record came"},
    };
    memcpy(out, losses, sizeof losses);
}

void ledger_losses(const struct ledger_row *r, char *out, size_t size)
{
    struct loss_line losses[LOSS_LINES];
    size_t len = 0;
    out[0] = '\0';
    loss_lines(r, losses);
    for (size_t i = 0; i < LOSS_LINES; i++)
        if (losses[i].n > 0 && len < size)
            len += (size_t)snprintf(out + len, size - len, "%s%" PRId64 " %s", len ? ", " : "",
                                    losses[i].n, losses[i].what);
}

void ledger_debug(const struct ledger_row *r)
{
    struct loss_line losses[LOSS_LINES];
    bool any = false;
    loss_lines(r, losses);
    for (size_t i = 0; i < LOSS_LINES; i++) {
        if (losses[i].n > 0)
            log_debug_each("loss: %" PRId64 " %s", losses[i].n, losses[i].what);
        any |= losses[i].n > 0;
    }
    if (!any)
        log_debug_each("loss: none");
}
