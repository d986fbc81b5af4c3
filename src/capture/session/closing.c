/* closing.c - handles the end of a capture. It runs on the collector's thread, in this order:
 *
 *   looks at threads end   before anything that they use is freed
 *   engines stop           no new records
 *   gate off               scopes and launches end here
 *   last round             all buffers, then all rings, then decode; written before
 *   sampler stops          because a device that does not answer may delay this; its last rows
 *   scopes still open      each a scope_open row
 *   what became of it      losses, capabilities, clock
 *   final ledger, end      after the last row that they count
 *   log closes, engines detach
 *
 * No scope has begun since the end was asked for (GATE_ENDING), so the last round is
 * bounded by what the rings held then. Late callbacks find the gate closed.
 *
 * Each stage is a step (collector_step), so that the thread that waits for the end can distinguish
 * a collector without progress from one that gets little of a core on a busy machine. */
#include "capture/options/process_info.h"
#include "capture/session/collector.h"

#include "base/clock.h"
#include "base/process/fd_thread.h"
#include "capture/log/messages.h"
#include "capture/nvtx/nvtx.h"
#include "capture/records/uncounted.h"
#include "capture/samples/samples.h"
#include "capture/session/engines.h"
#include "capture/session/mark.h"
#include "capture/session/on_demand.h"
#include "capture/session/sampling.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/gate.h"
#include "capture/threads/names.h"
#include "capture/windows/control.h"
#include "capture/windows/windows.h"
#include "monitor/steady.h"

#include <string.h>
#include <strings.h>

/* Returns true if the options asked for the feature. Every trace has kernels and copies. */
static bool wanted(const struct collector *c, enum feature f)
{
    const struct options *o = c->options;
    if (c->options->profiling_engine == GPUFL_ENGINE_MONITOR && !c->roused)
        return false;
    switch (f) {
    case FEATURE_synchronizations:
        return o->enable_synchronization;
    case FEATURE_memory:
        return o->enable_memory_tracking;
    case FEATURE_graphs:
        return o->enable_cuda_graphs_tracking;
    case FEATURE_external_correlation:
        return o->enable_external_correlation;
    default:
        return true;
    }
}

static uint64_t rows_of(enum feature f)
{
    const uint64_t *n = capture_sink.recorded;
    switch (f) {
    case FEATURE_kernels:
        return n[RECORD_kernel];
    case FEATURE_copies:
        return n[RECORD_memcpy] + n[RECORD_memset];
    case FEATURE_synchronizations:
        return n[RECORD_sync];
    case FEATURE_memory:
        return n[RECORD_alloc];
    case FEATURE_external_correlation:
        return capture_sink.external;
    default:
        return 0;
    }
}

static void conclude_trace(struct collector *c, enum feature f, uint64_t rows)
{
    const struct ledger_row *l = &c->ledger.row;
    bool as_waits =
        f == FEATURE_synchronizations && c->backend->trace && c->backend->trace->syncs_as_waits;
    bool unrecorded_loss =
        as_waits ? l->waits_lost : l->lost_driver || l->lost_pool || l->lost_time;
    bool lossy = unrecorded_loss || l->lost_spool || l->lost_memory;
    bool activity = f == FEATURE_kernels || f == FEATURE_copies || f == FEATURE_memory ||
                    f == FEATURE_external_correlation;
    unsigned bits = engines_bits(c->engine);
    bool alone = engines_collect(c->options, c->backend, c->engine) == PC_COLLECT_NONE &&
                 (bits & ENGINE_PM_SAMPLING);
    bool unrecorded = (bits & ENGINE_TRACE) && !c->ledger.activity && rows == 0;
    if (!wanted(c, f) || alone || (activity && unrecorded))
        feature_conclude(f, false, "not_requested", "");
    else if (!c->trace_started)
        feature_conclude(f, true, "unavailable", "nothing was traced");
    else if (rows == 0 && f == FEATURE_external_correlation &&
             writer_stopped(c->writer) == WRITER_RUNS)
        feature_conclude(
            f, true, "enabled_no_data",
            option_asked(c->options, OPT_enable_external_correlation) ? ""
            : engines_bits(c->engine) & ENGINE_PC_SAMPLING
                ? "while PC sampling runs, gpufl records external ids only with "
                  "enable_external_correlation=true"
                : "no external id came with the first 20 000 launches; gpufl records all with "
                  "enable_external_correlation=true (before CUDA 12.5 only then)");
    else if (rows == 0)
        feature_conclude(f, true, "enabled_no_data",
                         writer_stopped(c->writer) == WRITER_RUNS
                             ? ""
                             : "the capture had ended before any came: see the messages");
    else if (lossy)
        feature_conclude(f, true, "partial", "records were lost: see the ledger");
    else
        feature_conclude(f, true, "collected", "");
}

/* Returns the reason why nothing was counted although RangeProfiler ran. */
static const char *why_uncounted(const struct collector *c)
{
    if (strcasecmp(c->options->range_mode, "kernels") == 0 || c->backend->trace->kernel_counters)
        return c->ledger.row.launches + c->ledger.row.graph_launches > 0
                   ? "no kernel was counted: see the messages"
                   : "it counts kernels, and the program launched none";
    if (c->ledger.row.scopes_opened > 0)
        return "no outermost scope was counted: see the messages; --ranges kernels "
               "(range_mode=kernels) counts kernels instead";
    return "it counts scopes, and the program had none: mark scopes (NVTX ranges are scopes, too), "
           "or count kernels with --ranges kernels (range_mode=kernels)";
}

/* Says what the engine in effect brought beyond Trace. */
static void conclude_profile(const struct collector *c)
{
    const char *why;
    unsigned running = engines_bits(c->engine);
    if (c->trace_started && c->backend->trace->running)
        running &= c->backend->trace->running(c->trace, &why); /* has reported other failures */
    for (const struct engine_row *r = engine_table; r->name; r++) {
        unsigned bit = engine_own_bit(r);
        bool sampled = bit != ENGINE_SASS_METRICS;
        if (!*r->feature || !c->trace_started || !(running & bit))
            continue;
        if (!capture_sink.recorded[r->record])
            feature_end(r->feature, "enabled_no_data",
                        bit == ENGINE_RANGE_PROFILER ? why_uncounted(c) : "");
        else if (sampled && (c->ledger.row.samples_lost > 0 || c->ledger.row.samples_overflows > 0))
            feature_end(r->feature, "partial", "samples were lost: see the ledger");
        else if (!sampled && c->ledger.row.metrics_lost > 0)
            feature_end(r->feature, "partial", "counts were lost: see the ledger");
        else
            feature_end(r->feature, "collected", "");
    }
}

static void conclude_stacks(const struct collector *c)
{
    const struct ledger_row *l = &c->ledger.row;
    if (!c->options->enable_stack_trace)
        feature_conclude(FEATURE_stacks, false, "not_requested", "");
    else if (!c->trace_started)
        feature_conclude(FEATURE_stacks, true, "unavailable", "nothing was traced");
    else
        feature_conclude(FEATURE_stacks, true,
                         l->stacks_lost || l->stacks_cut ? "partial"
                         : l->stacks_captured            ? "collected"
                                                         : "enabled_no_data",
                         stacking_python());
}

static void conclude(struct collector *c)
{
    static const enum feature traced[] = {FEATURE_kernels, FEATURE_copies, FEATURE_synchronizations,
                                          FEATURE_memory, FEATURE_external_correlation};
    const struct ledger_row *l = &c->ledger.row;
    for (size_t i = 0; i < sizeof traced / sizeof traced[0]; i++)
        conclude_trace(c, traced[i], rows_of(traced[i]));
    conclude_trace(c, FEATURE_graphs, l->graph_launches > 0 ? (uint64_t)l->graph_launches : 0);
    conclude_profile(c);
    conclude_stacks(c);
    nvtx_conclude();
    windows_conclude(c->writer, c->backend, c->trace, engine_table[c->engine].name);
    feature_conclude(FEATURE_scopes, true,
                     l->scopes_lost ? "partial"
                                    : (l->scopes_opened ? "collected" : "enabled_no_data"),
                     l->scopes_lost ? "some came faster than they could be taken" : "");
}

/* Says to a person why the capture ended before the program, and what is missing. */
static void say_end(struct collector *c)
{
    char losses[400];
    const struct ledger_row *l = &c->ledger.row;
    collector_say_log(c);
    if (writer_stopped(c->writer) != WRITER_RUNS)
        message_say(SEVERITY_WARNING, c->reason, "%s", writer_stop_text(c->writer));
    else if (strcmp(c->reason, "duration") == 0)
        message_say(SEVERITY_NOTE, "duration",
                    "the capture ended after duration_ms; the program runs on");
    ledger_losses(l, losses, sizeof losses);
    ledger_debug(l);
    if (*losses)
        message_say(SEVERITY_WARNING, "losses", "the capture is not complete: %s", losses);
}

static void write_end(struct collector *c)
{
    struct intern *names = names_table();
    struct writer_counts counts;
    messages_drain(c->writer, names);
    features_write(c->writer, names);
    collector_clock(c);
    (void)writer_flush(c->writer);
    ledger_write(&c->ledger, &capture_sink, true);
    struct end_row end = {clock_mono(), intern_str(names, c->reason)};
    writer_row(c->writer, RECORD_end, (const int64_t *)&end);
    (void)writer_flush(c->writer);
    writer_counts(c->writer, &counts);
    if (!counts.rows[RECORD_end]) /* without the mark `gpufl trace` would report an end by _exit */
        (void)mark_send_of(c->options->run_id, MARK_UNWRITTEN, c->dir);
}

void closing_run(struct collector *c)
{
    c->ledger.stop_asked = process_info_acts_for_other() ? 0 : steady_ns();
    on_demand_end(); /* from here on a caller that asks for a capture is refused at once */
    control_close();
    collector_step();
    samples_stop();
    collector_expect(TRACE_STOP_MOST);
    if (c->trace_started)
        (void)c->backend->trace->stop(c->trace);
    collector_expect(0);
    atomic_store_explicit(&capture_gate.gate, GATE_OFF, memory_order_release);
    collector_cycle(c, true, true);
    (void)writer_flush(c->writer);
    collector_step();
    c->ledger.cost_sampler = sampling_cpu_ns();
    sampling_end();
    samples_end();
    collector_step();
    stacking_keep(c->writer, true);
    collector_step();
    scopes_boundary(&c->drain, true);
    (void)writer_flush(c->writer);
    collector_step();
    ledger_read(&c->ledger, &capture_sink);
    conclude(c);
    collector_step();
    engines_describe(c->options, c->backend, c->engine, c->trace_started ? c->trace : NULL,
                     c->writer, names_table());
    if (engines_bits(c->engine) & ENGINE_RANGE_PROFILER)
        uncounted_report(c->writer, names_table());
    say_end(c);
    collector_step();
    write_end(c);
    announce_end(&c->announcer);
    collector_step();
    writer_close(c->writer);
    collector_step();
    fd_thread_stop();
    collector_step();
    stacking_end();
    scopes_drain_fini(&c->drain);
    sink_end();
    c->writer = NULL;
    if (c->trace)
        c->backend->trace->close(c->trace);
    c->trace = NULL;
}
