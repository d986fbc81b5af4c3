/* bench_nvml_loop.c - makes the same calls of the management library as gpufl-monitor and does
 * nothing else: the monitor's cost is compared with it. run.py checks that both make equally many
 * calls.
 *
 * Usage: bench_nvml_loop INTERVAL_MS PROCESS_INTERVAL_MS; ends with SIGTERM. */
#include "backend/nvidia/library/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES = 64, LIST = 512 };

static const struct nvml *n;
static nvml_device devices[DEVICES];
static nvml_gpm_sample samples[DEVICES][2];
static unsigned count, gpm_next;

static void fields(nvml_device d, unsigned a, unsigned b)
{
    struct nvml_field f[2] = {{.id = a}, {.id = b}};
    n->nvmlDeviceGetFieldValues(d, b ? 2 : 1, f);
}

static void each_round(unsigned i)
{
    nvml_device d = devices[i];
    struct nvml_utilization use;
    struct nvml_memory memory;
    unsigned v;
    unsigned long long wide;
    fields(d, NVML_FIELD_PCIE_TX_BYTES, NVML_FIELD_PCIE_RX_BYTES);
    n->nvmlDeviceGetUtilizationRates(d, &use);
    n->nvmlDeviceGetMemoryInfo(d, &memory);
    n->nvmlDeviceGetTemperature(d, NVML_SENSOR_GPU, &v);
    fields(d, NVML_FIELD_MEMORY_TEMPERATURE, 0);
    n->nvmlDeviceGetPowerUsage(d, &v);
    for (int clock = 0; clock < 3; clock++)
        n->nvmlDeviceGetClockInfo(d, clock, &v);
    n->nvmlDeviceGetCurrentClocksEventReasons(d, &wide);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* the window of PCIe's counters */
    fields(d, NVML_FIELD_PCIE_TX_BYTES, NVML_FIELD_PCIE_RX_BYTES);
}

static void each_other_second(unsigned i)
{
    nvml_device d = devices[i];
    fields(d, NVML_FIELD_NVLINK_TX, NVML_FIELD_NVLINK_RX);
    n->nvmlGpmSampleGet(d, samples[i][gpm_next & 1]);
    struct nvml_gpm_metrics m = {
        .version = NVML_GPM_METRICS_VERSION,
        .count = NVML_GPM_METRICS,
        .from = samples[i][(gpm_next & 1) ^ 1],
        .to = samples[i][gpm_next & 1],
        .metrics = {{.id = 1}, {.id = 2}, {.id = 3}, {.id = 5}, {.id = 10}}};
    if (gpm_next)
        n->nvmlGpmMetricsGet(&m);
}

static void each_second(nvml_device d)
{
    unsigned long long v;
    unsigned some = 0;
    n->nvmlDeviceGetTotalEnergyConsumption(d, &v);
    n->nvmlDeviceGetTotalEccErrors(d, NVML_ECC_CORRECTED, NVML_ECC_SINCE_DRIVER_LOAD, &v);
    n->nvmlDeviceGetTotalEccErrors(d, NVML_ECC_UNCORRECTED, NVML_ECC_SINCE_DRIVER_LOAD, &v);
    n->nvmlDeviceGetComputeRunningProcesses_v3(d, &some, NULL);
}

static void list_processes(nvml_device d)
{
    static struct nvml_process list[LIST];
    static struct nvml_process_use uses[LIST];
    unsigned some = LIST;
    n->nvmlDeviceGetComputeRunningProcesses_v3(d, &some, list);
    some = LIST;
    n->nvmlDeviceGetGraphicsRunningProcesses_v3(d, &some, list);
    some = LIST;
    n->nvmlDeviceGetProcessUtilization(d, uses, &some, 0);
}

static void each_slow(nvml_device d, long second)
{
    unsigned a, b, c, e;
    if (second % 5 == 0) {
        n->nvmlDeviceGetEncoderUtilization(d, &a, &b);
        n->nvmlDeviceGetDecoderUtilization(d, &a, &b);
    }
    if (second % 10 == 0) {
        n->nvmlDeviceGetPcieReplayCounter(d, &a);
        n->nvmlDeviceGetEnforcedPowerLimit(d, &a);
        n->nvmlDeviceGetMigMode(d, &a, &b);
    }
    if (second % 60 == 0)
        n->nvmlDeviceGetRemappedRows(d, &a, &b, &c, &e);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    long interval = argc > 1 ? atol(argv[1]) : 1000, list = argc > 2 ? atol(argv[2]) : 5000;
    struct timespec due;
    if (nvml_get(&n, &e) || n->nvmlDeviceGetCount_v2(&count) || count > DEVICES) {
        fprintf(stderr, "bench_nvml_loop: %s\n", e.text);
        return 1;
    }
    for (unsigned i = 0; i < count; i++) {
        n->nvmlDeviceGetHandleByIndex_v2(i, &devices[i]);
        n->nvmlGpmSampleAlloc(&samples[i][0]);
        n->nvmlGpmSampleAlloc(&samples[i][1]);
    }
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (long ms = 0;; ms += interval) {
        for (unsigned i = 0; i < count; i++) {
            each_round(i);
            if (ms % 2000 < interval)
                each_other_second(i);
            if (ms % 1000 < interval)
                each_second(devices[i]);
            if (ms % 1000 < interval)
                each_slow(devices[i], ms / 1000);
            if (ms % list < interval)
                list_processes(devices[i]);
        }
        gpm_next += ms % 2000 < interval;
        due.tv_nsec += interval % 1000 * 1000000;
        due.tv_sec += interval / 1000 + due.tv_nsec / 1000000000;
        due.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
}
