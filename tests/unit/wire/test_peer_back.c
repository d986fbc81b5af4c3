/* test_peer_back.c - a session of ours is written as the public client's lines, and read back. */
#include "tests/test.h"
#include "tests/unit/support/peer_put.h"
#include "tests/unit/support/peer_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks which rows are read back, and how many rows the format has no place for. */
static void expect_back(void (*put)(struct peer_encoder *e), const char *seen, uint64_t left_out)
{
    struct peer_encoder *e;
    const struct peer_encode_config c = {.log_path = "x"};
    assert_int_equal(peer_encoder_open(&e, &c), 0);
    put(e);
    assert_int_equal(peer_encoder_finish(e), 0);
    struct run r;
    run_begin(&r, 1000);
    for (int i = 0; i < PEER_CHANNEL_COUNT; i++) {
        char *at = strdup(buf_cstr(peer_encoder_lines(e, i))), *rest = at;
        for (char *line; (line = strsep(&rest, "\n"));)
            run_line(&r, line);
        free(at);
    }
    run_finish(&r);
    assert_string_equal(buf_cstr(&r.seen.text), seen);
    assert_int_equal(decoder_stats(r.d)->damaged, 0);
    assert_int_equal(decoder_stats(r.d)->foreign_orphans, 0);
    assert_int_equal(peer_encoder_left_out(e), left_out);
    run_end(&r);
    peer_encoder_close(e);
}

/* ---- kernels, copies and scopes ------------------------------------------------------------ */

/* Puts rows that others refer to: names, the GPU, its stream, a configuration. */
static void put_program(struct peer_encoder *e)
{
    static const char *const names[] = {"GPU A", "GPU-1", "nvidia", "sm_90",
                                        "_Z1kv", "outer", "inner",  "registers"};
    const struct wire_header h = {.session = "s",
                                  .app = "toy",
                                  .pid = 7,
                                  .host = "h",
                                  .engine = "Trace",
                                  .backend = "nvidia",
                                  .start = 0,
                                  .clock_monotonic = 0,
                                  .clock_real = 1000};
    assert_int_equal(peer_encoder_header(e, &h), 0);
    NAMES(e, 1, names);
    ROWS(e, device,
         {.id = 1,
          .name = 1,
          .uuid = 2,
          .vendor = 3,
          .arch = 4,
          .memory_total = 1ll << 30,
          .sm_count = 132,
          .warp_size = 32,
          .regs_per_block = 65536,
          .shared_per_block = 49152,
          .l2_size = 1 << 20,
          .compute_major = 9});
    ROWS(e, stream, {1, 1, 1, 7});
    ROWS(e, config,
         {.id = 1,
          .name = 5,
          .device = 1,
          .grid_x = 3,
          .grid_y = 2,
          .grid_z = 1,
          .block_x = 96,
          .block_y = 1,
          .block_z = 1,
          .registers = 40,
          .shared_dynamic = 16,
          .occ_blocks = 7,
          .occ_limit_warps = 21,
          .occ_limit_regs = 7,
          .occ_limit_shared = CELL_NULL,
          .occ_limit_blocks = 16,
          .occ_limiter = 8,
          .occ_warps = 21,
          .occ_max_warps = 64});
}

static void put_session(struct peer_encoder *e)
{
    put_program(e);
    ROWS(e, scope_open, {.start = 10, .instance = 4, .name = 6});
    ROWS(e, scope_open, {.start = 11, .instance = 5, .parent = 4, .name = 7, .depth = 1});
    ROWS(e, kernel,
         {.start = 100, .duration = 5, .config = 1, .stream = 1, .correlation = 9, .scope = 5},
         {.start = 110,
          .duration = 6,
          .config = 1,
          .stream = 1,
          .correlation = 9,
          .scope = 5,
          .external_kind = 3,
          .external_id = -7});
    ROWS(e, memcpy,
         {.start = 90, .duration = 2, .bytes = 64, .kind = 1, .stream = 1, .correlation = 8});
    ROWS(e, scope,
         {.start = 11, .duration = 300, .instance = 5, .parent = 4, .name = 7, .depth = 1});
    ROWS(e, scope, {.start = 10, .duration = 400, .instance = 4, .name = 6});
    ROWS(e, end, {.time = 500});
}

TEST(test_a_session)
{
    expect_back(
        put_session,
        "header s app=toy pid=7 host=h run= engine=Trace backend=nvidia start=0\n"
        "device id=1 index=0 name='GPU A' uuid='GPU-1' vendor='nvidia' pci='' arch='sm_90' "
        "memory_total=1073741824 sm_count=132 warp_size=32 regs_per_block=65536 "
        "shared_per_block=49152 l2_size=1048576 compute_major=9 compute_minor=0 driver=''\n"
        "config id=1 name='_Z1kv' device=1 grid_x=3 grid_y=2 grid_z=1 block_x=96 block_y=1 "
        "block_z=1 registers=40 shared_static=0 shared_dynamic=16 shared_executed=0 "
        "local_per_thread=0 local_total=0 cache_requested=0 cache_executed=0 occ_blocks=7 "
        "occ_limit_warps=21 occ_limit_regs=7 occ_limit_shared=21 occ_limit_blocks=16 "
        "occ_limiter='registers' occ_warps=21 occ_max_warps=64\n"
        "scope instance=1 parent=0 name='outer' tag=''\n"
        "scope instance=2 parent=1 name='inner' tag=''\n"
        "stream id=1 device=1 number=7\n"
        "kernel start=100 duration=5 config=1 stream=1 correlation=9 scope=2 external_kind=0 "
        "external_id=0\n"
        "kernel start=110 duration=6 config=1 stream=1 correlation=4294967295 scope=2 "
        "external_kind=3 external_id=-7\n"
        "memcpy start=90 duration=2 bytes=64 kind=1 stream=1 correlation=8\n"
        "end time=500 reason='shutdown'\n"
        "scope start=11 duration=300 instance=4 parent=3 name='inner' depth=1 repeat=0 warmup=0\n"
        "scope start=10 duration=400 instance=3 parent=0 name='outer' depth=0 repeat=0 "
        "warmup=0\n",
        0);
}

/* ---- samples, counters and code ------------------------------------------------------------ */

static const char *const names[] = {"_Z4axpyPf",
                                    "long_scoreboard",
                                    "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
                                    "smsp__sass_inst_executed",
                                    "/src/a.cu",
                                    "IMAD R1, R2, 0x1f ;",
                                    "int \"a\";\n",
                                    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
                                    "SassMetrics",
                                    "metric",
                                    "step",
                                    "PcSampling",
                                    "ran_as"};

static void put_profile(struct peer_encoder *e)
{
    const struct wire_header h = {.session = "s", .engine = "PcSampling", .clock_real = 1000};
    assert_int_equal(peer_encoder_header(e, &h), 0);
    NAMES(e, 1, names);
    ROWS(e, code_object, {.id = 1, .crc = -2});
    ROWS(e, function, {.id = 1, .object = 1, .name = 1, .file = 5});
    ROWS(e, stall_reason, {.id = 1, .name = 2, .driver_name = 3, .index = 9, .issued = 1});
    ROWS(e, scope, {.start = 1, .duration = 90, .instance = 3, .name = 11});
    ROWS(e, pc_sample,
         {.start = 10,
          .duration = 40,
          .device = 1,
          .function = 1,
          .offset = 16,
          .reason = 1,
          .samples = 7,
          .scope = 3,
          .correlation = CELL_NULL},
         {.start = CELL_NULL, .function = 9, .reason = 9, .samples = 1});
    ROWS(e, sass_metric,
         {.start = 50, .device = 1, .function = 1, .offset = 32, .metric = 4, .value = 640});
    ROWS(e, counter,
         {.start = 60, .source = 1, .device = 1, .metric = 8, .value = -5, .exponent = -1},
         {.start = 60,
          .duration = 5,
          .source = 2,
          .device = 1,
          .metric = 8,
          .value = 415,
          .exponent = -1,
          .scope = 3,
          .range = 11},
         {.start = 60,
          .duration = 5,
          .source = 2,
          .device = 1,
          .metric = 4,
          .value = 1,
          .scope = 3,
          .range = 11},
         {.source = 3, .device = 1, .metric = 8, .value = 3, .kernel = 1, .ordinal = 2});
    ROWS(e, instruction, {.function = 1, .offset = 16, .text = 6, .file = 5, .line = 4},
         {.function = 1, .offset = 16, .level = 1, .file = 5, .line = 9});
    ROWS(e, source, {.path = 5, .hash = 1, .size = 9, .offset = 0, .text = 7});
    ROWS(e, setting, {.time = 2, .engine = 9, .name = 13, .value = 12}, /* has no line there */
         {.time = 2, .device = 1, .engine = 9, .name = 10, .value = 4},
         {.time = 2, .device = 1, .engine = 12, .name = 10, .value = 4});
}

TEST(test_a_profile)
{
    /* The inlined level, a metric that ranges do not have, and an engine's setting are left out. */
    expect_back(
        put_profile,
        "header s app= pid=0 host= run= engine=PcSampling backend=none start=0\n"
        "counter source=3 device=1 metric='sm_throughput_pct' value=3 kernel='_Z4axpyPf' range='' "
        "ordinal=2\n"
        "setting time=2 device=1 engine='SassMetrics' name='metric' "
        "value='smsp__sass_inst_executed'\n"
        "message time=2 severity=2 code='instrumented' text='Kernels were instrumented for SASS "
        "metrics: their durations are longer than without.'\n"
        "scope instance=2 parent=0 name='step' tag=''\n"
        "scope start=1 duration=90 instance=1 parent=0 name='step' depth=0 repeat=0 warmup=0\n"
        "function id=1 object=0 name='_Z4axpyPf' file='/src/a.cu'\n"
        "stall_reason id=1 name='long_scoreboard' "
        "driver_name='smsp__pcsamp_warps_issue_stalled_long_scoreboard' index=9 issued=1\n"
        "pc_sample start=50 device=1 function=1 offset=16 reason=1 samples=7 scope=2\n"
        "pc_sample start=0 device=1 function=0 offset=0 reason=0 samples=1 scope=0\n"
        "sass_metric start=50 device=1 function=1 offset=32 metric='smsp__sass_inst_executed' "
        "value=640 scope=0\n"
        "counter start=60 source=1 device=1 "
        "metric='sm__throughput.avg.pct_of_peak_sustained_elapsed"
        "' value=-5 exponent=-1 scope=0 kernel='' range='' ordinal=0\n"
        "counter start=60 duration=5 source=2 device=1 metric='sm_throughput_pct' value=415 "
        "exponent=-1 scope=2 kernel='' range='step'\n"
        "code_object id=1 crc=0xfffffffffffffffe module='' arch='' file=''\n"
        "function id=2 object=1 name='_Z4axpyPf' file=''\n"
        "instruction function=2 offset=16 level=0 text='IMAD R1, R2, 0x1f ;' file='' inlined=''\n"
        "instruction function=1 offset=16 level=0 text='' file='/src/a.cu' line=4 inlined=''\n"
        "source path='/src/a.cu' hash=0x6a3ec874ded127ae size=9 offset=0 text='int \"a\";\n'\n",
        4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_session),
        cmocka_unit_test(test_a_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
