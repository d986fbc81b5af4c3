/* ids.c - see ids.h.
 *
 * Why not struct keyed: a fingerprint is a hash already, and looking for a configuration beyond the
 * ceiling must not add an item. */
#include "capture/records/ids.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/process/fd_thread.h"
#include "capture/records/occupancy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct id_entry {
    struct fingerprint key;
    uint32_t id;
};

void ids_init(struct ids *t, struct writer *w, struct intern *names, const struct vendor *v)
{
    *t = (struct ids){.writer = w, .names = names, .units = v ? v->occupancy : NULL};
    for (int i = 0; i < 4; i++)
        t->limiters[i] = intern_str(names, occupancy_limiter_name((enum occupancy_limiter)i));
}

void ids_fini(struct ids *t)
{
    mem_free(t->streams.entries);
    mem_free(t->configs.entries);
    mem_free(t->threads.entries);
    for (int i = 0; i < 3; i++)
        mem_free(t->code[i].entries);
    memset(t->code, 0, sizeof t->code);
    memset(&t->streams, 0, sizeof t->streams);
    memset(&t->configs, 0, sizeof t->configs);
    memset(&t->threads, 0, sizeof t->threads);
}

/* ---- fingerprints ---------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

/* Computes two independent chains over the cells. */
static struct fingerprint fingerprint_of(const int64_t *cells, size_t n)
{
    struct fingerprint f = {0x243f6a8885a308d3ull, 0x13198a2e03707344ull};
    for (size_t i = 0; i < n; i++) {
        f.a = mix(f.a, (uint64_t)cells[i]);
        f.b = mix(f.b + i + 1, ~(uint64_t)cells[i] * 0xff51afd7ed558ccdull);
    }
    f.a |= 1; /* differs from an empty entry */
    return f;
}

static struct id_entry *table_slot(struct id_entry *entries, size_t cap, struct fingerprint key)
{
    size_t at = (size_t)key.b & (cap - 1);
    while (entries[at].key.a && (entries[at].key.a != key.a || entries[at].key.b != key.b))
        at = (at + 1) & (cap - 1);
    return &entries[at];
}

/* Keeps a quarter of the table empty. */
static bool table_grow(struct id_table *t)
{
    if (t->count * 4 < t->cap * 3)
        return true;
    size_t cap = t->cap ? t->cap * 2 : 64;
    struct id_entry *wider = mem_array(cap, sizeof *wider);
    if (!wider)
        return false;
    for (size_t i = 0; i < t->cap; i++)
        if (t->entries[i].key.a)
            *table_slot(wider, cap, t->entries[i].key) = t->entries[i];
    mem_free(t->entries);
    t->entries = wider;
    t->cap = cap;
    return true;
}

/* Returns the entry of a key, with id 0 if it is new; NULL: no memory, or IDS_MOST reached. */
static struct id_entry *table_find(struct id_table *t, struct fingerprint key)
{
    struct id_entry *e = t->cap ? table_slot(t->entries, t->cap, key) : NULL;
    if (e && e->key.a)
        return e;
    if (t->count >= IDS_MOST || !table_grow(t))
        return NULL;
    e = table_slot(t->entries, t->cap, key);
    return e;
}

static uint32_t table_add(struct id_table *t, struct id_entry *e, struct fingerprint key)
{
    *e = (struct id_entry){key, (uint32_t)++t->count};
    return e->id;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* Each library numbers the devices in its own order. Devices are distinguished by the UUID, else by
 * the address on the PCI bus, else by the number. */
static struct device_row *device_find(struct ids *t, const struct device_row *d)
{
    struct device_row *free = NULL, *same = NULL;
    for (int i = 0; i < IDS_DEVICES; i++) {
        struct device_row *have = &t->devices[i];
        bool uuids = d->uuid > 0 && have->uuid > 0;
        if (have->id == 0)
            free = free ? free : have;
        else if (uuids ? have->uuid == d->uuid : d->pci > 0 && have->pci == d->pci)
            return have;
        else if (!uuids && have->index == d->index && (d->pci <= 0 || have->pci <= 0))
            same = have;
    }
    if (same)
        return same;
    bool own = d->index >= 0 && d->index < IDS_DEVICES && t->devices[d->index].id == 0;
    return own ? &t->devices[d->index] : free;
}

uint32_t ids_device(struct ids *t, const struct device_row *d)
{
    struct device_row *have = device_find(t, d);
    if (!have)
        return 0;
    struct device_row merged = *d;
    int64_t *cells = (int64_t *)&merged;
    const int64_t *old = (const int64_t *)have;
    if (have->id) {
        for (int i = COL_device_index + 1; i < COL_device_COUNT; i++)
            if (cells[i] == CELL_NULL || (cells[i] == 0 && old[i] != CELL_NULL))
                cells[i] = old[i];
        merged.index = have->index;
    }
    merged.id = have - t->devices + 1;
    if (memcmp(have, &merged, sizeof merged) != 0) {
        *have = merged;
        (void)writer_define(t->writer, RECORD_device, (const int64_t *)have);
    }
    return (uint32_t)have->id;
}

uint32_t ids_device_at(struct ids *t, uint32_t index)
{
    if (index < IDS_DEVICES && t->devices[index].id && t->devices[index].index == index)
        return (uint32_t)t->devices[index].id;
    struct device_row d;
    for (int i = 0; i < COL_device_COUNT; i++)
        ((int64_t *)&d)[i] = CELL_NULL;
    d.index = index;
    d.name = d.uuid = d.vendor = d.pci = d.arch = d.driver = 0;
    return ids_device(t, &d);
}

/* ---- streams, configurations ----------------------------------------------------------------- */

uint32_t ids_stream(struct ids *t, uint32_t device, int64_t context, int64_t number)
{
    struct stream_row row = {.device = device, .context = context, .number = number};
    struct fingerprint key = fingerprint_of((const int64_t *)&row + 1, COL_stream_COUNT - 1);
    struct id_entry *e = table_find(&t->streams, key);
    if (!e)
        return 0;
    if (e->id)
        return e->id;
    row.id = table_add(&t->streams, e, key);
    (void)writer_define(t->writer, RECORD_stream, (const int64_t *)&row);
    return (uint32_t)row.id;
}

static uint32_t config_add(struct ids *t, struct id_entry *e, struct fingerprint key,
                           const struct config_row *c)
{
    struct config_row row = *c;
    enum occupancy_limiter limiter;
    const struct device_row *d =
        c->device > 0 && c->device <= IDS_DEVICES ? &t->devices[c->device - 1] : NULL;
    row.id = table_add(&t->configs, e, key);
    if (t->units && occupancy_of_config(&row, d, t->units, &limiter))
        row.occ_limiter = t->limiters[limiter];
    (void)writer_define(t->writer, RECORD_config, (const int64_t *)&row);
    return (uint32_t)row.id;
}

/* Returns the columns that distinguish configurations: those before occ_*, without the id. */
static struct fingerprint config_key(const struct config_row *c)
{
    return fingerprint_of((const int64_t *)c + 1, COL_config_occ_blocks - 1);
}

uint32_t ids_config(struct ids *t, const struct config_row *c)
{
    enum { EXACT_MOST = IDS_MOST - (1 << 16) }; /* the rest is for rows without a grid */
    struct fingerprint key = config_key(c);
    struct id_entry *e = table_find(&t->configs, key);
    if (e && e->id)
        return e->id;
    if (e && t->configs.count < EXACT_MOST)
        return config_add(t, e, key, c);
    struct config_row rough = *c;
    rough.grid_x = rough.grid_y = rough.grid_z = CELL_NULL;
    key = config_key(&rough);
    e = table_find(&t->configs, key);
    if (!e)
        return 0;
    return e->id ? e->id : config_add(t, e, key, &rough);
}

/* ---- device code ----------------------------------------------------------------------------- */

uint32_t ids_define(struct ids *t, enum record_type type, const int64_t *row)
{
    static const enum record_type types[] = {RECORD_code_object, RECORD_function,
                                             RECORD_stall_reason};
    int64_t cells[RECORD_MAX_COLUMNS];
    unsigned n = records[type].column_count;
    int at = 0;
    while (at < 3 && types[at] != type)
        at++;
    if (at == 3)
        return 0;
    struct fingerprint key = fingerprint_of(row + 1, n - 1);
    struct id_entry *e = table_find(&t->code[at], key);
    if (!e || e->id)
        return e ? e->id : 0;
    memcpy(cells, row, n * sizeof cells[0]);
    cells[0] = table_add(&t->code[at], e, key);
    (void)writer_define(t->writer, type, cells);
    return (uint32_t)cells[0];
}

/* ---- threads --------------------------------------------------------------------------------- */

struct thread_name {
    int32_t tid;
    char text[32]; /* "": unknown */
};

static void thread_name(void *arg)
{
    struct thread_name *t = arg;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)t->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, t->text, sizeof t->text - 1) : 0;
    if (fd >= 0)
        close(fd);
    t->text[n > 0 ? n : 0] = '\0';
    t->text[strcspn(t->text, "\n")] = '\0';
}

void ids_thread(struct ids *t, int32_t tid, const char *name)
{
    struct thread_name of = {.tid = tid};
    int64_t cell = tid;
    struct fingerprint key = fingerprint_of(&cell, 1);
    struct id_entry *e = table_find(&t->threads, key);
    if (!e || e->id)
        return;
    table_add(&t->threads, e, key);
    fd_thread_run(thread_name, &of);
    struct thread_row row = {
        .id = tid,
        .name = intern_str(t->names, *of.text || !name ? of.text : name),
    };
    (void)writer_define(t->writer, RECORD_thread, (const int64_t *)&row);
}
