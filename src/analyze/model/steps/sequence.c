/* sequence.c - finds steps from kernels: an optimizer's kernels, which end a step of training, or
 * else a kernel that comes once in each repetition of the whole sequence.
 *
 * The kernel is chosen in a window in the middle of the sequence; the whole sequence is then cut at
 * that kernel. Several launches of the kernel close together are one event. */
#include "analyze/model/steps/find.h"

#include "analyze/common/cells.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 1 << 18, /* kernels */
    CANDIDATES = 48,  /* the rarest kernels are tried */
    EVENTS_LEAST = 5, /* in the window */
    EVERY_MOST = 4,   /* updates in a step, such as of two networks alternately */
    APART = 2, /* launches that are closer than 1/APART of the usual distance are one event */
};

/* Holds the kernels at which the sequence is cut, and where. */
struct knife {
    const uint8_t *is; /* by name */
    bool ends;         /* the cut is after the event */
    size_t apart;      /* kernels of an event are at most this far from each other */
};

struct places {
    size_t *at; /* owned */
    size_t count, cap;
};

static uint32_t name_at(const struct step_sequence *q, size_t place)
{
    return step_name(&q->rows->items[q->at[place]]);
}

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Sets `apart` from the distance between two of the kernels: half of the window lies in distances
 * of at least that length. */
static int set_apart(const struct step_sequence *q, size_t from, size_t to, struct knife *k)
{
    size_t n = 0, last = SIZE_MAX, sum = 0;
    size_t *gaps = mem_array(to - from + 1, sizeof *gaps);
    if (!gaps)
        return GPUFL_E_NOMEM;
    for (size_t i = from; i < to; i++)
        if (k->is[name_at(q, i)]) {
            if (last != SIZE_MAX)
                gaps[n++] = i - last;
            last = i;
        }
    qsort(gaps, n, sizeof *gaps, compare_sizes);
    size_t all = 0, i = 0;
    for (size_t g = 0; g < n; g++)
        all += gaps[g];
    while (i < n && 2 * (sum += gaps[i]) < all)
        i++;
    k->apart = i < n ? gaps[i] / APART : 0;
    mem_free(gaps);
    return 0;
}

/* Cuts the sequence from..to; more than STEP_MOST cuts count as none. */
static int cut(const struct step_sequence *q, size_t from, size_t to, const struct knife *k,
               struct places *p)
{
    size_t last = SIZE_MAX;
    int rc = 0;
    p->count = 0;
    for (size_t i = from; !rc && i < to; i++) {
        if (!k->is[name_at(q, i)])
            continue;
        bool same = last != SIZE_MAX && i - last <= k->apart;
        last = i;
        if (same && k->ends)
            p->at[p->count - 1] = i + 1;
        if (same)
            continue;
        if (p->count > STEP_MOST) {
            p->count = 0;
            return 0;
        }
        rc = mem_grow(&p->at, &p->cap, p->count + 3, sizeof *p->at, STEP_MOST + 8);
        if (!rc)
            p->at[p->count++] = k->ends ? i + 1 : i;
    }
    return rc;
}

/* ---- the whole sequence ------------------------------------------------------------------ */

/* Keeps every n-th cut, and adds cuts at the begin and the end of the sequence. */
static void widen(const struct step_sequence *q, size_t every, const struct places *cuts,
                  struct places *all)
{
    all->count = 0;
    if (cuts->at[0] > 0)
        all->at[all->count++] = 0;
    for (size_t i = 0; i < cuts->count; i += every)
        all->at[all->count++] = cuts->at[i];
    if (all->at[all->count - 1] < q->count)
        all->at[all->count++] = q->count;
}

static int64_t end_of(const struct step_sequence *q, size_t from, size_t to)
{
    int64_t end = INT64_MIN;
    for (size_t i = from; i < to; i++) {
        const struct step_row *r = &q->rows->items[q->at[i]];
        end = r->start + r->duration > end ? r->start + r->duration : end;
    }
    return end;
}

/* Makes steps of the parts from..to among those that were compared. */
static int make(const struct step_sequence *q, const struct places *all, const uint8_t *alike,
                const size_t range[2], struct step_found *found)
{
    size_t n = range[1] - range[0];
    const size_t *at = all->at + range[0];
    found->at = mem_array(n + 1, sizeof *found->at);
    found->alike = mem_array(n, 1);
    if (!found->at || !found->alike)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        found->at[i] = q->rows->items[q->at[at[i]]].start;
    found->at[n] = end_of(q, at[n - 1], at[n]);
    if (at[n] < q->count && q->rows->items[q->at[at[n]]].start > found->at[n])
        found->at[n] = q->rows->items[q->at[at[n]]].start;
    memcpy(found->alike, alike + range[0], n);
    found->count = n;
    return 0;
}

/* Compares the parts, leaves out those at both ends that are not alike, and takes the rest as steps
 * if they meet the conditions for steps. */
static int take(const struct step_sequence *q, const struct places *all, struct step_found *found)
{
    struct step_likeness like;
    size_t n = all->count - 1, range[2] = {0, n}, alike = 0;
    uint8_t *each = mem_array(n + 1, 1);
    int rc = each ? step_compare(q, all->at, n, each, &like) : GPUFL_E_NOMEM;
    while (!rc && range[0] < range[1] && !each[range[0]])
        range[0]++;
    while (!rc && range[0] < range[1] && !each[range[1] - 1])
        range[1]--;
    for (size_t i = range[0]; !rc && i < range[1]; i++)
        alike += each[i];
    size_t steps = range[1] - range[0], kernels = all->at[range[1]] - all->at[range[0]];
    if (!rc && steps >= STEP_SEQUENCES_LEAST && like.kinds >= STEP_SEQUENCE_KERNELS &&
        100 * alike >= STEP_ALIKE_LEAST * steps && 100 * kernels >= STEP_COVER_LEAST * q->count)
        rc = make(q, all, each, range, found);
    mem_free(each);
    return rc;
}

/* Cuts the whole sequence. every: the most cuts in a step. */
static int cut_all(const struct step_sequence *q, const struct knife *k, size_t every,
                   struct step_found *found)
{
    struct places cuts = {0}, all = {0};
    int rc = cut(q, 0, q->count, k, &cuts);
    if (!rc && cuts.count) {
        all.at = mem_array(cuts.count + 2, sizeof *all.at);
        rc = all.at ? 0 : GPUFL_E_NOMEM;
    }
    for (size_t m = 1; !rc && cuts.count && m <= every && !found->count; m++) {
        widen(q, m, &cuts, &all);
        rc = take(q, &all, found);
    }
    mem_free(cuts.at);
    mem_free(all.at);
    return rc;
}

/* ---- which kernel ------------------------------------------------------------------------ */

/* Describes a kernel that may begin each step. */
struct candidate {
    uint32_t name;
    size_t apart, events, close;
    int64_t pause; /* ns from the end of the kernel before it to its start, on average */
};

static int compare_events(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->events != y->events ? (x->events < y->events ? -1 : 1)
                                  : (x->name > y->name) - (x->name < y->name);
}

/* Lists the rarest kernels of the window that come often enough. Returns their number. */
static size_t list(const struct step_sequence *q, size_t from, size_t to, struct candidate *c)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++)
        q->seen[name_at(q, i)]++;
    for (uint32_t name = 1; name < q->names && name < STEP_OTHERS; name++) {
        size_t times = q->seen[name], at = n < CANDIDATES ? n : CANDIDATES;
        if (times < EVENTS_LEAST)
            continue;
        while (at > 0 && c[at - 1].events > times)
            at--;
        if (at == CANDIDATES)
            continue;
        n += n < CANDIDATES;
        memmove(&c[at + 1], &c[at], (n - at - 1) * sizeof *c);
        c[at] = (struct candidate){.name = name, .events = times};
    }
    for (size_t i = from; i < to; i++)
        q->seen[name_at(q, i)] = 0;
    return n;
}

/* Returns the average time before the cuts in which nothing ran. */
static int64_t pause_before(const struct step_sequence *q, const struct places *p)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->count; i++) {
        size_t at = p->at[i];
        const struct step_row *r = &q->rows->items[q->at[at]],
                              *before = at ? &q->rows->items[q->at[at - 1]] : r;
        int64_t ns = r->start - (before->start + before->duration);
        sum = ns > 0 ? cells_sum(sum, ns) : sum;
    }
    return sum / (int64_t)p->count;
}

/* Judges one kernel in the window; c->events is 0 if it cannot begin steps. is: all 0, before and
 * after the call. */
static int judge(const struct step_sequence *q, size_t from, size_t to, uint8_t *is,
                 struct candidate *c)
{
    struct knife k = {.is = is};
    struct places p = {0};
    struct step_likeness like;
    is[c->name] = 1;
    int rc = set_apart(q, from, to, &k);
    rc = rc ? rc : cut(q, from, to, &k, &p);
    is[c->name] = 0;
    size_t n = p.count ? p.count - 1 : 0;
    rc = rc ? rc : step_compare(q, p.at, n, NULL, &like);
    bool good = !rc && n >= EVENTS_LEAST && like.kinds >= STEP_SEQUENCE_KERNELS &&
                100 * like.alike >= STEP_ALIKE_LEAST * n;
    c->apart = k.apart;
    c->events = good ? n : 0;
    c->close = good ? like.close : 0;
    c->pause = good ? pause_before(q, &p) : 0;
    mem_free(p.at);
    return rc;
}

/* Chooses the kernel of the outermost repetition. A kernel that comes more often is chosen instead
 * if its parts are all alike: ten steps, in the last of which two more kernels ran, are not one
 * step. */
static const struct candidate *choose(struct candidate *c, size_t n)
{
    const struct candidate *best = NULL;
    qsort(c, n, sizeof *c, compare_events);
    for (size_t i = 0; i < n; i++)
        if (c[i].events && (!best || (c[i].events >= 2 * best->events &&
                                      2 * (c[i].events - c[i].close) < best->events)))
            best = &c[i];
    /* The one after the longest pause, of equally frequent kernels. */
    const struct candidate *first = best;
    for (size_t i = 0; best && i < n; i++)
        if (c[i].events >= best->events && c[i].events - best->events <= 1 &&
            c[i].pause > first->pause)
            first = &c[i];
    return first;
}

static int find_repetition(const struct step_sequence *q, size_t from, size_t to,
                           struct step_found *found)
{
    struct candidate c[CANDIDATES + 1];
    uint8_t *is = mem_array(q->names, 1);
    int rc = is ? 0 : GPUFL_E_NOMEM;
    size_t n = rc ? 0 : list(q, from, to, c);
    for (size_t i = 0; !rc && i < n; i++)
        rc = judge(q, from, to, is, &c[i]);
    const struct candidate *best = rc ? NULL : choose(c, n);
    if (best) {
        is[best->name] = 1;
        rc = cut_all(q, &(struct knife){.is = is, .apart = best->apart}, 1, found);
        found->name = best->name;
    }
    mem_free(is);
    return rc;
}

/* Tries the middle of the session, then the middle of its later half: compiling and tuning at the
 * start may run more kernels than the steps do, each of them seldom. */
static int find_anywhere(const struct step_sequence *q, size_t from, size_t to,
                         struct step_found *found)
{
    size_t half = q->count / 2, wide = q->count - half < WINDOW ? q->count - half : WINDOW;
    int rc = find_repetition(q, from, to, found);
    if (rc || found->count)
        return rc;
    *found = (struct step_found){0};
    return find_repetition(q, q->count - wide, q->count, found);
}

int step_find_sequence(const struct step_sequence *q, struct step_found *found)
{
    size_t wide = q->count < WINDOW ? q->count : WINDOW, from = (q->count - wide) / 2,
           to = from + wide, updates = 0;
    *found = (struct step_found){0};
    if (q->count < STEP_SEQUENCES_LEAST * STEP_SEQUENCE_KERNELS)
        return 0;
    for (size_t i = from; i < to; i++)
        updates += q->updates[name_at(q, i)];
    if (updates < EVENTS_LEAST)
        return find_anywhere(q, from, to, found);
    struct knife k = {.is = q->updates, .ends = true};
    int rc = set_apart(q, from, to, &k);
    return rc ? rc : cut_all(q, &k, EVERY_MOST, found);
}

void step_found_fini(struct step_found *f)
{
    mem_free(f->at);
    mem_free(f->alike);
    *f = (struct step_found){0};
}
