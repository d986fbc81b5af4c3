/* kinds.c - synchronizations, the vendor's own overhead, and graph launches. */
#include "analyze/model/waits/kinds.h"

#include "analyze/common/cells.h"
#include "analyze/common/words.h"
#include "analyze/model/model.h"

#include <string.h>

static const struct {
    const char *name, *key;
    bool blocks; /* true: blocks the host */
} kinds[SYNC_KINDS] = {
    {"unknown", "unknown", false},
    {"event", "event", true},
    {"stream waits for event", "stream_wait", false},
    {"stream", "stream", true},
    {"context", "context", true},
};

void sum_wait_kinds_init(struct model *m)
{
    for (int i = 0; i < SYNC_KINDS; i++)
        histogram_init(&m->wait_kinds.kinds[i]);
    busy_init(&m->wait_kinds.blocked);
}

void sum_wait_kinds_fini(struct model *m)
{
    for (int i = 0; i < SYNC_KINDS; i++)
        histogram_fini(&m->wait_kinds.kinds[i]);
    busy_fini(&m->wait_kinds.blocked);
    memset(&m->wait_kinds, 0, sizeof m->wait_kinds);
}

const char *sum_wait_kinds_name(int kind, const struct words *w)
{
    if (kind == WAIT_CONTEXT)
        return w->context;
    return kinds[kind >= 0 && kind < SYNC_KINDS ? kind : 0].name;
}

const char *sum_wait_kinds_key(int kind)
{
    return kinds[kind >= 0 && kind < SYNC_KINDS ? kind : 0].key;
}

bool sum_wait_kinds_blocks(int kind)
{
    return kind >= 0 && kind < SYNC_KINDS && kinds[kind].blocks;
}

static int take_sync(struct sum_wait_kinds *w, const struct wire_batch *b, size_t i, int64_t end)
{
    int64_t kind = cells_or(b, COL_sync_kind, i, 0);
    if (kind < 0 || kind >= SYNC_KINDS)
        kind = 0;
    int rc = histogram_add(&w->kinds[kind], b->col[COL_sync_duration][i]);
    if (!rc && kinds[kind].blocks)
        rc = busy_add(&w->blocked, b->col[COL_sync_start][i], end);
    return rc;
}

static void add_overhead(struct sum_wait_kinds *w, struct overhead_sum o)
{
    unsigned at = 0;
    while (at < w->overhead_count && w->overheads[at].kind != o.kind)
        at++;
    if (at == OVERHEAD_KINDS) {
        at--;
        w->overheads[at].kind = 0;
    } else if (at == w->overhead_count) {
        w->overheads[w->overhead_count++] = (struct overhead_sum){.kind = o.kind};
    }
    w->overheads[at].count += o.count;
    w->overheads[at].time = cells_sum(w->overheads[at].time, o.time);
}

static void take_graph(struct sum_wait_kinds *w, const struct wire_batch *b, size_t i)
{
    int64_t kernels = cells_get(b, COL_graph_launch_kernels, i);
    int64_t time = cells_get(b, COL_graph_launch_duration, i), end;
    if (!cells_interval(cells_get(b, COL_graph_launch_start, i), 0, &end)) {
        w->invalid++;
        return;
    }
    w->graph_launches++;
    if (cells_interval(0, time, &end))
        w->graph_time = cells_sum(w->graph_time, time);
    else
        w->graph_untimed++;
    if (kernels >= 0)
        w->graph_kernels = cells_sum(w->graph_kernels, kernels);
    else
        w->graph_unknown++;
}

int sum_wait_kinds_batch(struct model *m, const struct wire_batch *b)
{
    _Static_assert(COL_sync_start == 0 && COL_overhead_start == 0 && COL_sync_duration == 1 &&
                       COL_overhead_duration == 1,
                   "these columns are read by place");
    struct sum_wait_kinds *w = &m->wait_kinds;
    int rc = 0;
    int64_t end;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        if (b->type == RECORD_graph_launch)
            take_graph(w, b, i);
        else if (!b->col[0] || !b->col[1] || !cells_interval(b->col[0][i], b->col[1][i], &end))
            w->invalid++;
        else if (b->type == RECORD_sync)
            rc = take_sync(w, b, i, end);
        else
            add_overhead(
                w, (struct overhead_sum){model_name_cell(m, cells_get(b, COL_overhead_kind, i)), 1,
                                         b->col[COL_overhead_duration][i]});
    }
    return rc;
}

int sum_wait_kinds_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_wait_kinds *w = &into->wait_kinds;
    const struct sum_wait_kinds *o = &from->wait_kinds;
    int rc = busy_merge(&w->blocked, &o->blocked, shift);
    for (int i = 0; !rc && i < SYNC_KINDS; i++)
        rc = histogram_merge(&w->kinds[i], &o->kinds[i]);
    for (unsigned i = 0; i < o->overhead_count; i++)
        add_overhead(w, o->overheads[i]);
    w->graph_launches += o->graph_launches;
    w->graph_time = cells_sum(w->graph_time, o->graph_time);
    w->graph_untimed += o->graph_untimed;
    w->graph_kernels = cells_sum(w->graph_kernels, o->graph_kernels);
    w->graph_unknown += o->graph_unknown;
    w->invalid += o->invalid;
    return rc;
}

int sum_wait_kinds_finish(struct model *m)
{
    return busy_settle(&m->wait_kinds.blocked);
}

void sum_wait_kinds_blocking(const struct model *m, uint64_t *count, int64_t *total)
{
    *count = 0;
    *total = 0;
    for (int i = 0; i < SYNC_KINDS; i++)
        if (kinds[i].blocks) {
            *count += m->wait_kinds.kinds[i].count;
            *total = cells_sum(*total, m->wait_kinds.kinds[i].total);
        }
}
