/* scopes.c - the producer's side: see scopes.h. The collector's is scopes_drain.c.
 *
 * Cost of a scope: two clock readings, two slots of 32 bytes. The name is found
 * in a cache of the thread, keyed by the pointer and compared by content. */
#include "capture/scopes.h"

#include "base/clock.h"
#include "capture/collector.h"
#include "capture/names.h"
#include "capture/threads.h"

#include <string.h>

enum {
    NAMES_MOST = 100000,      /* texts in the table at which new scope names become "(other)" */
    AHEAD = 16,               /* slots */
    WAKE_AT = RING_SLOTS / 4, /* slots in a ring at which the collector is woken */
};

/* ---- names ---------------------------------------------------------------------------------- */

static uint32_t name_slow(struct name_cached *c, const char *text)
{
    size_t len = strlen(text);
    struct intern *names = names_table();
    uint32_t id = intern_count(names) < NAMES_MOST ? intern_id(names, text, len)
                                                   : intern_find(names, text, len);
    if (!id)
        return intern_str(names, len ? "(other)" : "(unnamed)");
    *c = (struct name_cached){text, intern_text(names, id, NULL), id};
    if (strcmp(c->text, text) != 0)
        c->given = NULL; /* it stands for another one: "(other)" */
    return id;
}

static inline uint32_t name_id(struct thread_state *t, const char *text)
{
    uintptr_t key = (uintptr_t)text;
    struct name_cached *c = &t->names[(key ^ key >> 6) & (NAME_CACHE - 1)];
    if (__builtin_expect(c->given == text && strcmp(c->text, text) == 0, 1))
        return c->id;
    return name_slow(c, text);
}

/* ---- slots ---------------------------------------------------------------------------------- */

/* ring_push, with the size of a slot known to the compiler; room was made sure of. */
static inline void slot_push(struct thread_state *t, struct slot *s)
{
    struct ring *r = &t->ring;
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    s->session = atomic_load_explicit(&t->session, memory_order_relaxed);
    memcpy(r->slots + (size_t)(head & (RING_SLOTS - 1)) * sizeof *s, s, sizeof *s);
    /* The collector has read the lines ahead: fetching them back early hides the way. */
    __builtin_prefetch(r->slots + (size_t)((head + AHEAD) & (RING_SLOTS - 1)) * sizeof *s, 1);
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

/* Is there room for n slots beside the ends of the open scopes? Wakes the collector in time. */
static inline bool slots_room(struct thread_state *t, uint32_t n)
{
    uint32_t need = n + atomic_load_explicit(&t->depth, memory_order_relaxed);
    uint32_t room = ring_room(&t->ring, RING_SLOTS - WAKE_AT);
    if (__builtin_expect(room < RING_SLOTS - WAKE_AT, 0))
        collector_wake();
    return room >= need;
}

static inline uint64_t next_instance(struct thread_state *t)
{
    if (t->next_instance == t->last_instance) {
        t->next_instance = threads_instances(INSTANCE_BLOCK);
        t->last_instance = t->next_instance + INSTANCE_BLOCK;
    }
    return t->next_instance++;
}

/* ---- scopes --------------------------------------------------------------------------------- */

uint64_t scopes_begin(const char *name, const char *tag, uint32_t repeat, uint32_t warmup)
{
    struct thread_state *t = thread_self();
    if (!t) {
        atomic_fetch_add_explicit(&threads_orphans.scopes_opened, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&threads_orphans.scopes_lost, 1, memory_order_relaxed);
        return 0;
    }
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    counter_add(&t->counters.scopes_opened, 1);
    bool bench = repeat || warmup;
    if (!threads_ring(t) || (depth == t->open_cap && !threads_open_grow(t)) ||
        !slots_room(t, 2 + bench)) {
        counter_add(&t->counters.scopes_lost, 1);
        return 0;
    }
    struct slot s = {.kind = SLOT_BENCH, .id = repeat, .tag = warmup};
    if (bench)
        slot_push(t, &s);
    s = (struct slot){.kind = SLOT_BEGIN,
                      .id = name_id(t, name ? name : ""),
                      .instance = next_instance(t),
                      .tag = tag && *tag ? name_id(t, tag) : 0};
    t->open[depth] = s.instance;
    atomic_store_explicit(&t->depth, depth + 1, memory_order_relaxed);
    s.time = clock_mono(); /* last: our own work is outside */
    slot_push(t, &s);
    return s.instance;
}

void scopes_end(uint64_t handle)
{
    int64_t now = clock_mono(); /* first */
    struct thread_state *t = thread_here;
    if (!t || atomic_load_explicit(&t->session, memory_order_relaxed) != gate_session())
        return;
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed), at = depth;
    while (at > 0 && t->open[at - 1] != handle)
        at--;
    if (at == 0)
        return; /* another thread's, or closed before */
    while (depth >= at) {
        struct slot s = {.kind = SLOT_END, .instance = t->open[--depth], .time = now};
        slot_push(t, &s);
    }
    atomic_store_explicit(&t->depth, depth, memory_order_relaxed);
    slots_room(t, 0);
}

/* ---- launches ------------------------------------------------------------------------------- */

bool scopes_inside(void)
{
    struct thread_state *t = thread_here;
    return t && gate_is_on() &&
           atomic_load_explicit(&t->session, memory_order_relaxed) == gate_session() &&
           atomic_load_explicit(&t->depth, memory_order_relaxed) > 0;
}

/* times: 1, or -1 to take back what failed (counters are modulo 2^64). */
static inline void count_graph(struct thread_counters *c, const struct launch *l, int64_t times)
{
    counter_add(&c->graph_launches, (uint64_t)times);
    if (l->kernels == CELL_NULL)
        counter_add(&c->graph_unknown, (uint64_t)times);
    else
        counter_add(&c->graph_kernels, (uint64_t)(times * l->kernels));
}

static inline void count_launch(struct thread_counters *c, const struct launch *l)
{
    if (l->kind == LAUNCH_KERNEL)
        counter_add(&c->launches, 1);
    else if (l->kind == LAUNCH_GRAPH)
        count_graph(c, l, 1);
    else if (l->kind == LAUNCH_FAILED && l->graph)
        count_graph(c, l, -1);
    else if (l->kind == LAUNCH_FAILED)
        counter_add(&c->launches, UINT64_MAX);
}

/* A graph launch whose row was asked for: two slots. */
static bool push_graph(struct thread_state *t, const struct launch *l, uint64_t scope)
{
    if (!threads_ring(t) || !slots_room(t, 2))
        return false;
    struct slot s = {.kind = SLOT_GRAPH,
                     .id = l->correlation,
                     .instance = scope,
                     .time = l->start,
                     .duration = l->duration};
    slot_push(t, &s);
    s = (struct slot){.kind = SLOT_GRAPH_WHAT, .instance = (uint64_t)l->graph, .time = l->kernels};
    slot_push(t, &s);
    return true;
}

static bool push_join(struct thread_state *t, const struct launch *l, uint64_t scope)
{
    if (!slots_room(t, 1))
        return false;
    struct slot s = {
        .kind = SLOT_JOIN, .id = l->correlation, .instance = scope, .tag = (uint32_t)l->kind};
    slot_push(t, &s);
    return true;
}

void scopes_launch(const struct launch *l)
{
    if (!gate_is_on())
        return;
    struct thread_state *t = thread_self();
    if (!t) { /* rare enough that threads may share a counter, and lose a step of it */
        count_launch(&threads_orphans, l);
        return;
    }
    count_launch(&t->counters, l);
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    bool row = l->start != 0 && (l->kind == LAUNCH_GRAPH || l->kind == LAUNCH_GRAPH_END);
    if ((depth == 0 && !row) || atomic_load_explicit(&capture_gate.floor, memory_order_relaxed))
        return;
    uint64_t scope = depth ? t->open[depth - 1] : 0;
    if (l->kind == LAUNCH_FAILED) /* no record will come: nothing to join, nothing lost */
        (void)push_join(t, &(struct launch){.kind = LAUNCH_OTHER, .correlation = l->correlation},
                        0);
    else if (!(row ? push_graph(t, l, scope) : push_join(t, l, scope)) && l->kind != LAUNCH_OTHER)
        counter_add(&t->counters.joins_lost, 1);
}
