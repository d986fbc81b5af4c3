/* nvidia.c - the NVIDIA backend: CUPTI for tracing, NVML for metrics. */
#include "backend/backend.h"
#include "backend/nvidia/devices.h"
#include "backend/nvidia/probe.h"

const struct backend backend_nvidia = {
    .name = "nvidia",
    .probe = nvidia_probe,
    .devices = &nvidia_devices,
    .usable = nvidia_usable,
};
