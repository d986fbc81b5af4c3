/* context.c - see sass/context.h.
 *
 * The library returns how many records wait, and then fills them; each has room for every metric of
 * every instance, although it has only one. The memory is mapped for the call, because it is large
 * if many kernels ran, and needed rarely. */
#include "backend/nvidia/engine/sass/context.h"

#include "base/clock.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

enum { SPARE = 64, TRIES = 3 };

int sass_library_open(struct sass_library *out, const struct cupti *c, struct err *e)
{
    static const struct dl_symbol symbols[] = {
#define SASS_SYMBOL(required, result, name, arguments)                                             \
    {#name, offsetof(struct sass_library, name), required},
        CUPTI_SASS_FUNCTIONS(SASS_SYMBOL)
#undef SASS_SYMBOL
    };
    return cupti_extend(c, out, symbols, sizeof symbols / sizeof *symbols, "count instructions",
                        "CUDA 12.8", e);
}

/* ---- the device --------------------------------------------------------------------------- */

static const char *chip_of(const struct sass_library *l, uint32_t ordinal, int *result)
{
    struct profiler_initialize_params init = {.size = sizeof init};
    struct profiler_chip_params chip = {.size = sizeof chip, .device = ordinal};
    *result = l->cuptiProfilerInitialize(&init);
    if (*result == CUPTI_OK)
        *result = l->cuptiDeviceGetChipName(&chip);
    return *result == CUPTI_OK ? chip.chip : NULL;
}

/* Finds the metrics that the chip has, and returns their number. */
static size_t find_metrics(struct sass_device *d, const struct sass_library *l, const char *chip,
                           struct sass_metric_config configs[SASS_METRICS])
{
    size_t count = 0;
    for (size_t i = 0; i < SASS_METRICS; i++) {
        struct sass_properties_params p = {
            .size = sizeof p, .chip = chip, .name = sass_metric_names[i].name};
        d->ids[i] = l->cuptiSassMetricsGetProperties(&p) == CUPTI_OK ? p.metric.id : 0;
        if (d->ids[i])
            configs[count++] =
                (struct sass_metric_config){.id = d->ids[i], .granularity = SASS_GRANULARITY_GPU};
    }
    return count;
}

int sass_device_configure(struct sass_device *d, uint32_t ordinal, const struct sass_library *l,
                          const struct cupti *cupti, struct err *e)
{
    struct sass_metric_config configs[SASS_METRICS];
    int64_t begin = clock_mono();
    int result;
    if (d->configured)
        return 0;
    memset(configs, 0, sizeof configs);
    const char *chip = chip_of(l, ordinal, &result);
    if (!chip && result != CUPTI_E_NOT_SUPPORTED)
        return cupti_error(cupti, result, "to prepare for counting instructions", e);
    struct sass_config_params p = {
        .size = PROFILER_SIZE(sass_config_params, device), .configs = configs, .device = ordinal};
    p.count = chip ? find_metrics(d, l, chip, configs) : 0;
    result = p.count ? l->cuptiSassMetricsSetConfig(&p) : CUPTI_E_NOT_SUPPORTED;
    if (result == CUPTI_E_NOT_SUPPORTED)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "this device does not count instructions: compute capability 7.0 or later "
                       "is needed");
    if (result != CUPTI_OK)
        return cupti_error(cupti, result, "to choose what instructions count", e);
    d->configured = true;
    d->took = clock_mono() - begin;
    return 0;
}

/* ---- the context -------------------------------------------------------------------------- */

void sass_context_init(struct sass_context *c, cuda_context handle, uint32_t number,
                       uint32_t device)
{
    memset(c, 0, sizeof *c);
    c->state = SASS_IDLE;
    c->handle = handle;
    c->number = number;
    c->device = device;
}

struct sass_context *sass_contexts_find(struct sass_context *all, cuda_context handle)
{
    for (size_t i = 0; i < SASS_CONTEXTS; i++)
        if ((all[i].state == SASS_IDLE || all[i].state == SASS_ON) && all[i].handle == handle)
            return &all[i];
    return NULL;
}

bool sass_contexts_count(const struct sass_context *all)
{
    for (size_t i = 0; i < SASS_CONTEXTS; i++)
        if (all[i].state == SASS_ON)
            return true;
    return false;
}

bool sass_contexts_whole(const struct sass_context *all)
{
    for (size_t i = 0; i < SASS_CONTEXTS; i++)
        if (all[i].state == SASS_ON && !all[i].unloaded)
            return true;
    return false;
}

struct sass_context *sass_contexts_room(struct sass_context *all)
{
    for (size_t i = 0; i < SASS_CONTEXTS; i++)
        if (all[i].state == SASS_FREE)
            return &all[i];
    return NULL;
}

/* If it is only enabled, the library instruments just the first launched kernel, and only until
  * its counts are taken. If kernel records are enabled afterwards, it instruments every kernel, for
  * good (CUDA 13.0 on an H200, ADR 11). Serialized kernel records can be enabled, and are disabled
  * again at once, because a launch would hang with them. Concurrent kernel records are refused
  * (error 14), but have the same effect, and the first launch in a second context hangs: they are
  * tried only if serialized ones are refused. */
static void instrument_all(const struct cupti *cupti)
{
    static const int kinds[] = {CUPTI_KIND_KERNEL_SERIAL, CUPTI_KIND_KERNEL};
    int result = CUPTI_E_NOT_COMPATIBLE;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && result != CUPTI_OK; i++) {
        result = cupti->cuptiActivityEnable(kinds[i]);
        if (result == CUPTI_OK)
            cupti->cuptiActivityDisable(kinds[i]);
    }
}

int sass_context_enable(struct sass_context *c, const struct sass_device *d,
                        const struct sass_library *l, const struct cupti *cupti, struct err *e)
{
    struct sass_enable_params p = {
        .size = PROFILER_SIZE(sass_enable_params, lazy), .context = c->handle, .lazy = 1};
    int result = l->cuptiSassMetricsEnable(&p);
    if (result != CUPTI_OK)
        return cupti_error(cupti, result, "to let kernels count their instructions", e);
    instrument_all(cupti);
    sass_tally_init(&c->tally, d->ids);
    drain_window_begin(&c->kept, clock_mono());
    c->state = SASS_ON;
    return 0;
}

/* Takes all records, for n->instances. For fewer, the library gives none (error 8). It writes one
 * record too many, so there is room for more than it reported. */
static int take(struct sass_context *c, const struct sass_library *l,
                const struct sass_extent_params *n, bool keep)
{
    size_t values = n->instances * SASS_METRICS, room = n->records + SPARE;
    size_t bytes = room * (sizeof(struct sass_record) + values * sizeof(struct sass_value));
    if (n->records > SASS_RECORDS_MAX / n->instances)
        return CUPTI_E_OUT_OF_MEMORY;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return CUPTI_E_OUT_OF_MEMORY;
    struct sass_record *list = memory;
    struct sass_value *first = (struct sass_value *)(list + room);
    for (size_t i = 0; i < room; i++)
        list[i] = (struct sass_record){.size = sizeof *list, .values = first + i * values};
    struct sass_flush_params p = {.size = PROFILER_SIZE(sass_flush_params, instances),
                                  .context = c->handle,
                                  .records = n->records,
                                  .instances = n->instances,
                                  .data = list};
    int result = l->cuptiSassMetricsFlushData(&p);
    c->tally.window = drain_window_last(&c->kept);
    if (result == CUPTI_OK && keep)
        sass_tally_add(&c->tally, list, n->records, values);
    munmap(memory, bytes);
    return result;
}

int sass_context_drain(struct sass_context *c, const struct sass_library *l, bool keep)
{
    struct sass_extent_params n = {.size = sizeof n, .context = c->handle};
    int result = CUPTI_E_OUT_OF_MEMORY;
    for (int i = 0; i < TRIES && result == CUPTI_E_OUT_OF_MEMORY; i++) {
        result = l->cuptiSassMetricsGetDataProperties(&n);
        if (result == CUPTI_OK && n.records && n.instances)
            result = take(c, l, &n, keep); /* there may be more meanwhile */
    }
    if (keep)
        drain_window_until(&c->kept, clock_mono());
    return result;
}

void sass_context_disable(struct sass_context *c, const struct sass_library *l, bool keep)
{
    struct sass_disable_params p = {.size = sizeof p, .context = c->handle};
    bool taken = sass_context_drain(c, l, keep) == CUPTI_OK;
    if (l->cuptiSassMetricsDisable(&p) == CUPTI_OK && keep)
        c->dropped += p.dropped;
    if (!taken && keep && !c->dropped)
        c->dropped = 1; /* the true number is not known */
}

void sass_context_close(struct sass_context *c)
{
    sass_tally_fini(&c->tally);
    memset(c, 0, sizeof *c);
}
