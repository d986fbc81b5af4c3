/* readback.c - see readback.h. */
#include "readback.h"

#include "base/file/file.h"
#include "base/packed/lines.h"
#include "wire/decode.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "readback: %s\n", what);
    abort();
}

/* Makes room for index i in an array of zeroed items. */
static void grow(void *items, size_t *cap, size_t i, size_t size)
{
    if (i < *cap)
        return;
    size_t more = i + i / 4 + 64;
    char *p;
    memcpy(&p, items, sizeof p);
    p = realloc(p, more * size);
    must(p != NULL, "memory");
    memset(p + *cap * size, 0, (more - *cap) * size);
    memcpy(items, &p, sizeof p);
    *cap = more;
}

static void sums_add(struct sums *s, int64_t bytes, int64_t ns)
{
    s->count++;
    s->bytes += bytes;
    s->ns += ns;
}

static void sums_join(struct sums *into, const struct opening *o)
{
    into->count += o->kernels;
    into->ns += o->kernel_ns;
}

static struct named *list_get(struct named_list *l, const char *key)
{
    for (size_t i = 0; i < l->count; i++)
        if (!strcmp(l->items[i].key, key))
            return &l->items[i];
    grow(&l->items, &l->cap, l->count, sizeof *l->items);
    l->items[l->count].key = strdup(key);
    return &l->items[l->count++];
}

const struct named *readback_find(const struct named_list *l, const char *key)
{
    for (size_t i = 0; i < l->count; i++)
        if (!strcmp(l->items[i].key, key))
            return &l->items[i];
    return NULL;
}

static struct opening *opening(struct readback *r, int64_t instance)
{
    grow(&r->openings, &r->openings_cap, (size_t)instance, sizeof *r->openings);
    return &r->openings[instance];
}

static const char *name_of(struct readback *r, int64_t id)
{
    return id > 0 && (size_t)id < r->names_cap ? r->names[id] : NULL;
}

/* ---- rows ------------------------------------------------------------------------------ */

static void add_kernel(struct readback *r, const struct kernel_row *k)
{
    sums_add(&r->kernels, 0, k->duration);
    if (k->scope > 0) {
        opening(r, k->scope)->kernels++;
        opening(r, k->scope)->kernel_ns += k->duration;
    }
    bool known = k->config > 0 && (size_t)k->config < r->config_cap;
    const char *name = known ? name_of(r, r->config_name[k->config]) : NULL;
    if (name)
        sums_add(&list_get(&r->by_name, name)->sums, 0, k->duration);
    else
        r->unknown_ids++;
}

static void add_scope(struct readback *r, const struct scope_row *s)
{
    struct opening *o = opening(r, s->instance);
    must(!o->seen, "a scope's instance occurs twice");
    o->seen = true;
    o->parent = (uint32_t)s->parent;
    o->duration = s->duration;
    o->name = (uint32_t)s->name;
}

static void add_metrics(struct readback *r, const int64_t *cells)
{
    if (cells[COL_device_metric_gpu_util] > r->busiest)
        r->busiest = cells[COL_device_metric_gpu_util];
    for (int i = 2; i < COL_device_metric_COUNT; i++)
        *(cells[i] == CELL_NULL ? &r->metrics_unknown : &r->metrics) += 1;
}

static void add_row(struct readback *r, enum record_type type, const int64_t *cells)
{
    const struct memcpy_row *copy = (const void *)cells;
    const struct memset_row *fill = (const void *)cells;
    const struct sync_row *sync = (const void *)cells;
    const struct alloc_row *alloc = (const void *)cells;
    const struct overhead_row *overhead = (const void *)cells;
    const struct config_row *config = (const void *)cells;
    switch (type) {
    case RECORD_config:
        grow(&r->config_name, &r->config_cap, (size_t)config->id, sizeof *r->config_name);
        r->config_name[config->id] = config->name;
        break;
    case RECORD_kernel:
        add_kernel(r, (const void *)cells);
        break;
    case RECORD_memcpy:
        sums_add(&r->copies[copy->kind], copy->bytes, copy->duration);
        break;
    case RECORD_memset:
        sums_add(&r->fills, fill->bytes, fill->duration);
        break;
    case RECORD_sync:
        sums_add(&r->syncs[sync->kind], 0, sync->duration);
        break;
    case RECORD_alloc:
        sums_add(&r->allocs[alloc->op], alloc->bytes, 0);
        break;
    case RECORD_overhead:
        sums_add(&r->overhead, 0, overhead->duration);
        break;
    case RECORD_scope:
        add_scope(r, (const void *)cells);
        break;
    case RECORD_device_metric:
        add_metrics(r, cells);
        break;
    case RECORD_ledger:
        memcpy(&r->ledger, cells, sizeof r->ledger);
        break;
    default:
        break;
    }
}

/* ---- files ------------------------------------------------------------------------------ */

static int on_header(void *arg, const struct wire_header *h)
{
    struct readback *r = arg;
    r->simulated = r->simulated && h->simulated && !strcmp(h->backend, "sim");
    return 0;
}

static int on_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct readback *r = arg;
    grow(&r->names, &r->names_cap, id, sizeof *r->names);
    if (!r->names[id])
        r->names[id] = strndup(text, len);
    must(strlen(r->names[id]) == len && !memcmp(r->names[id], text, len),
         "a name's id has two texts");
    return 0;
}

static int on_batch(void *arg, const struct wire_batch *b)
{
    struct readback *r = arg;
    r->rows[b->type] += b->rows;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t cells[RECORD_MAX_COLUMNS];
        for (unsigned c = 0; c < b->record->column_count; c++)
            cells[c] = b->col[c] ? b->col[c][i] : CELL_NULL;
        add_row(r, b->type, cells);
    }
    return 0;
}

/* Makes the path of a finished part, packed or plain. False: there is none. */
static bool part_path(char *path, const char *dir, const char *channel, int number)
{
    int n = snprintf(path, PATH_MAX, "%s/%s.%d.log.gz", dir, channel, number);
    if (file_exists(path))
        return true;
    path[n - 3] = '\0';
    return file_exists(path);
}

/* Calls fn for every line of a channel, parts in order; returns the number of parts. */
static uint64_t each_line(const char *dir, const char *channel,
                          void (*fn)(void *arg, char *line, size_t len), void *arg)
{
    char path[PATH_MAX];
    uint64_t parts = 0;
    for (int number = 1;; number++) {
        bool finished = part_path(path, dir, channel, number);
        if (!finished)
            snprintf(path, sizeof path, "%s/%s.log", dir, channel);
        struct lines *l;
        if (!finished && !file_exists(path))
            return parts;
        must(lines_open(&l, path, WIRE_MAX_LINE, NULL) == 0, path);
        char *line;
        size_t len;
        bool complete;
        while (lines_next(l, &line, &len, &complete))
            fn(arg, line, len);
        lines_close(l);
        parts++;
        if (!finished)
            return parts;
    }
}

struct feeding {
    struct readback *r;
    struct decoder *decoder;
};

static void feed(void *arg, char *line, size_t len)
{
    struct feeding *f = arg;
    const struct wire_visitor v = {
        .arg = f->r, .header = on_header, .name = on_name, .batch = on_batch};
    must(decoder_feed(f->decoder, line, len, &v) == 0, "decoder_feed");
}

/* ---- scopes ------------------------------------------------------------------------------ */

static size_t path_of(struct readback *r, int64_t instance, char *out, size_t size)
{
    if (instance <= 0)
        return 0;
    const struct opening *o = opening(r, instance);
    size_t n = path_of(r, o->parent, out, size);
    const char *name = name_of(r, o->name);
    return n + (size_t)snprintf(out + n, size - n, "/%s", name ? name : "?");
}

/* Sums up scopes by path; kernels count for their scope and all scopes around it. */
static void close_scopes(struct readback *r)
{
    char path[1024];
    for (size_t i = 1; i < r->openings_cap; i++) {
        const struct opening *o = &r->openings[i];
        if (!o->seen)
            continue;
        path_of(r, (int64_t)i, path, sizeof path);
        struct named *n = list_get(&r->by_path, path);
        sums_add(&n->sums, 0, o->duration);
        sums_join(&n->own, o);
        for (int64_t up = (int64_t)i; up > 0; up = r->openings[up].parent) {
            path_of(r, up, path, sizeof path);
            sums_join(&list_get(&r->by_path, path)->kernels, o);
        }
    }
}

void readback_open(struct readback *r, const char *dir)
{
    *r = (struct readback){.simulated = true};
    struct feeding f = {.r = r};
    must(decoder_open(&f.decoder) == 0, "decoder_open");
    for (int c = 0; c < CHANNEL_COUNT; c++)
        r->parts += each_line(dir, channel_names[c], feed, &f);
    const struct decode_stats *s = decoder_stats(f.decoder);
    r->damaged = s->damaged + s->unknown_records + s->unknown_columns + s->foreign;
    decoder_close(f.decoder);
    close_scopes(r);
}

static void list_free(struct named_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->items[i].key);
    free(l->items);
}

void readback_close(struct readback *r)
{
    for (size_t i = 0; i < r->names_cap; i++)
        free(r->names[i]);
    free(r->names);
    free(r->config_name);
    free(r->openings);
    list_free(&r->by_name);
    list_free(&r->by_path);
}

struct bytes {
    char *data;
    size_t len, cap;
};

/* Replaces each number of a thread, which the system chooses, by T. Returns the new length. */
static size_t mask_threads(char *line, size_t len)
{
    char *from = strstr(line, "\"thread\":"), *to;
    if (!from)
        return len;
    from = to = from + strlen("\"thread\":");
    for (bool array = *from == '['; *from && *from != (array ? ']' : ',') && *from != '}'; from++)
        if (*from < '0' || *from > '9')
            *to++ = *from;
        else if (from[1] < '0' || from[1] > '9')
            *to++ = 'T';
    memmove(to, from, strlen(from) + 1);
    return strlen(line);
}

static void keep_line(void *arg, char *line, size_t len)
{
    struct bytes *b = arg;
    if (strstr(line, "\"type\":\"header\"") || strstr(line, "\"type\":\"thread\""))
        return;
    len = mask_threads(line, len);
    if (b->len + len + 1 > b->cap) {
        b->cap = (b->cap + len) * 2;
        b->data = realloc(b->data, b->cap);
        must(b->data != NULL, "memory");
    }
    memcpy(b->data + b->len, line, len);
    b->data[b->len + len] = '\n';
    b->len += len + 1;
}

char *readback_channel(const char *dir, const char *channel, size_t *len)
{
    struct bytes b = {NULL, 0, 0};
    each_line(dir, channel, keep_line, &b);
    *len = b.len;
    return b.data;
}
