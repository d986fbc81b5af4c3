/* ask_metrics.c - answers questions for series of metrics, and of memory held. */
#include "store/ask.h"

#include "base/blocks.h"

#include <stdio.h>
#include <string.h>

/* A metric is a column of its record, given by number, except the columns of time and device. */
int ask_series(struct ask *a)
{
    bool of_device = ask_value(a, "device") != NULL;
    enum record_type type = of_device ? RECORD_device_metric : RECORD_host_metric;
    const struct record *r = &records[type];
    int64_t metric = ask_int(a, "metric", -1);
    if (metric <= 0 || metric >= r->column_count || r->columns[metric].ref != RECORD_NONE)
        return err_set(a->e, GPUFL_E_INVAL, "record %s has no metric %lld", r->type,
                       (long long)metric);
    ask_text(a, "SELECT below(time, $step) AS slot, min(v), avg(v), max(v), count(v) FROM "
                "(SELECT time, ");
    char column[80];
    snprintf(column, sizeof column, "known(\"%s\")", r->columns[metric].name);
    ask_more(a, column);
    ask_more(a, of_device ? " AS v FROM {device_metric} WHERE device = $device"
                          : " AS v FROM {host_metric} WHERE 1 = 1");
    ask_more(a, "[from? AND time >= $from][to? AND time < $to] AND event(time, 0)) AS known_ones "
                "WHERE v IS NOT NULL GROUP BY slot ORDER BY slot");
    return ask_rows(a);
}

/* ---- memory held ----------------------------------------------------------------------------- */

/* Walks allocations and frees by time. The sums are made here, because the oldest ClickHouse has no
 * window functions. A free without a size or device gets those of the block at its address; after a
 * free without a block, the memory held is unknown. */
struct held {
    struct ask *a;
    struct blocks blocks;
    int64_t step, device, slot;
    bool any, unknown;
    __int128 now, peak;
    int64_t calls;
};

static int64_t whole(__int128 v)
{
    return v > INT64_MAX ? INT64_MAX : v < -INT64_MAX ? -INT64_MAX : (int64_t)v;
}

static int put_step(struct held *h)
{
    int64_t *row = h->any ? answer_row(&h->a->answer) : NULL;
    if (!h->any)
        return 0;
    if (!row)
        return h->a->answer.error;
    const int64_t cells[] = {h->slot, h->unknown ? CELL_NULL : whole(h->now),
                             h->unknown ? CELL_NULL : whole(h->peak), h->calls};
    memcpy(row, cells, sizeof cells);
    return 0;
}

enum { ALLOCATED = 1, FREED = 2 };

/* Gives a free the size and the device of its block, and notes the block of an allocation. */
static int match(struct held *h, int64_t op, struct block *one)
{
    struct block *b = one->address ? blocks_find(&h->blocks, one->address) : NULL;
    if (op == FREED && b && b->live) {
        one->bytes = one->bytes < 0 ? b->bytes : one->bytes;
        one->device = one->device ? one->device : b->device;
    }
    if (b)
        b->live = false;
    one->live = op == ALLOCATED && one->bytes >= 0;
    return one->live && one->address ? blocks_put(&h->blocks, one) : 0;
}

static int take_move(struct held *h, int64_t time, int64_t op, const struct block *one)
{
    int64_t rest = time % h->step, slot = time - (rest < 0 ? rest + h->step : rest);
    int rc = 0;
    if (!h->any || slot != h->slot) {
        rc = put_step(h);
        h->slot = slot;
        h->any = true;
        h->calls = 0;
    }
    h->unknown |= one->bytes < 0 && (op == ALLOCATED || op == FREED);
    int64_t bytes = one->bytes > 0 ? one->bytes : 0;
    h->now += op == ALLOCATED ? bytes : op == FREED ? -bytes : 0;
    h->peak = h->calls && h->peak > h->now ? h->peak : h->now;
    h->calls++;
    return rc;
}

static int take_moves(void *arg, const struct page *p)
{
    struct held *h = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < p->rows; i++) {
        int64_t op = page_int(p, 1, i), address = page_int(p, 3, i), device = page_int(p, 4, i);
        struct block one = {.address = address == CELL_NULL ? 0 : address,
                            .bytes = page_int(p, 2, i),
                            .device = device == CELL_NULL ? 0 : device};
        rc = match(h, op, &one);
        if (!rc && one.device == h->device)
            rc = take_move(h, page_int(p, 0, i), op, &one);
    }
    return rc;
}

int ask_allocations(struct ask *a)
{
    struct held h = {.a = a, .step = ask_int(a, "step", 1), .device = ask_int(a, "device", 0)};
    blocks_init(&h.blocks);
    ask_text(a, "SELECT time, op, bytes, address, device FROM {alloc} WHERE event(time, 0) "
                "ORDER BY time, rowid");
    int rc = ask_pages(a, take_moves, &h);
    rc = rc ? rc : put_step(&h);
    blocks_fini(&h.blocks);
    return rc;
}
