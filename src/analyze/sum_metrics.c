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
        s->devices[s->device_count].energy_first = CELL_NULL;
        s->devices[s->device_count].power_last = CELL_NULL;
    }
    return 0;
}

/* A counter that goes back was reset: that step is unknown. */
static void note_energy(struct device_metrics *d, int64_t time, int64_t from, int64_t mj)
{
    if (mj < 0 || !cells_time_ok(time))
        return;
    if (d->energy_last == CELL_NULL) {
        d->energy_first = mj;
        d->energy_time.first = time;
        d->energy_from = from;
    } else if (mj >= d->energy_last) {
        d->energy_counted = cells_sum(d->energy_counted, mj - d->energy_last);
        d->energy_steps++;
    } else {
        d->energy_resets++;
    }
    d->energy_last = mj;
    d->energy_time.last = time;
}

static void note_power(struct device_metrics *d, int64_t time, int64_t mw)
{
    if (mw == CELL_NULL || !cells_time_ok(time))
        return;
    if (d->power_last != CELL_NULL && time > d->power_time) {
        int64_t ns = time - d->power_time;
        d->power_energy += ((double)mw + (double)d->power_last) / 2e3 * (double)ns / 1e9;
        d->power_covered = cells_sum(d->power_covered, ns);
    } else if (d->power_last == CELL_NULL) {
        d->power_first = time;
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
    int64_t time = cells_get(b, COL_device_metric_time, i);
    enum shared_row row = SHARED_WITHIN;
    int code = sum_devices_expect(m, cells_get(b, COL_device_metric_device, i), &device);
    if (!code && m->metrics.filter)
        row = sum_shared_takes(m->metrics.filter, m, device, time);
    if (row == SHARED_NONE)
        return 0;
    code = code ? code : ensure(&m->metrics, device);
    if (code)
        return code;
    struct device_metrics *d = &m->metrics.devices[device];
    d->samples++;
    for (unsigned c = COL_device_metric_device + 1; c < COL_device_metric_COUNT; c++)
        note(&d->metrics[c], cells_get(b, c, i));
    note_throttle(d, cells_get(b, COL_device_metric_throttle, i));
    if (row == SHARED_BEFORE)
        return 0;
    note_energy(d, time, m->facts.start, cells_get(b, COL_device_metric_energy, i));
    note_power(d, time == CELL_NULL ? 0 : time, cells_get(b, COL_device_metric_power, i));
    return 0;
}

/* What a row tells of the host, and what of the process, which may be all: another one samples the
 * host then. Of another session's log the process is none of ours. */
static void take_host(struct model *m, const struct wire_batch *b, size_t i)
{
    struct sum_metrics *s = &m->metrics;
    bool host = false, process = false;
    if (s->filter && !sum_shared_takes(s->filter, m, 0, cells_get(b, COL_host_metric_time, i)))
        return;
    for (unsigned c = COL_host_metric_time + 1; c < COL_host_metric_COUNT; c++) {
        bool own = c == COL_host_metric_process_cpu || c == COL_host_metric_process_rss;
        int64_t v = cells_get(b, c, i);
        if (v == CELL_NULL || (own && s->filter))
            continue;
        note(&s->host[c], v);
        process |= own;
        host |= !own;
    }
    s->host_samples += host;
    s->process_samples += process;
}

int sum_metrics_batch(struct model *m, const struct wire_batch *b)
{
    int code = 0;
    for (size_t i = 0; !code && i < b->rows; i++)
        if (b->type == RECORD_device_metric)
            code = take_device(m, b, i);
        else
            take_host(m, b, i);
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

/* Where two sessions read one counter at the same time, they saw the same energy: from the first
 * reading to the last one. Where one took over from the other, what came between them counts, too, as
 * far as the later one ran already: it is of the run. */
static void merge_energy(struct device_metrics *d, const struct device_metrics *o, int64_t shift)
{
    struct device_metrics e = *o;
    if (o->energy_last == CELL_NULL)
        return;
    e.energy_time.first = cells_sum(o->energy_time.first, shift);
    e.energy_time.last = cells_sum(o->energy_time.last, shift);
    e.energy_from = cells_sum(o->energy_from, shift);
    bool other_first = d->energy_last == CELL_NULL || e.energy_time.first < d->energy_time.first;
    const struct device_metrics *a = other_first ? &e : d, *z = other_first ? d : &e;
    struct device_metrics sum = *a;
    if (z->energy_last != CELL_NULL) {
        bool apart = z->energy_time.first > a->energy_time.last;
        bool ends_later = z->energy_time.last > a->energy_time.last;
        bool most = z->energy_counted > a->energy_counted;
        int64_t between = z->energy_first - a->energy_last;
        sum.energy_resets += z->energy_resets;
        if (apart)
            sum.energy_counted =
                cells_sum(cells_sum(a->energy_counted, z->energy_counted),
                          between > 0 && z->energy_from <= a->energy_time.last ? between : 0);
        else if (!sum.energy_resets && ends_later && z->energy_last >= a->energy_first)
            sum.energy_counted = z->energy_last - a->energy_first;
        else
            sum.energy_counted = most ? z->energy_counted : a->energy_counted;
        sum.energy_steps = a->energy_steps + z->energy_steps;
        if (apart && z->energy_from <= a->energy_time.last)
            sum.energy_steps++;
        if (ends_later) {
            sum.energy_last = z->energy_last;
            sum.energy_time.last = z->energy_time.last;
        }
    }
    d->energy_first = sum.energy_first;
    d->energy_last = sum.energy_last;
    d->energy_time = sum.energy_time;
    d->energy_from = sum.energy_from;
    d->energy_counted = sum.energy_counted;
    d->energy_steps = sum.energy_steps;
    d->energy_resets = sum.energy_resets;
}

/* Of the same time the one that covers more of it counts. */
static void merge_power(struct device_metrics *d, const struct device_metrics *o, int64_t shift)
{
    int64_t first = cells_sum(o->power_first, shift), last = cells_sum(o->power_time, shift);
    if (o->power_last == CELL_NULL)
        return;
    bool none = d->power_last == CELL_NULL;
    if (!none && (first >= d->power_time || last <= d->power_first)) {
        d->power_energy += o->power_energy;
        d->power_covered = cells_sum(d->power_covered, o->power_covered);
    } else if (none || o->power_covered > d->power_covered) {
        d->power_energy = o->power_energy;
        d->power_covered = o->power_covered;
    }
    d->power_first = none || first < d->power_first ? first : d->power_first;
    if (none || last > d->power_time) {
        d->power_time = last;
        d->power_last = o->power_last;
    }
}

static void merge_device(struct device_metrics *d, const struct device_metrics *o, int64_t shift)
{
    d->samples += o->samples;
    for (unsigned c = 0; c < COL_device_metric_COUNT; c++)
        merge(&d->metrics[c], &o->metrics[c]);
    merge_energy(d, o, shift);
    merge_power(d, o, shift);
    d->throttle_known += o->throttle_known;
    for (int i = 0; i < THROTTLE_BITS; i++)
        d->throttled[i] += o->throttled[i];
}

int sum_metrics_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_metrics *s = &into->metrics;
    const struct sum_metrics *o = &from->metrics;
    int code = 0;
    for (size_t i = 0; !code && i < o->device_count; i++) {
        uint32_t at = into->devices.merged[i];
        if (!o->devices[i].samples)
            continue;
        code = ensure(s, at);
        if (!code)
            merge_device(&s->devices[at], &o->devices[i], shift);
    }
    s->host_samples += o->host_samples;
    s->process_samples += o->process_samples;
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
