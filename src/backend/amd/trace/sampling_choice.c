/* sampling_choice.c - see sampling_choice.h. */
#include "backend/amd/trace/sampling_choice.h"

#include <string.h>

enum {
    PERIOD_LEAST = 8, /* the shortest interval in AMD's documentation is 2^8 cycles */
    PERIOD_MOST = 31,
    RATE_LOG2 = 18,  /* samples a second of a GPU */
    MHZ_GUESS = 1000 /* for a GPU that reports no clock */
};

bool sampling_choice_can(const struct rocp *sdk, struct err *e)
{
    if (sdk->version >= ROCP_SAMPLES_OLDEST && sdk->rocprofiler_configure_pc_sampling_service &&
        sdk->rocprofiler_query_pc_sampling_agent_configurations)
        return true;
    (void)err_set(e, GPUFL_E_UNAVAILABLE,
                  "rocprofiler-sdk %u.%u has no PC sampling that can be used: install ROCm 6.4 or "
                  "later (package rocprofiler-sdk)",
                  sdk->version / 10000, sdk->version / 100 % 100);
    return false;
}

/* ---- how often ------------------------------------------------------------------------ */

static uint64_t mhz_of(const struct agent *a)
{
    return a->row.clock_max_sm > 0 ? (uint64_t)a->row.clock_max_sm : MHZ_GUESS;
}

static unsigned period_of(const struct agent *a)
{
    uint64_t units = a->row.sm_count > 0 ? (uint64_t)a->row.sm_count : 1;
    uint64_t cycles = units * mhz_of(a) * 1000000; /* a second, of all units */
    unsigned period = PERIOD_LEAST;
    while (period < PERIOD_MOST && cycles >> period > UINT64_C(1) << RATE_LOG2)
        period++;
    return period;
}

static uint64_t power_from(uint64_t least)
{
    uint64_t power = 1;
    while (power < least && power < UINT64_C(1) << 62)
        power <<= 1;
    return power;
}

uint64_t sampling_choice_interval(const struct rocp_sampling *offer, const struct agent *a,
                                  unsigned period)
{
    uint64_t cycles = UINT64_C(1) << (period ? period : period_of(a));
    uint64_t wanted = offer->unit == ROCP_TIME ? cycles / mhz_of(a) : cycles;
    wanted = wanted ? wanted : 1;
    wanted = wanted > offer->most ? offer->most : wanted;
    wanted = wanted < offer->least ? offer->least : wanted;
    if (!(offer->flags & ROCP_POWER_OF_TWO))
        return wanted;
    uint64_t power = power_from(wanted);
    return power > offer->most && power > 1 ? power >> 1 : power;
}

/* ---- choosing a method ---------------------------------------------------------------- */

struct choosing {
    const struct agent *agent;
    unsigned period;
    struct sampling_choice *out;
};

/* Later versions may have longer structs. */
static int on_offers(const struct rocp_sampling *offers, size_t count, void *data)
{
    const struct choosing *c = data;
    uint64_t stride = count && offers ? offers->size : 0;
    for (size_t i = 0; stride >= sizeof *offers && i < count; i++) {
        const void *at = (const char *)offers + i * stride;
        const struct rocp_sampling *o = at;
        bool stochastic = o->method == ROCP_STOCHASTIC && o->unit == ROCP_CYCLES;
        bool trap = o->method == ROCP_HOST_TRAP && o->unit == ROCP_TIME && !c->out->method;
        if (stochastic || trap)
            *c->out = (struct sampling_choice){o->method, o->unit,
                                               sampling_choice_interval(o, c->agent, c->period)};
    }
    return ROCP_OK;
}

int sampling_choice_make(const struct rocp *sdk, const struct agent *a, unsigned period,
                         struct sampling_choice *out)
{
    struct choosing c = {a, period, out};
    *out = (struct sampling_choice){0};
    return sdk->rocprofiler_query_pc_sampling_agent_configurations(a->id, on_offers, &c);
}

/* ---- refusals ------------------------------------------------------------------------- */

/* The arguments are taken from the library's own offers. If the library refuses them, its function
 * has other parameters: versions between releases take the version and size of a record before the
 * flags, and find version 0 in our call. */
static int other_form(const struct rocp *sdk, struct err *e)
{
    return err_set(e, GPUFL_E_UNAVAILABLE,
                   "rocprofiler-sdk %u.%u does not take the arguments with which releases from "
                   "ROCm 6.4 on sample PCs: install a release (package rocprofiler-sdk)",
                   sdk->version / 10000, sdk->version / 100 % 100);
}

int sampling_choice_error(const struct rocp *sdk, int status, struct err *e)
{
    static const struct {
        const char *name; /* end of the status's name: numbers differ between versions */
        int code;
        const char *text;
    } refusals[] = {
        {"_NOT_IMPLEMENTED", GPUFL_E_PERM,
         "rocprofiler-sdk samples PCs only with ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1 in the "
         "program's environment: set it, or start the program with gpufl trace"},
        {"_INCOMPATIBLE_KERNEL", GPUFL_E_UNAVAILABLE,
         "the kernel driver amdgpu is too old for PC sampling: install a newer one"},
        {"_NOT_AVAILABLE", GPUFL_E_UNAVAILABLE,
         "PC sampling is not available now: another process samples the GPU in another way, a "
         "debugger is attached, or the ROCm runtime is too old"},
        {"_INVALID_ARGUMENT", GPUFL_E_UNAVAILABLE, NULL}, /* other_form */
        {"_INCOMPATIBLE_ABI", GPUFL_E_UNAVAILABLE, NULL},
    };
    const char *name =
        sdk->rocprofiler_get_status_name ? sdk->rocprofiler_get_status_name(status) : NULL;
    size_t length = name ? strlen(name) : 0;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        size_t n = strlen(refusals[i].name);
        if (length < n || strcmp(name + length - n, refusals[i].name) != 0)
            continue;
        return refusals[i].text ? err_set(e, refusals[i].code, "%s", refusals[i].text)
                                : other_form(sdk, e);
    }
    return rocp_error(sdk, status, "to sample PCs", e);
}
