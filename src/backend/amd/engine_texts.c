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
        {.brings = "where wavefronts stand, by instruction, and on MI300 and newer why they wait; "
                   "kernels and copies are recorded while PC sampling runs, whatever "
                   "pc_kernel_collect says",
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
     "the session says which and why, and goes on without: another tool (rocprofv3) may hold the "
     "counters, or the kernel driver may be too old."},
    {"PC sampling:", "AMD calls it a beta that may freeze the GPU, so that the machine has to be "
                     "switched off and on. `gpufl trace` switches it on in the program "
                     "(ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1) for PcSampling and Deep alone."},
    {"Size of kept device code:",
     "96 MiB a code object and 1 GiB a session at most, half of log_max_spool_bytes, and nothing "
     "that would leave the disk less than log_min_free_bytes; samples of what is not kept have no "
     "instructions and lines."},
    {"Engines asked for too late:",
     "`gpufl trace` begins before the program uses the GPU; a program that calls gpufl_init does "
     "so before its first HIP call. Else the session says what is missing (above)."},
    {0},
};

const struct engine_texts amd_engine_texts = {words, pairs, limits};
