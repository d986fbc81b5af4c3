/* scopes_drain.c - is the collector's side of the rings: slots become rows.
 *
 * Begins and ends of a thread come in order, so a stack per thread pairs them.
 * Slots of an earlier session, pushed by a thread that passed the gate late, are
 * recognized by the session's number and dropped.
 *
 * Slots have ticks (base/tick.h). First the collector notes how far every ring is filled, then
 * the curve gets a knot, then the rings are emptied up to there, so that all their ticks are older
 * than the knot. Slots that are pushed meanwhile wait for the next round.
 *
 * A round also ends at one tick for all rings, so that at its end it is known which scopes
 * were open on every thread at any moment before (inherit.h). */
#include "capture/records/scopes.h"

#include "base/clock.h"

#include "base/alloc.h"
#include "capture/records/ids.h"
#include "capture/records/sink.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/names.h"
#include "capture/threads/threads.h"
#include "wire/library_range.h"

#include <stddef.h>
#include <string.h>

enum {
    WRITTEN = 2, /* flushes after which an open scope gets a scope_open row */
    AFAR_MOST = 1 << 20,
    SYNCS_MOST = 1 << 16,
    GIVE_BACK = 256, /* slots read before their room is given back to the producer */
};

/* Returns the time of a tick; a thread's times never go back, whatever its ticks do. */
static int64_t slot_ns(const struct scopes_drain *d, struct thread_state *t, const struct slot *s)
{
    int64_t ns = tick_curve_ns(&d->curve, s->tick);
    if (ns > t->now)
        t->now = ns;
    return t->now;
}

static void write_graph(struct scopes_drain *d, struct thread_state *t, const struct slot *what)
{
    const struct slot *g = &t->prefix;
    struct graph_launch_row row = {
        .start = g->time,
        .duration = g->duration,
        .graph = (int64_t)what->instance,
        .kernels = what->time,
        .correlation = g->id,
        .scope = (int64_t)g->instance,
        .thread = t->tid,
    };
    if (g->instance) {
        const struct join *have = joins_get(d->joins, g->id); /* the launch's entry */
        joins_put(d->joins, &(struct join){.scope = g->instance,
                                           .correlation = g->id,
                                           .stack = have ? have->stack : 0,
                                           .thread = t->tid,
                                           .waiting = true});
    }
    d->thread(d->arg, t->tid, t->name);
    writer_row(d->writer, RECORD_graph_launch, (const int64_t *)&row);
}

static void write_open(struct scopes_drain *d, struct thread_state *t, size_t depth)
{
    const struct scope_seen *s = &t->scopes[depth];
    struct scope_open_row row = {
        .start = s->start,
        .instance = (int64_t)s->instance,
        .parent = (int64_t)s->parent,
        .name = s->name,
        .tag = s->tag,
        .thread = t->tid,
        .depth = (int64_t)depth,
        .repeat = s->repeat,
        .warmup = s->warmup,
    };
    d->thread(d->arg, t->tid, t->name);
    writer_row(d->writer, RECORD_scope_open, (const int64_t *)&row);
}

/* Returns true if a scope with that tag is a range that a library opened itself. The tag mostly
 * repeats. */
static bool is_library(struct scopes_drain *d, uint32_t tag)
{
    if (tag != d->tag) {
        const char *text = intern_text(names_table(), tag, NULL);
        d->tag = tag;
        d->library = text && library_range(text);
    }
    return d->library;
}

/* Returns the thread's innermost scope that the program opened; 0: it has none open. */
static uint64_t innermost(const struct thread_state *t)
{
    size_t n = t->scope_count;
    while (n && t->scopes[n - 1].library)
        n--;
    return n ? t->scopes[n - 1].instance : 0;
}

static void scope_begun(struct scopes_drain *d, struct thread_state *t, const struct slot *s)
{
    if (t->scope_count == t->scope_cap &&
        mem_grow(&t->scopes, &t->scope_cap, t->scope_count + 1, sizeof *t->scopes, OPEN_MOST)) {
        d->lost++;
        return;
    }
    struct scope_seen *top = &t->scopes[t->scope_count++];
    *top = (struct scope_seen){.instance = s->instance,
                               .parent = t->scope_count > 1 ? top[-1].instance : 0,
                               .start = slot_ns(d, t, s),
                               .name = s->id,
                               .tag = (uint32_t)s->tag,
                               .library = is_library(d, (uint32_t)s->tag)};
    if (t->prefix.kind == SLOT_BENCH) {
        top->repeat = t->prefix.id;
        top->warmup = (uint32_t)t->prefix.tag;
    }
    inherit_change(&d->inherit, s->tick, innermost(t));
    if (writer_wants_begins(d->writer)) {
        top->flushes = WRITTEN;
        write_open(d, t, t->scope_count - 1);
    }
}

/* Takes the innermost scope off the stack. It never ends, and its scope_open row stays. */
static void scope_left(struct scopes_drain *d, struct thread_state *t)
{
    if (t->scopes[--t->scope_count].flushes < WRITTEN)
        write_open(d, t, t->scope_count);
}

static void write_scope(struct scopes_drain *d, struct thread_state *t, const struct scope_seen *s,
                        size_t depth, int64_t end)
{
    struct scope_row row = {
        .start = s->start,
        .duration = end - s->start,
        .instance = (int64_t)s->instance,
        .parent = (int64_t)s->parent,
        .name = s->name,
        .tag = s->tag,
        .thread = t->tid,
        .depth = (int64_t)depth,
        .repeat = s->repeat,
        .warmup = s->warmup,
    };
    if (!s->library)
        spans_add(&d->spans, &(struct span){s->start, end, s->instance, t->tid});
    d->thread(d->arg, t->tid, t->name);
    writer_row(d->writer, RECORD_scope, (const int64_t *)&row);
}

static void scope_ended(struct scopes_drain *d, struct thread_state *t, const struct slot *s)
{
    size_t at = t->scope_count;
    uint64_t before = innermost(t);
    while (at > 0 && t->scopes[at - 1].instance != s->instance)
        at--;
    if (at == 0)
        return;                 /* the begin was lost for lack of memory */
    while (t->scope_count > at) /* their ends never came: a signal handler was in between */
        scope_left(d, t);
    const struct scope_seen *top = &t->scopes[--t->scope_count];
    int64_t end = slot_ns(d, t, s);
    t->left = innermost(t) != before ? end : t->left;
    inherit_change(&d->inherit, s->tick, innermost(t));
    write_scope(d, t, top, t->scope_count, end);
}

/* Takes one scope out of the thread's open ones; scopes inside it stay. False: it is not open. */
static bool scope_take(struct scopes_drain *d, struct thread_state *t, uint64_t instance,
                       int64_t end)
{
    size_t at = t->scope_count;
    while (at > 0 && t->scopes[at - 1].instance != instance)
        at--;
    if (at == 0)
        return false;
    struct scope_seen gone = t->scopes[--at];
    t->scope_count--;
    memmove(&t->scopes[at], &t->scopes[at + 1], (t->scope_count - at) * sizeof t->scopes[0]);
    if (!gone.library && end > t->left)
        t->left = end;
    write_scope(d, t, &gone, at, end > gone.start ? end : gone.start);
    return true;
}

static void scope_abandoned(struct scopes_drain *d, struct thread_state *t, const struct slot *s)
{
    int64_t end = slot_ns(d, t, s);
    if (scope_take(d, t, s->instance, end)) {
        inherit_change(&d->inherit, s->tick, innermost(t));
    } else if (mem_grow(&d->afar, &d->afar_cap, d->afar_count + 1, sizeof *d->afar, AFAR_MOST)) {
        d->lost++;
    } else {
        d->afar[d->afar_count++] = (struct scope_afar){s->instance, end};
    }
}

/* Ends the scopes that other threads left. All rings are drained, so their begins have been
 * seen. */
static void afar_resolve(struct scopes_drain *d)
{
    for (size_t i = 0; i < d->afar_count; i++)
        for (struct thread_state *t = threads_first(); t; t = t->next)
            if (t->seen_session == gate_session() &&
                scope_take(d, t, d->afar[i].instance, d->afar[i].end))
                break;
    d->afar_count = 0;
}

/* The kinds of a sync row have the numbers of the calls. */
_Static_assert(WAIT_EVENT == 1 && WAIT_STREAM_EVENT == 2 && WAIT_STREAM == 3 && WAIT_CONTEXT == 4,
               "as in schema/records.def");

/* A synchronization outside all scopes of its thread may inherit a scope, which is known when the
 * round is over. */
static void write_sync(struct scopes_drain *d, const struct wait_row *w, uint32_t stream,
                       int64_t event)
{
    struct sync_row row = {
        .start = w->start,
        .duration = w->duration,
        .kind = w->call,
        .stream = stream,
        .event = event,
        .correlation = w->correlation,
        .scope = w->scope,
        .thread = w->thread,
        .stack = w->stack,
    };
    if (row.scope || mem_grow(&d->syncs, &d->sync_cap, d->sync_count + 1, sizeof row, SYNCS_MOST))
        sink_put_whole(RECORD_sync, &row);
    else
        d->syncs[d->sync_count++] = row;
}

/* Writes the synchronizations of the round, whose launches have inherited their scopes by now. */
static void syncs_resolve(struct scopes_drain *d)
{
    for (size_t i = 0; i < d->sync_count; i++) {
        struct sync_row *row = &d->syncs[i];
        const struct join *call = joins_look(d->joins, (uint32_t)row->correlation);
        row->scope = call && call->thread == row->thread ? (int64_t)call->scope : 0;
        sink_put_whole(RECORD_sync, row);
    }
    d->sync_count = 0;
}

static void write_wait(struct scopes_drain *d, struct thread_state *t, const struct slot *what)
{
    const struct slot *w = &t->prefix;
    struct wait_packed p = wait_unpack(what->tag);
    uint32_t context = (uint32_t)(what->instance >> 32), number = (uint32_t)what->instance;
    bool known = number != WAIT_NO_STREAM, placed = context != WAIT_NO_CONTEXT;
    uint32_t stream = 0;
    if (known || p.sync) /* a synchronization's stream also gives the device and the context */
        stream = ids_stream(d->ids, placed ? ids_device_at(d->ids, p.device) : 0,
                            placed ? context : CELL_NULL, known ? number : CELL_NULL);
    struct wait_row row = {
        .start = w->time,
        .duration = w->duration,
        .call = p.call,
        .async = p.async,
        .stream = known ? stream : 0,
        .correlation = w->id,
        .scope = (int64_t)w->instance,
        .stack = stacking_row(d->writer, what->id),
        .thread = t->tid,
        .launches = (int64_t)p.launches,
        .bytes = p.sync ? CELL_NULL : what->time,
    };
    d->thread(d->arg, t->tid, t->name);
    writer_row(d->writer, RECORD_wait, (const int64_t *)&row);
    if (p.sync)
        write_sync(d, &row, stream, what->time);
}

static void take_join(struct scopes_drain *d, const struct thread_state *t, const struct slot *s)
{
    if (!s->instance)
        inherit_cancel(&d->inherit, s->id);
    joins_put(d->joins, &(struct join){.scope = s->instance,
                                       .correlation = s->id,
                                       .stack = stacking_row(d->writer, (uint32_t)s->stack),
                                       .thread = t->tid,
                                       .waiting = s->tag != LAUNCH_OTHER});
}

static void take_launch(struct scopes_drain *d, const struct thread_state *t, const struct slot *s)
{
    inherit_launch(&d->inherit, s->tick,
                   &(struct join){.correlation = s->id,
                                  .stack = stacking_row(d->writer, (uint32_t)s->instance),
                                  .thread = t->tid,
                                  .waiting = s->tag != LAUNCH_OTHER});
}

/* Writes a captured launch. Only this row gets the stack: kernels have stacks only if every launch
 * is captured. */
static void write_launch(struct scopes_drain *d, struct thread_state *t, const struct slot *s)
{
    bool summed = s->kind == SLOT_SUMMED;
    uint64_t own = summed ? (uint32_t)s->tag : s->tag;
    struct launch_row row = {
        .start = slot_ns(d, t, s),
        .own = own == LAUNCH_OWN_UNKNOWN ? CELL_NULL : tick_curve_length(&d->curve, own),
        .sum = summed ? tick_curve_length(&d->curve, s->tag >> 32) : CELL_NULL,
        .why = summed ? LAUNCH_SUM : LAUNCH_LONG,
        .correlation = s->id,
        .thread = t->tid,
        .stack = stacking_row(d->writer, (uint32_t)s->instance),
    };
    d->thread(d->arg, t->tid, t->name);
    writer_row(d->writer, RECORD_launch, (const int64_t *)&row);
}

/* If another thread has left a scope of this thread, the scope ends after the round: a mark between
 * that end and the end of the round still belongs to the scope. */
static void write_mark(struct scopes_drain *d, struct thread_state *t, const struct slot *s)
{
    struct mark_row row = mark_row_of(s->id, s->tag, s->instance);
    row.start = slot_ns(d, t, s);
    row.thread = t->tid;
    row.scope = (int64_t)innermost(t);
    d->thread(d->arg, t->tid, t->name);
    writer_row(d->writer, RECORD_mark, (const int64_t *)&row);
}

static void slot_take(struct scopes_drain *d, struct thread_state *t, const struct slot *s)
{
    switch ((enum slot_kind)s->kind) {
    case SLOT_BENCH:
    case SLOT_GRAPH:
    case SLOT_WAIT:
        t->prefix = *s;
        return;
    case SLOT_BEGIN:
        scope_begun(d, t, s);
        break;
    case SLOT_END:
        scope_ended(d, t, s);
        break;
    case SLOT_LEAVE:
        scope_abandoned(d, t, s);
        break;
    case SLOT_JOIN:
        take_join(d, t, s);
        break;
    case SLOT_LAUNCH:
        take_launch(d, t, s);
        break;
    case SLOT_LONG:
    case SLOT_SUMMED:
        write_launch(d, t, s);
        break;
    case SLOT_GRAPH_WHAT:
        write_graph(d, t, s);
        break;
    case SLOT_WAIT_WHAT:
        write_wait(d, t, s);
        break;
    case SLOT_MARK:
        write_mark(d, t, s);
        break;
    }
    t->prefix = (struct slot){.kind = SLOT_END};
}

/* Returns true if the program pushed the slot after the round began. A slot of the moment itself is
 * taken: the record of its launch may be in this round if the clock is slow or simulated. A slot
 * without a tick belongs to the slot before it. */
static bool is_later(const struct scopes_drain *d, const struct slot *s)
{
    bool ticks = s->kind == SLOT_BEGIN || s->kind == SLOT_END || s->kind == SLOT_LAUNCH ||
                 s->kind == SLOT_LEAVE || s->kind == SLOT_LONG || s->kind == SLOT_SUMMED ||
                 s->kind == SLOT_MARK;
    return ticks && s->tick > d->until;
}

static void ring_drain(struct scopes_drain *d, struct thread_state *t)
{
    uint32_t session = gate_session();
    if (t->seen_session != session) {
        t->seen_session = session;
        t->scope_count = 0;
        t->now = t->left = INT64_MIN;
        t->prefix = (struct slot){.kind = SLOT_END};
    }
    inherit_thread(&d->inherit, t->tid, innermost(t));
    uint64_t i = ring_tail(&t->ring);
    while (i < t->limit) {
        const struct slot *s = ring_at(&t->ring, i);
        bool ours = s->session == (uint16_t)session;
        if (ours && is_later(d, s))
            break;
        if (ours)
            slot_take(d, t, s);
        if (++i % GIVE_BACK == 0)
            ring_pop_to(&t->ring, i);
    }
    ring_pop_to(&t->ring, i);
}

/* Ends what is open on an ended thread, before its state is freed: the scopes never end. */
static void thread_bury(void *arg, struct thread_state *t)
{
    struct scopes_drain *d = arg;
    if (t->seen_session != gate_session())
        return;
    if (t->left > d->left || innermost(t))
        d->left = innermost(t) ? clock_mono() : t->left;
    while (t->scope_count > 0)
        scope_left(d, t);
}

uint64_t scopes_cover(const struct scopes_drain *d, int64_t start)
{
    const struct thread_state *only = NULL;
    uint64_t covers = 0;
    if (d->left >= start)
        return 0;
    for (const struct thread_state *t = threads_first(); t; t = t->next) {
        if (t->seen_session != gate_session() || (!innermost(t) && t->left < start))
            continue;
        if (only)
            return 0;
        only = t;
    }
    for (size_t i = 0; only && i < only->scope_count && only->scopes[i].start <= start; i++)
        covers = only->scopes[i].library ? covers : only->scopes[i].instance;
    return covers;
}

int64_t scopes_span(const struct scopes_drain *d, int64_t start, int64_t end)
{
    struct spans_answer a = {.start = start, .end = end};
    if (end > d->known)
        return CELL_NULL;
    spans_look(&d->spans, &a);
    for (const struct thread_state *t = threads_first(); t; t = t->next)
        for (size_t i = 0; t->seen_session == gate_session() && i < t->scope_count; i++)
            if (!t->scopes[i].library)
                spans_consider(&a, &(struct span){t->scopes[i].start, INT64_MAX,
                                                  t->scopes[i].instance, t->tid});
    return spans_covering(&d->spans, &a);
}

const char *scopes_open_name(void)
{
    const struct scope_seen *newest = NULL;
    for (const struct thread_state *t = threads_first(); t; t = t->next)
        if (t->seen_session == gate_session() && t->scope_count &&
            (!newest || t->scopes[t->scope_count - 1].start > newest->start))
            newest = &t->scopes[t->scope_count - 1];
    return newest ? intern_text(names_table(), newest->name, NULL) : "";
}

void scopes_begin_session(struct scopes_drain *d, int64_t shortest)
{
    d->left = d->known = INT64_MIN;
    spans_begin(&d->spans, shortest);
    tick_begin(&d->curve);
}

void scopes_drain_fini(struct scopes_drain *d)
{
    inherit_fini(&d->inherit);
    mem_free(d->afar);
    d->afar = NULL;
    d->afar_count = d->afar_cap = 0;
    mem_free(d->syncs);
    d->syncs = NULL;
    d->sync_count = d->sync_cap = 0;
}

void scopes_drain(struct scopes_drain *d, bool all)
{
    struct thread_state *first = threads_first(); /* later threads wait for the next round */
    d->known = all ? INT64_MAX : clock_mono();
    d->until = all ? UINT64_MAX : tick_now();
    for (struct thread_state *t = first; t; t = t->next)
        if (atomic_load_explicit(&t->has_ring, memory_order_acquire))
            t->limit = ring_head(&t->ring);
    tick_curve_mark(&d->curve);
    for (struct thread_state *t = first; t; t = t->next)
        if (t->limit > 0)
            ring_drain(d, t);
    afar_resolve(d);
    inherit_resolve(&d->inherit, d->joins);
    syncs_resolve(d);
    threads_reap(thread_bury, d);
}

void scopes_boundary(struct scopes_drain *d, bool all)
{
    for (struct thread_state *t = threads_first(); t; t = t->next) {
        if (t->seen_session != gate_session())
            continue;
        for (size_t i = 0; i < t->scope_count; i++) {
            struct scope_seen *s = &t->scopes[i];
            if (s->flushes >= WRITTEN)
                continue;
            s->flushes = all ? WRITTEN : s->flushes + 1;
            if (s->flushes >= WRITTEN)
                write_open(d, t, i);
        }
    }
}
