/* raw_clickhouse.c - see raw_clickhouse.h. Blocks of a million rows, each sent when it is full. */
#include "raw_clickhouse.h"

#include "rows.h"

#include "base/clock.h"
#include "store/clickhouse/link.h"
#include "store/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_ROWS = 1 << 20 };

static void check(int code, const struct err *e)
{
    if (!code)
        return;
    fprintf(stderr, "raw inserts: %s: %s\n", err_name(code), e->text);
    exit(1);
}

static int take_bytes(void *arg, const struct page *p)
{
    *(int64_t *)arg = page_int(p, 0, 0);
    return 0;
}

static void make_table(struct links *l, const struct table *t)
{
    struct err e = {0};
    struct buf text;
    buf_init(&text, 64 << 10);
    check(link_do(l, 0, "CREATE DATABASE IF NOT EXISTS bench_raw", &e), &e);
    check(link_do(l, 0, "DROP TABLE IF EXISTS bench_raw.kernel", &e), &e);
    buf_str(&text, "CREATE TABLE bench_raw.kernel (");
    for (unsigned i = 0; i < t->column_count; i++)
        buf_printf(&text, "%s`%s` Int64", i ? ", " : "", t->columns[i].name);
    buf_str(&text, ") ENGINE = MergeTree ORDER BY start");
    check(link_do(l, 0, buf_cstr(&text), &e), &e);
    buf_fini(&text);
}

/* The rows of several batches, which are one block. */
static void send_block(struct links *l, const struct table *t, struct buf *columns, size_t rows,
                       struct buf *body)
{
    struct err e = {0};
    buf_clear(body);
    native_block(body, t->column_count, rows);
    for (unsigned i = 0; i < t->column_count; i++) {
        native_column(body, t->columns[i].name, "Int64");
        buf_put(body, columns[i].data, columns[i].len);
        buf_clear(&columns[i]);
    }
    check(buf_error(body), &e);
    check(link_insert(l, 0, "bench_raw.kernel", body->data, body->len, &e), &e);
}

void raw_clickhouse(const char *url, int64_t kernels)
{
    static struct rows_made made;
    static const int64_t unknown[ROWS_BATCH];
    static struct links l;
    const struct table *t = store_table(RECORD_kernel);
    struct buf columns[RECORD_MAX_COLUMNS], body;
    struct err e = {0};
    int64_t bytes = 0, making = 0;
    check(links_open(&l, url, INT64_C(4) << 30, 0, &e), &e);
    make_table(&l, t);
    buf_init(&body, NATIVE_BLOCK_MAX);
    for (unsigned i = 0; i < t->column_count; i++)
        buf_init(&columns[i], NATIVE_BLOCK_MAX);
    int64_t begun = clock_mono(), worked = clock_process_cpu();
    rows_start(&made);
    size_t in = 0;
    for (int64_t done = 0; done < kernels; done += ROWS_BATCH) {
        int64_t at = clock_mono();
        const struct wire_batch *b = rows_next(&made, ROWS_BATCH);
        making += clock_mono() - at;
        for (unsigned i = 0; i < t->column_count; i++)
            buf_put(&columns[i], b->col[i] ? b->col[i] : unknown, ROWS_BATCH * sizeof(int64_t));
        in += ROWS_BATCH;
        if (in >= BLOCK_ROWS || done + ROWS_BATCH >= kernels) {
            send_block(&l, t, columns, in, &body);
            in = 0;
        }
    }
    double took = (double)(clock_mono() - begun - making) / 1e9;
    double cpu = (double)(clock_process_cpu() - worked - making) / 1e3 / (double)kernels;
    static const char size[] = "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND "
                               "database = 'bench_raw' FORMAT Native";
    const struct link_question q = {size, sizeof size - 1, take_bytes, &bytes, 0};
    check(link_ask(&l, 0, &q, &e), &e);
    printf(
        "plain inserts into ClickHouse: %.2f million kernels/s, %.2f us of CPU each on this side, "
        "%.1f bytes a kernel\n",
        (double)kernels / took / 1e6, cpu, (double)bytes / (double)kernels);
    check(link_do(&l, 0, "DROP DATABASE bench_raw", &e), &e);
    for (unsigned i = 0; i < t->column_count; i++)
        buf_fini(&columns[i]);
    buf_fini(&body);
    links_close(&l);
}
