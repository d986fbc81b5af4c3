/* work.c - sums rows by stack; copies without a stack are kept until the calls are known. */
#include "analyze/model/work.h"

#include "analyze/common/cells.h"
#include "analyze/model/kernels/graphs.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1 << 20, COPIES_MAX = 1 << 20 };

struct work_copy {
    uint32_t correlation;
    uint8_t kind;
    bool pageable;
    int64_t start, time, bytes;
};

void sum_work_init(struct model *m)
{
    struct sum_work *s = &m->work;
    memset(s, 0, sizeof *s);
    keyed_init(&s->rows, sizeof(struct work), offsetof(struct work, place), ROWS_MAX);
    keyed_init(&s->items, sizeof(struct work), offsetof(struct work, place), ROWS_MAX);
}

void sum_work_fini(struct model *m)
{
    struct sum_work *s = &m->work;
    keyed_fini(&s->rows);
    keyed_fini(&s->items);
    mem_free(s->copies);
    sum_work_init(m);
}

/* ---- rows -------------------------------------------------------------------------------- */

static uint32_t id_cell(const struct wire_batch *b, unsigned column, size_t i)
{
    int64_t v = cells_or(b, column, i, 0);
    return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

static void sum(struct work *to, const struct work *from)
{
    to->count += from->count;
    to->time = cells_sum(to->time, from->time);
    to->bytes = cells_sum(to->bytes, from->bytes);
    to->small += from->small;
    to->small_time = cells_sum(to->small_time, from->small_time);
    if (from->small_end - from->small_start > to->small_end - to->small_start) {
        to->small_start = from->small_start;
        to->small_end = from->small_end;
    }
    to->pageable += from->pageable;
    to->pageable_time = cells_sum(to->pageable_time, from->pageable_time);
    to->pageable_bytes = cells_sum(to->pageable_bytes, from->pageable_bytes);
}

/* Adds the figures of `one` to the item with its key. */
static int put(struct keyed *k, const struct work *one, uint32_t *at)
{
    int rc = keyed_put(k, one, at, NULL);
    if (!rc && *at)
        sum(keyed_at(k, *at), one);
    return rc;
}

static struct work of_copy(const struct work_copy *c, uint32_t stack)
{
    bool small = c->bytes > 0 && c->bytes <= WAIT_SMALL;
    return (struct work){.stack = stack,
                         .kind = c->kind,
                         .count = 1,
                         .time = c->time,
                         .bytes = c->bytes,
                         .small = small,
                         .small_time = small ? c->time : 0,
                         .small_start = small ? c->start : 0,
                         .small_end = small ? c->start + c->time : 0,
                         .pageable = c->pageable,
                         .pageable_time = c->pageable ? c->time : 0,
                         .pageable_bytes = c->pageable ? c->bytes : 0};
}

/* Most consecutive rows have one item, which costs a comparison for kernels without a stack. */
static int take_kernels(struct model *m, const struct wire_batch *b)
{
    const int64_t *start = b->col[COL_kernel_start], *ns = b->col[COL_kernel_duration],
                  *stack = b->col[COL_kernel_stack];
    int64_t end;
    int rc = 0;
    for (size_t i = 0; stack && start && ns && !rc && i < b->rows; i++) {
        if (stack[i] <= 0 || stack[i] > UINT32_MAX || !cells_interval(start[i], ns[i], &end))
            continue;
        uint32_t config = id_cell(b, COL_kernel_config, i), at;
        config = config < m->refs.config_count ? m->refs.configs[config] : 0;
        struct work one = {.stack = (uint32_t)stack[i],
                           .kind = WORK_KERNEL,
                           .name = (uint32_t)sum_kernels_config(&m->kernels, config)->row.name,
                           .count = 1,
                           .time = ns[i]};
        rc = put(&m->work.rows, &one, &at);
    }
    return rc;
}

/* Ids begin with small numbers. Large ones belong to programs that instantiate a graph for each
 * launch, and are not distinguished. */
static uint32_t graph_cell(const struct wire_batch *b, size_t i)
{
    uint32_t id = id_cell(b, COL_graph_run_graph, i);
    return id < GRAPHS_MOST ? id : 0;
}

static int take_graphs(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        int64_t end;
        uint32_t at;
        struct work one = {.stack = id_cell(b, COL_graph_run_stack, i),
                           .kind = WORK_GRAPH,
                           .name = graph_cell(b, i),
                           .count = 1,
                           .time = cells_get(b, COL_graph_run_duration, i)};
        if (one.stack && cells_interval(cells_get(b, COL_graph_run_start, i), one.time, &end))
            rc = put(&m->work.rows, &one, &at);
    }
    return rc;
}

static int take_copy(struct sum_work *s, const struct wire_batch *b, size_t i)
{
    int64_t end, kind = cells_or(b, COL_memcpy_kind, i, 0),
                 bytes = cells_or(b, COL_memcpy_bytes, i, 0);
    struct work_copy c = {.correlation = id_cell(b, COL_memcpy_correlation, i),
                          .start = cells_get(b, COL_memcpy_start, i),
                          .time = cells_get(b, COL_memcpy_duration, i),
                          .bytes = bytes > 0 ? bytes : 0};
    uint32_t stack = id_cell(b, COL_memcpy_stack, i), at;
    if (!cells_interval(c.start, c.time, &end))
        return 0;
    c.kind = kind > 0 && kind < TRANSFER_KINDS ? (uint8_t)kind : 0;
    c.pageable = cells_get(b, COL_memcpy_src_memory, i) == TRANSFER_PAGEABLE ||
                 cells_get(b, COL_memcpy_dst_memory, i) == TRANSFER_PAGEABLE;
    int rc = stack || !c.correlation
                 ? GPUFL_E_FULL
                 : mem_grow(&s->copies, &s->copy_cap, s->copy_count + 1, sizeof c, COPIES_MAX);
    if (!rc)
        s->copies[s->copy_count++] = c;
    if (rc != GPUFL_E_FULL)
        return rc;
    struct work one = of_copy(&c, stack);
    return put(&s->rows, &one, &at);
}

int sum_work_batch(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    if (b->type == RECORD_kernel)
        return take_kernels(m, b);
    if (b->type == RECORD_graph_run)
        return take_graphs(m, b);
    for (size_t i = 0; !rc && i < b->rows; i++)
        rc = take_copy(&m->work, b, i);
    return rc;
}

/* ---- the end ----------------------------------------------------------------------------- */

struct call {
    uint32_t correlation, stack;
    bool reads; /* the call waits, maybe for the copy with that id */
};

static int compare_calls(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    if (x->reads != y->reads)
        return x->reads ? 1 : -1;
    return ORDER(x->stack, y->stack);
}

/* Lists the calls that have a stack, by correlation id: calls that copy under their id, calls that
 * wait under the id before theirs. Ids count a process' calls, so a thread that waits right after a
 * copy waits for that copy. */
static struct call *list_calls(const struct wait_list *l, size_t *count)
{
    struct call *calls = mem_array(l->count + 1, sizeof *calls);
    *count = 0;
    for (size_t i = 0; calls && i < l->count; i++) {
        const struct wait_item *w = &l->items[i];
        bool reads = w->call == WAIT_STREAM || w->call == WAIT_CONTEXT;
        if ((w->call == WAIT_COPY || reads) && w->stack && w->correlation > reads)
            calls[(*count)++] = (struct call){w->correlation - reads, w->stack, reads};
    }
    if (calls)
        qsort(calls, *count, sizeof *calls, compare_calls);
    return calls;
}

/* Returns the stack of the call that made a copy, or for a small copy to the host of the call that
 * waits for it. */
static uint32_t stack_of(const struct call *calls, size_t count, const struct work_copy *c)
{
    uint32_t correlation = c->correlation;
    bool is_read = c->kind == WORK_TO_HOST && c->bytes > 0 && c->bytes <= WAIT_SMALL;
    size_t low = ORDER_PLACE(count, i, calls[i].correlation < correlation);
    bool found = low < count && calls[low].correlation == correlation;
    return found && (is_read || !calls[low].reads) ? calls[low].stack : 0;
}

static int join_copies(struct model *m)
{
    struct sum_work *s = &m->work;
    const struct wait_list *waits = sum_wait_lines_waits(m);
    size_t count = 0;
    struct call *calls = waits ? list_calls(waits, &count) : NULL;
    int rc = calls ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < s->copy_count; i++) {
        uint32_t at;
        struct work one = of_copy(&s->copies[i], stack_of(calls, count, &s->copies[i]));
        rc = put(&s->rows, &one, &at);
    }
    mem_free(calls);
    mem_free(s->copies);
    s->copies = NULL;
    s->copy_count = s->copy_cap = 0;
    return rc;
}

/* Adds an item whose stack is a node of m. */
static int put_item(struct model *m, struct work one)
{
    uint32_t at, place;
    int rc = stacks_find_place(m, one.stack, &place);
    rc = rc ? rc : put(&m->work.items, &one, &at);
    if (!rc && at)
        ((struct work *)keyed_at(&m->work.items, at))->place = place;
    return rc;
}

int sum_work_finish(struct model *m)
{
    struct sum_work *s = &m->work;
    int rc = s->copy_count ? join_copies(m) : 0;
    for (size_t i = 1; !rc && i < s->rows.count; i++) {
        struct work one = *(const struct work *)keyed_at(&s->rows, i);
        one.stack = stacks_node_of(&m->stacks, one.stack);
        rc = put_item(m, one);
    }
    keyed_fini(&s->rows);
    return rc;
}

int sum_work_merge(struct model *into, const struct model *from, int64_t shift)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < from->work.items.count; i++) {
        struct work one = *sum_work_item(&from->work, i);
        one.stack = into->stacks.merged[one.stack];
        one.small_start += shift;
        one.small_end += shift;
        if (one.kind == WORK_GRAPH)
            one.name = 0; /* an id means another graph in each session */
        rc = put_item(into, one);
    }
    return rc;
}
