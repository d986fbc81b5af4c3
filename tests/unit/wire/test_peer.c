/* test_peer.c - sessions of the public client's format are read as rows of ours. */
#include "tests/test.h"
#include "tests/unit/support/peer_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA    "tests/data/peer/5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34/"
#define SESSION "5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34"

static const char sample[] =
    "header 5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34 app=train pid=4711 host=node7 run= engine=Trace "
    "backend=nvidia start=0\n"
    "device id=1 index=0 name='NVIDIA H200' uuid='GPU-6b1f2c3d-0000-1111-2222-333344445555' "
    "vendor='nvidia' pci='00000000:1B:00.0' arch='sm_90' memory_total=150754820096 sm_count=132 "
    "warp_size=32 regs_per_block=65536 shared_per_block=49152 l2_size=62914560 compute_major=9 "
    "compute_minor=0 driver=''\n"
    "config id=1 name='gemm_128x64(Params)' device=1 grid_x=132 grid_y=4 grid_z=1 block_x=128 "
    "block_y=1 block_z=1 registers=128 shared_static=0 shared_dynamic=32768 shared_executed=102400 "
    "local_per_thread=0 local_total=33554432 cache_requested=0 cache_executed=1 occ_blocks=4 "
    "occ_limit_warps=16 occ_limit_regs=4 occ_limit_shared=8 occ_limiter='registers' occ_warps=16 "
    "occ_max_warps=64\n"
    "scope instance=1 parent=0 name='train' tag=''\n"
    "scope instance=2 parent=1 name='step' tag=''\n"
    "config id=2 name='void axpy<float>(int, float, float const*, float*)' device=1 grid_x=4096 "
    "grid_y=1 grid_z=1 block_x=64 block_y=1 block_z=1 registers=24 shared_static=0 "
    "shared_dynamic=0 shared_executed=102400 local_per_thread=0 local_total=33554432 "
    "cache_requested=0 cache_executed=1 occ_blocks=16 occ_limit_warps=32 occ_limit_blocks=16 "
    "occ_limiter='blocks' occ_warps=32 occ_max_warps=64\n"
    "stream id=1 device=1 number=7\n"
    "stream id=2 device=1 number=13\n"
    "config id=3 name='void axpy<float>(int, float, float const*, float*)' device=1 registers=24 "
    "shared_dynamic=0 occ_limiter=''\n"
    "kernel start=10000000 duration=420000 config=1 stream=1 correlation=11 scope=2 "
    "external_kind=0 external_id=0\n"
    "kernel start=10430000 duration=5200 config=2 stream=1 correlation=12 scope=2 external_kind=0 "
    "external_id=0\n"
    "kernel start=10436000 duration=5100 config=2 stream=1 correlation=12 scope=2 external_kind=3 "
    "external_id=88\n"
    "kernel start=10900000 duration=419000 config=1 stream=1 correlation=13 scope=1 "
    "external_kind=3 external_id=-1\n"
    "kernel start=9995000 duration=5000 config=3 stream=2 correlation=14 external_kind=0 "
    "external_id=0\n"
    "memcpy start=9000000 duration=300000 bytes=16777216 kind=1 stream=1 correlation=9\n"
    "memcpy start=17000000 duration=12000 bytes=262144 kind=2 stream=1 correlation=21\n"
    "memset start=9500000 duration=2000 bytes=1048576 stream=1 correlation=10 scope=1\n"
    "counter source=3 device=1 metric='sm_throughput_pct' value=4125 exponent=-2 kernel='' "
    "range='0' ordinal=1\n"
    "counter source=3 device=1 metric='l2_hit_rate_pct' value=88 kernel='' range='0' ordinal=1\n"
    "counter source=3 device=1 metric='dram_read_bytes' value=1024 kernel='' range='0' ordinal=1\n"
    "counter source=3 device=1 metric='achieved_occupancy_pct' value=5 exponent=1 kernel='' "
    "range='0' ordinal=1\n"
    "config id=4 name='softmax(float*)' device=1 grid_x=64 grid_y=1 grid_z=1 block_x=256 block_y=1 "
    "block_z=1 registers=32 shared_static=0 shared_dynamic=0 shared_executed=102400 "
    "local_per_thread=16 local_total=33554432 cache_requested=0 cache_executed=1 occ_blocks=8 "
    "occ_limit_warps=8 occ_limiter='warps' occ_warps=64 occ_max_warps=64\n"
    "kernel start=30000000 duration=8000 config=4 stream=1 correlation=31 scope=0 external_kind=0 "
    "external_id=0\n"
    "capability feature='kernels' requested=1 status='collected' reason='(cupti_activity)'\n"
    "capability feature='nvtx_markers' requested=1 status='enabled_no_data' "
    "reason='enabled_but_no_records (cupti_activity)'\n"
    "capability feature='pc_sampling' requested=0 status='not_requested' reason='Option is off. "
    "(disabled)'\n"
    "end time=100000000 reason='shutdown'\n"
    "scope start=9000000 duration=8000000 instance=4 parent=3 name='step' depth=1 repeat=0 "
    "warmup=0\n"
    "stream id=3 device=1 context=1\n"
    "sync start=12000000 duration=2500000 kind=4 stream=3 event=0 correlation=22\n"
    "sync start=15000000 duration=40000 kind=3 stream=1 event=0 correlation=23\n"
    "alloc time=7000000 op=1 memory=3 address=0x2098a67800 bytes=16777216 device=1 stream=0 "
    "correlation=5\n"
    "alloc time=97000000 op=2 memory=3 address=0x2098a67800 bytes=16777216 device=1 stream=0 "
    "correlation=40\n"
    "function id=1 object=0 name='main' file='/src/main.cpp'\n"
    "stall_reason id=1 name='wait' driver_name='stalled_wait' index=9\n"
    "pc_sample start=20000000 device=1 function=1 offset=128 reason=1 samples=40 scope=1\n"
    "graph_launch start=50000000 graph=2 correlation=35\n"
    "scope start=8000000 duration=87000000 instance=3 parent=0 name='train' depth=0 repeat=5 "
    "warmup=1\n"
    "scope instance=6 parent=0 name='step' tag=''\n"
    "device_metric time=-1000000 device=1 gpu_util=0 mem_util=0 memory_used=1268776960 "
    "memory_total=150754820096 temperature=31 power=76210 clock_sm=345\n"
    "window time=1000000 name='sampling' phase=0 capture=0\n"
    "device_metric time=20000000 device=1 gpu_util=97 mem_util=41 memory_used=10171187200 "
    "memory_total=150754820096 temperature=44 temperature_memory=47 power=512000 energy=81000 "
    "clock_sm=1980 clock_mem=3201 pcie_total=1536000\n"
    "device_metric time=60000000 device=1 gpu_util=98 mem_util=40 memory_used=10171187200 "
    "memory_total=150754820096 temperature=45 temperature_memory=48 power=515500 energy=101500 "
    "clock_sm=1980 clock_mem=3201\n"
    "host_metric time=20000000 cpu=1250 memory_used=21474836480 memory_total=540016640000\n"
    "host_metric time=60000000 cpu=1310 memory_used=21485322240 memory_total=540016640000\n"
    "window time=95500000 name='sampling' phase=1 capture=0\n"
    "source path='/src/axpy.cu' hash=0xa74f77a7c685986c size=7 offset=0 text='int a;\n'\n"
    "code_object id=1 crc=0x8964439f8f05a93a module='' arch='' file=''\n"
    "function id=2 object=1 name='_Z7softmaxPf' file=''\n"
    "instruction function=2 offset=0 level=0 text='NOP ;' file='' inlined=''\n"
    "scope_open start=95000100 instance=5 parent=0 name='step' depth=0 repeat=0 warmup=0\n";

TEST(test_sample)
{
    struct run r;
    run_begin(&r, 1770000000000000000);
    static const char *const files[] = {DATA "device.1.log", DATA "device.2.log",
                                        DATA "scope.1.log", DATA "system.1.log", DATA "sass.1.log"};
    for (int i = 0; i < 5; i++)
        run_file(&r, files[i]);
    run_finish(&r);
    assert_string_equal(buf_cstr(&r.seen.text), sample);
    const struct decode_stats *s = decoder_stats(r.d);
    assert_int_equal(s->lines, 40);
    assert_int_equal(s->foreign, 40);
    assert_int_equal(s->foreign_unmapped, 1);
    assert_int_equal(s->foreign_orphans, 0);
    assert_int_equal(s->damaged, 0);
    assert_int_equal(s->unknown_records, 0);
    assert_int_equal(s->unknown_columns, 0);
    run_end(&r);
}

/* Checks what lines give after decoder_finish. */
static void expect(const char *const *lines, const char *want)
{
    struct run r;
    run_begin(&r, 0);
    for (; *lines; lines++)
        run_line(&r, *lines);
    run_finish(&r);
    assert_string_equal(buf_cstr(&r.seen.text), want);
    run_end(&r);
}

#define EXPECT(want, ...) expect((const char *const[]){__VA_ARGS__, NULL}, want)

/* Columns are found by name, or by place if a line has no names. Rows may be null, short or long,
 * cells may be null, and columns unknown. */
TEST(test_columns)
{
    static const char want[] = "stream id=1 device=0 number=7\n"
                               "memcpy start=107 duration=3 bytes=9 kind=2 stream=1 correlation=4\n"
                               "header s app= pid=0 host= run= engine= backend= start=100\n";
    EXPECT(want, BATCH("memcpy_event_batch", "\"base_time_ns\":100,\"rows\":[[7,7,3,9,2,4]]"));
    EXPECT(want, BATCH("memcpy_event_batch",
                       "\"rows\":[[4,9.5,2,9,3,7,7]],\"columns\":[\"corr_id\",\"new\","
                       "\"copy_kind\",\"bytes\",\"duration_ns\",\"stream_id\",\"dt_ns\"],"
                       "\"base_time_ns\":100"));
    EXPECT(want, BATCH("memcpy_event_batch",
                       "\"base_time_ns\":100,\"rows\":[[7,7,3,9,2,4,{\"x\":[]},1]]"));
    EXPECT(want, BATCH("memcpy_event_batch", /* like the client's, then with spaces */
                       "\"base_time_ns\":100,\"columns\":[\"corr_id\",\"new\",\"copy_kind\","
                       "\"bytes\",\"duration_ns\",\"stream_id\",\"dt_ns\"],"
                       "\"rows\":[[4,-9,2,9,3,7,7]]"));
    EXPECT(want, BATCH("memcpy_event_batch",
                       "\"base_time_ns\":100,\"columns\":[\"corr_id\",\"new\",\"copy_kind\","
                       "\"bytes\",\"duration_ns\",\"stream_id\",\"dt_ns\"],"
                       "\"rows\":[ [4, -9, 2,9 ,3,7,7, 5]]"));
    EXPECT("stream id=1 device=0 number=7\n"
           "memcpy start=107 duration=3 bytes=9223372036854775807 kind=2 stream=1 "
           "correlation=4\n"
           "header s app= pid=0 host= run= engine= backend= start=100\n",
           BATCH("memcpy_event_batch",
                 "\"base_time_ns\":100,\"columns\":[\"dt_ns\",\"stream_id\",\"duration_ns\","
                 "\"bytes\",\"copy_kind\",\"corr_id\"],"
                 "\"rows\":[[7,7,3,9223372036854775807,2,4]]"));
    EXPECT("stream id=1 device=0 number=7\n"
           "memcpy start=93 duration=3 bytes=9 kind=2 stream=1 correlation=-4\n"
           "header s app= pid=0 host= run= engine= backend= start=100\n",
           BATCH("memcpy_event_batch",
                 "\"base_time_ns\":100,\"columns\":[\"dt_ns\",\"stream_id\",\"duration_ns\","
                 "\"bytes\",\"copy_kind\",\"corr_id\"],\"rows\":[[-7,7,3,9,2,-4]]"));
    EXPECT("stream id=1 device=0\nmemcpy start=107 stream=1\n"
           "header s app= pid=0 host= run= engine= backend= start=100\n",
           BATCH("memcpy_event_batch", "\"base_time_ns\":100,\"rows\":[[7,null]]"));
    EXPECT("header s app= pid=0 host= run= engine= backend= start=0\n",
           BATCH("memcpy_event_batch", "\"base_time_ns\":100,\"rows\":null"));
}

/* Details belong to kernels by id and order; each kernel has one. */
TEST(test_details)
{
    struct run r;
    run_begin(&r, 0);
    run_line(&r, DICTIONARY);
    run_line(&r, BATCH("kernel_event_batch",
                       "\"base_time_ns\":0,\"rows\":[[1,1,0,1,5,0,0,1,0,0],[2,1,0,1,5,0,0,1,0,0],"
                       "[3,9,0,1,6,0,0,1,0,0],[4,1,0,1,6,0,0,0,0,0]]"));
    run_line(&r, DETAIL("6", "(3,1,1)", "a|b"));
    run_line(&r, DETAIL("5", "(1,1,1)", "process:toy"));
    run_line(&r, DETAIL("5", "(2,1,1)", "global|a")); /* like an older log */
    run_line(&r, DETAIL("5", "(7,1,1)", ""));
    run_line(&r, DETAIL("8", "(8,1,1)", ""));
    assert_int_equal(decoder_stats(r.d)->foreign_orphans, 2);
    run_line(&r, "{\"type\":\"shutdown\",\"ts_ns\":9}");
    run_line(&r, DETAIL("6", "(9,1,1)", "")); /* too late: its batch was delivered */
    assert_int_equal(decoder_stats(r.d)->foreign_orphans, 3);
    run_finish(&r);
    assert_string_equal(
        buf_cstr(&r.seen.text),
        "config id=1 name='kernel#9' device=0 grid_x=3 grid_y=1 grid_z=1 shared_dynamic=0 "
        "occ_limiter=''\n"
        "scope instance=1 parent=0 name='a' tag=''\n"
        "scope instance=2 parent=1 name='b' tag=''\n"
        "config id=2 name='k' device=0 grid_x=1 grid_y=1 grid_z=1 shared_dynamic=0 "
        "occ_limiter=''\n"
        "config id=3 name='k' device=0 grid_x=2 grid_y=1 grid_z=1 shared_dynamic=0 "
        "occ_limiter=''\n"
        "stream id=1 device=0 number=0\n"
        "config id=4 name='k' device=0 shared_dynamic=0 occ_limiter=''\n"
        "kernel start=1 duration=1 config=2 stream=1 correlation=5 scope=0 external_kind=0 "
        "external_id=0\n"
        "kernel start=2 duration=1 config=3 stream=1 correlation=5 scope=1 external_kind=0 "
        "external_id=0\n"
        "kernel start=3 duration=1 config=1 stream=1 correlation=6 scope=2 external_kind=0 "
        "external_id=0\n"
        "kernel start=4 duration=1 config=4 stream=1 correlation=6 external_kind=0 "
        "external_id=0\n"
        "end time=9 reason='shutdown'\n"
        "header s app= pid=0 host= run= engine= backend= start=0\n");
    run_end(&r);
}

/* If two threads open the same scopes, the parent of an inner scope is their common path. */
TEST(test_scopes_of_threads)
{
    EXPECT("scope instance=2 parent=0 name='a' tag=''\n"
           "scope instance=5 parent=2 name='b' tag=''\n"
           "scope start=103 duration=2 instance=4 parent=2 name='b' depth=1 repeat=0 warmup=0\n"
           "scope start=101 duration=5 instance=1 parent=0 name='a' depth=0 repeat=0 warmup=0\n"
           "scope start=107 duration=1 instance=6 parent=3 name='b' depth=1 repeat=0 warmup=0\n"
           "header s app= pid=0 host= run= engine= backend= start=100\n"
           "scope_open start=102 instance=3 parent=0 name='a' depth=0 repeat=0 warmup=0\n",
           DICTIONARY,
           SCOPES("[1,11,1,0,0,0,0,101],[2,12,1,0,0,0,0,102],[3,13,2,0,1,0,0,103],"
                  "[5,13,2,1,1,0,0,103],[6,11,1,1,0,0,0,101],[7,14,2,0,1,0,0,107],"
                  "[8,14,2,1,1,0,0,107]"));
}

/* If different scopes are open, the parent of an inner scope is unknown. */
TEST(test_scope_of_unknown_parent)
{
    EXPECT("scope instance=2 parent=0 name='a' tag=''\n"
           "scope instance=4 parent=0 name='b' tag=''\n"
           "scope start=103 duration=2 instance=5 name='b' depth=1 repeat=0 warmup=0\n"
           "header s app= pid=0 host= run= engine= backend= start=100\n"
           "scope_open start=101 instance=1 parent=0 name='a' depth=0 repeat=0 warmup=0\n"
           "scope_open start=102 instance=3 parent=0 name='b' depth=0 repeat=0 warmup=0\n",
           DICTIONARY,
           SCOPES("[1,11,1,0,0,0,0,101],[2,12,2,0,0,0,0,102],[3,13,2,0,1,0,0,103],"
                  "[5,13,2,1,1,0,0,103]"));
}

/* A scope may last over several segments: it is open in the first ones, and a row with its first
 * start follows in the segment in which it ends. */
TEST(test_scopes_over_segments)
{
    EXPECT("scope instance=2 parent=0 name='a' tag=''\n"
           "scope_open start=101 instance=1 parent=0 name='a' depth=0 repeat=5 warmup=0\n"
           "header s app= pid=0 host= run= engine= backend= start=100\n",
           DICTIONARY, SCOPES("[1,11,1,0,0,5,0,101],[9,11,1,3,0,0,0,101]"));
    EXPECT("scope instance=2 parent=0 name='a' tag=''\n"
           "scope start=50 duration=59 instance=1 parent=0 name='a' depth=0 repeat=5 warmup=0\n"
           "header s app= pid=0 host= run= engine= backend= start=100\n",
           DICTIONARY, SCOPES("[0,11,1,2,0,5,0,50],[9,11,1,1,0,0,0,50]"));
}

/* If the begin is in a lost part, the start is that of the end; an end without one is an orphan. */
TEST(test_scope_without_begin)
{
    EXPECT("scope instance=2 parent=0 name='scope#7' tag=''\n"
           "scope start=50 duration=59 instance=1 parent=0 name='scope#7' depth=0\n"
           "header s app= pid=0 host= run= engine= backend= start=100\n",
           SCOPES("[9,11,7,1,0,0,0,50]"));
    struct run r;
    run_begin(&r, 0);
    run_line(&r, SCOPES("[9,11,7,1,0]"));
    assert_int_equal(decoder_stats(r.d)->foreign_orphans, 1);
    run_end(&r);
}

/* AMD's kinds of copies have other numbers, and the unit of its energy is unknown. */
TEST(test_amd)
{
    EXPECT("header s app= pid=0 host= run= engine= backend=amd start=5\n"
           "device id=1 index=0 name='g' uuid='u0' vendor='amd' pci='' arch='' driver=''\n"
           "stream id=1 device=1 number=1\n"
           "memcpy start=0 duration=1 bytes=1 kind=8 stream=1 correlation=1\n"
           "device_metric time=0 device=1 gpu_util=0 mem_util=0 clock_mem=9\n",
           JOB(GPU("0", "AMD")), JOB(GPU("0", "AMD")),
           BATCH("memcpy_event_batch", "\"base_time_ns\":0,\"rows\":[[0,1,1,1,3,1]]"),
           BATCH("device_metric_batch",
                 "\"base_time_ns\":0,\"rows\":[[0,0,0,0,0,0,0,0,0,0,0,0,0,77,9]]"));
}

/* Kernels and copies do not name a GPU, so with several GPUs they have none. */
TEST(test_two_gpus)
{
    EXPECT("header s app= pid=0 host= run= engine= backend=nvidia start=5\n"
           "device id=1 index=0 name='g' uuid='u0' vendor='nvidia' pci='' arch='' driver=''\n"
           "device id=2 index=1 name='g' uuid='u1' vendor='nvidia' pci='' arch='' driver=''\n"
           "stream id=1 device=0 number=1\n"
           "memcpy start=0 duration=1 bytes=1 kind=3 stream=1 correlation=1\n"
           "alloc time=0 op=1 memory=3 address=0xffffffffffffffff bytes=1 device=2 stream=0 "
           "correlation=1\n",
           JOB(GPU("0", "NVIDIA") "," GPU("1", "NVIDIA")),
           BATCH("memcpy_event_batch", "\"base_time_ns\":0,\"rows\":[[0,1,1,1,3,1]]"),
           BATCH("memory_alloc_event_batch",
                 "\"base_time_ns\":0,\"rows\":[[0,0,1,3,18446744073709551615,1,1,0,1]]"));
}

/* The driver's order and the management library's may differ: uuids join them. */
TEST(test_devices_are_joined_by_uuid)
{
    EXPECT("header s app= pid=0 host= run= engine= backend=nvidia start=5\n"
           "device id=2 index=1 name='g' uuid='u0' vendor='nvidia' pci='p1' arch='' driver=''\n"
           "device id=1 index=0 name='' uuid='u7' vendor='nvidia' pci='p0' arch='' driver=''\n"
           "alloc time=0 op=1 memory=3 address=0x1 bytes=1 device=2 stream=0 correlation=1\n",
           "{\"type\":\"job_start\",\"session_id\":\"s\",\"ts_ns\":5,\"devices\":["
           "{\"id\":0,\"uuid\":\"u7\",\"vendor\":\"NVIDIA\",\"pci_bus\":\"p0\"},"
           "{\"id\":1,\"uuid\":\"u0\",\"vendor\":\"NVIDIA\",\"pci_bus\":\"p1\"}],"
           "\"gpu_static_devices\":[" GPU("0", "NVIDIA") "]}",
           BATCH("memory_alloc_event_batch", "\"base_time_ns\":0,\"rows\":[[0,0,1,3,1,1,0,0,1]]"));
}

/* The line that a launcher writes for a crashed program is no end. */
TEST(test_crash)
{
    struct run r;
    run_begin(&r, 0);
    run_line(&r, "{\"type\":\"shutdown\",\"ts_ns\":9,\"synthetic\":true,\"exit_code\":139,"
                 "\"signaled\":true,\"signal\":11,\"window_stopped\":false,\"crashed\":true}");
    run_finish(&r);
    assert_null(strstr(buf_cstr(&r.seen.text), "end "));
    assert_non_null(strstr(buf_cstr(&r.seen.text), "message time=9 severity=3 code='crashed'"));
    run_end(&r);
    EXPECT("end time=9 reason='duration'\n",
           "{\"type\":\"shutdown\",\"ts_ns\":9,\"synthetic\":true,\"window_stopped\":true}");
}

TEST(test_warnings)
{
    struct run r;
    run_begin(&r, 0);
    for (int i = 0; i < 2; i++) {
        run_line(&r, "{\"type\":\"sass_config\",\"ts_ns\":3,\"device_id\":0}");
        run_line(&r, "{\"type\":\"capture_capabilities\",\"ts_ns\":4,\"capabilities\":["
                     "{\"feature\":\"kernel_events\",\"requested\":true,"
                     "\"status\":\"fallback\",\"mode\":\"launch_callbacks_synthetic\"}]}");
    }
    const char *text = buf_cstr(&r.seen.text);
    const char *first = strstr(text, "code='instrumented'");
    const char *second = strstr(text, "code='synthetic_kernels'");
    assert_non_null(first);
    assert_non_null(second);
    assert_null(strstr(first + 1, "code='instrumented'"));
    assert_null(strstr(second + 1, "code='synthetic_kernels'"));
    run_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_details),
        cmocka_unit_test(test_scopes_of_threads),
        cmocka_unit_test(test_scope_of_unknown_parent),
        cmocka_unit_test(test_scopes_over_segments),
        cmocka_unit_test(test_scope_without_begin),
        cmocka_unit_test(test_amd),
        cmocka_unit_test(test_two_gpus),
        cmocka_unit_test(test_devices_are_joined_by_uuid),
        cmocka_unit_test(test_crash),
        cmocka_unit_test(test_warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
