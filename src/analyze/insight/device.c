/* device.c - reasons that held the clocks of a device down. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/findings.h"
#include "analyze/insight/insight.h"

#include <string.h>

enum { TEXT_MAX = 1 << 16 };

/* Bits of device_metric.throttle, as places. */
enum {
    THROTTLE_POWER_SOFTWARE = 2,
    THROTTLE_THERMAL_SOFTWARE = 5,
    THROTTLE_THERMAL_HARDWARE = 6,
    THROTTLE_POWER_BRAKE = 7,
};

/* Samples with at least one of two reasons: a sample may have both, so at least the larger
 * number. */
static uint64_t samples(const struct device_metrics *d, int a, int b)
{
    return d->throttled[a] > d->throttled[b] ? d->throttled[a] : d->throttled[b];
}

/* Busy time in that share of the samples, as far as clocks were below the highest one. */
static int64_t lost(const struct model *m, uint32_t device, double share)
{
    const struct device_metrics *d = &m->metrics.devices[device];
    const struct metric_sum *clock = &d->metrics[COL_device_metric_clock_sm];
    int64_t highest = m->devices.items[device].row.clock_max_sm;
    struct busy_result busy;
    busy_result(&m->devices.items[device].compute, &busy);
    double below = highest > 0 && clock->count ? 1 - sum_metrics_mean(clock) / (double)highest : 1;
    return cells_whole((double)busy.busy * sum_steps_part(m) * share * (below < 0 ? 0 : below));
}

static int add(const struct model *m, const char *rule, uint32_t device, uint64_t count,
               struct insights *to)
{
    const struct device_metrics *d = &m->metrics.devices[device];
    const struct metric_sum *heat = &d->metrics[COL_device_metric_temperature];
    bool power = !strcmp(rule, "throttle_power");
    char name[160], a[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int rc = insight_add(to, rule, &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->device = device;
    i->gives_back = lost(m, device, cells_share((double)count, (double)d->throttle_known));
    i->severity = power ? insight_by_share(m, i->gives_back) : INSIGHT_HIGH;
    insight_fact(i, "device", m->devices.items[device].row.index);
    insight_fact(i, "samples", (int64_t)d->throttle_known);
    insight_fact(i, "throttled_samples", (int64_t)count);
    buf_str(&text, power ? "Held down by its power limit" : "Held down by heat");
    rc = insight_say(&i->title, &text);
    findings_device(m, device, name, sizeof name);
    buf_printf(&text, "%s: ", name);
    if (count)
        buf_printf(&text, "clocks were held down by %s in %s of the samples",
                   power ? "the power limit" : "heat",
                   units_percent(a, (double)count, (double)d->throttle_known));
    if (!power && heat->count) {
        insight_fact(i, "temperature_max", heat->max);
        buf_printf(&text, "%s%.0f C on average, %lld C at most", count ? "; " : "",
                   sum_metrics_mean(heat), (long long)heat->max);
    }
    buf_str(&text, ".");
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

int insight_throttle_power(const struct model *m, struct insights *to)
{
    int rc = 0;
    for (uint32_t i = 1; !rc && i < m->metrics.device_count && i < m->devices.count; i++) {
        const struct device_metrics *d = &m->metrics.devices[i];
        uint64_t n = samples(d, THROTTLE_POWER_SOFTWARE, THROTTLE_POWER_BRAKE);
        if (d->throttle_known >= INSIGHT_throttle_samples &&
            n * 100 >= d->throttle_known * INSIGHT_throttle_power)
            rc = add(m, "throttle_power", i, n, to);
    }
    return rc;
}

int insight_throttle_thermal(const struct model *m, struct insights *to)
{
    int rc = 0;
    for (uint32_t i = 1; !rc && i < m->metrics.device_count && i < m->devices.count; i++) {
        const struct device_metrics *d = &m->metrics.devices[i];
        const struct metric_sum *heat = &d->metrics[COL_device_metric_temperature];
        uint64_t n = samples(d, THROTTLE_THERMAL_SOFTWARE, THROTTLE_THERMAL_HARDWARE);
        bool slowed = d->throttle_known >= INSIGHT_throttle_samples && n &&
                      n * 100 >= d->throttle_known * INSIGHT_throttle_thermal;
        bool hot = heat->count >= INSIGHT_throttle_samples &&
                   sum_metrics_mean(heat) >= INSIGHT_temperature;
        if (slowed || hot)
            rc = add(m, "throttle_thermal", i, slowed ? n : 0, to);
    }
    return rc;
}
