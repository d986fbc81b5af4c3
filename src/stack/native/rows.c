/* rows.c - has the table of rows: fixed size, shared by all threads, no lock.
 *
 * A slot has two words: the row, and the row mixed into the instruction's address. A slot that two
 * threads write at once, or that is read between the two writes, fits no address and is a miss. No
 * thread ever waits. An address has two possible slots; a new row takes the empty slot, or else the
 * one that the address selects. */
#include "stack/native/rows.h"

#include "stack/common/safe.h"
#include "stack/native/cfi.h"
#include "stack/native/modules.h"
#include "stack/python/python.h"

#include <stdatomic.h>

enum { ROWS_MAX = 16384 }; /* 256 KB, of which only the parts that are used become memory */

struct slot {
    _Atomic uint64_t key; /* pc ^ mixed row */
    _Atomic uint64_t row;
};

static struct slot slots[ROWS_MAX];
static _Atomic uint32_t age;

static inline uint32_t rows_hash(uintptr_t pc)
{
    return (uint32_t)((uint64_t)pc * 0x9e3779b97f4a7c15u >> 50) & (ROWS_MAX - 2);
}

/* Spreads the bits of a row: rows differ in few bits, and words of two slots must not fit. */
static inline uint64_t rows_mix(uint64_t row)
{
    return row * 0xd6e8feb86659fd93u;
}

static inline bool rows_load(const struct slot *s, uintptr_t pc, union row *out)
{
    out->word = atomic_load_explicit(&s->row, memory_order_relaxed);
    uint64_t key = atomic_load_explicit(&s->key, memory_order_relaxed);
    return (key ^ rows_mix(out->word)) == pc && out->word;
}

static void rows_store(struct slot *s, uintptr_t pc, union row row)
{
    atomic_store_explicit(&s->key, pc ^ rows_mix(row.word), memory_order_relaxed);
    atomic_store_explicit(&s->row, row.word, memory_order_relaxed);
}

/* Returns true if a field of so many bits can hold the distance. */
static bool rows_fits(int64_t bytes, int bits, int64_t *units)
{
    *units = bytes / 8;
    return bytes % 8 == 0 && *units >= -((int64_t)1 << (bits - 1)) &&
           *units < (int64_t)1 << (bits - 1);
}

static bool rows_pack_fp(const struct cfi_row *c, union row *row)
{
    const struct cfi_place *fp = &c->reg[CPU_FP];
    int64_t units;
    if (fp->rule == CFI_SAME)
        return true;
    if (fp->rule != CFI_AT || fp->value.load || !rows_fits(fp->value.offset, 13, &units))
        return false;
    if (fp->value.reg == CFI_CFA)
        row->fp = ROWS_FP_CFA;
    else if (fp->value.reg == c->cfa.reg)
        row->fp = ROWS_FP_BASE;
    else
        return false;
    row->fp_offset = units;
    return true;
}

static bool rows_pack(const struct cfi_row *c, union row *row)
{
    const struct cfi_place *ra = &c->reg[c->ra];
    int64_t cfa, after, ra_offset;
    if (c->signal || (c->cfa.reg != CPU_SP && c->cfa.reg != CPU_FP) ||
        !rows_fits(c->cfa.offset, 15, &cfa) || !rows_fits(c->cfa.after, 4, &after))
        return false;
    if (ra->rule != CFI_AT || ra->value.reg != CFI_CFA || ra->value.load ||
        !rows_fits(ra->value.offset, 12, &ra_offset))
        return false;
    row->base_fp = c->cfa.reg == CPU_FP;
    row->load = c->cfa.load;
    row->cfa = cfa;
    row->after = after;
    row->ra_offset = ra_offset;
    return rows_pack_fp(c, row);
}

__attribute__((noinline, cold)) union row rows_make(uintptr_t pc)
{
    union row row = {.word = 0};
    struct cfi_row c;
    uint32_t before = rows_age();
    row.is_row = 1;
    row.module = modules_find(pc);
    row.interpreter = python_is_interpreter(pc);
    if (row.module && cfi_find(modules_get(row.module), pc, &c)) {
        if (c.reg[c.ra].rule == CFI_UNDEFINED)
            row.how = ROWS_OUTERMOST;
        else
            row.how = rows_pack(&c, &row) ? ROWS_STEP : ROWS_COMPLEX;
    }
    /* Another thread may have closed the library meanwhile: such a row is not kept. */
    if (safe_copies() && (row.how == ROWS_NONE || !modules_is_copied(row.module, pc)))
        return (union row){.is_row = 1, .module = row.module};
    if (rows_age() != before) /* all rows were forgotten meanwhile */
        return row;
    struct slot *pair = &slots[rows_hash(pc)];
    union row there;
    bool first = !atomic_load_explicit(&pair[0].row, memory_order_relaxed) ||
                 rows_load(&pair[0], pc, &there);
    bool second = !first && (!atomic_load_explicit(&pair[1].row, memory_order_relaxed) ||
                             rows_load(&pair[1], pc, &there));
    rows_store(&pair[first ? 0 : second ? 1 : pc >> 4 & 1], pc, row);
    return row;
}

union row rows_at(uintptr_t pc)
{
    const struct slot *pair = &slots[rows_hash(pc)];
    union row row;
    if (rows_load(&pair[0], pc, &row) || rows_load(&pair[1], pc, &row))
        return row;
    return rows_make(pc);
}

uint32_t rows_age(void)
{
    return atomic_load_explicit(&age, memory_order_relaxed);
}

void rows_clear(void)
{
    atomic_fetch_add_explicit(&age, 1, memory_order_relaxed);
    for (int i = 0; i < ROWS_MAX; i++)
        atomic_store_explicit(&slots[i].row, 0, memory_order_relaxed);
}
