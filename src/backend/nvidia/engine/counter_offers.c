/* counter_offers.c - see counter_offers.h.
 *
 * The driver is initialized, but no context is made: CUPTI's profiler host needs only the name of
 * the chip. To find the number of passes of a metric, it has to set the metric up, which takes a
 * while for the thousands of metrics of a chip. So the metrics of the sets come first; the passes
 * of the others are asked until the caller's time is over. Devices with the same chip are asked
 * once. */
#include "backend/nvidia/engine/counter_offers.h"

#include "backend/nvidia/library/cuda.h"
#include "backend/nvidia/library/metric_sets.h"
#include "backend/nvidia/library/profiler_host.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/process/dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHIPS = 16, UNASKED = -1 };

/* Holds, by enum profiler_metric, what a name ends in, so that it is one of the driver's
 * metrics. */
static const char *const endings[PROFILER_METRIC_KINDS] = {
    [PROFILER_COUNTER] = ".sum",
    [PROFILER_RATIO] = ".pct",
    [PROFILER_THROUGHPUT] = ".avg.pct_of_peak_sustained_elapsed",
};

struct chip {
    const struct counter_visit *visit;
    struct profiler_host ranges, samples;
    bool samples_open; /* the device can be sampled, or may at least be asked */
    int64_t until;     /* ns: the passes of metrics are asked until then */
};

static void give(struct chip *c, const char *set, const char *metric, bool ask)
{
    size_t passes = 0, sampled = 0;
    struct counter_offer o = {.chip = c->ranges.chip,
                              .set = set,
                              .metric = metric,
                              .passes = UNASKED,
                              .sampled = UNASKED};
    if (ask) {
        o.passes = profiler_host_passes(&c->ranges, metric, &passes) ? 0 : (int)passes;
        if (c->samples_open)
            o.sampled = profiler_host_passes(&c->samples, metric, &sampled) == 0 && sampled == 1;
    }
    c->visit->fn(c->visit->arg, &o);
}

static void give_sets(struct chip *c)
{
    struct metric_of_set m;
    for (size_t i = 0; metric_sets_at(i, &m); i++)
        give(c, m.set, m.metric, true);
}

/* Gives all metrics of the chip, also those of the sets, maybe with another ending. */
static int give_all(struct chip *c)
{
    for (int kind = 0; kind < PROFILER_METRIC_KINDS; kind++) {
        const char **names;
        size_t count;
        int result = profiler_host_names(&c->ranges, kind, &names, &count);
        if (result != CUPTI_OK)
            return result;
        for (size_t i = 0; i < count; i++) {
            char metric[METRIC_NAME * 2];
            snprintf(metric, sizeof metric, "%s%s", names[i], endings[kind]);
            give(c, "", metric, clock_mono() < c->until);
        }
    }
    return CUPTI_OK;
}

/* Returns which counters may be sampled; NULL: not known, then those of the chip are taken. */
static uint8_t *availability(const struct profiler_library *l, uint32_t device)
{
    struct pm_availability_params p = {.size = PROFILER_SIZE(pm_availability_params, image),
                                       .device = device};
    if (l->cuptiPmSamplingGetCounterAvailability(&p) != CUPTI_OK)
        return NULL;
    p.image = mem_zalloc(p.bytes ? p.bytes : 1);
    if (!p.image || l->cuptiPmSamplingGetCounterAvailability(&p) == CUPTI_OK)
        return p.image;
    mem_free(p.image);
    return NULL;
}

struct asked {
    const struct counter_visit *visit;
    const struct profiler_library *library;
    const struct cupti *cupti;
    char chips[CHIPS][32]; /* asked already */
    size_t chip_count;
};

static bool is_asked(struct asked *a, const char *chip)
{
    for (size_t i = 0; i < a->chip_count; i++)
        if (strcmp(a->chips[i], chip) == 0)
            return true;
    if (a->chip_count < CHIPS)
        snprintf(a->chips[a->chip_count++], sizeof a->chips[0], "%s", chip);
    return false;
}

static int ask_device(struct asked *a, uint32_t device, struct err *e)
{
    struct chip c = {.visit = a->visit};
    int result = CUPTI_OK,
        rc = profiler_host_open(&c.ranges, a->library, a->cupti, PROFILER_RANGES, device, NULL, e);
    if (rc)
        goto done;
    if (is_asked(a, c.ranges.chip))
        goto done;
    uint8_t *image = availability(a->library, device);
    c.samples_open = image && profiler_host_open(&c.samples, a->library, a->cupti,
                                                 PROFILER_PM_SAMPLING, device, image, NULL) == 0;
    give_sets(&c);
    c.until = clock_mono() + a->visit->patience;
    result = give_all(&c);
    if (result != CUPTI_OK)
        rc = cupti_error(a->cupti, result, "to list the device's hardware counters", e);
done:
    profiler_host_close(&c.samples);
    profiler_host_close(&c.ranges);
    return rc;
}

/* Initializes the driver, without letting it load the capture library that a variable may name. */
static const struct cuda *driver_start(int *devices, struct err *e)
{
    int (*initialize)(unsigned flags);
    const struct cuda *c = cuda_load(e);
    void *library = c ? dl_find_loaded("libcuda.so", NULL, 0) : NULL;
    if (!library)
        return NULL;
    *(void **)&initialize = dlsym(library, "cuInit");
    unsetenv("CUDA_INJECTION64_PATH");
    int result = initialize ? initialize(0) : CUDA_E_NOT_INITIALIZED;
    if (result == CUDA_OK)
        result = c->cuDeviceGetCount(devices);
    if (result == CUDA_OK && *devices > 0)
        return c;
    (void)err_set(e, GPUFL_E_UNAVAILABLE,
                  "NVIDIA's driver has no device for this process (CUDA error %d): see gpufl info",
                  result);
    return NULL;
}

/* The sets are known without a device. */
static void give_unasked(const struct counter_visit *v)
{
    struct metric_of_set m;
    for (size_t i = 0; metric_sets_at(i, &m); i++) {
        struct counter_offer o = {
            .chip = "", .set = m.set, .metric = m.metric, .passes = UNASKED, .sampled = UNASKED};
        v->fn(v->arg, &o);
    }
}

int nvidia_counters(const struct counter_visit *v, struct err *e)
{
    int devices = 0;
    struct profiler_library library;
    struct asked a = {.visit = v, .library = &library};
    struct profiler_initialize_params begin = {
        .size = PROFILER_SIZE(profiler_initialize_params, private_data)};
    int rc = driver_start(&devices, e) ? cupti_open(&a.cupti, e) : GPUFL_E_UNAVAILABLE;
    if (!rc)
        rc = profiler_library_open(&library, a.cupti, e);
    if (!rc) {
        int result = library.cuptiProfilerInitialize(&begin);
        rc = result == CUPTI_OK ? 0
                                : cupti_error(a.cupti, result, "to prepare hardware counters", e);
    }
    for (int i = 0; !rc && i < devices; i++)
        rc = ask_device(&a, (uint32_t)i, e);
    if (!a.chip_count)
        give_unasked(v);
    return rc;
}
