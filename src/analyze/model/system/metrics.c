/* metrics.c - sums up samples of devices and of the host. */
#include "analyze/model/system/metrics.h"

#include "analyze/common/cells.h"
#include "analyze/common/words.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/order.h"

#include <string.h>

enum { PARTS_MAX = 1 << 20 };

static const struct {
    const char *name, *key;
    bool bad;
} throttles[THROTTLE_BITS] = {
    {"idle", "idle", false},
    {"application clocks", "application_clocks", false},
    {"power cap", "power_cap", true},
    {NULL, "hardware_slowdown", true}, /* NULL: each vendor has its own words */
    {"sync boost", "sync_boost", false},
    {NULL, "thermal_software", true},
    {NULL, "thermal_hardware", true},
    {"power brake (hardware)", "power_brake", true},
    {"display clocks", "display_clocks", false},
};

void sum_metrics_init(struct model *m)
{
    (void)m;
}

void sum_metrics_fini(struct model *m)
{
    for (size_t i = 0; i < m->metrics.device_count; i++) {
        mem_free(m->metrics.devices[i].energies);
        mem_free(m->metrics.devices[i].powers);
    }
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
    int rc = mem_grow(&s->devices, &s->device_cap, device + 1, sizeof *s->devices, DEVICES_MAX);
    if (rc)
        return rc;
    memset(s->devices + s->device_count, 0, (device + 1 - s->device_count) * sizeof *s->devices);
    for (; s->device_count <= device; s->device_count++) {
        struct device_metrics *d = &s->devices[s->device_count];
        d->energy.first = d->energy.last = d->power.last = CELL_NULL;
    }
    return 0;
}

/* Adds a reading. A counter that went back was reset, so that difference is unknown. */
static void note_energy(struct energy_part *p, int64_t time, int64_t from, int64_t mj)
{
    if (mj < 0 || !cells_time_ok(time))
        return;
    if (p->last == CELL_NULL) {
        p->first = mj;
        p->time.first = time;
        p->from = from;
    } else if (mj >= p->last) {
        p->counted = cells_sum(p->counted, mj - p->last);
        p->steps++;
    } else {
        p->resets++;
    }
    p->last = mj;
    p->time.last = time;
}

static void note_power(struct power_part *p, int64_t time, int64_t mw)
{
    if (mw == CELL_NULL || !cells_time_ok(time))
        return;
    if (p->last == CELL_NULL) {
        p->time.first = time;
    } else if (time > p->time.last) {
        int64_t ns = time - p->time.last;
        p->energy += ((double)mw + (double)p->last) / 2e3 * (double)ns / 1e9;
        p->covered = cells_sum(p->covered, ns);
    }
    p->last = mw;
    p->time.last = time;
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
    int rc = sum_devices_expect(m, cells_get(b, COL_device_metric_device, i), &device);
    if (!rc && m->metrics.filter)
        row = sum_shared_takes(m->metrics.filter, m, device, time);
    if (row == SHARED_NONE)
        return 0;
    rc = rc ? rc : ensure(&m->metrics, device);
    if (rc)
        return rc;
    struct device_metrics *d = &m->metrics.devices[device];
    d->samples++;
    for (unsigned c = COL_device_metric_device + 1; c < COL_device_metric_COUNT; c++)
        note(&d->metrics[c], cells_get(b, c, i));
    note_throttle(d, cells_get(b, COL_device_metric_throttle, i));
    if (row == SHARED_BEFORE)
        return 0;
    note_energy(&d->energy, time, m->facts.start, cells_get(b, COL_device_metric_energy, i));
    note_power(&d->power, time == CELL_NULL ? 0 : time, cells_get(b, COL_device_metric_power, i));
    return 0;
}

/* Takes a row of the host and of the process. A row may have only the process, if another session
 * samples the host. In another session's log the process is not ours. */
static void take_host(struct model *m, const struct wire_batch *b, size_t i)
{
    struct sum_metrics *s = &m->metrics;
    bool host = false, process = false;
    if (s->filter && !sum_shared_takes(s->filter, m, 0, cells_get(b, COL_host_metric_time, i)))
        return;
    for (unsigned c = COL_host_metric_time + 1; c < COL_host_metric_COUNT; c++) {
        bool own = sum_metrics_is_own(c);
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
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++)
        if (b->type == RECORD_device_metric)
            rc = take_device(m, b, i);
        else
            take_host(m, b, i);
    return rc;
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

/* Orders parts by time, then by their other members, so that parts that compare equal are equal. */
static int compare_energy(const struct energy_part *x, const struct energy_part *y)
{
    const int64_t a[] = {x->time.first, x->time.last, x->from,  x->first,
                         x->last,       x->counted,   x->steps, x->resets};
    const int64_t b[] = {y->time.first, y->time.last, y->from,  y->first,
                         y->last,       y->counted,   y->steps, y->resets};
    for (size_t i = 0; i < sizeof a / sizeof *a; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int compare_power(const struct power_part *x, const struct power_part *y)
{
    if (x->time.first != y->time.first)
        return x->time.first < y->time.first ? -1 : 1;
    if (x->time.last != y->time.last)
        return x->time.last < y->time.last ? -1 : 1;
    if (x->covered != y->covered)
        return x->covered < y->covered ? -1 : 1;
    return ORDER(x->energy, y->energy);
}

static struct metrics_span moved(struct metrics_span t, int64_t shift)
{
    return (struct metrics_span){cells_sum(t.first, shift), cells_sum(t.last, shift)};
}

static int put_energy(struct device_metrics *d, struct energy_part p, int64_t shift)
{
    if (p.last == CELL_NULL)
        return 0;
    p.time = moved(p.time, shift);
    p.from = cells_sum(p.from, shift);
    int rc = mem_grow(&d->energies, &d->energy_cap, d->energy_count + 1, sizeof p, PARTS_MAX);
    size_t at = d->energy_count;
    if (rc)
        return rc;
    for (; at > 0 && compare_energy(&p, &d->energies[at - 1]) < 0; at--)
        d->energies[at] = d->energies[at - 1];
    d->energies[at] = p;
    d->energy_count++;
    return 0;
}

static int put_power(struct device_metrics *d, struct power_part p, int64_t shift)
{
    if (p.last == CELL_NULL)
        return 0;
    p.time = moved(p.time, shift);
    int rc = mem_grow(&d->powers, &d->power_cap, d->power_count + 1, sizeof p, PARTS_MAX);
    size_t at = d->power_count;
    if (rc)
        return rc;
    for (; at > 0 && compare_power(&p, &d->powers[at - 1]) < 0; at--)
        d->powers[at] = d->powers[at - 1];
    d->powers[at] = p;
    d->power_count++;
    return 0;
}

static int merge_parts(struct device_metrics *d, const struct device_metrics *o, int64_t shift)
{
    int rc = put_energy(d, o->energy, shift);
    for (size_t i = 0; !rc && i < o->energy_count; i++)
        rc = put_energy(d, o->energies[i], shift);
    rc = rc ? rc : put_power(d, o->power, shift);
    for (size_t i = 0; !rc && i < o->power_count; i++)
        rc = put_power(d, o->powers[i], shift);
    return rc;
}

static int merge_device(struct device_metrics *d, const struct device_metrics *o, int64_t shift)
{
    d->samples += o->samples;
    for (unsigned c = 0; c < COL_device_metric_COUNT; c++)
        merge(&d->metrics[c], &o->metrics[c]);
    d->throttle_known += o->throttle_known;
    for (int i = 0; i < THROTTLE_BITS; i++)
        d->throttled[i] += o->throttled[i];
    /* the readings of the session in `into` become one of the parts */
    int rc = put_energy(d, d->energy, 0);
    rc = rc ? rc : put_power(d, d->power, 0);
    d->energy = (struct energy_part){.first = CELL_NULL, .last = CELL_NULL};
    d->power = (struct power_part){.last = CELL_NULL};
    return rc ? rc : merge_parts(d, o, shift);
}

int sum_metrics_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_metrics *s = &into->metrics;
    const struct sum_metrics *o = &from->metrics;
    int rc = 0;
    for (size_t i = 0; !rc && i < o->device_count; i++) {
        uint32_t at = into->devices.merged[i];
        if (!o->devices[i].samples)
            continue;
        rc = ensure(s, at);
        if (!rc)
            rc = merge_device(&s->devices[at], &o->devices[i], shift);
    }
    s->host_samples += o->host_samples;
    s->process_samples += o->process_samples;
    for (unsigned c = 0; c < COL_host_metric_COUNT; c++)
        merge(&s->host[c], &o->host[c]);
    return rc;
}

int sum_metrics_finish(struct model *m)
{
    (void)m;
    return 0;
}

bool sum_metrics_is_own(unsigned column)
{
    return column >= COL_host_metric_process_cpu && column <= COL_host_metric_faults_major;
}

bool sum_metrics_is_count(unsigned column)
{
    return column >= COL_host_metric_cpu_periods && column <= COL_host_metric_swap_out;
}

double sum_metrics_mean(const struct metric_sum *s)
{
    return s->count ? s->sum / (double)s->count : 0;
}

/* Joins the readings of two sessions. If both read the counter concurrently, they saw the same
 * energy: that from the first reading to the last. If one came after the other, the energy between
 * them counts from the start of the later session. z begins no earlier than a. */
static void join_energy(struct energy_part *a, const struct energy_part *z)
{
    bool apart = z->time.first > a->time.last, later = z->time.last > a->time.last;
    bool follows = apart && z->from <= a->time.last && z->first >= a->last;
    a->resets += z->resets;
    a->steps += z->steps + follows;
    if (apart)
        a->counted = cells_sum(cells_sum(a->counted, z->counted), follows ? z->first - a->last : 0);
    else if (!a->resets && later && z->last >= a->first)
        a->counted = z->last - a->first;
    else
        a->counted = z->counted > a->counted ? z->counted : a->counted;
    if (later) {
        a->last = z->last;
        a->time.last = z->time.last;
    }
}

/* Where two spans overlap, the one that covers more counts. */
static void join_power(struct power_part *sum, struct power_part *now, const struct power_part *z)
{
    if (z->time.first >= now->time.last) {
        sum->energy += now->energy;
        sum->covered = cells_sum(sum->covered, now->covered);
        *now = *z;
        return;
    }
    if (z->covered > now->covered) {
        now->energy = z->energy;
        now->covered = z->covered;
    }
    if (z->time.last > now->time.last)
        now->time.last = z->time.last;
}

bool sum_metrics_energy(const struct device_metrics *d, double *joules, bool *counter)
{
    struct energy_part e = d->energy_count ? d->energies[0] : d->energy;
    struct power_part now = d->power_count ? d->powers[0] : d->power, sum = {0};
    for (size_t i = 1; i < d->energy_count; i++)
        join_energy(&e, &d->energies[i]);
    for (size_t i = 1; i < d->power_count; i++)
        join_power(&sum, &now, &d->powers[i]);
    *counter = e.steps > 0;
    *joules = *counter ? (double)e.counted / 1e3 : sum.energy + now.energy;
    return *counter || cells_sum(sum.covered, now.covered) > 0;
}

const char *sum_metrics_throttle(int bit, const struct words *w)
{
    const char *const own[THROTTLE_BITS] = {
        [3] = w->throttle_slow, [5] = w->throttle_heat, [6] = w->throttle_hot};
    return own[bit] ? own[bit] : throttles[bit].name;
}

const char *sum_metrics_throttle_key(int bit)
{
    return throttles[bit].key;
}

bool sum_metrics_throttle_bad(int bit)
{
    return throttles[bit].bad;
}
