/* toy.c - see toy.h. */
#include "toy.h"

#include "backend/backend.h"
#include "base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const struct vendor vendor_toy;
extern const struct backend backend_toy;

const char *toy_folder = "/nonexistent";
_Atomic int toy_samples;

struct devices {
    int count;
};

/* Returns CELL_NULL if the GPU has no such file. */
static int64_t read_number(int gpu, const char *name)
{
    char path[512];
    long long value;
    snprintf(path, sizeof path, "%s/gpu%d/%s", toy_folder, gpu, name);
    FILE *f = fopen(path, "re");
    bool known = f && fscanf(f, "%lld", &value) == 1;
    if (f)
        fclose(f);
    return known ? value : CELL_NULL;
}

static int count_gpus(void)
{
    int count = 0;
    while (read_number(count, "memory_total") != CELL_NULL)
        count++;
    return count;
}

/* ---- device ops -------------------------------------------------------------------------- */

static int toy_open(struct devices **out, struct err *e)
{
    struct devices *d = mem_zalloc(sizeof *d);
    *out = NULL;
    if (!d)
        return err_nomem(e);
    d->count = count_gpus();
    *out = d;
    return 0;
}

static int toy_count(struct devices *d)
{
    return d->count;
}

static int toy_describe(struct devices *d, int index, struct device_row *row,
                        struct device_text *text)
{
    int64_t *cells = (int64_t *)row;
    if (index < 0 || index >= d->count)
        return GPUFL_E_INVAL;
    for (int i = 0; i < COL_device_COUNT; i++)
        cells[i] = CELL_NULL;
    row->index = index;
    row->name = row->uuid = row->vendor = row->pci = row->arch = row->driver = 0;
    row->memory_total = read_number(index, "memory_total");
    *text = (struct device_text){.name = "Toy 1", .vendor = "toy"};
    snprintf(text->uuid, sizeof text->uuid, "GPU-toy-%d", index);
    return 0;
}

static int toy_sample(struct devices *d, int index, struct device_metric_row *row)
{
    if (index < 0 || index >= d->count)
        return GPUFL_E_INVAL;
    row->temperature = read_number(index, "temperature");
    row->power = read_number(index, "power");
    row->memory_total = read_number(index, "memory_total");
    atomic_fetch_add(&toy_samples, 1);
    return 0;
}

static void toy_close(struct devices *d)
{
    mem_free(d);
}

static const struct device_ops device_ops = {.open = toy_open,
                                             .count = toy_count,
                                             .describe = toy_describe,
                                             .sample = toy_sample,
                                             .close = toy_close};

/* ---- the backend ------------------------------------------------------------------------- */

static void toy_probe(struct probe *out)
{
    struct probe_fact *f = &out->facts[0];
    *out = (struct probe){.usable = count_gpus() > 0, .fact_count = 1};
    snprintf(f->name, sizeof f->name, "toy driver");
    snprintf(f->value, sizeof f->value, "%d GPUs below %.100s", count_gpus(), toy_folder);
    f->works = out->usable;
    if (!f->works)
        snprintf(f->advice, sizeof f->advice, "there is no GPU there: load the toy module");
}

const struct backend backend_toy = {
    .name = "toy",
    .vendor = &vendor_toy,
    .probe = toy_probe,
    .devices = &device_ops,
};
