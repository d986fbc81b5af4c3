/* libnvml.c - a management library without a GPU, at the soname libnvidia-ml.so.1.
 *
 * There are two devices; the second one answers "not supported" to everything that is optional, so
 * that unknown differs from zero. Values move a little with every call.
 *
 *   FAKE_NVML=missing    nvmlInit_v2 fails as without a driver
 *   FAKE_NVML=unknown    nvmlInit_v2 fails as where the driver does not answer
 *   FAKE_NVML=lost       devices fall off the bus after a few samples
 *   FAKE_NVML=calm       nothing holds the clocks down, and one process uses the GPU, not three;
 *                        =hot: heat does; =set: a setting; otherwise the power limit
 *   FAKE_NVML_DEVICES=8  so many devices, all like the first one
 *   FAKE_NVML_US=20      a query keeps a core busy for so long, as a real one does in the driver */
#include "backend/nvidia/abi/nvml.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static _Atomic unsigned calls;
static _Atomic int users; /* nvmlInit less nvmlShutdown */

static int script_is(const char *word)
{
    const char *s = getenv("FAKE_NVML");
    return s && !strcmp(s, word);
}

static unsigned number(nvml_device d)
{
    return (unsigned)(uintptr_t)d - 1;
}

static int gone(void)
{
    return script_is("lost") && atomic_load(&calls) > 40;
}

static long setting(const char *name)
{
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

static unsigned device_count(void)
{
    static _Atomic unsigned known; /* every thread finds the same value */
    if (!known) {
        long n = setting("FAKE_NVML_DEVICES");
        known = n >= 1 && n <= 9 ? (unsigned)n : 2;
    }
    return known;
}

/* True for devices that answer everything: the first one, and all where FAKE_NVML_DEVICES is
 * set. */
static int is_full(nvml_device d)
{
    return number(d) == 0 || getenv("FAKE_NVML_DEVICES") != NULL;
}

static void take_time(void)
{
    static _Atomic long us = -1; /* every thread finds the same value */
    struct timespec t;
    if (us < 0)
        us = setting("FAKE_NVML_US");
    if (!us)
        return;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    long long until = t.tv_sec * 1000000000ll + t.tv_nsec + us * 1000;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while (t.tv_sec * 1000000000ll + t.tv_nsec < until);
}

/* Result of an optional query. */
static int answer(nvml_device d)
{
    take_time();
    if (gone())
        return NVML_E_GPU_IS_LOST;
    atomic_fetch_add(&calls, 1);
    return is_full(d) ? NVML_OK : NVML_E_NOT_SUPPORTED;
}

static unsigned wobble(unsigned base, unsigned range)
{
    return base + atomic_load(&calls) % range;
}

/* Aborts while a thread is inside cuInit: the real library would take a lock of the driver and keep
 * it, so that cuInit never returns. */
static void must_not_race_with_init(void)
{
    int (*inside)(void);
    *(void **)&inside = dlsym(RTLD_DEFAULT, "fake_cuda_initializing");
    int thread = inside ? inside() : 0;
    if (atomic_fetch_add(&users, 1) || !thread || thread == (int)gettid())
        return;
    fprintf(stderr, "fake NVML: initialized while another thread is inside cuInit\n");
    abort();
}

EXPORT int nvmlInit_v2(void)
{
    must_not_race_with_init();
    if (script_is("unknown"))
        return NVML_E_UNKNOWN;
    return script_is("missing") ? NVML_E_DRIVER_NOT_LOADED : NVML_OK;
}

EXPORT int nvmlShutdown(void)
{
    atomic_fetch_sub(&users, 1);
    return NVML_OK;
}

EXPORT const char *nvmlErrorString(int result)
{
    return result == NVML_E_DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Fake error";
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = device_count();
    return NVML_OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device)
{
    *device = (nvml_device)(uintptr_t)(index + 1);
    return index < device_count() ? NVML_OK : 2;
}

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "580.00.00-fake");
    return NVML_OK;
}

EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = 13000;
    return NVML_OK;
}

EXPORT int nvmlDeviceGetName(nvml_device d, char *text, unsigned size)
{
    snprintf(text, size, "Fake GPU %u", number(d));
    return NVML_OK;
}

EXPORT int nvmlDeviceGetUUID(nvml_device d, char *text, unsigned size)
{
    snprintf(text, size, "GPU-00000000-0000-0000-0000-00000000000%u", number(d));
    return NVML_OK;
}

EXPORT int nvmlDeviceGetPciInfo_v3(nvml_device d, struct nvml_pci *pci)
{
    memset(pci, 0, sizeof *pci);
    pci->bus = number(d);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:0%u:00.0", number(d));
    return NVML_OK;
}

EXPORT int nvmlDeviceGetCudaComputeCapability(nvml_device d, int *major, int *minor)
{
    *major = 9;
    *minor = 0;
    return d ? NVML_OK : 2;
}

EXPORT int nvmlDeviceGetMaxClockInfo(nvml_device d, int clock, unsigned *mhz)
{
    *mhz = clock == NVML_CLOCK_OF_MEM ? 3201 : 1980;
    return answer(d);
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(nvml_device d, unsigned *milliwatts)
{
    *milliwatts = 500000;
    return answer(d);
}

EXPORT int nvmlDeviceGetPowerManagementLimitConstraints(nvml_device d, unsigned *least,
                                                        unsigned *most)
{
    *least = 200000;
    *most = 700000;
    return answer(d);
}

EXPORT int nvmlDeviceGetMemoryInfo(nvml_device d, struct nvml_memory *m)
{
    *m =
        (struct nvml_memory){.total = 150754820096ull, .used = 1ull << 30, .free = 149681078272ull};
    take_time();
    return !d ? 2 : gone() ? NVML_E_GPU_IS_LOST : NVML_OK;
}

EXPORT int nvmlDeviceGetUtilizationRates(nvml_device d, struct nvml_utilization *u)
{
    u->gpu = wobble(40, 20);
    u->memory = 0; /* a real zero */
    return answer(d);
}

EXPORT int nvmlDeviceGetPowerUsage(nvml_device d, unsigned *mw)
{
    *mw = wobble(120000, 5000);
    return answer(d);
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(nvml_device d, unsigned long long *mj)
{
    *mj = 1000000ull + atomic_load(&calls) * 10ull;
    return answer(d);
}

EXPORT int nvmlDeviceGetTemperature(nvml_device d, int sensor, unsigned *celsius)
{
    *celsius = wobble(script_is("hot") ? 86 : 45, 5);
    return sensor == NVML_SENSOR_GPU ? answer(d) : NVML_E_NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetClockInfo(nvml_device d, int clock, unsigned *mhz)
{
    *mhz = clock == NVML_CLOCK_OF_MEM ? 3201 : 1755;
    return answer(d);
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(nvml_device d, unsigned long long *reasons)
{
    *reasons = script_is("calm") ? 0 : script_is("hot") ? 64 : script_is("set") ? 2 : 4;
    return answer(d);
}

EXPORT int nvmlDeviceGetFanSpeed(nvml_device d, unsigned *percent)
{
    (void)d;
    *percent = 0;
    return NVML_E_NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetTotalEccErrors(nvml_device d, int type, int counter,
                                       unsigned long long *count)
{
    (void)type, (void)counter;
    *count = 0;
    return answer(d);
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned *count, void *infos)
{
    (void)infos;
    *count = script_is("calm") ? 1 : 3;
    take_time();
    return is_full(d) ? NVML_E_SIZE : NVML_E_NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetFieldValues(nvml_device d, int count, struct nvml_field *fields)
{
    take_time();
    for (int i = 0; i < count; i++) {
        fields[i].result = gone()       ? NVML_E_GPU_IS_LOST
                           : is_full(d) ? NVML_OK
                                        : NVML_E_NOT_SUPPORTED;
        fields[i].type = NVML_VALUE_U64;
        fields[i].value.u64 = atomic_fetch_add(&calls, 1) * 100000ull;
        if (fields[i].id == NVML_FIELD_MEMORY_TEMPERATURE) {
            fields[i].type = NVML_VALUE_U32;
            fields[i].value.u32 = 51;
        }
    }
    return NVML_OK;
}
