/* profiler_host.h - from names of metrics to an image of what a device's counters are to count,
 * and from what they counted to values: CUPTI's profiler host interface, for every engine that
 * reads hardware counters.
 *
 * A device counts some metrics at once and others in several passes, each over the same work. The
 * metrics are taken one after the other for as long as they fit in the passes that are allowed;
 * what does not fit, and what the device does not know, is left out and named. One thread. */
#ifndef GPUFL_BACKEND_NVIDIA_LIBRARY_PROFILER_HOST_H
#define GPUFL_BACKEND_NVIDIA_LIBRARY_PROFILER_HOST_H

#include "backend/nvidia/abi/profiler.h"
#include "backend/nvidia/engine/metric_sets.h"
#include "backend/nvidia/library/cupti.h"

struct profiler_library { /* functions by name; NULL where the library lacks one */
#define PROFILER_MEMBER(required, result, name, arguments) result(*name) arguments;
    CUPTI_PROFILER_FUNCTIONS(PROFILER_MEMBER)
    CUPTI_PM_FUNCTIONS(PROFILER_MEMBER)
    CUPTI_RANGE_FUNCTIONS(PROFILER_MEMBER)
#undef PROFILER_MEMBER
};

/* From the loaded library. GPUFL_E_UNAVAILABLE with a sentence: it is too old. */
int profiler_library_open(struct profiler_library *out, const struct cupti *c, struct err *e);

enum profiler_left { LEFT_UNKNOWN = 1, LEFT_PASSES };

struct profiler_host {
    const struct profiler_library *library;
    const struct cupti *cupti;
    enum profiler_type type;
    char chip[32];
    uint8_t *availability; /* owned; what counters may be read here; NULL: not asked */
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

/* For a device by the driver's ordinal, after the driver was initialized. availability passes to
 * the host, also on failure. Seven parameters: two libraries, and what the vendor's own call to
 * make a host takes. */
int profiler_host_open(struct profiler_host *h, const struct profiler_library *l,
                       const struct cupti *c, enum profiler_type type, uint32_t device,
                       uint8_t *availability, struct err *e);

/* Chooses of the list what fits in so many passes; the list has to outlive the host.
 * GPUFL_E_UNAVAILABLE with a sentence: nothing does. */
int profiler_host_choose(struct profiler_host *h, const struct metric_list *l, size_t passes_most,
                         struct err *e);

/* Values of the chosen metrics, in their order, of one range or sample. An enum cupti_result. */
int profiler_host_evaluate(struct profiler_host *h, const uint8_t *image, size_t bytes,
                           size_t index, double *values);

/* In how many passes the metric is counted on its own. An enum cupti_result. */
int profiler_host_passes(struct profiler_host *h, const char *metric, size_t *passes);

/* Names of all metrics of a kind (enum profiler_metric), without the endings that make values of
 * them; valid until the host is closed. An enum cupti_result; CUPTI_E_NOT_SUPPORTED: the library
 * lists none. */
int profiler_host_names(struct profiler_host *h, int kind, const char ***names, size_t *count);

void profiler_host_close(struct profiler_host *h);

#endif
