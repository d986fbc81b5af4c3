/* code.c - keeps code objects: a key of their content, and a copy kept at first sight.
 *
 * Addresses of code objects are reused, often with the same pointers inside, for example by a
 * program that compiles text in a loop. So a frame is identified by a hash of its code's content
 * (name, file, first line, line table), which is too slow to compute at each walk. The hash is
 * remembered under a fingerprint: the addresses of the code and its parts, plus something that
 * differs between two objects at one address. That is co_version if the interpreter numbers its
 * code objects (3.12 and later), else the hash that str and bytes remember, else some of their
 * bytes.
 *
 * The thread that runs the code reads the content in place. Another thread passes a reader that
 * copies, and stores what it has verified (python_content_*).
 *
 * Kept copies are in an arena that only grows, up to a limit, and are found by key in a table of
 * pointers that are stored once: there is no lock, and nothing to repair after a fork. If two
 * threads store the same copy, the memory of the second is wasted. Called by any thread. */
#include "stack/common/safe.h"
#include "stack/python/inside.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum {
    MEMO_LINES = 1024,      /* fingerprints remembered, in lines */
    MEMO_WAYS = 4,          /* slots per line */
    KEPT_SLOTS = 32768,     /* slots of the table */
    KEPT_MOST = 16384,      /* how many copies it holds */
    ARENA_BYTES = 16 << 20, /* address space; only the used part becomes memory */
    SAMPLE_BYTES = 256,     /* bytes of an object without hash that are read whole */
    CHUNK = 256,            /* bytes read at once */
};

/* Lists the terms of a fingerprint. */
enum {
    SUM_ADDRESSES,
    SUM_PARTS,
    SUM_NUMBERS,
    SUM_LIFE,
    SUM_FILE,
    SUM_NAME,
    SUM_TABLE,
    SUM_BYTES, /* and on: terms of the words of an object */
};

/* A slot is valid for the fingerprint check ^ key: words of two different writers match none. A
 * line has four slots: with one slot, two functions of a stack could evict each other all the time.
 */
static struct memo_line {
    _Alignas(64) struct {
        _Atomic uint64_t check, key; /* relaxed: each slot proves itself */
    } slots[MEMO_WAYS];
} memo[MEMO_LINES];
static _Atomic unsigned memo_turn; /* the slot that the next new fingerprint takes; relaxed */

struct python_kept {
    struct stack_code code; /* first: the part that others see */
    uint64_t key;
    enum python_lines_format format;
    uint32_t table_size;
    const uint8_t *table;
};

static _Atomic(struct python_kept *) kept[KEPT_SLOTS]; /* release on store, acquire on load */
static _Atomic uint32_t kept_count;
static _Atomic size_t arena_used;
static _Atomic(char *) arena; /* relaxed: a new mapping is zero for every thread */

static inline uint64_t code_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 m = (unsigned __int128)(a ^ 0x9e3779b97f4a7c15) * (b ^ 0xc2b2ae3d27d4eb4f);
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t code_mix_bytes(uint64_t h, const char *bytes, size_t n)
{
    uint64_t word = 0;
    for (; n >= sizeof(word); bytes += sizeof(word), n -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        h = code_mix(h, word);
    }
    word = 0;
    memcpy(&word, bytes, n);
    return code_mix(h ^ n, word);
}

bool python_look(struct python_sight *s, uintptr_t first, uintptr_t last)
{
    if (last - first > 1)
        return false;
    for (uintptr_t p = first; p <= last; p++) {
        if (!safe_there((const void *)(p << SIGHT_PAGE_BITS)))
            return false;
        s->pages[p % SIGHT_PAGES] = ~p;
    }
    return true;
}

/* Holds a fingerprint: a sum of pairs of words times factors of their own, folded once at the
 * end. */
typedef unsigned __int128 code_sum;

static inline __attribute__((always_inline)) code_sum code_term(uint64_t nth, uint64_t a,
                                                                uint64_t b)
{
    return (code_sum)(a ^ 0x9e3779b97f4a7c15 * (2 * nth + 1)) *
           (b ^ 0xc2b2ae3d27d4eb4f * (2 * nth + 1));
}

/* Sums the content of an object without a hash of its own: all bytes, or both ends. The last 16
 * bytes may begin before the data, where the object's size and hash are. 0: unreadable. */
static __attribute__((noinline)) code_sum code_sum_bytes(struct python_sight *s, uintptr_t from,
                                                         uint64_t size)
{
    uint64_t nth = SUM_BYTES;
    code_sum sum = code_term(nth++, size, 0);
    if (size > SAMPLE_BYTES) {
        uintptr_t end = from + size;
        size = SAMPLE_BYTES / 2;
        if (!python_see(s, end - size, size))
            return 0;
        for (uintptr_t at = end - size; at < end; at += 16)
            sum += code_term(nth++, python_word(at), python_word(at + 8));
    }
    if (!python_see(s, from - 16, size + 16))
        return 0;
    for (uint64_t i = 0; i + 16 < size; i += 16)
        sum += code_term(nth++, python_word(from + i), python_word(from + i + 8));
    sum += code_term(nth, python_word(from + size - 16), python_word(from + size - 8));
    return sum | 1;
}

/* Sums the content of a str or bytes, by its hash if it has one. 0: unreadable. */
static inline __attribute__((always_inline)) code_sum
code_sum_object(struct python_sight *s, uintptr_t object, uint32_t data, uint64_t nth)
{
    if (!python_see(s, object + OBJECT_SIZE, 2 * sizeof(uint64_t)))
        return 0;
    uint64_t size = python_word(object + OBJECT_SIZE), hash = python_word(object + OBJECT_HASH);
    return hash != UINT64_MAX ? code_term(nth, size, hash) | 1
                              : code_sum_bytes(s, object + data, size);
}

static char *code_put_utf8(char *to, uint32_t c)
{
    if (c >= 0xdc80 && c <= 0xdcff) { /* a byte of a file name that is not UTF-8 */
        *to++ = (char)(c - 0xdc00);
    } else if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        if (c >= 0xd800 && c < 0xe000)
            c = 0xfffd;
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    } else {
        *to++ = (char)(0xf0 | (c >> 18 & 7));
        *to++ = (char)(0x80 | (c >> 12 & 63));
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    }
    return to;
}

static bool code_in_place(void *with, void *to, uintptr_t from, size_t n)
{
    (void)with;
    return safe_read(to, (const void *)from, n);
}

static const struct python_reader in_place = {.read = code_in_place};

/* Copies a str as UTF-8 with a NUL at the end; cut if it does not fit. Returns its bytes without
 * the NUL; -1: unreadable, or not a str as code objects have them. */
static long code_text(const struct python_layout *l, const struct python_reader *r,
                      uintptr_t object, char *out, size_t size)
{
    char chunk[CHUNK], *to = out, *end = out + size - 4;
    uint64_t length;
    uint32_t state;
    if (!r->read(r->with, &length, object + OBJECT_SIZE, sizeof(length)) ||
        !r->read(r->with, &state, object + TEXT_STATE, sizeof(state)))
        return -1;
    unsigned kind = state >> 2 & 7, compact = state >> 5 & 1, ascii = state >> 6 & 1;
    if (!compact || (kind != 1 && kind != 2 && kind != 4) || (ascii && kind != 1) ||
        length > INT32_MAX)
        return -1;
    uintptr_t from = object + (ascii ? l->text_head : l->text_wide);
    for (uint64_t i = 0; i < length && to < end;) {
        uint64_t n = length - i < CHUNK / kind ? length - i : CHUNK / kind;
        if (!r->read(r->with, chunk, from + i * kind, n * kind))
            return -1;
        for (uint64_t k = 0; k < n && to < end; k++) {
            uint32_t c = 0;
            memcpy(&c, chunk + k * kind, kind);
            to = code_put_utf8(to, c ? c : 0xfffd);
        }
        i += n;
    }
    *to = '\0';
    return to - out;
}

/* Returns the hash of a code object's kept content; 0: unreadable. */
static __attribute__((noinline)) uint64_t code_content(const struct python_layout *l,
                                                       const struct python_view *v)
{
    char text[PYTHON_FILE_BYTES];
    uint64_t size, h = code_mix(v->first_line, v->units);
    long n = code_text(l, &in_place, v->name, text, PYTHON_NAME_BYTES);
    if (n < 0)
        return 0;
    h = code_mix_bytes(h, text, (size_t)n);
    if ((n = code_text(l, &in_place, v->file, text, sizeof(text))) < 0)
        return 0;
    h = code_mix_bytes(h, text, (size_t)n);
    if (!safe_read(&size, (const char *)v->table + OBJECT_SIZE, sizeof(size)))
        return 0;
    const char *from = (const char *)v->table + BYTES_DATA;
    for (uint64_t i = 0; i < size && i < PYTHON_TABLE_MOST; i += sizeof(text)) {
        size_t part = size - i < sizeof(text) ? (size_t)(size - i) : sizeof(text);
        if (!safe_read(text, from + i, part))
            return 0;
        h = code_mix_bytes(h, text, part);
    }
    return h ? h : 1;
}

/* Returns a sum that differs between two objects at one address, for versions without co_version.
 * 0: unreadable. */
static inline code_sum code_life(const struct python_layout *l, struct python_sight *s,
                                 const struct python_view *v)
{
    if (__builtin_expect(s->file != v->file, 0)) {
        s->file_sum = code_sum_object(s, v->file, l->text_head, SUM_FILE);
        s->file = v->file;
    }
    code_sum name = code_sum_object(s, v->name, l->text_head, SUM_NAME);
    code_sum table = code_sum_object(s, v->table, BYTES_DATA, SUM_TABLE);
    return name && table && s->file_sum ? (name + table + s->file_sum) | 1 : 0;
}

static __attribute__((noinline)) uint64_t code_remember(const struct python_layout *l,
                                                        const struct python_view *v, uint64_t print,
                                                        struct memo_line *line)
{
    unsigned i = atomic_fetch_add_explicit(&memo_turn, 1, memory_order_relaxed) % MEMO_WAYS;
    uint64_t key = code_content(l, v);
    if (key) {
        atomic_store_explicit(&line->slots[i].key, key, memory_order_relaxed);
        atomic_store_explicit(&line->slots[i].check, key ^ print, memory_order_relaxed);
    }
    return key;
}

uint64_t python_key(const struct python_layout *l, struct python_sight *s,
                    const struct python_view *v)
{
    code_sum life = v->version ? code_term(SUM_LIFE, v->version, 0) | 1 : code_life(l, s, v);
    if (!life)
        return 0;
    code_sum sum = life + code_term(SUM_ADDRESSES, v->code, v->name) +
                   code_term(SUM_PARTS, v->file, v->table) +
                   code_term(SUM_NUMBERS, v->first_line, v->units);
    uint64_t print = (uint64_t)sum ^ (uint64_t)(sum >> 64);
    struct memo_line *line = &memo[print % MEMO_LINES];
    for (int i = 0; i < MEMO_WAYS; i++) {
        uint64_t key = atomic_load_explicit(&line->slots[i].key, memory_order_relaxed);
        if ((atomic_load_explicit(&line->slots[i].check, memory_order_relaxed) ^ key) == print &&
            key)
            return key;
    }
    return code_remember(l, v, print, line);
}

/* Returns the arena, mapped when the first copy needs it: leak checkers would read a static array
 * of that size at every exit. NULL: no memory. */
static char *code_arena(void)
{
    char *there = atomic_load_explicit(&arena, memory_order_relaxed);
    if (there)
        return there;
    char *made = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    if (atomic_compare_exchange_strong_explicit(&arena, &there, made, memory_order_relaxed,
                                                memory_order_relaxed))
        return made;
    munmap(made, ARENA_BYTES); /* another thread was first */
    return there;
}

static void *code_take(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    char *from = code_arena();
    if (!from)
        return NULL;
    size_t used = atomic_load_explicit(&arena_used, memory_order_relaxed);
    do {
        if (bytes > ARENA_BYTES - used)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&arena_used, &used, used + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return from + used;
}

/* Returns the kept copy of a key, or the slot where it belongs. */
static struct python_kept *code_find(uint64_t key, size_t *slot)
{
    for (size_t i = key % KEPT_SLOTS;; i = (i + 1) % KEPT_SLOTS) {
        struct python_kept *k = atomic_load_explicit(&kept[i], memory_order_acquire);
        if (!k || k->key == key) {
            *slot = i;
            return k;
        }
    }
}

/* Returns a new copy in the arena, with name and file; the caller fills its table. NULL: the arena
 * is full. */
static struct python_kept *code_make(const struct python_content *c, size_t table_size)
{
    struct python_kept *k =
        code_take(sizeof(*k) + (size_t)c->name_size + (size_t)c->file_size + 2 + table_size);
    if (!k)
        return NULL;
    char *to = (char *)(k + 1);
    k->code.name = memcpy(to, c->name, (size_t)c->name_size + 1);
    to += c->name_size + 1;
    k->code.file = memcpy(to, c->file, (size_t)c->file_size + 1);
    to += c->file_size + 1;
    k->table = (const uint8_t *)to;
    k->table_size = (uint32_t)table_size;
    return k;
}

/* Copies a code object into the arena; NULL: no room, unreadable. */
static struct python_kept *code_copy(const struct python_layout *l, const struct python_view *v)
{
    struct python_content c;
    uint64_t size;
    c.name_size = code_text(l, &in_place, v->name, c.name, sizeof(c.name));
    c.file_size = code_text(l, &in_place, v->file, c.file, sizeof(c.file));
    if (c.name_size < 0 || c.file_size < 0 ||
        !safe_read(&size, (const char *)v->table + OBJECT_SIZE, sizeof(size)))
        return NULL;
    struct python_kept *k = code_make(&c, size > PYTHON_TABLE_MOST ? 0 : size);
    if (!k || !safe_read((uint8_t *)k->table, (const char *)v->table + BYTES_DATA, k->table_size))
        return NULL;
    return k;
}

/* Returns a number for another copy; 0: there is the greatest number of copies already. */
static uint32_t code_number(void)
{
    uint32_t number = atomic_load_explicit(&kept_count, memory_order_relaxed);
    do {
        if (number == KEPT_MOST)
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(&kept_count, &number, number + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return number + 1;
}

/* Stores a copy under its key. Returns the stored copy: that of another thread if it was first. */
static const struct stack_code *code_store(const struct python_layout *l,
                                           const struct python_view *v, struct python_kept *k,
                                           uint64_t key, size_t slot)
{
    struct python_kept *there = NULL;
    k->key = key;
    k->format = l->lines;
    k->code.first_line = (int)v->first_line;
    while (!atomic_compare_exchange_strong_explicit(&kept[slot], &there, k, memory_order_release,
                                                    memory_order_acquire)) {
        there = code_find(key, &slot);
        if (there)
            return &there->code;
    }
    return &k->code;
}

static __attribute__((noinline)) const struct stack_code *code_keep(const struct python_frame *f,
                                                                    size_t slot)
{
    const struct python_layout *l = python_layout();
    struct python_sight sight = {.file = 0};
    struct python_view v;
    /* Read again: a frame that has changed meanwhile would name another function. */
    if (!l || !python_view(l, &sight, (uintptr_t)f->code, &v) || code_content(l, &v) != f->key)
        return NULL;
    uint32_t number = code_number();
    struct python_kept *k = number ? code_copy(l, &v) : NULL;
    if (!k)
        return NULL;
    k->code.number = number;
    return code_store(l, &v, k, f->key, slot);
}

bool python_content_read(const struct python_layout *l, const struct python_reader *r,
                         const struct python_view *v, struct python_content *c)
{
    c->name_size = code_text(l, r, v->name, c->name, sizeof(c->name));
    c->file_size = code_text(l, r, v->file, c->file, sizeof(c->file));
    if (c->name_size < 0 || c->file_size < 0 ||
        !r->read(r->with, &c->table_size, v->table + OBJECT_SIZE, sizeof(c->table_size)))
        return false;
    for (uint64_t i = 0; i < c->table_size && i < PYTHON_TABLE_MOST; i += PYTHON_FILE_BYTES) {
        uint64_t rest = c->table_size - i;
        size_t n = rest < PYTHON_FILE_BYTES ? (size_t)rest : PYTHON_FILE_BYTES;
        if (!r->read(r->with, c->table + i, v->table + BYTES_DATA + i, n))
            return false;
    }
    return true;
}

uint64_t python_content_key(const struct python_view *v, const struct python_content *c)
{
    uint64_t h = code_mix(v->first_line, v->units);
    h = code_mix_bytes(h, c->name, (size_t)c->name_size);
    h = code_mix_bytes(h, c->file, (size_t)c->file_size);
    for (uint64_t i = 0; i < c->table_size && i < PYTHON_TABLE_MOST; i += PYTHON_FILE_BYTES) {
        uint64_t rest = c->table_size - i;
        h = code_mix_bytes(h, (const char *)c->table + i,
                           rest < PYTHON_FILE_BYTES ? (size_t)rest : PYTHON_FILE_BYTES);
    }
    return h ? h : 1;
}

void python_content_keep(const struct python_layout *l, const struct python_view *v,
                         const struct python_content *c, uint64_t key)
{
    size_t slot;
    uint32_t number;
    if (code_find(key, &slot) || !(number = code_number()))
        return;
    struct python_kept *k =
        code_make(c, c->table_size > PYTHON_TABLE_MOST ? 0 : (size_t)c->table_size);
    if (!k)
        return;
    memcpy((uint8_t *)k->table, c->table, k->table_size);
    k->code.number = number;
    code_store(l, v, k, key, slot);
}

const struct stack_code *python_code(const struct python_frame *f)
{
    size_t slot;
    if (!f->key)
        return NULL;
    struct python_kept *k = code_find(f->key, &slot);
    if (k)
        return &k->code;
    return f->code ? code_keep(f, slot) : NULL;
}

int python_line(const struct stack_code *code, uint32_t place)
{
    const struct python_kept *k = (const struct python_kept *)code;
    return python_lines_find(k->format, k->table, k->table_size, code->first_line, place);
}

size_t python_bytes(void)
{
    return atomic_load_explicit(&arena_used, memory_order_relaxed);
}
