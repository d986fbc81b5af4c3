/* intern.c - is a hash table that readers walk without a lock.
 *
 * Entries live in chunks that never move, texts in blocks that never move, and
 * the table of slots is replaced as a whole when it grows; the old one is kept
 * until intern_close, because a reader may still walk it (all old ones together
 * are smaller than the present one). A slot holds the upper half of the hash and
 * the id in one word and is published after its entry is complete: release in
 * slot_put, acquire in table_find. So a known string costs a hash, a probe and a
 * compare; only a new one takes the mutex.
 *
 * A reader on an old table can miss a new string; it then asks again under the
 * mutex. Slots are never emptied, thus a probe ends at the first empty slot. */
#include "base/intern.h"

#include "base/alloc.h"
#include "base/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum {
    CHUNK = 1024,         /* entries in a chunk */
    FIRST_SLOTS = 1024,   /* power of two */
    BLOCK_BYTES = 1 << 16 /* of text; longer texts get a block of their own */
};

static const char OTHER[] = "(other)";

struct entry {
    const char *text; /* in a block; ends in NUL */
    size_t len;       /* bytes without the NUL */
    uint64_t hash;    /* of text: for the next table */
};

struct table {
    struct table *older;      /* kept for late readers */
    uint32_t mask;            /* slots - 1 */
    _Atomic uint64_t slots[]; /* upper half of the hash << 32 | id; 0: empty */
};

struct block {
    struct block *older;
    size_t used, size; /* bytes of text[] */
    char text[];
};

struct intern {
    _Atomic(struct table *) table; /* newest; release in table_grow, acquire in readers */
    _Atomic uint32_t count;        /* highest id; release after its entry, acquire in intern_text */
    _Atomic uint64_t overflows;    /* statistics only: relaxed */
    pthread_mutex_t lock;          /* of all below */
    struct block *blocks;          /* newest first; guarded by lock */
    size_t bytes, max_bytes;       /* of texts; guarded by lock */
    uint32_t max_entries;          /* without "(other)"; constant */
    uint32_t other;                /* id of "(other)", 0: not yet; guarded by lock */
    uint32_t chunk_count;          /* constant */
    _Atomic(struct entry *)
        chunks[]; /* NULL: none yet; release in entry_make, acquire in entry_at */
};

static inline uint64_t load64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t load32(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Combines both halves of the 128-bit product, so that every bit of a and b reaches every bit of
 * the result. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Reads 16 bytes a step. The state is also added back unmultiplied: a block that makes one factor
 * zero must not erase what came before it. */
uint64_t intern_hash(const char *text, size_t len)
{
    const uint64_t k0 = 0x9e3779b97f4a7c15, k1 = 0xd1b54a32d192ed03, k2 = 0x8cb92ba72f3d8dd7;
    uint64_t h = k0 ^ len;
    const char *p = text;
    size_t n = len;
    for (; n > 16; p += 16, n -= 16)
        h = (h << 29 | h >> 35) + mix(load64(p) ^ k1, load64(p + 8) ^ h ^ k2);
    uint64_t a = 0, b = 0;
    if (n >= 8) {
        a = load64(p);
        b = load64(p + n - 8);
    } else if (n >= 4) {
        a = load32(p);
        b = load32(p + n - 4);
    } else if (n > 0) {
        a = (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n / 2] << 8 |
            (unsigned char)p[n - 1];
    }
    h ^= mix(a ^ k1, b ^ k2 ^ h);
    return mix(h ^ k0, k1);
}

static struct table *table_new(uint32_t slots, struct table *older)
{
    struct table *t = mem_zalloc(sizeof *t + sizeof t->slots[0] * slots);
    if (!t)
        return NULL;
    t->older = older;
    t->mask = slots - 1;
    return t;
}

int intern_open(struct intern **out, uint32_t max_entries, size_t max_bytes)
{
    enum { MOST = 1u << 30 };
    *out = NULL;
    if (max_entries > MOST)
        max_entries = MOST;
    uint32_t chunks = max_entries / CHUNK + 2; /* ids from 1, and one for "(other)" */
    struct intern *t = mem_zalloc(sizeof *t + sizeof t->chunks[0] * chunks);
    if (!t)
        return GPUFL_E_NOMEM;
    t->chunk_count = chunks;
    t->max_entries = max_entries;
    t->max_bytes = max_bytes;
    pthread_mutex_init(&t->lock, NULL);
    atomic_store_explicit(&t->table, table_new(FIRST_SLOTS, NULL), memory_order_relaxed);
    if (!atomic_load_explicit(&t->table, memory_order_relaxed)) {
        intern_close(t);
        return GPUFL_E_NOMEM;
    }
    *out = t;
    return 0;
}

void intern_close(struct intern *t)
{
    if (!t)
        return;
    struct table *table = atomic_load_explicit(&t->table, memory_order_relaxed);
    while (table) {
        struct table *older = table->older;
        mem_free(table);
        table = older;
    }
    while (t->blocks) {
        struct block *older = t->blocks->older;
        mem_free(t->blocks);
        t->blocks = older;
    }
    struct entry *chunk; /* chunks are made in order; nothing after the last one is touched */
    for (uint32_t i = 0; i < t->chunk_count; i++) {
        chunk = atomic_load_explicit(&t->chunks[i], memory_order_relaxed);
        if (!chunk)
            break;
        mem_free(chunk);
    }
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
}

/* Returns the entry of an id. The caller has acquired the slot or the count that made the id
 * visible. */
static struct entry *entry_at(struct intern *t, uint32_t id)
{
    return atomic_load_explicit(&t->chunks[id / CHUNK], memory_order_acquire) + id % CHUNK;
}

/* Returns the id of a string, or 0 if this table does not have it. [any] */
static uint32_t table_find(struct intern *t, const char *text, size_t len, uint64_t hash)
{
    struct table *table = atomic_load_explicit(&t->table, memory_order_acquire);
    for (uint32_t i = (uint32_t)hash & table->mask;; i = (i + 1) & table->mask) {
        uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_acquire);
        if (slot == 0)
            return 0;
        if (slot >> 32 != hash >> 32)
            continue;
        const struct entry *e = entry_at(t, (uint32_t)slot);
        if (e->len == len && memcmp(e->text, text, len) == 0)
            return (uint32_t)slot;
    }
}

static void slot_put(struct table *table, uint64_t hash, uint32_t id)
{
    uint32_t i = (uint32_t)hash & table->mask;
    while (atomic_load_explicit(&table->slots[i], memory_order_relaxed))
        i = (i + 1) & table->mask;
    atomic_store_explicit(&table->slots[i], (hash >> 32) << 32 | id, memory_order_release);
}

/* Keeps at least half of the slots empty. Caller holds the lock. */
static bool table_grow(struct intern *t, uint32_t entries)
{
    struct table *old = atomic_load_explicit(&t->table, memory_order_relaxed);
    if (entries <= old->mask / 2)
        return true;
    struct table *table = table_new((old->mask + 1) * 2, old);
    if (!table)
        return false;
    for (uint32_t id = 1; id < entries; id++)
        slot_put(table, entry_at(t, id)->hash, id);
    atomic_store_explicit(&t->table, table, memory_order_release);
    return true;
}

/* Returns a copy of text in a block. Caller holds the lock. */
static const char *text_keep(struct intern *t, const char *text, size_t len)
{
    struct block *b = t->blocks;
    if (!b || b->size - b->used <= len) {
        size_t size = len + 1 > BLOCK_BYTES / 4 ? len + 1 : BLOCK_BYTES;
        b = mem_alloc(sizeof *b + size);
        if (!b)
            return NULL;
        b->size = size;
        b->used = 0;
        if (t->blocks &&
            size != BLOCK_BYTES) { /* full at once, so it goes after the block in use */
            b->older = t->blocks->older;
            t->blocks->older = b;
        } else {
            b->older = t->blocks;
            t->blocks = b;
        }
    }
    char *copy = b->text + b->used;
    memcpy(copy, text, len);
    copy[len] = '\0';
    b->used += len + 1;
    return copy;
}

/* Publishes a new entry with the next id. 0: out of memory, and nothing changed that a reader
 * could see. Caller holds the lock. */
static uint32_t entry_make(struct intern *t, const char *text, size_t len, uint64_t hash)
{
    uint32_t id = atomic_load_explicit(&t->count, memory_order_relaxed) + 1;
    struct entry *chunk = atomic_load_explicit(&t->chunks[id / CHUNK], memory_order_relaxed);
    if (!chunk) {
        chunk = mem_array(CHUNK, sizeof *chunk);
        if (!chunk)
            return 0;
        atomic_store_explicit(&t->chunks[id / CHUNK], chunk, memory_order_release);
    }
    if (!table_grow(t, id))
        return 0;
    const char *copy = text_keep(t, text, len);
    if (!copy)
        return 0;
    chunk[id % CHUNK] = (struct entry){copy, len, hash};
    atomic_store_explicit(&t->count, id, memory_order_release);
    slot_put(atomic_load_explicit(&t->table, memory_order_relaxed), hash, id);
    return id;
}

/* Caller holds the lock. */
static uint32_t other_id(struct intern *t)
{
    atomic_fetch_add_explicit(&t->overflows, 1, memory_order_relaxed);
    if (!t->other) {
        uint64_t hash = intern_hash(OTHER, sizeof OTHER - 1);
        t->other = table_find(t, OTHER, sizeof OTHER - 1, hash);
        if (!t->other)
            t->other = entry_make(t, OTHER, sizeof OTHER - 1, hash);
    }
    return t->other;
}

static bool intern_is_full(const struct intern *t, size_t len)
{
    uint32_t own = atomic_load_explicit(&t->count, memory_order_relaxed) - (t->other != 0);
    return own >= t->max_entries || len > t->max_bytes - t->bytes;
}

uint32_t intern_id(struct intern *t, const char *text, size_t len)
{
    if (len == 0)
        return 0;
    uint64_t hash = intern_hash(text, len);
    uint32_t id = table_find(t, text, len, hash);
    if (id)
        return id;
    pthread_mutex_lock(&t->lock);
    id = table_find(t, text, len, hash);
    if (!id && intern_is_full(t, len)) {
        id = other_id(t);
    } else if (!id) {
        id = entry_make(t, text, len, hash);
        if (id)
            t->bytes += len;
    }
    pthread_mutex_unlock(&t->lock);
    return id;
}

uint32_t intern_find(struct intern *t, const char *text, size_t len)
{
    if (len == 0)
        return 0;
    uint64_t hash = intern_hash(text, len);
    uint32_t id = table_find(t, text, len, hash);
    if (id)
        return id;
    pthread_mutex_lock(&t->lock);
    id = table_find(t, text, len, hash);
    pthread_mutex_unlock(&t->lock);
    return id;
}

uint32_t intern_str(struct intern *t, const char *text)
{
    return text ? intern_id(t, text, strlen(text)) : 0;
}

const char *intern_text(struct intern *t, uint32_t id, size_t *len)
{
    if (id == 0 || id > intern_count(t))
        return NULL;
    const struct entry *e = entry_at(t, id);
    if (len)
        *len = e->len;
    return e->text;
}

uint32_t intern_count(struct intern *t)
{
    return atomic_load_explicit(&t->count, memory_order_acquire);
}

uint64_t intern_overflows(struct intern *t)
{
    return atomic_load_explicit(&t->overflows, memory_order_relaxed);
}
