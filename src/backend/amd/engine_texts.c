/* engine_texts.c - what the engines record, need and cost on AMD's GPUs. */
#include "backend/engine_texts.h"

#include "backend/amd/probe.h"

#include <stddef.h>

static const struct engine_words words[] = {
    [GPUFL_ENGINE_MONITOR] = {.brings = "metrics of devices and of the host",
                              .needs = "",
                              .costs = "",
                              .windows = "",
                              .late = ""},
    [GPUFL_ENGINE_TRACE] =
        {.brings = "every kernel, copy, fill and synchronization with its times",
         .needs = "rocprofiler-sdk of ROCm 6.2 or later",
         .costs = "not measured on AMD's GPUs",
         .windows =
             "kernels of HIP calls inside windows are recorded; outside rocprofiler-sdk is stopped",
         .late = "nothing is recorded: rocprofiler-sdk takes no tool after the first HIP call"},
    [GPUFL_ENGINE_PC_SAMPLING] =
        {.brings = "where wavefronts stand, by instruction, and on MI300 and newer why they wait. "
                   "Kernels and copies are recorded while PC sampling runs; pc_kernel_collect has "
                   "no effect",
         .needs = "rocprofiler-sdk of ROCm 6.4 or later, an Instinct GPU from MI200 on, a kernel "
                  "driver that samples",
         .costs = "not measured on AMD's GPUs; AMD calls it a beta that may freeze the GPU",
         .windows = "samples inside windows are kept, with the kernels",
         .late = "rocprofiler-sdk samples only for a session that begins before the program's "
                 "first HIP call, and for later ones of the same process",
         .instead = "RangeProfiler"},
    [GPUFL_ENGINE_SASS_METRICS] =
        {.brings = "nothing of its own: rocprofiler-sdk does not count instructions",
         .needs = "what RangeProfiler needs",
         .costs = "as RangeProfiler",
         .windows = "as RangeProfiler",
         .late = "rocprofiler-sdk counts kernels only for a session that begins before the "
                 "program's first HIP call, and for later ones of the same process",
         .instead = "RangeProfiler"},
    [GPUFL_ENGINE_RANGE_PROFILER] =
        {.brings = "hardware counters of single kernels, the first launches of each, in one pass; "
                   "none of scopes",
         .needs = "rocprofiler-sdk of ROCm 6.2 or later, with dispatch counting",
         .costs = "the kernels of a GPU run one after the other; not measured on AMD's GPUs",
         .windows = "kernels of HIP calls inside windows are counted",
         .late = "rocprofiler-sdk counts kernels only for a session that begins before the "
                 "program's first HIP call, and for later ones of the same process"},
    [GPUFL_ENGINE_DEEP] = {.brings = "what PcSampling does",
                           .needs = "what PcSampling needs",
                           .costs = "as PcSampling",
                           .windows = "as PcSampling",
                           .late =
                               "rocprofiler-sdk samples only for a session that begins before the "
                               "program's first HIP call, and for later ones of the same process",
                           .instead = "PcSampling"},
    [GPUFL_ENGINE_PM_SAMPLING] =
        {.brings = "what Trace does: rocprofiler-sdk is not asked for counters over time",
         .needs = "what Trace needs",
         .costs = "as Trace",
         .windows = "as Trace",
         .late = "as Trace"},
    [GPUFL_ENGINE_SYNC] = {.brings = "where the program waits for the GPU, and kernels",
                           .needs = "rocprofiler-sdk of ROCm 6.2 or later",
                           .costs = "not measured on AMD's GPUs",
                           .windows = "as Trace",
                           .late = "as Trace"},
};

static const struct engine_pair pairs[] = {
    {"a session of rocprofiler-sdk samples GPUs or counts kernels; both at once were never tried",
     ENGINE_PC_SAMPLING, ENGINE_RANGE_PROFILER, ENGINES_NEVER},
    {0},
};

static const struct engine_limit limits[] = {
    {"No permission on /dev/kfd or /dev/dri:",
     "add the user to the groups render and video, and log in again; in a container --group-add "
     "with the number of render."},
    {"Services that rocprofiler-sdk refuses:",
     "the session reports which and why, and continues without them. Another tool (rocprofv3) may "
     "hold the counters, or the kernel driver may be too old."},
    {"PC sampling:", "AMD calls it a beta that may freeze the GPU, so that the machine has to be "
                     "switched off and on. `gpufl trace` switches it on in the program "
                     "(ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1) for PcSampling and Deep alone."},
    {"Size of kept device code:",
     "at most 96 MiB for each code object; at most 1 GiB and at most half of log_max_spool_bytes "
     "for each session. Code is not kept if the disk would have less than log_min_free_bytes left. "
     "Samples of code that is not kept have no instructions and no lines."},
    {"Sessions that begin late:", "`gpufl trace` begins before the program uses the GPU. A program "
                                  "that calls gpufl_init must call it before its first HIP call; "
                                  "otherwise the session reports what is missing (see above)."},
    {0},
};

const struct engine_texts amd_engine_texts = {words, pairs, limits};
