/* engine_texts.c - what the engines record, need and cost on NVIDIA's GPUs. The costs are from
 * docs/benchmarks.md. */
#include "backend/engine_texts.h"

#include "backend/nvidia/probe.h"

#include <stddef.h>

static const struct engine_words words[] = {
    [GPUFL_ENGINE_MONITOR] = {.brings = "metrics of devices and of the host",
                              .needs = "",
                              .costs = "",
                              .windows = "",
                              .late = ""},
    [GPUFL_ENGINE_TRACE] =
        {.brings = "every kernel, copy, fill and synchronization with its times",
         .needs = "CUPTI",
         .costs = "up to x1.2 where launches are the limit",
         .windows =
             "records exist inside windows only; with window_detach CUPTI is detached between them",
         .late = ""},
    [GPUFL_ENGINE_PC_SAMPLING] =
        {.counters = true,
         .compute = 70,
         .brings = "why warps stall, by instruction; kernels overlap as they do without it; "
                   "pc_kernel_collect=none takes samples instead of kernel records, windows "
                   "alternates the two; no copies",
         .needs = "CUPTI of CUDA 11.3 or later, one context a device at a time",
         .costs = "x1.02 to x1.14 without kernel records where launches are the limit; with them "
                  "x1.07 to x1.15 of Trace; 180 to 260 MiB",
         .windows = "samples inside windows are kept, without kernel records; sampling goes on "
                    "after a window except with window_detach; that with window_every_ms is the "
                    "cheapest way to be always on",
         .late = "of the contexts that exist already only the one that is current where the "
                 "session begins is sampled"},
    [GPUFL_ENGINE_SASS_METRICS] =
        {.counters = true,
         .compute = 70,
         .brings = "how often each instruction ran, with how many threads, sectors and wavefronts",
         .needs = "CUPTI of CUDA 12.8 or later",
         .costs = "kernels slow down by far (a matrix product x205), and neither they nor copies "
                  "are recorded",
         .windows = "counts inside windows are kept; kernels are slow for window_rest_ms after a "
                    "window, too",
         .late = "kernels of graphs that were instantiated or launched already may not be counted; "
                 "of the contexts that exist already only the one that is current where the "
                 "session begins is counted"},
    [GPUFL_ENGINE_RANGE_PROFILER] =
        {.counters = true,
         .compute = 70,
         .brings = "hardware counters of outermost scopes, in one pass; or of single kernels, each "
                   "repeated for all passes",
         .needs =
             "CUPTI of CUDA 12.6 or later; scopes, or range_mode=kernels; one context at a time",
         .costs =
             "the program waits for the device at both ends of a scope; with range_mode=kernels "
             "the first launches of each kernel are repeated for every pass",
         .windows = "scopes and kernels that begin and end inside a window are counted; a scope "
                    "that opens a window is counted, outermost or not",
         .late = ""},
    [GPUFL_ENGINE_DEEP] = {.counters = true,
                           .compute = 70,
                           .brings = "PcSampling and SassMetrics in one run; counting ends where "
                                     "the program unloads code",
                           .needs = "CUPTI of CUDA 12.8 or later; one context a device at a time",
                           .costs = "as PcSampling and SassMetrics, one after the other: samples "
                                    "for deep_sample_ms, then counts",
                           .windows = "as PcSampling and SassMetrics; deep_sample_ms counts from "
                                      "the first launch in a window",
                           .late =
                               "kernels of graphs that were instantiated or launched already may "
                               "not be counted; of the contexts that exist already only the one "
                               "that is current where the session begins is sampled and counted"},
    [GPUFL_ENGINE_PM_SAMPLING] =
        {.counters = true,
         .compute = 75,
         .brings = "hardware counters over time, by scope; pc_kernel_collect=none takes them "
                   "instead of kernel records",
         .needs = "CUPTI of CUDA 12.6 or later",
         .costs = "without kernel records some 1 % at 1 ms, with them x1.1 of Trace; 64 MiB",
         .windows = "devices are sampled inside windows only",
         .late = "of the devices that were used already only the one whose context is current "
                 "where the session begins is sampled, until another context is made on it"},
    [GPUFL_ENGINE_SYNC] = {.brings = "where the program waits for the GPU; no kernels",
                           .needs = "CUPTI",
                           .costs = "some 2 % of a program of many small kernels",
                           .windows = "as Trace",
                           .late = ""},
};

static const struct engine_pair pairs[] = {
    {"kernel records have to be on before samples are taken, and stay on: afterwards the driver "
     "refuses them (CUPTI error 14)",
     ENGINE_PC_SAMPLING, ENGINE_TRACE, ENGINES_FIRST},
    {"with both on, in either order, CUPTI reports success and counts nothing: Deep samples first, "
     "then counts",
     ENGINE_PC_SAMPLING, ENGINE_SASS_METRICS, ENGINES_TURNS},
    {"kernel records that are on make all counts 0, and records of copies or fills leave nothing "
     "counted; launches are recorded",
     ENGINE_TRACE, ENGINE_SASS_METRICS, ENGINES_OFF},
    {"not shown to run together on one device", ENGINE_PC_SAMPLING, ENGINE_RANGE_PROFILER,
     ENGINES_NEVER},
    {"not shown to run together on one device", ENGINE_PC_SAMPLING, ENGINE_PM_SAMPLING,
     ENGINES_NEVER},
    {"both program the device's counters", ENGINE_RANGE_PROFILER, ENGINE_PM_SAMPLING,
     ENGINES_NEVER},
    {"the instrumented kernels would be counted", ENGINE_RANGE_PROFILER, ENGINE_SASS_METRICS,
     ENGINES_NEVER},
    {"the instrumented kernels would be counted", ENGINE_PM_SAMPLING, ENGINE_SASS_METRICS,
     ENGINES_NEVER},
    {0},
};

static const struct engine_limit limits[] = {
    {"Counters held by another tool (ncu, DCGM's profiling module):",
     "the session says so and goes on as the engine fallen back to or, where CUPTI ends itself for "
     "it, without kernels. End that tool first, or free DCGM's counters with `dcgmi profiling "
     "--pause`."},
    {"Restricted counters (ERR_NVGPUCTRPERM):",
     "the administrator sets NVreg_RestrictProfilingToAdminUsers=0 for the kernel module nvidia "
     "(/etc/modprobe.d) and reloads it; or run as root, or give the container CAP_SYS_ADMIN."},
    {"Size of kept device code:",
     "1 GiB a session at most, half of log_max_spool_bytes, and nothing that would leave the disk "
     "less than log_min_free_bytes; samples and counts of what is not kept have no instructions "
     "and lines."},
    {"Engines asked for too late:",
     "`gpufl trace` begins before the program uses the GPU; a program that calls gpufl_init does "
     "so before its first call of CUDA. Else the session says what is missing (above)."},
    {0},
};

const struct engine_texts nvidia_engine_texts = {words, pairs, limits};
