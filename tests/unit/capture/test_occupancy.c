/* Theoretical occupancy: known answers, unknown input, and, if the toolkit's
 * own calculator is on this machine, agreement with it on random launches. */
#include "capture/records/occupancy.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CUDA_OCCUPANCY
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#endif

extern const struct vendor vendor_nvidia;

/* An H200 as its driver describes it. */
static const struct occupancy_in hopper = {
    .compute_major = 9,
    .warp_size = 32,
    .max_threads_per_sm = 2048,
    .max_blocks_per_sm = 32,
    .regs_per_sm = 65536,
    .regs_per_block = 65536,
    .shared_per_sm = 233472,
    .shared_per_block_optin = 232448,
    .shared_reserved_per_block = 1024,
    .threads = 256,
    .registers = 32,
};

static const struct occupancy_units *units_of(const struct occupancy_in *in)
{
    static struct occupancy_units units;
    vendor_nvidia.occupancy(in->compute_major, in->compute_minor, &units);
    return &units;
}

static struct occupancy_out compute(struct occupancy_in in)
{
    struct occupancy_out out;
    memset(&out, 0, sizeof out);
    assert_true(occupancy_compute(&in, units_of(&in), &out));
    return out;
}

TEST(test_each_limiter)
{
    struct occupancy_in in = hopper;
    struct occupancy_out out = compute(in);
    assert_int_equal(out.blocks, 8);
    assert_int_equal(out.limiter, OCCUPANCY_WARPS);
    assert_int_equal(out.warps, 64);
    assert_int_equal(out.max_warps, 64);

    in.registers = 128;
    out = compute(in);
    assert_int_equal(out.blocks, 2);
    assert_int_equal(out.limiter, OCCUPANCY_REGISTERS);
    assert_int_equal(out.limit_regs, 2);

    in = hopper;
    in.shared = 100000;
    out = compute(in);
    assert_int_equal(out.blocks, 2);
    assert_int_equal(out.limiter, OCCUPANCY_SHARED);

    in = hopper;
    in.threads = 32;
    out = compute(in);
    assert_int_equal(out.blocks, 32);
    assert_int_equal(out.limiter, OCCUPANCY_BLOCKS);
    assert_int_equal(out.warps, 32);
}

TEST(test_no_limit_is_null)
{
    struct occupancy_in in = hopper;
    in.registers = 0;
    in.shared_reserved_per_block = 0;
    struct occupancy_out out = compute(in);
    assert_true(out.limit_regs == CELL_NULL);
    assert_true(out.limit_shared == CELL_NULL);
    assert_int_equal(out.blocks, 8);
}

TEST(test_impossible_launch_is_zero)
{
    struct occupancy_in in = hopper;
    in.threads = 1024;
    in.registers = 255;
    assert_int_equal(compute(in).blocks, 0);
    in = hopper;
    in.shared = 232449;
    assert_int_equal(compute(in).blocks, 0);
    in = hopper;
    in.threads = 1025;
    assert_int_equal(compute(in).blocks, 0);
}

TEST(test_unknown_is_refused)
{
    struct occupancy_out out;
    for (size_t i = 0; i < sizeof hopper / sizeof(int64_t); i++) {
        struct occupancy_in in = hopper;
        ((int64_t *)&in)[i] = CELL_NULL;
        assert_false(occupancy_compute(&in, units_of(&in), &out));
    }
    struct occupancy_in in = hopper;
    in.warp_size = 0;
    assert_false(occupancy_compute(&in, units_of(&in), &out));
}

TEST(test_config_columns)
{
    struct device_row d;
    struct config_row c;
    enum occupancy_limiter limiter = OCCUPANCY_BLOCKS;
    memset(&c, 0, sizeof c);
    memset(&d, 0, sizeof d);
    c.block_x = 16;
    c.block_y = c.block_z = 4;
    c.registers = 32;
    assert_false(occupancy_of_config(&c, NULL, vendor_nvidia.occupancy, &limiter));
    assert_true(c.occ_blocks == CELL_NULL);
    d.compute_major = 9;
    d.warp_size = 32;
    d.max_threads_per_sm = 2048;
    d.max_blocks_per_sm = 32;
    d.regs_per_sm = d.regs_per_block = 65536;
    d.shared_per_sm = 233472;
    d.shared_per_block_optin = 232448;
    d.shared_reserved_per_block = 1024;
    assert_true(occupancy_of_config(&c, &d, vendor_nvidia.occupancy, &limiter));
    assert_int_equal(c.occ_blocks, 8);
    assert_int_equal(limiter, OCCUPANCY_WARPS);
    assert_string_equal(occupancy_limiter_name(OCCUPANCY_SHARED), "shared_mem");
    c.block_z = CELL_NULL;
    assert_false(occupancy_of_config(&c, &d, vendor_nvidia.occupancy, &limiter));
    assert_true(c.occ_warps == CELL_NULL);
}

#ifdef HAVE_CUDA_OCCUPANCY

/* Rows have the compute capability; threads, blocks and shared memory of an SM; a block's most
 * shared memory. */
static const struct {
    int major, minor, threads, blocks, shared, optin;
} chips[] = {
    {6, 0, 2048, 32, 65536, 49152},    {6, 1, 2048, 32, 98304, 49152},
    {7, 0, 2048, 32, 98304, 98304},    {7, 5, 1024, 16, 65536, 65536},
    {8, 0, 2048, 32, 167936, 166912},  {8, 6, 1536, 16, 102400, 101376},
    {8, 9, 1536, 24, 102400, 101376},  {9, 0, 2048, 32, 233472, 232448},
    {10, 0, 2048, 32, 233472, 232448}, {12, 0, 1536, 24, 102400, 101376},
};

static void check_one(size_t chip, int threads, int registers, int fixed, int dynamic)
{
    int reserved = chips[chip].major >= 8 ? 1024 : 0;
    cudaOccDeviceProp prop = {
        .computeMajor = chips[chip].major,
        .computeMinor = chips[chip].minor,
        .maxThreadsPerBlock = 1024,
        .maxThreadsPerMultiprocessor = chips[chip].threads,
        .regsPerBlock = 65536,
        .regsPerMultiprocessor = 65536,
        .warpSize = 32,
        .sharedMemPerBlock = 49152,
        .sharedMemPerMultiprocessor = (size_t)chips[chip].shared,
        .numSms = 100,
        .sharedMemPerBlockOptin = (size_t)chips[chip].optin,
        .reservedSharedMemPerBlock = (size_t)reserved,
    };
    cudaOccFuncAttributes attributes = {
        .maxThreadsPerBlock = 1024,
        .numRegs = registers,
        .sharedSizeBytes = (size_t)fixed,
        .partitionedGCConfig = PARTITIONED_GC_OFF,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = (size_t)(chips[chip].optin - fixed),
    };
    cudaOccDeviceState device = {.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
    cudaOccResult expected;
    memset(&expected, 0, sizeof expected);
    assert_int_equal(cudaOccMaxActiveBlocksPerMultiprocessor(&expected, &prop, &attributes, &device,
                                                             threads, (size_t)dynamic),
                     CUDA_OCC_SUCCESS);
    struct occupancy_in in = {
        .compute_major = prop.computeMajor,
        .compute_minor = prop.computeMinor,
        .warp_size = 32,
        .max_threads_per_sm = chips[chip].threads,
        .max_blocks_per_sm = chips[chip].blocks,
        .regs_per_sm = 65536,
        .regs_per_block = 65536,
        .shared_per_sm = chips[chip].shared,
        .shared_per_block_optin = chips[chip].optin,
        .shared_reserved_per_block = reserved,
        .threads = threads,
        .registers = registers,
        .shared = fixed + dynamic,
    };
    struct occupancy_out out = compute(in);
    if (out.blocks != expected.activeBlocksPerMultiprocessor)
        print_error("sm_%d%d threads %d registers %d shared %d + %d\n", prop.computeMajor,
                    prop.computeMinor, threads, registers, fixed, dynamic);
    assert_int_equal(out.blocks, expected.activeBlocksPerMultiprocessor);
    assert_int_equal(out.limit_warps, expected.blockLimitWarps);
    assert_int_equal(out.limit_blocks, expected.blockLimitBlocks);
    assert_int_equal(out.limit_regs == CELL_NULL ? INT32_MAX : out.limit_regs,
                     expected.blockLimitRegs);
    assert_int_equal(out.limit_shared == CELL_NULL ? INT32_MAX : out.limit_shared,
                     expected.blockLimitSharedMem);
}

TEST(test_agrees_with_toolkit)
{
    srand(11);
    for (int i = 0; i < 100000; i++) {
        size_t chip = (size_t)rand() % (sizeof chips / sizeof chips[0]);
        int optin = chips[chip].optin;
        int fixed = rand() % 4 ? rand() % 49153 : 0;
        int dynamic = rand() % 3 ? rand() % (optin - (fixed < optin ? fixed : optin) + 1) : 0;
        check_one(chip, 1 + rand() % 1024, rand() % 256, fixed, dynamic);
    }
}

#else

TEST(test_agrees_with_toolkit)
{
    print_message("no CUDA toolkit here: not compared\n");
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_limiter),
        cmocka_unit_test(test_no_limit_is_null),
        cmocka_unit_test(test_impossible_launch_is_zero),
        cmocka_unit_test(test_unknown_is_refused),
        cmocka_unit_test(test_config_columns),
        cmocka_unit_test(test_agrees_with_toolkit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
