/* counters.c - see counters.h. */
#include "backend/sim/counters.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "wire/decimal.h"

#include <stdio.h>
#include <string.h>

enum { DIGITS = 6, SMS = 132, WARP = 32, SM_WARPS = 64, SM_REGISTERS = 65536, SM_BLOCKS = 32 };
enum { SOURCE_SAMPLES = 1, SOURCE_RANGE, SOURCE_KERNEL };
enum { GAP_MOST = 100000 }; /* samples of a device without work in a row; then it jumps */

static const int64_t SM_SHARED = 233472;

static const char *const names[SIM_COUNTERS] = {
    [SIM_SM_ACTIVE] = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    [SIM_WARPS] = "sm__warps_active.avg.pct_of_peak_sustained_elapsed",
    [SIM_TENSOR] = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    [SIM_DRAM] = "dram__throughput.avg.pct_of_peak_sustained_elapsed",
};

/* The sets of ADR 12: each has the metrics of its bits. */
static const struct {
    const char *name;
    unsigned metrics;
} sets[] = {
    {"overview", 1 << SIM_SM_ACTIVE | 1 << SIM_WARPS | 1 << SIM_TENSOR | 1 << SIM_DRAM},
    {"memory", 1 << SIM_DRAM},
    {"compute", 1 << SIM_SM_ACTIVE | 1 << SIM_WARPS | 1 << SIM_TENSOR},
    {"roofline", 1 << SIM_SM_ACTIVE | 1 << SIM_TENSOR | 1 << SIM_DRAM},
};

/* ---- the model ------------------------------------------------------------------------------- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the blocks of the launch that an SM holds at once. */
static int64_t resident(const struct sim_record *r, int64_t warps)
{
    const struct sim_kernel_info *k = &sim_kernels[r->kernel];
    int64_t shared = (int64_t)k->shared_static + r->shared;
    int64_t blocks = least(SM_BLOCKS, SM_WARPS / warps);
    blocks = least(blocks, SM_REGISTERS / ((int64_t)k->registers * WARP * warps));
    if (shared > 0)
        blocks = least(blocks, SM_SHARED / shared);
    return blocks > 0 ? blocks : 1;
}

/* Says how busy the kernel keeps the units, in parts of 1000 of its time. Kernels with large tiles
 * in shared memory multiply matrices and wait for the tensor pipes; the others wait for DRAM. */
static void model(const struct sim_record *r, int64_t parts[SIM_COUNTERS])
{
    int64_t blocks = (int64_t)r->grid[0] * r->grid[1] * r->grid[2];
    int64_t warps = ((int64_t)r->block[0] * r->block[1] * r->block[2] + WARP - 1) / WARP;
    warps = warps < 1 ? 1 : least(warps, SM_WARPS);
    int64_t per_sm = least(resident(r, warps), (blocks + SMS - 1) / SMS);
    int64_t sms = least(blocks, SMS) * 1000 / SMS;
    bool matrices = r->shared >= 32768;
    parts[SIM_SM_ACTIVE] = sms;
    parts[SIM_WARPS] = least(1000, per_sm * warps * sms / SM_WARPS);
    parts[SIM_TENSOR] = matrices ? sms * 62 / 100 : 0;
    parts[SIM_DRAM] = (matrices ? 280 : 740) * sms / 1000;
}

/* Adds ns of the kernel's time. */
static void add(struct sim_busy *b, const int64_t parts[SIM_COUNTERS], int64_t ns)
{
    for (int i = 0; i < SIM_COUNTERS; i++)
        b->ns[i] += ns * parts[i] / 1000;
}

/* ---- set up ---------------------------------------------------------------------------------- */

static void choose(struct sim_counters *c, const char *list)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strcmp(list, sets[i].name) == 0) {
            snprintf(c->preset, sizeof c->preset, "%s", list);
            for (int m = 0; m < SIM_COUNTERS; m++)
                c->wanted[m] = sets[i].metrics >> m & 1;
            return;
        }
    size_t known = 0, asked = 1;
    for (int m = 0; m < SIM_COUNTERS; m++) {
        const char *at = strstr(list, names[m]);
        char after = at ? at[strlen(names[m])] : 'x';
        c->wanted[m] = at && (at == list || at[-1] == ',') && (after == ',' || after == '\0');
        known += c->wanted[m];
    }
    for (const char *comma = list; (comma = strchr(comma, ',')); comma++)
        asked++;
    c->skipped = known < asked ? list : NULL;
}

int sim_counters_init(struct sim_counters *c, const struct trace_config *config)
{
    *c = (struct sim_counters){0};
    c->engines = config->engines & (ENGINE_PM_SAMPLING | ENGINE_RANGE_PROFILER);
    if (!c->engines)
        return 0;
    c->kernels = config->range_kernels;
    c->launches = config->range_launches;
    c->interval = config->pm_interval_us * 1000;
    choose(c, config->counter_metrics && *config->counter_metrics ? config->counter_metrics
                                                                  : "overview");
    for (int i = 0; i < SIM_DEVICES_MAX && (c->engines & ENGINE_PM_SAMPLING); i++)
        if (!(c->series[i].oldest = mem_zalloc(SIM_BUCKETS * sizeof(struct sim_busy))))
            return GPUFL_E_NOMEM;
    if ((c->engines & ENGINE_RANGE_PROFILER) && !c->kernels &&
        !(c->ranges = mem_array(SIM_RANGES_MOST, sizeof *c->ranges)))
        return GPUFL_E_NOMEM;
    return 0;
}

void sim_counters_fini(struct sim_counters *c)
{
    for (int i = 0; i < SIM_DEVICES_MAX; i++)
        mem_free(c->series[i].oldest);
    mem_free(c->ranges);
    *c = (struct sim_counters){0};
}

static void put_setting(struct sink *s, const char *engine, const char *name, const char *value)
{
    struct setting_row row = {
        .time = clock_mono(),
        .engine = s->ops->name(s, engine),
        .name = s->ops->name(s, name),
        .value = s->ops->name(s, value),
    };
    s->ops->row(s, RECORD_setting, &row);
}

static void describe(struct sim_counters *c, struct sink *s)
{
    char text[32];
    bool pm = c->engines & ENGINE_PM_SAMPLING;
    const char *engine = pm ? "PmSampling" : "RangeProfiler";
    c->described = true;
    if (*c->preset)
        put_setting(s, engine, "preset", c->preset);
    if (pm) {
        snprintf(text, sizeof text, "%lld", (long long)(c->interval / 1000));
        put_setting(s, engine, "interval_us", text);
    } else {
        put_setting(s, engine, "counts", c->kernels ? "kernels" : "outermost scopes");
        put_setting(s, engine, "passes", "1");
    }
    for (int i = 0; i < SIM_COUNTERS; i++) {
        c->metrics[i] = s->ops->name(s, names[i]);
        if (c->wanted[i])
            put_setting(s, engine, "metric", names[i]);
    }
    if (c->skipped)
        s->ops->message(s, SEVERITY_WARNING, pm ? "pm_sampling.metrics" : "range_profiler.metrics",
                        "the simulated GPU does not have all of these metrics: %.300s", c->skipped);
}

/* Writes the wanted metrics of the busy times within a time in ns. */
static void put(struct sim_counters *c, struct sink *s, const struct counter_row *of,
                const struct sim_busy *b, int64_t ns)
{
    for (int i = 0; i < SIM_COUNTERS; i++) {
        struct counter_row row = *of;
        struct decimal value;
        double percent = ns > 0 ? 100.0 * (double)b->ns[i] / (double)ns : 0;
        if (!c->wanted[i] || !decimal_of(percent < 100 ? percent : 100, DIGITS, &value))
            continue;
        row.metric = c->metrics[i];
        row.value = value.mantissa;
        row.exponent = value.exponent;
        s->ops->row(s, RECORD_counter, &row);
    }
}

/* ---- over time ------------------------------------------------------------------------------- */

static void put_sample(struct sim_counters *c, struct sim_drain *d, struct sink *s, int device)
{
    struct sim_series *v = &c->series[device];
    struct sim_busy *b = &v->oldest[v->first];
    struct counter_row row = {.start = v->base,
                              .duration = c->interval,
                              .source = SOURCE_SAMPLES,
                              .device = d->devices[device],
                              .scope = CELL_NULL,
                              .ordinal = (int64_t)v->written++,
                              .correlation = CELL_NULL};
    put(c, s, &row, b, c->interval);
    *b = (struct sim_busy){{0}};
    v->first = (v->first + 1) % SIM_BUCKETS;
    v->base += c->interval;
}

/* Makes room for a time: older samples are written. */
static void reach(struct sim_counters *c, struct sim_drain *d, struct sink *s, int device,
                  int64_t time)
{
    struct sim_series *v = &c->series[device];
    if (!v->base)
        v->base = time / c->interval * c->interval;
    if (time - v->base > (int64_t)GAP_MOST * c->interval) {
        for (int i = 0; i < SIM_BUCKETS; i++)
            put_sample(c, d, s, device);
        v->base = time / c->interval * c->interval;
    }
    while (time >= v->base + SIM_BUCKETS * c->interval)
        put_sample(c, d, s, device);
}

static void sample_kernel(struct sim_counters *c, struct sim_drain *d, struct sink *s,
                          const struct sim_record *r)
{
    struct sim_series *v = &c->series[r->device];
    int64_t parts[SIM_COUNTERS], at = r->start, end = r->start + r->duration;
    model(r, parts);
    reach(c, d, s, r->device, r->start);
    v->latest = end > v->latest ? end : v->latest;
    at = at > v->base ? at : v->base; /* times before written samples are left out */
    while (at < end) {
        reach(c, d, s, r->device, at);
        int64_t bucket = (at - v->base) / c->interval;
        int64_t until = least(end, v->base + (bucket + 1) * c->interval);
        add(&v->oldest[(v->first + (unsigned)bucket) % SIM_BUCKETS], parts, until - at);
        at = until;
    }
}

static void drain_samples(struct sim_counters *c, struct sim_drain *d, struct sink *s, bool all)
{
    for (int i = 0; i < SIM_DEVICES_MAX; i++) {
        struct sim_series *v = &c->series[i];
        int64_t until = v->latest - (all ? 0 : SIM_BUCKETS_LATE * c->interval);
        while (v->base && v->base < until)
            put_sample(c, d, s, i);
    }
}

/* ---- scopes and kernels ---------------------------------------------------------------------- */

const char *sim_counters_scope(struct sim_counters *c, uint64_t instance, enum range_moment moment,
                               uint32_t next, uint32_t name)
{
    uint64_t none = 0;
    if (!c->ranges || (moment != RANGE_BEGINS && moment != RANGE_ENDS))
        return NULL;
    if (moment == RANGE_BEGINS) {
        if (!atomic_compare_exchange_strong(&c->open, &none, instance))
            return "begun while one of another thread was counted";
        uint32_t n = atomic_load_explicit(&c->begun, memory_order_relaxed);
        if (n == SIM_RANGES_MOST) {
            atomic_store(&c->open, 0);
            return "more scopes than the simulated GPU counts";
        }
        c->ranges[n] = (struct sim_range){
            .instance = instance, .start = clock_mono(), .from = next, .device = -1, .scope = name};
        atomic_store_explicit(&c->begun, n + 1, memory_order_release);
        return NULL;
    }
    if (atomic_load(&c->open) != instance)
        return NULL;
    uint32_t n = atomic_load_explicit(&c->ended, memory_order_relaxed);
    c->ranges[n].end = clock_mono();
    c->ranges[n].to = next;
    atomic_store_explicit(&c->ended, n + 1, memory_order_release);
    atomic_store(&c->open, 0);
    return NULL;
}

/* Returns the range in which the launch got its id; NULL: none. Ids wrap around: differences
 * count. */
static struct sim_range *range_of(struct sim_counters *c, uint32_t correlation)
{
    uint32_t ended = atomic_load_explicit(&c->ended, memory_order_acquire);
    uint32_t begun = atomic_load_explicit(&c->begun, memory_order_acquire);
    uint32_t low = 0, high = begun; /* finds the last that begins at or before the id */
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if ((int32_t)(correlation - c->ranges[mid].from) >= 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low)
        return NULL;
    struct sim_range *r = &c->ranges[low - 1];
    return low - 1 >= ended || (int32_t)(correlation - r->to) < 0 ? r : NULL;
}

static void count_in_range(struct sim_counters *c, const struct sim_record *r)
{
    struct sim_range *range = range_of(c, r->correlation);
    int64_t parts[SIM_COUNTERS];
    if (!range || (range->device >= 0 && range->device != r->device))
        return; /* one context at a time is counted */
    range->device = r->device;
    if (r->start + r->duration > range->last)
        range->last = r->start + r->duration;
    model(r, parts);
    add(&range->busy, parts, r->duration);
}

static void count_kernel(struct sim_counters *c, struct sim_drain *d, struct sink *s,
                         const struct sim_record *r)
{
    int64_t parts[SIM_COUNTERS];
    struct sim_busy busy = {{0}};
    if (c->counted[r->device][r->kernel]++ >= c->launches)
        return;
    model(r, parts);
    add(&busy, parts, r->duration);
    struct counter_row row = {.start = r->start,
                              .duration = CELL_NULL,
                              .source = SOURCE_KERNEL,
                              .device = d->devices[r->device],
                              .scope = CELL_NULL,
                              .kernel = s->ops->name(s, sim_kernels[r->kernel].name),
                              .ordinal = (int64_t)c->written++,
                              .correlation = r->correlation};
    put(c, s, &row, &busy, r->duration);
}

/* Ranges are written after all records have come, so that they are complete. */
static void drain_ranges(struct sim_counters *c, struct sim_drain *d, struct sink *s)
{
    uint32_t ended = atomic_load_explicit(&c->ended, memory_order_acquire);
    for (; c->ranges_written < ended; c->ranges_written++) {
        const struct sim_range *r = &c->ranges[c->ranges_written];
        struct counter_row row = {.start = r->start,
                                  .duration = r->end - r->start,
                                  .source = SOURCE_RANGE,
                                  .device = d->devices[r->device < 0 ? 0 : r->device],
                                  .scope = (int64_t)r->instance,
                                  .ordinal = (int64_t)c->written++,
                                  .correlation = CELL_NULL};
        /* the device is waited for at the end of a scope that is counted */
        put(c, s, &row, &r->busy, (r->last > r->end ? r->last : r->end) - r->start);
    }
    if (atomic_exchange(&c->open, 0)) /* only at the end of the session */
        s->ops->uncounted(s, c->ranges[ended].scope, "open when the session ended");
}

/* ---- all of it ------------------------------------------------------------------------------- */

void sim_counters_kernel(struct sim_counters *c, struct sim_drain *d, struct sink *s,
                         const struct sim_record *r)
{
    if (!c->described)
        describe(c, s);
    if (c->engines & ENGINE_PM_SAMPLING)
        sample_kernel(c, d, s, r);
    else if (c->kernels)
        count_kernel(c, d, s, r);
    else
        count_in_range(c, r);
}

void sim_counters_drain(struct sim_counters *c, struct sim_drain *d, struct sink *s, bool all)
{
    if (!c->described && all)
        describe(c, s);
    if (c->engines & ENGINE_PM_SAMPLING)
        drain_samples(c, d, s, all);
    else if (all && c->ranges)
        drain_ranges(c, d, s);
}
