/* dict.c - keeps dictionary rows, and per channel a bitmap of those in the active part.
 *
 * dict_need runs for every row: a cell equal to the one above it costs a comparison,
 * any other cell a bit test. Everything else happens once per entry and part.
 *
 * Why not struct keyed: it hashes keys as bytes, and an id of a thread is looked up at each row
 * that names another thread than the row above it. */
#include "capture/log/dict.h"

#include "base/alloc.h"
#include "base/err.h"
#include "wire/encode.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_ROWS = 256,            /* rows of a block */
    LINE_ROWS = 128,             /* dictionary rows of a line */
    LINE_NAMES = 256,            /* names of a line */
    LINE_NAME_BYTES = 256 << 10, /* text of a line; six times as long if escaped: fits a line */
    SLOT_MAX = 1 << 26,          /* entries of a dictionary */
    HASH_START = 64,
};

struct dict_hash {
    int64_t id; /* 0: free */
    uint32_t slot;
};

/* ---- ids to slots -------------------------------------------------------------------------- */

static bool is_sparse(int table)
{
    return table == RECORD_thread;
}

static size_t hash_start(int64_t id, size_t cap)
{
    return (size_t)(((uint64_t)id * 0x9E3779B97F4A7C15u) >> 32) & (cap - 1);
}

static uint32_t hash_find(const struct dict_table *t, int64_t id)
{
    if (!t->hash_cap)
        return 0;
    for (size_t i = hash_start(id, t->hash_cap);; i = (i + 1) & (t->hash_cap - 1)) {
        if (t->hash[i].id == id)
            return t->hash[i].slot;
        if (!t->hash[i].id)
            return 0;
    }
}

static void hash_insert(struct dict_hash *hash, size_t cap, struct dict_hash entry)
{
    size_t i = hash_start(entry.id, cap);
    while (hash[i].id)
        i = (i + 1) & (cap - 1);
    hash[i] = entry;
}

/* Makes room for one more id, so that at most half of the table is used. */
static int hash_reserve(struct dict_table *t)
{
    if (t->hash_cap && (t->hash_used + 1) * 2 <= t->hash_cap)
        return 0;
    size_t cap = t->hash_cap ? t->hash_cap * 2 : HASH_START;
    struct dict_hash *hash = mem_array(cap, sizeof *hash);
    if (!hash)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < t->hash_cap; i++)
        if (t->hash[i].id)
            hash_insert(hash, cap, t->hash[i]);
    mem_free(t->hash);
    t->hash = hash;
    t->hash_cap = cap;
    return 0;
}

/* Returns the slot of an id; 0: there is no such entry. */
static inline uint32_t slot_of(const struct dict *d, int table, int64_t id)
{
    if (id <= 0) /* none, or CELL_NULL */
        return 0;
    if (is_sparse(table))
        return hash_find(&d->table[table], id);
    return id < SLOT_MAX ? (uint32_t)id : 0;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static int64_t *row_at(const struct dict *d, int type, uint32_t slot)
{
    const struct dict_table *t = &d->table[type];
    size_t chunk = slot / CHUNK_ROWS;
    if (chunk >= t->chunk_cap || !t->chunks[chunk])
        return NULL;
    return t->chunks[chunk] + (size_t)(slot % CHUNK_ROWS) * records[type].column_count;
}

static int row_reserve(struct dict_table *t, uint32_t slot, unsigned columns)
{
    size_t chunk = slot / CHUNK_ROWS, before = t->chunk_cap;
    int rc =
        mem_grow(&t->chunks, &t->chunk_cap, chunk + 1, sizeof *t->chunks, SLOT_MAX / CHUNK_ROWS);
    if (rc)
        return rc;
    if (t->chunk_cap > before)
        memset(t->chunks + before, 0, (t->chunk_cap - before) * sizeof *t->chunks);
    if (!t->chunks[chunk])
        t->chunks[chunk] = mem_array((size_t)CHUNK_ROWS * columns, sizeof(int64_t));
    return t->chunks[chunk] ? 0 : GPUFL_E_NOMEM;
}

const int64_t *dict_row(const struct dict *d, enum record_type type, int64_t id)
{
    uint32_t slot = slot_of(d, type, id);
    const int64_t *row = slot ? row_at(d, type, slot) : NULL;
    return row && row[0] ? row : NULL;
}

/* ---- sets ---------------------------------------------------------------------------------- */

static inline bool set_has(const struct dict_set *s, int table, uint32_t slot)
{
    return slot / 64 < s->words[table] && s->bits[table][slot / 64] >> slot % 64 & 1;
}

static int set_add(struct dict_set *s, int table, uint32_t slot)
{
    size_t before = s->words[table];
    int rc =
        mem_grow(&s->bits[table], &s->words[table], slot / 64 + 1, sizeof(uint64_t), SLOT_MAX / 64);
    if (rc)
        return rc;
    memset(s->bits[table] + before, 0, (s->words[table] - before) * sizeof(uint64_t));
    s->bits[table][slot / 64] |= (uint64_t)1 << slot % 64;
    return 0;
}

static int need_push(struct dict_slots *n, uint32_t slot)
{
    int rc = mem_grow(&n->slot, &n->cap, n->count + 1, sizeof *n->slot, SLOT_MAX);
    if (!rc)
        n->slot[n->count++] = slot;
    return rc;
}

static bool is_defined(const struct dict *d, int table, uint32_t slot)
{
    if (table == DICT_NAMES)
        return intern_text(d->names, slot, NULL) != NULL;
    const int64_t *row = row_at(d, table, slot);
    return row && row[0];
}

/* Notes an entry that the part lacks, if the entry is known. */
static int set_miss(const struct dict *d, struct dict_set *s, int table, uint32_t slot)
{
    if (!is_defined(d, table, slot))
        return 0;
    int rc = set_add(s, table, slot);
    return rc ? rc : need_push(&s->need[table], slot);
}

/* ---- defining ------------------------------------------------------------------------------ */

static int slot_for(struct dict_table *t, int type, int64_t id, uint32_t *slot, bool *fresh)
{
    *fresh = false;
    if (!is_sparse(type)) {
        *slot = (uint32_t)id;
        return id < SLOT_MAX ? 0 : GPUFL_E_FULL;
    }
    *slot = hash_find(t, id);
    if (*slot)
        return 0;
    *fresh = true;
    *slot = (uint32_t)t->hash_used + 1;
    return *slot < SLOT_MAX ? hash_reserve(t) : GPUFL_E_FULL;
}

/* Parts that have the old content get the new one, also if no row refers to the entry again.
 * The entry's bit is cleared, so that the entry is in need at most once. */
static void define_again(struct dict *d, enum record_type type, uint32_t slot)
{
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        struct dict_set *s = &d->set[c];
        if (!set_has(s, type, slot))
            continue;
        s->bits[type][slot / 64] &= ~((uint64_t)1 << slot % 64);
        (void)need_push(&s->need[type], slot); /* on failure the next row that refers to it does */
    }
}

int dict_define(struct dict *d, enum record_type type, const int64_t *row)
{
    if (type < 0 || type >= RECORD_COUNT || records[type].kind != RECORD_KIND_DICT || row[0] <= 0)
        return GPUFL_E_INVAL;
    struct dict_table *t = &d->table[type];
    size_t size = records[type].column_count * sizeof *row;
    uint32_t slot;
    bool fresh;
    int rc = slot_for(t, type, row[0], &slot, &fresh);
    if (!rc)
        rc = row_reserve(t, slot, records[type].column_count);
    if (rc)
        return rc;
    if (fresh) {
        hash_insert(t->hash, t->hash_cap, (struct dict_hash){row[0], slot});
        t->hash_used++;
    }
    int64_t *old = row_at(d, type, slot);
    bool changed = old[0] && memcmp(old, row, size);
    memcpy(old, row, size);
    if (changed)
        define_again(d, type, slot);
    return 0;
}

/* ---- what a batch needs -------------------------------------------------------------------- */

static int table_of(const struct column *col)
{
    return col->ref == RECORD_name ? DICT_NAMES : col->ref; /* RECORD_NONE stays negative */
}

/* Notes what one column of n rows refers to; the rows are stride cells apart. */
static int need_column(struct dict *d, struct dict_set *s, int table, const int64_t *cell,
                       size_t stride, size_t n)
{
    int64_t last = 0;
    for (; n--; cell += stride) {
        if (*cell == last)
            continue;
        last = *cell;
        uint32_t slot = slot_of(d, table, last);
        if (!slot || set_has(s, table, slot))
            continue;
        int rc = set_miss(d, s, table, slot);
        if (rc)
            return rc;
    }
    return 0;
}

static int need_rows(struct dict *d, struct dict_set *s, int type, const int64_t *rows, size_t n)
{
    const struct record *r = &records[type];
    for (unsigned i = 0; i < r->column_count; i++) {
        int table = table_of(&r->columns[i]);
        int rc = table < 0 ? 0 : need_column(d, s, table, rows + i, r->column_count, n);
        if (rc)
            return rc;
    }
    return 0;
}

int dict_want(struct dict *d, enum channel c, enum record_type type, int64_t id)
{
    return need_column(d, &d->set[c], (int)type, &id, 1, 1);
}

int dict_need(struct dict *d, enum channel c, enum record_type type, const int64_t *rows, size_t n)
{
    struct dict_set *s = &d->set[c];
    for (int t = 0; t < RECORD_COUNT; t++) /* redefined entries wait with their bit cleared */
        for (size_t i = 0; i < s->need[t].count; i++) {
            int rc = set_add(s, t, s->need[t].slot[i]);
            if (rc)
                return rc;
        }
    int rc = n ? need_rows(d, s, type, rows, n) : 0;
    for (int t = RECORD_COUNT - 1; t >= 0 && !rc; t--)
        for (size_t i = 0; i < s->need[t].count && !rc; i++)
            rc = need_rows(d, s, t, row_at(d, t, s->need[t].slot[i]), 1);
    return rc;
}

bool dict_pending(const struct dict *d, enum channel c)
{
    for (int t = 0; t < DICT_TABLES; t++)
        if (d->set[c].need[t].count)
            return true;
    return false;
}

/* ---- lines --------------------------------------------------------------------------------- */

static size_t encode_some_names(struct dict *d, struct dict_slots *need, struct buf *out)
{
    const char *text[LINE_NAMES];
    size_t len[LINE_NAMES], n = 0, bytes = 0;
    size_t first = need->count < LINE_NAMES ? 0 : need->count - LINE_NAMES;
    for (size_t i = need->count; i-- > first && bytes < LINE_NAME_BYTES; n++) {
        text[n] = intern_text(d->names, need->slot[i], &len[n]);
        bytes += len[n];
    }
    /* Names are taken from the end, so that the rest stays in place; ids keep their order. */
    uint32_t id[LINE_NAMES];
    for (size_t i = 0; i < n; i++)
        id[i] = need->slot[need->count - 1 - i];
    encode_names(out, id, text, len, n);
    need->count -= n;
    return n;
}

static bool refers_to_itself(int type)
{
    const struct record *r = &records[type];
    for (unsigned i = 1; i < r->column_count; i++)
        if (r->columns[i].ref == type)
            return true;
    return false;
}

static int compare_down(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

/* Rows are taken from the end, in their order. If rows of a type refer to each other, smaller ids
 * come first, because a row refers only to smaller ids. */
static size_t encode_some_rows(struct dict *d, int type, struct dict_slots *need, struct buf *out)
{
    unsigned columns = records[type].column_count;
    size_t n = need->count < LINE_ROWS ? need->count : LINE_ROWS;
    bool down = refers_to_itself(type);
    if (down)
        qsort(need->slot, need->count, sizeof *need->slot, compare_down);
    need->count -= n;
    for (size_t i = 0; i < n; i++)
        memcpy(d->gather + i * columns,
               row_at(d, type, need->slot[need->count + (down ? n - 1 - i : i)]),
               columns * sizeof(int64_t));
    encode_rows(out, type, d->gather, n);
    return n;
}

bool dict_encode(struct dict *d, enum channel c, struct buf *out, struct dict_line *line)
{
    struct dict_slots *need = d->set[c].need;
    if (need[DICT_NAMES].count) { /* names come before the rows that refer to them */
        *line = (struct dict_line){RECORD_name, encode_some_names(d, &need[DICT_NAMES], out)};
        return true;
    }
    for (int t = 0; t < RECORD_COUNT; t++)
        if (need[t].count) {
            *line = (struct dict_line){t, encode_some_rows(d, t, &need[t], out)};
            return true;
        }
    return false;
}

void dict_forget(struct dict *d, enum channel c)
{
    struct dict_set *s = &d->set[c];
    for (int t = 0; t < DICT_TABLES; t++) {
        if (s->words[t])
            memset(s->bits[t], 0, s->words[t] * sizeof(uint64_t));
        s->need[t].count = 0;
    }
}

/* ---- life ---------------------------------------------------------------------------------- */

int dict_init(struct dict *d, struct intern *names)
{
    memset(d, 0, sizeof *d);
    d->names = names;
    d->gather = mem_array((size_t)LINE_ROWS * RECORD_MAX_COLUMNS, sizeof(int64_t));
    return d->gather ? 0 : GPUFL_E_NOMEM;
}

void dict_fini(struct dict *d)
{
    for (int t = 0; t < RECORD_COUNT; t++) {
        for (size_t i = 0; i < d->table[t].chunk_cap; i++)
            mem_free(d->table[t].chunks[i]);
        mem_free(d->table[t].chunks);
        mem_free(d->table[t].hash);
    }
    for (int c = 0; c < CHANNEL_COUNT; c++)
        for (int t = 0; t < DICT_TABLES; t++) {
            mem_free(d->set[c].bits[t]);
            mem_free(d->set[c].need[t].slot);
        }
    mem_free(d->gather);
    memset(d, 0, sizeof *d);
}
