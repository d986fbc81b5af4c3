/* code.c - says which code objects the frames of a look run.
 *
 * A code object can be freed between two looks, and another one can get its address, with equal
 * pointers inside. So what is remembered of an address is used only if its fingerprint, computed
 * from new copies, has not changed: the pointers and numbers of the code object, and something that
 * differs between two objects at one address (see python/code.c): the version number that 3.12 and
 * later give each code object, before that the hash or the bytes of name, file and line table. All
 * fingerprints of a look are copied by one call.
 *
 * A new code object is read in full, and its fingerprint is read again afterwards: an object that
 * changed meanwhile is not kept. Code objects are read after the looks: one whose fingerprint was
 * known before the looks and is the same after them was there all the time. A new one is fresh, and
 * is used from the next pair of looks on. */
#include "stack/other/read.h"

#include "base/intern.h"

enum {
    BATCH = 200,          /* code objects of one call: four pieces each at most */
    WAYS = 4,             /* places of one address in the table */
    PLACE_MOST = 1 << 28, /* as in python.c */
    UNIT_BYTES = 2,
    OWNER_GENERATOR = 1,
    FILE_MOST = 512, /* bytes of an object without hash that belong to a fingerprint */
    TABLE_PRINT = 1024,
    HEAD = 16, /* size and hash of an object, from OBJECT_SIZE on */
};

/* Holds the pieces of one code object in a batch. */
struct asked {
    struct other_code *code;
    int head, name, file, table; /* -1: not asked for */
};

static uint64_t code_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static uint32_t code_half(const char *at)
{
    uint32_t half;
    memcpy(&half, at, sizeof(half));
    return half;
}

static size_t code_head_bytes(const struct python_layout *l)
{
    return l->code_begin + l->code_bytes - OBJECT_TYPE;
}

/* Does for a copy that begins at OBJECT_TYPE what python_view does. */
static bool code_view(const struct python_layout *l, const char *copy, uintptr_t code,
                      struct python_view *v)
{
    const char *c = copy - OBJECT_TYPE;
    if (code_word(c + OBJECT_TYPE) != l->code_type)
        return false;
    *v = (struct python_view){
        .code = code,
        .file = code_word(c + l->file),
        .name = code_word(c + l->name),
        .table = code_word(c + l->table),
        .first_line = code_half(c + l->first_line),
        .version = l->version ? code_half(c + l->version) : 0,
        .units = l->code_start ? code_word(c + OBJECT_SIZE) : 0,
        .traceable = l->traceable ? code_half(c + l->traceable) : 0,
    };
    return v->first_line < LINE_MOST && v->units <= PLACE_MOST;
}

static uint64_t code_print_of(const struct python_view *v)
{
    const uint64_t words[] = {v->code,       v->file,    v->name,  v->table,
                              v->first_line, v->version, v->units, v->traceable};
    return intern_hash((const char *)words, sizeof(words));
}

static uint64_t code_print_more(uint64_t print, const char *bytes, size_t n)
{
    return (print ^ intern_hash(bytes, n)) * 0x9e3779b97f4a7c15u + n;
}

/* Returns how many bytes of an object are needed, by its size and hash. data: where its bytes
 * begin. */
static uint32_t code_print_bytes(const char head[HEAD], uint32_t data, uint64_t most)
{
    uint64_t size = code_word(head), hash = code_word(head + 8);
    if (hash != UINT64_MAX)
        return HEAD;
    return data - OBJECT_SIZE + (uint32_t)(size < most ? size : most);
}

/* Reads the head and the other parts of the fingerprint, one by one. False: unreadable. */
static bool code_read(struct other_reader *r, uintptr_t address, struct other_code *e)
{
    const struct python_layout *l = r->l;
    const struct python_reader *d = &r->direct;
    char bytes[TABLE_PRINT + FILE_MOST];
    if (!d->read(d->with, bytes, address + OBJECT_TYPE, code_head_bytes(l)) ||
        !code_view(l, bytes, address, &e->view))
        return false;
    e->print = code_print_of(&e->view);
    e->file_bytes = e->table_bytes = HEAD;
    if (e->view.version || !e->view.name)
        return true;
    const struct {
        uintptr_t object;
        uint32_t *bytes, data, most;
    } parts[] = {{e->view.name, NULL, 0, 0},
                 {e->view.file, &e->file_bytes, l->text_head, FILE_MOST},
                 {e->view.table, &e->table_bytes, BYTES_DATA, TABLE_PRINT}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        uintptr_t from = parts[i].object + OBJECT_SIZE;
        size_t n = HEAD;
        if (!d->read(d->with, bytes, from, HEAD))
            return false;
        if (parts[i].bytes)
            n = *parts[i].bytes = code_print_bytes(bytes, parts[i].data, parts[i].most);
        if (n > HEAD && !d->read(d->with, bytes, from, n))
            return false;
        e->print = code_print_more(e->print, bytes, n);
    }
    return true;
}

/* Reads the content into the reader; *key becomes its key. */
static bool code_content(struct other_reader *r, const struct other_code *e, uint64_t *key)
{
    if (!python_content_read(r->l, &r->direct, &e->view, &r->content))
        return false;
    *key = python_content_key(&e->view, &r->content);
    return true;
}

/* Reads a code object in full and keeps it. False: unreadable, or it changed meanwhile. Without
 * version numbers, if this thread slept, an equal object can be there again after another one: so
 * the content is read twice. */
static bool code_learn(struct other_reader *r, uintptr_t address, struct other_code *e)
{
    struct other_code again = {.code = address};
    bool named, twice;
    e->code = 0;
    if (!code_read(r, address, e))
        return false;
    named = e->view.name != 0; /* a trampoline has no name */
    twice = named && !e->view.version;
    e->key = 1;
    if ((named && !code_content(r, e, &e->key)) || (twice && !code_content(r, e, &again.key)) ||
        (twice && again.key != e->key))
        return false;
    if (!code_read(r, address, &again) || again.print != e->print)
        return false;
    if (named)
        python_content_keep(r->l, &e->view, &r->content, e->key);
    e->code = address;
    return true;
}

/* Returns true if the copies show the code object that is remembered. */
static bool code_is_known(const struct other_reader *r, const struct asked *a)
{
    const struct other_code *e = a->code;
    const char *head = other_piece(r, a->head), *name = other_piece(r, a->name);
    const char *file = other_piece(r, a->file), *table = other_piece(r, a->table);
    struct python_view v;
    if (!head || !code_view(r->l, head, e->view.code, &v))
        return false;
    uint64_t print = code_print_of(&v);
    if (!v.version && v.name) {
        if (!name || !file || !table)
            return false;
        print = code_print_more(print, name, HEAD);
        print = code_print_more(print, file, e->file_bytes);
        print = code_print_more(print, table, e->table_bytes);
    }
    return print == e->print;
}

static struct asked code_ask(struct other_reader *r, struct other_code *e)
{
    struct asked a = {e, -1, -1, -1, -1};
    a.head = other_ask(r, e->code + OBJECT_TYPE, code_head_bytes(r->l));
    if (!e->view.version && e->view.name) {
        a.name = other_ask(r, e->view.name + OBJECT_SIZE, HEAD);
        a.file = other_ask(r, e->view.file + OBJECT_SIZE, e->file_bytes);
        a.table = other_ask(r, e->view.table + OBJECT_SIZE, e->table_bytes);
    }
    return a;
}

/* Returns the place of a code object in the table; NULL: this batch uses all its places. */
static struct other_code *code_slot(struct other_reader *r, uintptr_t code)
{
    size_t at = (code >> 4) * 0x9e3779b97f4a7c15u >> 40;
    struct other_code *oldest = NULL;
    for (size_t i = 0; i < WAYS; i++) {
        struct other_code *e = &r->codes[(at + i) % OTHER_CODES];
        if (e->view.code == code)
            return e;
        if (e->round != r->round && (!oldest || r->round - e->round > r->round - oldest->round))
            oldest = e;
    }
    if (oldest)
        *oldest = (struct other_code){.view = {.code = code}, .round = r->round - 1};
    return oldest;
}

/* Sets the frame's function and place by its code object. */
static void code_fill(const struct python_layout *l, struct other_frame *f,
                      const struct other_code *e)
{
    const struct python_view *v = &e->view;
    f->bad = !e->good;
    f->fresh = e->fresh;
    if (f->bad)
        return;
    f->key = e->key;
    if (l->chain == CHAIN_OBJECTS) {
        f->place = (int64_t)(int32_t)f->at * (l->lines == LINES_RANGES ? UNIT_BYTES : 1);
        f->early = f->place < 0;
        f->bad = f->place >= PLACE_MOST;
        return;
    }
    f->place = (int64_t)(f->at - (f->code + l->code_start));
    f->bad = f->place < -UNIT_BYTES || f->place % UNIT_BYTES ||
             f->place >= (int64_t)v->units * UNIT_BYTES;
    bool before = f->owner != OWNER_GENERATOR && f->place < (int64_t)v->traceable * UNIT_BYTES;
    f->hidden = before || !v->name;
    f->early = before && v->name;
}

/* Copies the pieces that were asked for, and reads the code objects that are not known yet. */
static void code_settle(struct other_reader *r, const struct asked *asked, unsigned n)
{
    bool known[BATCH];
    other_run(r);
    for (unsigned i = 0; i < n; i++)
        known[i] = asked[i].head >= 0 && asked[i].code->code && code_is_known(r, &asked[i]);
    for (unsigned i = 0; i < n; i++) {
        struct other_code *e = asked[i].code;
        e->good = known[i] || code_learn(r, e->view.code, e);
        if (!known[i])
            e->learned = r->pair;
        e->fresh = e->learned == r->pair;
    }
}

bool other_codes(struct other_reader *r, struct other_look *look)
{
    struct asked asked[BATCH];
    bool known = true;
    for (size_t i = 0, begin = 0; i < look->n; begin = i) {
        unsigned n = 0;
        other_begin(r);
        r->round++;
        for (; i < look->n && n < BATCH; i++) {
            struct other_code *e = code_slot(r, look->frames[i].code);
            if (!e)
                break;
            r->entry[i] = e;
            if (e->round == r->round)
                continue;
            e->round = r->round;
            asked[n++] = e->code ? code_ask(r, e) : (struct asked){e, -1, -1, -1, -1};
        }
        code_settle(r, asked, n);
        for (size_t k = begin; k < i; k++) {
            code_fill(r->l, &look->frames[k], r->entry[k]);
            known &= !look->frames[k].fresh;
        }
    }
    return known;
}
