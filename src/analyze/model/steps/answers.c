/* answers.c - finds the share base (the time that shares are parts of), and how long steps last. */
#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>

bool sum_steps_steady(const struct model *m)
{
    return m->steps.steady > 0;
}

int64_t sum_steps_time(const struct model *m)
{
    struct busy_result r;
    if (!sum_steps_steady(m))
        return sum_windows_time(m);
    busy_result(&m->steps.spans, &r);
    return r.busy;
}

const char *sum_steps_whole(const struct model *m)
{
    return sum_steps_steady(m) ? "the steady part" : sum_windows_whole(m);
}

double sum_steps_part(const struct model *m)
{
    if (!sum_steps_steady(m))
        return 1;
    double before = cells_share((double)m->steps.compute_before, (double)m->devices.compute_ns);
    return before < 1 ? 1 - before : 0;
}

double sum_steps_kernel_part(const struct model *m, uint32_t name, int64_t total)
{
    const struct steps_before key = {.name = name};
    const struct sum_steps *s = &m->steps;
    if (!sum_steps_steady(m))
        return 1;
    uint32_t at = keyed_find(&s->before, &key);
    if (!at && s->before_partly)
        return sum_steps_part(m);
    int64_t ns = at ? ((const struct steps_before *)keyed_at(&s->before, at))->ns : 0;
    double before = cells_share((double)ns, (double)total);
    return before < 1 ? 1 - before : 0;
}

double sum_steps_pageable_part(const struct model *m, uint32_t kind)
{
    if (!sum_steps_steady(m))
        return 1;
    double before = cells_share((double)m->steps.pageable_before[kind],
                                (double)m->transfers.pageable[kind].time);
    return before < 1 ? 1 - before : 0;
}

double sum_steps_copy_part(const struct model *m)
{
    if (!sum_steps_steady(m))
        return 1;
    int64_t all = cells_sum(sum_transfers_copies(m).time, m->transfers.fills.time);
    double before = cells_share((double)m->steps.copies_before, (double)all);
    return before < 1 ? 1 - before : 0;
}

int64_t sum_steps_idle(const struct model *m, const struct steps_one *t)
{
    int64_t all;
    if (__builtin_mul_overflow(t->end - t->start, (int64_t)m->steps.devices, &all))
        all = INT64_MAX;
    return all > t->busy ? all - t->busy : 0;
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int sum_steps_lengths(const struct model *m, struct steps_lengths *out)
{
    const struct sum_steps *s = &m->steps;
    int64_t *ns = mem_array(s->count + 1, sizeof *ns);
    size_t n = 0;
    *out = (struct steps_lengths){0};
    if (!ns)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].steady || !s->steady) {
            ns[n++] = s->items[i].end - s->items[i].start;
            out->alike += s->items[i].alike;
        }
    qsort(ns, n, sizeof *ns, compare_ns);
    if (n) {
        out->count = n;
        out->least = ns[0];
        out->most = ns[n - 1];
        out->median = ns[n / 2];
        out->p95 = ns[(n * 95 + 99) / 100 - 1];
    }
    mem_free(ns);
    return 0;
}

static const struct {
    const char *key, *text;
} whys[] = {
    [STEPS_FOUND] = {"", ""},
    [STEPS_NONE] = {"nothing_repeats", "no scope and no sequence of kernels repeats as steps do"},
    [STEPS_NO_WORK] = {"no_kernels", "no kernels are known"},
    [STEPS_WINDOWS] = {"windows", "only a part of the run was recorded"},
    [STEPS_UNSETTLED] = {"unsettled", "no five steps in a row last about as long as the median"},
    [STEPS_LATE] = {"late", "they begin after the first half million gaps of the GPU"},
};

const char *sum_steps_why_key(enum steps_why w)
{
    return whys[w].key;
}

const char *sum_steps_why(enum steps_why w)
{
    return whys[w].text;
}
