/* counting.c - see counting.h.
 *
 * The enqueuing thread decides without a lock which launches are counted: the first launches of
 * each kernel, by the library's number of the kernel. Values come in pieces, and those of several
 * kernels are mixed: they are gathered by the number of the dispatch. */
#include "backend/amd/trace/counting.h"

#include "backend/amd/trace/agents.h"
#include "backend/amd/trace/calls.h"
#include "backend/amd/trace/counter_choice.h"
#include "backend/amd/trace/symbols.h"
#include "backend/common/setting.h"
#include "wire/decimal.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ENGINE "RangeProfiler"

enum {
    KERNELS = 1 << 13, /* that are distinguished; a power of two */
    PROBES = 64,
    KNOWN = 256,   /* counters by the library's id */
    PENDING = 512, /* kernels whose values have not all come */
    DIGITS = 12,
    SOURCE_KERNEL = 3, /* counter_row.source */
};

struct picked {
    _Atomic uint64_t kernel; /* the library's number; 0: free. Relaxed */
    _Atomic uint32_t counted;
};

/* Describes a kernel whose values are arriving. [collector] */
struct pending {
    uint64_t dispatch;
    bool headed;          /* the header has come; wanted and the next members are from it */
    bool broken;          /* a value of an unknown counter came */
    uint64_t wanted, got; /* values */
    uint64_t kernel, internal, start, end;
    int agent;
    size_t count;
    struct {
        uint16_t known; /* index of me.known */
        double sum;
    } values[COUNTERS_MOST];
};

static struct {
    const struct rocp *sdk; /* NULL: the service is not there */
    struct counter_choice choices[AGENTS_MOST];
    struct counter_list wanted;
    _Atomic(struct sink *) sink;           /* NULL: nothing is counted. Release, acquire */
    _Atomic uint32_t most;                 /* launches of each kernel; relaxed */
    _Atomic uint64_t began, ended, passed; /* kernels: picked, complete or given up, without room;
                                              relaxed */
    struct picked picked[KERNELS];
    _Atomic bool
        windows; /* kernels of calls that calls.h does not remember, when they are enqueued,
                             do not belong to the session; relaxed */

    /* [collector] */
    struct sink *to;
    struct {
        uint64_t id;
        const char *name; /* the library's */
    } known[KNOWN];
    size_t known_count;
    struct pending pending[PENDING];
    size_t pending_count;
    uint64_t given_up; /* the highest dispatch whose place was given to another */
    uint64_t written, lost;
    bool reported[AGENTS_MOST], passed_reported;
} me;

/* ---- choosing kernels: on the threads that enqueue ----------------------------------- */

/* Returns true for the first launches of a kernel. */
static bool pick(uint64_t kernel)
{
    uint32_t most = atomic_load_explicit(&me.most, memory_order_relaxed);
    for (uint64_t i = 0; kernel && i < PROBES; i++) {
        struct picked *p = &me.picked[(kernel + i) & (KERNELS - 1)];
        uint64_t there = atomic_load_explicit(&p->kernel, memory_order_relaxed);
        if (!there && atomic_compare_exchange_strong_explicit(
                          &p->kernel, &there, kernel, memory_order_relaxed, memory_order_relaxed))
            there = kernel;
        if (there == kernel)
            return atomic_load_explicit(&p->counted, memory_order_relaxed) < most &&
                   atomic_fetch_add_explicit(&p->counted, 1, memory_order_relaxed) < most;
    }
    atomic_fetch_add_explicit(&me.passed, 1, memory_order_relaxed);
    return false;
}

/* Returns true for a kernel outside of windows: its call, which this thread makes, is not
 * remembered. */
static bool is_outside(uint64_t internal)
{
    struct call_facts f;
    return atomic_load_explicit(&me.windows, memory_order_relaxed) && !calls_facts(internal, &f);
}

/* The library ends the program if it gets a config of another GPU than the kernel's. */
static void on_dispatch(uint64_t internal, const struct rocp_dispatch_info *d, uint64_t *config)
{
    int agent = agents_index(d->agent);
    if (agent < 0 || !me.choices[agent].config ||
        !atomic_load_explicit(&me.sink, memory_order_acquire) || is_outside(internal) ||
        !pick(d->kernel))
        return;
    atomic_fetch_add_explicit(&me.began, 1, memory_order_relaxed);
    *config = me.choices[agent].config;
}

static void dispatch_old(struct rocp_counting_old d, uint64_t *config, union rocp_user *user,
                         void *data)
{
    (void)user, (void)data;
    on_dispatch(d.internal, &d.info, config);
}

static void dispatch_new(struct rocp_counting_new d, uint64_t *config, union rocp_user *user,
                         void *data)
{
    (void)user, (void)data;
    on_dispatch(d.internal, &d.info, config);
}

/* ---- making -------------------------------------------------------------------------- */

static bool has_times(const struct rocp *sdk)
{
    return sdk->version >= ROCP_COUNTED_TIMES;
}

static int configure(const struct rocp *sdk, uint64_t context, uint64_t buffer)
{
    void *fn = has_times(sdk) ? (void *)(uintptr_t)dispatch_new : (void *)(uintptr_t)dispatch_old;
    if (sdk->rocprofiler_configure_buffer_dispatch_counting_service)
        return sdk->rocprofiler_configure_buffer_dispatch_counting_service(context, buffer, fn,
                                                                           NULL);
    if (sdk->rocprofiler_configure_buffered_dispatch_counting_service)
        return sdk->rocprofiler_configure_buffered_dispatch_counting_service(context, buffer, fn,
                                                                             NULL);
    return sdk->rocprofiler_configure_buffered_dispatch_profile_counting_service(context, buffer,
                                                                                 fn, NULL);
}

int counting_make(const struct rocp *sdk, uint64_t context, uint64_t buffer,
                  const struct trace_config *c, struct err *e)
{
    size_t usable = 0;
    int refused = ROCP_OK;
    int rc = counter_choice_can(sdk, e) ? counter_sets_read(&me.wanted, c->counter_metrics, e)
                                        : GPUFL_E_UNAVAILABLE;
    for (int i = 0; !rc && i < agents_count(); i++) {
        rc = counter_choice_make(sdk, agents_at(i)->id, &me.wanted, &me.choices[i], e);
        usable += me.choices[i].config != 0;
        refused = me.choices[i].refused ? me.choices[i].refused : refused;
    }
    if (!rc && !usable && refused)
        rc = rocp_error(sdk, refused, "every counter", e);
    else if (!rc && !usable)
        rc = err_set(e, GPUFL_E_UNAVAILABLE,
                     "no GPU here counts any of what counter_metrics asks for: gpufl info "
                     "--metrics lists what they count");
    if (rc)
        return rc;
    int status = configure(sdk, context, buffer);
    if (status != ROCP_OK)
        return rocp_error(sdk, status, "to count kernels", e);
    me.sdk = sdk;
    return 0;
}

/* ---- gathering ----------------------------------------------------------------------- */

size_t counting_bytes(const struct rocp_header *h)
{
    const uint64_t *size = h->payload;
    if (!me.sdk || !size)
        return 0;
    if (h->kind == ROCP_COUNTED_VALUE)
        return sizeof(struct rocp_value);
    size_t least =
        has_times(me.sdk) ? sizeof(struct rocp_counted_new) : sizeof(struct rocp_counted_old);
    return h->kind == ROCP_COUNTED_DISPATCH && *size >= least ? least : 0;
}

static bool is_runtimes(uint64_t kernel)
{
    struct symbol s;
    return symbols_find(kernel, &s) && s.name && symbols_of_runtime(s.name);
}

/* Frees the place of a kernel. */
static void end_kernel(size_t at)
{
    atomic_fetch_add_explicit(&me.ended, 1, memory_order_relaxed);
    me.pending[at] = me.pending[--me.pending_count];
}

static void lose_kernel(size_t at)
{
    const struct pending *p = &me.pending[at];
    me.lost += !p->headed || !is_runtimes(p->kernel);
    end_kernel(at);
}

/* Returns the kernel's place; if none is free, that of the oldest kernel. NULL: the kernel's place
 * was given to another one, or that of a later kernel was. */
static struct pending *pending_of(uint64_t dispatch)
{
    size_t oldest = 0;
    for (size_t i = me.pending_count; i-- > 0;) {
        if (me.pending[i].dispatch == dispatch)
            return &me.pending[i];
        if (me.pending[i].dispatch < me.pending[oldest].dispatch)
            oldest = i;
    }
    if (dispatch <= me.given_up)
        return NULL;
    if (me.pending_count == PENDING) {
        me.given_up = me.pending[oldest].dispatch;
        lose_kernel(oldest);
    }
    struct pending *p = &me.pending[me.pending_count++];
    *p = (struct pending){.dispatch = dispatch, .agent = AGENT_UNKNOWN};
    return p;
}

/* Returns the index of a counter by its id; KNOWN: it has no name, or there is no room. */
static size_t known_of(uint64_t id)
{
    struct rocp_counter_info info = {0};
    for (size_t i = 0; i < me.known_count; i++)
        if (me.known[i].id == id)
            return i;
    if (me.known_count == KNOWN ||
        me.sdk->rocprofiler_query_counter_info(id, ROCP_COUNTER_INFO, &info) != ROCP_OK ||
        !info.name)
        return KNOWN;
    me.known[me.known_count].id = id;
    me.known[me.known_count].name = info.name;
    return me.known_count++;
}

static void add_value(struct pending *p, const struct rocp_value *v)
{
    uint64_t id = 0;
    size_t known = me.sdk->rocprofiler_query_record_counter_id(v->instance, &id) == ROCP_OK
                       ? known_of(id)
                       : KNOWN;
    size_t at = 0;
    p->got++;
    while (at < p->count && p->values[at].known != known)
        at++;
    if (known == KNOWN || at == COUNTERS_MOST) {
        p->broken = true;
        return;
    }
    if (at == p->count) {
        p->values[p->count].known = (uint16_t)known;
        p->values[p->count++].sum = 0;
    }
    p->values[at].sum += v->value;
}

static void take_header(struct pending *p, const void *record)
{
    struct rocp_counted_new h = {0};
    struct rocp_counted_old old;
    if (has_times(me.sdk)) {
        memcpy(&h, record, sizeof h);
    } else {
        memcpy(&old, record, sizeof old);
        h.values = old.values;
        h.internal = old.internal;
        h.info = old.info;
    }
    p->headed = true;
    p->wanted = h.values;
    p->internal = h.internal;
    p->start = h.start;
    p->end = h.end;
    p->agent = agents_index(h.info.agent);
    p->kernel = h.info.kernel;
}

static uint64_t dispatch_of(uint32_t kind, const void *record)
{
    size_t at = kind == ROCP_COUNTED_VALUE ? offsetof(struct rocp_value, dispatch)
                : has_times(me.sdk)        ? offsetof(struct rocp_counted_new, info.dispatch)
                                           : offsetof(struct rocp_counted_old, info.dispatch);
    uint64_t dispatch;
    memcpy(&dispatch, (const char *)record + at, sizeof dispatch);
    return dispatch;
}

/* ---- writing ------------------------------------------------------------------------- */

static void write_kernel(const struct pending *p, const char *name, int64_t shift, uint32_t device)
{
    struct sink *s = me.to;
    bool timed = p->start && p->end >= p->start;
    for (size_t i = 0; i < p->count; i++) {
        struct decimal value;
        if (!decimal_of(p->values[i].sum, DIGITS, &value))
            continue; /* a rate without a denominator */
        struct counter_row row = {.start =
                                      timed ? (int64_t)(p->start + (uint64_t)shift) : CELL_NULL,
                                  .duration = timed ? (int64_t)(p->end - p->start) : CELL_NULL,
                                  .source = SOURCE_KERNEL,
                                  .device = device,
                                  .metric = s->ops->name(s, me.known[p->values[i].known].name),
                                  .value = value.mantissa,
                                  .exponent = value.exponent,
                                  .scope = CELL_NULL,
                                  .kernel = s->ops->name(s, name),
                                  .ordinal = (int64_t)me.written,
                                  .correlation = (uint32_t)p->internal};
        s->ops->row(s, RECORD_counter, &row);
    }
    me.written++;
}

/* Writes a kernel, with all its values or not at all. */
static void finish_kernel(size_t at, int64_t shift, uint32_t (*device)(int agent))
{
    const struct pending *p = &me.pending[at];
    struct symbol s;
    bool named = symbols_find(p->kernel, &s) && s.name;
    if (!named || p->agent < 0 || p->broken || !p->wanted) {
        lose_kernel(at);
        return;
    }
    if (!is_runtimes(p->kernel))
        write_kernel(p, s.name, shift, device(p->agent));
    end_kernel(at);
}

void counting_read(uint32_t kind, const void *record, int64_t shift, uint32_t (*device)(int agent))
{
    struct rocp_value value;
    struct pending *p = me.to ? pending_of(dispatch_of(kind, record)) : NULL;
    if (!p)
        return;
    if (kind == ROCP_COUNTED_VALUE) {
        memcpy(&value, record, sizeof value);
        add_value(p, &value);
    } else {
        take_header(p, record);
    }
    if (p->headed && p->got >= p->wanted)
        finish_kernel((size_t)(p - me.pending), shift, device);
}

/* Counts kernels that were picked, and of which values are missing, as lost. */
static void lose_rest(void)
{
    while (me.pending_count)
        lose_kernel(me.pending_count - 1);
    uint64_t began = atomic_load_explicit(&me.began, memory_order_relaxed);
    uint64_t ended = atomic_exchange_explicit(&me.ended, began, memory_order_relaxed);
    me.lost += began > ended ? began - ended : 0;
}

bool counting_waits(void)
{
    return atomic_load_explicit(&me.ended, memory_order_relaxed) <
           atomic_load_explicit(&me.began, memory_order_relaxed);
}

/* ---- the session --------------------------------------------------------------------- */

void counting_report(struct sink *s, const struct trace_config *c)
{
    if (s) {
        for (size_t i = 0; i < KERNELS; i++)
            atomic_store_explicit(&me.picked[i].counted, 0, memory_order_relaxed);
        atomic_store_explicit(&me.most, c->range_launches, memory_order_relaxed);
        atomic_store_explicit(&me.began, 0, memory_order_relaxed);
        atomic_store_explicit(&me.ended, 0, memory_order_relaxed);
        atomic_store_explicit(&me.passed, 0, memory_order_relaxed);
        atomic_store_explicit(&me.windows, c->windows, memory_order_relaxed);
        me.to = s;
        me.pending_count = 0;
        me.written = me.lost = me.given_up = 0;
        me.passed_reported = false;
        memset(me.reported, 0, sizeof me.reported);
    }
    atomic_store_explicit(&me.sink, s, memory_order_release);
}

void counting_close(void)
{
    me.to = NULL;
    me.pending_count = 0;
    atomic_store_explicit(&me.began, 0, memory_order_relaxed);
    atomic_store_explicit(&me.ended, 0, memory_order_relaxed);
}

static void report_choice(int agent, uint32_t device)
{
    const struct counter_choice *c = &me.choices[agent];
    const char *arch = agents_at(agent)->text.arch;
    struct sink *s = me.to;
    setting_text(s, ENGINE, device, "counts", "kernels");
    setting_number(s, ENGINE, device, "passes", 1);
    setting_number(s, ENGINE, device, "launches_of_each",
                   atomic_load_explicit(&me.most, memory_order_relaxed));
    for (size_t i = 0; i < c->count; i++)
        setting_text(s, ENGINE, device, "metric", c->names[i]);
    if (*c->unknown)
        s->ops->message(s, me.wanted.of_set ? SEVERITY_NOTE : SEVERITY_WARNING,
                        "range_profiler.metrics", "a %s does not count these: %s", arch,
                        c->unknown);
    if (*c->beyond)
        s->ops->message(s, me.wanted.of_set ? SEVERITY_NOTE : SEVERITY_WARNING,
                        "range_profiler.passes",
                        "a kernel is counted in one pass; on a %s these do not fit into it with "
                        "the others: %s",
                        arch, c->beyond);
}

void counting_describe(uint32_t (*device)(int agent), bool all)
{
    if (!me.to)
        return;
    for (int i = 0; i < agents_count(); i++) {
        if (!me.reported[i] && me.choices[i].config)
            report_choice(i, device(i));
        me.reported[i] = true;
    }
    if (all)
        lose_rest();
    if (me.lost)
        me.to->ops->lost(me.to, LOSS_SAMPLES, me.lost);
    me.lost = 0;
    uint64_t passed = atomic_load_explicit(&me.passed, memory_order_relaxed);
    if (all && passed && !me.passed_reported) {
        me.to->ops->message(me.to, SEVERITY_NOTE, "range_profiler.uncounted",
                            "kernels that were not counted: %" PRIu64
                            " launches of more kernels than are counted one by one",
                            passed);
        me.passed_reported = true;
    }
}
