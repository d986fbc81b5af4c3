/* context.c - see range/context.h. */
#include "backend/nvidia/engine/range/context.h"

#include "base/alloc.h"

static struct range_object_params object_params(const struct range_context *r)
{
    return (struct range_object_params){.size = PROFILER_SIZE(range_object_params, object),
                                        .object = r->object};
}

static int image_open(struct range_context *r)
{
    struct range_image_size_params p = {.size = PROFILER_SIZE(range_image_size_params, bytes),
                                        .object = r->object,
                                        .names = r->host.names,
                                        .count = r->host.count,
                                        .ranges = r->plan.ranges,
                                        .nodes = (uint32_t)r->plan.ranges};
    int result = r->library->cuptiRangeProfilerGetCounterDataSize(&p);
    if (result != CUPTI_OK)
        return result;
    r->image_bytes = p.bytes;
    r->image = mem_zalloc(p.bytes ? p.bytes : 1);
    return r->image ? CUPTI_OK : CUPTI_E_OUT_OF_MEMORY;
}

static int enable(struct range_context *r, const struct cupti *c, struct err *e)
{
    struct range_enable_params p = {.size = PROFILER_SIZE(range_enable_params, object),
                                    .context = r->context};
    int result = r->library->cuptiRangeProfilerEnable(&p);
    if (result == CUPTI_E_NOT_SUPPORTED)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "this device does not count ranges: compute capability 7.0 or later is "
                       "needed");
    if (result == CUPTI_OK) {
        r->object = p.object;
        result = image_open(r);
    }
    return result == CUPTI_OK ? 0 : cupti_error(c, result, "to begin counting ranges", e);
}

int range_context_open(struct range_context *r, const struct profiler_library *l,
                       const struct cupti *c, cuda_context context, uint32_t device,
                       const struct metric_list *m, const struct range_plan *plan, struct err *e)
{
    struct profiler_initialize_params begin = {
        .size = PROFILER_SIZE(profiler_initialize_params, private_data)};
    *r = (struct range_context){.library = l, .plan = *plan, .context = context, .device = device};
    int result = l->cuptiProfilerInitialize(&begin);
    int rc = result == CUPTI_OK ? 0 : cupti_error(c, result, "to prepare hardware counters", e);
    if (!rc)
        rc = profiler_host_open(&r->host, l, c, PROFILER_RANGES, r->device, NULL, e);
    if (!rc)
        rc = profiler_host_choose(&r->host, m, plan->passes, e);
    if (!rc)
        rc = enable(r, c, e);
    if (rc)
        range_context_close(r);
    return rc;
}

int range_context_close(struct range_context *r)
{
    struct range_object_params p = object_params(r);
    int result = r->object ? r->library->cuptiRangeProfilerDisable(&p) : CUPTI_OK;
    if (r->host.library)
        profiler_host_close(&r->host);
    mem_free(r->image);
    *r = (struct range_context){.context = NULL};
    return result;
}

int range_context_start(struct range_context *r)
{
    struct range_image_params i = {.size = PROFILER_SIZE(range_image_params, image),
                                   .object = r->object,
                                   .bytes = r->image_bytes,
                                   .image = r->image};
    struct range_config_params c = {.size = PROFILER_SIZE(range_config_params, level),
                                    .object = r->object,
                                    .bytes = r->host.config_bytes,
                                    .config = r->host.config,
                                    .image_bytes = r->image_bytes,
                                    .image = r->image,
                                    .kind = (int)r->plan.kind,
                                    .replay = (int)r->plan.replay,
                                    .ranges = r->plan.ranges,
                                    .levels = 1,
                                    .least_level = 1,
                                    .pass = 0,
                                    .level = 1};
    int result = r->library->cuptiRangeProfilerCounterDataImageInitialize(&i);
    if (result == CUPTI_OK)
        result = r->library->cuptiRangeProfilerSetConfig(&c);
    return result == CUPTI_OK ? range_context_resume(r) : result;
}

int range_context_resume(struct range_context *r)
{
    struct range_object_params p = object_params(r);
    int result = r->library->cuptiRangeProfilerStart(&p);
    r->started = result == CUPTI_OK;
    return result;
}

int range_context_push(struct range_context *r, const char *name)
{
    struct range_push_params p = {
        .size = PROFILER_SIZE(range_push_params, name), .object = r->object, .name = name};
    return r->library->cuptiRangeProfilerPushRange(&p);
}

int range_context_pop(struct range_context *r)
{
    struct range_object_params p = object_params(r);
    return r->library->cuptiRangeProfilerPopRange(&p);
}

int range_context_pause(struct range_context *r, bool *last)
{
    struct range_stop_params p = {.size = PROFILER_SIZE(range_stop_params, done),
                                  .object = r->object};
    int result = r->library->cuptiRangeProfilerStop(&p);
    r->started = false;
    *last = result == CUPTI_OK && p.done;
    return result;
}

int range_context_decode(struct range_context *r, size_t *count)
{
    struct range_decode_params d = {.size = PROFILER_SIZE(range_decode_params, dropped),
                                    .object = r->object};
    struct range_count_params n = {.size = PROFILER_SIZE(range_count_params, ranges),
                                   .image = r->image,
                                   .bytes = r->image_bytes};
    int result = r->library->cuptiRangeProfilerDecodeData(&d);
    if (result == CUPTI_OK)
        result = r->library->cuptiRangeProfilerGetCounterDataInfo(&n);
    *count = result == CUPTI_OK ? n.ranges : 0;
    return result;
}

int range_context_stop(struct range_context *r, size_t *count)
{
    bool last;
    int result = range_context_pause(r, &last);
    *count = 0;
    return result == CUPTI_OK ? range_context_decode(r, count) : result;
}

int range_context_values(struct range_context *r, size_t index, const char **name, double *values)
{
    struct range_info_params p = {.size = PROFILER_SIZE(range_info_params, name),
                                  .image = r->image,
                                  .bytes = r->image_bytes,
                                  .index = index,
                                  .delimiter = "/"};
    int result = r->library->cuptiRangeProfilerCounterDataGetRangeInfo(&p);
    *name = p.name;
    return result == CUPTI_OK
               ? profiler_host_evaluate(&r->host, r->image, r->image_bytes, index, values)
               : result;
}
