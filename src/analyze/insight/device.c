/* device.c - makes findings about reasons that held the clocks of a device down. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/findings.h"
#include "analyze/insight/insight.h"

#include <string.h>

enum { TEXT_MAX = 1 << 16 };

/* Lists the numbers of the bits of device_metric.throttle. */
enum {
    THROTTLE_IDLE = 0,
    THROTTLE_APPLICATION = 1,
    THROTTLE_HARDWARE = 3,
    THROTTLE_SYNC_BOOST = 4,
    THROTTLE_DISPLAY = 8,
    THROTTLE_POWER_SOFTWARE = 2,
    THROTTLE_THERMAL_SOFTWARE = 5,
    THROTTLE_THERMAL_HARDWARE = 6,
    THROTTLE_POWER_BRAKE = 7,
};

/* Returns the samples with at least one of two reasons. A sample may have both, so the larger
 * number is a lower bound. */
static uint64_t samples(const struct device_metrics *d, int a, int b)
{
    return d->throttled[a] > d->throttled[b] ? d->throttled[a] : d->throttled[b];
}

/* Returns the busy time that was lost in that share of the samples, because clocks were below the
 * highest one. */
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

/* Holds the texts of a rule about a device. */
struct held_words {
    const char *rule, *title, *by;
};

/* Adds a finding. count: samples in which the reason held the clocks down. */
static int add(const struct model *m, const struct held_words *w, uint32_t device, uint64_t count,
               struct insights *to)
{
    const struct device_metrics *d = &m->metrics.devices[device];
    const struct metric_sum *heat = &d->metrics[COL_device_metric_temperature];
    bool hot = !strcmp(w->rule, "throttle_thermal");
    char name[160], a[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int rc = insight_add(to, w->rule, &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->device = device;
    i->gives_back = lost(m, device, cells_share((double)count, (double)d->throttle_known));
    i->severity = hot ? INSIGHT_HIGH : insight_by_share(m, i->gives_back);
    insight_of(i, INSIGHT_OF_KERNELS, i->gives_back);
    insight_fact(i, "device", m->devices.items[device].row.index);
    insight_fact(i, "samples", (int64_t)d->throttle_known);
    insight_fact(i, "throttled_samples", (int64_t)count);
    buf_str(&text, w->title);
    rc = insight_say(&i->title, &text);
    findings_device(m, device, name, sizeof name);
    buf_printf(&text, "%s: ", name);
    if (count)
        buf_printf(&text, "clocks were held down by %s in %s of the samples", w->by,
                   units_percent(a, (double)count, (double)d->throttle_known));
    if (hot && heat->count) {
        insight_fact(i, "temperature_max", heat->max);
        buf_printf(&text, "%s%.0f C on average, %lld C at most", count ? "; " : "",
                   sum_metrics_mean(heat), (long long)heat->max);
    }
    buf_str(&text, ".");
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

/* Returns the samples in which a power limit below the device's highest one, or a power brake, held
 * the clocks down. At the highest limit the GPU does what it can; if the limits are unknown, it is
 * unknown whether a higher one can be set. */
static uint64_t held_by_power(const struct model *m, uint32_t device)
{
    const struct device_metrics *d = &m->metrics.devices[device];
    const struct device_row *row = &m->devices.items[device].row;
    bool lowered = row->power_limit != CELL_NULL && row->power_limit < row->power_limit_max;
    return samples(d, lowered ? THROTTLE_POWER_SOFTWARE : THROTTLE_POWER_BRAKE,
                   THROTTLE_POWER_BRAKE);
}

int insight_throttle_power(const struct model *m, struct insights *to)
{
    static const struct held_words words = {"throttle_power", "Held down by its power limit",
                                            "the power limit"};
    int rc = 0;
    for (uint32_t i = 1; !rc && i < m->metrics.device_count && i < m->devices.count; i++) {
        const struct device_metrics *d = &m->metrics.devices[i];
        uint64_t n = held_by_power(m, i);
        if (d->throttle_known >= INSIGHT_throttle_samples &&
            n * 100 >= d->throttle_known * INSIGHT_throttle_power)
            rc = add(m, &words, i, n, to);
    }
    return rc;
}

int insight_throttle_thermal(const struct model *m, struct insights *to)
{
    static const struct held_words words = {"throttle_thermal", "Held down by heat", "heat"};
    int rc = 0;
    for (uint32_t i = 1; !rc && i < m->metrics.device_count && i < m->devices.count; i++) {
        const struct device_metrics *d = &m->metrics.devices[i];
        const struct metric_sum *heat = &d->metrics[COL_device_metric_temperature];
        uint64_t n = samples(d, THROTTLE_THERMAL_SOFTWARE, THROTTLE_THERMAL_HARDWARE);
        bool slowed = !m->watch.is_monitor && d->throttle_known >= INSIGHT_throttle_samples && n &&
                      n * 100 >= d->throttle_known * INSIGHT_throttle_thermal;
        bool hot = heat->count >= INSIGHT_throttle_samples &&
                   sum_metrics_mean(heat) >= INSIGHT_temperature;
        if (slowed || hot)
            rc = add(m, &words, i, slowed ? n : 0, to);
    }
    return rc;
}

/* Returns the reason, other than power and heat, that slowed the clocks in most samples; *n gets
 * their number. */
static const struct held_words *main_reason(const struct model *m, const struct device_metrics *d,
                                            uint64_t *n)
{
    static const struct {
        int bit;
        struct held_words words;
    } reasons[] = {
        {THROTTLE_APPLICATION, {"clocks_held", "Clocks set below the highest", "a setting"}},
        {THROTTLE_HARDWARE,
         {"clocks_held", "Slowed down by its hardware", "the hardware (heat or power supply)"}},
        {THROTTLE_SYNC_BOOST,
         {"clocks_held", "Held down by other GPUs", "the slowest GPU of a group (sync boost)"}},
        {THROTTLE_DISPLAY, {"clocks_held", "Held down by its display", "the display's setting"}},
    };
    const struct held_words *most = NULL;
    *n = 0;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (d->throttled[reasons[i].bit] > *n &&
            !(m->watch.is_monitor && reasons[i].bit == THROTTLE_HARDWARE)) { /* gpu_throttled */
            *n = d->throttled[reasons[i].bit];
            most = &reasons[i].words;
        }
    return most;
}

/* Returns true if the mean SM clock is low although the GPU was busy: the clock of an idle GPU says
 * nothing. */
static bool is_slow(const struct model *m, uint32_t device)
{
    const struct device_metrics *d = &m->metrics.devices[device];
    const struct metric_sum *clock = &d->metrics[COL_device_metric_clock_sm];
    int64_t highest = m->devices.items[device].row.clock_max_sm;
    return clock->count && highest > 0 &&
           d->throttled[THROTTLE_IDLE] * 100 < d->throttle_known * INSIGHT_clocks_held &&
           sum_metrics_mean(clock) * 100 < (double)highest * INSIGHT_clocks_low;
}

int insight_clocks_held(const struct model *m, struct insights *to)
{
    int rc = 0;
    for (uint32_t i = 1; !rc && i < m->metrics.device_count && i < m->devices.count; i++) {
        const struct device_metrics *d = &m->metrics.devices[i];
        uint64_t n;
        const struct held_words *w = main_reason(m, d, &n);
        if (w && d->throttle_known >= INSIGHT_throttle_samples && is_slow(m, i) &&
            n * 100 >= d->throttle_known * INSIGHT_clocks_held)
            rc = add(m, w, i, n, to);
    }
    return rc;
}
