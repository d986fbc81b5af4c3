/* stack.c - captures stacks: walks, joins, looks up; opens, and refreshes at every flush.
 *
 * The memory for a walk (frames and items, some tens of KB) is not on the program's stack, which
 * may be small, but in a seat that a capture takes and gives back. There are as many seats as there
 * ever were captures at the same time, up to a limit; none is freed. A capture inside another one,
 * from a signal handler, takes a second seat. A seat is taken with one atomic exchange (acquire,
 * partner: release when given back).
 *
 * A seat remembers its last capture: an equal one, as in a loop, needs no look-up. Counters are in
 * the seat, written by its holder. */
#include "stack/stack.h"

#include "base/alloc.h"
#include "stack/arena.h"
#include "stack/common/safe.h"
#include "stack/join.h"
#include "stack/native/cfi.h"
#include "stack/native/modules.h"
#include "stack/native/rows.h"
#include "stack/native/unwind.h"
#include "stack/python/python.h"
#include "stack/simulated.h"
#include "stack/stack_table.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { SEATS = 256 }; /* captures at the same time */

struct seat {
    atomic_bool taken;
    _Atomic uint64_t captured, lost, cut; /* written by the holder */
    uint64_t mark; /* [collector] the value of captured when it began to wait for the holder */
    struct unwind native;
    struct python_frame python[2][STACK_DEPTH];
    unsigned python_current; /* which of the two holds those of the last capture */
    size_t pythons;          /* of the last capture */
    const void *from;        /* of the last capture */
    uint32_t id;             /* of the last capture; 0: there is none */
    struct join_item items[STACK_DEPTH + 1];
    uint16_t sources[STACK_DEPTH + 1];
};

/* Holds what is noted of the one thread that walks other threads' stacks, which needs no seat. */
static struct {
    atomic_bool inside;
    _Atomic uint64_t walks; /* written by that thread */
    uint64_t mark;          /* as in struct seat */
} guest;

enum { CLOSED, OPENING, OPEN };

static _Atomic int opened; /* release at OPEN, partner: acquire in stacks_capture */
static atomic_bool python_wanted, python_found;

static _Atomic(struct seat *) seats[SEATS];
static _Atomic uint32_t seats_count; /* numbers given out; may pass SEATS */
static _Atomic uint64_t seatless;    /* captures lost for lack of a seat */

/* Holds the seat that this thread used last. */
static __thread uint32_t seat_hint __attribute__((tls_model("initial-exec")));

static __attribute__((noinline, cold)) struct seat *seat_make(void)
{
    if (atomic_load_explicit(&seats_count, memory_order_relaxed) >= SEATS)
        return NULL;
    struct seat *s = mem_zalloc(sizeof *s);
    if (!s)
        return NULL;
    atomic_store_explicit(&s->taken, true, memory_order_relaxed);
    uint32_t i = atomic_fetch_add_explicit(&seats_count, 1, memory_order_relaxed);
    if (i >= SEATS) {
        mem_free(s);
        return NULL;
    }
    atomic_store_explicit(&seats[i], s, memory_order_release);
    seat_hint = i;
    return s;
}

static uint32_t seats_made(void)
{
    uint32_t n = atomic_load_explicit(&seats_count, memory_order_relaxed);
    return n < SEATS ? n : SEATS;
}

static inline struct seat *seat_take(void)
{
    uint32_t n = seats_made();
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = (seat_hint + i) % n;
        struct seat *s = atomic_load_explicit(&seats[at], memory_order_acquire);
        if (s && !atomic_load_explicit(&s->taken, memory_order_relaxed) &&
            !atomic_exchange_explicit(&s->taken, true, memory_order_acquire)) {
            seat_hint = at;
            return s;
        }
    }
    return seat_make();
}

static inline void seat_count(_Atomic uint64_t *counter)
{
    uint64_t n = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n + 1, memory_order_relaxed);
}

/* Finds the loop's function, if its name is exported. */
static void stacks_look_for_loop(void)
{
    uintptr_t begin = 0, end = 0, at = (uintptr_t)dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
    const struct module *m = modules_get(modules_find(at));
    if (m && cfi_range(m, at, &begin, &end))
        join_loop_at(begin, end);
}

static void stacks_look_for_python(void)
{
    if (!atomic_load_explicit(&python_wanted, memory_order_relaxed) ||
        atomic_load_explicit(&python_found, memory_order_relaxed) || !python_find())
        return;
    stacks_look_for_loop();
    rows_clear(); /* only now is it known which addresses belong to the interpreter */
    atomic_store_explicit(&python_found, true, memory_order_release);
}

int stacks_open(bool python, struct err *e)
{
    int was = CLOSED;
    if (python)
        atomic_store_explicit(&python_wanted, true, memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&opened, &was, OPENING, memory_order_acquire,
                                                 memory_order_acquire))
        return 0;
    struct seat *s = seats_made() ? seat_take() : seat_make();
    if (!s || arena_open() != 0) {
        if (s)
            atomic_store_explicit(&s->taken, false, memory_order_release);
        atomic_store_explicit(&opened, CLOSED, memory_order_release);
        return err_nomem(e);
    }
    atomic_store_explicit(&s->taken, false, memory_order_release);
    modules_open(false);
    modules_describe_loaded();
    stacks_look_for_python();
    atomic_store_explicit(&opened, OPEN, memory_order_release);
    return 0;
}

/* Returns true if this capture, as far as it was walked, equals the seat's last one. */
static inline bool seat_again(const struct seat *s, const struct join_walk *walk, const void *from)
{
    if (!s->native.same || !s->id || s->from != from || s->pythons != walk->pythons)
        return false;
    const struct python_frame *last = s->python[s->python_current];
    for (size_t i = 0; i < walk->pythons; i++)
        if (last[i].key != walk->python[i].key || last[i].place != walk->python[i].place ||
            last[i].native != walk->python[i].native)
            return false;
    return true;
}

/* Returns true if the walk ended in a module that got no slot. */
static __attribute__((noinline, cold)) bool stacks_is_cut(const struct unwind *u)
{
    const struct unwind_frame *last = u->n ? &u->frames[u->n - 1] : NULL;
    return modules_are_full() && last && !last->row.module && !modules_is(0, last->at);
}

static inline uint32_t stacks_capture_in(struct seat *s, const struct cpu_regs *regs,
                                         const void *from)
{
    struct join_walk walk = {.python = s->python[!s->python_current]};
    unwind_walk(&s->native, regs);
    walk.native = s->native.frames;
    walk.natives = s->native.n;
    walk.end = s->native.end;
    if (__builtin_expect(walk.end == UNWIND_LOST, 0) && stacks_is_cut(&s->native))
        seat_count(&s->cut);
    if (atomic_load_explicit(&python_found, memory_order_acquire))
        walk.pythons = python_walk(s->python[!s->python_current], STACK_DEPTH);
    if (seat_again(s, &walk, from))
        return s->id;
    s->id = 0;
    s->from = from;
    s->pythons = walk.pythons;
    s->python_current = !s->python_current;
    if (walk.natives < 2 && walk.end != UNWIND_OUTERMOST && !walk.pythons)
        return 0;
    size_t n = join_frames(&walk, from, s->items, s->sources);
    s->id = stack_table_id(s->items, s->sources, n, &walk);
    return s->id;
}

uint32_t stacks_capture(const void *from)
{
    if (atomic_load_explicit(&opened, memory_order_acquire) != OPEN)
        return 0;
    int saved = errno;
    struct cpu_regs regs = {0};
    cpu_here(&regs);
    uint32_t id = 0;
    struct seat *s = seat_take();
    if (s) {
        id = stacks_capture_in(s, &regs, from);
        seat_count(&s->captured);
        if (!id)
            seat_count(&s->lost);
        atomic_store_explicit(&s->taken, false, memory_order_release);
    } else {
        atomic_fetch_add_explicit(&seatless, 1, memory_order_relaxed);
    }
    errno = saved;
    return id;
}

const struct stack *stacks_get(uint32_t id)
{
    return id > STACK_DISTINCT ? simulated_get(id) : stack_table_get(id);
}

/* ---- slots of modules that are gone ---- */

enum {
    NOT_HELD = -1,
    STEP_NS =
        20 * 1000 * 1000, /* least time between steps: every thread sees a store much sooner */
};

/* Holds what the collector alone uses. */
static struct {
    enum { NOTHING_UNLISTED, UNLISTED, FORGOTTEN } step;
    int64_t noted; /* ns: time of the last step */
} slots;

/* Returns the real clock, never a simulated one. */
static int64_t steady_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static _Atomic uint32_t seats_noted; /* calls of seats_note; used for its barrier only */

static bool guest_is_inside(void)
{
    return atomic_load_explicit(&guest.inside, memory_order_seq_cst);
}

/* Notes which seats are in the middle of a capture. */
static void seats_note(void)
{
    slots.noted = steady_now();
    /* A full barrier between the stores before it and the reads of seats after it, in a form that
     * ThreadSanitizer knows. */
    atomic_fetch_add_explicit(&seats_noted, 1, memory_order_seq_cst);
    for (uint32_t i = 0; i < seats_made(); i++) {
        struct seat *s = atomic_load_explicit(&seats[i], memory_order_acquire);
        if (s)
            s->mark = atomic_load_explicit(&s->taken, memory_order_seq_cst)
                          ? atomic_load_explicit(&s->captured, memory_order_relaxed)
                          : (uint64_t)NOT_HELD;
    }
    guest.mark = guest_is_inside() ? atomic_load_explicit(&guest.walks, memory_order_relaxed)
                                   : (uint64_t)NOT_HELD;
}

/* Returns true if all captures that were noted have ended. If a seat is held again, its count of
 * captures has changed. */
static bool seats_have_ended(void)
{
    for (uint32_t i = 0; i < seats_made(); i++) {
        struct seat *s = atomic_load_explicit(&seats[i], memory_order_acquire);
        if (s && s->mark != (uint64_t)NOT_HELD &&
            atomic_load_explicit(&s->taken, memory_order_acquire) &&
            atomic_load_explicit(&s->captured, memory_order_acquire) == s->mark)
            return false;
    }
    return guest.mark == (uint64_t)NOT_HELD ||
           !atomic_load_explicit(&guest.inside, memory_order_acquire) ||
           atomic_load_explicit(&guest.walks, memory_order_acquire) != guest.mark;
}

bool stacks_enter(void)
{
    if (atomic_load_explicit(&opened, memory_order_acquire) != OPEN)
        return false;
    uint64_t walks = atomic_load_explicit(&guest.walks, memory_order_relaxed);
    atomic_store_explicit(&guest.walks, walks + 1, memory_order_release);
    /* seq_cst: before the walk reads a row or a module */
    return !atomic_exchange_explicit(&guest.inside, true, memory_order_seq_cst);
}

void stacks_leave(void)
{
    atomic_store_explicit(&guest.inside, false, memory_order_release);
}

/* Does at most one step at each flush: see modules_unlist. Rows are forgotten twice, because a
 * capture that began while they were being forgotten the first time may have used one of them, and
 * is not among those that were noted. [collector] */
static void stacks_free_slots(void)
{
    if (slots.step == NOTHING_UNLISTED) {
        if (!modules_unlist())
            return;
        slots.step = UNLISTED;
    } else if (steady_now() - slots.noted < STEP_NS || !seats_have_ended()) {
        return;
    } else if (slots.step == UNLISTED) {
        rows_clear();
        rows_clear();
        slots.step = FORGOTTEN;
    } else {
        modules_free_unlisted();
        slots.step = NOTHING_UNLISTED;
        return;
    }
    seats_note();
}

void stacks_refresh(void)
{
    if (atomic_load_explicit(&opened, memory_order_acquire) != OPEN)
        return;
    safe_age();
    modules_refresh();
    stacks_free_slots();
    stacks_look_for_python();
}

const char *stacks_python(void)
{
    return python_status();
}

bool stacks_python_is_rejected(void)
{
    return python_is_rejected();
}

void stacks_stats(struct stacks_stats *out)
{
    *out = (struct stacks_stats){.distinct = stack_table_count(),
                                 .bytes = arena_bytes() + python_bytes()};
    out->lost = out->captured = atomic_load_explicit(&seatless, memory_order_relaxed);
    for (uint32_t i = 0; i < seats_made(); i++) {
        struct seat *s = atomic_load_explicit(&seats[i], memory_order_acquire);
        if (!s)
            continue;
        out->captured += atomic_load_explicit(&s->captured, memory_order_relaxed);
        out->lost += atomic_load_explicit(&s->lost, memory_order_relaxed);
        out->cut += atomic_load_explicit(&s->cut, memory_order_relaxed);
    }
}

void stacks_forget(void)
{
    safe_copy_with(NULL); /* of a thread that the child does not have */
    for (uint32_t i = 0; i < seats_made(); i++) {
        struct seat *s = atomic_load_explicit(&seats[i], memory_order_relaxed);
        if (!s)
            continue;
        s->id = 0; /* a thread of the parent may have been writing it */
        s->native.n = 0;
        atomic_store_explicit(&s->taken, false, memory_order_relaxed);
    }
    atomic_store_explicit(&guest.inside, false, memory_order_relaxed);
    int opening = OPENING; /* a thread that was opening is not in the child */
    atomic_compare_exchange_strong(&opened, &opening, CLOSED);
    simulated_forget();
    if (slots.step != NOTHING_UNLISTED) { /* no thread of the child uses these slots */
        rows_clear();
        modules_free_unlisted();
        slots.step = NOTHING_UNLISTED;
    }
    modules_forget();
    python_forget();
}
