/* test_peer_encode.c - tests the exact lines of the public client's format. */
#include "tests/test.h"
#include "tests/unit/support/peer_ours.h"

#include "base/alloc.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNELS                                                                                    \
    "{\"version\":1,\"type\":\"kernel_event_batch\"," SESSION ",\"batch_id\":1,"                   \
    "\"base_time_ns\":1200,\"columns\":[\"dt_ns\",\"kernel_id\",\"stream_id\",\"duration_ns\","    \
    "\"corr_id\",\"dyn_shared\",\"num_regs\",\"has_details\",\"external_kind\","                   \
    "\"external_id\"],\"rows\":["
#define DETAIL(corr, scope)                                                                        \
    "{\"version\":1,\"type\":\"kernel_detail\"," SESSION ",\"pid\":7,\"app\":\"toy\","             \
    "\"corr_id\":" corr ",\"grid\":\"(4,1,1)\",\"block\":\"(64,1,1)\",\"static_shared\":0,"        \
    "\"local_bytes\":0,\"const_bytes\":0,\"occupancy\":0.500000,\"reg_occupancy\":1.000000,"       \
    "\"smem_occupancy\":1.000000,\"warp_occupancy\":1.000000,\"block_occupancy\":0.500000,"        \
    "\"limiting_resource\":\"warps\",\"max_active_blocks\":16,\"local_mem_total_bytes\":0,"        \
    "\"local_mem_per_thread_bytes\":0,\"cache_config_requested\":0,"                               \
    "\"cache_config_executed\":0,\"shared_mem_executed_bytes\":0,\"user_scope\":" scope            \
    ",\"stack_trace\":\"\"}\n"
#define STATIC_DEVICE                                                                              \
    "{\"id\":0,\"name\":\"GPU A\",\"uuid\":\"GPU-1\",\"vendor\":\"NVIDIA\","                       \
    "\"architecture\":\"sm_90\",\"compute_major\":9,\"compute_minor\":0,"                          \
    "\"l2_cache_size_bytes\":1048576,\"shared_mem_per_block_bytes\":49152,"                        \
    "\"regs_per_block\":65536,\"multi_processor_count\":132,\"warp_size\":32}"
#define DEVICE(used, free, rest)                                                                   \
    "{\"id\":0,\"name\":\"GPU A\",\"uuid\":\"GPU-1\",\"vendor\":\"NVIDIA\",\"pci_bus\":\"\","      \
    "\"used_mib\":" used ",\"free_mib\":" free ",\"total_mib\":81920," rest "}"
#define JOB_START                                                                                  \
    "{\"version\":1,\"type\":\"job_start\",\"pid\":7,\"app\":\"toy\"," SESSION ","                 \
    "\"log_path\":\"/t/o\",\"ts_ns\":1100,\"hostname\":\"h1\",\"ip_addr\":\"\","                   \
    "\"host\":{\"cpu_pct\":0.0,\"ram_used_mib\":0,\"ram_total_mib\":0},\"devices\":[" DEVICE(      \
        "0", "0",                                                                                  \
        "\"util_gpu_pct\":0,\"util_mem_pct\":0,\"temp_c\":0,\"power_mw\":0,"                       \
        "\"clk_gfx_mhz\":0,\"clk_sm_mhz\":0,\"clk_mem_mhz\":0,\"throttle_pwr\":0,"                 \
        "\"throttle_therm\":0,\"pcie_rx_bw_bps\":0,\"pcie_tx_bw_bps\":0") "],\"gpu_static_"        \
                                                                          "devices\":"             \
                                                                          "[" STATIC_DEVICE        \
                                                                          "],\"cuda_static_"       \
                                                                          "devices\":"             \
                                                                          "[" STATIC_DEVICE "],"   \
                                                                          "\"rocm_static_"         \
                                                                          "devices\":[],"          \
                                                                          "\"session_kind\":"      \
                                                                          "\"trace\","             \
                                                                          "\"profiling_engine\":"  \
                                                                          "\"nvidia.trace\"}\n"

TEST(test_job_start_and_shutdown)
{
    struct peer_encoder *e = peer_ours();
    ROWS(e, capability, {NAME_KERNELS, 1, NAME_COLLECTED, 0},
         {NAME_OUTER, 0, NAME_FAILED, NAME_WHY});
    ROWS(e, end, {900, NAME_WHY});
    for (int i = 0; i < PEER_CHANNEL_COUNT; i++)
        EXPECT(e, i, "");
    assert_int_equal(peer_encoder_finish(e), 0);
    assert_int_equal(peer_encoder_finish(e), 0);
    for (int i = 0; i < PEER_CHANNEL_COUNT; i++)
        EXPECT(e, i,
               JOB_START
               "{\"version\":1,\"type\":\"capture_capabilities\"," SESSION ",\"ts_ns\":1900,"
               "\"requested_engine\":\"nvidia.trace\",\"selected_engine\":\"nvidia.trace\","
               "\"capabilities\":[{\"feature\":\"kernel_events\",\"requested\":true,"
               "\"status\":\"collected\",\"mode\":\"\",\"reason_code\":\"\",\"message\":\"\"},"
               "{\"feature\":\"outer\",\"requested\":false,\"status\":\"skipped\",\"mode\":\"\","
               "\"reason_code\":\"failed\",\"message\":\"no library\"}]}\n"
               "{\"type\":\"shutdown\",\"pid\":7,\"app\":\"toy\"," SESSION ",\"ts_ns\":1900}\n");
    peer_encoder_close(e);
}

/* A session that did not end cleanly has no shutdown. */
TEST(test_no_end_no_shutdown)
{
    struct peer_encoder *e = peer_ours();
    assert_int_equal(peer_encoder_finish(e), 0);
    EXPECT(e, PEER_SASS, JOB_START);
    peer_encoder_close(e);
}

TEST(test_kernels)
{
    struct peer_encoder *e = peer_ours_running();
    const struct scope_row scopes[] = {{.instance = 2, .name = NAME_OUTER, .start = CELL_NULL},
                                       {.instance = 3, .parent = 2, .name = NAME_INNER}};
    for (int i = 0; i < 2; i++) {
        struct wire_batch b = {RECORD_scope, &records[RECORD_scope], 1, {NULL}};
        for (unsigned c = 0; c < COL_scope_COUNT; c++)
            b.col[c] = (const int64_t *)&scopes[i] + c;
        assert_int_equal(peer_encoder_learn(e, &b), 0);
    }
    ROWS(e, kernel,
         {.start = 200,
          .duration = 10,
          .config = 1,
          .stream = 1,
          .correlation = 11,
          .scope = 3,
          .external_kind = 3,
          .external_id = -1},
         {.start = 190, .duration = 9, .config = 1, .stream = 1, .correlation = 11},
         {.start = CELL_NULL, .config = 1, .correlation = 12}, {.start = 201, .config = 9});
    EXPECT(e, PEER_DEVICE,
           "{\"version\":1,\"type\":\"dictionary_update\"," SESSION
           ",\"kernel_dict\":{\"1\":\"axpy()\"}}\n" KERNELS
           "[0,1,7,10,11,16,24,1,3,18446744073709551615],[-10,1,7,9,4294967295,16,24,1,0,0],"
           "[1,0,0,0,4294967294,0,0,0,0,0]]}\n" DETAIL("11", "\"outer|in\\\"n\"")
               DETAIL("4294967295", "\"global\""));
    EXPECT(e, PEER_SYSTEM,
           "{\"version\":1,\"type\":\"dictionary_update\"," SESSION
           ",\"kernel_dict\":{\"1\":\"axpy()\"}}\n");
    assert_int_equal(peer_encoder_left_out(e), 1); /* the row without a time */
    peer_ours_drain(e);
    ROWS(e, kernel, {.start = 300, .duration = 1, .config = 1, .stream = 1, .correlation = 12});
    assert_null(strstr(peer_ours_lines(e, PEER_DEVICE), "dictionary_update")); /* already written */
    assert_non_null(
        strstr(peer_ours_lines(e, PEER_DEVICE), "\"batch_id\":2,\"base_time_ns\":1300,"));
    peer_encoder_close(e);
}

/* However often a correlation id repeats, no two kernels of a session share one. */
TEST(test_correlations_are_unique)
{
    struct peer_encoder *e = peer_ours_running();
    enum { N = 500 };
    struct kernel_row rows[N];
    for (int i = 0; i < N; i++)
        rows[i] = (struct kernel_row){.start = i, .config = 1, .correlation = i % 7};
    for (int round = 0; round < 2; round++)
        assert_int_equal(peer_encoder_rows(e, RECORD_kernel, (const int64_t *)rows, N), 0);
    static unsigned long seen[2 * N];
    int n = 0;
    for (const char *at = peer_ours_lines(e, PEER_DEVICE); (at = strstr(at, "\"corr_id\":")); n++) {
        at += strlen("\"corr_id\":");
        seen[n] = strtoul(at, NULL, 10);
        for (int i = 0; i < n; i++)
            assert_int_not_equal(seen[i], seen[n]);
    }
    assert_int_equal(n, 2 * N);
    peer_encoder_close(e);
}

TEST(test_copies_fills_syncs_allocs)
{
    struct peer_encoder *e = peer_ours_running();
    ROWS(e, memcpy,
         {.start = 300, .duration = 30, .bytes = 4096, .kind = 1, .stream = 1, .correlation = 13},
         {.start = 310, .duration = CELL_NULL, .bytes = 1, .kind = 8, .stream = 0});
    EXPECT(e, PEER_DEVICE,
           "{\"version\":1,\"type\":\"memcpy_event_batch\"," SESSION ",\"batch_id\":1,"
           "\"base_time_ns\":1300,\"columns\":[\"dt_ns\",\"stream_id\",\"duration_ns\",\"bytes\","
           "\"copy_kind\",\"corr_id\"],\"rows\":[[0,7,30,4096,1,13],[10,0,0,1,8,0]]}\n");
    peer_ours_drain(e);
    ROWS(e, memset, {.start = 10, .duration = 2, .bytes = 256, .stream = 1, .correlation = 14});
    EXPECT(e, PEER_DEVICE,
           "{\"type\":\"memset_event\",\"pid\":7,\"app\":\"toy\"," SESSION ",\"name\":\"memset\","
           "\"platform\":\"cuda\",\"device_id\":\"0\",\"stream_id\":\"7\",\"stack_trace\":\"\","
           "\"user_scope\":\"global\",\"scope_depth\":0,\"start_ns\":1010,\"end_ns\":1012,"
           "\"api_start_ns\":0,\"api_exit_ns\":0,\"corr_id\":14,\"bytes\":256}\n");
    ROWS(e, sync, {.start = 3000, .duration = 2500, .kind = 4, .stream = 2, .correlation = 15});
    ROWS(e, alloc,
         {.time = 800,
          .op = 1,
          .memory = 3,
          .address = 140000000000,
          .bytes = 1048576,
          .device = 1,
          .correlation = 9},
         {.time = 801, .op = 2, .memory = 3, .address = -1, .device = 1});
    EXPECT(e, PEER_SCOPE,
           "{\"version\":1,\"type\":\"synchronization_event_batch\"," SESSION ",\"batch_id\":1,"
           "\"base_time_ns\":4000,\"columns\":[\"dt_ns\",\"duration_ns\",\"sync_type\","
           "\"stream_id\",\"event_id\",\"context_id\",\"corr_id\",\"function_id\"],"
           "\"rows\":[[0,2500,4,0,0,1,15,0]]}\n"
           "{\"version\":1,\"type\":\"memory_alloc_event_batch\"," SESSION ",\"batch_id\":1,"
           "\"base_time_ns\":1800,\"columns\":[\"dt_ns\",\"duration_ns\",\"memory_op\","
           "\"memory_kind\",\"address\",\"bytes\",\"device_id\",\"stream_id\",\"corr_id\"],"
           "\"rows\":[[0,0,1,3,140000000000,1048576,0,0,9],"
           "[1,0,2,3,18446744073709551615,0,0,0,0]]}\n");
    peer_ours_drain(e);
    ROWS(e, graph_launch, {.start = 10, .duration = 5, .graph = 2, .correlation = 20});
    EXPECT(e, PEER_SCOPE,
           "{\"type\":\"graph_launch_event\",\"pid\":7,\"app\":\"toy\"," SESSION
           ",\"start_ns\":1010,\"end_ns\":1010,\"duration_ns\":0,\"graph_id\":2,\"device_id\":0,"
           "\"stream_id\":0,\"corr_id\":20}\n");
    peer_encoder_close(e);
}

/* Rows without lines (options, clocks) may come before the devices are known. Readers take the
 * devices from the first job_start, so it is written with the first line. */
TEST(test_job_start_waits_for_a_line)
{
    struct peer_encoder *e;
    const struct peer_encode_config c = {.demangle = peer_ours_show};
    assert_int_equal(peer_encoder_open(&e, &c), 0);
    assert_int_equal(peer_encoder_header(e, &peer_ours_header), 0);
    ROWS(e, clock, {.monotonic = 1, .real = 1001});
    ROWS(e, option, {.name = NAME_OUTER});
    EXPECT(e, PEER_DEVICE, "");
    assert_int_equal(peer_encoder_left_out(e), 2);
    ROWS(e, device, {.id = 1, .index = 0, .sm_count = 132});
    ROWS(e, host_metric, {.time = 1, .cpu = 100, .memory_used = CELL_NULL});
    assert_non_null(strstr(peer_ours_lines(e, PEER_DEVICE), "\"multi_processor_count\":132"));
    peer_encoder_close(e);
}

/* That format has no null for the host's CPU: a sample without it would look like an idle host. */
TEST(test_host_without_cpu_is_left_out)
{
    struct peer_encoder *e = peer_ours_running();
    ROWS(e, host_metric, {.time = 1, .cpu = CELL_NULL, .memory_used = 1 << 20},
         {.time = 2, .cpu = 0, .memory_used = 1 << 20});
    assert_non_null(strstr(peer_ours_lines(e, PEER_SYSTEM), "\"rows\":[[0,0,1,0]]"));
    assert_int_equal(peer_encoder_left_out(e), 1);
    peer_encoder_close(e);
}

TEST(test_metrics)
{
    struct peer_encoder *e = peer_ours_running();
    ROWS(e, device_metric,
         {.time = 100,
          .device = 1,
          .gpu_util = 40,
          .mem_util = 5,
          .temperature = 50,
          .power = 120000,
          .memory_used = 900ll << 20,
          .memory_total = 80000ll << 20,
          .clock_sm = 1500,
          .energy = CELL_NULL,
          .pcie_total = CELL_NULL});
    ROWS(e, device_metric,
         {.time = 110,
          .device = 1,
          .energy = 3,
          .pcie_rx = 5,
          .pcie_tx = 6,
          .pcie_total = CELL_NULL,
          .fan = CELL_NULL,
          .memory_total = 80ll << 30,
          .memory_used = 2ll << 20,
          .throttle = 32});
    ROWS(e, host_metric,
         {.time = 100,
          .cpu = 1256,
          .memory_used = 2048ll << 20,
          .memory_total = 65536ll << 20,
          .process_cpu = 5,
          .process_rss = 6});
    ROWS(e, window, {.time = 9, .name = NAME_OUTER, .phase = 1});
    EXPECT(e, PEER_SYSTEM,
           "{\"version\":1,\"type\":\"device_metric_batch\"," SESSION ",\"batch_id\":1,"
           "\"base_time_ns\":1100,\"columns\":[\"dt_ns\",\"device_id\",\"gpu_util\",\"mem_util\","
           "\"temp_c\",\"power_mw\",\"used_mib\",\"total_mib\",\"clock_sm\"],"
           "\"rows\":[[0,0,40,5,50,120000,900,80000,1500]]}\n"
           "{\"version\":1,\"type\":\"device_metric_batch\"," SESSION ",\"batch_id\":2,"
           "\"base_time_ns\":1110,\"columns\":[\"dt_ns\",\"device_id\",\"gpu_util\",\"mem_util\","
           "\"temp_c\",\"power_mw\",\"used_mib\",\"total_mib\",\"clock_sm\",\"fan_speed_pct\","
           "\"temp_mem_c\",\"temp_junction_c\",\"voltage_mv\",\"energy_uj\",\"clock_mem\","
           "\"pcie_bw_bps\",\"ecc_corrected\",\"ecc_uncorrected\"],"
           "\"rows\":[[0,0,0,0,0,0,2,81920,0,0,0,0,0,3000,0,11,0,0]]}\n"
           "{\"version\":1,\"type\":\"host_metric_batch\"," SESSION ",\"hostname\":\"h1\","
           "\"ip_addr\":\"\",\"batch_id\":1,\"base_time_ns\":1100,\"columns\":[\"dt_ns\","
           "\"cpu_pct_x100\",\"ram_used_mib\",\"ram_total_mib\"],\"rows\":[[0,1256,2048,65536]]}\n"
           "{\"type\":\"system_stop\",\"pid\":7,\"app\":\"toy\"," SESSION ",\"name\":\"outer\","
           "\"ts_ns\":1009,\"host\":{\"cpu_pct\":12.5,\"ram_used_mib\":2048,"
           "\"ram_total_mib\":65536},\"devices\":[" DEVICE(
               "2", "81918",
               "\"util_gpu_pct\":0,\"util_mem_pct\":0,\"temp_c\":0,\"power_mw\":0,"
               "\"clk_gfx_mhz\":0,\"clk_sm_mhz\":0,\"clk_mem_mhz\":0,\"throttle_pwr\":0,"
               "\"throttle_therm\":1,\"pcie_rx_bw_bps\":5,\"pcie_tx_bw_bps\":6") "]}\n");
    peer_encoder_close(e);
}

/* In our logs ids count from 1; a damaged id, or another writer's, may be any number. It needs the
 * room of a row, not of all the ids below it. */
TEST(test_large_ids)
{
    static const int64_t ids[] = {1 << 26, UINT32_MAX - 7, INT64_MAX};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct peer_encoder *e = peer_ours_running();
        const int64_t id = ids[i], name = id < UINT32_MAX ? id : NAME_KERNEL;
        assert_int_equal(peer_encoder_name(e, (uint32_t)name, "big", 3), 0);
        ROWS(e, config, {.id = id, .name = name, .registers = 33});
        ROWS(e, stream, {id, id, 1, 99});
        ROWS(e, device_metric, {.time = 1, .device = id, .gpu_util = 3});
        ROWS(e, kernel, {.start = 200, .config = id, .stream = id, .correlation = 5});
        assert_non_null(strstr(peer_ours_lines(e, PEER_DEVICE), "[[0,1,99,0,5,0,33,1,0,0]]"));
        assert_non_null(strstr(peer_ours_lines(e, PEER_DEVICE),
                               id < UINT32_MAX ? "\"1\":\"big\"" : "\"1\":\"axpy()\""));
        peer_encoder_close(e);
    }
}

/* Devices are in the order of their ids, whichever was read first, and a log of very many devices
 * does not make lines without limit. */
TEST(test_order_of_devices)
{
    struct peer_encoder *e = peer_ours();
    for (int64_t id = 3; id > 1; id--)
        ROWS(e, device, {.id = id, .index = id - 1, .name = NAME_GPU});
    ROWS(e, window, {.time = 1});
    const char *first = strstr(peer_ours_lines(e, PEER_SYSTEM), "\"devices\":[{\"id\":0,");
    assert_non_null(first);
    assert_true(strstr(first, "{\"id\":1,") < strstr(first, "{\"id\":2,"));
    for (int64_t id = 4; id < 5000; id++)
        ROWS(e, device, {.id = id, .index = id - 1, .name = NAME_GPU});
    peer_ours_drain(e);
    ROWS(e, window, {.time = 2});
    assert_non_null(strstr(peer_ours_lines(e, PEER_SYSTEM), "{\"id\":200,"));
    assert_true(peer_encoder_lines(e, PEER_SYSTEM)->len < 200000);
    peer_encoder_close(e);
}

/* If the total memory is unknown, the free memory is unknown, too. */
TEST(test_free_memory_needs_a_total)
{
    struct peer_encoder *e = peer_ours();
    ROWS(e, device, {.id = 1, .index = 0, .memory_total = CELL_NULL});
    ROWS(e, device_metric,
         {.time = 1, .device = 1, .memory_used = 5 << 20, .memory_total = CELL_NULL});
    assert_non_null(strstr(peer_ours_lines(e, PEER_SYSTEM), "\"used_mib\":5,\"free_mib\":0,"));
    peer_encoder_close(e);
}

/* A name may contain any byte, even the one that ends strings. */
TEST(test_name_with_nul)
{
    struct peer_encoder *e = peer_ours_running();
    assert_int_equal(peer_encoder_name(e, 40, "a\0b", 3), 0);
    ROWS(e, scope, {.start = 1, .duration = 1, .instance = 1, .name = 40});
    assert_non_null(strstr(peer_ours_lines(e, PEER_SCOPE), "{\"1\":\"a\\u0000b\"}"));
    peer_encoder_close(e);
}

/* Every allocation fails once: that is an error, never a crash or a leak. */
TEST(test_out_of_memory)
{
    for (int64_t n = 0;; n++) {
        struct peer_encoder *e = NULL;
        const struct peer_encode_config c = {.demangle = peer_ours_show};
        const struct config_row config = {.id = 1, .name = 1};
        const struct kernel_row kernel = {.start = 1, .config = 1, .correlation = 1};
        const struct scope_row scope = {.start = 1, .duration = 1, .instance = 1, .name = 1};
        mem_fail_at(n);
        int rc = peer_encoder_open(&e, &c);
        rc = rc ? rc : peer_encoder_header(e, &peer_ours_header);
        rc = rc ? rc : peer_encoder_name(e, 1, "x", 1);
        rc = rc ? rc : peer_encoder_rows(e, RECORD_config, (const int64_t *)&config, 1);
        rc = rc ? rc : peer_encoder_rows(e, RECORD_kernel, (const int64_t *)&kernel, 1);
        rc = rc ? rc : peer_encoder_rows(e, RECORD_scope, (const int64_t *)&scope, 1);
        rc = rc ? rc : peer_encoder_finish(e);
        bool failed = mem_count() > n;
        mem_fail_at(-1);
        assert_int_equal(rc, failed ? GPUFL_E_NOMEM : 0);
        peer_encoder_close(e);
        if (!failed)
            break;
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_start_and_shutdown),
        cmocka_unit_test(test_no_end_no_shutdown),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_correlations_are_unique),
        cmocka_unit_test(test_copies_fills_syncs_allocs),
        cmocka_unit_test(test_job_start_waits_for_a_line),
        cmocka_unit_test(test_host_without_cpu_is_left_out),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_large_ids),
        cmocka_unit_test(test_order_of_devices),
        cmocka_unit_test(test_free_memory_needs_a_total),
        cmocka_unit_test(test_name_with_nul),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
