/* peer_ours.c - see peer_ours.h. */
#include "tests/unit/support/peer_ours.h"

#include "tests/test.h"

#include <string.h>

const struct wire_header peer_ours_header = {.session = "s1",
                                             .channel = "device",
                                             .app = "toy",
                                             .pid = 7,
                                             .host = "h1",
                                             .engine = "Trace",
                                             .backend = "nvidia",
                                             .start = 100,
                                             .clock_monotonic = 50,
                                             .clock_real = 1050};

static const char *const names[] = {"GPU A",    "GPU-1",     "nvidia", "sm_90",
                                    "_Z4axpyv", "outer",     "in\"n",  "warps",
                                    "kernels",  "collected", "failed", "no library"};

const char *peer_ours_show(void *arg, const char *text)
{
    (void)arg;
    return strcmp(text, "_Z4axpyv") ? NULL : "axpy()";
}

struct peer_encoder *peer_ours(void)
{
    struct peer_encoder *e;
    const struct peer_encode_config c = {.demangle = peer_ours_show, .log_path = "/t/o"};
    assert_int_equal(peer_encoder_open(&e, &c), 0);
    assert_int_equal(peer_encoder_header(e, &peer_ours_header), 0);
    NAMES(e, 1, names);
    ROWS(e, device,
         {.id = 1,
          .index = 0,
          .name = NAME_GPU,
          .uuid = NAME_UUID,
          .vendor = NAME_VENDOR,
          .arch = NAME_ARCH,
          .memory_total = 80ll << 30,
          .sm_count = 132,
          .warp_size = 32,
          .regs_per_block = 65536,
          .shared_per_block = 49152,
          .l2_size = 1 << 20,
          .compute_major = 9});
    ROWS(e, stream, {1, 1, 1, 7}, {2, 1, 1, CELL_NULL});
    ROWS(e, config,
         {.id = 1,
          .name = NAME_KERNEL,
          .device = 1,
          .grid_x = 4,
          .grid_y = 1,
          .grid_z = 1,
          .block_x = 64,
          .block_y = 1,
          .block_z = 1,
          .registers = 24,
          .shared_dynamic = 16,
          .occ_blocks = 16,
          .occ_limit_warps = 32,
          .occ_limit_regs = 40,
          .occ_limit_shared = CELL_NULL,
          .occ_limit_blocks = 16,
          .occ_limiter = NAME_WARPS,
          .occ_warps = 32,
          .occ_max_warps = 64,
          .local_total = CELL_NULL});
    return e;
}

void peer_ours_drain(struct peer_encoder *e)
{
    for (int i = 0; i < PEER_CHANNEL_COUNT; i++)
        buf_clear(peer_encoder_lines(e, i));
}

const char *peer_ours_lines(struct peer_encoder *e, enum peer_channel c)
{
    return buf_cstr(peer_encoder_lines(e, c));
}

struct peer_encoder *peer_ours_running(void)
{
    struct peer_encoder *e = peer_ours();
    ROWS(e, window, {.time = 1});
    peer_ours_drain(e);
    return e;
}
