/* wide.c - has readers of device metrics that are used by monitors, and never in traced
 * programs. */
#include "backend/nvidia/device/inside.h"
#include "base/clock.h"

#include <string.h>

/* ---- links between GPUs ------------------------------------------------------------------ */

/* Returns the number of bytes a second between two readings of a counter of KiB; unknown if the
 * counter decreased, as when the driver was loaded again. */
static int64_t link_rate(const struct counter *from, const struct counter *to, int64_t elapsed)
{
    unsigned long long kib = to->value - from->value;
    if (to->value < from->value)
        return CELL_NULL;
    return (int64_t)((double)kib * 1024 * 1e9 / (double)elapsed);
}

int wide_links(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    enum { ALL_LINKS = -1 };
    struct nvml_field f[] = {{.id = NVML_FIELD_NVLINK_TX, .scope = (unsigned)ALL_LINKS},
                             {.id = NVML_FIELD_NVLINK_RX, .scope = (unsigned)ALL_LINKS}};
    struct counter tx = {0}, rx = {0};
    int64_t before = d->link_time;
    d->link_time = 0;
    int result = device_fields(n, d, f, 2);
    if (result != NVML_OK)
        return result;
    if (!device_field(&f[0], &tx.value) || !device_field(&f[1], &rx.value))
        return NVML_E_NOT_SUPPORTED;
    int64_t now = clock_mono();
    if (before && now > before) {
        row->nvlink_tx = link_rate(&d->link_tx, &tx, now - before);
        row->nvlink_rx = link_rate(&d->link_rx, &rx, now - before);
    }
    d->link_tx = tx;
    d->link_rx = rx;
    d->link_time = now;
    return NVML_OK;
}

/* ---- single numbers ------------------------------------------------------------------------ */

int wide_replays(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned count;
    if (!n->nvmlDeviceGetPcieReplayCounter)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetPcieReplayCounter(d->handle, &count);
    if (result == NVML_OK)
        row->pcie_replays = count;
    return result;
}

int wide_codecs(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned percent, us;
    int encoder = NVML_E_NOT_SUPPORTED, decoder = NVML_E_NOT_SUPPORTED;
    if (n->nvmlDeviceGetEncoderUtilization)
        encoder = n->nvmlDeviceGetEncoderUtilization(d->handle, &percent, &us);
    if (encoder == NVML_OK)
        row->encoder_util = percent;
    if (n->nvmlDeviceGetDecoderUtilization)
        decoder = n->nvmlDeviceGetDecoderUtilization(d->handle, &percent, &us);
    if (decoder == NVML_OK)
        row->decoder_util = percent;
    return encoder == NVML_OK ? NVML_OK : decoder;
}

int wide_remapped(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned corrected, uncorrected, pending, failed;
    if (!n->nvmlDeviceGetRemappedRows)
        return NVML_E_NOT_SUPPORTED;
    int result =
        n->nvmlDeviceGetRemappedRows(d->handle, &corrected, &uncorrected, &pending, &failed);
    if (result != NVML_OK)
        return result;
    row->remapped_corrected = corrected;
    row->remapped_uncorrected = uncorrected;
    row->remap_pending = pending != 0;
    row->remap_failed = failed != 0;
    return NVML_OK;
}

int wide_power_limit(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned mw;
    if (!n->nvmlDeviceGetEnforcedPowerLimit)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetEnforcedPowerLimit(d->handle, &mw);
    if (result == NVML_OK)
        row->power_limit = mw;
    return result;
}

/* ---- hardware counters --------------------------------------------------------------------- */

static bool gpm_begin(const struct nvml *n, const struct device *d, struct gpm *g)
{
    struct nvml_gpm_support support = {.version = NVML_GPM_SUPPORT};
    g->asked = true;
    g->offered = n->nvmlGpmQueryDeviceSupport && n->nvmlGpmSampleAlloc && n->nvmlGpmSampleFree &&
                 n->nvmlGpmSampleGet && n->nvmlGpmMetricsGet &&
                 n->nvmlGpmQueryDeviceSupport(d->handle, &support) == NVML_OK &&
                 support.supported && n->nvmlGpmSampleAlloc(&g->samples[0]) == NVML_OK;
    if (g->offered && n->nvmlGpmSampleAlloc(&g->samples[1]) != NVML_OK) {
        n->nvmlGpmSampleFree(g->samples[0]);
        g->offered = false;
    }
    return g->offered;
}

static void gpm_end(const struct nvml *n, struct gpm *g)
{
    for (int i = 0; i < 2 && g->offered; i++)
        n->nvmlGpmSampleFree(g->samples[i]);
    memset(g, 0, sizeof *g);
}

static int64_t gpm_cell(const struct nvml_gpm_metric *m)
{
    bool known = m->result == NVML_OK && m->value >= 0 && m->value <= 100;
    return known ? (int64_t)(m->value * 100 + 0.5) : CELL_NULL;
}

/* Reads the cells in this order: graphics, SM active, SM occupancy, tensor, DRAM; of the time since
 * the sample before. part: number of a GPU instance; CELL_NULL: the whole GPU. */
static int gpm_read(const struct nvml *n, const struct device *d, struct gpm *g, int64_t part,
                    int64_t cells[NVML_GPM_METRICS])
{
    for (int i = 0; i < NVML_GPM_METRICS; i++)
        cells[i] = CELL_NULL;
    if (!(g->asked ? g->offered : gpm_begin(n, d, g)))
        return NVML_E_NOT_SUPPORTED;
    bool filled = g->filled;
    nvml_gpm_sample sample = g->samples[g->next];
    g->filled = false;
    int result = part == CELL_NULL ? n->nvmlGpmSampleGet(d->handle, sample)
                                   : n->nvmlGpmMigSampleGet(d->handle, (unsigned)part, sample);
    if (result != NVML_OK)
        return result;
    g->filled = true;
    g->next ^= 1;
    if (!filled)
        return NVML_OK;
    struct nvml_gpm_metrics m = {.version = NVML_GPM_METRICS_VERSION,
                                 .count = NVML_GPM_METRICS,
                                 .from = g->samples[g->next],
                                 .to = g->samples[g->next ^ 1],
                                 .metrics = {{.id = NVML_GPM_GRAPHICS_ACTIVE},
                                             {.id = NVML_GPM_SM_ACTIVE},
                                             {.id = NVML_GPM_SM_OCCUPANCY},
                                             {.id = NVML_GPM_TENSOR_ACTIVE},
                                             {.id = NVML_GPM_DRAM_ACTIVE}}};
    result = n->nvmlGpmMetricsGet(&m);
    for (int i = 0; i < NVML_GPM_METRICS && result == NVML_OK; i++)
        cells[i] = gpm_cell(&m.metrics[i]);
    return result;
}

int wide_activity(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    int64_t cells[NVML_GPM_METRICS];
    int result = gpm_read(n, d, &d->gpm, CELL_NULL, cells);
    row->graphics_active = cells[0];
    row->sm_active = cells[1];
    row->sm_occupancy = cells[2];
    row->tensor_active = cells[3];
    row->dram_active = cells[4];
    return result;
}

/* Returns the counters of a GPU instance; NULL: no room. */
static struct gpm_part *part_of(struct device *d, int64_t gpu_instance)
{
    struct gpm_part *unused = NULL;
    for (int i = 0; i < PARTS_MOST; i++) {
        struct gpm_part *p = &d->parts[i];
        if (p->round && p->gpu_instance == gpu_instance)
            return p;
        if (!p->round && !unused)
            unused = p;
    }
    if (unused)
        unused->gpu_instance = gpu_instance;
    return unused;
}

/* The compute instances of a GPU instance share its counters, which are read once. */
static void part_activity(const struct nvml *n, struct device *d, struct device_instance *out)
{
    struct gpm_part *p = part_of(d, out->gpu_instance);
    if (!p)
        return;
    if (p->round != d->part_round)
        (void)gpm_read(n, d, &p->gpm, out->gpu_instance, p->cells);
    p->round = d->part_round;
    out->graphics_active = p->cells[0];
    out->sm_active = p->cells[1];
    out->sm_occupancy = p->cells[2];
    out->tensor_active = p->cells[3];
    out->dram_active = p->cells[4];
}

void wide_parts(const struct nvml *n, struct device *d, struct device_instance *parts, int count)
{
    d->part_round = d->part_round == UINT32_MAX ? 1 : d->part_round + 1;
    for (int i = 0; i < count && n->nvmlGpmMigSampleGet; i++)
        part_activity(n, d, &parts[i]);
    for (int i = 0; i < PARTS_MOST; i++)
        if (d->parts[i].round && d->parts[i].round != d->part_round) {
            gpm_end(n, &d->parts[i].gpm);
            d->parts[i].round = 0;
        }
}

void device_wide_close(const struct nvml *n, struct device *d)
{
    gpm_end(n, &d->gpm);
    for (int i = 0; i < PARTS_MOST; i++)
        gpm_end(n, &d->parts[i].gpm);
}
