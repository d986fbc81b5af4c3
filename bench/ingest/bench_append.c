/* bench_append.c - the limit to compare ingest with: rows of a session's files are decoded first,
 * then passed to the store's append alone (DuckDB's appender with data chunks), with a transaction
 * for each million rows. No journal, no pyramid, no HTTP. Prints JSON.
 *
 *   bench_append FOLDER FILE...     FOLDER: for the columns; FILE: part of a log, plain */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES_MAX = 1 << 20, COMMIT_ROWS = 1000000 };

struct rows {
    struct wire_batch *batches; /* owned, as are their cells */
    size_t count, cap;
    uint64_t kernels;
};

static int keep_batch(void *arg, const struct wire_batch *b)
{
    struct rows *r = arg;
    if (mem_grow(&r->batches, &r->cap, r->count + 1, sizeof *b, BATCHES_MAX))
        return GPUFL_E_NOMEM;
    struct wire_batch *copy = &r->batches[r->count++];
    *copy = *b;
    for (unsigned c = 0; c < b->record->column_count; c++) {
        if (!b->col[c])
            continue;
        int64_t *cells = mem_array(b->rows, sizeof *cells);
        if (!cells)
            return GPUFL_E_NOMEM;
        memcpy(cells, b->col[c], b->rows * sizeof *cells);
        copy->col[c] = cells;
    }
    r->kernels += b->type == RECORD_kernel ? b->rows : 0;
    return 0;
}

static int read_file(struct rows *r, const char *path, struct err *e)
{
    const struct wire_visitor v = {.arg = r, .batch = keep_batch};
    struct decoder *d;
    char *text;
    size_t len;
    int rc = file_read_all(path, 1u << 31, &text, &len, e);
    if (rc || decoder_open(&d))
        return rc ? rc : GPUFL_E_NOMEM;
    for (size_t at = 0; !rc && at < len;) {
        char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at;
        rc = decoder_feed(d, text + at, n, &v);
        at += n + 1;
    }
    decoder_close(d);
    free(text); /* NOLINT: file_read_all's */
    return rc;
}

static int append_all(const struct rows *r, struct store_session *ss, struct err *e)
{
    const struct store_ops *ops = &store_duckdb;
    size_t since = 0;
    int rc = ops->begin(ss, e);
    for (size_t i = 0; !rc && i < r->count; i++) {
        rc = ops->append(ss, &r->batches[i], e);
        since += r->batches[i].rows;
        if (!rc && since >= COMMIT_ROWS) {
            rc = ops->commit(ss, NULL, 0, e);
            rc = rc ? rc : ops->begin(ss, e);
            since = 0;
        }
    }
    return rc ? rc : ops->commit(ss, NULL, 0, e);
}

int main(int argc, char **argv)
{
    struct rows r = {0};
    struct err e = {0};
    struct store *store;
    struct store_session *ss;
    int rc = argc < 3 ? GPUFL_E_INVAL : 0;
    for (int i = 2; !rc && i < argc; i++)
        rc = read_file(&r, argv[i], &e);
    const struct store_config c = {.data = argc > 1 ? argv[1] : "."};
    rc = rc ? rc : store_duckdb.open(&store, &c, &e);
    rc = rc ? rc : store_duckdb.get(store, "bench", "appended", true, &ss, &e);
    if (rc) {
        fprintf(stderr, "bench_append: %s\n", *e.text ? e.text : "FOLDER FILE...");
        return 1;
    }
    int64_t wall = clock_mono(), cpu = clock_process_cpu();
    rc = append_all(&r, ss, &e);
    wall = clock_mono() - wall;
    cpu = clock_process_cpu() - cpu;
    if (rc) {
        fprintf(stderr, "bench_append: %s\n", e.text);
        return 1;
    }
    printf("{\"kernels\": %llu, \"seconds\": %.3f, \"cpu_seconds\": %.3f, \"kernels_per_s\": "
           "%.0f}\n",
           (unsigned long long)r.kernels, (double)wall / 1e9, (double)cpu / 1e9,
           (double)r.kernels / ((double)wall / 1e9));
    store_duckdb.put(ss);
    store_duckdb.close(store);
    return 0;
}
