/* libnvml.c - is a management library without a GPU, at the soname libnvidia-ml.so.1.
 *
 * There are two devices; the second one answers "not supported" to everything that is optional, so
 * that unknown differs from zero. Values move a little with every call.
 *
 *   FAKE_NVML=missing    nvmlInit_v2 fails as without a driver
 *   FAKE_NVML=denied     nvmlInit_v2 fails as for a user who may not open the driver's files
 *   FAKE_NVML=unknown    nvmlInit_v2 fails as if the driver did not answer
 *   FAKE_NVML=lost       devices fall off the bus after a few samples
 *   FAKE_NVML=calm       nothing holds the clocks down, and one process uses the GPU, not three;
 *                        =hot: heat does; =set: a setting; otherwise the power limit
 *   FAKE_NVML=shared     as calm, and three processes use the GPU
 *   FAKE_NVML=mps        as calm; the process and its parent are clients of MPS, whose server uses
 *                        the GPU for both; =mps-alone: the process is the only client
 *   FAKE_NVML_DEVICES=8  so many devices, all like the first one
 *   FAKE_NVML_CONTROL=F  a test changes what happens while the program runs: nvml_control.h
 *   FAKE_NVML_NOISE=1    values move at random, as those of a real GPU
 *   FAKE_NVML_US=20      a query keeps a core busy for so long, as a real one does in the driver */
#include "tests/fake/nvml_inside.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned calls;
static _Atomic unsigned turn; /* as it was at nvmlInit */
static _Atomic int users;     /* calls of nvmlInit minus calls of nvmlShutdown */

static void map_control(void);
static struct nvml_control none, *control = &none; /* constant after the first call */

struct nvml_control *fake_control(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, map_control);
    return control;
}

static void map_control(void)
{
    const char *path = getenv("FAKE_NVML_CONTROL");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *at =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        control = at;
}

int fake_is_controlled(void)
{
    return fake_control() != &none;
}

int fake_script_is(const char *word)
{
    const char *s = getenv("FAKE_NVML");
    return s && !strcmp(s, word);
}

unsigned fake_number(nvml_device d)
{
    return (unsigned)(uintptr_t)d - 1;
}

static int gone(nvml_device d)
{
    return (fake_script_is("lost") && atomic_load(&calls) > 40) ||
           (fake_control()->lost >> (fake_number(d) & 63) & 1);
}

static long setting(const char *name)
{
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

unsigned fake_device_count(void)
{
    static _Atomic unsigned known; /* every thread finds the same value */
    if (!known) {
        long n = setting("FAKE_NVML_DEVICES");
        known = n >= 1 && n <= 9 ? (unsigned)n : 2;
    }
    int64_t now = fake_control()->devices;
    return now ? (unsigned)now : known;
}

/* Returns true for devices that answer everything: the first one, and all if FAKE_NVML_DEVICES is
 * set. */
int fake_is_full(nvml_device d)
{
    return fake_number(d) == 0 || getenv("FAKE_NVML_DEVICES") != NULL;
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

/* Returns what a test has asked for: NVML_OK, or why this query fails. */
static int disturbance(void)
{
    struct nvml_control *c = fake_control();
    if (!fake_is_controlled())
        return NVML_OK;
    c->queries++;
    int64_t slow = c->slow_ms;
    if (slow) {
        c->slow_ms = 0;
        nanosleep(&(struct timespec){.tv_sec = slow / 1000, .tv_nsec = slow % 1000 * 1000000},
                  NULL);
    }
    if (c->fail_at > 0 && --c->fail_at == 0)
        return NVML_E_UNKNOWN;
    return c->unloaded ? NVML_E_UNINITIALIZED : NVML_OK;
}

int fake_answer(nvml_device d, int optional)
{
    take_time();
    int result = disturbance();
    if (result != NVML_OK)
        return result;
    if (gone(d))
        return NVML_E_GPU_IS_LOST;
    if (!optional)
        return NVML_OK;
    atomic_fetch_add(&calls, 1);
    return fake_is_full(d) ? NVML_OK : NVML_E_NOT_SUPPORTED;
}

/* Result of an optional query. */
static int answer(nvml_device d)
{
    return fake_answer(d, 1);
}

/* With FAKE_NVML_NOISE a random number, since the values of a real GPU vary, too; else 0. */
unsigned fake_noise(void)
{
    static _Atomic int known; /* 1: no noise, 2: noise */
    static _Atomic uint64_t state = 0x9e3779b97f4a7c15;
    if (!known)
        known = getenv("FAKE_NVML_NOISE") ? 2 : 1;
    if (known == 1)
        return 0;
    uint64_t x = atomic_fetch_add(&state, 0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (unsigned)(x ^ x >> 31);
}

unsigned fake_wobble(unsigned base, unsigned range)
{
    unsigned noise = fake_noise();
    if (noise)
        return base + noise % range;
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
    if (fake_script_is("unknown"))
        return NVML_E_UNKNOWN;
    if (fake_script_is("denied"))
        return NVML_E_NO_PERMISSION;
    if (fake_script_is("missing") || fake_control()->unloaded)
        return NVML_E_DRIVER_NOT_LOADED;
    turn = (unsigned)fake_control()->turn;
    fake_control()->inits++;
    return NVML_OK;
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
    *count = fake_device_count();
    return fake_control()->unloaded ? NVML_E_UNINITIALIZED : NVML_OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device)
{
    *device = (nvml_device)(uintptr_t)((index + turn) % fake_device_count() + 1);
    return index < fake_device_count() ? NVML_OK : 2;
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
    if (fake_number(d) >= 99)
        snprintf(text, size, "Fake GPU MIG 1g.10gb");
    else
        snprintf(text, size, "Fake GPU %u", fake_number(d));
    return NVML_OK;
}

EXPORT int nvmlDeviceGetUUID(nvml_device d, char *text, unsigned size)
{
    const char *kind = fake_number(d) >= 99 ? "MIG" : "GPU";
    snprintf(text, size, "%s-00000000-0000-0000-0000-00000000000%u", kind, fake_number(d) % 99);
    return NVML_OK;
}

EXPORT int nvmlDeviceGetPciInfo_v3(nvml_device d, struct nvml_pci *pci)
{
    memset(pci, 0, sizeof *pci);
    pci->bus = fake_number(d);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:0%u:00.0", fake_number(d));
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
    return d ? fake_answer(d, 0) : 2;
}

EXPORT int nvmlDeviceGetUtilizationRates(nvml_device d, struct nvml_utilization *u)
{
    int64_t idle = fake_control()->idle >> (fake_number(d) & 63) & 1;
    u->gpu = idle ? 0 : fake_wobble(40, 20);
    u->memory = 0; /* a real zero */
    return answer(d);
}

EXPORT int nvmlDeviceGetPowerUsage(nvml_device d, unsigned *mw)
{
    *mw = fake_wobble(120000, 5000);
    return answer(d);
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(nvml_device d, unsigned long long *mj)
{
    *mj = 1000000ull + atomic_load(&calls) * 10ull + fake_noise() % 10;
    return answer(d);
}

EXPORT int nvmlDeviceGetTemperature(nvml_device d, int sensor, unsigned *celsius)
{
    *celsius = fake_wobble(fake_script_is("hot") ? 86 : 45, 5);
    return sensor == NVML_SENSOR_GPU ? answer(d) : NVML_E_NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetClockInfo(nvml_device d, int clock, unsigned *mhz)
{
    *mhz = clock == NVML_CLOCK_OF_MEM ? 3201 : 1755 + fake_noise() % 8 * 15;
    return answer(d);
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(nvml_device d, unsigned long long *reasons)
{
    int calm = fake_script_is("calm") || fake_script_is("shared") || fake_script_is("mps") ||
               fake_script_is("mps-alone");
    *reasons = calm ? 0 : fake_script_is("hot") ? 64 : fake_script_is("set") ? 2 : 4;
    if (fake_control()->throttle)
        *reasons = (unsigned long long)fake_control()->throttle;
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

EXPORT int nvmlDeviceGetFieldValues(nvml_device d, int count, struct nvml_field *fields)
{
    take_time();
    int result = disturbance();
    if (result != NVML_OK)
        return result;
    for (int i = 0; i < count; i++) {
        fields[i].result = gone(d)           ? NVML_E_GPU_IS_LOST
                           : fake_is_full(d) ? NVML_OK
                                             : NVML_E_NOT_SUPPORTED;
        fields[i].type = NVML_VALUE_U64;
        fields[i].value.u64 = atomic_fetch_add(&calls, 1) * 100000ull + fake_noise() % 90000;
        if (fields[i].id == NVML_FIELD_MEMORY_TEMPERATURE) {
            fields[i].type = NVML_VALUE_U32;
            fields[i].value.u32 = 51;
        }
    }
    return NVML_OK;
}
