/* modules.c - from an address to the file mapped there, without a lock.
 *
 * glibc 2.35 has _dl_find_object: lock-free, signal-safe, current to the moment.
 * Older ones only dl_iterate_phdr, which takes the loader's lock: there a snapshot is
 * kept, renewed by the collector at every flush and, once between two of those, by the
 * thread that meets an address it does not hold. Two copies of it: one is read while
 * the other is written, and a reader that was overtaken twice sees it by the count.
 *
 * What is known of a module is read from its mapping, where it is the truth of the
 * code that runs, and from its file once, at first sight. A module is never freed,
 * since stacks point to it: closing and opening libraries all the time fills the
 * table at last, and what comes then is in no known file.
 *
 * The table: numbers by hash of the first address, with open addressing. Entries are
 * only added (release, partner: acquire in modules_find). */
#include "stack/modules.h"

#include "base/alloc.h"
#include "stack/modules_file.h"
#include "stack/safe.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

enum {
    MODULES_INDEX = 2 * MODULES_MAX, /* power of two */
    SNAPSHOT_MAX = 2048,             /* files loaded at a time */
    SNAPSHOT_TRIES = 16,             /* of a reader that is overtaken */
};

/* libc's struct dl_find_object, which older headers lack. */
struct found_object {
    unsigned long long flags;
    void *begin, *end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

typedef int find_object_fn(void *address, struct found_object *out);

/* Where something is mapped, and its name as the loader has it. */
struct mapping {
    uintptr_t begin, end;
    const char *name; /* may be gone when the mapping is: read with module_file_name */
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
static atomic_bool snapshot_allowed; /* a reader that misses may renew it: once a flush */

static _Atomic(struct module *) modules[MODULES_MAX];
static _Atomic uint32_t modules_count; /* numbers given out; may pass MODULES_MAX */
static _Atomic uint16_t modules_index[MODULES_INDEX];

/* ---- looking up a mapping ---- */

/* What the writer fills, under snapshot_busy. */
static struct {
    struct mapping rows[SNAPSHOT_MAX];
    uint32_t count;
    unsigned long long adds, subs; /* the loader's, as of then */
    const char *names[SNAPSHOT_MAX];
    uint32_t names_count;
} work;

/* The same text for the same name, for ever. */
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
    work.rows[i] = (struct mapping){begin, end, name};
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
    /* Release: the odd turn is seen before any of these. */
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
        return; /* another thread is at it */
    bool changed = false;
    dl_iterate_phdr(snapshot_row, &changed);
    if (changed) {
        dl_iterate_phdr(snapshot_counts, NULL);
        snapshot_publish();
    }
    atomic_store_explicit(&snapshot_busy, false, memory_order_release);
}

/* Binary search; false also where the rows moved below us. Acquire: the rows before the second
 * look at the turn. */
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

static inline bool mapping_at(uintptr_t pc, struct mapping *out)
{
    find_object_fn *find = atomic_load_explicit(&find_object, memory_order_relaxed);
    if (__builtin_expect(find != NULL, 1)) {
        struct found_object o;
        if (find((void *)pc, &o) != 0)
            return false;
        *out = (struct mapping){(uintptr_t)o.begin, (uintptr_t)o.end,
                                o.link_map ? o.link_map->l_name : ""};
        return true;
    }
    if (!atomic_load_explicit(&opened, memory_order_acquire))
        return false;
    if (snapshot_search(pc, out))
        return true;
    if (!atomic_exchange_explicit(&snapshot_allowed, false, memory_order_relaxed))
        return false;
    snapshot_renew();
    return snapshot_search(pc, out);
}

/* ---- the table ---- */

/* Does what is mapped there now hold the words that this module had? */
static inline bool module_still(const struct module *m, const struct mapping *map)
{
    if (m->pub.begin != map->begin || m->pub.end != map->end)
        return false;
    for (int i = 0; i < 2; i++) {
        uint64_t word;
        if (!safe_word(&word, (const void *)m->print_at[i]) || word != m->print[i])
            return false;
    }
    return !m->name_hash || module_file_name_hash(map->name) == m->name_hash;
}

static uint32_t module_hash(uintptr_t begin)
{
    return (uint32_t)((uint64_t)(begin >> 12) * 0x9e3779b97f4a7c15u >> 40) % MODULES_INDEX;
}

/* First sight: reads what there is to know. 0: no room, or it is no ELF file. */
static __attribute__((noinline, cold)) uint32_t module_register(const struct mapping *map,
                                                                struct module **out)
{
    *out = NULL;
    if (atomic_load_explicit(&modules_count, memory_order_relaxed) >= MODULES_MAX - 1)
        return 0;
    struct module *m = mem_zalloc(sizeof *m);
    if (!m || !module_file_describe(m, map->begin, map->end, map->name)) {
        mem_free(m);
        return 0;
    }
    uint32_t number = atomic_fetch_add_explicit(&modules_count, 1, memory_order_relaxed) + 1;
    if (number >= MODULES_MAX) {
        mem_free(m);
        return 0;
    }
    m->pub.number = number;
    m->role = modules_role(m->pub.path);
    atomic_store_explicit(&modules[number], m, memory_order_release);
    *out = m;
    return number;
}

uint32_t modules_find(uintptr_t pc)
{
    struct mapping map;
    if (!mapping_at(pc, &map))
        return 0;
    uint32_t made = 0;
    struct module *mine = NULL;
    for (uint32_t h = module_hash(map.begin), i = 0; i < MODULES_INDEX; i++) {
        _Atomic uint16_t *entry = &modules_index[(h + i) % MODULES_INDEX];
        uint16_t number = atomic_load_explicit(entry, memory_order_acquire);
        if (!number) {
            if (!made && !(made = module_register(&map, &mine)))
                return 0;
            if (atomic_compare_exchange_strong_explicit(entry, &number, (uint16_t)made,
                                                        memory_order_release, memory_order_acquire))
                return made;
        }
        if (module_still(modules_get(number), &map)) {
            if (made) { /* another thread was faster: nobody has seen ours */
                atomic_store_explicit(&modules[made], NULL, memory_order_relaxed);
                mem_free(mine);
            }
            return number;
        }
    }
    return 0;
}

bool modules_is(uint32_t number, uintptr_t pc)
{
    struct mapping map;
    bool there = mapping_at(pc, &map);
    if (!number)
        return !there;
    const struct module *m = modules_get(number);
    return there && m && module_still(m, &map);
}

const struct module *modules_get(uint32_t number)
{
    if (number == 0 || number >= MODULES_MAX)
        return NULL;
    return atomic_load_explicit(&modules[number], memory_order_acquire);
}

void modules_open(bool own_snapshot)
{
    void *find = own_snapshot ? NULL : dlsym(RTLD_DEFAULT, "_dl_find_object");
    atomic_store_explicit(&find_object, (find_object_fn *)find, memory_order_relaxed);
    if (!find)
        snapshot_renew();
    atomic_store_explicit(&opened, true, memory_order_release);
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
