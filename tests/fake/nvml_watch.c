/* nvml_watch.c - has processes, parts (MIG), events and hardware counters of the fake management
 * library: see libnvml.c. */
#include "tests/fake/nvml_inside.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    NONE = -1,
    FIRST_FRESH_PID = 4000000,
    MPS_SERVER_PID = 3999999,
    PARTS_MOST = 7,
    PART = 100,
    FIRST_PART = 7
};

/* ---- processes ----------------------------------------------------------------------------- */

static unsigned mps_clients(void)
{
    return fake_script_is("mps") ? 2 : fake_script_is("mps-alone") ? 1 : 0;
}

/* Calls fn for each process of a device; returns how many. */
static unsigned each_process(nvml_device d, void (*fn)(void *arg, unsigned i, unsigned pid),
                             void *arg)
{
    struct nvml_control *c = fake_control();
    unsigned n = 0;
    if (!fake_is_controlled()) {
        bool mps = mps_clients() > 0; /* then the list has only the server */
        unsigned count = mps || fake_script_is("calm") ? 1 : 3;
        const unsigned pids[] = {mps ? MPS_SERVER_PID : (unsigned)getpid(), (unsigned)getppid(), 1};
        for (; n < count; n++)
            fn(arg, n, pids[n]);
        return n;
    }
    for (unsigned k = fake_number(d); k < NVML_CONTROL_PIDS; k += fake_device_count())
        if (c->pids[k])
            fn(arg, n++, (unsigned)c->pids[k]);
    int64_t fresh = c->fresh;
    for (int64_t i = 0; i < fresh; i++)
        fn(arg, n++, FIRST_FRESH_PID + (unsigned)(c->listed++));
    return n;
}

struct list {
    struct nvml_process *infos;
    unsigned room, count;
};

static void add_info(void *arg, unsigned i, unsigned pid)
{
    struct list *l = arg;
    if (i < l->room)
        l->infos[i] = (struct nvml_process){.pid = pid,
                                            .memory = (512ull + pid % 7) << 20,
                                            .gpu_instance = (unsigned)NONE,
                                            .compute_instance = (unsigned)NONE};
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned *count,
                                                   struct nvml_process *infos)
{
    struct list l = {.infos = infos, .room = infos ? *count : 0};
    int result = fake_answer(d, 1);
    if (result != NVML_OK)
        return result;
    *count = each_process(d, add_info, &l);
    return *count > l.room ? NVML_E_SIZE : NVML_OK;
}

EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(nvml_device d, unsigned *count,
                                                      struct nvml_process *infos)
{
    struct list l = {.infos = infos, .room = infos ? *count : 0};
    int result = fake_answer(d, 1);
    if (result != NVML_OK)
        return result;
    *count = mps_clients();
    const unsigned pids[] = {(unsigned)getpid(), (unsigned)getppid()};
    for (unsigned i = 0; i < *count; i++)
        add_info(&l, i, pids[i]);
    return *count > l.room ? NVML_E_SIZE : NVML_OK;
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(nvml_device d, unsigned *count,
                                                    struct nvml_process *infos)
{
    (void)infos;
    *count = 0;
    return fake_answer(d, 1);
}

struct uses {
    struct nvml_process_use *uses;
    unsigned room;
    unsigned long long time;
};

static void add_use(void *arg, unsigned i, unsigned pid)
{
    struct uses *u = arg;
    if (i < u->room)
        u->uses[i] = (struct nvml_process_use){
            .pid = pid, .time = u->time, .sm = 10 + (pid + fake_noise()) % 50, .memory = pid % 20};
}

EXPORT int nvmlDeviceGetProcessUtilization(nvml_device d, struct nvml_process_use *uses,
                                           unsigned *count, unsigned long long seen)
{
    struct timespec t;
    int result = fake_answer(d, 1);
    if (result != NVML_OK)
        return result;
    clock_gettime(CLOCK_REALTIME, &t);
    struct uses u = {uses, *count,
                     (unsigned long long)t.tv_sec * 1000000 + (unsigned)t.tv_nsec / 1000};
    int64_t fresh = fake_control()->fresh;
    fake_control()->fresh = 0; /* those have ended by now */
    unsigned n = each_process(d, add_use, &u);
    fake_control()->fresh = fresh;
    *count = n < u.room ? n : u.room;
    return u.time > seen && n ? NVML_OK : 6; /* "not found": no sample since then */
}

/* ---- parts --------------------------------------------------------------------------------- */

EXPORT int nvmlDeviceGetMigMode(nvml_device d, unsigned *current, unsigned *pending)
{
    *current = *pending = fake_number(d) == 0 && fake_control()->parts > 0;
    return fake_answer(d, 1);
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(nvml_device d, unsigned *count)
{
    *count = PARTS_MOST;
    return fake_answer(d, 1);
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device d, unsigned index, nvml_device *part)
{
    *part = (nvml_device)(uintptr_t)(PART + index);
    return (int64_t)index < fake_control()->parts ? fake_answer(d, 1) : 6;
}

EXPORT int nvmlDeviceGetGpuInstanceId(nvml_device part, unsigned *id)
{
    *id = (unsigned)(uintptr_t)part - PART + FIRST_PART;
    return NVML_OK;
}

EXPORT int nvmlDeviceGetComputeInstanceId(nvml_device part, unsigned *id)
{
    (void)part;
    *id = 0;
    return NVML_OK;
}

/* ---- events -------------------------------------------------------------------------------- */

EXPORT int nvmlEventSetCreate(nvml_event_set *set)
{
    *set = malloc(1);
    return *set ? NVML_OK : NVML_E_UNKNOWN;
}

EXPORT int nvmlEventSetFree(nvml_event_set set)
{
    free(set);
    return NVML_OK;
}

EXPORT int nvmlDeviceGetSupportedEventTypes(nvml_device d, unsigned long long *types)
{
    *types = NVML_EVENT_XID | NVML_EVENT_ECC_CORRECTED | NVML_EVENT_ECC_UNCORRECTED;
    return fake_answer(d, 1);
}

EXPORT int nvmlDeviceRegisterEvents(nvml_device d, unsigned long long types, nvml_event_set set)
{
    return set && types ? fake_answer(d, 1) : 2;
}

/* Takes one event of those that are to be delivered. */
static int take_event(struct nvml_control *c)
{
    int64_t left = c->events;
    while (left > 0)
        if (__atomic_compare_exchange_n((int64_t *)&c->events, &left, left - 1, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return 1;
    return 0;
}

/* Sleeps until the number of events is no longer 0, a test wakes it, or ms are over. */
static void await_event(struct nvml_control *c, unsigned ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    syscall(SYS_futex, (uint32_t *)&c->events, FUTEX_WAIT, 0, &t, NULL, 0);
}

EXPORT int nvmlEventSetWait_v2(nvml_event_set set, struct nvml_event *event, unsigned ms)
{
    struct nvml_control *c = fake_control();
    if (!set)
        return 2;
    if (!take_event(c)) {
        await_event(c, ms);
        if (c->unloaded)
            return NVML_E_UNKNOWN;
        if (!take_event(c))
            return NVML_E_TIMEOUT;
    }
    *event = (struct nvml_event){.device = (nvml_device)(uintptr_t)(c->where + 1),
                                 .type = NVML_EVENT_XID,
                                 .data = (unsigned long long)c->xid,
                                 .gpu_instance = (unsigned)NONE,
                                 .compute_instance = (unsigned)NONE};
    return NVML_OK;
}

/* ---- hardware counters --------------------------------------------------------------------- */

EXPORT int nvmlGpmQueryDeviceSupport(nvml_device d, struct nvml_gpm_support *support)
{
    support->supported = (unsigned)fake_is_full(d);
    return support->version == NVML_GPM_SUPPORT ? NVML_OK : 25; /* "version mismatch" */
}

struct nvml_gpm_sample_handle {
    int taken;
};

EXPORT int nvmlGpmSampleAlloc(nvml_gpm_sample *sample)
{
    *sample = calloc(1, sizeof **sample);
    return *sample ? NVML_OK : NVML_E_UNKNOWN;
}

EXPORT int nvmlGpmSampleFree(nvml_gpm_sample sample)
{
    free(sample);
    return NVML_OK;
}

EXPORT int nvmlGpmSampleGet(nvml_device d, nvml_gpm_sample sample)
{
    int result = fake_answer(d, 1);
    sample->taken |= result == NVML_OK;
    return result;
}

EXPORT int nvmlGpmMigSampleGet(nvml_device d, unsigned gpu_instance, nvml_gpm_sample sample)
{
    bool there =
        gpu_instance >= FIRST_PART && (int64_t)gpu_instance - FIRST_PART < fake_control()->parts;
    return there ? nvmlGpmSampleGet(d, sample) : 2;
}

/* Answers the first `count` metrics only: the client's memory may end after them. */
EXPORT int nvmlGpmMetricsGet(struct nvml_gpm_metrics *m)
{
    if (m->version != NVML_GPM_METRICS_VERSION)
        return 25;
    if (!m->from->taken || !m->to->taken)
        return 2;
    for (unsigned i = 0; i < m->count; i++) {
        struct nvml_gpm_metric *x = &m->metrics[i];
        x->result = NVML_OK;
        switch (x->id) {
        case NVML_GPM_GRAPHICS_ACTIVE:
            x->value = 88.25 - fake_noise() % 3000 * 0.01;
            break;
        case NVML_GPM_SM_ACTIVE:
            x->value = 71.25 - fake_noise() % 3000 * 0.01;
            break;
        case NVML_GPM_SM_OCCUPANCY:
            x->value = 23.5 + fake_noise() % 2000 * 0.01;
            break;
        case NVML_GPM_TENSOR_ACTIVE:
            x->value = 41.75 + fake_noise() % 2000 * 0.01;
            break;
        default:
            x->value = fake_noise() ? 35 + fake_noise() % 2000 * 0.01 : 0;
            x->result = x->value > 0
                            ? NVML_OK
                            : NVML_E_NOT_SUPPORTED; /* the bandwidth of memory is not known here */
        }
    }
    return NVML_OK;
}

/* ---- single numbers ------------------------------------------------------------------------ */

EXPORT int nvmlDeviceGetPcieReplayCounter(nvml_device d, unsigned *count)
{
    *count = 3;
    return fake_answer(d, 1);
}

EXPORT int nvmlDeviceGetEncoderUtilization(nvml_device d, unsigned *percent, unsigned *us)
{
    *percent = 0;
    *us = 166666;
    return fake_answer(d, 1);
}

EXPORT int nvmlDeviceGetDecoderUtilization(nvml_device d, unsigned *percent, unsigned *us)
{
    *percent = 12;
    *us = 166666;
    return fake_answer(d, 1);
}

EXPORT int nvmlDeviceGetRemappedRows(nvml_device d, unsigned *corrected, unsigned *uncorrected,
                                     unsigned *pending, unsigned *failed)
{
    *corrected = 1;
    *uncorrected = *pending = *failed = 0;
    return fake_answer(d, 1);
}
