/* metric_sets.h - which hardware counters are asked for: a set's name, or a list of the driver's
 * names of metrics. Constant data. [any] */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_METRIC_SETS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_METRIC_SETS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* How long the device worked on it, ns. */
#define METRIC_TIME "gpu__time_duration.sum"

enum { METRICS_MOST = 32, METRIC_NAME = 96 };

/* What takes a metric of a set. */
enum metric_kind { METRIC_SAMPLED = 1, METRIC_RANGED = 2 };

struct metric_list {
    char set[16]; /* its name; "": metrics were listed */
    size_t count;
    char names[METRICS_MOST][METRIC_NAME];
};

/* text: the name of a set, or names of metrics and of sets with commas between them. Each metric
 * once. GPUFL_E_INVAL with a sentence. */
int metric_list_read(struct metric_list *out, const char *text, enum metric_kind kind,
                     struct err *e);

struct metric_of_set {
    const char *set, *metric;
    int kinds; /* enum metric_kind */
};

/* Metric i of all sets, set by set; false after the last. */
bool metric_sets_at(size_t i, struct metric_of_set *out);

/* Puts a metric first, also where it is listed already; where there is no room, the last one
 * goes. */
void metric_list_first(struct metric_list *l, const char *name);

#endif
