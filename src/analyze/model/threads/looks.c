/* looks.c - see looks.h. */
#include "analyze/model/threads/looks.h"

#include "analyze/common/cells.h"
#include "base/alloc.h"
#include "base/order.h"

#include <stdlib.h>

enum { THREADS_MAX = 1 << 16, QUALITY_NATIVE = 3 };

void idle_looks_init(struct idle_looks *l)
{
    *l = (struct idle_looks){0};
    keyed_init(&l->threads, sizeof(uint32_t), sizeof(uint32_t), THREADS_MAX);
    keyed_init(&l->natives, sizeof(uint32_t), sizeof(uint32_t), THREADS_MAX);
}

void idle_looks_fini(struct idle_looks *l)
{
    mem_free(l->rows);
    keyed_fini(&l->threads);
    keyed_fini(&l->natives);
    idle_looks_init(l);
}

static uint32_t id_cell(const struct wire_batch *b, unsigned column, size_t i)
{
    int64_t v = cells_or(b, column, i, 0);
    return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

/* Moves a stack of native frames to where it belongs (host_sample.quality). */
static void sort_stack(struct idle_look *r, int64_t quality)
{
    r->torn = !r->stack && quality > 0;
    if (quality != QUALITY_NATIVE)
        return;
    r->native = r->stack;
    r->stack = 0;
    r->torn = false;
}

static int keep(struct idle_looks *l, const struct idle_look *r)
{
    uint32_t at;
    int rc = mem_grow(&l->rows, &l->cap, l->count + 1, sizeof *l->rows, IDLE_LOOKS);
    if (rc)
        return rc;
    l->rows[l->count++] = *r;
    l->sorted = 0;
    return r->stack    ? keyed_put(&l->threads, &r->thread, &at, NULL)
           : r->native ? keyed_put(&l->natives, &r->thread, &at, NULL)
                       : 0;
}

int idle_looks_batch(struct idle_looks *l, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        int64_t state = cells_or(b, COL_host_sample_state, i, 0),
                syscall = cells_get(b, COL_host_sample_syscall, i);
        struct idle_look r = {.time = cells_get(b, COL_host_sample_start, i),
                              .thread = id_cell(b, COL_host_sample_thread, i),
                              .stack = id_cell(b, COL_host_sample_stack, i)};
        if (!cells_time_ok(r.time) || !r.thread)
            continue;
        sort_stack(&r, cells_or(b, COL_host_sample_quality, i, 0));
        r.state = state > 0 && state < IDLE_STATES ? (uint8_t)state : IDLE_STATE_UNKNOWN;
        r.syscall = syscall >= 0 && syscall < UINT16_MAX ? (uint16_t)(syscall + 1) : 0;
        if (l->count == IDLE_LOOKS)
            l->beyond++;
        else
            rc = keep(l, &r);
    }
    return rc;
}

static int compare(const void *a, const void *b)
{
    const struct idle_look *x = a, *y = b;
    int o = ORDER(x->time, y->time);
    o = o ? o : ORDER(x->thread, y->thread);
    o = o ? o : ORDER(x->stack, y->stack);
    o = o ? o : ORDER(x->native, y->native);
    o = o ? o : ORDER(x->torn, y->torn);
    o = o ? o : ORDER(x->state, y->state);
    return o ? o : ORDER(x->syscall, y->syscall);
}

void idle_looks_sort(struct idle_looks *l)
{
    if (l->count && l->sorted != l->count)
        qsort(l->rows, l->count, sizeof *l->rows, compare);
    l->sorted = l->count;
}

size_t idle_looks_from(const struct idle_looks *l, int64_t t)
{
    return ORDER_PLACE(l->sorted, i, l->rows[i].time < t);
}

bool idle_looks_at(const struct idle_looks *l, uint32_t thread)
{
    return thread && keyed_find(&l->threads, &thread);
}

bool idle_looks_native(const struct idle_looks *l, uint32_t thread)
{
    return thread && l->threads.count < 2 && keyed_find(&l->natives, &thread);
}

uint32_t idle_looks_stack(const struct idle_looks *l, const struct idle_look *look)
{
    return look->stack ? look->stack : idle_looks_native(l, look->thread) ? look->native : 0;
}
