/* profiler_host.c - see profiler_host.h.
 *
 * Metrics can be added to an object of the library, but not removed: whether one more fits is tried
 * with a new object, and the last object that was possible is kept. */
#include "backend/nvidia/library/profiler_host.h"

#include "base/alloc.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct dl_symbol symbols[] = {
#define PROFILER_SYMBOL(required, result, name, arguments)                                         \
    {#name, offsetof(struct profiler_library, name), required},
    CUPTI_PROFILER_FUNCTIONS(PROFILER_SYMBOL) CUPTI_PM_FUNCTIONS(PROFILER_SYMBOL)
        CUPTI_RANGE_FUNCTIONS(PROFILER_SYMBOL)
#undef PROFILER_SYMBOL
};

/* Loads the library libnvperf_host early. CUPTI loads it when counters are first used, on any
 * thread: by then the program may be ending, and the exit handlers that the library installs would
 * run before those of the session. */
static void load_host(const struct cupti *c)
{
    char path[sizeof c->path + sizeof "/libnvperf_host.so"];
    const char *slash = strrchr(c->path, '/');
    if (!slash)
        return;
    snprintf(path, sizeof path, "%.*s/libnvperf_host.so", (int)(slash - c->path), c->path);
    (void)dlopen(path, RTLD_LAZY | RTLD_LOCAL); /* if it is missing, CUPTI reports it later */
}

int profiler_library_open(struct profiler_library *out, const struct cupti *c, struct err *e)
{
    int rc = cupti_extend(c, out, symbols, sizeof symbols / sizeof *symbols,
                          "read hardware counters", "CUDA 12.6", e);
    if (rc)
        return rc;
    load_host(c);
    return 0;
}

int profiler_host_open(struct profiler_host *h, const struct profiler_library *l,
                       const struct cupti *c, enum profiler_type type, uint32_t device,
                       uint8_t *availability, struct err *e)
{
    struct profiler_chip_params p = {.size = PROFILER_SIZE(profiler_chip_params, chip),
                                     .device = device};
    *h = (struct profiler_host){
        .library = l, .cupti = c, .type = type, .availability = availability};
    int result = l->cuptiDeviceGetChipName(&p);
    if (result == CUPTI_OK && p.chip)
        snprintf(h->chip, sizeof h->chip, "%s", p.chip);
    return result == CUPTI_OK ? 0 : cupti_error(c, result, "to name the chip of the device", e);
}

/* ---- choosing ----------------------------------------------------------------------------- */

struct trial {
    struct profiler_host_object *object;
    uint8_t *config; /* owned */
    size_t bytes, passes;
};

static void object_close(const struct profiler_host *h, struct profiler_host_object *object)
{
    struct profiler_object_params p = {.size = PROFILER_SIZE(profiler_object_params, object),
                                       .object = object};
    if (object)
        h->library->cuptiProfilerHostDeinitialize(&p);
}

static void trial_drop(const struct profiler_host *h, struct trial *t)
{
    object_close(h, t->object);
    mem_free(t->config);
    *t = (struct trial){0};
}

/* Makes the image with the configuration for the object's metrics, and finds their passes. */
static int trial_config(const struct profiler_host *h, struct trial *t)
{
    const struct profiler_library *l = h->library;
    struct profiler_config_size_params s = {
        .size = PROFILER_SIZE(profiler_config_size_params, bytes), .object = t->object};
    int result = l->cuptiProfilerHostGetConfigImageSize(&s);
    if (result != CUPTI_OK)
        return result;
    t->bytes = s.bytes;
    t->config = mem_zalloc(s.bytes ? s.bytes : 1);
    if (!t->config)
        return CUPTI_E_OUT_OF_MEMORY;
    struct profiler_config_params c = {.size = PROFILER_SIZE(profiler_config_params, config),
                                       .object = t->object,
                                       .bytes = t->bytes,
                                       .config = t->config};
    result = l->cuptiProfilerHostGetConfigImage(&c);
    if (result != CUPTI_OK)
        return result;
    struct profiler_passes_params p = {.size = PROFILER_SIZE(profiler_passes_params, passes),
                                       .bytes = t->bytes,
                                       .config = t->config};
    result = l->cuptiProfilerHostGetNumOfPasses(&p);
    t->passes = p.passes;
    return result;
}

static int object_open(const struct profiler_host *h, struct profiler_host_object **out)
{
    struct profiler_host_params i = {.size = PROFILER_SIZE(profiler_host_params, object),
                                     .type = (int)h->type,
                                     .chip = h->chip,
                                     .availability = h->availability};
    int result = h->library->cuptiProfilerHostInitialize(&i);
    *out = result == CUPTI_OK ? i.object : NULL;
    return result;
}

static int try_metrics(const struct profiler_host *h, const char **names, size_t count,
                       struct trial *t)
{
    *t = (struct trial){0};
    int result = object_open(h, &t->object);
    if (result != CUPTI_OK)
        return result;
    struct profiler_metrics_params a = {.size = PROFILER_SIZE(profiler_metrics_params, count),
                                        .object = t->object,
                                        .names = names,
                                        .count = count};
    result = h->library->cuptiProfilerHostConfigAddMetrics(&a);
    return result != CUPTI_OK ? result : trial_config(h, t);
}

static void keep(struct profiler_host *h, struct trial *t, size_t count)
{
    object_close(h, h->object);
    mem_free(h->config);
    h->object = t->object;
    h->config = t->config;
    h->config_bytes = t->bytes;
    h->passes = t->passes;
    h->count = count;
}

static bool fits(struct profiler_host *h, size_t count, size_t passes_most, int *result,
                 enum profiler_left *why)
{
    struct trial t;
    *result = try_metrics(h, h->names, count, &t);
    *why = *result == CUPTI_OK ? LEFT_PASSES : LEFT_UNKNOWN;
    if (*result == CUPTI_OK && t.passes >= 1 && t.passes <= passes_most) {
        keep(h, &t, count);
        return true;
    }
    trial_drop(h, &t);
    return false;
}

static void choose_one_by_one(struct profiler_host *h, const struct metric_list *l,
                              size_t passes_most, int *result)
{
    int first = CUPTI_OK;
    for (size_t i = 0; i < l->count; i++) {
        enum profiler_left why;
        h->names[h->count] = l->names[i];
        if (fits(h, h->count + 1, passes_most, result, &why))
            continue;
        first = first ? first : *result;
        h->left[h->left_count].name = l->names[i];
        h->left[h->left_count++].why = why;
    }
    *result = first;
}

int profiler_host_choose(struct profiler_host *h, const struct metric_list *l, size_t passes_most,
                         struct err *e)
{
    int result;
    enum profiler_left why;
    for (size_t i = 0; i < l->count; i++)
        h->names[i] = l->names[i];
    h->left_count = 0;
    if (fits(h, l->count, passes_most, &result, &why))
        return 0;
    h->count = 0;
    choose_one_by_one(h, l, passes_most, &result);
    if (h->count)
        return 0;
    if (result != CUPTI_OK && l->count > 1)
        return cupti_error(h->cupti, result, "to set up hardware counters", e);
    return err_set(e, GPUFL_E_UNAVAILABLE,
                   result != CUPTI_OK
                       ? "%s: a %s has no such metric, or does not let it be read here"
                       : "%s: a %s does not count it in as few passes as are possible here",
                   l->names[0], h->chip);
}

/* ---- metrics of the chip ------------------------------------------------------------------ */

int profiler_host_passes(struct profiler_host *h, const char *metric, size_t *passes)
{
    struct trial t;
    int result = try_metrics(h, &metric, 1, &t);
    *passes = t.passes;
    trial_drop(h, &t);
    return result;
}

int profiler_host_names(struct profiler_host *h, int kind, const char ***names, size_t *count)
{
    int result = h->object ? CUPTI_OK : object_open(h, &h->object);
    struct profiler_names_params p = {
        .size = PROFILER_SIZE(profiler_names_params, count), .object = h->object, .kind = kind};
    if (result == CUPTI_OK)
        result = h->library->cuptiProfilerHostGetBaseMetrics
                     ? h->library->cuptiProfilerHostGetBaseMetrics(&p)
                     : CUPTI_E_NOT_SUPPORTED;
    *names = p.names;
    *count = result == CUPTI_OK ? p.count : 0;
    return result;
}

/* ---- values ------------------------------------------------------------------------------- */

int profiler_host_evaluate(struct profiler_host *h, const uint8_t *image, size_t bytes,
                           size_t index, double *values)
{
    struct profiler_evaluate_params p = {.size = PROFILER_SIZE(profiler_evaluate_params, values),
                                         .object = h->object,
                                         .image = image,
                                         .bytes = bytes,
                                         .index = index,
                                         .names = h->names,
                                         .count = h->count,
                                         .values = values};
    return h->library->cuptiProfilerHostEvaluateToGpuValues(&p);
}

void profiler_host_close(struct profiler_host *h)
{
    object_close(h, h->object);
    mem_free(h->config);
    mem_free(h->availability);
    *h = (struct profiler_host){0};
}
