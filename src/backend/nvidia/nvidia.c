/* nvidia.c - has the NVIDIA backend: CUPTI for tracing, NVML for metrics. */
#include "backend/backend.h"
#include "backend/nvidia/devices.h"
#include "backend/nvidia/engine/counter_offers.h"
#include "backend/nvidia/library/cuda.h"
#include "backend/nvidia/probe.h"
#include "backend/nvidia/trace.h"

extern const struct vendor vendor_nvidia;

static bool loaded(void)
{
    return cuda_loaded() != NULL;
}

const struct backend backend_nvidia = {
    .name = "nvidia",
    .vendor = &vendor_nvidia,
    .engines = &nvidia_engine_texts,
    .probe = nvidia_probe,
    .trace = &nvidia_trace,
    .devices = &nvidia_devices,
    .usable = nvidia_usable,
    .in_use = cuda_in_use,
    .loaded = loaded,
    .counters = nvidia_counters,
};
