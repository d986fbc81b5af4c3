/* test_rocprofiler.c - tests our declarations of rocprofiler-sdk against its headers, if this
 * machine has them and HIP's; without them the test is skipped and says so. */
#include "tests/test.h"
#include "tests/unit/support/abi.h"

#include <stdio.h>

#ifdef GPUFL_HAVE_ROCPROFILER_H
#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/rocprofiler.h>

#include "backend/amd/trace/abi.h"

/* The installed version says which of the two forms is checked. */
#if ROCPROFILER_VERSION_MAJOR >= 1
#define rocp_client   rocp_client_new
#define rocp_callback rocp_callback_new
#else
#define rocp_client   rocp_client_old
#define rocp_callback rocp_callback_old
#endif

SAME(ROCP_OK, ROCPROFILER_STATUS_SUCCESS);
SAME(ROCP_TRACING, ROCPROFILER_BUFFER_CATEGORY_TRACING);
SAME(ROCP_LOSSLESS, ROCPROFILER_BUFFER_POLICY_LOSSLESS);
SAME(ROCP_ENTER, ROCPROFILER_CALLBACK_PHASE_ENTER);
SAME(ROCP_EXIT, ROCPROFILER_CALLBACK_PHASE_EXIT);
SAME(ROCP_LOAD, ROCPROFILER_CALLBACK_PHASE_LOAD);
SAME(ROCP_UNLOAD, ROCPROFILER_CALLBACK_PHASE_UNLOAD);
SAME(ROCP_CODE_LOAD, ROCPROFILER_CODE_OBJECT_LOAD);
SAME(ROCP_CODE_KERNEL, ROCPROFILER_CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER);
SAME(ROCP_COPY_H2D, ROCPROFILER_MEMORY_COPY_HOST_TO_DEVICE);
SAME(ROCP_COPY_D2D, ROCPROFILER_MEMORY_COPY_DEVICE_TO_DEVICE);
SAME(ROCP_MARK, ROCPROFILER_MARKER_CORE_API_ID_roctxMarkA);
SAME(ROCP_END, ROCPROFILER_MARKER_CORE_API_ID_roctxRangeStop);
SAME(ROCP_GPU, ROCPROFILER_AGENT_TYPE_GPU);

SAME(sizeof(struct rocp_client), sizeof(rocprofiler_client_id_t));
FIELD(rocp_client, name, rocprofiler_client_id_t, name);
FIELD(rocp_client, handle, rocprofiler_client_id_t, handle);
SAME(sizeof(struct rocp_tool), sizeof(rocprofiler_tool_configure_result_t));
FIELD(rocp_tool, initialize, rocprofiler_tool_configure_result_t, initialize);
FIELD(rocp_tool, finalize, rocprofiler_tool_configure_result_t, finalize);
FIELD(rocp_tool, data, rocprofiler_tool_configure_result_t, tool_data);

SAME(sizeof(union rocp_user), sizeof(rocprofiler_user_data_t));
SAME(sizeof(struct rocp_callback), sizeof(rocprofiler_callback_tracing_record_t));
FIELD(rocp_callback, context, rocprofiler_callback_tracing_record_t, context_id);
FIELD(rocp_callback, thread, rocprofiler_callback_tracing_record_t, thread_id);
FIELD(rocp_callback, internal, rocprofiler_callback_tracing_record_t, correlation_id.internal);
FIELD(rocp_callback, external, rocprofiler_callback_tracing_record_t, correlation_id.external);
FIELD(rocp_callback, kind, rocprofiler_callback_tracing_record_t, kind);
FIELD(rocp_callback, operation, rocprofiler_callback_tracing_record_t, operation);
FIELD(rocp_callback, phase, rocprofiler_callback_tracing_record_t, phase);
FIELD(rocp_callback, payload, rocprofiler_callback_tracing_record_t, payload);

#define CODE rocprofiler_callback_tracing_code_object_load_data_t
SAME(sizeof(struct rocp_code_object), sizeof(CODE));
FIELD(rocp_code_object, id, CODE, code_object_id);
FIELD(rocp_code_object, hsa_agent, CODE, hsa_agent);
FIELD(rocp_code_object, uri, CODE, uri);
FIELD(rocp_code_object, load_base, CODE, load_base);
FIELD(rocp_code_object, load_delta, CODE, load_delta);
FIELD(rocp_code_object, storage, CODE, storage_type);
FIELD(rocp_code_object, memory_base, CODE, memory_base);
FIELD(rocp_code_object, memory_size, CODE, memory_size);

#define SYMBOL rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t
FIELD(rocp_symbol, kernel, SYMBOL, kernel_id);
FIELD(rocp_symbol, code_object, SYMBOL, code_object_id);
FIELD(rocp_symbol, name, SYMBOL, kernel_name);
FIELD(rocp_symbol, object, SYMBOL, kernel_object);
FIELD(rocp_symbol, group_bytes, SYMBOL, group_segment_size);
FIELD(rocp_symbol, private_bytes, SYMBOL, private_segment_size);
FIELD(rocp_symbol, sgprs, SYMBOL, sgpr_count);
FIELD(rocp_symbol, arch_vgprs, SYMBOL, arch_vgpr_count);
FIELD(rocp_symbol, accum_vgprs, SYMBOL, accum_vgpr_count);

SAME(sizeof(struct rocp_header), sizeof(rocprofiler_record_header_t));
FIELD(rocp_header, category, rocprofiler_record_header_t, category);
FIELD(rocp_header, kind, rocprofiler_record_header_t, kind);
FIELD(rocp_header, payload, rocprofiler_record_header_t, payload);

#define DISPATCH rocprofiler_buffer_tracing_kernel_dispatch_record_t
FIELD(rocp_dispatch, r.size, DISPATCH, size);
FIELD(rocp_dispatch, r.kind, DISPATCH, kind);
FIELD(rocp_dispatch, r.operation, DISPATCH, operation);
FIELD(rocp_dispatch, internal, DISPATCH, correlation_id.internal);
FIELD(rocp_dispatch, thread, DISPATCH, thread_id);
FIELD(rocp_dispatch, start, DISPATCH, start_timestamp);
FIELD(rocp_dispatch, end, DISPATCH, end_timestamp);
FIELD(rocp_dispatch, agent, DISPATCH, dispatch_info.agent_id);
FIELD(rocp_dispatch, queue, DISPATCH, dispatch_info.queue_id);
FIELD(rocp_dispatch, kernel, DISPATCH, dispatch_info.kernel_id);
FIELD(rocp_dispatch, dispatch, DISPATCH, dispatch_info.dispatch_id);
FIELD(rocp_dispatch, private_bytes, DISPATCH, dispatch_info.private_segment_size);
FIELD(rocp_dispatch, group_bytes, DISPATCH, dispatch_info.group_segment_size);
FIELD(rocp_dispatch, workgroup, DISPATCH, dispatch_info.workgroup_size);
FIELD(rocp_dispatch, grid, DISPATCH, dispatch_info.grid_size);

#define COPY rocprofiler_buffer_tracing_memory_copy_record_t
FIELD(rocp_copy, internal, COPY, correlation_id.internal);
FIELD(rocp_copy, thread, COPY, thread_id);
FIELD(rocp_copy, start, COPY, start_timestamp);
FIELD(rocp_copy, end, COPY, end_timestamp);
FIELD(rocp_copy, to, COPY, dst_agent_id);
FIELD(rocp_copy, from, COPY, src_agent_id);
FIELD(rocp_copy, bytes, COPY, bytes);

/* Allocations have records since 0.6. Since 1.0 the records have another member before these. */
#if ROCPROFILER_VERSION_MAJOR >= 1 || ROCPROFILER_VERSION_MINOR >= 6
#define ALLOCATION rocprofiler_buffer_tracing_memory_allocation_record_t
#if ROCPROFILER_VERSION_MAJOR >= 1
enum { PLACE = ROCP_ALLOCATION_NEW };
#else
enum { PLACE = ROCP_ALLOCATION_OLD };
#endif
#define ALLOCATED(member, theirs)                                                                  \
    SAME(PLACE + offsetof(struct rocp_allocation, member), offsetof(ALLOCATION, theirs))
SAME(PLACE + sizeof(struct rocp_allocation), sizeof(ALLOCATION));
ALLOCATED(thread, thread_id);
ALLOCATED(start, start_timestamp);
ALLOCATED(end, end_timestamp);
ALLOCATED(agent, agent_id);
ALLOCATED(address, address);
ALLOCATED(bytes, allocation_size);
SAME(ROCP_ALLOCATE, ROCPROFILER_MEMORY_ALLOCATION_ALLOCATE);
SAME(ROCP_FREE, ROCPROFILER_MEMORY_ALLOCATION_FREE);
SAME(ROCP_FREE_VMEM, ROCPROFILER_MEMORY_ALLOCATION_VMEM_FREE);
#endif

#define AGENT rocprofiler_agent_v0_t
static_assert(sizeof(struct rocp_agent) <= sizeof(AGENT), "newer agents are longer");
FIELD(rocp_agent, id, AGENT, id);
FIELD(rocp_agent, type, AGENT, type);
FIELD(rocp_agent, simds, AGENT, simd_count);
FIELD(rocp_agent, waves_per_simd, AGENT, max_waves_per_simd);
FIELD(rocp_agent, lds_kib, AGENT, lds_size_in_kb);
FIELD(rocp_agent, wave_size, AGENT, wave_front_size);
FIELD(rocp_agent, cus, AGENT, cu_count);
FIELD(rocp_agent, simds_per_cu, AGENT, simd_per_cu);
FIELD(rocp_agent, gfx_target, AGENT, gfx_target_version);
FIELD(rocp_agent, location, AGENT, location_id);
FIELD(rocp_agent, domain, AGENT, domain);
FIELD(rocp_agent, gpu_mhz, AGENT, max_engine_clk_fcompute);
FIELD(rocp_agent, memory, AGENT, local_mem_size);
FIELD(rocp_agent, name, AGENT, name);
FIELD(rocp_agent, product, AGENT, product_name);
FIELD(rocp_agent, node, AGENT, node_id);
FIELD(rocp_agent, number, AGENT, logical_node_id);

/* Counted dispatches: the service got times in 0.5, and was renamed later in 0.5. */
#if __has_include(<rocprofiler-sdk/dispatch_counting_service.h>)
#define COUNTING rocprofiler_dispatch_counting_service_data_t
#define COUNTED  rocprofiler_dispatch_counting_service_record_t
#else
#define COUNTING rocprofiler_profile_counting_dispatch_data_t
#define COUNTED  rocprofiler_profile_counting_dispatch_record_t
#endif
#if ROCPROFILER_VERSION_MAJOR == 0 && ROCPROFILER_VERSION_MINOR < 5
#define rocp_counting rocp_counting_old
#define rocp_counted  rocp_counted_old
#else
#define rocp_counting rocp_counting_new
#define rocp_counted  rocp_counted_new
FIELD(rocp_counted, start, COUNTED, start_timestamp);
FIELD(rocp_counted, end, COUNTED, end_timestamp);
#endif
SAME(ROCP_COUNTERS, ROCPROFILER_BUFFER_CATEGORY_COUNTERS);
SAME(ROCP_COUNTED_DISPATCH, ROCPROFILER_COUNTER_RECORD_PROFILE_COUNTING_DISPATCH_HEADER);
SAME(ROCP_COUNTED_VALUE, ROCPROFILER_COUNTER_RECORD_VALUE);
SAME(ROCP_COUNTER_INFO, ROCPROFILER_COUNTER_INFO_VERSION_0);
SAME(sizeof(struct rocp_counting), sizeof(COUNTING));
FIELD(rocp_counting, info.agent, COUNTING, dispatch_info.agent_id);
FIELD(rocp_counting, info.kernel, COUNTING, dispatch_info.kernel_id);
FIELD(rocp_counted, values, COUNTED, num_records);
FIELD(rocp_counted, internal, COUNTED, correlation_id.internal);
FIELD(rocp_counted, info.agent, COUNTED, dispatch_info.agent_id);
FIELD(rocp_counted, info.kernel, COUNTED, dispatch_info.kernel_id);
FIELD(rocp_counted, info.dispatch, COUNTED, dispatch_info.dispatch_id);
FIELD(rocp_value, instance, rocprofiler_record_counter_t, id);
FIELD(rocp_value, value, rocprofiler_record_counter_t, counter_value);
FIELD(rocp_value, dispatch, rocprofiler_record_counter_t, dispatch_id);
static_assert(sizeof(struct rocp_counter_info) >= sizeof(rocprofiler_counter_info_v0_t), "room");
FIELD(rocp_counter_info, name, rocprofiler_counter_info_v0_t, name);
FIELD(rocp_counter_info, block, rocprofiler_counter_info_v0_t, block);

/* PC sampling: the struct of a GPU's offers is equal in all versions; samples exist since 0.6. */
#include <rocprofiler-sdk/pc_sampling.h>
#define OFFER rocprofiler_pc_sampling_configuration_t
SAME(ROCP_PC_SAMPLES, ROCPROFILER_BUFFER_CATEGORY_PC_SAMPLING);
SAME(ROCP_STOCHASTIC, ROCPROFILER_PC_SAMPLING_METHOD_STOCHASTIC);
SAME(ROCP_HOST_TRAP, ROCPROFILER_PC_SAMPLING_METHOD_HOST_TRAP);
SAME(ROCP_CYCLES, ROCPROFILER_PC_SAMPLING_UNIT_CYCLES);
SAME(ROCP_TIME, ROCPROFILER_PC_SAMPLING_UNIT_TIME);
SAME(sizeof(struct rocp_sampling), sizeof(OFFER));
FIELD(rocp_sampling, method, OFFER, method);
FIELD(rocp_sampling, unit, OFFER, unit);
FIELD(rocp_sampling, least, OFFER, min_interval);
FIELD(rocp_sampling, most, OFFER, max_interval);
FIELD(rocp_sampling, flags, OFFER, flags);
#if ROCPROFILER_VERSION_MAJOR >= 1 || ROCPROFILER_VERSION_MINOR >= 6
#define TRAPPED      rocprofiler_pc_sampling_record_host_trap_v0_t
#define STOPPED      rocprofiler_pc_sampling_record_stochastic_v0_t
#define REASON(name) ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_##name
SAME(ROCP_POWER_OF_TWO, ROCPROFILER_PC_SAMPLING_CONFIGURATION_FLAGS_INTERVAL_POW2);
SAME(sizeof(struct rocp_host_trap_sample), sizeof(TRAPPED));
FIELD(rocp_host_trap_sample, pc.object, TRAPPED, pc.code_object_id);
FIELD(rocp_host_trap_sample, pc.offset, TRAPPED, pc.code_object_offset);
FIELD(rocp_host_trap_sample, lanes, TRAPPED, exec_mask);
FIELD(rocp_host_trap_sample, time, TRAPPED, timestamp);
FIELD(rocp_host_trap_sample, dispatch, TRAPPED, dispatch_id);
FIELD(rocp_host_trap_sample, internal, TRAPPED, correlation_id.internal);
SAME(sizeof(struct rocp_stochastic_sample), sizeof(STOPPED));
FIELD(rocp_stochastic_sample, pc.object, STOPPED, pc.code_object_id);
FIELD(rocp_stochastic_sample, pc.offset, STOPPED, pc.code_object_offset);
FIELD(rocp_stochastic_sample, lanes, STOPPED, exec_mask);
FIELD(rocp_stochastic_sample, waves, STOPPED, wave_count);
FIELD(rocp_stochastic_sample, dispatch, STOPPED, dispatch_id);
FIELD(rocp_stochastic_sample, internal, STOPPED, correlation_id.internal);
FIELD(rocp_stochastic_sample, snapshot, STOPPED, snapshot);
FIELD(rocp_stochastic_sample, memory, STOPPED, memory_counters);
SAME(ROCP_STALL_NO_INSTRUCTION, REASON(NO_INSTRUCTION_AVAILABLE));
SAME(ROCP_STALL_WAITCNT, REASON(WAITCNT));
SAME(ROCP_STALL_ARBITER_WIN_EX_STALL, REASON(ARBITER_WIN_EX_STALL));
SAME(ROCP_STALL_SLEEP, REASON(SLEEP_WAIT));
SAME(ROCP_STALLS, REASON(LAST));
#endif

TEST(declarations_match)
{
    printf("the declarations are those of rocprofiler-sdk %d.%d\n", ROCPROFILER_VERSION_MAJOR,
           ROCPROFILER_VERSION_MINOR);
}

#else

TEST(declarations_match)
{
    printf("rocprofiler-sdk/rocprofiler.h and HIP's headers are not installed\n");
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(declarations_match)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
