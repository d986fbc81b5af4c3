/* test_peer_back.c - a session of ours as the public client's lines, read back. */
#include "peer_run.h"

#include "wire/peer_encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void encode_names_of(struct peer_encoder *e)
{
    static const char *const names[] = {"GPU A", "GPU-1", "nvidia", "sm_90",
                                        "_Z1kv", "outer", "inner",  "registers"};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(peer_encoder_name(e, i + 1, names[i], strlen(names[i])), 0);
}

#define ROWS(e, type, ...)                                                                         \
    do {                                                                                           \
        const struct type##_row rows_[] = {__VA_ARGS__};                                           \
        assert_int_equal(peer_encoder_rows(e, RECORD_##type, (const int64_t *)rows_,               \
                                           sizeof rows_ / sizeof *rows_),                          \
                         0);                                                                       \
    } while (0)

static void encode_session(struct peer_encoder *e)
{
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
    encode_names_of(e);
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
    assert_int_equal(peer_encoder_finish(e), 0);
}

static void test_there_and_back(void **state)
{
    (void)state;
    struct peer_encoder *e;
    const struct peer_encode_config c = {.log_path = "x"};
    assert_int_equal(peer_encoder_open(&e, &c), 0);
    encode_session(e);
    struct run r;
    run_begin(&r, 1000);
    for (int i = 0; i < PEER_CHANNEL_COUNT; i++) {
        char *at = strdup(buf_cstr(peer_encoder_lines(e, i))), *rest = at;
        for (char *line; (line = strsep(&rest, "\n"));)
            run_line(&r, line);
        free(at);
    }
    run_finish(&r);
    assert_string_equal(
        buf_cstr(&r.seen.text),
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
        "warmup=0\n");
    assert_int_equal(decoder_stats(r.d)->damaged, 0);
    assert_int_equal(decoder_stats(r.d)->foreign_orphans, 0);
    run_end(&r);
    peer_encoder_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
    };
    return cmocka_run_group_tests_name("peer_back", tests, NULL, NULL);
}
