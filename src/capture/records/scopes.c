/* scopes.c - is the producer's side of scopes.h; the collector's side is scopes_drain.c.
 *
 * When a thread ends its own scope, the scopes inside it end, too. A scope that is left (an NVTX
 * range) ends alone, and any thread may leave it; the scope's own thread notices that before its
 * next scope event.
 *
 * Cost of a scope: two readings of tick.h's clock, two slots of 32 bytes. The name is
 * found in a cache of the thread, keyed by the pointer and compared by content. */
#include "capture/records/scopes.h"

#include "base/tick.h"
#include "capture/records/captures.h"
#include "capture/records/slots.h"
#include "capture/records/uncounted.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/names.h"
#include "capture/threads/threads.h"
#include "capture/windows/windows.h"

#include <string.h>

enum {
    NAMES_MOST = 100000, /* texts in the table at which new scope names become "(other)" */
    MARK_NAMES_MOST = NAMES_MOST / 2, /* the limit for marks, which often have a name each */
    AFAR = 1024,                      /* the last scopes that other threads ended, a power of two */
};

/* ---- names ---------------------------------------------------------------------------------- */

/* Finds a name that the thread's cache lacks. The table takes new names up to `most` texts. */
static uint32_t name_slow(struct thread_state *t, struct name_cached *c, const char *given,
                          const char *text, size_t len, uint32_t most)
{
    struct intern *names = names_table();
    uint32_t id =
        intern_count(names) < most ? intern_id(names, text, len) : intern_find(names, text, len);
    if (!id) {
        counter_add(&t->counters.names_other, len != 0);
        return intern_str(names, len ? "(other)" : "(unnamed)");
    }
    *c = (struct name_cached){given, intern_text(names, id, NULL), id};
    if (strncmp(c->text, text, len) != 0 || c->text[len]) {
        counter_add(&t->counters.names_other, 1);
        c->given = NULL; /* not cached: the id is that of "(other)" */
    }
    return id;
}

static inline uint32_t name_id(struct thread_state *t, const char *text)
{
    uintptr_t key = (uintptr_t)text;
    struct name_cached *c = &t->names[(key ^ key >> 6) & (NAME_CACHE - 1)];
    if (__builtin_expect(c->given == text && strcmp(c->text, text) == 0, 1))
        return c->id;
    return name_slow(t, c, text, text, strlen(text), NAMES_MOST);
}

/* Finds the name of a text that comes from another address each time: its length and its ends
 * choose the cache entry. */
static inline uint32_t name_of_text(struct thread_state *t, const char *text, size_t len,
                                    uint32_t most)
{
    uint64_t ends[2] = {0, 0};
    size_t n = len < sizeof ends[0] ? len : sizeof ends[0];
    memcpy(&ends[0], text, n);
    memcpy(&ends[1], text + len - n, n);
    uint64_t hash = (ends[0] ^ len << 56) * 0x9E3779B97F4A7C15u + ends[1];
    hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u | 1;
    const char *given = (const char *)(uintptr_t)hash; /* odd and large: no text's address */
    struct name_cached *c = &t->names[hash >> 40 & (NAME_CACHE - 1)];
    if (c->given == given && strncmp(c->text, text, len) == 0 && !c->text[len])
        return c->id;
    return name_slow(t, c, given, text, len, most);
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

/* Points to the receiver of outermost scopes. It is written before capture_gate.ranged, which is
 * released, and read after that. A thread that comes late finds the receiver of the session
 * before. */
static _Atomic(trace_range_fn *) range_fn;
static _Atomic(struct trace *) range_trace;
static _Atomic(const char *) range_inner; /* why inner scopes are not counted */

void scopes_ranges(trace_range_fn *range, struct trace *t, bool scopes)
{
    if (range) {
        uncounted_begin();
        atomic_store_explicit(&range_inner, scopes ? "inside another scope" : NULL,
                              memory_order_relaxed);
        atomic_store_explicit(&range_fn, range, memory_order_relaxed);
        atomic_store_explicit(&range_trace, t, memory_order_relaxed);
    }
    atomic_store_explicit(&capture_gate.ranged, range != NULL, memory_order_release);
}

static inline bool ranged(void)
{
    return __builtin_expect(atomic_load_explicit(&capture_gate.ranged, memory_order_acquire), 0);
}

/* Reports to the receiver. Returns why the scope is not counted; NULL: it is, or there is no
 * receiver. */
static inline const char *report_range(uint64_t instance, enum range_moment moment,
                                       uint32_t repeats, uint32_t name)
{
    if (!ranged())
        return NULL;
    return atomic_load_explicit(&range_fn, memory_order_relaxed)(
        atomic_load_explicit(&range_trace, memory_order_relaxed), instance, moment, repeats, name);
}

/* Reports the begin of a scope to hardware counters, which count outermost scopes; notes why a
 * scope is not counted. */
static void range_begins(struct thread_state *t, uint64_t instance, uint32_t name, bool is,
                         uint32_t repeats)
{
    const char *why = is ? report_range(instance, RANGE_BEGINS, repeats, name)
                         : atomic_load_explicit(&range_inner, memory_order_relaxed);
    if (why)
        uncounted_note(name, why);
    if (is)
        t->range_name = name;
}

static void range_ends(const struct thread_state *t, uint64_t instance)
{
    const char *why = report_range(instance, RANGE_ENDS, 0, t->range_name);
    if (why)
        uncounted_note(t->range_name, why);
}

void scopes_settle(void)
{
    (void)report_range(0, RANGE_SETTLES, 0, 0);
}

/* Holds the scopes that other threads ended: their number, and the last of them. A writer takes a
 * number, then fills its cell: handle, then number + 1 (release; readers acquire). */
static _Atomic uint64_t afar_count;
static struct {
    _Atomic uint64_t number, handle;
} afar[AFAR];

static uint32_t find_open(const struct thread_state *t, uint64_t handle)
{
    uint32_t at = atomic_load_explicit(&t->depth, memory_order_relaxed);
    while (at > 0 && t->open[at - 1] != handle)
        at--;
    return at; /* its index + 1; 0: not open on this thread */
}

/* The outermost scope with that name on a thread opens a window for as long as it lasts. */
static __attribute__((noinline)) void window_begin(struct thread_state *t, uint64_t instance)
{
    if (t->window_scope)
        return;
    t->window_scope = instance;
    windows_scope_switch(true, instance);
}

static __attribute__((noinline)) void window_end(struct thread_state *t)
{
    uint64_t instance = t->window_scope;
    t->window_scope = 0;
    windows_scope_switch(false, instance);
}

void scopes_thread_ends(struct thread_state *t)
{
    if (t->window_scope &&
        atomic_load_explicit(&t->session, memory_order_relaxed) == gate_session())
        windows_scope_switch(false, t->window_scope);
    t->window_scope = 0;
}

/* Returns true for a range: an outermost scope, or one that has opened a window. */
static inline bool is_range(const struct thread_state *t, uint64_t instance, uint32_t place)
{
    return place == 1 || t->window_scope == instance;
}

static void take_out(struct thread_state *t, uint32_t at)
{
    uint64_t instance = t->open[at - 1];
    if (is_range(t, instance, at))
        range_ends(t, instance); /* before its window is closed */
    if (__builtin_expect(t->window_scope == instance, 0))
        window_end(t);
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed) - 1;
    memmove(&t->open[at - 1], &t->open[at], (depth + 1 - at) * sizeof t->open[0]);
    atomic_store_explicit(&t->depth, depth, memory_order_relaxed);
}

static void afar_slow(struct thread_state *t, uint64_t count)
{
    if (count - t->left_seen > AFAR)
        t->left_seen = count - AFAR;
    for (; t->left_seen < count; t->left_seen++) {
        size_t i = t->left_seen % AFAR;
        uint64_t number = atomic_load_explicit(&afar[i].number, memory_order_acquire);
        if (number < t->left_seen + 1)
            return; /* the cell is being written; it is read next time */
        uint64_t handle = atomic_load_explicit(&afar[i].handle, memory_order_relaxed);
        uint32_t at = find_open(t, handle);
        if (at)
            take_out(t, at);
    }
}

/* Closes the scopes of this thread that other threads ended. */
static inline void afar_take(struct thread_state *t)
{
    uint64_t count = atomic_load_explicit(&afar_count, memory_order_relaxed);
    if (__builtin_expect(count != t->left_seen, 0))
        afar_slow(t, count);
}

static void scope_orphan(void)
{
    atomic_fetch_add_explicit(&threads_orphans.scopes_opened, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&threads_orphans.scopes_lost, 1, memory_order_relaxed);
}

static inline uint64_t begin(struct thread_state *t, uint32_t name, uint32_t tag, uint32_t repeat,
                             uint32_t warmup, bool as_range)
{
    afar_take(t);
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    counter_add(&t->counters.scopes_opened, 1);
    bool bench = repeat || warmup;
    if (!threads_ring(t) || (depth == t->open_cap && !threads_open_grow(t)) ||
        !slots_room(t, 2 + bench)) {
        counter_add(&t->counters.scopes_lost, 1);
        return 0;
    }
    if (bench)
        slot_push(t, SLOT_BENCH, repeat, 0, 0, warmup);
    uint64_t instance = next_instance(t);
    if (__builtin_expect(!atomic_load_explicit(&capture_gate.scoped, memory_order_relaxed), 0))
        atomic_store_explicit(&capture_gate.scoped, true, memory_order_relaxed);
    t->open[depth] = instance;
    atomic_store_explicit(&t->depth, depth + 1, memory_order_relaxed);
    uint32_t wanted = atomic_load_explicit(&windows_scope, memory_order_relaxed);
    if (__builtin_expect(wanted && (wanted == name || wanted == WINDOWS_ANY_SCOPE), 0))
        window_begin(t, instance);
    if (ranged())
        range_begins(t, instance, name, is_range(t, instance, depth + 1), as_range ? repeat : 0);
    slot_push(t, SLOT_BEGIN, name, instance, tick_now(), tag); /* last: our work is not counted */
    return instance;
}

static uint64_t begin_named(const char *name, const char *tag, uint32_t repeat, uint32_t warmup,
                            bool repeated)
{
    struct thread_state *t = thread_self();
    if (t)
        return begin(t, name_id(t, name ? name : ""), tag && *tag ? name_id(t, tag) : 0, repeat,
                     warmup, repeated);
    scope_orphan();
    return 0;
}

uint64_t scopes_begin(const char *name, const char *tag, uint32_t repeat, uint32_t warmup)
{
    return begin_named(name, tag, repeat, warmup, false);
}

uint64_t scopes_begin_repeated(const char *name, const char *tag, uint32_t repeat, uint32_t warmup)
{
    return begin_named(name, tag, repeat, warmup, true);
}

void scopes_repetition(uint64_t handle)
{
    struct thread_state *t = thread_here;
    if (t && is_range(t, handle, find_open(t, handle)))
        (void)report_range(handle, RANGE_REPEATS, 0, 0);
}

uint64_t scopes_begin_text(const char *name, size_t length, const char *tag)
{
    struct thread_state *t = thread_self();
    if (t)
        return begin(t, name_of_text(t, name, length, NAMES_MOST), tag ? name_id(t, tag) : 0, 0, 0,
                     false);
    scope_orphan();
    return 0;
}

void scopes_end(uint64_t handle)
{
    uint64_t now = tick_now(); /* first */
    struct thread_state *t = thread_here;
    if (!t || atomic_load_explicit(&t->session, memory_order_relaxed) != gate_session())
        return;
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    uint32_t at = find_open(t, handle);
    if (at == 0)
        return; /* another thread's, or closed before */
    while (depth >= at)
        slot_push(t, SLOT_END, 0, t->open[--depth], now, 0);
    atomic_store_explicit(&t->depth, depth, memory_order_relaxed);
    if (__builtin_expect(t->window_scope >= handle, 0)) { /* inner scopes have higher numbers */
        range_ends(t, t->window_scope);
        window_end(t);
    }
    if (depth == 0)
        range_ends(t, t->open[0]);
    slots_room(t, 0);
}

/* Passes the end of a scope that is not open here to the thread that has it. */
static void leave_afar(struct thread_state *t, uint64_t handle, uint64_t now)
{
    if (!threads_ring(t) || !slots_room(t, 1))
        return; /* it stays open: written as such */
    slot_push(t, SLOT_LEAVE, 0, handle, now, 0);
    uint64_t number = atomic_fetch_add_explicit(&afar_count, 1, memory_order_relaxed);
    atomic_store_explicit(&afar[number % AFAR].handle, handle, memory_order_relaxed);
    atomic_store_explicit(&afar[number % AFAR].number, number + 1, memory_order_release);
}

void scopes_leave(uint64_t handle)
{
    uint64_t now = tick_now(); /* first */
    struct thread_state *t = thread_self();
    if (!t)
        return;
    uint32_t at = find_open(t, handle);
    if (__builtin_expect(!at, 0)) {
        leave_afar(t, handle, now);
        return;
    }
    slot_push(t, SLOT_LEAVE, 0, handle, now, 0);
    take_out(t, at);
    slots_room(t, 0);
}

/* ---- marks ---------------------------------------------------------------------------------- */

void scopes_mark(const struct marked *m)
{
    uint64_t now = tick_now(); /* first */
    struct thread_state *t = thread_self();
    if (!t) {
        atomic_fetch_add_explicit(&threads_orphans.marks_lost, 1, memory_order_relaxed);
        return;
    }
    if (!threads_ring(t) || !slots_room(t, 1)) {
        counter_add(&t->counters.marks_lost, 1);
        return;
    }
    uint32_t name = name_of_text(t, m->name, m->length, MARK_NAMES_MOST);
    counter_add(&t->counters.marks_recorded, 1);
    slot_push(t, SLOT_MARK, name, m->payload, now, mark_pack(m->kind, name_id(t, m->tag)));
}

/* ---- launches ------------------------------------------------------------------------------- */

/* Returns true if a launch can belong to a scope. A thread without a scope may inherit
 * another's. */
bool scopes_inside(void)
{
    return gate_is_on() && atomic_load_explicit(&capture_gate.scoped, memory_order_relaxed);
}

/* Counts a launch of a graph and its kernels. times: 1, or -1 to take back what failed (counters
 * are modulo 2^64). */
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
    else if (l->kind == LAUNCH_OUTSIDE)
        counter_add(&c->launches_outside, 1);
    else if (l->kind >= LAUNCH_FAILED && l->graph)
        count_graph(c, l, -1);
    else if (l->kind >= LAUNCH_FAILED)
        counter_add(&c->launches, UINT64_MAX);
    if (l->kind == LAUNCH_UNSURE)
        counter_add(&c->launches_outside, 1);
}

/* Pushes a graph launch whose row was asked for: two slots. */
static bool push_graph(struct thread_state *t, const struct launch *l, uint64_t scope)
{
    if (!threads_ring(t) || !slots_room(t, 2))
        return false;
    slot_push(t, SLOT_GRAPH, l->correlation, scope, (uint64_t)l->start, (uint64_t)l->duration);
    slot_push(t, SLOT_GRAPH_WHAT, 0, (uint64_t)l->graph, (uint64_t)l->kernels, 0);
    return true;
}

/* Returns true if a record will certainly come, so that a launch whose scope is not known is a
 * loss. */
static inline bool has_record(const struct launch *l)
{
    return l->kind != LAUNCH_OTHER && l->kind != LAUNCH_OUTSIDE;
}

static bool push_join(struct thread_state *t, const struct launch *l, uint64_t scope,
                      uint32_t stack)
{
    uint64_t tag = has_record(l) ? (uint64_t)l->kind : LAUNCH_OTHER;
    if (!threads_ring(t) || !slots_room(t, 1))
        return false;
    if (scope || !atomic_load_explicit(&capture_gate.scoped, memory_order_relaxed))
        slot_push(t, SLOT_JOIN, l->correlation, scope, stack, tag);
    else
        slot_push(t, SLOT_LAUNCH, l->correlation, stack, tick_now(), tag);
    return true;
}

/* Returns the stack of a launch that will have a record, in sessions with stacks at launches: at
 * all of them, or at some, which have it for their own row. */
static __attribute__((noinline)) uint32_t launch_stack(struct thread_state *t,
                                                       const struct launch *l)
{
    uint32_t captured = captures_on() ? captures_look(t, l) : 0;
    if (!stacking_at_launches() || l->kind > LAUNCH_OTHER || l->stack)
        return l->stack;
    uint32_t stack = captured ? captured : stacking_capture(t);
    if (captures_on())
        launch_rule_left(&t->rule, tick_now()); /* the time of the capture is not the program's */
    return stack;
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
    if (__builtin_expect(l->kind == LAUNCH_UNSURE, 0))
        return;
    afar_take(t);
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    bool row = l->start != 0 && (l->kind == LAUNCH_GRAPH || l->kind == LAUNCH_GRAPH_END);
    uint32_t stack = l->stack;
    if (__builtin_expect(stacking_wants() > STACKING_WAITS, 0))
        stack = launch_stack(t, l);
    bool scoped = depth || atomic_load_explicit(&capture_gate.scoped, memory_order_relaxed);
    if ((!scoped && !row && !stack) ||
        atomic_load_explicit(&capture_gate.floor, memory_order_relaxed))
        return;
    uint64_t scope = depth ? t->open[depth - 1] : 0;
    if (l->kind == LAUNCH_FAILED) { /* no record will come: nothing to join, nothing lost */
        if (threads_ring(t) && slots_room(t, 1))
            slot_push(t, SLOT_JOIN, l->correlation, 0, 0, LAUNCH_OTHER);
    } else if (!(row ? push_graph(t, l, scope) : push_join(t, l, scope, stack)) && has_record(l))
        counter_add(&t->counters.joins_lost, 1);
}

static __attribute__((noinline)) void kernel_captured(struct thread_state *t, uint32_t correlation,
                                                      uint64_t now)
{
    captures_take(t, &(struct launch){.kind = LAUNCH_KERNEL, .correlation = correlation}, now);
}

static __attribute__((noinline)) void kernel_looked_at(struct thread_state *t, uint32_t correlation)
{
    uint64_t now = tick_now();
    counter_add(&t->counters.launches, 1);
    if (!launch_rule_quiet(&t->rule, now))
        kernel_captured(t, correlation, now);
}

static __attribute__((noinline)) void kernel_as_any(uint32_t correlation)
{
    scopes_launch(
        &(struct launch){.kind = LAUNCH_KERNEL, .correlation = correlation, .kernels = 1});
}

/* This is the way of nearly all launches of programs without scopes: only their number is kept, and
 * whether they are captured is looked at. What is rarer stays out of line. */
void scopes_kernel(uint32_t correlation)
{
    struct thread_state *t = thread_here;
    bool plain = gate_is_on() && t &&
                 atomic_load_explicit(&t->session, memory_order_relaxed) == gate_session() &&
                 !atomic_load_explicit(&capture_gate.scoped, memory_order_relaxed);
    if (__builtin_expect(plain && stacking_wants() <= STACKING_WAITS, 1))
        counter_add(&t->counters.launches, 1);
    else if (plain && !stacking_at_launches())
        kernel_looked_at(t, correlation);
    else
        kernel_as_any(correlation);
}

/* ---- waits ---------------------------------------------------------------------------------- */

void scopes_wait(const struct wait *w)
{
    if (!gate_is_on() || atomic_load_explicit(&capture_gate.floor, memory_order_relaxed))
        return;
    struct thread_state *t = thread_self();
    if (!t) {
        atomic_fetch_add_explicit(&threads_orphans.waits_lost, 1, memory_order_relaxed);
        return;
    }
    if (captures_on())
        captures_waited(t, w->start + w->duration);
    if (!threads_ring(t) || !slots_room(t, 2)) {
        counter_add(&t->counters.waits_lost, 1);
        return;
    }
    afar_take(t);
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    struct wait_packed p = {
        .call = w->call,
        .async = w->async,
        .sync = w->sync,
        .device = w->device,
        .launches = atomic_load_explicit(&t->counters.launches, memory_order_relaxed) +
                    atomic_load_explicit(&t->counters.graph_launches, memory_order_relaxed) +
                    atomic_load_explicit(&t->counters.launches_outside, memory_order_relaxed)};
    counter_add(&t->counters.waits_recorded, 1);
    slot_push(t, SLOT_WAIT, w->correlation, depth ? t->open[depth - 1] : 0, (uint64_t)w->start,
              (uint64_t)w->duration);
    slot_push(t, SLOT_WAIT_WHAT, w->stack, (uint64_t)w->context << 32 | w->stream,
              (uint64_t)(w->sync ? w->event : w->bytes), wait_pack(p));
}
