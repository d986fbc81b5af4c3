/* report.c - writes reports of engine RangeProfiler to the session: what is counted and in how many
 * passes, before the first value; values; at the end what was not counted. [collector] */
#include "backend/common/setting.h"
#include "backend/nvidia/engine/range/inside.h"
#include "backend/nvidia/record/records.h"
#include "base/alloc.h"
#include "wire/decimal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char ENGINE[] = "RangeProfiler";

enum { DIGITS = 6 }; /* of a value */

static const struct {
    const char *setting, *what;
} passed_by_rows[] = {
    [OTHER_CONTEXT] = {"uncounted_other_context",
                       "of another context than the one that is counted"},
    [OTHER_THREAD] = {"uncounted_other_thread", "begun while one of another thread was counted"},
    [CAPTURING] = {"uncounted_capturing", "begun while a stream was captured into a graph"},
    [TOO_FEW] = {"uncounted_repetitions", "ended before their last pass"},
    [NO_NAME] = {"uncounted_names", "of more kernels than are counted one by one"},
    [NO_CONTEXT] = {"uncounted_no_context", "begun while no CUDA context was current"},
    [IN_ANOTHER] = {"uncounted_inside", "inside another scope that is counted"},
    [NO_WINDOW] = {"uncounted_no_window", "outside of windows of capture"},
    [WINDOW_CHANGED] = {"uncounted_window", "a window of capture opened or closed meanwhile"},
    [NOT_COUNTING] = {"uncounted_failed", "the counters could not be read: see the messages"},
    [LEFT_OPEN] = {"uncounted_open", "open when the session ended"},
    [CONTEXT_GONE] = {"uncounted_context_gone", "open when their CUDA context was destroyed"},
    [UNREAD] = {"uncounted_unread", "counted, but the counts could not be read"},
};

const char *ranges_why(enum range_passed why)
{
    return passed_by_rows[why].what;
}

static void describe_left(struct trace *t, const struct range_choice *c, uint32_t of)
{
    struct sink *s = t->sink;
    char left[sizeof((struct err *)0)->text] = "";
    for (size_t i = 0; i < c->left_count; i++) {
        size_t n = strlen(left);
        setting_text(s, ENGINE, of, "skipped_metric", c->left[i]);
        snprintf(left + n, sizeof left - n, "%s%s", n ? ", " : "", c->left[i]);
    }
    if (*left)
        s->ops->message(
            s, ranging.metrics.set[0] ? SEVERITY_NOTE : SEVERITY_WARNING, "range_profiler.passes",
            ranging.kernels ? "these metrics take too many passes, or a %s does not have them: %s"
                            : "scopes are counted in one pass; these metrics do not fit into it "
                              "with the others, "
                              "or a %s does not have them: %s",
            c->chip, left);
}

/* Logs the number of passes early, so that the user can still choose other metrics: the messages of
 * the session are read only after the program has ended. */
static void say_passes(struct sink *s, const struct range_choice *c)
{
    const char *es = c->passes == 1 ? "" : "es";
    if (ranging.kernels)
        s->ops->message(s, SEVERITY_NOTE_ALOUD, "range_profiler.replay",
                        "RangeProfiler: the first %u launches of each "
                        "kernel are repeated, %zu pass%s each, while the program waits: fewer with "
                        "range_kernel_launches, or fewer metrics",
                        ranging.pick.most, c->passes, es);
    else
        s->ops->message(s, SEVERITY_NOTE_ALOUD, "range_profiler.scopes",
                        "RangeProfiler: outermost scopes are counted in %zu pass%s, and nothing is "
                        "repeated: metrics %zu, left out %zu",
                        c->passes, es, c->count, c->left_count);
}

/* Reports what is counted, and in how many passes, before the first count. */
static void describe(struct trace *t, struct range_choice *c, uint32_t of)
{
    struct sink *s = t->sink;
    c->reported = true;
    if (ranging.metrics.set[0])
        setting_text(s, ENGINE, of, "preset", ranging.metrics.set);
    setting_text(s, ENGINE, of, "counts", ranging.kernels ? "kernels" : "outermost scopes");
    setting_number(s, ENGINE, of, "passes", c->passes);
    if (ranging.kernels)
        setting_number(s, ENGINE, of, "launches_of_each", ranging.pick.most);
    for (size_t i = 0; i < c->count; i++)
        setting_text(s, ENGINE, of, "metric", c->names[i]);
    describe_left(t, c, of);
    say_passes(s, c);
}

/* Describes the choice for repeated scopes, which come later or never. */
static void describe_repeated(struct trace *t, struct range_choice *c, uint32_t of)
{
    struct sink *s = t->sink;
    char list[METRICS_MOST * METRIC_NAME] = "";
    c->reported = true;
    setting_number(s, ENGINE, of, "passes_of_repeated", c->passes);
    for (size_t i = 0, n = 0; i < c->count && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? "," : "", c->names[i]);
    setting_text(s, ENGINE, of, "metrics_of_repeated", list);
    s->ops->message(
        s, SEVERITY_NOTE_ALOUD, "range_profiler.repeated",
        "RangeProfiler: scopes whose iterations the program names (GFL_BENCH) are counted in %zu "
        "passes, one in each of the first iterations, which take about 20 ms longer",
        c->passes);
}

void ranges_results_drop(void)
{
    for (size_t i = 0; i < ranging.result_count; i++) {
        mem_free(ranging.results[i].kernel);
        ranging.results[i].kernel = NULL;
    }
    ranging.result_count = 0;
}

static void write_result(struct trace *t, const struct range_result *r, uint32_t of)
{
    struct sink *s = t->sink;
    bool kernel = r->source == RANGE_SOURCE_KERNEL;
    for (size_t i = 0; i < r->count; i++) {
        struct decimal value;
        uint32_t *name = &ranging.name_ids[r->metrics[i]];
        *name = *name ? *name : s->ops->name(s, ranging.metrics.names[r->metrics[i]]);
        if (!decimal_of(r->values[i], DIGITS, &value))
            continue; /* a rate without a denominator */
        struct counter_row row = {.start = r->start,
                                  .duration = kernel ? CELL_NULL : r->end - r->start,
                                  .source = r->source,
                                  .device = of,
                                  .metric = *name,
                                  .value = value.mantissa,
                                  .exponent = value.exponent,
                                  .scope = kernel ? CELL_NULL : (int64_t)r->instance,
                                  .kernel = kernel ? s->ops->name(s, r->kernel) : 0,
                                  .ordinal = (int64_t)ranging.written,
                                  .correlation = kernel ? r->launch : CELL_NULL};
        s->ops->row(s, RECORD_counter, &row);
    }
    ranging.written++;
}

/* Reports the rest, at the end of the session. */
static void summarize(struct trace *t, uint32_t of)
{
    struct sink *s = t->sink;
    char text[sizeof((struct err *)0)->text] = "";
    for (size_t i = 0, n = 0; i < PASSED_BY; i++) {
        uint64_t count = atomic_exchange(&ranging.passed_by[i], 0);
        if (!count)
            continue;
        setting_number(s, ENGINE, of, passed_by_rows[i].setting, count);
        if (n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRIu64 " %s", n ? ", " : "",
                                  count, passed_by_rows[i].what);
    }
    if (records_own(t->records))
        setting_number(s, ENGINE, of, "profiler_kernels", records_own(t->records));
    if (*text)
        s->ops->message(s, SEVERITY_NOTE, "range_profiler.uncounted", "%s not counted: %s",
                        ranging.kernels ? "kernels that were" : "scopes that were", text);
}

void range_report(struct trace *t)
{
    struct sink *s = t->sink;
    uint32_t of = ranging.chosen.count ? records_device(t->records, ranging.chosen.device) : 0;
    if (ranging.chosen.count && !ranging.chosen.reported)
        describe(t, &ranging.chosen, of);
    if (ranging.chosen_repeated.count && !ranging.chosen_repeated.reported)
        describe_repeated(t, &ranging.chosen_repeated, of);
    for (size_t i = 0; i < ranging.result_count; i++)
        write_result(t, &ranging.results[i], of);
    ranges_results_drop();
    if (ranging.lost)
        s->ops->lost(s, LOSS_SAMPLES, ranging.lost);
    ranging.lost = 0;
    atomic_fetch_add(&ranging.passed_by[NO_NAME], ranging.pick.passed_by);
    ranging.pick.passed_by = 0;
    if (t->stopped)
        summarize(t, of);
}
