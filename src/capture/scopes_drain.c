/* scopes_drain.c - the collector's side of the rings: slots become rows.
 *
 * Begins and ends of a thread come in order, so a stack per thread pairs them.
 * Slots of an earlier session, pushed by a thread that passed the gate late, are
 * told by their number and dropped. */
#include "capture/scopes.h"

#include "base/alloc.h"
#include "capture/threads.h"

#include <stddef.h>

enum { WRITTEN = 2 }; /* flushes after which an open scope has its row */

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
    if (g->instance)
        joins_put(d->joins, g->id, g->instance, true);
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
                               .start = s->time,
                               .name = s->id,
                               .tag = s->tag};
    if (t->prefix.kind == SLOT_BENCH) {
        top->repeat = t->prefix.id;
        top->warmup = t->prefix.tag;
    }
    if (writer_wants_begins(d->writer)) {
        top->flushes = WRITTEN;
        write_open(d, t, t->scope_count - 1);
    }
}

/* The innermost one will never end. */
static void scope_left(struct scopes_drain *d, struct thread_state *t)
{
    if (t->scopes[--t->scope_count].flushes < WRITTEN)
        write_open(d, t, t->scope_count);
}

static void scope_ended(struct scopes_drain *d, struct thread_state *t, const struct slot *s)
{
    size_t at = t->scope_count;
    while (at > 0 && t->scopes[at - 1].instance != s->instance)
        at--;
    if (at == 0)
        return;                 /* its begin was lost here */
    while (t->scope_count > at) /* ends that never came: a signal handler was in between */
        scope_left(d, t);
    const struct scope_seen *top = &t->scopes[--t->scope_count];
    struct scope_row row = {
        .start = top->start,
        .duration = s->time - top->start,
        .instance = (int64_t)top->instance,
        .parent = (int64_t)top->parent,
        .name = top->name,
        .tag = top->tag,
        .thread = t->tid,
        .depth = (int64_t)t->scope_count,
        .repeat = top->repeat,
        .warmup = top->warmup,
    };
    d->thread(d->arg, t->tid, t->name);
    writer_row(d->writer, RECORD_scope, (const int64_t *)&row);
}

static void slot_take(struct scopes_drain *d, struct thread_state *t, const struct slot *s)
{
    switch ((enum slot_kind)s->kind) {
    case SLOT_BENCH:
    case SLOT_GRAPH:
        t->prefix = *s;
        return;
    case SLOT_BEGIN:
        scope_begun(d, t, s);
        break;
    case SLOT_END:
        scope_ended(d, t, s);
        break;
    case SLOT_JOIN:
        joins_put(d->joins, s->id, s->instance, s->tag != LAUNCH_OTHER);
        break;
    case SLOT_GRAPH_WHAT:
        write_graph(d, t, s);
        break;
    }
    t->prefix = (struct slot){.kind = SLOT_END};
}

/* What was in the ring when this began: a busy thread does not hold the collector here. */
static void ring_drain(struct scopes_drain *d, struct thread_state *t)
{
    uint32_t session = gate_session();
    const struct slot *s;
    if (t->seen_session != session) {
        t->seen_session = session;
        t->scope_count = 0;
        t->prefix = (struct slot){.kind = SLOT_END};
    }
    for (uint32_t n = RING_SLOTS; n > 0 && (s = ring_peek(&t->ring)); n--) {
        if (s->session == (session & 0xffffff))
            slot_take(d, t, s);
        ring_pop(&t->ring);
    }
}

/* The thread ended inside scopes: they never end. */
static void thread_bury(void *arg, struct thread_state *t)
{
    struct scopes_drain *d = arg;
    if (t->seen_session != gate_session())
        return;
    while (t->scope_count > 0)
        scope_left(d, t);
}

void scopes_drain(struct scopes_drain *d)
{
    for (struct thread_state *t = threads_first(); t; t = t->next)
        if (atomic_load_explicit(&t->has_ring, memory_order_acquire))
            ring_drain(d, t);
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
