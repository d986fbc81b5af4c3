/* history.h - compares one kernel, scope or application over many sessions: when it got slower, and
 * which sessions, hosts and GPUs stand out.
 *
 * First, steps are found: where the level of the durations changes (stats_steps, on logarithms, so
 * that a step is a ratio). Second, each session is compared with the median of its level and its
 * spread, which a few bad runs hardly change. Third, the sessions of a host, and of a GPU, are
 * compared with all others by ranks. So a slow session on a slow host is not an outlier, and an
 * equally slow session on a fast host is one. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_COMPARE_HISTORY_H
#define GPUFL_ANALYZE_COMPARE_HISTORY_H

#include "analyze/common/stats.h"
#include "base/region.h"

#include <stdbool.h>

#define HISTORY_ALPHA 0.01 /* significance of steps, hosts and GPUs */
#define HISTORY_LEAST 0.02 /* the least change that is reported */

enum {
    HISTORY_OUTLIERS_FROM = 6, /* sessions that are needed before one can be an outlier */
    HISTORY_GROUPS = 1024,     /* hosts, and GPUs, that are looked at */
};

/* Describes a session. The caller fills in the names and the mean; points are in order of time. */
struct history_point {
    const char *session, *host, *gpu; /* gpu: "" if there are several */
    double mean;                      /* ns a call, > 0 */
    double level;                     /* median of its part of the series, ns */
    double ratio;                     /* mean / level */
    double far; /* distance from the level in spreads; NAN: too few sessions */
    bool outlier;
};

struct history_step {
    size_t at; /* the first point after it */
    double p;
    double before, after; /* levels, ns */
    bool other_machines;  /* no GPU (if unknown: no host) is both before and after */
};

struct history_group {
    const char *name;
    size_t sessions;
    double ratio; /* median of ratios / that of all others; NAN: there are no others */
    double p, q;  /* NAN: too few sessions (STATS_RANK_LEAST on each side) */
    bool outlying;
};

struct history {
    struct history_step steps[STATS_STEPS_MAX];
    size_t step_count;
    struct history_group *hosts, *gpus; /* greatest ratio first */
    size_t host_count, gpu_count;
};

/* Fills h and the results of the points; arrays lie in mem. 0 or GPUFL_E_NOMEM. */
int history_find(struct history *h, struct history_point *points, size_t n, struct region *mem);

#endif
