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
    [GPUFL_ENGINE_TRACE] = {.brings = "every kernel, copy, fill and synchronization with its times",
                            .needs = "CUPTI",
                            .costs = "up to x1.2 if launches are the limit",
                            .windows = "only work inside windows is recorded; window_detach also "
                                       "detaches CUPTI between windows",
                            .late = ""},
    [GPUFL_ENGINE_PC_SAMPLING] =
        {.counters = true,
         .compute = 70,
         .brings = "why warps stall, by instruction; kernels still overlap. No copies are "
                   "recorded. pc_kernel_collect=none records samples and no kernels; "
                   "pc_kernel_collect=windows alternates the two",
         .needs = "CUPTI of CUDA 11.3 or later, one context a device at a time",
         .costs = "x1.02 to x1.14 without kernel records if launches are the limit; with them "
                  "x1.07 to x1.15 of Trace; 180 to 260 MiB",
         .windows = "samples inside windows are kept, and no kernels are recorded. Sampling "
                    "continues after a window, except with window_detach. window_detach with "
                    "window_every_ms is the cheapest way to sample all the time",
         .late = "of the contexts that already exist, only the one that is current when the "
                 "session begins is sampled"},
    [GPUFL_ENGINE_SASS_METRICS] =
        {.counters = true,
         .compute = 70,
         .brings = "how often each instruction ran, and its threads, sectors and wavefronts",
         .needs = "CUPTI of CUDA 12.8 or later",
         .costs = "kernels are much slower (a matrix product x205), and neither kernels nor copies "
                  "are recorded",
         .windows =
             "counts inside windows are kept. Kernels stay slow for window_rest_ms after a window",
         .late = "kernels of graphs that were already instantiated or launched may not be counted; "
                 "of the contexts that already exist, only the one that is current when the "
                 "session begins is counted"},
    [GPUFL_ENGINE_RANGE_PROFILER] =
        {.counters = true,
         .compute = 70,
         .brings = "hardware counters of outermost scopes, in one pass; or of single kernels, each "
                   "of which is repeated for every pass",
         .needs =
             "CUPTI of CUDA 12.6 or later; scopes, or range_mode=kernels; one context at a time",
         .costs =
             "the program waits for the device at both ends of a scope; with range_mode=kernels "
             "the first launches of each kernel are repeated for every pass",
         .windows = "scopes and kernels that begin and end inside a window are counted. A scope "
                    "that opens a window is always counted",
         .late = ""},
    [GPUFL_ENGINE_DEEP] =
        {.counters = true,
         .compute = 70,
         .brings =
             "PcSampling and SassMetrics in one run; counting ends when the program unloads code",
         .needs = "CUPTI of CUDA 12.8 or later; one context a device at a time",
         .costs = "as PcSampling and SassMetrics, one after the other: samples "
                  "for deep_sample_ms, then counts",
         .windows = "as PcSampling and SassMetrics; deep_sample_ms counts from "
                    "the first launch in a window",
         .late = "kernels of graphs that were already instantiated or launched may not be counted; "
                 "of the contexts that already exist, only the one that is current when the "
                 "session begins is sampled and counted"},
    [GPUFL_ENGINE_PM_SAMPLING] =
        {.counters = true,
         .compute = 75,
         .brings = "hardware counters over time, by scope. pc_kernel_collect=none records them and "
                   "no kernels",
         .needs = "CUPTI of CUDA 12.6 or later",
         .costs = "about 1 % at 1 ms without kernel records; with them x1.1 of Trace; 64 MiB",
         .windows = "devices are sampled inside windows only",
         .late = "a device that the program already uses is sampled only if its context is current "
                 "when the session begins; other such devices are sampled once the program creates "
                 "a new context on them"},
    [GPUFL_ENGINE_SYNC] = {.brings = "where the program waits for the GPU; no kernels",
                           .needs = "CUPTI",
                           .costs = "about 2 % of a program of many small kernels",
                           .windows = "as Trace",
                           .late = ""},
};

static const struct engine_pair pairs[] = {
    {"kernel records must be on before sampling begins, and must stay on: the driver refuses to "
     "start them later (CUPTI error 14)",
     ENGINE_PC_SAMPLING, ENGINE_TRACE, ENGINES_FIRST},
    {"if both are on, CUPTI reports success and counts nothing. Deep therefore samples first, then "
     "counts",
     ENGINE_PC_SAMPLING, ENGINE_SASS_METRICS, ENGINES_TURNS},
    {"with kernel records on, all counts are 0; with records of copies or fills on, nothing is "
     "counted. Launches are recorded",
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
     "the session reports them and continues with the fallback engine, or without kernels if CUPTI "
     "ends itself. End that tool first, or free DCGM's counters with `dcgmi profiling --pause`."},
    {"Restricted counters (ERR_NVGPUCTRPERM):",
     "the administrator sets NVreg_RestrictProfilingToAdminUsers=0 for the kernel module nvidia "
     "(/etc/modprobe.d) and reloads it; or run as root, or give the container CAP_SYS_ADMIN."},
    {"Size of kept device code:",
     "at most 1 GiB and at most half of log_max_spool_bytes for each session. Code is not kept if "
     "the disk would have less than log_min_free_bytes left. Samples and counts of code that is "
     "not kept have no instructions and no lines."},
    {"Sessions that begin late:",
     "`gpufl trace` begins before the program uses the GPU. A program that calls gpufl_init must "
     "call it before its first call of CUDA; otherwise the session reports what is missing (see "
     "above)."},
    {0},
};

const struct engine_texts nvidia_engine_texts = {words, pairs, limits};
