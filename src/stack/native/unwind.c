/* unwind.c - unwinds by the rows of rows.h: some ten nanoseconds a frame, a third of that for a
 * frame that has not moved.
 *
 * A step depends only on the instruction, the two registers and the words that it reads. So if a
 * frame of the last walk is met again, its callers are unchanged as long as these words are. The
 * words are compared independently of each other, which is fast; in a full walk each load has to
 * wait for the load before.
 *
 * Reads within the thread's own stack, above the walk's stack pointer, are plain loads: that memory
 * exists while the thread is in our call. The end of the stack is read once per thread. On any
 * other stack (coroutines, signal stacks) and for any other address, reads use common/safe.h. A
 * signal frame may lead from one stack to the other.
 *
 * A walk never loops: the frame of a caller is above that of its callee, except beyond a signal
 * frame, and there are at most `most` frames. A short stack is better than a wrong one: code
 * without a table is passed by the frame pointer only if the return address found in this way
 * follows a call that can have led to this code, and if the code itself sets the frame pointer or
 * no other such address comes before.
 *
 * A module is compared with its mapping once per walk, at its first frame: rows of an unloaded
 * library are computed again. */
#include "stack/native/unwind.h"

#include "stack/common/safe.h"
#include "stack/native/calls.h"
#include "stack/native/cfi.h"
#include "stack/native/modules.h"
#include "stack/native/rows.h"

#include <pthread.h>
#include <string.h>

_Static_assert(MODULES_MAX / 64 <= 64, "a word has a bit for each word of walk.seen");

enum {
    WALK_DEPTH = 4,         /* depth of registers that are saved relative to registers */
    FRAME_MAX = 8 << 10,    /* bytes of a frame up to which a frame pointer is believed */
    FUNCTION_MAX = 1 << 20, /* bytes of a function without a table, and of generated code */
};

/* Holds the bounds of the calling thread's own stack. */
struct limits {
    bool known; /* was read, maybe without a result: low == high */
    uintptr_t low, high;
};

static __thread struct limits limits __attribute__((tls_model("initial-exec")));

struct walk {
    const struct cpu_regs *from;
    struct unwind_frame *frames;     /* being filled */
    const struct unwind_frame *last; /* the last walk, its ... */
    size_t lasts;                    /* ... frames */
    uintptr_t low, span;             /* plain loads: address - low < span */
    uint64_t *seen;                  /* modules compared in this walk; of its words those ... */
    uint64_t words;                  /* ... that have been written */
};

/* Describes a caller as computed from the callee's row. */
struct step {
    uintptr_t cfa, ra, fp;
    bool signal; /* ra is an instruction that was interrupted */
};

static __attribute__((noinline, cold)) void limits_ask(void)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    limits.known = true;
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    if (pthread_attr_getstack(&attr, &low, &size) == 0) {
        limits.low = (uintptr_t)low;
        limits.high = (uintptr_t)low + size;
    }
    pthread_attr_destroy(&attr);
}

/* Sets the range of plain loads, from this stack pointer on. */
static void walk_on_stack(struct walk *w, uintptr_t sp)
{
    w->low = sp - CPU_RED;
    w->span = 0;
    if (sp >= limits.low && sp < limits.high && limits.high - sp > sizeof sp)
        w->span = limits.high - w->low - sizeof sp;
}

/* Sanitizers must not check this: it reads words in frames of other functions. */
static inline __attribute__((no_sanitize("address", "thread"))) bool
walk_read(const struct walk *w, uintptr_t at, uintptr_t *out)
{
    if (__builtin_expect(at - w->low < w->span, 1)) {
        if (__builtin_expect(at % sizeof at, 0))
            return false; /* no word is stored at such an address */
        *out = *(const uintptr_t *)at;
        return true;
    }
    return safe_read(out, (const void *)at, sizeof *out);
}

/* Reads at an address that may be wrong. */
static bool walk_read_guess(const struct walk *w, uintptr_t at, uintptr_t *out)
{
    if (at - w->low < w->span)
        return walk_read(w, at, out);
    return safe_read_any(out, (const void *)at, sizeof *out);
}

/* ---- steps that rows cannot express ---- */

static bool walk_register(struct walk *w, size_t i, unsigned reg, int depth, uintptr_t *out);

/* Computes a value in frame i. A CFA in it is that of the frame, which is known by then. */
static bool walk_value(struct walk *w, size_t i, struct cfi_value v, int depth, uintptr_t *out)
{
    uintptr_t base = 0;
    if (v.reg == CFI_CFA)
        base = w->frames[i].cfa;
    else if (v.reg != CFI_NO_REG && !walk_register(w, i, v.reg, depth, &base))
        return false;
    *out = base + (uintptr_t)v.offset;
    if (!v.load)
        return true;
    if (!walk_read(w, *out, out))
        return false;
    *out += (uintptr_t)v.after;
    return true;
}

/* Reads what a place in frame i's row gives as a register of the caller. */
static bool walk_place(struct walk *w, size_t i, struct cfi_place p, unsigned reg, int depth,
                       uintptr_t *out)
{
    switch (p.rule) {
    case CFI_AT:
        return walk_value(w, i, p.value, depth, out) && walk_read(w, *out, out);
    case CFI_IS:
        return walk_value(w, i, p.value, depth, out);
    case CFI_SAME:
        return walk_register(w, i, reg, depth, out);
    default:
        return false;
    }
}

/* Finds the value of a register while frame i runs: as the nearest callee saved it, else as at the
 * beginning of the walk. */
static bool walk_register(struct walk *w, size_t i, unsigned reg, int depth, uintptr_t *out)
{
    struct cfi_row c;
    if (reg == CPU_SP) {
        *out = i ? w->frames[i - 1].cfa : w->from->reg[CPU_SP];
        return true;
    }
    if (reg == CPU_FP) {
        *out = w->frames[i].fp;
        return true;
    }
    if (depth == 0)
        return false;
    while (i-- > 0) {
        const struct unwind_frame *f = &w->frames[i];
        if (f->row.how == ROWS_NONE || !cfi_find(modules_get(f->row.module), f->at, &c))
            return false;
        if (c.reg[reg].rule != CFI_SAME)
            return walk_place(w, i, c.reg[reg], reg, depth - 1, out);
        if (!(CPU_KEPT >> reg & 1))
            return false; /* any function may change it */
    }
    *out = w->from->reg[reg];
    return true;
}

static bool step_complex(struct walk *w, size_t i, struct step *s)
{
    struct unwind_frame *f = &w->frames[i];
    struct cfi_row c;
    if (!cfi_find(modules_get(f->row.module), f->at, &c) ||
        !walk_value(w, i, c.cfa, WALK_DEPTH, &s->cfa))
        return false;
    f->cfa = s->cfa;
    s->signal = c.signal;
    /* The frame pointer may be lost for good: the return address may not. */
    if (!walk_place(w, i, c.reg[CPU_FP], CPU_FP, WALK_DEPTH, &s->fp))
        s->fp = 0;
    return walk_place(w, i, c.reg[c.ra], c.ra, WALK_DEPTH, &s->ra);
}

/* Returns true if the call before ra can have led to the instruction `at`, which no table covers. A
 * direct call leads to the beginning of the function, which is before `at` and has no table
 * either. */
static bool step_called(uintptr_t ra, uintptr_t at, uint32_t module)
{
    uintptr_t target, begin, end;
    if (!calls_before(ra, &target))
        return false;
    if (!target)
        return true;
    if (target > at || at - target > FUNCTION_MAX || modules_find(target) != module)
        return false;
    return !module || !cfi_range(modules_get(module), target, &begin, &end);
}

/* Returns true if there may be another return address between sp and fp. Then the frame pointer can
 * be that of a function further out, and following it would skip the caller. */
static bool step_skips(struct walk *w, uintptr_t at, uintptr_t sp, uintptr_t fp)
{
    uintptr_t word, target;
    for (; sp < fp; sp += sizeof sp) {
        if (!walk_read(w, sp, &word))
            return true;
        word = cpu_address(word);
        bool code = word - (at - FUNCTION_MAX) < 2 * FUNCTION_MAX || modules_find(word);
        if (code && calls_before(word, &target))
            return true;
    }
    return false;
}

static bool step_by_fp(struct walk *w, size_t i, uintptr_t sp, struct step *s)
{
    struct unwind_frame *f = &w->frames[i];
    if (f->fp < sp || f->fp - sp > FRAME_MAX || f->fp % sizeof sp || sp % sizeof sp)
        return false;
    if (!walk_read_guess(w, f->fp, &s->fp) || !walk_read_guess(w, f->fp + sizeof sp, &s->ra))
        return false;
    s->cfa = f->fp + 2 * sizeof sp;
    s->signal = false;
    return step_called(cpu_address(s->ra), f->at, f->row.module) &&
           (calls_frame(f->at) || !step_skips(w, f->at, sp, f->fp));
}

/* Computes the step from frame i without a row. False: it cannot. s->ra 0: the outermost frame. */
static __attribute__((noinline)) bool step_slow(struct walk *w, size_t i, uintptr_t sp,
                                                struct step *s)
{
    *s = (struct step){0};
    switch ((enum rows_how)w->frames[i].row.how) {
    case ROWS_OUTERMOST:
        return true;
    case ROWS_COMPLEX:
        return step_complex(w, i, s);
    default:
        return step_by_fp(w, i, sp, s);
    }
}

/* ---- the walk ---- */

static inline bool step_fast(const struct walk *w, const struct unwind_frame *f, uintptr_t sp,
                             struct step *s)
{
    union row row = f->row;
    uintptr_t base = row.base_fp ? f->fp : sp;
    uintptr_t cfa = base + (uintptr_t)((int64_t)row.cfa * 8);
    if (__builtin_expect(row.load, 0)) {
        if (!walk_read(w, cfa, &cfa))
            return false;
        cfa += (uintptr_t)((int64_t)row.after * 8);
    }
    s->cfa = cfa;
    s->fp = f->fp;
    s->signal = false;
    if (row.fp != ROWS_FP_SAME) {
        uintptr_t from = row.fp == ROWS_FP_CFA ? cfa : base;
        if (!walk_read(w, from + (uintptr_t)((int64_t)row.fp_offset * 8), &s->fp))
            return false;
    }
    return walk_read(w, cfa + (uintptr_t)((int64_t)row.ra_offset * 8), &s->ra);
}

/* Returns true if the row's module is still mapped there. Checked once per walk. */
static inline bool walk_module(struct walk *w, union row row, uintptr_t at)
{
    uint32_t module = row.module;
    uint64_t bit = (uint64_t)1 << module % 64, word = (uint64_t)1 << module / 64;
    if (__builtin_expect(module && (w->words & word) && (w->seen[module / 64] & bit), 1))
        return true;
    if (!modules_is(module, at))
        return false;
    if (module) {
        w->seen[module / 64] = (w->words & word ? w->seen[module / 64] : 0) | bit;
        w->words |= word;
    }
    return true;
}

/* Records where a frame's words are: between its own stack pointer and the stack's end, so that
 * they can be loaded when the frame is met again. */
static inline void walk_note(const struct walk *w, struct unwind_frame *f, uintptr_t sp)
{
    int64_t up = (int64_t)f->row.fp_offset - (f->row.fp == ROWS_FP_BASE ? (int64_t)f->row.cfa : 0);
    int64_t ra = f->row.ra_offset, room = (int64_t)(f->cfa - sp) / 8;
    bool saved = f->row.fp != ROWS_FP_SAME;
    f->ra = f->up = 0;
    if (f->row.how != ROWS_STEP || f->row.load || sp % sizeof sp || f->cfa % sizeof sp ||
        sp - w->low >= w->span || f->cfa - w->low >= w->span || ra >= 0 || ra < -room ||
        (saved && (up >= 0 || up < -room)))
        return;
    f->ra = (int32_t)ra * 8;
    f->up = saved ? (int32_t)up * 8 : 0;
}

/* Returns true if a frame that has not moved, with the same stack pointer, still has its caller.
 * The two words decide: the CFA is unchanged, because it is computed from the two registers
 * only. */
static inline __attribute__((no_sanitize("address", "thread"))) bool
walk_stays(const struct unwind_frame *f)
{
    return cpu_address(*(const uintptr_t *)(f->cfa + (uintptr_t)(intptr_t)f->ra)) - 1 == f[1].at &&
           (!f->up || *(const uintptr_t *)(f->cfa + (uintptr_t)(intptr_t)f->up) == f[1].fp);
}

/* Does what walk_stays does, computed again from the registers. */
static inline bool walk_steps(const struct walk *w, const struct unwind_frame *f, uintptr_t sp)
{
    struct step s;
    return step_fast(w, f, sp, &s) && s.cfa == f->cfa && s.fp == f[1].fp &&
           cpu_address(s.ra) - 1 == f[1].at;
}

/* Counts how many of a frame of the last walk and its callers have not moved, if the frame has the
 * same registers, except maybe the stack pointer. The last of them may have another caller. */
static inline size_t walk_again(struct walk *w, size_t i, uintptr_t sp)
{
    const struct unwind_frame *f = &w->last[i], *end = &w->last[w->lasts - 1], *begin = f;
    const union row fields = {.module = MODULES_MAX - 1, .how = 3}; /* all their bits */
    uint64_t checked = ~fields.word;
    for (; f < end; f++) {
        uint64_t kind = f->row.word & fields.word;
        if (kind != checked) {
            if (f->row.how != ROWS_STEP || !walk_module(w, f->row, f->at))
                break;
            checked = kind;
        }
        if (!(f > begin && f->ra ? walk_stays(f) : walk_steps(w, f, sp)))
            break;
        sp = f->cfa;
    }
    return (size_t)(f - begin) + 1;
}

/* Finds the frame of the last walk with this stack pointer; *at moves on with the walk. */
static inline bool walk_meets(const struct walk *w, size_t *at, uintptr_t sp,
                              const struct unwind_frame *f)
{
    size_t i = *at;
    while (i < w->lasts && i && w->last[i - 1].cfa && w->last[i - 1].cfa < sp)
        i++;
    *at = i;
    return i < w->lasts && i && w->last[i - 1].cfa == sp && w->last[i].at == f->at &&
           w->last[i].fp == f->fp;
}

/* Continues the walk from frame n, to which s leads. */
static void walk_on(struct walk *w, struct unwind *u, size_t n, struct step s)
{
    uintptr_t sp = s.cfa, target;
    size_t met = 1; /* index in the last walk */
    u->end = UNWIND_FULL;
    for (; n < UNWIND_MOST; n++) {
        struct unwind_frame *f = &w->frames[n];
        uintptr_t ra = cpu_address(s.ra);
        f->at = s.signal ? ra : ra - 1;
        f->fp = s.fp;
        f->cfa = 0;
        if (walk_meets(w, &met, sp, f)) {
            size_t again = walk_again(w, met, sp);
            again = again < UNWIND_MOST - n ? again : UNWIND_MOST - n;
            memcpy(f, &w->last[met], again * sizeof *f);
            n += again - 1;
            f = &w->frames[n];
            sp = again > 1 ? f[-1].cfa : sp;
            s.signal &= again == 1;
        }
        f->row = rows_at(f->at);
        if (__builtin_expect(!walk_module(w, f->row, f->at), 0))
            f->row = rows_make(f->at);
        if (__builtin_expect(f->row.how == ROWS_NONE, 0) && n && !s.signal &&
            !calls_before(f->at + 1, &target)) {
            u->end = UNWIND_LOST; /* no return address: not a frame */
            break;
        }
        bool ok = __builtin_expect(f->row.how == ROWS_STEP, 1) ? step_fast(w, f, sp, &s)
                                                               : step_slow(w, n, sp, &s);
        f->cfa = ok && s.ra ? s.cfa : 0;
        walk_note(w, f, sp);
        if (!ok || !s.ra || (s.cfa <= sp && !s.signal)) {
            u->end = ok && !s.ra ? UNWIND_OUTERMOST : UNWIND_LOST;
            n++;
            break;
        }
        sp = s.cfa;
        if (__builtin_expect(s.signal, 0))
            walk_on_stack(w, sp);
    }
    u->n = n;
}

/* Takes all frames of the last walk, if this walk has the same. */
static bool walk_same(struct walk *w, const struct unwind *u, const struct cpu_regs *from,
                      size_t *again)
{
    const struct unwind_frame *first = w->last, *outermost = &w->last[w->lasts - 1];
    *again = 0;
    if (!w->lasts || first->at != from->pc || first->fp != from->reg[CPU_FP])
        return false;
    *again = walk_again(w, 0, from->reg[CPU_SP]);
    return *again == w->lasts && u->end == UNWIND_OUTERMOST &&
           outermost->row.how == ROWS_OUTERMOST && walk_module(w, outermost->row, outermost->at);
}

void unwind_walk(struct unwind *u, const struct cpu_regs *from)
{
    uint64_t seen[MODULES_MAX / 64]; /* not zeroed: see walk_module */
    struct walk w = {.from = from, .last = u->rooms[u->current], .seen = seen};
    uint32_t age = rows_age();
    size_t again;
    w.lasts = u->age == age ? u->n : 0;
    u->age = age;
    if (__builtin_expect(!limits.known, 0))
        limits_ask();
    walk_on_stack(&w, from->reg[CPU_SP]);
    u->same = walk_same(&w, u, from, &again);
    if (u->same)
        return;
    u->current = !u->current;
    u->frames = w.frames = u->rooms[u->current];
    struct step s = {.cfa = from->reg[CPU_SP],
                     .ra = from->pc,
                     .fp = from->reg[CPU_FP],
                     .signal = true}; /* an instruction, not a return address */
    if (again > 1) {                  /* the innermost frames have not moved */
        const struct unwind_frame *last = &w.last[again - 1];
        memcpy(w.frames, w.last, (again - 1) * sizeof *last);
        s = (struct step){.cfa = last[-1].cfa, .ra = last->at + 1, .fp = last->fp};
    }
    walk_on(&w, u, again > 1 ? again - 1 : 0, s);
}
