/* rows.c - see rows.h. */
#include "tests/idle/rows.h"

#include "base/file/file.h"
#include "base/packed/lines.h"
#include "tests/test.h"
#include "wire/decode.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void sample_add(struct rows *r, const int64_t *cells)
{
    if (r->count == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 1024;
        r->samples = realloc(r->samples, r->cap * sizeof *r->samples);
        assert_non_null(r->samples);
    }
    memcpy(&r->samples[r->count++], cells, sizeof *r->samples);
}

static void wait_add(struct rows *r, const int64_t *cells)
{
    if (r->wait_count == r->wait_cap) {
        r->wait_cap = r->wait_cap ? r->wait_cap * 2 : 64;
        r->waits = realloc(r->waits, r->wait_cap * sizeof *r->waits);
        assert_non_null(r->waits);
    }
    memcpy(&r->waits[r->wait_count++], cells, sizeof *r->waits);
}

static int on_batch(void *arg, const struct wire_batch *b)
{
    struct rows *r = arg;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t cells[RECORD_MAX_COLUMNS];
        for (unsigned c = 0; c < b->record->column_count; c++)
            cells[c] = b->col[c] ? b->col[c][i] : CELL_NULL;
        if (b->type == RECORD_host_sample)
            sample_add(r, cells);
        else if (b->type == RECORD_wait)
            wait_add(r, cells);
        else if (b->type == RECORD_window && r->window_count < 64)
            memcpy(&r->windows[r->window_count++], cells, sizeof r->windows[0]);
    }
    return 0;
}

static void read_part(struct rows *r, struct decoder *d, const char *path)
{
    const struct wire_visitor v = {.arg = r, .batch = on_batch};
    struct lines *l;
    char *line;
    size_t len;
    bool complete;
    assert_int_equal(lines_open(&l, path, WIRE_MAX_LINE, NULL), 0);
    while (lines_next(l, &line, &len, &complete))
        assert_int_equal(decoder_feed(d, line, len, &v), 0);
    lines_close(l);
}

static void read_channel(struct rows *r, const char *dir, const char *channel)
{
    struct decoder *d;
    char path[PATH_MAX];
    assert_int_equal(decoder_open(&d), 0);
    for (int n = 1;; n++) {
        snprintf(path, sizeof path, "%s/%s.%d.log.gz", dir, channel, n);
        if (!file_exists(path))
            break;
        read_part(r, d, path);
    }
    snprintf(path, sizeof path, "%s/%s.log", dir, channel);
    if (file_exists(path))
        read_part(r, d, path);
    const struct decode_stats *s = decoder_stats(d);
    r->damaged += s->damaged + s->unknown_records + s->unknown_columns;
    decoder_close(d);
}

void rows_open(struct rows *r, const char *logs)
{
    char dir[PATH_MAX];
    int found = 0;
    *r = (struct rows){0};
    DIR *d = opendir(logs);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(dir, sizeof dir, "%s/%s", logs, e->d_name);
        found++;
    }
    closedir(d);
    assert_int_equal(found, 1);
    read_channel(r, dir, "scope");
    read_channel(r, dir, "system");
}

void rows_close(struct rows *r)
{
    free(r->samples);
    free(r->waits);
}
