/* blocked.c - steps outwards by the rows of rows.h, as unwind.c does for the calling thread, but
 * reads copies.
 *
 * The snapshot has two parts. The stack is copied to the first, page by page, as far as frames
 * lead. What safe.h reads, such as tables at the first sight of an instruction, is copied to the
 * second part, which is empty again for each frame. */
#include "stack/other/blocked.h"

#include "base/alloc.h"
#include "base/err.h"
#include "stack/common/safe.h"
#include "stack/join.h"
#include "stack/native/calls.h"
#include "stack/native/modules.h"
#include "stack/native/prologue.h"
#include "stack/native/rows.h"
#include "stack/other/snapshot.h"
#include "stack/stack.h"
#include "stack/stack_table.h"

#include <string.h>

enum {
    FRAMES_MOST = STACK_DEPTH,
    PAGE = 4096,            /* the smallest one; the stack is copied by pages */
    STACK_BYTES = 64 << 20, /* above the innermost frame, in which outer ones are searched */
    TABLES_FROM = PAGE,
    TABLES_ROOM = SNAPSHOT_BYTES - TABLES_FROM,
    ALIGN = 16,
    MODULES_SEEN = 64, /* modules of a walk that are compared once; others are each time */
};

struct stack_blocked {
    struct snapshot snap;
    struct safe_copier copier;
    uintptr_t sp;     /* of this walk's innermost frame */
    uintptr_t window; /* address of the stack that is at the snapshot's beginning */
    size_t window_bytes;
    size_t tables; /* bytes used of the second part */
    struct unwind_frame frames[FRAMES_MOST];
    size_t n;
    enum unwind_end end;
    uint16_t seen[MODULES_SEEN];
    size_t seen_count;
    struct join_item items[STACK_DEPTH + 1];
    uint16_t sources[STACK_DEPTH + 1];
};

/* ---- copies ---------------------------------------------------------------------------------- */

static const void *copy_of(void *arg, const void *at, size_t n)
{
    struct stack_blocked *b = arg;
    struct iovec piece = {(void *)at, n};
    size_t to = TABLES_FROM + b->tables;
    if (!snapshot_is_here(&b->snap)) /* a forked child has its own */
        return NULL;
    if (n > TABLES_ROOM - b->tables || snapshot_copy(&b->snap, to, &piece, 1) != n)
        return NULL;
    b->tables += (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    b->tables = b->tables < TABLES_ROOM ? b->tables : TABLES_ROOM;
    return b->snap.data + to;
}

/* Keeps nothing of what it reads. */
static bool copy_to(void *arg, void *to, const void *from, size_t n)
{
    struct stack_blocked *b = arg;
    size_t tables = b->tables;
    const void *copy = copy_of(b, from, n);
    if (copy)
        memcpy(to, copy, n);
    b->tables = tables;
    return copy != NULL;
}

/* Copies the stack from this address to the end of its page: after the stack there may be a mapping
 * of a device. */
static bool window_at(struct stack_blocked *b, uintptr_t at)
{
    struct iovec piece = {(void *)at, PAGE - at % PAGE};
    b->window = at;
    b->window_bytes = snapshot_copy(&b->snap, 0, &piece, 1);
    return b->window_bytes >= sizeof at;
}

/* Reads a word of the thread's stack. A register that is no stack address must not lead elsewhere:
 * a mapping of a device may be there. */
static bool word_at(struct stack_blocked *b, uintptr_t at, uintptr_t *out)
{
    if (at % sizeof at || at + CPU_RED - b->sp >= STACK_BYTES)
        return false;
    if (at < b->window || b->window_bytes < sizeof at ||
        at - b->window > b->window_bytes - sizeof at) {
        if (!window_at(b, at))
            return false;
    }
    memcpy(out, b->snap.data + (at - b->window), sizeof *out);
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Returns true if the row's module is still mapped there. A module is compared once in a walk. */
static bool module_is_there(struct stack_blocked *b, union row row, uintptr_t at)
{
    for (size_t i = 0; i < b->seen_count; i++)
        if (b->seen[i] == row.module)
            return true;
    if (!modules_is_copied(row.module, at))
        return false;
    if (row.module && b->seen_count < MODULES_SEEN)
        b->seen[b->seen_count++] = (uint16_t)row.module;
    return true;
}

static union row row_of(struct stack_blocked *b, uintptr_t at)
{
    b->tables = 0;
    union row row = rows_at(at);
    return module_is_there(b, row, at) ? row : rows_make(at);
}

/* Returns fp if a return address lies where it must for that frame pointer, and follows a call of
 * just this function; else 0. A call by address counts if the prologue is known exactly. */
static uintptr_t fp_at(struct stack_blocked *b, const struct unwind_frame *f, uintptr_t fp,
                       const struct prologue *p)
{
    uintptr_t cfa = fp + (uintptr_t)((int64_t)f->row.cfa * 8), ra;
    if (!word_at(b, cfa + (uintptr_t)((int64_t)f->row.ra_offset * 8), &ra))
        return 0;
    b->tables = 0;
    enum calls_of of = modules_find(ra) ? calls_of(ra, p->begin) : CALLS_OF_OTHER;
    return of == CALLS_OF_IT || (of == CALLS_OF_ANY && p->exact) ? fp : 0;
}

/* Finds the frame pointer that a function has set, by how far it may lie above sp. 0: it stays
 * unknown, also if two distances fit: what earlier calls have left on the stack can fit, too. */
static uintptr_t find_fp(struct stack_blocked *b, const struct unwind_frame *f, uintptr_t sp)
{
    struct prologue p;
    uintptr_t found = 0;
    b->tables = 0;
    if (f->row.load)
        return 0;
    prologue_find(modules_get(f->row.module), f->at, &p);
    for (size_t i = 0; i < p.n; i++) {
        uintptr_t fp = fp_at(b, f, sp + p.below[i], &p);
        if (fp && found)
            return 0;
        found = fp ? fp : found;
    }
    return found;
}

/* Finds the caller of f, whose stack pointer is sp: its return address (0: f is the outermost one)
 * and its frame pointer (0: not known). Sets f->cfa. False: the caller cannot be found. */
static bool step(struct stack_blocked *b, struct unwind_frame *f, uintptr_t sp, uintptr_t *ra,
                 uintptr_t *fp)
{
    union row row = f->row;
    *ra = 0;
    if (row.how == ROWS_OUTERMOST)
        return true;
    if (row.how == ROWS_STEP && row.base_fp && !f->fp)
        f->fp = find_fp(b, f, sp);
    uintptr_t base = row.base_fp ? f->fp : sp, cfa;
    if (row.how != ROWS_STEP || !base)
        return false;
    cfa = base + (uintptr_t)((int64_t)row.cfa * 8);
    if (row.load) {
        if (!word_at(b, cfa, &cfa))
            return false;
        cfa += (uintptr_t)((int64_t)row.after * 8);
    }
    *fp = f->fp;
    if (row.fp != ROWS_FP_SAME) {
        uintptr_t from = row.fp == ROWS_FP_CFA ? cfa : base;
        if (!word_at(b, from + (uintptr_t)((int64_t)row.fp_offset * 8), fp))
            return false;
    }
    if (cfa <= sp || cfa - sp > STACK_BYTES ||
        !word_at(b, cfa + (uintptr_t)((int64_t)row.ra_offset * 8), ra))
        return false;
    f->cfa = *ra ? cfa : 0;
    return true;
}

static void walk(struct stack_blocked *b, uintptr_t sp, uintptr_t pc)
{
    uintptr_t at = pc, fp = 0;
    b->end = UNWIND_FULL;
    for (b->n = 0; b->n < FRAMES_MOST;) {
        struct unwind_frame *f = &b->frames[b->n++];
        uintptr_t ra;
        *f = (struct unwind_frame){.at = at, .fp = fp};
        f->row = row_of(b, at);
        if (!step(b, f, sp, &ra, &fp)) {
            b->end = UNWIND_LOST;
            /* a word of the stack that leads nowhere is no frame */
            b->n -= b->n > 1 && f->row.how == ROWS_NONE && !f->row.module;
            return;
        }
        if (!ra) {
            b->end = UNWIND_OUTERMOST;
            return;
        }
        sp = f->cfa;
        at = cpu_address(ra) - 1;
    }
}

/* ---- the walker ------------------------------------------------------------------------------ */

int stack_blocked_open(struct stack_blocked **out)
{
    *out = NULL;
    struct stack_blocked *b = mem_zalloc(sizeof *b);
    if (!b)
        return GPUFL_E_NOMEM;
    b->copier = (struct safe_copier){.read = copy_to, .map = copy_of, .arg = b};
    int rc = snapshot_open(&b->snap);
    if (rc) {
        stack_blocked_close(b);
        return rc;
    }
    *out = b;
    return 0;
}

void stack_blocked_close(struct stack_blocked *b)
{
    if (!b)
        return;
    snapshot_close(&b->snap);
    mem_free(b);
}

uint32_t stack_blocked_walk(struct stack_blocked *b, const struct stack_blocked_at *at)
{
    uint32_t id = 0;
    if (!at->sp || !at->pc || snapshot_here(&b->snap) != 0 || !stacks_enter())
        return 0;
    b->sp = at->sp;
    b->window_bytes = 0;
    b->seen_count = 0;
    safe_copy_with(&b->copier);
    walk(b, at->sp, at->pc);
    safe_copy_with(NULL);
    const struct join_walk w = {.native = b->frames, .natives = b->n, .end = b->end};
    size_t n = join_frames(&w, NULL, b->items, b->sources);
    if (n && b->items[0].kind != STACK_MARK && at->still(at->arg))
        id = stack_table_id(b->items, b->sources, n, &w);
    stacks_leave();
    return id;
}
