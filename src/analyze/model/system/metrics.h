/* metrics.h - sums up samples of devices and of the host: mean, maximum, minimum.
 *
 * Null cells are unknown and do not count; they are never 0. If another session took samples for
 * this one (shared.h), its log is read into a separate model with a filter, and that model is
 * merged. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SYSTEM_METRICS_H
#define GPUFL_ANALYZE_MODEL_SYSTEM_METRICS_H

#include "wire/record.h"

#include <stdbool.h>

struct model;
struct wire_batch;

#define SUM_METRICS_TAKES (MODEL_TAKES(device_metric) | MODEL_TAKES(host_metric))

enum { THROTTLE_BITS = 9 };

struct metric_sum {
    uint64_t count; /* samples that have a value; 0: unknown */
    int64_t min, max;
    double sum;
};

struct metrics_span {
    int64_t first, last; /* ns */
};

/* Holds the readings of a device's energy counter by one session. */
struct energy_part {
    struct metrics_span time; /* the first and the last reading */
    int64_t from;             /* ns: start of the session */
    int64_t first, last;      /* mJ; CELL_NULL: none */
    int64_t counted;          /* mJ, sum of the differences */
    int64_t steps, resets; /* number of differences; number of times that the counter went back */
};

/* Describes a device's power over time, as one session read it. */
struct power_part {
    struct metrics_span time;
    int64_t last;    /* mW; CELL_NULL: none */
    int64_t covered; /* ns that the trapezoids span */
    double energy;   /* J, trapezoids of power over time */
};

/* Energies are kept for each session and joined at the end, so that the order of merging does not
 * matter. */
struct device_metrics {
    uint64_t samples;
    struct metric_sum metrics[COL_device_metric_COUNT]; /* by column; time and device unused */
    struct energy_part energy;                          /* of the session that is being read */
    struct power_part power;
    struct energy_part *energies; /* owned: of merged sessions, in order */
    size_t energy_count, energy_cap;
    struct power_part *powers; /* owned: like energies */
    size_t power_count, power_cap;
    uint64_t throttled[THROTTLE_BITS]; /* samples with that reason */
    uint64_t throttle_known;           /* samples in which the reasons are known */
};

struct sum_metrics {
    struct device_metrics *devices; /* owned; by index in model.devices */
    size_t device_count, device_cap;
    uint64_t host_samples;                         /* rows with values of the host */
    uint64_t process_samples;                      /* rows with values of the process */
    struct metric_sum host[COL_host_metric_COUNT]; /* by column; time unused */
    const struct shared_filter *filter;            /* rows of this log to take; NULL: all */
};

void sum_metrics_init(struct model *m);
void sum_metrics_fini(struct model *m);
int sum_metrics_batch(struct model *m, const struct wire_batch *b);
int sum_metrics_merge(struct model *into, const struct model *from, int64_t shift);
int sum_metrics_finish(struct model *m);

/* Returns true for columns of host_metric that describe the process alone. */
bool sum_metrics_is_own(unsigned column);
/* Returns true for columns of host_metric that count since the previous sample, so that they add
 * up. */
bool sum_metrics_is_count(unsigned column);

double sum_metrics_mean(const struct metric_sum *s); /* 0 if nothing is known */

/* Computes the joules that a device used, by its counter where it has one, else by its power over
 * time. Time that several sessions sampled counts once. False: unknown. */
bool sum_metrics_energy(const struct device_metrics *d, double *joules, bool *counter);

/* Names bit i of device_metric.throttle in the words of the device's vendor; never NULL. */
struct words;
const char *sum_metrics_throttle(int bit, const struct words *w);
const char *sum_metrics_throttle_key(int bit); /* like sum_metrics_throttle, for programs */
/* Returns true if the reason is power, heat or hardware. */
bool sum_metrics_throttle_bad(int bit);

#endif
