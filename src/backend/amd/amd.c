/* amd.c - has the AMD backend: rocprofiler-sdk for tracing, AMD SMI or ROCm SMI for metrics. */
#include "backend/amd/devices.h"
#include "backend/amd/probe.h"
#include "backend/amd/trace.h"
#include "backend/amd/trace/counter_offers.h"
#include "backend/amd/trace/tool.h"
#include "backend/backend.h"

extern const struct vendor vendor_amd;

const struct backend backend_amd = {
    .name = "amd",
    .vendor = &vendor_amd,
    .engines = &amd_engine_texts,
    .probe = amd_probe,
    .trace = &amd_trace,
    .devices = &amd_devices,
    .usable = amd_usable,
    .tool = tool_configure,
    .loaded = amd_loaded,
    .counters = amd_counters,
    .caution = "the backend Amd is " AMD_UNVERIFIED
               ": it was made from AMD's headers and tested over simulated libraries only",
};
