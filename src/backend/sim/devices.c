/* devices.c - has the device ops of the simulated GPU: limits like those of an H200, metrics that
 * follow the simulated load.
 *
 * Utilization is the union of kernel intervals since the sample before; memory is
 * what was allocated; power, temperature and clocks follow utilization smoothly.
 * Which metrics a device knows differs by its index, so that readers have to handle unknown cells,
 * which are not zero. */
#include "backend/sim/devices.h"

#include "backend/sim/generator.h"
#include "backend/sim/machine.h"
#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum {
    IDLE_MW = 72000,
    BUSY_MW = 560000, /* more at full load */
    AMBIENT_MC = 31000,
    HEAT_MC = 42000,    /* more at full power */
    POWER_TAU_MS = 200, /* time constants of the two */
    TEMPERATURE_TAU_MS = 8000,
    CLOCK_IDLE = 345,
    CLOCK_BUSY = 1980,
    CLOCK_MEMORY = 3201,
};

#define DRIVER_MEMORY (620ll << 20) /* bytes in use before anything is allocated */

/* Lists the metrics that devices of index % 4 do not know. */
static const uint8_t unknown[][12] = {
    {COL_device_metric_fan, COL_device_metric_voltage, COL_device_metric_temperature_junction},
    {COL_device_metric_fan, COL_device_metric_power, COL_device_metric_energy,
     COL_device_metric_temperature_memory, COL_device_metric_temperature_junction},
    {COL_device_metric_pcie_rx, COL_device_metric_pcie_tx, COL_device_metric_ecc_corrected,
     COL_device_metric_ecc_uncorrected, COL_device_metric_throttle},
    {COL_device_metric_gpu_util, COL_device_metric_mem_util, COL_device_metric_fan,
     COL_device_metric_processes, COL_device_metric_clock_gfx},
};

struct state { /* of a device at its last sample */
    int64_t time, busy, moved, in, out;
    int64_t util, mem_util, rx, tx; /* of the last interval that was not empty */
    int64_t power, temperature;     /* mW, thousandths of a degree */
    int64_t energy_uj;
};

struct devices {
    struct sim_machine *machine;
    bool generating;  /* the workload's thread runs for these devices */
    uint64_t samples; /* asked for so far */
    struct state state[SIM_DEVICES_MAX];
};

int sim_device_describe(int index, struct device_row *row, struct device_text *text)
{
    struct sim_machine *m = sim_machine_peek();
    memset(text, 0, sizeof *text);
    *row = (struct device_row){
        .index = index,
        .memory_total = m ? m->config.memory : CELL_NULL,
        .sm_count = 132,
        .warp_size = 32,
        .max_threads_per_sm = 2048,
        .max_blocks_per_sm = 32,
        .regs_per_sm = 65536,
        .regs_per_block = 65536,
        .shared_per_sm = 233472,
        .shared_per_block = 49152,
        .shared_per_block_optin = 232448,
        .shared_reserved_per_block = 1024,
        .l2_size = 62914560,
        .compute_major = 9,
        .compute_minor = 0,
        .clock_max_sm = CLOCK_BUSY,
        .clock_max_mem = CLOCK_MEMORY,
    };
    snprintf(text->name, sizeof text->name, "GPUFlight Simulated GPU");
    snprintf(text->uuid, sizeof text->uuid, "GPU-51300000-0000-4000-8000-%012d", index);
    snprintf(text->vendor, sizeof text->vendor, "sim");
    snprintf(text->pci, sizeof text->pci, "0000:%02x:00.0", 0x10 + index);
    snprintf(text->arch, sizeof text->arch, "sm_90");
    snprintf(text->driver, sizeof text->driver, "simulated");
    return 0;
}

static int devices_open(struct devices **out, struct err *e)
{
    *out = NULL;
    struct sim_machine *m;
    int rc = sim_machine_get(&m, e);
    if (rc)
        return rc;
    struct devices *d = mem_zalloc(sizeof *d);
    if (!d)
        return err_nomem(e);
    d->machine = m;
    for (int i = 0; i < SIM_DEVICES_MAX; i++)
        d->state[i] = (struct state){
            .time = sim_machine_now(m), .power = IDLE_MW, .temperature = AMBIENT_MC + 4000};
    *out = d;
    return 0;
}

static int devices_count(struct devices *d)
{
    return (int)d->machine->config.devices;
}

static int devices_describe(struct devices *d, int index, struct device_row *row,
                            struct device_text *text)
{
    if (index < 0 || index >= devices_count(d))
        return GPUFL_E_INVAL;
    return sim_device_describe(index, row, text);
}

static int64_t percent(int64_t part, int64_t whole)
{
    int64_t v = (part * 100 + whole / 2) / whole;
    return v < 0 ? 0 : v > 100 ? 100 : v;
}

/* Moves *v towards target with a time constant. */
static void approach(int64_t *v, int64_t target, int64_t ms, int64_t tau_ms)
{
    *v += (target - *v) * ms / (ms + tau_ms);
}

/* Moves the state on to now; returns the memory allocated. */
static int64_t state_update(struct state *s, struct sim_device *dev, int64_t now)
{
    pthread_mutex_lock(&dev->lock);
    int64_t ahead = dev->busy_until > now ? dev->busy_until - now : 0;
    int64_t busy = dev->busy_ns > ahead ? dev->busy_ns - ahead : 0;
    int64_t moved = dev->moved_ns, in = dev->copied_in, out = dev->copied_out;
    int64_t memory = dev->memory_used;
    pthread_mutex_unlock(&dev->lock);
    int64_t dt = now - s->time;
    if (dt >= 1000000) { /* shorter intervals are too inexact */
        s->util = percent(busy - s->busy, dt);
        s->mem_util = percent((busy - s->busy) * 2 / 5 + (moved - s->moved), dt);
        s->rx = (in - s->in) * 1000 / (dt / 1000000);
        s->tx = (out - s->out) * 1000 / (dt / 1000000);
        approach(&s->power, IDLE_MW + s->util * BUSY_MW / 100, dt / 1000000, POWER_TAU_MS);
        approach(&s->temperature, AMBIENT_MC + s->power * HEAT_MC / (IDLE_MW + BUSY_MW),
                 dt / 1000000, TEMPERATURE_TAU_MS);
        s->energy_uj += s->power * (dt / 1000000);
        s->time = now;
        s->busy = busy;
        s->moved = moved;
        s->in = in;
        s->out = out;
    }
    return memory;
}

static int devices_sample(struct devices *d, int index, struct device_metric_row *row)
{
    struct sim_machine *m = d->machine;
    if (index < 0 || index >= m->config.devices)
        return GPUFL_E_INVAL;
    if (!d->generating)
        d->generating = sim_generator_get(m, NULL) == 0;
    if (sim_hit(m->config.every[SIM_METRICS], d->samples++))
        return GPUFL_E_VENDOR;
    struct state *s = &d->state[index];
    int64_t memory = state_update(s, &m->devices[index], sim_machine_now(m));
    int64_t over = s->power > 600000 ? (s->power - 600000) / 1000 : 0; /* W near the limit */
    int64_t clock = s->util ? CLOCK_BUSY - 4 * over : CLOCK_IDLE;
    *row = (struct device_metric_row){
        .time = row->time,
        .device = row->device,
        .gpu_util = s->util,
        .mem_util = s->mem_util,
        .memory_used = DRIVER_MEMORY + memory,
        .memory_total = m->config.memory,
        .temperature = s->temperature / 1000,
        .temperature_memory = s->temperature / 1000 + 6,
        .temperature_junction = s->temperature / 1000 + 9,
        .power = s->power,
        .energy = s->energy_uj / 1000,
        .clock_sm = clock,
        .clock_gfx = clock,
        .clock_mem = CLOCK_MEMORY,
        .pcie_rx = s->rx,
        .pcie_tx = s->tx,
        .pcie_total = CELL_NULL, /* both ways are known apart */
        .throttle = (s->util ? 0 : 1) | (over ? 4 : 0),
        .fan = 30 + s->temperature / 4000,
        .voltage = s->util ? 880 : 710,
        .processes = 1,
    };
    int64_t *cells = (int64_t *)row;
    const uint8_t *none = unknown[index % 4];
    for (int i = 0; none[i]; i++)
        cells[none[i]] = CELL_NULL;
    return 0;
}

static void devices_close(struct devices *d)
{
    if (!d)
        return;
    if (d->generating)
        sim_generator_put();
    mem_free(d);
}

const struct device_ops sim_device_ops = {
    .open = devices_open,
    .count = devices_count,
    .describe = devices_describe,
    .sample = devices_sample,
    .close = devices_close,
};
