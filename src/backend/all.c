/* all.c - shows the GPUs of every vendor as one list: see all_devices in backend.h.
 *
 * Each vendor's backend keeps its own devices; this file only finds to which vendor an index
 * belongs. A vendor whose GPUs cannot be read is left out, and tried again when the list is opened
 * the next time. */
#include "backend/backend.h"
#include "base/alloc.h"
#include "base/file/file.h"

#include <stdio.h>

enum { VENDORS_MOST = 8 };

struct part {
    const struct backend *backend;
    struct devices *devices; /* owned; NULL: they cannot be read */
    int count;
};

struct devices {
    struct part parts[VENDORS_MOST];
    int part_count, count;
};

/* Returns the part to which an index of the list belongs; *index becomes the index in it. NULL: out
 * of range. */
static struct part *part_of(struct devices *d, int *index)
{
    for (int i = 0; *index >= 0 && i < d->part_count; i++) {
        if (*index < d->parts[i].count)
            return &d->parts[i];
        *index -= d->parts[i].count;
    }
    return NULL;
}

/* Returns true if one of the vendor's device files exists. */
static bool has_device_file(const struct backend *b)
{
    for (const char *const *file = b->vendor ? b->vendor->devices : NULL; file && *file; file++)
        if (file_exists(*file))
            return true;
    return false;
}

/* ---- device ops --------------------------------------------------------------------------- */

static void all_close(struct devices *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->part_count; i++)
        if (d->parts[i].devices)
            d->parts[i].backend->devices->close(d->parts[i].devices);
    mem_free(d);
}

/* Opens one vendor's GPUs. *e becomes the error of the first vendor, or that of another vendor
 * whose error is not GPUFL_E_NOENT, if the first has no device file here. */
static int open_part(struct devices *d, const struct backend *b, struct err *e)
{
    struct err why = {0};
    struct part *p = &d->parts[d->part_count++];
    *p = (struct part){.backend = b};
    int rc = b->devices->open(&p->devices, &why);
    if (rc) {
        p->devices = NULL;
        if (p == d->parts || (rc != GPUFL_E_NOENT && !has_device_file(d->parts[0].backend)))
            *e = why;
        return rc;
    }
    p->count = b->devices->count(p->devices);
    d->count += p->count;
    return 0;
}

static int all_open(struct devices **out, struct err *e)
{
    struct devices *d = mem_zalloc(sizeof *d);
    struct err why = {.code = GPUFL_E_UNAVAILABLE};
    bool any = false;
    *out = NULL;
    if (!d)
        return err_nomem(e);
    for (const struct backend *const *b = backends; *b && d->part_count < VENDORS_MOST; b++)
        if (!(*b)->simulated && (*b)->devices)
            any |= open_part(d, *b, &why) == 0;
    if (!any) {
        all_close(d);
        if (e)
            *e = why;
        return why.code;
    }
    *out = d;
    return 0;
}

static int all_count(struct devices *d)
{
    return d->count;
}

static int all_describe(struct devices *d, int index, struct device_row *row,
                        struct device_text *text)
{
    int own = index;
    struct part *p = part_of(d, &own);
    int rc = p ? p->backend->devices->describe(p->devices, own, row, text) : GPUFL_E_INVAL;
    if (rc == 0)
        row->index = index;
    return rc;
}

static int all_sample(struct devices *d, int index, struct device_metric_row *row)
{
    struct part *p = part_of(d, &index);
    return p ? p->backend->devices->sample(p->devices, index, row) : GPUFL_E_INVAL;
}

/* ---- what a monitor asks ------------------------------------------------------------------ */

static const struct device_watch_ops *watch_of(const struct part *p)
{
    return p->devices ? p->backend->devices->watch : NULL;
}

static void all_widen(struct devices *d, bool activity)
{
    for (int i = 0; i < d->part_count; i++)
        if (watch_of(&d->parts[i]))
            watch_of(&d->parts[i])->widen(d->parts[i].devices, activity);
}

static int all_processes(struct devices *d, int index, struct device_process *out, int max,
                         int *count)
{
    struct part *p = part_of(d, &index);
    *count = 0;
    if (!p)
        return GPUFL_E_INVAL;
    return watch_of(p) ? watch_of(p)->processes(p->devices, index, out, max, count)
                       : GPUFL_E_NOT_BUILT;
}

static int all_instances(struct devices *d, int index, struct device_instance *out, int max,
                         int *count)
{
    struct part *p = part_of(d, &index);
    *count = 0;
    if (!p)
        return GPUFL_E_INVAL;
    return watch_of(p) ? watch_of(p)->instances(p->devices, index, out, max, count) : 0;
}

static bool opens(const struct backend *b)
{
    struct devices *d = NULL;
    bool ok = b->devices->open(&d, NULL) == 0;
    if (ok)
        b->devices->close(d);
    return ok;
}

/* A vendor whose GPUs could not be read, and now can, counts as one more GPU: then the caller opens
 * the list again. */
static int all_listed(struct devices *d)
{
    int count = 0;
    for (int i = 0; i < d->part_count; i++) {
        struct part *p = &d->parts[i];
        int n = p->count;
        if (!p->devices)
            n = opens(p->backend);
        else if (watch_of(p))
            n = watch_of(p)->listed(p->devices);
        if (n < 0)
            return n;
        count += n;
    }
    return count;
}

/* Waits for events of one vendor: the first that reports any. */
static int all_wait(struct devices *d, int64_t timeout_ns, struct device_event *out)
{
    int before = 0;
    for (int i = 0; i < d->part_count; before += d->parts[i++].count) {
        const struct device_watch_ops *ops = watch_of(&d->parts[i]);
        int rc = ops ? ops->wait(d->parts[i].devices, timeout_ns, out) : GPUFL_E_NOT_BUILT;
        if (rc == GPUFL_E_NOT_BUILT)
            continue;
        if (rc == 1 && out->index >= 0)
            out->index += before;
        return rc;
    }
    return GPUFL_E_NOT_BUILT;
}

static const struct device_watch_ops watch = {
    .widen = all_widen,
    .processes = all_processes,
    .instances = all_instances,
    .listed = all_listed,
    .wait = all_wait,
};

const struct device_ops all_devices = {
    .open = all_open,
    .count = all_count,
    .describe = all_describe,
    .sample = all_sample,
    .close = all_close,
    .watch = &watch,
};

/* ---- vendors of devices ------------------------------------------------------------------- */

void all_devices_name(const struct devices *d, char *text, size_t size)
{
    size_t n = 0;
    snprintf(text, size, "none");
    for (int i = 0; d && i < d->part_count && n < size; i++)
        if (d->parts[i].devices)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "+" : "",
                                  d->parts[i].backend->name);
}

const char *all_devices_caution(const struct devices *d)
{
    for (int i = 0; d && i < d->part_count; i++)
        if (d->parts[i].devices && d->parts[i].backend->caution)
            return d->parts[i].backend->caution;
    return NULL;
}
