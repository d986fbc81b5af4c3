/* ranks.c - finds a session's collectives in the rows of its GPUs; see ranks.h. */
#include "analyze/model/ranks/ranks.h"

#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "symbol/names/kinds.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICES = 256 };

void sum_ranks_init(struct model *m)
{
    m->ranks = (struct sum_ranks){0};
}

static void drop(struct rank *r)
{
    mem_free(r->ops);
    mem_free(r->spans);
    mem_free(r->looks);
}

void sum_ranks_fini(struct model *m)
{
    for (size_t i = 0; i < m->ranks.count; i++)
        drop(&m->ranks.items[i]);
    mem_free(m->ranks.items);
    sum_ranks_init(m);
}

/* Has nothing to do: ranks are made from what other parts keep. */
int sum_ranks_batch(struct model *m, const struct wire_batch *b)
{
    (void)m;
    (void)b;
    return 0;
}

/* ---- a session --------------------------------------------------------------------------- */

static bool is_collective(const struct model *m, uint32_t name)
{
    const char *library = name ? kinds_library(sum_kernels_kinds(&m->kernels, name)) : NULL;
    return library && !strcmp(library, "NCCL");
}

/* Lists the names of collectives, by the name in the rows; *any: there is one. NULL: no memory. */
static uint32_t *list_collectives(const struct model *m, bool *any)
{
    uint32_t n = sum_steps_names(m), *of = mem_array(n, sizeof *of);
    *any = false;
    for (uint32_t i = 1; of && i < n; i++) {
        uint32_t name = sum_steps_name(m, i);
        if (!is_collective(m, name))
            continue;
        of[i] = name;
        *any = true;
    }
    return of;
}

/* Returns the number that the launcher gave the process (record setting). */
static int64_t number_of(const struct model *m)
{
    const struct sum_facts *f = &m->facts;
    int64_t number = CELL_NULL;
    for (size_t i = 0; i < f->setting_count; i++) {
        const struct facts_setting *s = &f->settings[i];
        if (!strcmp(model_text(m, s->engine), "process") && !strcmp(model_text(m, s->name), "rank"))
            number = strtoll(model_text(m, s->value), NULL, 10);
    }
    return number;
}

static int add_rank(struct model *m, uint32_t device, struct rank **to)
{
    struct sum_ranks *s = &m->ranks;
    *to = NULL;
    if (s->count == RANKS_MOST) {
        s->beyond++;
        return 0;
    }
    int rc = mem_grow(&s->items, &s->cap, s->count + 1, sizeof *s->items, RANKS_MOST);
    if (rc)
        return rc;
    *to = &s->items[s->count++];
    **to = (struct rank){.session = m->facts.session,
                         .run = m->facts.run,
                         .host = m->facts.host,
                         .pid = m->facts.pid,
                         .number = number_of(m),
                         .device = device,
                         .begins = INT64_MIN};
    return 0;
}

static int add_op(struct rank *r, const struct step_row *row, uint32_t name)
{
    struct rank_op op = {
        .start = row->start, .end = row->start + row->duration, .name = name, .waited = CELL_NULL};
    if (r->op_count == RANK_OPS_MOST) {
        r->cut = true;
        return 0;
    }
    int rc = mem_grow(&r->ops, &r->op_cap, r->op_count + 1, sizeof op, RANK_OPS_MOST);
    if (!rc)
        r->ops[r->op_count++] = op;
    return rc;
}

/* Adds a row to the union of other work than collectives; gaps that the GPU itself needs are
 * closed. */
static int add_span(struct rank *r, const struct step_row *row)
{
    struct rank_span *last = r->span_count ? &r->spans[r->span_count - 1] : NULL;
    int64_t end = row->start + row->duration;
    if (last && row->start - last->end < IDLE_BACK_TO_BACK) {
        last->end = end > last->end ? end : last->end;
        return 0;
    }
    if (r->span_count == RANK_SPANS_MOST) {
        r->cut = true;
        return 0;
    }
    int rc =
        mem_grow(&r->spans, &r->span_cap, r->span_count + 1, sizeof *r->spans, RANK_SPANS_MOST);
    if (!rc)
        r->spans[r->span_count++] = (struct rank_span){row->start, end};
    return rc;
}

/* Makes a rank for each device that ran a collective. names: by the name in the rows. */
static int take_rows(struct model *m, const uint32_t *names)
{
    const struct step_rows *rows = &m->steps.rows;
    bool has[DEVICES] = {false};
    int rc = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (step_is_kernel(&rows->items[i]) && names[step_name(&rows->items[i])])
            has[step_device(&rows->items[i])] = true;
    for (uint32_t d = 0; !rc && d < DEVICES; d++) {
        struct rank *r = NULL;
        bool inside = false; /* in a collective that is longer than a row can hold */
        rc = has[d] ? add_rank(m, d, &r) : 0;
        for (size_t i = 0; !rc && r && i < rows->count; i++) {
            const struct step_row *row = &rows->items[i];
            if (step_device(row) != d)
                continue;
            bool goes_on = step_name(row) == STEP_GOES_ON;
            uint32_t name = step_is_kernel(row) ? names[step_name(row)] : 0;
            if (goes_on && inside)
                r->ops[r->op_count - 1].end = row->start + row->duration;
            else
                rc = name ? add_op(r, row, name) : add_span(r, row);
            inside = goes_on ? inside : name != 0;
        }
    }
    return rc;
}

/* Returns the thread that runs the program's Python: the main thread, or the one with most looks
 * with a stack. Without Python it is the main thread. 0: none. */
static uint32_t program_thread(const struct model *m)
{
    const struct idle_looks *l = &m->idle.looks;
    uint32_t main = m->facts.pid > 0 && m->facts.pid <= UINT32_MAX ? (uint32_t)m->facts.pid : 0,
             best = 0;
    size_t most = 0;
    if (idle_looks_at(l, main) || idle_looks_native(l, main))
        return main;
    for (size_t t = 1; t < l->threads.count; t++) {
        uint32_t thread = *(const uint32_t *)keyed_at(&l->threads, t);
        size_t n = 0;
        for (size_t i = 0; i < l->count; i++)
            n += l->rows[i].thread == thread && l->rows[i].stack;
        if (n > most || (n == most && thread < best)) {
            most = n;
            best = thread;
        }
    }
    return best;
}

/* Keeps the looks at that thread. */
static int take_looks(struct model *m, struct rank *r)
{
    const struct idle_looks *l = &m->idle.looks;
    uint32_t thread = program_thread(m);
    int rc = 0;
    for (size_t i = 0; !rc && thread && i < l->count; i++) {
        uint32_t node = stacks_node_of(&m->stacks, idle_looks_stack(l, &l->rows[i]));
        if (l->rows[i].thread != thread || !node || r->look_count == RANK_LOOKS_MOST)
            continue;
        rc =
            mem_grow(&r->looks, &r->look_cap, r->look_count + 1, sizeof *r->looks, RANK_LOOKS_MOST);
        if (!rc)
            r->looks[r->look_count++] = (struct rank_look){l->rows[i].time, node};
    }
    return rc;
}

int sum_ranks_finish(struct model *m)
{
    size_t first = m->ranks.count;
    bool any;
    if (!m->steps.rows.count)
        return 0;
    uint32_t *names = list_collectives(m, &any);
    int rc = names ? 0 : GPUFL_E_NOMEM;
    if (!rc && any) {
        rc = step_rows_settle(&m->steps.rows);
        rc = rc ? rc : take_rows(m, names);
        for (size_t i = first; i < m->ranks.count; i++)
            m->ranks.items[i].cut |= m->steps.rows.beyond > 0;
        idle_looks_sort(&m->idle.looks);
        /* If a process has several devices, it is unknown for which one its thread worked. */
        if (!rc && m->ranks.count == first + 1)
            rc = take_looks(m, &m->ranks.items[first]);
    }
    mem_free(names);
    return rc;
}

/* ---- several ----------------------------------------------------------------------------- */

static int copy_rank(struct model *into, const struct rank *from, int64_t shift)
{
    struct rank *to;
    int rc = add_rank(into, into->devices.merged[from->device], &to);
    if (rc || !to)
        return rc;
    uint32_t device = to->device;
    *to = *from;
    to->device = device;
    to->shift += shift;
    to->op_cap = to->span_cap = to->look_cap = 0;
    to->ops = mem_array(from->op_count + 1, sizeof *to->ops);
    to->spans = mem_array(from->span_count + 1, sizeof *to->spans);
    to->looks = mem_array(from->look_count + 1, sizeof *to->looks);
    if (!to->ops || !to->spans || !to->looks)
        return GPUFL_E_NOMEM;
    memcpy(to->ops, from->ops, from->op_count * sizeof *to->ops);
    if (from->span_count)
        memcpy(to->spans, from->spans, from->span_count * sizeof *to->spans);
    for (size_t i = 0; i < from->look_count; i++)
        to->looks[i] =
            (struct rank_look){from->looks[i].time, into->stacks.merged[from->looks[i].node]};
    return 0;
}

int sum_ranks_merge(struct model *into, const struct model *from, int64_t shift)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < from->ranks.count; i++)
        rc = copy_rank(into, &from->ranks.items[i], shift);
    into->ranks.beyond += from->ranks.beyond;
    return rc;
}

void sum_ranks_put(const struct model *m, uint32_t rank, struct buf *out)
{
    const struct rank *r = &m->ranks.items[rank];
    if (r->number >= 0)
        buf_printf(out, "rank %lld", (long long)r->number);
    else
        buf_printf(out, "the process on GPU %lld (pid %lld)",
                   (long long)m->devices.items[r->device].row.index, (long long)r->pid);
}
