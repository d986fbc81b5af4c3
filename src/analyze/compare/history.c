/* history.c - see history.h. */
#include "analyze/compare/history.h"

#include "base/alloc.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Durations of kernels are known to 0.4 %: a smaller spread means nothing. */
#define SPREAD_LEAST 0.004

struct work {
    struct history *h;
    struct history_point *points;
    size_t n;
    double *logs, *room;                /* owned; n each */
    const struct history_point **order; /* owned: the points by ratio */
    double *ranks;                      /* owned: the ranks of `order` */
    uint32_t *groups;                   /* owned: their groups, in the current grouping */
    double ties;
};

/* ---- steps ----------------------------------------------------------------------------------- */

/* Median of the logarithms from .. to. */
static double level(const struct work *w, size_t from, size_t to)
{
    memcpy(w->room, w->logs + from, (to - from) * sizeof *w->room);
    return stats_median(w->room, to - from);
}

static size_t step_end(const struct work *w, size_t step)
{
    return step + 1 < w->h->step_count ? w->h->steps[step + 1].at : w->n;
}

static void set_levels(const struct work *w)
{
    struct history *h = w->h;
    for (size_t i = 0; i <= h->step_count; i++) {
        size_t from = i ? h->steps[i - 1].at : 0, to = i < h->step_count ? h->steps[i].at : w->n;
        double at = exp(level(w, from, to));
        if (i)
            h->steps[i - 1].after = at;
        if (i < h->step_count)
            h->steps[i].before = at;
        for (size_t k = from; k < to; k++) {
            w->points[k].level = at;
            w->points[k].ratio = w->points[k].mean / at;
        }
    }
}

/* Drops the smallest step if it is too small to be reported. */
static bool drop_small(const struct work *w)
{
    struct history *h = w->h;
    size_t least = 0;
    double change = INFINITY;
    for (size_t i = 0; i < h->step_count; i++) {
        double c = fabs(log(h->steps[i].after / h->steps[i].before));
        if (c < change) {
            change = c;
            least = i;
        }
    }
    if (change >= log1p(HISTORY_LEAST))
        return false;
    memmove(&h->steps[least], &h->steps[least + 1], (h->step_count - least - 1) * sizeof *h->steps);
    h->step_count--;
    return true;
}

static const char *machine(const struct history_point *p)
{
    return *p->gpu ? p->gpu : p->host;
}

static bool machines_differ(const struct work *w, size_t from, size_t at, size_t to)
{
    for (size_t i = from; i < at; i++)
        for (size_t k = at; k < to; k++)
            if (strcmp(machine(&w->points[i]), machine(&w->points[k])) == 0)
                return false;
    return true;
}

static int find_steps(const struct work *w)
{
    struct history *h = w->h;
    struct stats_step found[STATS_STEPS_MAX];
    int count = stats_steps(w->logs, w->n, HISTORY_ALPHA, found);
    if (count < 0)
        return count;
    for (int i = 0; i < count; i++)
        h->steps[h->step_count++] = (struct history_step){.at = found[i].at, .p = found[i].p};
    do
        set_levels(w);
    while (h->step_count && drop_small(w));
    for (size_t i = 0; i < h->step_count; i++)
        h->steps[i].other_machines =
            machines_differ(w, i ? h->steps[i - 1].at : 0, h->steps[i].at, step_end(w, i));
    return 0;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void find_outliers(const struct work *w)
{
    for (size_t i = 0; i < w->n; i++)
        w->room[i] = log(w->points[i].ratio);
    double spread = stats_spread(w->room, w->n);
    spread = spread > SPREAD_LEAST ? spread : SPREAD_LEAST;
    for (size_t i = 0; i < w->n; i++) {
        struct history_point *p = &w->points[i];
        p->far = w->n >= HISTORY_OUTLIERS_FROM ? log(p->ratio) / spread : NAN;
        p->outlier = fabs(p->far) > STATS_OUTLIER && fabs(log(p->ratio)) >= log1p(HISTORY_LEAST);
    }
}

/* ---- hosts, GPUs ----------------------------------------------------------------------------- */

static const char *name_of(const struct history_point *p, bool gpus)
{
    return gpus ? p->gpu : p->host;
}

static int by_point(const void *a, const void *b)
{
    const struct history_point *const *x = a, *const *y = b;
    return (*x)->ratio < (*y)->ratio ? -1 : (*x)->ratio > (*y)->ratio;
}

/* Points by ratio, their ranks, and the ties among them. */
static void rank_points(struct work *w)
{
    for (size_t i = 0; i < w->n; i++)
        w->order[i] = &w->points[i];
    qsort(w->order, w->n, sizeof *w->order, by_point);
    for (size_t from = 0, to; from < w->n; from = to) {
        for (to = from + 1; to < w->n && w->order[to]->ratio == w->order[from]->ratio; to++)
            ;
        double t = (double)(to - from);
        w->ties += t * (t * t - 1);
        for (size_t i = from; i < to; i++)
            w->ranks[i] = ((double)from + (double)to + 1) / 2;
    }
}

/* The median of the n values in order that are in the group, or of all others. */
static double median(const struct work *w, uint32_t group, bool inside, size_t n)
{
    double low = NAN;
    for (size_t i = 0, at = 0; i < w->n; i++) {
        if ((w->groups[i] == group) != inside)
            continue;
        if (at == (n - 1) / 2)
            low = w->order[i]->ratio;
        if (at++ == n / 2)
            return (low + w->order[i]->ratio) / 2;
    }
    return NAN;
}

static void look_at(const struct work *w, struct history_group *g, uint32_t group)
{
    double sum = 0;
    for (size_t i = 0; i < w->n; i++)
        if (w->groups[i] == group) {
            sum += w->ranks[i];
            g->sessions++;
        }
    size_t others = w->n - g->sessions;
    g->ratio = g->p = g->q = NAN;
    if (!others)
        return;
    g->ratio = median(w, group, true, g->sessions) / median(w, group, false, others);
    g->p = stats_of_ranks(sum, others, g->sessions, w->ties).p;
}

static int by_ratio(const void *a, const void *b)
{
    const struct history_group *x = a, *y = b;
    if (x->ratio != y->ratio && !isnan(x->ratio) && !isnan(y->ratio))
        return x->ratio > y->ratio ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int judge(struct history_group *g, size_t n)
{
    double *q = mem_array(n + 1, sizeof *q);
    if (!q)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        q[i] = g[i].p;
    int rc = stats_false_alarms(q, n);
    for (size_t i = 0; i < n; i++) {
        g[i].q = q[i];
        g[i].outlying = g[i].q < HISTORY_ALPHA && fabs(log(g[i].ratio)) >= log1p(HISTORY_LEAST);
    }
    mem_free(q);
    qsort(g, n, sizeof *g, by_ratio);
    return rc;
}

/* Finds the group of each point of `order`; HISTORY_GROUPS: its name is unknown. Returns the number
 * of groups. */
static size_t name_groups(const struct work *w, bool gpus, struct history_group *g)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        const char *name = name_of(w->order[i], gpus);
        uint32_t at = 0;
        while (at < n && strcmp(g[at].name, name) != 0)
            at++;
        if (at == n && *name && n < HISTORY_GROUPS)
            g[n++].name = name;
        w->groups[i] = at < n ? at : HISTORY_GROUPS;
    }
    return n;
}

static int find_groups(const struct work *w, bool gpus, struct region *mem,
                       struct history_group **out, size_t *count)
{
    struct history_group *g = region_array(mem, HISTORY_GROUPS, sizeof *g);
    if (!g)
        return GPUFL_E_NOMEM;
    size_t n = name_groups(w, gpus, g);
    for (uint32_t i = 0; i < n; i++)
        look_at(w, &g[i], i);
    *out = g;
    *count = n;
    return judge(g, n);
}

int history_find(struct history *h, struct history_point *points, size_t n, struct region *mem)
{
    struct work w = {.h = h, .points = points, .n = n};
    memset(h, 0, sizeof *h);
    w.logs = mem_array(n + 1, sizeof *w.logs);
    w.room = mem_array(n + 1, sizeof *w.room);
    w.ranks = mem_array(n + 1, sizeof *w.ranks);
    w.order = mem_array(n + 1, sizeof(struct history_point *));
    w.groups = mem_array(n + 1, sizeof *w.groups);
    int rc = w.logs && w.room && w.ranks && w.order && w.groups ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < n; i++)
        w.logs[i] = log(points[i].mean);
    rc = rc || !n ? rc : find_steps(&w);
    if (!rc && n) {
        find_outliers(&w);
        rank_points(&w);
    }
    rc = rc ? rc : find_groups(&w, false, mem, &h->hosts, &h->host_count);
    rc = rc ? rc : find_groups(&w, true, mem, &h->gpus, &h->gpu_count);
    mem_free(w.logs);
    mem_free(w.room);
    mem_free(w.ranks);
    mem_free(w.order);
    mem_free(w.groups);
    return rc;
}
