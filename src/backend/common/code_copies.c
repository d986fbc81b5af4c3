/* code_copies.c - see code_copies.h.
 *
 * Objects that were seen before are found by a hash of all their bytes, in a table from which
 * nothing is removed: objects that differ in one constant are different objects. */
#include "backend/common/code_copies.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/queue.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SEEN = 1 << 15, PROBES = 64, KEPT_MAX = 1 << 17 };

struct copy { /* at the beginning of its mapping */
    struct queue_node node;
    size_t mapped, size;
    uint64_t hash;
};

static struct {
    _Atomic uint64_t seen[SEEN]; /* 0: free */
    struct queue waiting;
    _Atomic uint64_t waiting_bytes;
    _Atomic uint64_t reported;                   /* modules */
    _Atomic uint64_t too_large, no_room, unread; /* objects that were not copied */

    struct code_copy *kept; /* [collector] by checksum */
    size_t kept_count, kept_cap;
    uint64_t kept_bytes, unkept, said; /* [collector] said: how many unkept ones are reported */
} me = {.waiting = QUEUE_INIT};

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 32) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

/* Keeps four independent sums, so that hashing runs at the speed of memory. */
static uint64_t hash_of(const void *bytes, size_t size)
{
    uint64_t lane[4] = {size, 1, 2, 3}, word[4];
    const char *at = bytes;
    size_t left = size;
    for (; left >= sizeof word; at += sizeof word, left -= sizeof word) {
        memcpy(word, at, sizeof word);
        for (int i = 0; i < 4; i++)
            lane[i] = ((lane[i] ^ word[i]) * 0x9FB21C651E98DF25u) ^ lane[i] >> 31;
    }
    memset(word, 0, sizeof word);
    memcpy(word, at, left);
    for (int i = 0; i < 4; i++)
        lane[i] = mix(lane[i] ^ word[i]);
    return mix(lane[0] ^ mix(lane[1] ^ mix(lane[2] ^ mix(lane[3])))) | 1;
}

/* Returns true if these bytes are new. If the table is full, nothing is new. */
static bool first_time(uint64_t hash)
{
    for (size_t i = 0; i < PROBES; i++) {
        _Atomic uint64_t *slot = &me.seen[((hash >> 17) + i) & (SEEN - 1)];
        uint64_t at = atomic_load_explicit(slot, memory_order_relaxed);
        if (at == 0 && atomic_compare_exchange_strong_explicit(
                           slot, &at, hash, memory_order_relaxed, memory_order_relaxed))
            return true;
        if (at == hash)
            return false;
    }
    atomic_fetch_add_explicit(&me.no_room, 1, memory_order_relaxed);
    return false;
}

uint64_t code_copies_reported(void)
{
    return atomic_load_explicit(&me.reported, memory_order_relaxed);
}

static void count(_Atomic uint64_t *n)
{
    atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

/* Counts a reported object. False: it is too large, which is counted as well. */
static bool fits(size_t size)
{
    count(&me.reported);
    if (size <= CODE_COPY_MOST)
        return true;
    count(&me.too_large);
    return false;
}

/* Returns room for a copy; NULL: there is no memory. */
static struct copy *map_copy(size_t size)
{
    size_t bytes = sizeof(struct copy) + size;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    struct copy *c = p;
    c->mapped = bytes;
    c->size = size;
    return c;
}

/* Reserves room among the waiting copies. False: there is none. */
static bool reserve(size_t size)
{
    size_t bytes = sizeof(struct copy) + size;
    uint64_t now =
        atomic_fetch_add_explicit(&me.waiting_bytes, bytes, memory_order_relaxed) + bytes;
    if (now <= CODE_COPIES_WAITING_MOST)
        return true;
    atomic_fetch_sub_explicit(&me.waiting_bytes, bytes, memory_order_relaxed);
    return false;
}

/* Copies code for the collector, or counts an object without room. */
static void copy_code(const void *code, size_t size, uint64_t hash)
{
    bool has_room = reserve(size);
    struct copy *c = has_room ? map_copy(size) : NULL;
    if (!c) {
        if (has_room)
            atomic_fetch_sub_explicit(&me.waiting_bytes, sizeof *c + size, memory_order_relaxed);
        count(&me.no_room);
        return;
    }
    c->hash = hash;
    memcpy(c + 1, code, size);
    queue_push(&me.waiting, &c->node);
}

uint64_t code_copies_loaded(const void *code, size_t size)
{
    if (!code || !size || !fits(size))
        return 0;
    uint64_t hash = hash_of(code, size);
    if (first_time(hash))
        copy_code(code, size, hash);
    return hash;
}

/* The file is read directly into the waiting copy, so that the object is in memory only once. */
uint64_t code_copies_read(int fd, off_t offset, size_t size)
{
    if (!fits(size))
        return 0;
    struct copy *c = size ? map_copy(size) : NULL;
    if (!c) {
        count(size ? &me.no_room : &me.unread);
        return 0;
    }
    bool whole = pread(fd, c + 1, size, offset) == (ssize_t)size;
    if (!whole)
        count(&me.unread);
    c->hash = whole ? hash_of(c + 1, size) : 0;
    uint64_t hash = c->hash;
    bool wanted = whole && first_time(hash), has_room = wanted && reserve(size);
    if (wanted && !has_room)
        count(&me.no_room);
    if (has_room)
        queue_push(&me.waiting, &c->node);
    else
        munmap(c, c->mapped);
    return hash;
}

void code_copies_unread(void)
{
    count(&me.reported);
    count(&me.unread);
}

static void copy_free(struct copy *c)
{
    atomic_fetch_sub_explicit(&me.waiting_bytes, c->mapped, memory_order_relaxed);
    munmap(c, c->mapped);
}

void code_copies_begin(void)
{
    struct queue_node *next;
    for (struct queue_node *n = queue_take(&me.waiting); n; n = next) {
        next = n->next;
        copy_free((struct copy *)n);
    }
    for (size_t i = 0; i < SEEN; i++)
        atomic_store_explicit(&me.seen[i], 0, memory_order_relaxed);
    atomic_store_explicit(&me.too_large, 0, memory_order_relaxed);
    atomic_store_explicit(&me.no_room, 0, memory_order_relaxed);
    atomic_store_explicit(&me.unread, 0, memory_order_relaxed);
    mem_free(me.kept);
    me.kept = NULL;
    me.kept_count = me.kept_cap = 0;
    me.kept_bytes = me.unkept = me.said = 0;
}

/* Returns the index of a checksum, or the index at which it has to be added. */
static size_t place_of(uint64_t crc)
{
    return ORDER_PLACE(me.kept_count, i, me.kept[i].crc < crc);
}

const struct code_copy *code_copies_find(uint64_t crc)
{
    size_t at = place_of(crc);
    return at < me.kept_count && me.kept[at].crc == crc ? &me.kept[at] : NULL;
}

static void keep(const struct code_naming *n, struct sink *s, const struct copy *c)
{
    uint64_t crc = c->hash;
    char file[32];
    if ((n->checksum && !n->checksum(n->arg, c + 1, c->size, &crc)) ||
        me.kept_bytes + c->size > CODE_COPIES_KEPT_MOST) {
        me.unkept++;
        return;
    }
    if (code_copies_find(crc))
        return;
    snprintf(file, sizeof file, "%016" PRIx64 "%s", crc, n->ending);
    uint32_t name = s->ops->keep(s, file, c + 1, c->size);
    if (!name || mem_grow(&me.kept, &me.kept_cap, me.kept_count + 1, sizeof *me.kept, KEPT_MAX)) {
        me.unkept++;
        return;
    }
    size_t at = place_of(crc);
    memmove(me.kept + at + 1, me.kept + at, (me.kept_count - at) * sizeof *me.kept);
    me.kept[at] = (struct code_copy){.crc = crc, .size = (int64_t)c->size, .file = name};
    me.kept_count++;
    me.kept_bytes += c->size;
}

static void say_missing(struct sink *s)
{
    uint64_t large = atomic_load_explicit(&me.too_large, memory_order_relaxed);
    uint64_t room = atomic_load_explicit(&me.no_room, memory_order_relaxed);
    uint64_t unkept = me.unkept + atomic_load_explicit(&me.unread, memory_order_relaxed);
    if (me.said || !(large + room + unkept))
        return;
    me.said = 1;
    const struct {
        uint64_t count;
        const char *why;
    } reasons[] = {{large, "too large"},
                   {room, "for lack of room"},
                   {unkept, "that could not be written or read"}};
    char text[160] = "";
    size_t len = 0;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].count)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%" PRIu64 " module%s %s",
                                    len ? ", " : "", reasons[i].count,
                                    reasons[i].count == 1 ? "" : "s", reasons[i].why);
    s->ops->message(s, SEVERITY_NOTE, "code.not_kept",
                    "device code was not kept, so that it has no lines: %s", text);
}

void code_copies_drain(const struct code_naming *names, struct sink *s)
{
    struct queue_node *next;
    for (struct queue_node *n = queue_take(&me.waiting); n; n = next) {
        next = n->next;
        keep(names, s, (struct copy *)n);
        copy_free((struct copy *)n);
    }
    say_missing(s);
}
