/* metrics.c - copies the firmware's table of metrics into the cells of a sample.
 *
 * A number with all bits set is unknown. Cells that a single call of the library has filled stay:
 * the table fills only the others. */
#include "backend/amd/device/inside.h"

#include <string.h>

_Static_assert(sizeof((struct gpu_metrics *)0)->xgmi_read == AMD_LINKS * sizeof(uint64_t), "links");

#define LINK_UNIT       1024.0 /* bytes of what the firmware calls KB */
#define TICKS_IN_SECOND 1e8    /* of the firmware's clock */

/* Lists the bits of device_metric.throttle. */
enum { REASON_POWER = 4, REASON_HARDWARE = 8, REASON_THERMAL = 32, REASON_HOT = 64 };

static const struct {
    int first, last; /* of enum gpu_throttler */
    int64_t reason;
} throttlers[] = {
    {GPU_THROTTLER_POWER, GPU_THROTTLER_POWER + 7, REASON_POWER},
    {GPU_THROTTLER_CURRENT, GPU_THROTTLER_CURRENT + 7, REASON_POWER},
    {GPU_THROTTLER_TEMPERATURE, GPU_THROTTLER_TEMPERATURE + 11, REASON_THERMAL},
    {GPU_THROTTLER_HOT, GPU_THROTTLER_HOT + 3, REASON_HOT},
    {GPU_THROTTLER_OTHER, 63, REASON_HARDWARE},
};

static void fill16(int64_t *cell, uint16_t value, int64_t scale)
{
    if (value != UINT16_MAX)
        amd_fill(cell, value * scale);
}

/* Returns why the clocks are low now, by newer firmware: the reasons whose counters have grown
 * since the sample before. CELL_NULL: there are no counters, or no sample before. */
static int64_t held_since(struct amd_device *x, const struct gpu_metrics *m)
{
    const struct amd_held now = {m->held_prochot, m->held_power, m->held_socket, m->held_regulator,
                                 m->held_hbm};
    const struct amd_held old = x->held;
    bool known = now.power != UINT64_MAX && now.socket != UINT64_MAX;
    bool before = x->held_known;
    x->held = now;
    x->held_known = known;
    if (!known || !before)
        return CELL_NULL;
    int64_t reasons = 0;
    reasons |= now.power > old.power ? REASON_POWER : 0;
    reasons |= now.socket > old.socket || now.hbm > old.hbm ? REASON_THERMAL : 0;
    reasons |= now.prochot > old.prochot || now.regulator > old.regulator ? REASON_HOT : 0;
    return reasons;
}

static int64_t reasons_of(uint64_t bits)
{
    int64_t reasons = 0;
    if (bits == UINT64_MAX)
        return CELL_NULL;
    for (size_t i = 0; i < sizeof throttlers / sizeof *throttlers; i++)
        for (int b = throttlers[i].first; b <= throttlers[i].last; b++)
            if (bits >> b & 1)
                reasons |= throttlers[i].reason;
    return reasons;
}

/* Returns the fastest of the chiplets' clocks. */
static uint16_t clock_of(const struct amd_device *x, const struct gpu_metrics *m)
{
    uint16_t most = 0;
    if (m->clock_gfx != UINT16_MAX || !x->whole_metrics)
        return m->clock_gfx;
    for (size_t i = 0; i < sizeof m->clocks_gfx / sizeof *m->clocks_gfx; i++)
        if (m->clocks_gfx[i] != UINT16_MAX && m->clocks_gfx[i] > most)
            most = m->clocks_gfx[i];
    return most ? most : UINT16_MAX;
}

/* Returns the bytes a second over all links since the sample before; CELL_NULL: no link is known in
 * both. */
static int64_t rate_of(const uint64_t *now, const uint64_t *before, uint64_t ticks)
{
    uint64_t sum = 0;
    bool known = false;
    for (int i = 0; i < AMD_LINKS; i++) {
        bool both = now[i] != UINT64_MAX && before[i] != UINT64_MAX && now[i] >= before[i];
        sum += both ? now[i] - before[i] : 0;
        known |= both;
    }
    double rate = (double)sum * LINK_UNIT * TICKS_IN_SECOND / (double)ticks;
    return known && rate < 1e18 ? (int64_t)rate : CELL_NULL;
}

/* Fills the traffic over the links to other GPUs. The firmware counts it, and the table has a time
 * of the firmware's clock, which gives the time between two samples. */
static void fill_links(struct amd_device *x, const struct gpu_metrics *m,
                       struct device_metric_row *row)
{
    struct amd_links *before = &x->links;
    if (before->known && m->firmware_clock != UINT64_MAX && m->firmware_clock > before->clock) {
        uint64_t ticks = m->firmware_clock - before->clock;
        amd_fill(&row->nvlink_rx, rate_of(m->xgmi_read, before->read, ticks));
        amd_fill(&row->nvlink_tx, rate_of(m->xgmi_write, before->write, ticks));
    }
    before->known = m->firmware_clock != UINT64_MAX;
    before->clock = m->firmware_clock;
    memcpy(before->read, m->xgmi_read, sizeof before->read);
    memcpy(before->write, m->xgmi_write, sizeof before->write);
}

void amd_metrics_fill(struct amd_device *x, const struct gpu_metrics *m,
                      struct device_metric_row *row)
{
    fill16(&row->gpu_util, m->gfx_busy, 1);
    fill16(&row->mem_util, m->umc_busy, 1);
    fill16(&row->temperature, m->edge, 1);
    fill16(&row->temperature_junction, m->hotspot, 1);
    fill16(&row->temperature_memory, m->mem, 1);
    fill16(&row->clock_gfx, clock_of(x, m), 1);
    fill16(&row->clock_sm, clock_of(x, m), 1);
    fill16(&row->clock_mem, m->clock_mem, 1);
    fill16(&row->power, m->power, 1000);
    fill16(&row->power, m->power_average, 1000);
    fill16(&row->voltage, m->mv_gfx, 1);
    int64_t now = reasons_of(m->throttle);
    if (!x->whole_metrics) {
        amd_fill(&row->throttle, now);
        return;
    }
    fill_links(x, m, row);
    int64_t held = held_since(x, m);
    if (now != CELL_NULL || held != CELL_NULL)
        amd_fill(&row->throttle, (now == CELL_NULL ? 0 : now) | (held == CELL_NULL ? 0 : held));
    if (m->pcie_now != UINT64_MAX)
        amd_fill(&row->pcie_total, (int64_t)m->pcie_now * 125000);
    if (m->pcie_replays != UINT64_MAX)
        amd_fill(&row->pcie_replays, (int64_t)m->pcie_replays);
}
