// test_profiler.cpp - our declarations of CUPTI's interfaces to hardware counters against
// the vendor's headers, if this machine has them: every field's place and size, the size that
// a struct is passed with, and enumerations. The compiler checks them. The test is in C++, since
// one of the headers is. Without headers (13.0 or later) it is skipped and says so.
#include <cstddef>
#include <cstdio>

enum { SKIPPED = 77 };

#ifdef GPUFL_HAVE_CUPTI_H
#include <cuda.h>
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#endif

#if defined(CUPTI_API_VERSION) && CUPTI_API_VERSION >= 130000

extern "C" {
#include "backend/nvidia/abi/profiler.h"
}
#include "tests/unit/support/abi.h"

#define SIZE(ours, last, theirs)                                                                   \
    FIELD(ours, size, theirs, structSize);                                                         \
    FIELD(ours, private_data, theirs, pPriv);                                                      \
    SAME(PROFILER_SIZE(ours, last), theirs##_STRUCT_SIZE)

SAME(PROFILER_RANGES, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
SAME(PROFILER_PM_SAMPLING, CUPTI_PROFILER_TYPE_PM_SAMPLING);
SAME(PM_EVERY_CYCLES, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
SAME(PM_EVERY_NS, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
SAME(0, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST); /* the default */
SAME(PM_STOP_OTHER, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER);
SAME(PM_STOP_IMAGE_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
SAME(PM_STOP_END, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS);

SIZE(profiler_initialize_params, private_data, CUpti_Profiler_Initialize_Params);
SIZE(profiler_chip_params, chip, CUpti_Device_GetChipName_Params);
FIELD(profiler_chip_params, device, CUpti_Device_GetChipName_Params, deviceIndex);
FIELD(profiler_chip_params, chip, CUpti_Device_GetChipName_Params, pChipName);
SIZE(profiler_host_params, object, CUpti_Profiler_Host_Initialize_Params);
FIELD(profiler_host_params, type, CUpti_Profiler_Host_Initialize_Params, profilerType);
FIELD(profiler_host_params, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
FIELD(profiler_host_params, availability, CUpti_Profiler_Host_Initialize_Params,
      pCounterAvailabilityImage);
FIELD(profiler_host_params, object, CUpti_Profiler_Host_Initialize_Params, pHostObject);
SIZE(profiler_object_params, object, CUpti_Profiler_Host_Deinitialize_Params);
FIELD(profiler_object_params, object, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
SAME(PROFILER_COUNTER, CUPTI_METRIC_TYPE_COUNTER);
SAME(PROFILER_RATIO, CUPTI_METRIC_TYPE_RATIO);
SAME(PROFILER_THROUGHPUT, CUPTI_METRIC_TYPE_THROUGHPUT);
SAME(PROFILER_METRIC_KINDS, CUPTI_METRIC_TYPE__COUNT);
SIZE(profiler_names_params, count, CUpti_Profiler_Host_GetBaseMetrics_Params);
FIELD(profiler_names_params, object, CUpti_Profiler_Host_GetBaseMetrics_Params, pHostObject);
FIELD(profiler_names_params, kind, CUpti_Profiler_Host_GetBaseMetrics_Params, metricType);
FIELD(profiler_names_params, names, CUpti_Profiler_Host_GetBaseMetrics_Params, ppMetricNames);
FIELD(profiler_names_params, count, CUpti_Profiler_Host_GetBaseMetrics_Params, numMetrics);
SIZE(profiler_metrics_params, count, CUpti_Profiler_Host_ConfigAddMetrics_Params);
FIELD(profiler_metrics_params, object, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
FIELD(profiler_metrics_params, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
FIELD(profiler_metrics_params, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
SIZE(profiler_config_size_params, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params);
FIELD(profiler_config_size_params, object, CUpti_Profiler_Host_GetConfigImageSize_Params,
      pHostObject);
FIELD(profiler_config_size_params, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params,
      configImageSize);
SIZE(profiler_config_params, config, CUpti_Profiler_Host_GetConfigImage_Params);
FIELD(profiler_config_params, object, CUpti_Profiler_Host_GetConfigImage_Params, pHostObject);
FIELD(profiler_config_params, bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
FIELD(profiler_config_params, config, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
SIZE(profiler_passes_params, passes, CUpti_Profiler_Host_GetNumOfPasses_Params);
FIELD(profiler_passes_params, bytes, CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize);
FIELD(profiler_passes_params, config, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
FIELD(profiler_passes_params, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
SIZE(profiler_evaluate_params, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
FIELD(profiler_evaluate_params, object, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
      pHostObject);
FIELD(profiler_evaluate_params, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
      pCounterDataImage);
FIELD(profiler_evaluate_params, bytes, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
      counterDataImageSize);
FIELD(profiler_evaluate_params, index, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
FIELD(profiler_evaluate_params, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
      ppMetricNames);
FIELD(profiler_evaluate_params, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
FIELD(profiler_evaluate_params, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
      pMetricValues);

SIZE(pm_enable_params, object, CUpti_PmSampling_Enable_Params);
FIELD(pm_enable_params, device, CUpti_PmSampling_Enable_Params, deviceIndex);
FIELD(pm_enable_params, object, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
SIZE(pm_object_params, object, CUpti_PmSampling_Disable_Params);
SIZE(pm_object_params, object, CUpti_PmSampling_Start_Params);
SIZE(pm_object_params, object, CUpti_PmSampling_Stop_Params);
FIELD(pm_object_params, object, CUpti_PmSampling_Disable_Params, pPmSamplingObject);
FIELD(pm_object_params, object, CUpti_PmSampling_Start_Params, pPmSamplingObject);
FIELD(pm_object_params, object, CUpti_PmSampling_Stop_Params, pPmSamplingObject);
SIZE(pm_availability_params, image, CUpti_PmSampling_GetCounterAvailability_Params);
FIELD(pm_availability_params, device, CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
FIELD(pm_availability_params, bytes, CUpti_PmSampling_GetCounterAvailability_Params,
      counterAvailabilityImageSize);
FIELD(pm_availability_params, image, CUpti_PmSampling_GetCounterAvailability_Params,
      pCounterAvailabilityImage);
SAME(PROFILER_SIZE(pm_config_params, trigger),
     offsetof(CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode));
FIELD(pm_config_params, object, CUpti_PmSampling_SetConfig_Params, pPmSamplingObject);
FIELD(pm_config_params, bytes, CUpti_PmSampling_SetConfig_Params, configSize);
FIELD(pm_config_params, config, CUpti_PmSampling_SetConfig_Params, pConfig);
FIELD(pm_config_params, hardware_bytes, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
FIELD(pm_config_params, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
FIELD(pm_config_params, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
SIZE(pm_image_size_params, bytes, CUpti_PmSampling_GetCounterDataSize_Params);
FIELD(pm_image_size_params, object, CUpti_PmSampling_GetCounterDataSize_Params, pPmSamplingObject);
FIELD(pm_image_size_params, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
FIELD(pm_image_size_params, count, CUpti_PmSampling_GetCounterDataSize_Params, numMetrics);
FIELD(pm_image_size_params, samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
FIELD(pm_image_size_params, bytes, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
SIZE(pm_image_params, image, CUpti_PmSampling_CounterDataImage_Initialize_Params);
FIELD(pm_image_params, object, CUpti_PmSampling_CounterDataImage_Initialize_Params,
      pPmSamplingObject);
FIELD(pm_image_params, bytes, CUpti_PmSampling_CounterDataImage_Initialize_Params, counterDataSize);
FIELD(pm_image_params, image, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
SIZE(pm_decode_params, overflow, CUpti_PmSampling_DecodeData_Params);
FIELD(pm_decode_params, object, CUpti_PmSampling_DecodeData_Params, pPmSamplingObject);
FIELD(pm_decode_params, image, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
FIELD(pm_decode_params, bytes, CUpti_PmSampling_DecodeData_Params, counterDataImageSize);
FIELD(pm_decode_params, stop, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
FIELD(pm_decode_params, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
SIZE(pm_info_params, completed, CUpti_PmSampling_GetCounterDataInfo_Params);
FIELD(pm_info_params, image, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
FIELD(pm_info_params, bytes, CUpti_PmSampling_GetCounterDataInfo_Params, counterDataImageSize);
FIELD(pm_info_params, room, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
FIELD(pm_info_params, populated, CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples);
FIELD(pm_info_params, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
SIZE(pm_sample_params, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
FIELD(pm_sample_params, object, CUpti_PmSampling_CounterData_GetSampleInfo_Params,
      pPmSamplingObject);
FIELD(pm_sample_params, image, CUpti_PmSampling_CounterData_GetSampleInfo_Params,
      pCounterDataImage);
FIELD(pm_sample_params, bytes, CUpti_PmSampling_CounterData_GetSampleInfo_Params,
      counterDataImageSize);
FIELD(pm_sample_params, index, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
FIELD(pm_sample_params, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
FIELD(pm_sample_params, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);

SAME(RANGE_KERNELS, CUPTI_AutoRange);
SAME(RANGE_USER, CUPTI_UserRange);
SAME(REPLAY_KERNEL, CUPTI_KernelReplay);
SAME(REPLAY_USER, CUPTI_UserReplay);
SIZE(range_enable_params, object, CUpti_RangeProfiler_Enable_Params);
FIELD(range_enable_params, context, CUpti_RangeProfiler_Enable_Params, ctx);
FIELD(range_enable_params, object, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
SIZE(range_object_params, object, CUpti_RangeProfiler_Disable_Params);
SIZE(range_object_params, object, CUpti_RangeProfiler_Start_Params);
SIZE(range_object_params, object, CUpti_RangeProfiler_PopRange_Params);
FIELD(range_object_params, object, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject);
SIZE(range_config_params, level, CUpti_RangeProfiler_SetConfig_Params);
FIELD(range_config_params, object, CUpti_RangeProfiler_SetConfig_Params, pRangeProfilerObject);
FIELD(range_config_params, bytes, CUpti_RangeProfiler_SetConfig_Params, configSize);
FIELD(range_config_params, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
FIELD(range_config_params, image_bytes, CUpti_RangeProfiler_SetConfig_Params, counterDataImageSize);
FIELD(range_config_params, image, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
FIELD(range_config_params, kind, CUpti_RangeProfiler_SetConfig_Params, range);
FIELD(range_config_params, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
FIELD(range_config_params, ranges, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
FIELD(range_config_params, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
FIELD(range_config_params, least_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
FIELD(range_config_params, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
FIELD(range_config_params, level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
SIZE(range_stop_params, done, CUpti_RangeProfiler_Stop_Params);
FIELD(range_stop_params, object, CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject);
FIELD(range_stop_params, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
FIELD(range_stop_params, level, CUpti_RangeProfiler_Stop_Params, targetNestingLevel);
FIELD(range_stop_params, done, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);
SIZE(range_push_params, name, CUpti_RangeProfiler_PushRange_Params);
FIELD(range_push_params, object, CUpti_RangeProfiler_PushRange_Params, pRangeProfilerObject);
FIELD(range_push_params, name, CUpti_RangeProfiler_PushRange_Params, pRangeName);
SIZE(range_decode_params, dropped, CUpti_RangeProfiler_DecodeData_Params);
FIELD(range_decode_params, object, CUpti_RangeProfiler_DecodeData_Params, pRangeProfilerObject);
FIELD(range_decode_params, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);
SIZE(range_image_size_params, bytes, CUpti_RangeProfiler_GetCounterDataSize_Params);
FIELD(range_image_size_params, object, CUpti_RangeProfiler_GetCounterDataSize_Params,
      pRangeProfilerObject);
FIELD(range_image_size_params, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
FIELD(range_image_size_params, count, CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
FIELD(range_image_size_params, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params,
      maxNumOfRanges);
FIELD(range_image_size_params, nodes, CUpti_RangeProfiler_GetCounterDataSize_Params,
      maxNumRangeTreeNodes);
FIELD(range_image_size_params, bytes, CUpti_RangeProfiler_GetCounterDataSize_Params,
      counterDataSize);
SIZE(range_image_params, image, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
FIELD(range_image_params, object, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
      pRangeProfilerObject);
FIELD(range_image_params, bytes, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
      counterDataSize);
FIELD(range_image_params, image, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
      pCounterData);
SIZE(range_count_params, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params);
FIELD(range_count_params, image, CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage);
FIELD(range_count_params, bytes, CUpti_RangeProfiler_GetCounterDataInfo_Params,
      counterDataImageSize);
FIELD(range_count_params, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges);
SIZE(range_info_params, name, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
FIELD(range_info_params, image, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
      pCounterDataImage);
FIELD(range_info_params, bytes, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
      counterDataImageSize);
FIELD(range_info_params, index, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeIndex);
FIELD(range_info_params, delimiter, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
      rangeDelimiter);
FIELD(range_info_params, name, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeName);

int main()
{
    std::printf("checked against CUPTI_API_VERSION %d\n", CUPTI_API_VERSION);
    return 0;
}

#else

int main()
{
    std::printf("no headers of CUPTI 13.0 or later on this machine: declarations not checked\n");
    return SKIPPED;
}

#endif
