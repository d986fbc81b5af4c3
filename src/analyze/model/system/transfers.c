/* transfers.c - copies and fills by kind. */
#include "analyze/model/system/transfers.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"

#include <string.h>

static const char *const kind_names[TRANSFER_KINDS] = {
    "unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP",
};

void sum_transfers_init(struct model *m)
{
    (void)m;
}

void sum_transfers_fini(struct model *m)
{
    memset(&m->transfers, 0, sizeof m->transfers);
}

static void add(struct transfer_sum *s, int64_t bytes, int64_t start, int64_t ns)
{
    s->count++;
    s->bytes = cells_sum(s->bytes, bytes);
    s->time = cells_sum(s->time, ns);
    if (s->count == 1 || ns > s->max) {
        s->max = ns;
        s->at = start;
    }
}

static void take_copy(struct sum_transfers *t, const struct wire_batch *b, size_t i)
{
    int64_t kind = cells_or(b, COL_memcpy_kind, i, 0), start = b->col[COL_memcpy_start][i],
            ns = b->col[COL_memcpy_duration][i], bytes = cells_or(b, COL_memcpy_bytes, i, 0);
    if (kind < 0 || kind >= TRANSFER_KINDS)
        kind = 0;
    bytes = bytes < 0 ? 0 : bytes;
    add(&t->kinds[kind], bytes, start, ns);
    if (cells_get(b, COL_memcpy_src_memory, i) == TRANSFER_PAGEABLE ||
        cells_get(b, COL_memcpy_dst_memory, i) == TRANSFER_PAGEABLE)
        add(&t->pageable[kind], bytes, start, ns);
}

int sum_transfers_batch(struct model *m, const struct wire_batch *b)
{
    struct sum_transfers *t = &m->transfers;
    int64_t end;
    for (size_t i = 0; i < b->rows; i++) {
        if (!b->col[0] || !b->col[1] || !cells_interval(b->col[0][i], b->col[1][i], &end))
            t->invalid++;
        else if (b->type == RECORD_memcpy)
            take_copy(t, b, i);
        else
            add(&t->fills, cells_or(b, COL_memset_bytes, i, 0), b->col[0][i], b->col[1][i]);
    }
    return 0;
}

static void merge(struct transfer_sum *s, const struct transfer_sum *o, int64_t shift)
{
    if (o->count && (!s->count || o->max > s->max)) {
        s->max = o->max;
        s->at = o->at + shift;
    }
    s->count += o->count;
    s->bytes = cells_sum(s->bytes, o->bytes);
    s->time = cells_sum(s->time, o->time);
}

int sum_transfers_merge(struct model *into, const struct model *from, int64_t shift)
{
    for (int i = 0; i < TRANSFER_KINDS; i++) {
        merge(&into->transfers.kinds[i], &from->transfers.kinds[i], shift);
        merge(&into->transfers.pageable[i], &from->transfers.pageable[i], shift);
    }
    merge(&into->transfers.fills, &from->transfers.fills, shift);
    into->transfers.invalid += from->transfers.invalid;
    return 0;
}

int sum_transfers_finish(struct model *m)
{
    (void)m;
    return 0;
}

const char *sum_transfers_kind(int kind)
{
    return kind_names[kind >= 0 && kind < TRANSFER_KINDS ? kind : 0];
}

struct transfer_sum sum_transfers_copies(const struct model *m)
{
    struct transfer_sum all = {0};
    for (int i = 0; i < TRANSFER_KINDS; i++)
        merge(&all, &m->transfers.kinds[i], 0);
    return all;
}
