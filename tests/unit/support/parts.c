/* parts.c - see parts.h. */
#include "tests/unit/support/parts.h"

#include "base/file/file.h"
#include "base/packed/lines.h"
#include "wire/decode.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DENSE_MAX = 1 << 13, SPARSE_MAX = 4096, TABLES = RECORD_COUNT + 1, NAMES = RECORD_COUNT };

static void must(bool right)
{
    if (!right)
        abort();
}

/* Describes a part while it is read. */
struct reading {
    struct parts *p;
    const char *channel;
    int64_t number, offset;
    bool has_header;
    unsigned char *defined[TABLES]; /* by id, for small ids */
    int64_t sparse[SPARSE_MAX];     /* larger ids, in order of definition */
    size_t sparse_count;
};

static void id_define(struct reading *r, int table, int64_t id)
{
    if (id < DENSE_MAX) {
        r->defined[table][id] = 1;
        return;
    }
    must(r->sparse_count < SPARSE_MAX);
    r->sparse[r->sparse_count++] = id * TABLES + table;
}

static bool id_known(const struct reading *r, int table, int64_t id)
{
    if (id < DENSE_MAX)
        return r->defined[table][id];
    for (size_t i = 0; i < r->sparse_count; i++)
        if (r->sparse[i] == id * TABLES + table)
            return true;
    return false;
}

static int on_header(void *arg, const struct wire_header *h)
{
    struct reading *r = arg;
    bool right = !r->has_header && !strcmp(h->channel, r->channel) && h->part == r->number &&
                 h->offset == r->offset && h->clock_monotonic > 0;
    if (!right)
        fprintf(stderr, "%s part %lld: header says part %lld offset %lld, not offset %lld\n",
                r->channel, (long long)r->number, (long long)h->part, (long long)h->offset,
                (long long)r->offset);
    r->p->headers_bad += !right;
    r->has_header = true;
    return 0;
}

static int on_name(void *arg, uint32_t id, const char *text, size_t len)
{
    (void)text;
    (void)len;
    struct reading *r = arg;
    r->p->headers_bad += !r->has_header;
    id_define(r, NAMES, id);
    return 0;
}

static void check_ref(struct reading *r, const struct wire_batch *b, unsigned c, int64_t id)
{
    int table = b->record->columns[c].ref;
    table = table == RECORD_name ? NAMES : table;
    if (table == RECORD_NONE || id <= 0 || id_known(r, table, id))
        return;
    if (!r->p->unresolved++)
        fprintf(stderr, "%s part %lld: %s.%s %lld is not defined\n", r->channel,
                (long long)r->number, b->record->type, b->record->columns[c].name, (long long)id);
}

/* Rows are checked one by one: a row of a dictionary may refer to earlier rows of its line. */
static int on_batch(void *arg, const struct wire_batch *b)
{
    struct reading *r = arg;
    r->p->headers_bad += !r->has_header;
    r->p->rows[b->type] += b->rows;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t row[RECORD_MAX_COLUMNS];
        for (unsigned c = 0; c < b->record->column_count; c++) {
            row[c] = b->col[c] ? b->col[c][i] : CELL_NULL;
            check_ref(r, b, c, row[c]);
        }
        if (b->record->kind == RECORD_KIND_DICT)
            id_define(r, (int)b->type, row[0]);
        else if (r->p->row)
            r->p->row(r->p->arg, b->type, row);
    }
    return 0;
}

/* Reads one file; returns its size when unpacked. */
static int64_t read_part(struct parts *p, const char *path, const char *channel, int64_t number,
                         int64_t offset)
{
    struct reading *r = calloc(1, sizeof *r);
    struct lines *l;
    struct decoder *d;
    struct err e;
    must(r && decoder_open(&d) == 0);
    *r = (struct reading){.p = p, .channel = channel, .number = number, .offset = offset};
    for (int t = 0; t < TABLES; t++)
        must((r->defined[t] = calloc(1, DENSE_MAX)) != NULL);
    const struct wire_visitor v = {
        .arg = r, .header = on_header, .name = on_name, .batch = on_batch};
    char *line;
    size_t len;
    bool complete;
    int64_t bytes = 0;
    int rc = lines_open(&l, path, WIRE_MAX_LINE, &e);
    must(rc == 0);
    while (lines_next(l, &line, &len, &complete)) {
        bytes += (int64_t)len + complete;
        if (complete)
            must(decoder_feed(d, line, len, &v) == 0);
        else
            p->torn++;
    }
    p->damaged += decoder_stats(d)->damaged + decoder_stats(d)->unknown_records +
                  decoder_stats(d)->unknown_columns + lines_too_long(l) + lines_truncated(l);
    p->parts += bytes > 0; /* files are made before they are written */
    p->bytes += (uint64_t)bytes;
    p->headers_bad += bytes > 0 && !r->has_header && decoder_stats(d)->lines > 0;
    lines_close(l);
    decoder_close(d);
    for (int t = 0; t < TABLES; t++)
        free(r->defined[t]);
    free(r);
    return bytes;
}

/* Returns the highest N of <channel>.N.log*. */
static int64_t last_number(const char *dir, const char *channel, struct parts *p)
{
    int64_t last = 0;
    size_t len = strlen(channel);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        long long n;
        char rest[32];
        if (strncmp(e->d_name, channel, len) ||
            sscanf(e->d_name + len, ".%lld.%31s", &n, rest) != 2)
            continue;
        if (!strcmp(rest, "log.gz.part"))
            p->half++;
        else if (n > last)
            last = n;
    }
    if (d)
        closedir(d);
    return last;
}

void parts_read(const char *dir, const char *channel, struct parts *p)
{
    char path[PATH_MAX], packed[PATH_MAX + 3];
    int64_t offset = 0, last = last_number(dir, channel, p);
    for (int64_t n = 1; n <= last; n++) {
        snprintf(path, sizeof path, "%s/%s.%lld.log", dir, channel, (long long)n);
        snprintf(packed, sizeof packed, "%s.gz", path);
        bool plain = file_exists(path), gz = file_exists(packed);
        p->both += plain && gz;
        gz = gz && !(plain && p->prefer_plain);
        p->packed += gz;
        if (plain || gz)
            offset += read_part(p, gz ? packed : path, channel, n, offset);
        else
            p->gaps++;
    }
    snprintf(path, sizeof path, "%s/%s.log", dir, channel);
    if (file_exists(path))
        read_part(p, path, channel, last + 1, offset);
}

void parts_read_all(const char *dir, struct parts *p)
{
    for (int c = 0; c < CHANNEL_COUNT; c++)
        parts_read(dir, channel_names[c], p);
}

char *parts_tmpdir(void)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = NULL;
    if (asprintf(&dir, "%s/gpufl-test.XXXXXX", tmp ? tmp : "/tmp") < 0 || !mkdtemp(dir))
        abort();
    return dir;
}

/* Calls fn for every file; returns the sum of its results. */
static int64_t each_file(const char *dir, int64_t (*fn)(const char *path))
{
    int64_t sum = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX];
        if (e->d_name[0] != '.' && !path_join(path, sizeof path, dir, e->d_name))
            sum += fn(path);
    }
    if (d)
        closedir(d);
    return sum;
}

static int64_t remove_file(const char *path)
{
    return unlink(path);
}

void parts_rmdir(char *dir)
{
    /* A compressor may still make files, so this repeats until the folder stays empty. */
    do
        each_file(dir, remove_file);
    while (rmdir(dir) != 0 && errno == ENOTEMPTY);
    free(dir);
}

int64_t parts_disk_bytes(const char *dir)
{
    return each_file(dir, file_size);
}
