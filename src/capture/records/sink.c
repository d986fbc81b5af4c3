/* sink.c - see sink.h. */
#include "capture/records/sink.h"

#include "base/clock.h"
#include "capture/log/messages.h"
#include "capture/records/scopes.h"
#include "capture/records/uncounted.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/collector_wake.h"
#include "capture/threads/exits.h"
#include "capture/threads/gate.h"
#include "capture/threads/threads.h"
#include "capture/windows/windows.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool op_launch(struct sink *s, const struct launch *l)
{
    (void)s;
    bool begins = l->kind == LAUNCH_KERNEL || l->kind == LAUNCH_GRAPH;
    bool counts = !begins || windows_launch();
    if (counts)
        scopes_launch(l);
    return counts;
}

static void op_kernel(struct sink *s, uint32_t correlation)
{
    (void)s;
    scopes_kernel(correlation);
}

static void op_passed(struct sink *s)
{
    (void)s;
    windows_passed();
}

static bool op_in_scope(struct sink *s)
{
    (void)s;
    return scopes_inside() || stacking_wants() > STACKING_WAITS;
}

static uint32_t op_stack(struct sink *s)
{
    (void)s;
    return stacking_at_wait();
}

static uint64_t op_stacks(struct sink *s)
{
    const struct thread_state *t = thread_here;
    (void)s;
    return t ? atomic_load_explicit(&t->counters.stack_ticks, memory_order_relaxed) : 0;
}

static uint32_t op_simulated(struct sink *s, const struct sink_frame *frames, unsigned depth)
{
    (void)s;
    return stacking_simulated(frames, depth);
}

static void op_wait(struct sink *s, const struct wait *w)
{
    (void)s;
    scopes_wait(w);
    if (thread_here)
        threads_wait(thread_here, false);
}

static uint32_t op_name(struct sink *s, const char *text)
{
    struct capture_sink *k = (struct capture_sink *)s;
    if (!text || !*text || !k->writer)
        return 0;
    size_t at = ((uintptr_t)text ^ (uintptr_t)text >> 10) & (SINK_NAMES - 1);
    if (k->cache[at].given == text && strcmp(k->cache[at].text, text) == 0)
        return k->cache[at].id;
    uint32_t id = intern_str(k->names, text);
    if (id) {
        k->cache[at].text = intern_text(k->names, id, NULL);
        k->cache[at].given = text;
        k->cache[at].id = id;
    }
    return id;
}

static uint32_t op_device(struct sink *s, const struct device_row *d)
{
    struct capture_sink *k = (struct capture_sink *)s;
    return k->writer ? ids_device(&k->ids, d) : 0;
}

static uint32_t op_stream(struct sink *s, uint32_t device, int64_t context, int64_t number)
{
    struct capture_sink *k = (struct capture_sink *)s;
    return k->writer ? ids_stream(&k->ids, device, context, number) : 0;
}

static uint32_t op_config(struct sink *s, const struct config_row *c)
{
    struct capture_sink *k = (struct capture_sink *)s;
    return k->writer ? ids_config(&k->ids, c) : 0;
}

static uint32_t op_define(struct sink *s, enum record_type type, const void *row)
{
    struct capture_sink *k = (struct capture_sink *)s;
    return k->writer ? ids_define(&k->ids, type, row) : 0;
}

static void op_mention(struct sink *s, enum record_type type, uint32_t id)
{
    struct capture_sink *k = (struct capture_sink *)s;
    if (k->writer && id)
        writer_mention(k->writer, type, id);
}

static uint32_t op_keep(struct sink *s, const char *file, const void *bytes, size_t size)
{
    struct capture_sink *k = (struct capture_sink *)s;
    collector_step();
    return k->writer && writer_keep(k->writer, file, bytes, size) ? op_name(s, file) : 0;
}

/* Lists records that have the correlation id of their call, and their columns. Column 0, which is a
 * time, means that the record lacks the column. */
static const struct joined {
    enum record_type type;
    uint8_t correlation, scope, stack, thread, inherited;
} joined[] = {
    {RECORD_kernel, COL_kernel_correlation, COL_kernel_scope, COL_kernel_stack, COL_kernel_thread,
     COL_kernel_inherited},
    {RECORD_graph_run, COL_graph_run_correlation, COL_graph_run_scope, COL_graph_run_stack,
     COL_graph_run_thread, 0},
    {RECORD_memcpy, COL_memcpy_correlation, COL_memcpy_scope, COL_memcpy_stack, 0, 0},
    {RECORD_memset, COL_memset_correlation, COL_memset_scope, 0, 0, 0},
    {RECORD_sync, COL_sync_correlation, COL_sync_scope, COL_sync_stack, 0, 0},
};

static void cells_join(struct capture_sink *k, const struct joined *j, int64_t *cells)
{
    const struct join *e = joins_get(&k->joins, (uint32_t)cells[j->correlation]);
    cells[j->scope] = e ? (int64_t)e->scope : 0;
    if (j->stack)
        cells[j->stack] = e ? e->stack : 0;
    if (j->thread)
        cells[j->thread] = e ? e->thread : CELL_NULL;
    if (j->inherited)
        cells[j->inherited] = e && e->inherited;
}

static void row_join(struct capture_sink *k, enum record_type type, int64_t *cells)
{
    for (size_t i = 0; i < sizeof joined / sizeof joined[0]; i++)
        if (joined[i].type == type)
            cells_join(k, &joined[i], cells);
}

static void row_thread(struct capture_sink *k, enum record_type type, const int64_t *cells)
{
    int64_t tid = 0;
    if (type == RECORD_sync)
        tid = cells[COL_sync_thread];
    else if (type == RECORD_overhead)
        tid = cells[COL_overhead_thread];
    if (tid > 0 && tid <= INT32_MAX)
        ids_thread(&k->ids, (int32_t)tid, NULL);
}

/* Samples and counts of instructions have a window, not a moment; the rows of a window come one
 * after the other. They belong to the scope that covers the whole window, or to the scope that
 * opened the only window of capture that contains the whole window. */
static void row_window(struct capture_sink *k, int64_t start, int64_t duration, int64_t *scope)
{
    if (*scope != CELL_NULL || !k->drain || start <= 0 || duration < 0)
        return;
    if (k->window.start != start || k->window.end != start + duration) {
        /* The only thread with scopes has also opened the window: inner scopes have higher
         * numbers. */
        uint64_t cover = scopes_cover(k->drain, start);
        uint64_t opener = windows_scope_of(start, start + duration);
        cover = cover > opener ? cover : opener;
        k->window.start = start;
        k->window.end = start + duration;
        k->window.scope = cover ? (int64_t)cover : CELL_NULL;
    }
    *scope = k->window.scope;
}

/* Counters of a kernel belong to the scope that launched the kernel. */
static void row_repeated(struct capture_sink *k, int64_t *cells)
{
    int64_t launch = cells[COL_counter_correlation];
    const struct join *e = NULL;
    if (cells[COL_counter_source] == 3 && launch != CELL_NULL)
        e = joins_look(&k->joins, (uint32_t)launch);
    if (e)
        cells[COL_counter_scope] = (int64_t)e->scope;
}

/* Counters of a moment, whose metrics come one after the other, belong to the scope that covers the
 * moment, or to the scope that opened the only window of capture that contains the moment. */
static void row_moment(struct capture_sink *k, int64_t *cells)
{
    int64_t start = cells[COL_counter_start], duration = cells[COL_counter_duration];
    if (cells[COL_counter_scope] != CELL_NULL || !k->drain || start <= 0 || duration < 0 ||
        cells[COL_counter_source] != 1)
        return;
    if (k->window.start != start) {
        k->window.start = start;
        /* In a round counters are read after scopes, so the scopes up to now may not be known. */
        if (start + duration > k->drain->known && start + duration <= clock_mono())
            scopes_drain(k->drain, false);
        int64_t cover = scopes_span(k->drain, start, start + duration);
        int64_t opener = (int64_t)windows_scope_of(start, start + duration);
        k->window.scope = opener && cover < opener ? opener : cover; /* CELL_NULL is the least */
    }
    cells[COL_counter_scope] = k->window.scope;
}

void sink_put(enum record_type type, const void *row)
{
    struct capture_sink *k = &capture_sink;
    int64_t cells[RECORD_MAX_COLUMNS];
    if (!k->writer || records[type].kind != RECORD_KIND_EVENT)
        return;
    memcpy(cells, row, records[type].column_count * sizeof cells[0]);
    k->recorded[type]++;
    collector_step();
    row_join(k, type, cells);
    if (type == RECORD_pc_sample)
        row_window(k, cells[COL_pc_sample_start], cells[COL_pc_sample_duration],
                   &cells[COL_pc_sample_scope]);
    else if (type == RECORD_sass_metric)
        row_window(k, cells[COL_sass_metric_start], cells[COL_sass_metric_duration],
                   &cells[COL_sass_metric_scope]);
    else if (type == RECORD_counter) {
        row_moment(k, cells);
        row_repeated(k, cells);
    }
    row_thread(k, type, cells);
    if (type == RECORD_kernel && cells[COL_kernel_external_kind] > 0)
        k->external++;
    if (type == RECORD_pc_sample && cells[COL_pc_sample_samples] > 0)
        k->samples += cells[COL_pc_sample_samples];
    writer_row(k->writer, type, cells);
}

void sink_put_whole(enum record_type type, const void *row)
{
    struct capture_sink *k = &capture_sink;
    if (!k->writer)
        return;
    k->recorded[type]++;
    collector_step();
    writer_row(k->writer, type, row);
}

static void op_row(struct sink *s, enum record_type type, const void *row)
{
    struct capture_sink *k = (struct capture_sink *)s;
    const struct overhead_row *o = row;
    if (type == RECORD_overhead && k->writer && o->duration > 0)
        k->vendor_ns += o->duration;
    sink_put(type, row);
}

static void op_engine_time(struct sink *s, int64_t start, int64_t duration, int64_t thread)
{
    struct overhead_row row = {.start = start,
                               .duration = duration,
                               .kind = s->ops->name(s, OVERHEAD_ENGINE),
                               .thread = thread};
    sink_put(RECORD_overhead, &row);
}

static void op_lost(struct sink *s, enum loss cause, uint64_t n)
{
    struct capture_sink *k = (struct capture_sink *)s;
    atomic_fetch_add_explicit(&k->lost[cause], n, memory_order_relaxed);
}

__attribute__((format(printf, 4, 5))) static void op_message(struct sink *s, enum severity severity,
                                                             const char *code, const char *fmt, ...)
{
    (void)s;
    va_list args;
    va_start(args, fmt);
    message_vsay(severity, code, fmt, args);
    va_end(args);
}

static void op_capability(struct sink *s, const char *feature, bool requested, const char *status,
                          const char *reason)
{
    struct capture_sink *k = (struct capture_sink *)s;
    if (!strcmp(feature, "copies"))
        k->without_copies = !requested && *reason;
    feature_set(feature, requested, status, reason);
}

static void op_uncounted(struct sink *s, uint32_t name, const char *why)
{
    (void)s;
    uncounted_note(name, why);
}

static void op_join(struct sink *s)
{
    struct capture_sink *k = (struct capture_sink *)s;
    if (k->drain)
        scopes_drain(k->drain, false);
}

static void op_wake(struct sink *s)
{
    (void)s;
    if (gate_is_on())
        collector_wake();
}

static void op_began(struct sink *s, unsigned engine)
{
    (void)s;
    (void)exits_first(EXITS_ENGINES + (enum exit_stage)__builtin_ctz(engine));
}

static const struct sink_ops ops = {
    .launch = op_launch,
    .kernel = op_kernel,
    .passed = op_passed,
    .in_scope = op_in_scope,
    .stack = op_stack,
    .stacks = op_stacks,
    .simulated = op_simulated,
    .wait = op_wait,
    .name = op_name,
    .device = op_device,
    .stream = op_stream,
    .config = op_config,
    .define = op_define,
    .mention = op_mention,
    .keep = op_keep,
    .row = op_row,
    .join = op_join,
    .engine_time = op_engine_time,
    .lost = op_lost,
    .uncounted = op_uncounted,
    .message = op_message,
    .capability = op_capability,
    .began = op_began,
    .wake = op_wake,
};

struct capture_sink capture_sink = {.sink = {&ops}};

void sink_begin(struct writer *w, struct intern *names, const struct backend *b)
{
    struct capture_sink *k = &capture_sink;
    k->writer = w;
    k->names = names;
    ids_init(&k->ids, w, names, b->vendor);
    joins_init(&k->joins);
    memset(k->recorded, 0, sizeof k->recorded);
    memset(k->cache, 0, sizeof k->cache);
    k->vendor_ns = 0;
    k->samples = 0;
    k->without_copies = false;
    k->window.start = 0;
    k->drain = NULL;
    k->external = 0;
    for (int i = 0; i < LOSS_COUNT; i++)
        atomic_store_explicit(&k->lost[i], 0, memory_order_relaxed);
}

void sink_end(void)
{
    ids_fini(&capture_sink.ids);
    joins_fini(&capture_sink.joins);
    capture_sink.writer = NULL;
}

void sink_forget(void)
{
    capture_sink.writer = NULL;
    memset(&capture_sink.ids, 0, sizeof capture_sink.ids);
    joins_init(&capture_sink.joins);
}
