/* sum_metrics.c - samples of devices and of the host. */
#include "analyze/sum_metrics.h"

#include "analyze/cells.h"
#include "analyze/model.h"
#include "base/alloc.h"

#include <string.h>

static const struct {
    const char *name, *key;
    bool bad;
} throttles[THROTTLE_BITS] = {
    {"idle", "idle", false},
    {"application clocks", "application_clocks", false},
    {"power cap", "power_cap", true},
    {"hardware slowdown", "hardware_slowdown", true},
    {"sync boost", "sync_boost", false},
    {"too hot (software)", "thermal_software", true},
    {"too hot (hardware)", "thermal_hardware", true},
    {"power brake (hardware)", "power_brake", true},
    {"display clocks", "display_clocks", false},
};

void sum_metrics_init(struct model *m)
{
    (void)m;
}

void sum_metrics_fini(struct model *m)
{
    mem_free(m->metrics.devices);
    memset(&m->metrics, 0, sizeof m->metrics);
}

static void note(struct metric_sum *s, int64_t v)
{
    if (v == CELL_NULL)
        return;
    if (!s->count || v < s->min)
        s->min = v;
    if (!s->count || v > s->max)
        s->max = v;
    s->sum += (double)v;
    s->count++;
}

static int ensure(struct sum_metrics *s, uint32_t device)
{
    if (device < s->device_count)
        return 0;
    int code = mem_grow(&s->devices, &s->device_cap, device + 1, sizeof *s->devices, DEVICES_MAX);
    if (code)
        return code;
    memset(s->devices + s->device_count, 0, (device + 1 - s->device_count) * sizeof *s->devices);
    for (; s->device_count <= device; s->device_count++) {
        s->devices[s->device_count].energy_last = CELL_NULL;
        s->devices[s->device_count].power_last = CELL_NULL;
    }
    return 0;
}

/* A counter that goes back was reset: that step is unknown. */
static void note_energy(struct device_metrics *d, int64_t mj)
{
    if (mj < 0)
        return;
    if (d->energy_last != CELL_NULL && mj >= d->energy_last) {
        d->energy_counted = cells_sum(d->energy_counted, mj - d->energy_last);
        d->energy_steps++;
    }
    d->energy_last = mj;
}

static void note_power(struct device_metrics *d, int64_t time, int64_t mw)
{
    if (mw == CELL_NULL || !cells_time_ok(time))
        return;
    if (d->power_last != CELL_NULL && time > d->power_time) {
        int64_t ns = time - d->power_time;
        d->power_energy += ((double)mw + (double)d->power_last) / 2e3 * (double)ns / 1e9;
        d->power_covered = cells_sum(d->power_covered, ns);
    }
    d->power_last = mw;
    d->power_time = time;
}

static void note_throttle(struct device_metrics *d, int64_t bits)
{
    if (bits == CELL_NULL)
        return;
    d->throttle_known++;
    for (int i = 0; i < THROTTLE_BITS; i++)
        d->throttled[i] += (uint64_t)bits >> i & 1;
}

static int take_device(struct model *m, const struct wire_batch *b, size_t i)
{
    uint32_t device;
    int code = sum_devices_expect(m, cells_get(b, COL_device_metric_device, i), &device);
    code = code ? code : ensure(&m->metrics, device);
    if (code)
        return code;
    struct device_metrics *d = &m->metrics.devices[device];
    d->samples++;
    for (unsigned c = COL_device_metric_device + 1; c < COL_device_metric_COUNT; c++)
        note(&d->metrics[c], cells_get(b, c, i));
    note_energy(d, cells_get(b, COL_device_metric_energy, i));
    note_power(d, cells_or(b, COL_device_metric_time, i, 0),
               cells_get(b, COL_device_metric_power, i));
    note_throttle(d, cells_get(b, COL_device_metric_throttle, i));
    return 0;
}

int sum_metrics_batch(struct model *m, const struct wire_batch *b)
{
    int code = 0;
    for (size_t i = 0; !code && i < b->rows; i++) {
        if (b->type == RECORD_device_metric) {
            code = take_device(m, b, i);
            continue;
        }
        m->metrics.host_samples++;
        for (unsigned c = COL_host_metric_time + 1; c < COL_host_metric_COUNT; c++)
            note(&m->metrics.host[c], cells_get(b, c, i));
    }
    return code;
}

static void merge(struct metric_sum *s, const struct metric_sum *o)
{
    if (!o->count)
        return;
    if (!s->count || o->min < s->min)
        s->min = o->min;
    if (!s->count || o->max > s->max)
        s->max = o->max;
    s->sum += o->sum;
    s->count += o->count;
}

/* Two sessions that sampled one device saw the same energy: the one that saw more of it
 * counts, they are not added. */
static void merge_device(struct device_metrics *d, const struct device_metrics *o)
{
    d->samples += o->samples;
    for (unsigned c = 0; c < COL_device_metric_COUNT; c++)
        merge(&d->metrics[c], &o->metrics[c]);
    if (o->energy_counted > d->energy_counted) {
        d->energy_counted = o->energy_counted;
        d->energy_steps = o->energy_steps;
    }
    if (o->power_covered > d->power_covered) {
        d->power_covered = o->power_covered;
        d->power_energy = o->power_energy;
    }
    d->throttle_known += o->throttle_known;
    for (int i = 0; i < THROTTLE_BITS; i++)
        d->throttled[i] += o->throttled[i];
}

int sum_metrics_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_metrics *s = &into->metrics;
    const struct sum_metrics *o = &from->metrics;
    int code = 0;
    (void)shift;
    for (size_t i = 0; !code && i < o->device_count; i++) {
        uint32_t at = into->devices.merged[i];
        if (!o->devices[i].samples)
            continue;
        code = ensure(s, at);
        if (!code)
            merge_device(&s->devices[at], &o->devices[i]);
    }
    s->host_samples += o->host_samples;
    for (unsigned c = 0; c < COL_host_metric_COUNT; c++)
        merge(&s->host[c], &o->host[c]);
    return code;
}

int sum_metrics_finish(struct model *m)
{
    (void)m;
    return 0;
}

double sum_metrics_mean(const struct metric_sum *s)
{
    return s->count ? s->sum / (double)s->count : 0;
}

bool sum_metrics_energy(const struct device_metrics *d, double *joules, bool *counter)
{
    *counter = d->energy_steps > 0;
    *joules = *counter ? (double)d->energy_counted / 1e3 : d->power_energy;
    return *counter || d->power_covered > 0;
}

const char *sum_metrics_throttle(int bit)
{
    return throttles[bit].name;
}

const char *sum_metrics_throttle_key(int bit)
{
    return throttles[bit].key;
}

bool sum_metrics_throttle_bad(int bit)
{
    return throttles[bit].bad;
}
