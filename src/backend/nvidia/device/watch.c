/* watch.c - reads processes of a GPU, its parts (MIG) and its events, through NVML. */
#include "backend/nvidia/device/inside.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

/* Limits the processes of a device: LIST_FIRST have room at once, more than LIST_MOST are only
 * counted. */
enum { LIST_FIRST = 512, LIST_MOST = 1 << 16, LIST_TRIES = 4 };

static const struct {
    unsigned bit;
    enum device_event_kind kind;
} event_kinds[] = {
    {NVML_EVENT_XID, DEVICE_EVENT_XID},
    {NVML_EVENT_ECC_CORRECTED, DEVICE_EVENT_ECC_CORRECTED},
    {NVML_EVENT_ECC_UNCORRECTED, DEVICE_EVENT_ECC_UNCORRECTED},
    {NVML_EVENT_MIG_CHANGED, DEVICE_EVENT_MIG_CHANGED},
};
enum { EVENT_KINDS = sizeof event_kinds / sizeof *event_kinds };

/* Returns the error code for a result that is not NVML_OK. */
static int code_of(int result)
{
    return result == NVML_E_NOT_SUPPORTED || result == NVML_E_FUNCTION_NOT_FOUND ? GPUFL_E_NOT_BUILT
           : result == NVML_E_NO_PERMISSION                                      ? GPUFL_E_PERM
                                            : GPUFL_E_UNAVAILABLE;
}

static int64_t number(unsigned v)
{
    return v == UINT32_MAX ? CELL_NULL : (int64_t)v;
}

/* ---- processes ----------------------------------------------------------------------------- */

typedef int list_fn(nvml_device device, unsigned *count, struct nvml_process *infos);

/* Holds the processes that are reported, in the caller's array. */
struct process_list {
    struct device_process *out;
    int max, have, count;
};

static void add_found(struct process_list *t, const struct nvml_process *found, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int at = 0;
        while (at < t->have && t->out[at].pid != (int64_t)found[i].pid)
            at++;
        if (at < t->have)
            continue; /* it is in both lists */
        t->count++;
        if (t->have == t->max)
            continue;
        t->out[t->have++] = (struct device_process){
            .pid = found[i].pid,
            .memory_used = found[i].memory == UINT64_MAX ? CELL_NULL : (int64_t)found[i].memory,
            .sm_util = CELL_NULL,
            .mem_util = CELL_NULL,
            .encoder_util = CELL_NULL,
            .decoder_util = CELL_NULL,
            .gpu_instance = number(found[i].gpu_instance),
            .compute_instance = number(found[i].compute_instance),
        };
    }
}

/* Adds the processes of one list. If there is not room for all, the library fills nothing and
 * returns how many there are: the next attempt has more room than that. If no attempt has enough,
 * the processes are only counted. */
static int add_list(list_fn *list, const struct device *d, struct process_list *t)
{
    struct nvml_process first[LIST_FIRST], *found = first, *larger = NULL;
    unsigned room = LIST_FIRST, n = room;
    int result = list(d->handle, &n, found);
    for (int i = 1; i < LIST_TRIES && result == NVML_E_SIZE && n < LIST_MOST; i++) {
        mem_free(larger);
        room = n + n / 4 + LIST_FIRST;
        found = larger = mem_array(room, sizeof *found);
        if (!larger)
            break;
        n = room;
        result = list(d->handle, &n, found);
    }
    if (result == NVML_OK)
        add_found(t, found, n < room ? n : room);
    else if (result == NVML_E_SIZE)
        t->count += (int)n;
    mem_free(larger);
    return result == NVML_E_SIZE ? NVML_OK : result;
}

/* Takes the usage that the driver has sampled since the last call: the newest sample of each
  * process. A process without a sample may have used the GPU all the same, so its usage is
  * unknown. */
static void take_use(struct device *d, const struct nvml_process_use *uses, unsigned count,
                     struct process_list *t)
{
    unsigned long long newest = d->use_seen;
    for (unsigned i = 0; i < count; i++) {
        const struct nvml_process_use *u = &uses[i];
        newest = u->time > newest ? u->time : newest;
        for (int k = 0; k < t->have; k++) {
            struct device_process *p = &t->out[k];
            if (p->pid != (int64_t)u->pid || u->sm > 100 || u->memory > 100)
                continue;
            p->sm_util = u->sm;
            p->mem_util = u->memory;
            p->encoder_util = u->encoder <= 100 ? (int64_t)u->encoder : CELL_NULL;
            p->decoder_util = u->decoder <= 100 ? (int64_t)u->decoder : CELL_NULL;
        }
    }
    d->use_seen = newest;
}

static void add_use(const struct nvml *n, struct device *d, struct process_list *t)
{
    struct nvml_process_use first[LIST_FIRST], *uses = first, *larger = NULL;
    unsigned room = LIST_FIRST, count = room;
    if (!t->have || !n->nvmlDeviceGetProcessUtilization)
        return;
    int result = n->nvmlDeviceGetProcessUtilization(d->handle, uses, &count, d->use_seen);
    if (result == NVML_E_SIZE && count < LIST_MOST) {
        room = count + count / 4 + LIST_FIRST;
        uses = larger = mem_array(room, sizeof *uses);
        count = room;
        if (larger)
            result = n->nvmlDeviceGetProcessUtilization(d->handle, uses, &count, d->use_seen);
    }
    if (result == NVML_OK)
        take_use(d, uses, count < room ? count : room, t);
    mem_free(larger);
}

static int watch_processes(struct devices *d, int index, struct device_process *out, int max,
                           int *count)
{
    const struct nvml *n = d->nvml;
    struct process_list list = {.out = out, .max = max};
    int compute = NVML_E_NOT_SUPPORTED, graphics = NVML_E_NOT_SUPPORTED;
    *count = 0;
    if (index < 0 || index >= d->count)
        return GPUFL_E_INVAL;
    struct device *item = &d->items[index];
    if (!item->handle)
        return GPUFL_E_UNAVAILABLE;
    if (n->nvmlDeviceGetComputeRunningProcesses_v3)
        compute = add_list(n->nvmlDeviceGetComputeRunningProcesses_v3, item, &list);
    if (n->nvmlDeviceGetMPSComputeRunningProcesses_v3)
        (void)add_list(n->nvmlDeviceGetMPSComputeRunningProcesses_v3, item, &list);
    if (n->nvmlDeviceGetGraphicsRunningProcesses_v3)
        graphics = add_list(n->nvmlDeviceGetGraphicsRunningProcesses_v3, item, &list);
    if (compute != NVML_OK && graphics != NVML_OK)
        return code_of(compute);
    add_use(n, item, &list);
    *count = list.count;
    return list.have;
}

/* ---- parts --------------------------------------------------------------------------------- */

static bool read_part(const struct nvml *n, nvml_device part, struct device_instance *out)
{
    unsigned id;
    memset(out, 0, sizeof *out);
    out->gpu_instance = out->compute_instance = CELL_NULL;
    out->memory_used = out->memory_total = out->memory_reserved = CELL_NULL;
    out->graphics_active = out->sm_active = out->sm_occupancy = CELL_NULL;
    out->tensor_active = out->dram_active = CELL_NULL;
    if (n->nvmlDeviceGetGpuInstanceId && n->nvmlDeviceGetGpuInstanceId(part, &id) == NVML_OK)
        out->gpu_instance = number(id);
    if (n->nvmlDeviceGetComputeInstanceId &&
        n->nvmlDeviceGetComputeInstanceId(part, &id) == NVML_OK)
        out->compute_instance = number(id);
    (void)device_memory(n, part, &out->memory_used, &out->memory_total, &out->memory_reserved);
    if (n->nvmlDeviceGetUUID)
        n->nvmlDeviceGetUUID(part, out->uuid, sizeof out->uuid);
    if (n->nvmlDeviceGetName)
        n->nvmlDeviceGetName(part, out->profile, sizeof out->profile);
    return out->gpu_instance != CELL_NULL;
}

static int watch_instances(struct devices *d, int index, struct device_instance *out, int max,
                           int *count)
{
    const struct nvml *n = d->nvml;
    unsigned mode = 0, pending = 0, most = 0;
    *count = 0;
    if (index < 0 || index >= d->count)
        return GPUFL_E_INVAL;
    nvml_device device = d->items[index].handle;
    if (!device || !n->nvmlDeviceGetMigMode || !n->nvmlDeviceGetMaxMigDeviceCount ||
        !n->nvmlDeviceGetMigDeviceHandleByIndex)
        return 0;
    int result = n->nvmlDeviceGetMigMode(device, &mode, &pending);
    if (result != NVML_OK)
        return code_of(result) == GPUFL_E_NOT_BUILT ? 0 : code_of(result);
    if (!mode || n->nvmlDeviceGetMaxMigDeviceCount(device, &most) != NVML_OK)
        return 0;
    for (unsigned i = 0; i < most && *count < max; i++) {
        nvml_device part;
        if (n->nvmlDeviceGetMigDeviceHandleByIndex(device, i, &part) == NVML_OK &&
            read_part(n, part, &out[*count]))
            ++*count;
    }
    if (d->activity)
        wide_parts(n, &d->items[index], out, *count);
    return 0;
}

/* ---- events -------------------------------------------------------------------------------- */

static void events_begin(struct devices *d)
{
    const struct nvml *n = d->nvml;
    unsigned long long wanted = 0;
    bool any = false;
    if (!n->nvmlEventSetCreate || !n->nvmlEventSetFree || !n->nvmlEventSetWait_v2 ||
        !n->nvmlDeviceRegisterEvents || n->nvmlEventSetCreate(&d->events) != NVML_OK) {
        d->events = NULL;
        return;
    }
    for (int k = 0; k < EVENT_KINDS; k++)
        wanted |= event_kinds[k].bit;
    for (int i = 0; i < d->count; i++) {
        unsigned long long types = wanted;
        nvml_device device = d->items[i].handle;
        if (!device || (n->nvmlDeviceGetSupportedEventTypes &&
                        n->nvmlDeviceGetSupportedEventTypes(device, &types) != NVML_OK))
            continue;
        any |= (types & wanted) &&
               n->nvmlDeviceRegisterEvents(device, types & wanted, d->events) == NVML_OK;
    }
    if (any)
        return;
    n->nvmlEventSetFree(d->events);
    d->events = NULL;
}

static int watch_wait(struct devices *d, int64_t timeout_ns, struct device_event *out)
{
    struct nvml_event event = {0};
    if (!d->events)
        return GPUFL_E_NOT_BUILT;
    int result = d->nvml->nvmlEventSetWait_v2(d->events, &event, (unsigned)(timeout_ns / 1000000));
    if (result == NVML_E_TIMEOUT)
        return 0;
    if (result != NVML_OK)
        return code_of(result);
    *out = (struct device_event){.index = -1,
                                 .code = CELL_NULL,
                                 .gpu_instance = number(event.gpu_instance),
                                 .compute_instance = number(event.compute_instance)};
    for (int i = 0; i < d->count; i++)
        if (d->items[i].handle == event.device)
            out->index = i;
    for (int k = 0; k < EVENT_KINDS; k++) {
        if (!(event.type & event_kinds[k].bit))
            continue;
        out->kind = event_kinds[k].kind;
        if (out->kind == DEVICE_EVENT_XID)
            out->code = (int64_t)event.data;
        return 1;
    }
    return 0; /* a type that was not asked for */
}

/* ---- the rest ------------------------------------------------------------------------------ */

static void watch_widen(struct devices *d, bool activity)
{
    d->wide = true;
    d->activity = activity;
    if (!d->events)
        events_begin(d);
}

static int watch_listed(struct devices *d)
{
    unsigned count = 0;
    int result = d->nvml->nvmlDeviceGetCount_v2(&count);
    return result == NVML_OK ? (int)count : code_of(result);
}

void device_watch_close(struct devices *d)
{
    for (int i = 0; i < d->count; i++)
        device_wide_close(d->nvml, &d->items[i]);
    if (d->events)
        d->nvml->nvmlEventSetFree(d->events);
    d->events = NULL;
}

const struct device_watch_ops nvidia_device_watch = {
    .widen = watch_widen,
    .processes = watch_processes,
    .instances = watch_instances,
    .listed = watch_listed,
    .wait = watch_wait,
};
