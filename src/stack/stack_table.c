/* stack_table.c - keeps the stacks of the process, by content.
 *
 * Open addressing over words of (hash, id). A stack is complete and can be found by its id before
 * the word with that id is stored (release, partner: acquire in stack_table_find), so a reader sees
 * a whole stack or none. Nothing is removed, and no thread waits. If two threads add equal stacks
 * at once, the second finds the word of the first and takes that id; the memory of its copy is
 * wasted, and its own id is used for the next stack. */
#include "stack/stack_table.h"

#include "stack/arena.h"
#include "stack/native/modules.h"

#include <stdatomic.h>
#include <string.h>

enum { TABLE_SLOTS = 2 * STACK_DISTINCT }; /* power of two */

struct record {
    struct stack stack;
    const struct join_item *items; /* stack.depth of them */
};

static _Atomic uint64_t slots[TABLE_SLOTS]; /* upper half of the hash << 32 | id */
static _Atomic(struct record *) records[STACK_DISTINCT + 1];
static _Atomic uint32_t ids;      /* given out; may pass STACK_DISTINCT */
static _Atomic uint32_t spare_id; /* given out and not used; 0: none */
static _Atomic uint32_t distinct;

static uint64_t table_hash(const struct join_item *items, size_t n)
{
    uint64_t h = 0x2d358dccaa6c78a5u + n;
    for (size_t i = 0; i < n; i++) {
        uint64_t low = items[i].what ^ 0x8bb84b93962eacc9u;
        uint64_t high = h ^ ((uint64_t)items[i].kind << 32 | items[i].where);
        unsigned __int128 product = (unsigned __int128)low * high;
        h = ((uint64_t)product ^ (uint64_t)(product >> 64)) + low;
    }
    return h ^ h >> 29;
}

static inline bool table_same(const struct record *r, const struct join_item *items, size_t n)
{
    return r->stack.depth == n && memcmp(r->items, items, n * sizeof *items) == 0;
}

/* Returns the slot with the stack, or the empty slot where it belongs; NULL: the table is full. */
static inline _Atomic uint64_t *stack_table_find(uint64_t hash, const struct join_item *items,
                                                 size_t n, uint32_t *id)
{
    for (uint32_t i = 0; i < TABLE_SLOTS; i++) {
        _Atomic uint64_t *slot = &slots[(hash + i) % TABLE_SLOTS];
        uint64_t word = atomic_load_explicit(slot, memory_order_acquire);
        *id = (uint32_t)word;
        if (!word)
            return slot;
        if (word >> 32 == hash >> 32) {
            struct record *r = atomic_load_explicit(&records[*id], memory_order_acquire);
            if (table_same(r, items, n))
                return slot;
        }
    }
    return NULL;
}

static void table_native(struct stack_place *p, const struct unwind_frame *f)
{
    const struct module *m = modules_get(f->row.module);
    p->module = m ? &m->pub : NULL;
    p->offset = m ? f->at - m->pub.base : f->at;
}

static void table_python(struct stack_place *p, const struct python_frame *f)
{
    p->code = python_code(f);
    if (p->code) {
        p->line = python_line(p->code, f->place);
    } else {
        p->kind = STACK_MARK;
        p->mark = join_mark_text(JOIN_UNKNOWN);
    }
}

static struct record *table_copy(const struct join_item *items, const uint16_t *sources, size_t n,
                                 const struct join_walk *walk)
{
    struct record *r = arena_take(sizeof *r + n * (sizeof(struct stack_place) + sizeof *items));
    if (!r)
        return NULL;
    struct stack_place *places = (struct stack_place *)(r + 1);
    struct join_item *copy = (struct join_item *)(places + n);
    memcpy(copy, items, n * sizeof *items);
    for (size_t i = 0; i < n; i++) {
        places[i] = (struct stack_place){.kind = (enum stack_kind)items[i].kind};
        if (items[i].kind == STACK_NATIVE)
            table_native(&places[i], &walk->native[sources[i]]);
        else if (items[i].kind == STACK_PYTHON)
            table_python(&places[i], &walk->python[sources[i]]);
        else
            places[i].mark = join_mark_text((enum join_mark)items[i].what);
    }
    *r = (struct record){.stack = {.depth = (unsigned)n, .places = places}, .items = copy};
    return r;
}

static uint32_t table_new_id(void)
{
    uint32_t id = atomic_exchange_explicit(&spare_id, 0, memory_order_relaxed);
    if (id)
        return id;
    if (atomic_load_explicit(&ids, memory_order_relaxed) >= STACK_DISTINCT)
        return 0;
    id = atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed) + 1;
    return id <= STACK_DISTINCT ? id : 0;
}

/* Adds a new stack. */
static __attribute__((noinline, cold)) uint32_t stack_table_add(uint64_t hash,
                                                                const struct join_item *items,
                                                                const uint16_t *sources, size_t n,
                                                                const struct join_walk *walk)
{
    uint32_t id = table_new_id(), there;
    struct record *r = id ? table_copy(items, sources, n, walk) : NULL;
    if (r) {
        r->stack.id = id;
        atomic_store_explicit(&records[id], r, memory_order_release);
        for (;;) {
            _Atomic uint64_t *slot = stack_table_find(hash, items, n, &there);
            if (!slot || there)
                break;
            uint64_t empty = 0, word = hash >> 32 << 32 | id;
            if (atomic_compare_exchange_strong_explicit(slot, &empty, word, memory_order_release,
                                                        memory_order_relaxed)) {
                atomic_fetch_add_explicit(&distinct, 1, memory_order_relaxed);
                return id;
            }
        }
        atomic_store_explicit(&records[id], NULL, memory_order_relaxed);
    } else {
        there = 0;
    }
    if (id)
        atomic_store_explicit(&spare_id, id, memory_order_relaxed);
    return there;
}

uint32_t stack_table_id(const struct join_item *items, const uint16_t *sources, size_t n,
                        const struct join_walk *walk)
{
    uint64_t hash = table_hash(items, n);
    uint32_t id;
    if (__builtin_expect(stack_table_find(hash, items, n, &id) && id, 1))
        return id;
    return stack_table_add(hash, items, sources, n, walk);
}

const struct stack *stack_table_get(uint32_t id)
{
    if (id == 0 || id > STACK_DISTINCT)
        return NULL;
    struct record *r = atomic_load_explicit(&records[id], memory_order_acquire);
    return r ? &r->stack : NULL;
}

uint32_t stack_table_count(void)
{
    return atomic_load_explicit(&distinct, memory_order_relaxed);
}
