/* metric_sets.h - reads which hardware counters are asked for: names of sets, or the driver's names
 * of metrics. Constant data. [any] */
#ifndef GPUFL_BACKEND_NVIDIA_LIBRARY_METRIC_SETS_H
#define GPUFL_BACKEND_NVIDIA_LIBRARY_METRIC_SETS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Names the metric of how long the device worked on a range, ns. */
#define METRIC_TIME "gpu__time_duration.sum"

enum { METRICS_MOST = 32, METRIC_NAME = 96 };

/* Lists the engines that can count a metric of a set. */
enum metric_kind { METRIC_SAMPLED = 1, METRIC_RANGED = 2 };

struct metric_list {
    char set[16]; /* its name; "": metrics were listed */
    size_t count;
    char names[METRICS_MOST][METRIC_NAME];
};

/* Reads text: names of sets and of metrics with commas between them. The list has each metric once.
 * GPUFL_E_INVAL with a sentence. */
int metric_list_read(struct metric_list *out, const char *text, enum metric_kind kind,
                     struct err *e);

struct metric_of_set {
    const char *set, *metric;
    int kinds; /* enum metric_kind */
};

/* Gives metric i of all sets, set by set; false after the last. */
bool metric_sets_at(size_t i, struct metric_of_set *out);

/* Puts a metric first, also if it is in the list already; if there is no room, the last one is
 * dropped. */
void metric_list_first(struct metric_list *l, const char *name);

#endif
