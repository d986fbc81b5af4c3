/* counter_choice.c - see counter_choice.h. */
#include "backend/amd/trace/counter_choice.h"

#include <stdio.h>
#include <string.h>

bool counter_choice_can(const struct rocp *sdk, struct err *e)
{
    bool service = sdk->rocprofiler_configure_buffer_dispatch_counting_service ||
                   sdk->rocprofiler_configure_buffered_dispatch_counting_service ||
                   sdk->rocprofiler_configure_buffered_dispatch_profile_counting_service;
    bool config = sdk->rocprofiler_create_counter_config || sdk->rocprofiler_create_profile_config;
    if (service && config && sdk->rocprofiler_iterate_agent_supported_counters &&
        sdk->rocprofiler_query_counter_info && sdk->rocprofiler_query_record_counter_id)
        return true;
    (void)err_set(e, GPUFL_E_UNAVAILABLE,
                  "%.160s cannot count kernels: it has no dispatch counting service; install ROCm "
                  "6.2 or later (package rocprofiler-sdk)",
                  sdk->path);
    return false;
}

/* ---- counters of an agent ------------------------------------------------------------ */

struct walk {
    const struct rocp *sdk;
    counter_choice_fn *fn;
    void *arg;
};

static int on_counters(uint64_t agent, uint64_t *counters, size_t count, void *data)
{
    const struct walk *w = data;
    (void)agent;
    for (size_t i = 0; i < count; i++) {
        struct rocp_counter_info info = {0};
        if (w->sdk->rocprofiler_query_counter_info(counters[i], ROCP_COUNTER_INFO, &info) ==
                ROCP_OK &&
            info.name)
            w->fn(w->arg, counters[i], info.name);
    }
    return ROCP_OK;
}

int counter_choice_each(const struct rocp *sdk, uint64_t agent, counter_choice_fn *fn, void *arg)
{
    struct walk w = {sdk, fn, arg};
    return sdk->rocprofiler_iterate_agent_supported_counters(agent, on_counters, &w);
}

int counter_choice_fit(const struct rocp *sdk, uint64_t agent, uint64_t *ids, size_t count,
                       uint64_t *config)
{
    *config = 0; /* else the library would copy the counters of the config with that id */
    return sdk->rocprofiler_create_counter_config
               ? sdk->rocprofiler_create_counter_config(agent, ids, count, config)
               : sdk->rocprofiler_create_profile_config(agent, ids, count, config);
}

/* ---- choosing ------------------------------------------------------------------------ */

struct known {
    const struct counter_list *wanted;
    uint64_t ids[COUNTERS_MOST]; /* by index in wanted; valid if `has` is true */
    bool has[COUNTERS_MOST];
};

static void on_known(void *arg, uint64_t id, const char *name)
{
    struct known *k = arg;
    for (size_t i = 0; i < k->wanted->count; i++)
        if (strcmp(k->wanted->names[i], name) == 0) {
            k->ids[i] = id;
            k->has[i] = true;
        }
}

static void list(char *text, size_t size, const char *name)
{
    size_t n = strlen(text);
    snprintf(text + n, size - n, "%s%s", n ? ", " : "", name);
}

int counter_choice_make(const struct rocp *sdk, uint64_t agent, const struct counter_list *wanted,
                        struct counter_choice *out, struct err *e)
{
    struct known k = {.wanted = wanted};
    uint64_t ids[COUNTERS_MOST];
    memset(out, 0, sizeof *out);
    int status = counter_choice_each(sdk, agent, on_known, &k);
    if (status != ROCP_OK)
        return rocp_error(sdk, status, "to list the GPU's counters", e);
    for (size_t i = 0; i < wanted->count; i++) {
        uint64_t config = 0;
        ids[out->count] = k.ids[i];
        status = k.has[i] ? counter_choice_fit(sdk, agent, ids, out->count + 1, &config) : ROCP_OK;
        if (!k.has[i]) {
            list(out->unknown, sizeof out->unknown, wanted->names[i]);
        } else if (status == ROCP_OK && config) {
            out->refused = ROCP_OK;
            memcpy(out->names[out->count++], wanted->names[i], COUNTER_NAME);
            out->config = config;
        } else {
            list(out->beyond, sizeof out->beyond, wanted->names[i]);
            out->refused = out->count ? ROCP_OK : status;
        }
    }
    return 0;
}
