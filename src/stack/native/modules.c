/* modules.c - leads from an address to the file mapped there, without a lock.
 *
 * glibc 2.35 has _dl_find_object: without locks, signal-safe, and always current. Older versions
 * have only dl_iterate_phdr, which takes the loader's lock: for them a snapshot is kept. The
 * collector renews it at every flush, and a thread that meets an address that is not in it renews
 * it once between two flushes. There are two copies: one is read while the other is written; a
 * reader sees by a count that its copy was written meanwhile.
 *
 * A module is described once, when it is met first: from its mapping, which belongs to the running
 * code, and from its file. A module is never freed, because stacks point to it; its slot is freed
 * if the module is unloaded and slots are scarce.
 *
 * The table: slots by hash of the first address, with open addressing (release, partner: acquire in
 * modules_find). An entry whose module is unloaded becomes GONE; a search skips it, and a new
 * module may take it. So two threads that meet a new module at the same moment may register it
 * twice, in a GONE entry and after it: two numbers for one module do no harm.
 *
 * Not a struct keyed (base/keyed.h), here and in the other tables of this folder: readers take no
 * lock, and nothing may be allocated or moved under them. */
#include "stack/native/modules.h"

#include "base/alloc.h"
#include "stack/common/safe.h"
#include "stack/native/modules_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

enum {
    MODULES_INDEX = 2 * MODULES_MAX, /* power of two */
    SNAPSHOT_MAX = 4096,             /* files that are loaded at once */
    SNAPSHOT_TRIES = 16,             /* attempts of a reader whose copy is written meanwhile */
    GONE = UINT16_MAX,               /* an entry of the index whose module is unloaded */
    ENTRY_TRIES = 64,                /* attempts of a thread whose entry others take in the index */
    SCARCE = MODULES_MAX / 4,        /* fewer free slots: slots of unloaded modules are freed */
};

/* Declares libc's struct dl_find_object, which older headers lack. */
struct found_object {
    unsigned long long flags;
    void *begin, *end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

typedef int find_object_fn(void *address, struct found_object *out);

/* Describes a mapping, with its name as the loader has it. */
struct mapping {
    uintptr_t begin, end;
    const char
        *name; /* may be freed with the mapping: read with module_file_name; NULL: not read */
    const struct link_map *loaded; /* of a mapping whose name is not read: mapping_name reads it */
};

struct snapshot {
    _Atomic uint32_t turn; /* odd: being written */
    _Atomic uint32_t count;
    struct {
        _Atomic uintptr_t begin, end;
        _Atomic(const char *) name; /* never freed */
    } rows[SNAPSHOT_MAX];           /* sorted */
};

static _Atomic(find_object_fn *) find_object; /* NULL: snapshots */
static atomic_bool opened;

static struct snapshot snapshots[2];
static _Atomic uint32_t snapshot_current;
static atomic_bool snapshot_busy;    /* one writer */
static atomic_bool snapshot_allowed; /* a reader may renew it, once per flush */

static _Atomic(struct module *) modules[MODULES_MAX];
static _Atomic uint32_t modules_count; /* slots used at least once; may pass MODULES_MAX */
static _Atomic uint32_t modules_ever;  /* numbers given out; may pass MODULES_EVER */
static _Atomic uint16_t modules_index[MODULES_INDEX];
static atomic_bool modules_full;

/* Holds slots that were used and are free again: a ring with room for all, which the collector
 * fills (release at freed_to, partner: acquire in slot_take). */
static _Atomic uint16_t freed[MODULES_MAX];
static _Atomic uint32_t freed_from, freed_to;

/* Holds, for the collector alone, slots that searches no longer find, and that are not free yet. */
static struct {
    uint16_t slots[MODULES_MAX];
    uint32_t count;
} unlisted;

/* This is put into a slot whose module another thread registered first. It is equal to no
 * mapping. */
static struct module nobody;

/* ---- looking up a mapping ---- */

/* Holds the copy that the writer fills, under snapshot_busy. */
static struct {
    struct mapping rows[SNAPSHOT_MAX];
    uint32_t count;
    unsigned long long adds, subs; /* the loader's counts at that time */
    const char *names[SNAPSHOT_MAX];
    uint32_t names_count;
} work;

/* Returns the one copy of a name, which is never freed. */
static const char *snapshot_name(const char *name)
{
    for (uint32_t i = 0; i < work.names_count; i++)
        if (strcmp(work.names[i], name) == 0)
            return work.names[i];
    char *copy = work.names_count < SNAPSHOT_MAX ? mem_strdup(name) : NULL;
    if (copy)
        work.names[work.names_count++] = copy;
    return copy;
}

static int snapshot_row(struct dl_phdr_info *info, size_t size, void *arg)
{
    bool *changed = arg;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        if (info->dlpi_adds == work.adds && info->dlpi_subs == work.subs)
            return 1;
        if (!*changed)
            work.count = 0;
    }
    *changed = true;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD)
            continue;
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        begin = at < begin ? at : begin;
        end = at + p->p_memsz > end ? at + p->p_memsz : end;
    }
    const char *name = snapshot_name(info->dlpi_name);
    if (begin >= end || !name || work.count == SNAPSHOT_MAX)
        return 0;
    begin &= ~(uintptr_t)(MODULE_PAGE - 1);
    uint32_t i = work.count++;
    for (; i && work.rows[i - 1].begin > begin; i--)
        work.rows[i] = work.rows[i - 1];
    work.rows[i] = (struct mapping){begin, end, name, NULL};
    return 0;
}

static int snapshot_counts(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)arg;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        work.adds = info->dlpi_adds;
        work.subs = info->dlpi_subs;
    }
    return 1;
}

static void snapshot_publish(void)
{
    uint32_t next = !atomic_load_explicit(&snapshot_current, memory_order_relaxed);
    struct snapshot *s = &snapshots[next];
    uint32_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed) | 1;
    atomic_store_explicit(&s->turn, turn, memory_order_relaxed);
    /* release: a reader sees the odd turn before any of these */
    for (uint32_t i = 0; i < work.count; i++) {
        atomic_store_explicit(&s->rows[i].begin, work.rows[i].begin, memory_order_release);
        atomic_store_explicit(&s->rows[i].end, work.rows[i].end, memory_order_release);
        atomic_store_explicit(&s->rows[i].name, work.rows[i].name, memory_order_release);
    }
    atomic_store_explicit(&s->count, work.count, memory_order_release);
    atomic_store_explicit(&s->turn, turn + 1, memory_order_release);
    atomic_store_explicit(&snapshot_current, next, memory_order_release);
}

static void snapshot_renew(void)
{
    if (atomic_exchange_explicit(&snapshot_busy, true, memory_order_acquire))
        return; /* another thread is renewing it */
    bool changed = false;
    dl_iterate_phdr(snapshot_row, &changed);
    if (changed) {
        dl_iterate_phdr(snapshot_counts, NULL);
        snapshot_publish();
    }
    atomic_store_explicit(&snapshot_busy, false, memory_order_release);
}

/* Does a binary search; false also if the rows were written meanwhile. Acquire: the rows are read
 * before the turn is read again. */
static bool snapshot_search(uintptr_t pc, struct mapping *out)
{
    for (int i = 0; i < SNAPSHOT_TRIES; i++) {
        uint32_t current = atomic_load_explicit(&snapshot_current, memory_order_acquire);
        struct snapshot *s = &snapshots[current];
        uint32_t turn = atomic_load_explicit(&s->turn, memory_order_acquire);
        uint32_t low = 0, high = atomic_load_explicit(&s->count, memory_order_acquire);
        while (low < high) { /* the first that begins beyond pc */
            uint32_t mid = (low + high) / 2;
            if (atomic_load_explicit(&s->rows[mid].begin, memory_order_acquire) <= pc)
                low = mid + 1;
            else
                high = mid;
        }
        *out = (struct mapping){0};
        if (low) {
            out->begin = atomic_load_explicit(&s->rows[low - 1].begin, memory_order_acquire);
            out->end = atomic_load_explicit(&s->rows[low - 1].end, memory_order_acquire);
            out->name = atomic_load_explicit(&s->rows[low - 1].name, memory_order_acquire);
        }
        if (!(turn & 1) && atomic_load_explicit(&s->turn, memory_order_relaxed) == turn)
            return pc < out->end;
    }
    return false;
}

/* Returns the loader's name; NULL: the library was closed meanwhile. */
static const char *mapping_name(const struct mapping *map)
{
    const char *name = NULL;
    char first;
    if (map->name)
        return map->name;
    bool there =
        safe_read(&name, &map->loaded->l_name, sizeof name) && name && safe_read(&first, name, 1);
    return there ? name : NULL;
}

/* foreign: the code is not known to belong to the calling thread, which has a copier (safe.h). The
 * name is not read then, because that takes two copies, and few callers need it. */
static inline bool mapping_at(uintptr_t pc, struct mapping *out, bool foreign)
{
    find_object_fn *find = atomic_load_explicit(&find_object, memory_order_relaxed);
    if (__builtin_expect(find != NULL, 1)) {
        struct found_object o;
        if (find((void *)pc, &o) != 0)
            return false;
        *out = (struct mapping){.begin = (uintptr_t)o.begin,
                                .end = (uintptr_t)o.end,
                                .name = !o.link_map ? ""
                                        : foreign   ? NULL
                                                    : o.link_map->l_name,
                                .loaded = foreign ? o.link_map : NULL};
        return true;
    }
    if (!atomic_load_explicit(&opened, memory_order_acquire))
        return false;
    if (snapshot_search(pc, out))
        return true;
    /* The loader's lock may be held by a thread that waits for the thread with the copier. */
    if (foreign || !atomic_exchange_explicit(&snapshot_allowed, false, memory_order_relaxed))
        return false;
    snapshot_renew();
    return snapshot_search(pc, out);
}

/* ---- the table ---- */

/* Returns true if the mapping still contains the words that identify this module. */
static inline bool module_still(const struct module *m, const struct mapping *map, bool foreign)
{
    if (!m || m->pub.begin != map->begin || m->pub.end != map->end)
        return false;
    for (int i = 0; i < 2; i++) {
        const void *at = (const void *)m->print_at[i];
        uint64_t word;
        if (!(foreign ? safe_read(&word, at, sizeof word) : safe_word(&word, at)) ||
            word != m->print[i])
            return false;
    }
    if (!m->name_hash)
        return true;
    const char *name = foreign ? mapping_name(map) : map->name;
    return name && module_file_name_hash(name) == m->name_hash;
}

static uint32_t module_hash(uintptr_t begin)
{
    return (uint32_t)((uint64_t)(begin >> 12) * 0x9e3779b97f4a7c15u >> 40) % MODULES_INDEX;
}

/* Returns a free slot; 0: none. */
static uint32_t slot_take(void)
{
    uint32_t from = atomic_load_explicit(&freed_from, memory_order_relaxed);
    while (from != atomic_load_explicit(&freed_to, memory_order_acquire)) {
        uint16_t slot = atomic_load_explicit(&freed[from % MODULES_MAX], memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(&freed_from, &from, from + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return slot;
    }
    if (atomic_load_explicit(&modules_count, memory_order_relaxed) >= MODULES_MAX - 1)
        return 0;
    uint32_t slot = atomic_fetch_add_explicit(&modules_count, 1, memory_order_relaxed) + 1;
    return slot < MODULES_MAX ? slot : 0;
}

static bool has_number_left(void)
{
    return atomic_load_explicit(&modules_ever, memory_order_relaxed) < MODULES_EVER;
}

/* Returns true if two descriptions of new modules are equal. */
static bool module_equals(const struct module *a, const struct module *b)
{
    const struct stack_module *x = &a->pub, *y = &b->pub;
    return x->kind == y->kind && x->base == y->base && x->begin == y->begin && x->end == y->end &&
           x->size == y->size && x->mtime == y->mtime && strcmp(x->path, y->path) == 0 &&
           strcmp(x->build_id, y->build_id) == 0 && a->data == b->data &&
           a->data_end == b->data_end && a->eh_hdr == b->eh_hdr && a->eh_end == b->eh_end &&
           a->print_at[0] == b->print_at[0] && a->print_at[1] == b->print_at[1] &&
           a->print[0] == b->print[0] && a->print[1] == b->print[1] && a->name_hash == b->name_hash;
}

/* Describes a module. If the thread reads by copies, other threads may close the library meanwhile
 * and open another one there: two descriptions, one after the other, must be equal. */
static bool module_describe(struct module *m, const struct mapping *map)
{
    const char *name = mapping_name(map);
    if (!name || !module_file_describe(m, map->begin, map->end, name))
        return false;
    if (!safe_copies())
        return true;
    struct module *again = mem_zalloc(sizeof *again);
    struct mapping now;
    bool there = again && mapping_at(map->begin, &now, true) && now.begin == map->begin &&
                 now.end == map->end;
    name = there ? mapping_name(&now) : NULL;
    bool same =
        name && module_file_describe(again, now.begin, now.end, name) && module_equals(m, again);
    mem_free(again);
    return same;
}

/* Describes and registers a new module. 0: there is no room, or it is not an ELF file. */
static __attribute__((noinline, cold)) uint32_t module_register(const struct mapping *map)
{
    bool full = atomic_load_explicit(&modules_full, memory_order_relaxed) || !has_number_left();
    struct module *m = full ? NULL : mem_zalloc(sizeof *m);
    if (full)
        atomic_store_explicit(&modules_full, true, memory_order_relaxed);
    if (!m || !module_describe(m, map)) {
        mem_free(m);
        return 0;
    }
    m->slot = slot_take();
    if (!m->slot) {
        atomic_store_explicit(&modules_full, true, memory_order_relaxed);
        mem_free(m->index);
        mem_free(m);
        return 0;
    }
    m->pub.number = atomic_fetch_add_explicit(&modules_ever, 1, memory_order_relaxed) + 1;
    m->role = modules_role(m->pub.path);
    atomic_store_explicit(&modules[m->slot], m, memory_order_release);
    return m->slot;
}

/* Frees a module that no other thread has seen, and leaves `nobody` in its slot, so that the slot
 * is freed with the others. */
static void module_drop(uint32_t slot)
{
    struct module *m = slot ? atomic_load_explicit(&modules[slot], memory_order_relaxed) : NULL;
    if (!m)
        return;
    atomic_store_explicit(&modules[slot], &nobody, memory_order_relaxed);
    mem_free(m->index);
    mem_free(m);
}

/* Returns the slot of the mapping's module; 0: it is not in the index, and *free is an entry for
 * it. */
static uint32_t index_find(const struct mapping *map, _Atomic uint16_t **free)
{
    *free = NULL;
    for (uint32_t h = module_hash(map->begin), i = 0; i < MODULES_INDEX; i++) {
        _Atomic uint16_t *entry = &modules_index[(h + i) % MODULES_INDEX];
        uint16_t slot = atomic_load_explicit(entry, memory_order_acquire);
        if (slot && slot != GONE) {
            if (module_still(modules_get(slot), map, safe_copies()))
                return slot;
            continue;
        }
        *free = *free ? *free : entry;
        if (!slot)
            break;
    }
    return 0;
}

uint32_t modules_find(uintptr_t pc)
{
    struct mapping map;
    uint32_t made = 0;
    if (!mapping_at(pc, &map, safe_copies()))
        return 0;
    for (int i = 0; i < ENTRY_TRIES; i++) {
        _Atomic uint16_t *free;
        uint32_t slot = index_find(&map, &free);
        if (slot) { /* if made is set, too, another thread was faster */
            module_drop(made);
            return slot;
        }
        if (!free || (!made && !(made = module_register(&map))))
            return 0;
        uint16_t was = atomic_load_explicit(free, memory_order_relaxed);
        if ((!was || was == GONE) &&
            atomic_compare_exchange_strong_explicit(free, &was, (uint16_t)made,
                                                    memory_order_release, memory_order_relaxed))
            return made;
    }
    module_drop(made);
    return 0;
}

static inline bool is_there(uint32_t slot, uintptr_t pc, bool foreign)
{
    struct mapping map;
    bool there = mapping_at(pc, &map, foreign);
    if (!slot)
        return !there;
    const struct module *m = modules_get(slot);
    return there && m && module_still(m, &map, foreign);
}

bool modules_is(uint32_t slot, uintptr_t pc)
{
    return is_there(slot, pc, false);
}

bool modules_is_copied(uint32_t slot, uintptr_t pc)
{
    return is_there(slot, pc, true);
}

const struct module *modules_get(uint32_t slot)
{
    if (slot == 0 || slot >= MODULES_MAX)
        return NULL;
    return atomic_load_explicit(&modules[slot], memory_order_acquire);
}

bool modules_are_full(void)
{
    return atomic_load_explicit(&modules_full, memory_order_relaxed);
}

/* ---- slots of modules that are gone ---- */

static uint32_t slots_used(void)
{
    uint32_t n = atomic_load_explicit(&modules_count, memory_order_relaxed);
    return n < MODULES_MAX ? n : MODULES_MAX - 1;
}

static uint32_t slots_free(void)
{
    return MODULES_MAX - 1 - slots_used() +
           (atomic_load_explicit(&freed_to, memory_order_relaxed) -
            atomic_load_explicit(&freed_from, memory_order_relaxed));
}

uint32_t modules_unlist(void)
{
    unlisted.count = 0;
    if (slots_free() && has_number_left()) /* slots may have been freed since full was noted */
        atomic_store_explicit(&modules_full, false, memory_order_relaxed);
    if (slots_free() >= SCARCE)
        return 0;
    for (uint32_t i = 0; i < MODULES_INDEX; i++) {
        uint16_t slot = atomic_load_explicit(&modules_index[i], memory_order_acquire);
        const struct module *m = slot != GONE ? modules_get(slot) : NULL;
        if (!m || modules_is(slot, m->pub.begin))
            continue;
        atomic_store_explicit(&modules_index[i], GONE, memory_order_relaxed);
        unlisted.slots[unlisted.count++] = slot;
    }
    for (uint32_t slot = 1; slot <= slots_used(); slot++)
        if (modules_get(slot) == &nobody)
            unlisted.slots[unlisted.count++] = (uint16_t)slot;
    return unlisted.count;
}

void modules_free_unlisted(void)
{
    uint32_t to = atomic_load_explicit(&freed_to, memory_order_relaxed);
    for (uint32_t i = 0; i < unlisted.count; i++) {
        struct module *m = atomic_load_explicit(&modules[unlisted.slots[i]], memory_order_relaxed);
        if (m && m != &nobody) {
            mem_free(m->index); /* the rest is kept: stacks point to it */
            m->index = NULL;
        }
        atomic_store_explicit(&modules[unlisted.slots[i]], NULL, memory_order_relaxed);
        atomic_store_explicit(&freed[to++ % MODULES_MAX], unlisted.slots[i], memory_order_relaxed);
    }
    atomic_store_explicit(&freed_to, to, memory_order_release);
    if (unlisted.count && has_number_left())
        atomic_store_explicit(&modules_full, false, memory_order_relaxed);
    unlisted.count = 0;
}

void modules_open(bool own_snapshot)
{
    void *find = own_snapshot ? NULL : dlsym(RTLD_DEFAULT, "_dl_find_object");
    atomic_store_explicit(&find_object, (find_object_fn *)find, memory_order_relaxed);
    if (!find)
        snapshot_renew();
    atomic_store_explicit(&opened, true, memory_order_release);
}

static int describe_row(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        begin &= ~(uintptr_t)(MODULE_PAGE - 1);
        if (module_file_needs_file(begin, info->dlpi_name))
            (void)modules_find(begin);
        break;
    }
    return 0;
}

void modules_describe_loaded(void)
{
    dl_iterate_phdr(describe_row, NULL);
}

void modules_refresh(void)
{
    if (atomic_load_explicit(&find_object, memory_order_relaxed))
        return;
    snapshot_renew();
    atomic_store_explicit(&snapshot_allowed, true, memory_order_relaxed);
}

void modules_forget(void)
{
    atomic_store_explicit(&snapshot_busy, false, memory_order_relaxed);
    work.adds = work.subs = 0;
}
