/* measure.c - what GPUs did in each step, where the steady part begins, and what came before it. */
#include "analyze/model/steps/steps.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICES = 256 };

/* Adds the time of a row to the steps that it overlaps. from: ns; at: the step to begin with. */
static size_t add_busy(struct sum_steps *s, size_t at, int64_t from, int64_t end)
{
    while (at < s->count && s->items[at].end <= from)
        at++;
    for (size_t i = at; i < s->count && s->items[i].start < end; i++) {
        struct steps_one *t = &s->items[i];
        int64_t a = from > t->start ? from : t->start, b = end < t->end ? end : t->end;
        t->busy += b > a ? b - a : 0;
    }
    return at;
}

static void add_rows(struct sum_steps *s)
{
    int64_t until[DEVICES];
    size_t at[DEVICES] = {0}, in = 0;
    bool worked[DEVICES] = {false};
    for (int d = 0; d < DEVICES; d++)
        until[d] = INT64_MIN;
    for (size_t i = 0; i < s->rows.count; i++) {
        const struct step_row *r = &s->rows.items[i];
        uint32_t d = step_device(r);
        int64_t end = r->start + r->duration, from = r->start > until[d] ? r->start : until[d];
        s->devices += !worked[d];
        worked[d] = true;
        if (end > from) {
            at[d] = add_busy(s, at[d], from, end);
            until[d] = end;
        }
        while (in < s->count && s->items[in].end <= r->start)
            in++;
        if (in < s->count && step_is_kernel(r) && s->items[in].start <= r->start)
            s->items[in].kernels++;
    }
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Finds the median length of the later half of the steps. */
static int find_median(const struct sum_steps *s, int64_t *median)
{
    size_t first = s->count / 2, n = s->count - first;
    int64_t *ns = mem_array(n + 1, sizeof *ns);
    if (!ns)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        ns[i] = s->items[first + i].end - s->items[first + i].start;
    qsort(ns, n, sizeof *ns, compare_ns);
    *median = ns[n / 2];
    mem_free(ns);
    return 0;
}

/* Returns the first of STEADY_LEAST steps in a row that last about as long as the median. Steps
 * that were found by the sequence of kernels have to be alike, too. */
static size_t find_settled(const struct sum_steps *s, bool scopes, int64_t median)
{
    size_t row = 0;
    for (size_t i = 0; i < s->count; i++) {
        int64_t ns = s->items[i].end - s->items[i].start;
        bool is_usual = ns / STEADY_TIMES <= median && median / STEADY_TIMES <= ns &&
                        (scopes || s->items[i].alike);
        row = is_usual ? row + 1 : 0;
        if (row == STEADY_LEAST)
            return i + 1 - row <= s->count / 2 ? i + 1 - row : s->count;
    }
    return s->count;
}

int step_measure(struct sum_steps *s, const struct step_found *found, size_t *settled)
{
    int64_t median;
    s->devices = 0;
    s->count = 0;
    *settled = 0;
    int rc = mem_grow(&s->items, &s->cap, found->count, sizeof *s->items, STEP_MOST + 1);
    if (rc || !found->count)
        return rc;
    for (size_t i = 0; i < found->count; i++)
        s->items[s->count++] = (struct steps_one){
            .start = found->at[i], .end = found->at[i + 1], .alike = found->alike[i], .session = 1};
    add_rows(s);
    rc = find_median(s, &median);
    *settled = rc ? 0 : find_settled(s, found->group != 0, median);
    return rc;
}

/* Sums the union of a device's rows before the steady part. */
struct before {
    int64_t until, ns;
};

static void add_before(struct before *b, const struct step_row *r, int64_t begins)
{
    int64_t end = r->start + r->duration, from = r->start > b->until ? r->start : b->until;
    end = end < begins ? end : begins;
    if (end > from) {
        b->ns = cells_sum(b->ns, end - from);
        b->until = end;
    }
}

/* Adds to the time of kernels of that name. ns: by the name in the rows. */
static void add_named(struct sum_steps *s, const struct step_row *r, int64_t part, int64_t *ns,
                      uint32_t *going)
{
    uint32_t name = step_name(r);
    if (name >= STEP_PAGEABLE)
        s->pageable_before[name - STEP_PAGEABLE] =
            cells_sum(s->pageable_before[name - STEP_PAGEABLE], part);
    if (step_is_copy(r)) {
        s->copies_before = cells_sum(s->copies_before, part);
        return;
    }
    uint32_t *last = &going[step_device(r)]; /* the name of the kernel whose rest follows */
    *last = name == STEP_GOES_ON ? *last : name;
    ns[*last] = cells_sum(ns[*last], part);
}

/* Stores the times of kernels by their names in the model. ns: by the name in the rows. */
static int keep_named(struct model *m, const int64_t *ns)
{
    struct sum_steps *s = &m->steps;
    int rc = 0;
    s->before_partly |= ns[STEP_OTHERS] > 0;
    for (uint32_t i = 1; !rc && i < sum_steps_names(m); i++) {
        struct steps_before one = {.name = sum_steps_name(m, i), .ns = ns[i]};
        if (one.name && one.ns)
            rc = step_before_add(s, &one);
    }
    return rc;
}

/* Returns when the last step ends. Steps that begin with a kernel have one more step, whose end is
 * unknown. */
static int64_t step_over(const struct sum_steps *s)
{
    const struct steps_one *last = &s->items[s->count - 1];
    return s->kernel ? cells_sum(last->end, last->end - last->start) : last->end;
}

int64_t sum_steps_over(const struct model *m)
{
    const struct sum_steps *s = &m->steps;
    return s->finished && s->steady && s->count ? step_over(s) : INT64_MAX;
}

/* Adds copies that began after the last step, such as a model that is copied back to the host, or a
 * checkpoint at the end. A longer run has them only once, too. */
static void add_copies_after(struct sum_steps *s)
{
    int64_t until = step_over(s);
    for (size_t i = s->rows.count; i > 0 && s->rows.items[i - 1].start >= until; i--) {
        const struct step_row *r = &s->rows.items[i - 1];
        uint32_t kind = step_name(r) - STEP_PAGEABLE;
        if (!step_is_copy(r))
            continue;
        s->copies_before = cells_sum(s->copies_before, r->duration);
        if (step_name(r) >= STEP_PAGEABLE)
            s->pageable_before[kind] = cells_sum(s->pageable_before[kind], r->duration);
    }
}

int step_measure_before(struct model *m)
{
    struct sum_steps *s = &m->steps;
    struct before any[DEVICES], compute[DEVICES];
    uint32_t going[DEVICES] = {0};
    int64_t *ns = mem_array(STEP_NAMES, sizeof *ns);
    if (!ns)
        return GPUFL_E_NOMEM;
    for (int d = 0; d < DEVICES; d++)
        any[d] = compute[d] = (struct before){INT64_MIN, 0};
    for (size_t i = 0; i < s->rows.count && s->rows.items[i].start < s->begins; i++) {
        const struct step_row *r = &s->rows.items[i];
        int64_t left = s->begins - r->start;
        add_before(&any[step_device(r)], r, s->begins);
        if (!step_is_copy(r))
            add_before(&compute[step_device(r)], r, s->begins);
        add_named(s, r, r->duration < left ? r->duration : left, ns, going);
    }
    for (int d = 0; d < DEVICES; d++) {
        s->any_before = cells_sum(s->any_before, any[d].ns);
        s->compute_before = cells_sum(s->compute_before, compute[d].ns);
    }
    if (s->count)
        add_copies_after(s);
    int rc = keep_named(m, ns);
    mem_free(ns);
    return rc;
}
