/* history.c - see history.h. */
#include "analyze/compare/history.h"

#include "analyze/common/order.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/intern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Durations of kernels are known to 0.4 %: a smaller spread means nothing. */
#define SPREAD_LEAST 0.004
#define NAMES_BYTES  ((size_t)1 << 30) /* of hosts and GPUs; a longer list has no groups */

struct work {
    struct history *h;
    struct history_point *points;
    size_t n;
    double *logs, *room;    /* owned; n each */
    struct intern *names;   /* owned: hosts and GPUs */
    uint32_t *hosts, *gpus; /* owned: their ids, by point; 0: unknown */
    uint32_t *of_name;      /* owned: by id of a name, what a search notes */
    uint32_t *order;        /* owned: the points by ratio */
    double *ranks;          /* owned: the ranks of `order` */
    uint32_t *placed;       /* owned: places in `order`, by group, then ascending */
    double ties;
};

/* ---- steps ----------------------------------------------------------------------------------- */

/* Returns the median of the logarithms from .. to. */
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

static uint32_t machine(const struct work *w, size_t point)
{
    return w->gpus[point] ? w->gpus[point] : w->hosts[point];
}

static bool machines_differ(const struct work *w, size_t from, size_t at, size_t to, uint32_t mark)
{
    for (size_t i = from; i < at; i++)
        w->of_name[machine(w, i)] = mark;
    for (size_t k = at; k < to; k++)
        if (w->of_name[machine(w, k)] == mark)
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
        h->steps[i].other_machines = machines_differ(w, i ? h->steps[i - 1].at : 0, h->steps[i].at,
                                                     step_end(w, i), (uint32_t)i + 1);
    return 0;
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* The logarithms become those of the ratios. */
static void find_outliers(const struct work *w)
{
    const double least = log1p(HISTORY_LEAST);
    for (size_t i = 0; i < w->n; i++)
        w->logs[i] = log(w->points[i].ratio);
    memcpy(w->room, w->logs, w->n * sizeof *w->room);
    double spread = stats_spread(w->room, w->n);
    spread = spread > SPREAD_LEAST ? spread : SPREAD_LEAST;
    for (size_t i = 0; i < w->n; i++) {
        struct history_point *p = &w->points[i];
        p->far = w->n >= HISTORY_OUTLIERS_FROM ? w->logs[i] / spread : NAN;
        p->outlier = fabs(p->far) > STATS_OUTLIER && fabs(w->logs[i]) >= least;
    }
}

/* ---- hosts, GPUs ----------------------------------------------------------------------------- */

/* Returns the ratio of the k-th point of `order`. */
static double ratio_at(const struct work *w, size_t k)
{
    return w->points[w->order[k]].ratio;
}

/* Sorts the points by ratio, and finds their ranks and the ties among them. */
static int rank_points(struct work *w)
{
    for (size_t i = 0; i < w->n; i++)
        w->room[i] = w->points[i].ratio;
    int rc = order_values(w->room, w->n, w->order);
    for (size_t from = 0, to; !rc && from < w->n; from = to) {
        for (to = from + 1; to < w->n && ratio_at(w, to) == ratio_at(w, from); to++)
            ;
        double t = (double)(to - from);
        w->ties += t * (t * t - 1);
        for (size_t i = from; i < to; i++)
            w->ranks[i] = ((double)from + (double)to + 1) / 2;
    }
    return rc;
}

/* Holds a group's places in `order`, ascending. */
struct places {
    const uint32_t *at;
    size_t count;
};

static double inside(const struct work *w, struct places g, size_t k)
{
    return ratio_at(w, g.at[k]);
}

/* Returns the ratio of the k-th point of `order` that is not in the group. */
static double outside(const struct work *w, struct places g, size_t k)
{
    size_t before = 0; /* points of the group before it */
    while (before < g.count && g.at[before] <= k + before)
        before++;
    return ratio_at(w, k + before);
}

static double median(const struct work *w, struct places g, size_t n,
                     double (*ratio)(const struct work *w, struct places g, size_t k))
{
    return (ratio(w, g, (n - 1) / 2) + ratio(w, g, n / 2)) / 2;
}

static void look_at(const struct work *w, struct history_group *g, struct places places)
{
    double sum = 0;
    size_t others = w->n - places.count;
    for (size_t i = 0; i < places.count; i++)
        sum += w->ranks[places.at[i]];
    g->sessions = places.count;
    g->ratio = g->p = g->q = NAN;
    if (!others)
        return;
    g->ratio = median(w, places, places.count, inside) / median(w, places, others, outside);
    g->p = stats_of_ranks(sum, others, places.count, w->ties).p;
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

/* Numbers the groups in the order of their first point: of_name is a group's number plus 1, 0 for a
 * name without a group. sessions counts the points. Returns the number of groups. */
static size_t name_groups(const struct work *w, const uint32_t *names, struct history_group *g)
{
    size_t n = 0;
    memset(w->of_name, 0, ((size_t)intern_count(w->names) + 1) * sizeof *w->of_name);
    for (size_t i = 0; i < w->n; i++) {
        uint32_t name = names[w->order[i]];
        if (name && !w->of_name[name] && n < HISTORY_GROUPS) {
            g[n++].name = intern_text(w->names, name, NULL);
            w->of_name[name] = (uint32_t)n;
        }
        if (w->of_name[name])
            g[w->of_name[name] - 1].sessions++;
    }
    return n;
}

/* Fills `placed`; ends[i] is where group i ends there. */
static void place_groups(const struct work *w, const uint32_t *names, const struct history_group *g,
                         size_t n, size_t *ends)
{
    for (size_t i = 0, at = 0; i < n; i++) {
        ends[i] = at;
        at += g[i].sessions;
    }
    for (size_t i = 0; i < w->n; i++) {
        uint32_t group = w->of_name[names[w->order[i]]];
        if (group)
            w->placed[ends[group - 1]++] = (uint32_t)i;
    }
}

static int find_groups(const struct work *w, const uint32_t *names, struct region *mem,
                       struct history_group **out, size_t *count)
{
    size_t ends[HISTORY_GROUPS];
    struct history_group *g = region_array(mem, HISTORY_GROUPS, sizeof *g);
    if (!g)
        return GPUFL_E_NOMEM;
    size_t n = name_groups(w, names, g);
    place_groups(w, names, g, n, ends);
    for (size_t i = 0; i < n; i++) {
        size_t sessions = g[i].sessions;
        look_at(w, &g[i], (struct places){w->placed + ends[i] - sessions, sessions});
        g[i].name = region_copy(mem, g[i].name, strlen(g[i].name));
        if (!g[i].name)
            return GPUFL_E_NOMEM;
    }
    *out = g;
    *count = n;
    return judge(g, n);
}

/* Gives names their ids. */
static int number_names(struct work *w)
{
    int rc = intern_open(&w->names, 2 * (uint32_t)w->n + 1, NAMES_BYTES);
    for (size_t i = 0; !rc && i < w->n; i++) {
        w->hosts[i] = intern_str(w->names, w->points[i].host);
        w->gpus[i] = intern_str(w->names, w->points[i].gpu);
    }
    w->of_name = rc ? NULL : mem_array((size_t)intern_count(w->names) + 1, sizeof *w->of_name);
    return rc ? rc : w->of_name ? 0 : GPUFL_E_NOMEM;
}

static int work_init(struct work *w)
{
    size_t n = w->n + 1;
    w->logs = mem_array(n, sizeof *w->logs);
    w->room = mem_array(n, sizeof *w->room);
    w->ranks = mem_array(n, sizeof *w->ranks);
    w->order = mem_array(n, sizeof *w->order);
    w->placed = mem_array(n, sizeof *w->placed);
    w->hosts = mem_array(n, sizeof *w->hosts);
    w->gpus = mem_array(n, sizeof *w->gpus);
    bool all = w->logs && w->room && w->ranks && w->order && w->placed && w->hosts && w->gpus;
    return all ? number_names(w) : GPUFL_E_NOMEM;
}

static void work_fini(struct work *w)
{
    mem_free(w->logs);
    mem_free(w->room);
    mem_free(w->ranks);
    mem_free(w->order);
    mem_free(w->placed);
    mem_free(w->hosts);
    mem_free(w->gpus);
    mem_free(w->of_name);
    if (w->names)
        intern_close(w->names);
}

int history_find(struct history *h, struct history_point *points, size_t n, struct region *mem)
{
    struct work w = {.h = h, .points = points, .n = n};
    memset(h, 0, sizeof *h);
    int rc = work_init(&w);
    for (size_t i = 0; !rc && i < n; i++)
        w.logs[i] = log(points[i].mean);
    rc = rc || !n ? rc : find_steps(&w);
    if (!rc && n) {
        find_outliers(&w);
        rc = rank_points(&w);
    }
    rc = rc ? rc : find_groups(&w, w.hosts, mem, &h->hosts, &h->host_count);
    rc = rc ? rc : find_groups(&w, w.gpus, mem, &h->gpus, &h->gpu_count);
    work_fini(&w);
    return rc;
}
