/* profiler_host.h - opens CUPTI's profiler host interface, for every engine that reads hardware
 * counters: it makes an image of what a device is to count from names of metrics, and values from
 * the counts.
 *
 * A device counts some metrics at once, and others in several skips the same work. Metrics are
 * added one after the other while they fit in the passes that are allowed; a metric that does not
 * fit, or that the device does not know, is left out and named. Called by one thread only. */
#ifndef GPUFL_BACKEND_NVIDIA_LIBRARY_PROFILER_HOST_H
#define GPUFL_BACKEND_NVIDIA_LIBRARY_PROFILER_HOST_H

#include "backend/nvidia/abi/profiler.h"
#include "backend/nvidia/library/cupti.h"
#include "backend/nvidia/library/metric_sets.h"

struct profiler_library { /* functions by name; NULL if the library lacks one */
#define PROFILER_MEMBER(required, result, name, arguments) result(*name) arguments;
    CUPTI_PROFILER_FUNCTIONS(PROFILER_MEMBER)
    CUPTI_PM_FUNCTIONS(PROFILER_MEMBER)
    CUPTI_RANGE_FUNCTIONS(PROFILER_MEMBER)
#undef PROFILER_MEMBER
};

/* Fills *out from the loaded library. GPUFL_E_UNAVAILABLE with a sentence: it is too old. */
int profiler_library_open(struct profiler_library *out, const struct cupti *c, struct err *e);

enum profiler_left { LEFT_UNKNOWN = 1, LEFT_PASSES };

struct profiler_host {
    const struct profiler_library *library;
    const struct cupti *cupti;
    enum profiler_type type;
    char chip[32];
    uint8_t *availability; /* owned: which counters can be read here; NULL: not asked */
    struct profiler_host_object *object; /* of the metrics chosen */
    uint8_t *config;                     /* owned: of the metrics chosen */
    size_t config_bytes, passes, count;
    const char *names[METRICS_MOST]; /* chosen; the list's */
    size_t left_count;
    struct {
        const char *name; /* the list's */
        enum profiler_left why;
    } left[METRICS_MOST];
};

/* Makes a host for a device, by the driver's ordinal, after the driver was initialized. The host
 * owns availability, also on failure. Seven parameters: two libraries, and the arguments of the
 * vendor's call that makes a host. */
int profiler_host_open(struct profiler_host *h, const struct profiler_library *l,
                       const struct cupti *c, enum profiler_type type, uint32_t device,
                       uint8_t *availability, struct err *e);

/* Chooses the metrics of the list that fit in passes_most passes; the list has to outlive the host.
 * GPUFL_E_UNAVAILABLE with a sentence: none fits. */
int profiler_host_choose(struct profiler_host *h, const struct metric_list *l, size_t passes_most,
                         struct err *e);

/* Gets the values of the chosen metrics, in their order, for one range or sample. Returns an enum
 * cupti_result. */
int profiler_host_evaluate(struct profiler_host *h, const uint8_t *image, size_t bytes,
                           size_t index, double *values);

/* *Computes the passes of a metric. passes: how many passes the metric needs on its own. Returns an
 * enum cupti_result. */
int profiler_host_passes(struct profiler_host *h, const char *metric, size_t *passes);

/* Gets the names of all metrics of a kind (enum profiler_metric), without the suffixes that select
 * a value; valid until the host is closed. Returns an enum cupti_result; CUPTI_E_NOT_SUPPORTED: the
 * library lists none. */
int profiler_host_names(struct profiler_host *h, int kind, const char ***names, size_t *count);

void profiler_host_close(struct profiler_host *h);

#endif
