/* abi.h - has our own declarations of rocprofiler-sdk: the functions that the backend calls, and
 * the records that it reads.
 *
 * Why: the binary runs with ROCm 6.2 to 7.x, whose headers differ and are not on most machines.
 * Three structs changed with SDK 1.0 (ROCm 7.0), and two of them are passed by value, so their form
 * is chosen by the version that the library passes to rocprofiler_configure. The numbers of kinds
 * changed as well, so kinds and operations are found by name (sdk.c).
 *
 * A record begins with its size. A field is read only where the record's size covers it. */
#ifndef GPUFL_BACKEND_AMD_TRACE_ABI_H
#define GPUFL_BACKEND_AMD_TRACE_ABI_H

#include "backend/amd/abi/pc_sampling.h"

#include <stddef.h>
#include <stdint.h>

/* From this version on (10000 x major + 100 x minor + patch) the structs have their new form. */
enum { ROCP_NEW_FORM = 10000 };

/* The oldest version whose layouts are known is ROCm 6.2. */
enum { ROCP_OLDEST = 400 };

enum { ROCP_OK = 0 };

/* Before this version (ROCm 6.3) data of counted dispatches have no times. */
enum { ROCP_COUNTED_TIMES = 500 };

enum rocp_category { ROCP_TRACING = 1, ROCP_COUNTERS = 3 };

enum { ROCP_COUNTED_DISPATCH = 1, ROCP_COUNTED_VALUE = 2 }; /* kinds of ROCP_COUNTERS */

enum { ROCP_COUNTER_INFO = 1 }; /* version of struct rocp_counter_info */

/* This is the policy: while a buffer is full, the library's thread waits until we have taken its
 * records. The other policy, which discards records, throws in SDK 0.5 after the buffer was flushed
 * once. */
enum { ROCP_LOSSLESS = 2 };

enum rocp_phase { ROCP_NONE, ROCP_ENTER, ROCP_EXIT, ROCP_LOAD = ROCP_ENTER, ROCP_UNLOAD };

enum { ROCP_CODE_LOAD = 1, ROCP_CODE_KERNEL = 2 }; /* operations of CODE_OBJECT */
enum { ROCP_COPY_H2H = 1, ROCP_COPY_H2D, ROCP_COPY_D2H, ROCP_COPY_D2D };
enum { ROCP_ALLOCATE = 1, ROCP_ALLOCATE_VMEM, ROCP_FREE, ROCP_FREE_VMEM };
enum { ROCP_MARK = 0, ROCP_PUSH, ROCP_POP, ROCP_BEGIN, ROCP_END }; /* of MARKER_CORE_API */

/* ---- the tool ------------------------------------------------------------------------ */

struct rocp_client_old {
    const char *name;
    uint32_t handle;
};

struct rocp_client_new {
    size_t size;
    const char *name;
    uint32_t handle;
};

struct rocp_tool {
    size_t size;
    int (*initialize)(void *finalize, void *data);
    void (*finalize)(void *data);
    void *data;
};

typedef struct rocp_tool *rocp_configure_fn(uint32_t version, const char *runtime,
                                            uint32_t priority, void *client);

/* ---- callbacks ----------------------------------------------------------------------- */

union rocp_user { /* kept from a call's entry to its exit */
    uint64_t value;
    void *pointer;
};

/* The struct is passed by value. */
struct rocp_callback_old {
    uint64_t context, thread;
    uint64_t internal, external;
    uint32_t kind, operation, phase;
    void *payload;
};

struct rocp_callback_new {
    uint64_t context, thread;
    uint64_t internal, external, ancestor;
    uint32_t kind, operation, phase;
    void *payload;
};

typedef void rocp_callback_old_fn(struct rocp_callback_old r, union rocp_user *user, void *data);
typedef void rocp_callback_new_fn(struct rocp_callback_new r, union rocp_user *user, void *data);

/* This is the payload of HIP_RUNTIME_API: the arguments in C's order, then a union of which the
 * library fills what the call returns. */
struct rocp_call {
    uint64_t size;
    uint8_t arguments[];
};

enum { ROCP_RETURN_BYTES = 24 }; /* the last bytes of the payload */

struct rocp_marker {
    uint64_t size;
    union {
        const char *text;
        uint64_t range;
    };
    uint64_t more;
    union {
        int32_t level;
        uint64_t made; /* the number that a started range got */
    };
};

struct rocp_code_object {
    uint64_t size, id, agent, hsa_agent;
    const char *uri;
    uint64_t load_base, load_size;
    int64_t load_delta;
    uint32_t storage; /* 1 file, 2 memory */
    uint64_t memory_base, memory_size;
};

struct rocp_symbol {
    uint64_t size, kernel, code_object;
    const char *name; /* mangled; ends with ".kd" */
    uint64_t object;
    uint32_t kernarg_size, kernarg_align;
    uint32_t group_bytes, private_bytes;
    uint32_t sgprs, arch_vgprs, accum_vgprs;
};

/* ---- records ------------------------------------------------------------------------- */

struct rocp_header {
    uint32_t category, kind;
    void *payload;
};

struct rocp_record {
    uint64_t size;
    uint32_t kind, operation;
};

struct rocp_dispatch {
    struct rocp_record r;
    uint64_t internal, external;
    uint64_t thread, start, end;
    uint64_t info_size, agent, queue, kernel, dispatch;
    uint32_t private_bytes, group_bytes; /* of a work-item; of a workgroup, static and dynamic */
    uint32_t workgroup[3], grid[3];      /* in work-items */
};

struct rocp_copy {
    struct rocp_record r;
    uint64_t internal, external;
    uint64_t thread, start, end;
    uint64_t to, from; /* agents */
    uint64_t bytes;
};

/* Holds the fields after the correlation ids, of which the new form has three. */
struct rocp_allocation {
    uint64_t thread, start, end;
    uint64_t agent, address, bytes;
};

enum { ROCP_ALLOCATION_OLD = 32, ROCP_ALLOCATION_NEW = 40 }; /* its place in the record */

/* ---- counters ------------------------------------------------------------------------ */

/* Describes a kernel that is being enqueued, or has run. */
struct rocp_dispatch_info {
    uint64_t size, agent, queue, kernel, dispatch;
    uint32_t private_bytes, group_bytes, workgroup[3], grid[3];
    uint8_t reserved[56];
};

/* Both are passed by value. */
struct rocp_counting_old {
    uint64_t size, internal, external;
    struct rocp_dispatch_info info;
};

struct rocp_counting_new {
    uint64_t size, internal, external, start, end;
    struct rocp_dispatch_info info;
};

typedef void rocp_counting_old_fn(struct rocp_counting_old d, uint64_t *config,
                                  union rocp_user *user, void *data);
typedef void rocp_counting_new_fn(struct rocp_counting_new d, uint64_t *config,
                                  union rocp_user *user, void *data);

/* This is a record in front of the values of a dispatch; it has their number. */
struct rocp_counted_old {
    uint64_t size, values, internal, external;
    struct rocp_dispatch_info info;
};

struct rocp_counted_new {
    uint64_t size, values, internal, external, start, end;
    struct rocp_dispatch_info info;
};

/* Holds one instance of a counter: of a shader engine, of a channel, ... */
struct rocp_value {
    uint64_t instance;
    double value;
    uint64_t dispatch;
};

struct rocp_counter_info {
    uint64_t id;
    const char *name, *description, *block, *expression;
    uint64_t bits, room[8]; /* what later versions may add */
};

typedef int rocp_counters_fn(uint64_t agent, uint64_t *counters, size_t count, void *data);

/* ---- agents -------------------------------------------------------------------------- */

enum { ROCP_GPU = 2 };

struct rocp_agent {
    uint64_t size, id;
    uint32_t type, cpu_cores, simds, mem_banks, caches, links, core_base, simd_base;
    uint32_t waves_per_simd, lds_kib, gds_kib, gws, wave_size, xccs, cus;
    uint32_t arrays, shader_banks, arrays_per_engine, cus_per_array, simds_per_cu, scratch_slots;
    uint32_t gfx_target; /* 90010: gfx90a */
    uint16_t vendor, device_number;
    uint32_t location, domain; /* of PCI: bus << 8 | device << 3 | function */
    uint32_t render_minor, sdma_engines, xgmi_engines, queues_per_engine, queues;
    uint32_t cpu_mhz, gpu_mhz, sdma_firmware, firmware, capability;
    uint32_t cus_per_engine, waves_per_cu, family, workgroup_most, grid_most;
    uint64_t memory, hive, gpu_id;
    uint32_t workgroup_dims[3], grid_dims[3];
    const void *bank_list, *cache_list, *link_list;
    const char *name, *vendor_name, *product, *model;
    uint32_t node;
    int32_t number, ordinal; /* among all agents; among those of its type */
    int32_t padding;
};

typedef int rocp_agents_fn(int version, const void **agents, size_t count, void *data);

/* ---- functions ----------------------------------------------------------------------- */

typedef void rocp_buffer_fn(uint64_t context, uint64_t buffer, struct rocp_header **headers,
                            size_t count, void *data, uint64_t dropped);
typedef int rocp_kind_fn(int kind, void *data);
typedef int rocp_operation_fn(int kind, uint32_t operation, void *data);

/* Lists f(required, result, name, arguments). Ids are structs of one 64-bit number, which are
 * passed like that number. */
#define ROCP_FUNCTIONS(F)                                                                          \
    F(true, int, rocprofiler_create_context, (uint64_t * context))                                 \
    F(true, int, rocprofiler_start_context, (uint64_t context))                                    \
    F(true, int, rocprofiler_stop_context, (uint64_t context))                                     \
    F(true, int, rocprofiler_create_buffer,                                                        \
      (uint64_t context, size_t bytes, size_t watermark, int policy, rocp_buffer_fn *fn,           \
       void *data, uint64_t *buffer))                                                              \
    F(true, int, rocprofiler_flush_buffer, (uint64_t buffer))                                      \
    F(true, int, rocprofiler_create_callback_thread, (uint64_t * thread))                          \
    F(true, int, rocprofiler_assign_callback_thread, (uint64_t buffer, uint64_t thread))           \
    F(true, int, rocprofiler_configure_buffer_tracing_service,                                     \
      (uint64_t context, int kind, const void *operations, size_t count, uint64_t buffer))         \
    F(true, int, rocprofiler_configure_callback_tracing_service,                                   \
      (uint64_t context, int kind, const uint32_t *operations, size_t count, void *fn,             \
       void *data))                                                                                \
    F(true, int, rocprofiler_iterate_buffer_tracing_kinds, (rocp_kind_fn * fn, void *data))        \
    F(true, int, rocprofiler_query_buffer_tracing_kind_name,                                       \
      (int kind, const char **name, uint64_t *length))                                             \
    F(true, int, rocprofiler_iterate_callback_tracing_kinds, (rocp_kind_fn * fn, void *data))      \
    F(true, int, rocprofiler_query_callback_tracing_kind_name,                                     \
      (int kind, const char **name, uint64_t *length))                                             \
    F(true, int, rocprofiler_iterate_callback_tracing_kind_operations,                             \
      (int kind, rocp_operation_fn *fn, void *data))                                               \
    F(true, int, rocprofiler_query_callback_tracing_kind_operation_name,                           \
      (int kind, uint32_t operation, const char **name, uint64_t *length))                         \
    F(true, int, rocprofiler_query_available_agents,                                               \
      (int version, rocp_agents_fn *fn, size_t agent_bytes, void *data))                           \
    F(true, int, rocprofiler_force_configure, (rocp_configure_fn * fn))                            \
    F(false, const char *, rocprofiler_get_status_name, (int status))                              \
    F(false, int, rocprofiler_configure_buffer_dispatch_counting_service,                          \
      (uint64_t context, uint64_t buffer, void *fn, void *data))                                   \
    F(false, int, rocprofiler_configure_buffered_dispatch_counting_service,                        \
      (uint64_t context, uint64_t buffer, void *fn, void *data))                                   \
    F(false, int, rocprofiler_configure_buffered_dispatch_profile_counting_service,                \
      (uint64_t context, uint64_t buffer, void *fn, void *data))                                   \
    F(false, int, rocprofiler_create_counter_config,                                               \
      (uint64_t agent, uint64_t * counters, size_t count, uint64_t * config))                      \
    F(false, int, rocprofiler_create_profile_config,                                               \
      (uint64_t agent, uint64_t * counters, size_t count, uint64_t * config))                      \
    F(false, int, rocprofiler_iterate_agent_supported_counters,                                    \
      (uint64_t agent, rocp_counters_fn * fn, void *data))                                         \
    F(false, int, rocprofiler_query_counter_info,                                                  \
      (uint64_t counter, int version, struct rocp_counter_info *out))                              \
    F(false, int, rocprofiler_query_record_counter_id, (uint64_t instance, uint64_t * counter))    \
    F(false, int, rocprofiler_query_pc_sampling_agent_configurations,                              \
      (uint64_t agent, rocp_samplings_fn * fn, void *data))                                        \
    F(false, int, rocprofiler_configure_pc_sampling_service,                                       \
      (uint64_t context, uint64_t agent, int method, int unit, uint64_t interval, uint64_t buffer, \
       int flags))

/* ---- sizes and places, as in the vendor's headers ------------------------------------ */

#define ROCP_CHECK(condition) _Static_assert(condition, "rocprofiler-sdk's layout")

ROCP_CHECK(sizeof(struct rocp_client_old) == 16 && sizeof(struct rocp_client_new) == 24);
ROCP_CHECK(sizeof(struct rocp_tool) == 32 && sizeof(struct rocp_header) == 16);
ROCP_CHECK(sizeof(struct rocp_callback_old) == 56 && sizeof(struct rocp_callback_new) == 64);
ROCP_CHECK(offsetof(struct rocp_callback_old, kind) == 32 &&
           offsetof(struct rocp_callback_old, payload) == 48);
ROCP_CHECK(offsetof(struct rocp_callback_new, kind) == 40 &&
           offsetof(struct rocp_callback_new, payload) == 56);
ROCP_CHECK(offsetof(struct rocp_marker, made) == 24);
ROCP_CHECK(offsetof(struct rocp_code_object, storage) == 64 &&
           sizeof(struct rocp_code_object) == 88);
ROCP_CHECK(offsetof(struct rocp_symbol, group_bytes) == 48 &&
           offsetof(struct rocp_symbol, accum_vgprs) == 64 && sizeof(struct rocp_symbol) == 72);
ROCP_CHECK(offsetof(struct rocp_dispatch, thread) == 32 &&
           offsetof(struct rocp_dispatch, info_size) == 56 &&
           offsetof(struct rocp_dispatch, kernel) == 80 &&
           offsetof(struct rocp_dispatch, private_bytes) == 96 &&
           offsetof(struct rocp_dispatch, workgroup) == 104 &&
           offsetof(struct rocp_dispatch, grid) == 116);
ROCP_CHECK(sizeof(struct rocp_dispatch_info) == 128 &&
           offsetof(struct rocp_dispatch_info, kernel) == 24);
ROCP_CHECK(sizeof(struct rocp_counting_old) == 152 && sizeof(struct rocp_counting_new) == 168);
ROCP_CHECK(sizeof(struct rocp_counted_old) == 160 && sizeof(struct rocp_counted_new) == 176 &&
           offsetof(struct rocp_counted_new, info) == 48);
ROCP_CHECK(sizeof(struct rocp_value) == 24 && offsetof(struct rocp_counter_info, room) == 48);
ROCP_CHECK(offsetof(struct rocp_copy, to) == 56 && offsetof(struct rocp_copy, bytes) == 72);
ROCP_CHECK(offsetof(struct rocp_agent, wave_size) == 64 &&
           offsetof(struct rocp_agent, simds_per_cu) == 92 &&
           offsetof(struct rocp_agent, gfx_target) == 100 &&
           offsetof(struct rocp_agent, location) == 108 &&
           offsetof(struct rocp_agent, gpu_mhz) == 140 &&
           offsetof(struct rocp_agent, memory) == 176 && offsetof(struct rocp_agent, name) == 248 &&
           offsetof(struct rocp_agent, ordinal) == 288 && sizeof(struct rocp_agent) == 296);

#endif
