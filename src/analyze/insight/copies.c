/* copies.c - makes findings about copies that cost more than their data: small ones, and copies of
 * memory that is not pinned. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/insight.h"
#include "analyze/insight/staged.h"
#include "base/alloc.h"
#include "base/err.h"

enum { TEXT_MAX = 1 << 16 };

/* ---- small copies ------------------------------------------------------------------------- */

/* Counts the small copies of one place, counted from the recorded calls (asynchronous ones only if
 * they took long) and from the GPU's rows. */
struct small {
    struct small_sum {
        uint64_t count;
        int64_t time;       /* ns */
        int64_t start, end; /* ns, the longest one */
    } calls, records;
    bool covered; /* the line has a finding that says more */
};

static int add_small(const struct model *m, uint32_t place, const struct small_sum *s, bool host,
                     struct insights *to)
{
    uint64_t count = s->count;
    int64_t ns = s->time;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int rc = insight_add(to, "small_copies", &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->place = place;
    i->gives_back = cells_whole((double)ns * sum_steps_copy_part(m));
    i->severity = insight_by_share(m, i->gives_back);
    insight_of(i, INSIGHT_OF_COPIES, ns);
    insight_fact(i, "copies", (int64_t)count);
    insight_fact(i, host ? "host_ns" : "gpu_ns", ns);
    insight_fact_longest(m, i, s->start, s->end);
    buf_printf(&text, "Small copies × %s", units_count(a, (int64_t)count));
    rc = insight_say(&i->title, &text);
    buf_printf(&text, "%s copies of at most 16 KiB", units_count(a, (int64_t)count));
    insight_put_where(m, place, &text);
    buf_printf(&text, " took %s of the %s's time: each costs its call, not its data.",
               units_time(b, ns), host ? "host" : "GPU");
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

static void put_small(struct small_sum *s, uint64_t count, int64_t time, int64_t start, int64_t end)
{
    s->count += count;
    s->time = cells_sum(s->time, time);
    if (end - start > s->end - s->start) {
        s->start = start;
        s->end = end;
    }
}

static struct small *count_small(const struct model *m)
{
    struct small *all = mem_array(m->stacks.places.count + 1, sizeof *all);
    for (size_t i = 0; all && i < m->wait_lines.lines.count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, i);
        struct small *s = &all[l->place];
        if (!insight_line_is_known(m, l))
            continue;
        put_small(&s->calls, l->small, l->small_time, l->small_start, l->small_end);
        s->covered |= insight_line_loops(m, l) || insight_reads(m, l) > 0;
    }
    for (size_t i = 1; all && i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        if (w->kind != WORK_KERNEL)
            put_small(&all[w->place].records, w->small, w->small_time, w->small_start,
                      w->small_end);
    }
    return all;
}

/* The calls decide if all of them were recorded, else the GPU's rows. */
int insight_small_copies(const struct model *m, struct insights *to)
{
    struct small *all = count_small(m);
    int rc = all ? 0 : GPUFL_E_NOMEM;
    for (uint32_t i = 1; !rc && i < m->stacks.places.count; i++) {
        const struct small *s = &all[i];
        bool host = s->calls.count >= s->records.count;
        const struct small_sum *sum = host ? &s->calls : &s->records;
        if (!stacks_place_at(&m->stacks, i)->mark && !s->covered &&
            sum->count >= INSIGHT_small_copies &&
            insight_is_share(m, sum->time, INSIGHT_worth, 1000))
            rc = add_small(m, i, sum, host, to);
    }
    mem_free(all);
    return rc;
}

/* ---- pageable copies ---------------------------------------------------------------------- */

enum { TO_HOST = 2 /* memcpy.kind */ };

/* Finds the line whose pageable copies of that direction took longest. */
static int pageable_place(const struct model *m, uint32_t kind, struct insight_heaviest *out)
{
    int64_t *ns = mem_array(m->stacks.places.count + 1, sizeof *ns);
    if (!ns)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        if (w->kind == kind)
            ns[w->place] = cells_sum(ns[w->place], w->pageable_time);
    }
    *out = insight_heaviest(m, ns, m->transfers.pageable[kind].time);
    mem_free(ns);
    return 0;
}

static int add_pageable(const struct model *m, uint32_t kind, const struct transfer_sum *t,
                        int64_t gain, struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    struct insight_heaviest where;
    int rc = insight_add(to, "pageable_copies", &i);
    rc = rc ? rc : pageable_place(m, kind, &where);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->gives_back = gain;
    insight_own(i, &where);
    i->severity = insight_by_share(m, i->gives_back);
    insight_of(i, INSIGHT_OF_COPIES, t->time);
    insight_fact(i, "copies", (int64_t)t->count);
    insight_fact(i, "bytes", t->bytes);
    insight_fact(i, "gpu_ns", t->time);
    insight_fact_longest(m, i, t->at, t->at + t->max);
    if (kind == TO_HOST)
        i->next = model_words(m)->pinned_back;
    buf_printf(&text, "Pageable copies %s × %s", sum_transfers_kind((int)kind),
               units_count(a, (int64_t)t->count));
    rc = insight_say(&i->title, &text);
    buf_printf(&text, "%s in %s %s copies of host memory that is not pinned",
               units_bytes(a, t->bytes), units_count(b, (int64_t)t->count),
               sum_transfers_kind((int)kind));
    insight_put_heaviest(m, &where, " of their time", &text);
    buf_printf(&text, ": %s at %s, and the host is held up by each.", units_time(c, t->time),
               units_rate(d, t->bytes, t->time));
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

/* Returns the ns of pageable copies in the share base; at most `most`. */
static int64_t steady_time(const struct model *m, uint32_t kind, int64_t most)
{
    int64_t ns =
        cells_whole((double)m->transfers.pageable[kind].time * sum_steps_pageable_part(m, kind));
    return ns < most ? ns : most;
}

int64_t insight_copies_alone(const struct model *m)
{
    int64_t alone = m->devices.any_union_ns - m->devices.compute_union_ns;
    if (sum_steps_steady(m))
        alone -= m->steps.any_before - m->steps.compute_before;
    return alone > 0 ? alone : 0;
}

int insight_pageable_copies(const struct model *m, struct insights *to)
{
    int rc = 0;
    int64_t alone = insight_copies_alone(m);
    for (uint32_t k = 0; !rc && k < TRANSFER_KINDS; k++) {
        const struct transfer_sum *t = &m->transfers.pageable[k];
        if (t->bytes >= INSIGHT_pageable_bytes &&
            insight_is_share(m, sum_windows_of_whole(m, t->time), INSIGHT_worth, 1000))
            rc = add_pageable(m, k, t, steady_time(m, k, alone), to);
    }
    return rc ? rc : insight_staged(m, to);
}
