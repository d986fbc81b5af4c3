/* devices.c - reads device metrics of AMD's GPUs, through AMD SMI or ROCm SMI.
 *
 * From ROCm 6.4 on (major version 25) AMD SMI is tried first, otherwise ROCm SMI; an older AMD SMI
 * is used if there is nothing else. A reader that a device does not support is not called again.
 * Slow readers have a period, and in between their cells are unknown. Tracing is not involved.
 *
 * Threads: open on the owner's, all other functions on the sampler's. */
#include "backend/amd/devices.h"

#include "backend/amd/device/inside.h"
#include "backend/amd/library/amd_smi.h"
#include "backend/amd/library/driver.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MOST = 128, FIRST_COMPLETE = 25 };

_Static_assert(READERS_MOST <= 32, "a bit of amd_device.never for each reader");

/* ---- opening ------------------------------------------------------------------------------ */

static void devices_close(struct devices *d)
{
    if (!d)
        return;
    amd_library_put(d->smi->library);
    mem_free(d->items);
    mem_free(d);
}

/* GPUs are numbered by their addresses on the bus, as in the trace (trace/agents.c): each library
 * has an order of its own. */
static int compare_places(const void *a, const void *b)
{
    const struct amd_device *x = a, *y = b;
    int order = ORDER(x->domain, y->domain);
    order = order ? order : ORDER(x->location, y->location);
    order = order ? order : ORDER(x->part, y->part);
    return order ? order : ORDER(x->number, y->number);
}

/* Returns false if the library did not report the address (address 0, at which there is no GPU). */
static bool has_place(const struct amd_device *x)
{
    return x->domain || x->location;
}

static bool share_place(const struct amd_device *x, const struct amd_device *y)
{
    return x->domain == y->domain && x->location == y->location;
}

/* Older libraries do not number the parts of a GPU. The parts follow each other here, and get
 * numbers in the library's order. */
static void number_parts(struct devices *d)
{
    for (int i = 1; i < d->count; i++) {
        const struct amd_device *before = &d->items[i - 1];
        struct amd_device *x = &d->items[i];
        if (has_place(x) && share_place(x, before) && x->part <= before->part)
            x->part = before->part + 1;
    }
}

static int enumerate(struct devices *d, struct err *e)
{
    int count = d->smi->list(NULL, 0);
    if (count < 0)
        return err_set(e, GPUFL_E_VENDOR, "%s does not list the GPUs: see dmesg",
                       d->smi->library->name);
    if (count == 0)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "AMD's driver is there but shows no GPU: start the container with --device "
                       "/dev/kfd --device /dev/dri, and add the user to the groups render and "
                       "video");
    count = count < DEVICES_MOST ? count : DEVICES_MOST;
    d->items = mem_array((size_t)count, sizeof *d->items);
    if (!d->items)
        return err_nomem(e);
    int now = d->smi->list(d->items, count);
    d->count = now < 0 ? 0 : now < count ? now : count; /* one may have vanished since */
    qsort(d->items, (size_t)d->count, sizeof *d->items, compare_places);
    number_parts(d);
    return 0;
}

static int open_with(const struct smi *smi, struct devices **out, struct err *e)
{
    int rc = amd_library_get(smi->library, e);
    if (rc)
        return rc;
    struct devices *d = mem_zalloc(sizeof *d);
    if (!d) {
        amd_library_put(smi->library);
        return err_nomem(e);
    }
    d->smi = smi;
    rc = enumerate(d, e);
    if (rc) {
        devices_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

/* Sets the reason why neither library can be used: that of AMD SMI, unless AMD SMI is not
 * installed, or could not be loaded although ROCm SMI could. */
static int say_why(bool amd_loaded, const struct err *amd, const struct err *rocm, struct err *e)
{
    const char *chosen = amd_library_chosen();
    bool none = amd->code == GPUFL_E_NOENT && rocm->code == GPUFL_E_NOENT;
    if (none && !chosen && !amd_driver_loaded())
        return err_set(e, GPUFL_E_NOENT, "%s", amd->text);
    if (none && chosen)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       AMD_SMI_PATH "=%.200s has neither AMD SMI (libamd_smi.so) nor ROCm SMI "
                                    "(librocm_smi64.so): name the file or folder of one, or unset "
                                    "it",
                       chosen);
    if (none)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "AMD's kernel driver is there, but neither AMD SMI (libamd_smi.so) nor ROCm "
                       "SMI (librocm_smi64.so) is: install the package amd-smi-lib or rocm-smi-lib "
                       "(Debian: librocm-smi64-1), or set " AMD_SMI_PATH " to the library");
    const struct err *why = !amd_loaded && rocm->code != GPUFL_E_NOENT ? rocm : amd;
    return err_set(e, why->code, "%s", *why->text ? why->text : err_text(why->code));
}

/* Tries both libraries. */
static int devices_open(struct devices **out, struct err *e)
{
    struct err amd = {0}, rocm = {0};
    *out = NULL;
    bool loaded = amd_library_load(&amdsmi_library, &amd) == 0;
    bool complete = loaded && amdsmi_library.major >= FIRST_COMPLETE;
    if (complete)
        (void)open_with(&smi_amd, out, &amd);
    if (!*out)
        (void)open_with(&smi_rocm, out, &rocm);
    if (!*out && loaded && !complete)
        (void)open_with(&smi_amd, out, &amd);
    return *out ? 0 : say_why(loaded, &amd, &rocm, e);
}

static int devices_count(struct devices *d)
{
    return d->count;
}

/* ---- describing --------------------------------------------------------------------------- */

static void clear(void *row, size_t columns)
{
    int64_t *cells = row;
    for (size_t i = 0; i < columns; i++)
        cells[i] = CELL_NULL;
}

void amd_devices_parts(const struct devices *d, int index, char *text, size_t size)
{
    char compute[PARTITION_SIZE] = "", memory[PARTITION_SIZE] = "";
    *text = '\0';
    if (index < 0 || index >= d->count)
        return;
    d->smi->partitions(&d->items[index], compute, memory);
    if (*compute && strcmp(compute, "SPX") != 0)
        snprintf(text, size, "%s%s%s", compute, *memory ? ", memory " : "", memory);
}

const char *amd_devices_library(const struct devices *d, const char **path)
{
    *path = d->smi->library->path;
    return d->smi->library->name;
}

/* Makes the texts of a GPU's parts different: they share its unique number. */
static void distinguish_parts(const struct devices *d, int index, struct device_text *text)
{
    char parts[2 * PARTITION_SIZE + 16];
    const struct amd_device *x = &d->items[index];
    size_t n = strlen(text->uuid), m = strlen(text->name);
    if (n && x->part)
        snprintf(text->uuid + n, sizeof text->uuid - n, "-%u", x->part);
    amd_devices_parts(d, index, parts, sizeof parts);
    if (*parts)
        snprintf(text->name + m, sizeof text->name - m, " (%s)", parts);
}

/* Writes the address on the bus, unless several devices share it and have no UUIDs: then they would
 * be taken for one device. */
static void put_address(const struct devices *d, int index, struct device_text *text)
{
    const struct amd_device *x = &d->items[index];
    bool own = has_place(x);
    for (int i = 0; i < d->count && !*text->uuid; i++)
        own &= i == index || !share_place(x, &d->items[i]);
    if (own)
        snprintf(text->pci, sizeof text->pci, "%04x:%02x:%02x.%x", x->domain,
                 x->location >> 8 & 0xff, x->location >> 3 & 31, x->location & 7);
}

static int devices_describe(struct devices *d, int index, struct device_row *row,
                            struct device_text *text)
{
    struct amd_node node;
    if (index < 0 || index >= d->count)
        return GPUFL_E_INVAL;
    struct amd_device *x = &d->items[index];
    clear(row, COL_device_COUNT);
    memset(text, 0, sizeof *text);
    row->id = row->name = row->uuid = row->vendor = row->pci = row->arch = row->driver = 0;
    row->index = index;
    snprintf(text->vendor, sizeof text->vendor, "amd");
    amd_driver_version(text->driver, sizeof text->driver);
    d->smi->describe(x, row, text);
    distinguish_parts(d, index, text);
    put_address(d, index, text);
    if (!amd_driver_node(x->domain, x->location, &node))
        return 0;
    if (node.units)
        row->sm_count = node.units;
    if (node.mhz && row->clock_max_sm == CELL_NULL)
        row->clock_max_sm = node.mhz;
    amd_target_name(node.target, text->arch, sizeof text->arch);
    return 0;
}

/* ---- sampling ----------------------------------------------------------------------------- */

static int devices_sample(struct devices *d, int index, struct device_metric_row *row)
{
    if (index < 0 || index >= d->count)
        return GPUFL_E_INVAL;
    struct amd_device *x = &d->items[index];
    int64_t time = row->time, device = row->device, now = clock_mono();
    bool asked = false, answered = false, fails = false;
    clear(row, COL_device_metric_COUNT);
    row->time = time;
    row->device = device;
    for (int i = 0; i < d->smi->reader_count; i++) {
        const struct amd_reader *r = &d->smi->readers[i];
        if ((x->never >> i & 1) || now < x->due[i])
            continue;
        enum amd_answer got = r->read(x, row);
        uint32_t bit = UINT32_C(1) << i;
        asked |= !r->apart;
        answered |= got == AMD_ANSWERED && !r->apart;
        fails |= got == AMD_NOT_NOW && !r->apart;
        if (got == AMD_ANSWERED)
            x->knows |= bit;
        else if (got == AMD_NEVER && !(x->knows & bit))
            x->never |= bit;
        /* A tenth earlier, so that a caller that samples once a period never comes too soon. */
        x->due[i] = r->period ? now + r->period / 10 * 9 : 0;
    }
    /* If a GPU is gone, every call fails; a GPU without metrics reports that they are
     * unsupported. */
    return (x->knows || fails) && asked && !answered ? GPUFL_E_UNAVAILABLE : 0;
}

/* ---- for a monitor ------------------------------------------------------------------------ */

static void watch_widen(struct devices *d, bool activity)
{
    (void)d; /* no reader is reserved for monitors */
    (void)activity;
}

static int watch_processes(struct devices *d, int index, struct device_process *out, int max,
                           int *count)
{
    *count = 0;
    if (index < 0 || index >= d->count)
        return GPUFL_E_INVAL;
    return d->smi->processes(&d->items[index], out, max, count);
}

/* Parts are devices of their own. */
static int watch_instances(struct devices *d, int index, struct device_instance *out, int max,
                           int *count)
{
    (void)out;
    (void)max;
    *count = 0;
    return index < 0 || index >= d->count ? GPUFL_E_INVAL : 0;
}

static int watch_listed(struct devices *d)
{
    return d->smi->list(NULL, 0);
}

static int watch_wait(struct devices *d, int64_t timeout_ns, struct device_event *out)
{
    (void)d;
    (void)timeout_ns;
    (void)out;
    return GPUFL_E_NOT_BUILT;
}

static const struct device_watch_ops watch = {
    .widen = watch_widen,
    .processes = watch_processes,
    .instances = watch_instances,
    .listed = watch_listed,
    .wait = watch_wait,
};

const struct device_ops amd_devices = {
    .open = devices_open,
    .count = devices_count,
    .describe = devices_describe,
    .sample = devices_sample,
    .close = devices_close,
    .watch = &watch,
};
