/* test_occupancy.c - tests wavefronts by gfx target. The numbers of wavefronts for registers are
 * those that clang-16 prints for kernels compiled for the target ("; Occupancy"). */
#include "backend/amd/occupancy.h"
#include "tests/test.h"

#include <string.h>

enum {
    GFX906,
    GFX908,
    GFX90A,
    GFX940,
    GFX950,
    GFX1010,
    GFX1030,
    GFX1100,
    GFX1102,
    GFX1103,
    GFX1150,
    GFX1151,
    GFX1201
};

static const struct amd_target targets[] = {
    [GFX906] = {9, 0, 6},   [GFX908] = {9, 0, 8},   [GFX90A] = {9, 0, 10},  [GFX940] = {9, 4, 0},
    [GFX950] = {9, 5, 0},   [GFX1010] = {10, 1, 0}, [GFX1030] = {10, 3, 0}, [GFX1100] = {11, 0, 0},
    [GFX1102] = {11, 0, 2}, [GFX1103] = {11, 0, 3}, [GFX1150] = {11, 5, 0}, [GFX1151] = {11, 5, 1},
    [GFX1201] = {12, 0, 1}};

/* A workgroup is one wavefront, so that only registers limit the wavefronts of a SIMD. */
static int64_t waves_of_simd(int target, int64_t wave, int64_t vgprs, int64_t agprs, int64_t sgprs)
{
    struct amd_kernel k = {.target = targets[target],
                           .wave = wave,
                           .vgprs = vgprs,
                           .agprs = agprs,
                           .sgprs = sgprs,
                           .workgroup = wave};
    struct amd_occupancy o;
    assert_true(amd_occupancy(&k, &o));
    return o.waves / (targets[target].major >= 10 ? 2 : 4);
}

TEST(registers_limit_as_the_compiler_says)
{
    static const struct {
        int target, wave, vgprs, agprs, sgprs, waves;
    } cases[] = {
        {GFX90A, 64, 64, 0, 16, 8},   {GFX90A, 64, 65, 0, 16, 7},    {GFX90A, 64, 97, 0, 16, 4},
        {GFX90A, 64, 129, 0, 16, 3},  {GFX90A, 64, 128, 128, 16, 2}, {GFX1030, 32, 64, 0, 16, 16},
        {GFX1030, 32, 65, 0, 16, 12}, {GFX1030, 32, 129, 0, 16, 7},  {GFX1100, 32, 96, 0, 16, 16},
        {GFX1100, 32, 97, 0, 16, 12}, {GFX1100, 32, 168, 0, 16, 9},  {GFX1100, 32, 192, 0, 16, 8},
        {GFX1100, 32, 256, 0, 16, 5}, {GFX1100, 64, 64, 0, 16, 10},  {GFX906, 64, 24, 0, 80, 10},
        {GFX906, 64, 24, 0, 88, 9},   {GFX906, 64, 24, 0, 89, 8},    {GFX906, 64, 84, 0, 16, 3},
        {GFX908, 64, 24, 64, 16, 4},  {GFX940, 64, 24, 0, 102, 8},   {GFX1010, 32, 64, 0, 16, 16},
        {GFX1010, 32, 65, 0, 16, 14}, {GFX1010, 32, 129, 0, 16, 7},  {GFX1010, 64, 65, 0, 16, 7},
        {GFX1010, 64, 129, 0, 16, 3}, {GFX1102, 32, 65, 0, 16, 12},  {GFX1102, 32, 129, 0, 16, 7},
        {GFX1103, 64, 65, 0, 16, 7},  {GFX1103, 64, 129, 0, 16, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(waves_of_simd(cases[i].target, cases[i].wave, cases[i].vgprs,
                                       cases[i].agprs, cases[i].sgprs),
                         cases[i].waves);
}

/* clang-16 does not know these targets: the numbers follow from LLVM's sizes of registers, 24 of
 * 1536 for gfx1151 and gfx12, 16 of 1024 for gfx1150, 8 of 512 for gfx950. */
TEST(registers_of_targets_that_the_compiler_lacks)
{
    assert_int_equal(waves_of_simd(GFX1151, 32, 97, 0, 16), 12);
    assert_int_equal(waves_of_simd(GFX1201, 32, 97, 0, 16), 12);
    assert_int_equal(waves_of_simd(GFX1201, 64, 64, 0, 16), 10);
    assert_int_equal(waves_of_simd(GFX1150, 32, 97, 0, 16), 9);
    assert_int_equal(waves_of_simd(GFX950, 64, 65, 0, 16), 7);
    assert_int_equal(waves_of_simd(GFX950, 64, 128, 128, 16), 2);
}

static struct amd_occupancy of(struct amd_kernel k)
{
    struct amd_occupancy o;
    assert_true(amd_occupancy(&k, &o));
    return o;
}

/* Workgroups of 256 on a compute unit of CDNA2: 8 by slots, 4 by 16 KiB each, 16 by barriers. */
TEST(the_least_resource_is_the_limiter)
{
    struct amd_kernel k = {
        .target = targets[GFX90A], .wave = 64, .vgprs = 32, .sgprs = 16, .workgroup = 256};
    struct amd_occupancy o = of(k);
    assert_int_equal(o.groups, 8);
    assert_int_equal(o.waves, 32);
    assert_int_equal(o.waves_most, 32);
    assert_int_equal(o.limiter, AMD_WAVEFRONTS);
    assert_int_equal(o.limits[AMD_LDS], AMD_NO_LIMIT);
    k.lds = 16384;
    o = of(k);
    assert_int_equal(o.groups, 4);
    assert_int_equal(o.limiter, AMD_LDS);
    k.vgprs = 256;
    o = of(k);
    assert_int_equal(o.groups, 2);
    assert_int_equal(o.limiter, AMD_VGPRS);
    k = (struct amd_kernel){
        .target = targets[GFX906], .wave = 64, .vgprs = 24, .sgprs = 100, .workgroup = 64};
    o = of(k);
    assert_int_equal(o.limiter, AMD_SGPRS);
    assert_string_equal(amd_limit_name(o.limiter), "sgprs");
}

/* Groups are of two wavefronts: the 16 barriers of a compute unit limit it to 32 wavefronts. */
TEST(barriers_limit_small_groups)
{
    struct amd_occupancy o = of((struct amd_kernel){
        .target = targets[GFX906], .wave = 64, .vgprs = 24, .sgprs = 16, .workgroup = 128});
    assert_int_equal(o.groups, 16);
    assert_int_equal(o.waves, 32);
    assert_int_equal(o.waves_most, 40);
    assert_int_equal(o.limiter, AMD_WORKGROUPS);
}

/* LDS is allocated in units: of 512 bytes in RDNA1, 1024 in later RDNA; CDNA4 has 160 KiB in units
 * of 1280. */
TEST(lds_has_units)
{
    static const struct {
        int target;
        int64_t wave, lds, groups;
    } cases[] = {{GFX1010, 32, 4608, 14}, {GFX1030, 32, 4608, 12}, {GFX1201, 32, 4608, 12},
                 {GFX950, 64, 41000, 3},  {GFX950, 64, 81920, 2},  {GFX950, 64, 163840, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct amd_occupancy o = of((struct amd_kernel){.target = targets[cases[i].target],
                                                        .wave = cases[i].wave,
                                                        .vgprs = 24,
                                                        .sgprs = 16,
                                                        .lds = cases[i].lds,
                                                        .workgroup = 2 * cases[i].wave});
        assert_int_equal(o.groups, cases[i].groups);
        assert_int_equal(o.limiter, AMD_LDS);
    }
}

/* In WGP mode a workgroup uses both compute units and their memory. */
TEST(wgp_mode_has_two_units)
{
    struct amd_kernel k = {
        .target = targets[GFX1100], .wave = 32, .vgprs = 96, .lds = 40000, .workgroup = 256};
    struct amd_occupancy cu = of(k), wgp;
    k.wgp = true;
    wgp = of(k);
    assert_int_equal(cu.groups, 1);
    assert_int_equal(wgp.groups, 3);
    assert_int_equal(cu.waves_most, 32);
    assert_int_equal(wgp.waves_most, 64);
    assert_int_equal(wgp.limiter, AMD_LDS);
}

TEST(what_is_not_known_has_no_answer)
{
    static const struct amd_kernel none[] = {
        {.target = {8, 0, 3}, .wave = 64, .vgprs = 8, .workgroup = 64}, /* Polaris */
        {.target = {9, 0, 9}, .wave = 64, .vgprs = 8, .workgroup = 64},
        {.target = {9, 0, 10}, .wave = 32, .vgprs = 8, .workgroup = 64},
        {.target = {9, 0, 10}, .wave = 64, .wgp = true, .vgprs = 8, .workgroup = 64},
        {.target = {9, 0, 10}, .wave = 64, .vgprs = 8, .workgroup = 0},
        {.target = {9, 0, 10}, .wave = 64, .vgprs = 8, .workgroup = 1025},
        {.target = {9, 0, 10}, .wave = 64, .vgprs = 8, .lds = 65537, .workgroup = 64},
    };
    struct amd_occupancy o;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(amd_occupancy(&none[i], &o));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_limit_as_the_compiler_says),
        cmocka_unit_test(registers_of_targets_that_the_compiler_lacks),
        cmocka_unit_test(the_least_resource_is_the_limiter),
        cmocka_unit_test(lds_has_units),
        cmocka_unit_test(barriers_limit_small_groups),
        cmocka_unit_test(wgp_mode_has_two_units),
        cmocka_unit_test(what_is_not_known_has_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
