/* test_cupti.c - tests our declarations of CUPTI and the driver API against the vendor's headers,
 * if this machine has them: values, offsets, sizes of every version of a record, and the types of
 * functions. The compiler does most of the checks; without headers (13.0 or later) the test is
 * skipped and says so. */
#include "tests/test.h"
#include "tests/unit/support/abi.h"

#include <stdio.h>

#ifdef GPUFL_HAVE_CUPTI_H
#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_profiler_target.h>
#include <cupti_sass_metrics.h>
#endif

/* Older headers lack names that are checked here. */
#if defined(CUPTI_API_VERSION) && CUPTI_API_VERSION >= 130000

#include "backend/nvidia/abi/cupti.h"
#include "backend/nvidia/abi/pc.h"
#include "backend/nvidia/abi/sass.h"

#define CHECK(ours, value, theirs) SAME(CUPTI_##ours, CUPTI_##theirs);
CUPTI_RESULTS(CHECK)
#undef CHECK

#define CHECK(ours, value, theirs) SAME(CUDA_ATTR_##ours, CU_DEVICE_ATTRIBUTE_##theirs);
CUDA_ATTRIBUTES(CHECK)
#undef CHECK

#define CHECK(ours, value, theirs) SAME(CUPTI_KIND_##ours, CUPTI_ACTIVITY_KIND_##theirs);
CUPTI_KINDS(CHECK)
#undef CHECK
_Static_assert((int)CUPTI_KIND_LIMIT > (int)CUPTI_ACTIVITY_KIND_COUNT, "room for every kind");

#define CHECK(value, ours, theirs) SAME(value, CUPTI_ACTIVITY_OVERHEAD_##theirs);
CUPTI_OVERHEADS(CHECK)
#undef CHECK

#define CHECK(name, id) SAME(id, CUPTI_DRIVER_TRACE_CBID_##name);
CUPTI_KERNEL_CALLS(CHECK)
CUPTI_GRAPH_CALLS(CHECK)
CUPTI_COPY_CALLS(CHECK)
CUPTI_SYNC_CALLS(CHECK)
CUPTI_MEMORY_CALLS(CHECK)
CUPTI_CODE_CALLS(CHECK)
CUPTI_MAY_WAIT_CALLS(CHECK)
CUPTI_DONE_CALLS(CHECK)
CUPTI_ENDING_CALLS(CHECK)
CUPTI_CAPTURE_BEGIN_CALLS(CHECK)
CUPTI_CAPTURE_END_CALLS(CHECK)
CUPTI_INSTANTIATE_CALLS(CHECK)
CUPTI_EXEC_CALLS(CHECK)
CUPTI_CONTEXT_CALLS(CHECK)
CUPTI_STREAM_CALLS(CHECK)
CUPTI_GRAPH_OBJECT_CALLS(CHECK)
#undef CHECK

#define CHECK(ours, value, theirs)                                                                 \
    SAME(CUPTI_MANAGED_##ours, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##theirs);
CUPTI_MANAGED_KINDS(CHECK)
#undef CHECK
SAME(CUPTI_MANAGED_ALL_DEVICES, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES);
SAME(sizeof(struct cupti_managed_config), sizeof(CUpti_ActivityUnifiedMemoryCounterConfig));
FIELD(cupti_managed_config, scope, CUpti_ActivityUnifiedMemoryCounterConfig, scope);
FIELD(cupti_managed_config, what, CUpti_ActivityUnifiedMemoryCounterConfig, kind);
FIELD(cupti_managed_config, device, CUpti_ActivityUnifiedMemoryCounterConfig, deviceId);
FIELD(cupti_managed_config, on, CUpti_ActivityUnifiedMemoryCounterConfig, enable);
FIELD(cupti_managed, what, CUpti_ActivityUnifiedMemoryCounter3, counterKind);
FIELD(cupti_managed, value, CUpti_ActivityUnifiedMemoryCounter3, value);
FIELD(cupti_managed, start, CUpti_ActivityUnifiedMemoryCounter3, start);
FIELD(cupti_managed, end, CUpti_ActivityUnifiedMemoryCounter3, end);
FIELD(cupti_managed, address, CUpti_ActivityUnifiedMemoryCounter3, address);
FIELD(cupti_managed, from, CUpti_ActivityUnifiedMemoryCounter3, srcId);
FIELD(cupti_managed, to, CUpti_ActivityUnifiedMemoryCounter3, dstId);
FIELD(cupti_managed, flags, CUpti_ActivityUnifiedMemoryCounter3, flags);
FIELD(cupti_graph_run, correlation, CUpti_ActivityGraphTrace2, correlationId);
FIELD(cupti_graph_run, start, CUpti_ActivityGraphTrace2, start);
FIELD(cupti_graph_run, end, CUpti_ActivityGraphTrace2, end);
FIELD(cupti_graph_run, device, CUpti_ActivityGraphTrace2, deviceId);
FIELD(cupti_graph_run, graph, CUpti_ActivityGraphTrace2, graphId);
FIELD(cupti_graph_run, context, CUpti_ActivityGraphTrace2, contextId);
FIELD(cupti_graph_run, stream, CUpti_ActivityGraphTrace2, streamId);

#define CHECK(kind, version, bytes, theirs) SAME(bytes, sizeof(CUpti_Activity##theirs));
CUPTI_FILLED(CHECK)
#undef CHECK

SAME(CUDA_OK, CUDA_SUCCESS);
SAME(CUDA_E_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(CUDA_E_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME(CUDA_E_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
#define CHECK(name, value) SAME(value, name);
CUDA_FAULTS(CHECK)
#undef CHECK
SAME(CUDA_FUNCTION_LOCAL_SIZE, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(CUDA_NODE_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL);
SAME(CUDA_NODE_GRAPH, CU_GRAPH_NODE_TYPE_GRAPH);
SAME(CUDA_NODE_CONDITIONAL, CU_GRAPH_NODE_TYPE_CONDITIONAL);
SAME(CUDA_CAPTURE_NONE, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME(CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
SAME(CUPTI_STATE_FATAL, CUPTI_CBID_STATE_FATAL_ERROR);
SAME(CUPTI_HARMLESS_CALL, CUPTI_DRIVER_TRACE_CBID_cuDeviceGetCount);
SAME(CUPTI_SITE_ENTER, CUPTI_API_ENTER);
SAME(CUPTI_SITE_EXIT, CUPTI_API_EXIT);
SAME(CUPTI_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME(CUPTI_RESOURCE_CONTEXT_DESTROY, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME(CUPTI_RESOURCE_INIT_FINISHED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
SAME(CUPTI_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME(CUPTI_RESOURCE_MODULE_UNLOAD, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
SAME(CUPTI_RESOURCE_GRAPHEXEC_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
SAME(CUPTI_RESOURCE_GRAPHEXEC_DESTROY, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
SAME(CUPTI_NONE, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
SAME(CUPTI_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
SAME(CUPTI_ASYNC, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);
SAME(CUPTI_OBJECT_THREAD, CUPTI_ACTIVITY_OBJECT_THREAD);
SAME(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
SAME(CUPTI_ATTR_ZEROED_BUFFERS, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
SAME(CUPTI_ATTR_PER_THREAD_BUFFERS, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
SAME(CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
SAME((uintptr_t)CUDA_PER_THREAD_STREAM, (uintptr_t)CU_STREAM_PER_THREAD);
SAME(sizeof(struct cuda_uuid), sizeof(CUuuid));

/* The data that CUPTI passes to callbacks. */
FIELD(cupti_callback, site, CUpti_CallbackData, callbackSite);
FIELD(cupti_callback, function, CUpti_CallbackData, functionName);
FIELD(cupti_callback, params, CUpti_CallbackData, functionParams);
FIELD(cupti_callback, result, CUpti_CallbackData, functionReturnValue);
FIELD(cupti_callback, symbol, CUpti_CallbackData, symbolName);
FIELD(cupti_callback, context, CUpti_CallbackData, context);
FIELD(cupti_callback, context_uid, CUpti_CallbackData, contextUid);
FIELD(cupti_callback, data, CUpti_CallbackData, correlationData);
FIELD(cupti_callback, correlation, CUpti_CallbackData, correlationId);
SAME(sizeof(struct cupti_callback), sizeof(CUpti_CallbackData));
FIELD(cupti_resource_event, context, CUpti_ResourceData, context);
FIELD(cupti_resource_event, handle, CUpti_ResourceData, resourceHandle);
FIELD(cupti_resource_event, detail, CUpti_ResourceData, resourceDescriptor);
FIELD(cupti_state_event, result, CUpti_StateData, notification.result);
FIELD(cupti_state_event, message, CUpti_StateData, notification.message);
FIELD(cupti_graph_event, graph, CUpti_GraphData, graph);
FIELD(cupti_graph_event, original_graph, CUpti_GraphData, originalGraph);
FIELD(cupti_graph_event, node_type, CUpti_GraphData, nodeType);
FIELD(cupti_graph_event, exec, CUpti_GraphData, graphExec);
FIELD(cupti_module_event, module, CUpti_ModuleResourceData, moduleId);
FIELD(cupti_module_event, cubin_size, CUpti_ModuleResourceData, cubinSize);
FIELD(cupti_module_event, cubin, CUpti_ModuleResourceData, pCubin);

/* Parameters of calls. */
FIELD(cuda_launch_params, stream, cuLaunchKernel_params, hStream);
FIELD(cuda_launch_params, stream, cuLaunchKernel_ptsz_params, hStream);
FIELD(cuda_launch_params, stream, cuLaunchCooperativeKernel_params, hStream);
FIELD(cuda_launch_params, stream, cuLaunchCooperativeKernel_ptsz_params, hStream);
FIELD(cuda_launch_params, shared, cuLaunchKernel_params, sharedMemBytes);
FIELD(cuda_launch_grid_async_params, stream, cuLaunchGridAsync_params, hStream);
FIELD(cuda_launch_ex_params, config, cuLaunchKernelEx_params, config);
FIELD(cuda_launch_ex_params, config, cuLaunchKernelEx_ptsz_params, config);
FIELD(cuda_launch_config, stream, CUlaunchConfig, hStream);
FIELD(cuda_graph_launch_params, exec, cuGraphLaunch_params, hGraph);
FIELD(cuda_graph_launch_params, stream, cuGraphLaunch_params, hStream);
FIELD(cuda_graph_launch_params, stream, cuGraphLaunch_ptsz_params, hStream);
FIELD(cuda_graph_instantiate_params, exec, cuGraphInstantiate_params, phGraphExec);
FIELD(cuda_graph_instantiate_params, graph, cuGraphInstantiate_params, hGraph);
FIELD(cuda_graph_instantiate_params, graph, cuGraphInstantiate_v2_params, hGraph);
FIELD(cuda_graph_instantiate_params, graph, cuGraphInstantiateWithFlags_params, hGraph);
FIELD(cuda_graph_instantiate_params, graph, cuGraphInstantiateWithParams_params, hGraph);
FIELD(cuda_graph_instantiate_params, graph, cuGraphInstantiateWithParams_ptsz_params, hGraph);
FIELD(cuda_graph_exec_params, exec, cuGraphExecDestroy_params, hGraphExec);
FIELD(cuda_graph_exec_params, exec, cuGraphNodeSetEnabled_params, hGraphExec);
FIELD(cuda_multi_device_params, devices, cuLaunchCooperativeKernelMultiDevice_params, numDevices);

/* Records: the newest struct; older ones are its prefixes (sizes above). */
#define KERNEL(member, theirs) FIELD(cupti_kernel, member, CUpti_ActivityKernel9, theirs)
KERNEL(kind, kind);
KERNEL(cache, cacheConfig);
KERNEL(registers, registersPerThread);
KERNEL(start, start);
KERNEL(end, end);
KERNEL(device, deviceId);
KERNEL(context, contextId);
KERNEL(stream, streamId);
SAME(offsetof(struct cupti_kernel, grid[1]), offsetof(CUpti_ActivityKernel9, gridY));
SAME(offsetof(struct cupti_kernel, block[2]), offsetof(CUpti_ActivityKernel9, blockZ));
KERNEL(shared_static, staticSharedMemory);
KERNEL(shared_dynamic, dynamicSharedMemory);
KERNEL(local_per_thread, localMemoryPerThread);
KERNEL(local_total, localMemoryTotal);
KERNEL(correlation, correlationId);
KERNEL(name, name);
KERNEL(shared_executed, sharedMemoryExecuted);
KERNEL(graph_node, graphNodeId);
KERNEL(graph, graphId);
SAME(offsetof(struct cupti_kernel, cluster[0]), offsetof(CUpti_ActivityKernel9, clusterX));
SAME(offsetof(struct cupti_kernel, cluster[2]), offsetof(CUpti_ActivityKernel9, clusterZ));
KERNEL(local_total64, localMemoryTotal_v2);
SAME(offsetof(CUpti_ActivityKernel4, sharedMemoryExecuted),
     offsetof(struct cupti_kernel, shared_executed));
SAME(offsetof(CUpti_ActivityKernel5, graphId), offsetof(struct cupti_kernel, graph));
SAME(offsetof(CUpti_ActivityKernel8, localMemoryTotal_v2),
     offsetof(struct cupti_kernel, local_total64));

#define MEMCPY(member, theirs) FIELD(cupti_memcpy, member, CUpti_ActivityMemcpy5, theirs)
MEMCPY(copy_kind, copyKind);
MEMCPY(src, srcKind);
MEMCPY(dst, dstKind);
MEMCPY(flags, flags);
MEMCPY(bytes, bytes);
MEMCPY(start, start);
MEMCPY(end, end);
MEMCPY(device, deviceId);
MEMCPY(context, contextId);
MEMCPY(stream, streamId);
MEMCPY(correlation, correlationId);
MEMCPY(graph_node, graphNodeId);

#define PEER(member, theirs) FIELD(cupti_peer, member, CUpti_ActivityMemcpyPtoP4, theirs)
PEER(copy_kind, copyKind);
PEER(flags, flags);
PEER(bytes, bytes);
PEER(start, start);
PEER(end, end);
PEER(device, deviceId);
PEER(context, contextId);
PEER(stream, streamId);
PEER(src_device, srcDeviceId);
PEER(dst_device, dstDeviceId);
PEER(correlation, correlationId);
PEER(graph_node, graphNodeId);

#define MEMSET(member, theirs) FIELD(cupti_memset, member, CUpti_ActivityMemset4, theirs)
MEMSET(value, value);
MEMSET(bytes, bytes);
MEMSET(start, start);
MEMSET(end, end);
MEMSET(device, deviceId);
MEMSET(context, contextId);
MEMSET(stream, streamId);
MEMSET(correlation, correlationId);
MEMSET(flags, flags);
MEMSET(memory, memoryKind);
MEMSET(graph_node, graphNodeId);

#define OVERHEAD(member, theirs) FIELD(cupti_overhead, member, CUpti_ActivityOverhead, theirs)
OVERHEAD(overhead, overheadKind);
OVERHEAD(object, objectKind);
OVERHEAD(start, start);
OVERHEAD(end, end);
SAME(offsetof(struct cupti_overhead, thread),
     offsetof(CUpti_ActivityOverhead, objectId) +
         offsetof(CUpti_ActivityObjectKindId, pt.threadId));

#define EXTERNAL(member, theirs)                                                                   \
    FIELD(cupti_external, member, CUpti_ActivityExternalCorrelation, theirs)
EXTERNAL(external_kind, externalKind);
EXTERNAL(external_id, externalId);
EXTERNAL(correlation, correlationId);

#define MEMORY(member, theirs) FIELD(cupti_memory, member, CUpti_ActivityMemory3, theirs)
MEMORY(operation, memoryOperationType);
MEMORY(memory, memoryKind);
MEMORY(correlation, correlationId);
MEMORY(address, address);
MEMORY(bytes, bytes);
MEMORY(time, timestamp);
MEMORY(device, deviceId);
MEMORY(context, contextId);
MEMORY(stream, streamId);

/* The newest records still begin with the same fields. */
SAME(offsetof(CUpti_ActivityOverhead3, end), offsetof(struct cupti_overhead, end));
SAME(offsetof(CUpti_ActivityMemory4, streamId), offsetof(struct cupti_memory, stream));

/* PC sampling. */
SAME(PC_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
SAME(PC_SERIALIZED, CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED);
SAME(PC_PARSED, CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED);
SAME(PC_REASON_NAME, CUPTI_STALL_REASON_STRING_SIZE);
#define ATTRIBUTE(ours, theirs)                                                                    \
    SAME(PC_ATTR_##ours, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##theirs)
ATTRIBUTE(PERIOD, SAMPLING_PERIOD);
ATTRIBUTE(REASONS, STALL_REASON);
ATTRIBUTE(SCRATCH_BYTES, SCRATCH_BUFFER_SIZE);
ATTRIBUTE(HARDWARE_BYTES, HARDWARE_BUFFER_SIZE);
ATTRIBUTE(MODE, COLLECTION_MODE);
ATTRIBUTE(START_STOP, ENABLE_START_STOP_CONTROL);
ATTRIBUTE(FORMAT, OUTPUT_DATA_FORMAT);
ATTRIBUTE(DATA, SAMPLING_DATA_BUFFER);
ATTRIBUTE(WORKER_SLEEP_MS, WORKER_THREAD_PERIODIC_SLEEP_SPAN);
FIELD(pc_reason, index, CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex);
FIELD(pc_reason, samples, CUpti_PCSamplingStallReason, samples);
SAME(sizeof(struct pc_reason), sizeof(CUpti_PCSamplingStallReason));
FIELD(pc_record, size, CUpti_PCSamplingPCData, size);
FIELD(pc_record, crc, CUpti_PCSamplingPCData, cubinCrc);
FIELD(pc_record, offset, CUpti_PCSamplingPCData, pcOffset);
FIELD(pc_record, function, CUpti_PCSamplingPCData, functionIndex);
FIELD(pc_record, name, CUpti_PCSamplingPCData, functionName);
FIELD(pc_record, reason_count, CUpti_PCSamplingPCData, stallReasonCount);
FIELD(pc_record, reasons, CUpti_PCSamplingPCData, stallReason);
FIELD(pc_record, correlation, CUpti_PCSamplingPCData, correlationId);
SAME(sizeof(struct pc_record), sizeof(CUpti_PCSamplingPCData));
FIELD(pc_data, size, CUpti_PCSamplingData, size);
FIELD(pc_data, room, CUpti_PCSamplingData, collectNumPcs);
FIELD(pc_data, total, CUpti_PCSamplingData, totalSamples);
FIELD(pc_data, dropped, CUpti_PCSamplingData, droppedSamples);
FIELD(pc_data, count, CUpti_PCSamplingData, totalNumPcs);
FIELD(pc_data, remaining, CUpti_PCSamplingData, remainingNumPcs);
FIELD(pc_data, range, CUpti_PCSamplingData, rangeId);
FIELD(pc_data, records, CUpti_PCSamplingData, pPcData);
FIELD(pc_data, other, CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
FIELD(pc_data, full, CUpti_PCSamplingData, hardwareBufferFull);
SAME(sizeof(struct pc_data), sizeof(CUpti_PCSamplingData));
FIELD(pc_attribute_info, attribute, CUpti_PCSamplingConfigurationInfo, attributeType);
FIELD(pc_attribute_info, status, CUpti_PCSamplingConfigurationInfo, attributeStatus);
FIELD(pc_attribute_info, value, CUpti_PCSamplingConfigurationInfo, attributeData);
FIELD(pc_attribute_info, value.number, CUpti_PCSamplingConfigurationInfo,
      attributeData.samplingPeriodData.samplingPeriod);
FIELD(pc_attribute_info, value.bytes, CUpti_PCSamplingConfigurationInfo,
      attributeData.hardwareBufferSizeData.hardwareBufferSize);
FIELD(pc_attribute_info, value.choice, CUpti_PCSamplingConfigurationInfo,
      attributeData.collectionModeData.collectionMode);
FIELD(pc_attribute_info, value.data, CUpti_PCSamplingConfigurationInfo,
      attributeData.samplingDataBufferData.samplingDataBuffer);
FIELD(pc_attribute_info, value.reasons.count, CUpti_PCSamplingConfigurationInfo,
      attributeData.stallReasonData.stallReasonCount);
FIELD(pc_attribute_info, value.reasons.indices, CUpti_PCSamplingConfigurationInfo,
      attributeData.stallReasonData.pStallReasonIndex);
SAME(sizeof(struct pc_attribute_info), sizeof(CUpti_PCSamplingConfigurationInfo));
FIELD(pc_configuration, context, CUpti_PCSamplingConfigurationInfoParams, ctx);
FIELD(pc_configuration, count, CUpti_PCSamplingConfigurationInfoParams, numAttributes);
FIELD(pc_configuration, attributes, CUpti_PCSamplingConfigurationInfoParams,
      pPCSamplingConfigurationInfo);
SAME(sizeof(struct pc_configuration), CUpti_PCSamplingConfigurationInfoParamsSize);
FIELD(pc_context_params, context, CUpti_PCSamplingEnableParams, ctx);
SAME(sizeof(struct pc_context_params), CUpti_PCSamplingEnableParamsSize);
FIELD(pc_context_params, context, CUpti_PCSamplingDisableParams, ctx);
SAME(sizeof(struct pc_context_params), CUpti_PCSamplingDisableParamsSize);
FIELD(pc_data_params, context, CUpti_PCSamplingGetDataParams, ctx);
FIELD(pc_data_params, data, CUpti_PCSamplingGetDataParams, pcSamplingData);
SAME(sizeof(struct pc_data_params), CUpti_PCSamplingGetDataParamsSize);
FIELD(pc_count_params, context, CUpti_PCSamplingGetNumStallReasonsParams, ctx);
FIELD(pc_count_params, count, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
SAME(sizeof(struct pc_count_params), CUpti_PCSamplingGetNumStallReasonsParamsSize);
FIELD(pc_reasons_params, context, CUpti_PCSamplingGetStallReasonsParams, ctx);
FIELD(pc_reasons_params, count, CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
FIELD(pc_reasons_params, indices, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
FIELD(pc_reasons_params, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
SAME(sizeof(struct pc_reasons_params), CUpti_PCSamplingGetStallReasonsParamsSize);
FIELD(pc_crc_params, bytes, CUpti_GetCubinCrcParams, cubinSize);
FIELD(pc_crc_params, cubin, CUpti_GetCubinCrcParams, cubin);
FIELD(pc_crc_params, crc, CUpti_GetCubinCrcParams, cubinCrc);
SAME(sizeof(struct pc_crc_params), CUpti_GetCubinCrcParamsSize);

/* ---- SASS metrics ---- */

SAME(SASS_GRANULARITY_GPU, CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU);
FIELD(sass_metric_details, id, CUpti_SassMetrics_MetricDetails, metricId);
FIELD(sass_metric_details, name, CUpti_SassMetrics_MetricDetails, pMetricName);
FIELD(sass_properties_params, chip, CUpti_SassMetrics_GetProperties_Params, pChipName);
FIELD(sass_properties_params, name, CUpti_SassMetrics_GetProperties_Params, pMetricName);
FIELD(sass_properties_params, metric, CUpti_SassMetrics_GetProperties_Params, metric);
SAME(sizeof(struct sass_properties_params), CUpti_SassMetrics_GetProperties_Params_STRUCT_SIZE);
FIELD(sass_metric_config, id, CUpti_SassMetrics_Config, metricId);
FIELD(sass_metric_config, granularity, CUpti_SassMetrics_Config, outputGranularity);
SAME(sizeof(struct sass_metric_config), sizeof(CUpti_SassMetrics_Config));
FIELD(sass_config_params, count, CUpti_SassMetricsSetConfig_Params, numOfMetricConfig);
FIELD(sass_config_params, configs, CUpti_SassMetricsSetConfig_Params, pConfigs);
FIELD(sass_config_params, device, CUpti_SassMetricsSetConfig_Params, deviceIndex);
SAME(PROFILER_SIZE(sass_config_params, device), CUpti_SassMetricsSetConfig_Params_STRUCT_SIZE);
FIELD(sass_unset_params, device, CUpti_SassMetricsUnsetConfig_Params, deviceIndex);
FIELD(sass_enable_params, context, CUpti_SassMetricsEnable_Params, ctx);
FIELD(sass_enable_params, lazy, CUpti_SassMetricsEnable_Params, enableLazyPatching);
SAME(PROFILER_SIZE(sass_enable_params, lazy), CUpti_SassMetricsEnable_Params_STRUCT_SIZE);
FIELD(sass_disable_params, context, CUpti_SassMetricsDisable_Params, ctx);
FIELD(sass_disable_params, dropped, CUpti_SassMetricsDisable_Params, numOfDroppedRecords);
SAME(sizeof(struct sass_disable_params), CUpti_SassMetricsDisable_Params_STRUCT_SIZE);
FIELD(sass_extent_params, context, CUpti_SassMetricsGetDataProperties_Params, ctx);
FIELD(sass_extent_params, records, CUpti_SassMetricsGetDataProperties_Params,
      numOfPatchedInstructionRecords);
FIELD(sass_extent_params, instances, CUpti_SassMetricsGetDataProperties_Params, numOfInstances);
SAME(sizeof(struct sass_extent_params), CUpti_SassMetricsGetDataProperties_Params_STRUCT_SIZE);
FIELD(sass_value, id, CUpti_SassMetrics_InstanceValue, metricId);
FIELD(sass_value, value, CUpti_SassMetrics_InstanceValue, value);
SAME(sizeof(struct sass_value), sizeof(CUpti_SassMetrics_InstanceValue));
FIELD(sass_record, size, CUpti_SassMetrics_Data, structSize);
FIELD(sass_record, crc, CUpti_SassMetrics_Data, cubinCrc);
FIELD(sass_record, function, CUpti_SassMetrics_Data, functionIndex);
FIELD(sass_record, name, CUpti_SassMetrics_Data, functionName);
FIELD(sass_record, offset, CUpti_SassMetrics_Data, pcOffset);
FIELD(sass_record, values, CUpti_SassMetrics_Data, pInstanceValues);
SAME(sizeof(struct sass_record), sizeof(CUpti_SassMetrics_Data));
FIELD(sass_flush_params, context, CUpti_SassMetricsFlushData_Params, ctx);
FIELD(sass_flush_params, records, CUpti_SassMetricsFlushData_Params,
      numOfPatchedInstructionRecords);
FIELD(sass_flush_params, instances, CUpti_SassMetricsFlushData_Params, numOfInstances);
FIELD(sass_flush_params, data, CUpti_SassMetricsFlushData_Params, pMetricsData);
SAME(PROFILER_SIZE(sass_flush_params, instances), CUpti_SassMetricsFlushData_Params_STRUCT_SIZE);

/* The vendor's functions; in our types of them enums are int, and handles are pointers. */
#define SIGNATURE(f, theirs) _Static_assert(__builtin_types_compatible_p(__typeof__(f), theirs), #f)
SIGNATURE(cuptiGetVersion, CUptiResult(uint32_t *));
SIGNATURE(cuptiGetResultString, CUptiResult(CUptiResult, const char **));
SIGNATURE(cuptiPCSamplingEnable, CUptiResult(CUpti_PCSamplingEnableParams *));
SIGNATURE(cuptiPCSamplingDisable, CUptiResult(CUpti_PCSamplingDisableParams *));
SIGNATURE(cuptiPCSamplingSetConfigurationAttribute,
          CUptiResult(CUpti_PCSamplingConfigurationInfoParams *));
SIGNATURE(cuptiPCSamplingGetConfigurationAttribute,
          CUptiResult(CUpti_PCSamplingConfigurationInfoParams *));
SIGNATURE(cuptiPCSamplingGetData, CUptiResult(CUpti_PCSamplingGetDataParams *));
SIGNATURE(cuptiPCSamplingGetNumStallReasons,
          CUptiResult(CUpti_PCSamplingGetNumStallReasonsParams *));
SIGNATURE(cuptiPCSamplingGetStallReasons, CUptiResult(CUpti_PCSamplingGetStallReasonsParams *));
SIGNATURE(cuptiGetContextId, CUptiResult(CUcontext, uint32_t *));
SIGNATURE(cuptiGetCubinCrc, CUptiResult(CUpti_GetCubinCrcParams *));
SIGNATURE(cuptiSassMetricsGetProperties, CUptiResult(CUpti_SassMetrics_GetProperties_Params *));
SIGNATURE(cuptiSassMetricsSetConfig, CUptiResult(CUpti_SassMetricsSetConfig_Params *));
SIGNATURE(cuptiSassMetricsUnsetConfig, CUptiResult(CUpti_SassMetricsUnsetConfig_Params *));
SIGNATURE(cuptiSassMetricsEnable, CUptiResult(CUpti_SassMetricsEnable_Params *));
SIGNATURE(cuptiSassMetricsDisable, CUptiResult(CUpti_SassMetricsDisable_Params *));
SIGNATURE(cuptiSassMetricsGetDataProperties,
          CUptiResult(CUpti_SassMetricsGetDataProperties_Params *));
SIGNATURE(cuptiSassMetricsFlushData, CUptiResult(CUpti_SassMetricsFlushData_Params *));
SIGNATURE(cuptiSubscribe, CUptiResult(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *));
SIGNATURE(cuptiUnsubscribe, CUptiResult(CUpti_SubscriberHandle));
SIGNATURE(cuptiEnableCallback,
          CUptiResult(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId));
SIGNATURE(cuptiActivityEnable, CUptiResult(CUpti_ActivityKind));
SIGNATURE(cuptiActivityDisable, CUptiResult(CUpti_ActivityKind));
SIGNATURE(cuptiActivityRegisterCallbacks,
          CUptiResult(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc));
SIGNATURE(cuptiActivityGetNextRecord, CUptiResult(uint8_t *, size_t, CUpti_Activity **));
SIGNATURE(cuptiActivityGetNumDroppedRecords, CUptiResult(CUcontext, uint32_t, size_t *));
SIGNATURE(cuptiActivityFlushAll, CUptiResult(uint32_t));
SIGNATURE(cuptiActivityFlushPeriod, CUptiResult(uint32_t));
SIGNATURE(cuptiActivityRegisterTimestampCallback, CUptiResult(CUpti_TimestampCallbackFunc));
SIGNATURE(cuptiActivitySetAttribute, CUptiResult(CUpti_ActivityAttribute, size_t *, void *));
SIGNATURE(cuptiGetTimestamp, CUptiResult(uint64_t *));
SIGNATURE(cuptiSetThreadIdType, CUptiResult(CUpti_ActivityThreadIdType));
SIGNATURE(cuptiFinalize, CUptiResult(void));
SIGNATURE(cuDriverGetVersion, CUresult(int *));
SIGNATURE(cuCtxGetCurrent, CUresult(CUcontext *));
SIGNATURE(cuDeviceGetCount, CUresult(int *));
SIGNATURE(cuDeviceGet, CUresult(CUdevice *, int));
SIGNATURE(cuDeviceGetAttribute, CUresult(int *, CUdevice_attribute, CUdevice));
SIGNATURE(cuDeviceGetName, CUresult(char *, int, CUdevice));
SIGNATURE(cuDeviceTotalMem_v2, CUresult(size_t *, CUdevice));
SIGNATURE(cuStreamIsCapturing, CUresult(CUstream, CUstreamCaptureStatus *));
SIGNATURE(cuFuncGetAttribute, CUresult(int *, CUfunction_attribute, CUfunction));
SIGNATURE(cuKernelGetFunction, CUresult(CUfunction *, CUkernel));
SIGNATURE(cuGraphGetNodes, CUresult(CUgraph, CUgraphNode *, size_t *));
SIGNATURE(cuGraphNodeGetType, CUresult(CUgraphNode, CUgraphNodeType *));
SIGNATURE(cuGraphChildGraphNodeGetGraph, CUresult(CUgraphNode, CUgraph *));

/* The compiler has checked them; what is left is a run-time fact. */
TEST(declarations_match)
{
    assert_int_equal(sizeof(CUdevice), sizeof(int));
    assert_int_equal(sizeof(CUptiResult), sizeof(int));
    print_message("checked against CUPTI_API_VERSION %d\n", CUPTI_API_VERSION);
}

#else

TEST(declarations_match)
{
    print_message("no headers of CUPTI 13.0 or later on this machine: declarations not checked\n");
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(declarations_match)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
