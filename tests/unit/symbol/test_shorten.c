/* test_shorten.c - tests kernel names that fit a table and are distinct in it. */
#include "symbol/names/shorten.h"
#include "tests/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *shown;
    size_t width;
} shorts[] = {
    {"void saxpy(float, float const*)", "saxpy", 80},
    {"saxpy", "saxpy", 80},
    {"saxpy(float) (.cold)", "saxpy", 80},
    {"__main__::smooth[abi:v1][abi:cw51cXTLSUwv1sDUaKthwA](Array<float, 3, C, mutable, aligned>)",
     "__main__::smooth", 80},
    {"void run[abi:v2]<int[4]>(int)", "run<int[4]>", 80},
    {"odd[abi:", "odd[abi:", 80},
    {"void fill<int>(int) (.isra.0)", "fill<int>", 80},
    {"void at::native::kernel<4, at::native::Add<c10::Half>, std::array<char*, 3ul> >(int, Add)",
     "at::native::kernel<4, at::native::Add<c10::Half>, std::array<char*, 3ul> >", 80},
    {"void at::native::kernel<4, at::native::Add<c10::Half>, std::array<char*, 3ul> >(int, Add)",
     "at::native::kernel<4, Add<Half>, array<char*, 3ul> >", 60},
    {"void at::native::kernel<4, at::native::Add<c10::Half>, std::array<char*, 3ul> >(int, Add)",
     "kernel<4, Add<Half>, array<char*, 3ul> >", 45},
    {"void at::native::kernel<4, at::native::Add<c10::Half>, std::array<char*, 3ul> >(int, Add)",
     "kernel<4, Add..3ul> >", 21},
    {"void (anonymous namespace)::softmax<float>(float*)", "softmax<float>", 80},
    {"Functor::operator()(int) const", "Functor::operator()", 80},
    {"bool operator< <int>(int, int)", "operator< <int>", 80},
    {"void run<(Layout)0, (Layout)1>(int)", "run<(Layout)0, (Layout)1>", 80},
    {"void ns::Sum<int>::add<float>(float*)", "Sum<int>::add<float>", 20},
    {"abcdefgh", "ab..h", 5},
    /* Names of scopes and copies are in the same tables as kernels. */
    {"copy host to device", "copy host to device", 80},
    {"train/step (epoch 1)", "train/step (epoch 1)", 80},
    {"(kernel not known)", "(kernel not known)", 80},
    {"unsigned long count(int)", "count", 80},
    {"void saxpy<float>", "saxpy<float>", 80},
    {"", "", 10},
};

TEST(test_short)
{
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++) {
        struct buf b;
        buf_init(&b, 1 << 20);
        buf_str(&b, ">");
        shorten_kernel(&b, shorts[i].name, shorts[i].width);
        assert_string_equal(buf_cstr(&b) + 1, shorts[i].shown);
        buf_fini(&b);
    }
}

/* The last part of a Python name says which function runs, so it stays whole. */
TEST(test_qualified_names)
{
    static const struct {
        const char *name, *shown;
    } names[] = {
        {"Trainer.training_step", "Trainer.training_step"},
        {"_AutomaticOptimization._make_backward_fn.<locals>.backward_fn",
         "_AutomaticOptimiz..backward_fn"},
        {"LRScheduler.__init__.<locals>.patch_track_step_called.<locals>.wrapper",
         "LRScheduler.__init__..wrapper"},
        {"GradientCheckpointingLayer.__call__", "GradientCheckpointin..__call__"},
        /* There is no room for the last part, or it is no Python name. */
        {"Trainer._maybe_log_save_evaluate", "Trainer._maybe_log_.._evaluate"},
        {"a_function_that_the_compiler_has_cut.constprop.0", "a_function_that_the..nstprop.0"},
        {"list<std::pair<int, x.y> >::push_back_all_of_them", "list<pair<int, x.y>..l_of_them"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf b;
        buf_init(&b, 1 << 20);
        shorten_put(&b, names[i].name, 30);
        assert_string_equal(buf_cstr(&b), names[i].shown);
        buf_fini(&b);
    }
}

/* No name, however odd, gets wider than requested. */
TEST(test_odd_names)
{
    static const char letters[] = "a:<>(),{} [-operator()<<>>\xc3\xa9";
    unsigned seed = 1;
    for (int round = 0; round < 20000; round++) {
        char name[64];
        size_t n = (size_t)(rand_r(&seed) % 63);
        for (size_t i = 0; i < n; i++)
            name[i] = letters[(size_t)rand_r(&seed) % (sizeof letters - 1)];
        name[n] = '\0';
        size_t width = 3 + (size_t)(rand_r(&seed) % 40), wide = 0;
        struct buf b;
        buf_init(&b, 1 << 20);
        shorten_kernel(&b, name, width);
        for (size_t i = 0; i < b.len; i++)
            wide += ((unsigned char)b.data[i] & 0xc0) != 0x80;
        assert_true(wide <= width);
        buf_fini(&b);
    }
}

/* ---- a table ----------------------------------------------------------------------------- */

enum { ROWS = 4 };

/* The names of one table, and how they are shown. */
static const struct table_case {
    size_t width;
    const char *names[ROWS], *shown[ROWS];
} tables[] = {
    /* Parts that the instances share are left out, the longest first, and no more than needed. */
    {40,
     {"void gemm<__half, float, Tile<128, 256, 64>, (Layout)0, (Layout)1>(int)",
      "void gemm<__half, float, Tile<128, 256, 64>, (Layout)1, (Layout)0>(int)",
      "void gemm<__half, float, Tile<128, 128, 64>, (Layout)0, (Layout)1>(int)", "relu"},
     {"gemm<.., Tile<.., 256, 64>, 0, 1>", "gemm<.., Tile<.., 256, 64>, 1, 0>",
      "gemm<.., Tile<.., 128, 64>, 0, 1>", "relu"}},
    {45,
     {"void gemm<__half, float, Tile<128, 256, 64>, (Layout)0, (Layout)1>(int)",
      "void gemm<__half, float, Tile<128, 256, 64>, (Layout)0, (Layout)0>(int)"},
     {"gemm<__half, float, .., (Layout)0, (Layout)1>", NULL}},
    /* If the arguments differ, the common name is shortened. */
    {42,
     {"void mine::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, A>(int)",
      "void mine::vectorized_elementwise_kernel<4, at::native::AddFunctor<int, B>, A>(int)"},
     {"vectorized_ele..<4, FillFunctor<float>, A>", NULL}},
    /* If tiles inside CUTLASS's templates differ, the outer templates are shortened. */
    {45,
     {"void cutlass::device_kernel<cutlass::GemmUniversal<int, CollectiveMma<Tile<128, 256, 64>, "
      "RowMajor, ColMajor, StaticPersistentTileScheduler>, StaticPersistentTileScheduler> >(int)",
      "void cutlass::device_kernel<cutlass::GemmUniversal<int, CollectiveMma<Tile<64, 256, 64>, "
      "RowMajor, ColMajor, StaticPersistentTileScheduler>, StaticPersistentTileScheduler> >(int)",
      "void cutlass::device_kernel<cutlass::GemmUniversal<int, CollectiveMma<Tile<128, 128, 64>, "
      "RowMajor, ColMajor, StaticPersistentTileScheduler>, StaticPersistentTileScheduler> >(int)"},
     {"device_kernel<.., Tile<128, 256, 64>, ..>", "device_kernel<.., Tile<64, 256, 64>, ..>",
      "device_kernel<.., Tile<128, 128, 64>, ..>"}},
    /* Only the namespace differs, or only a parameter. */
    {12, {"void a::scale(int)", "void b::scale(int)"}, {"a::scale", "b::scale"}},
    {12, {"scale(int*)", "scale(char*)"}, {"scale(int*)", "scale(char*)"}},
    /* A rule has one text for them: the differences follow it, functions first. */
    {40,
     {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, A>(int)",
      "void at::native::vectorized_elementwise_kernel<2, at::native::FillFunctor<float>, A>(int)",
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, A>(int)"},
     {"Fill float [4]", "Fill float [2]", "Fill int"}},
    {60,
     {"void at::native::unrolled_elementwise_kernel<at::native::FillFunctor<float>, A>(int)",
      "void at::native::vectorized_elementwise_kernel<2, at::native::FillFunctor<float>, A>(int)",
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, A>(int)"},
     {"Fill float [unrolled_elementwise_kernel]", "Fill float [vectorized_elementwise_kernel 2]",
      "Fill float [vectorized_elementwise_kernel 4]"}},
    {60,
     {"sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize96x64x32_stage4_warpsize2x2x1_kernel",
      "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize96x64x32_stage3_warpsize2x2x1_kernel"},
     {"gemm f16 f16f32 f32 nn n 96x64x32 sm80 [stage4]",
      "gemm f16 f16f32 f32 nn n 96x64x32 sm80 [stage3]"}},
    /* Only parameters differ, or a part of an odd name. */
    {60,
     {"triton_poi_fused_add_0(int)", "triton_poi_fused_add_0(long)",
      "triton_poi_fused__add_0(int)"},
     {"pointwise add #0 [add int]", "pointwise add #0 [add long]", "pointwise add #0 [_add]"}},
    /* Names that do not differ are numbered. */
    {20, {"f<1>", "f<1>", "f<1>"}, {"f<1>", "f<1> #2", "f<1> #3"}},
};

static size_t columns(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

TEST(test_tables)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct table_case *t = &tables[i];
        size_t count = 0;
        struct buf b;
        while (count < ROWS && t->names[count])
            count++;
        buf_init(&b, 1 << 20);
        assert_int_equal(shorten_rows(&b, t->names, count, t->width), 0);
        const char *at = b.data;
        for (size_t r = 0; r < count; r++, at += strlen(at) + 1) {
            print_message("%s\n", at);
            if (t->shown[r])
                assert_string_equal(at, t->shown[r]);
        }
        assert_ptr_equal(at, b.data + b.len);
        buf_fini(&b);
    }
}

/* Whatever the names are, the table keeps their order, none is wider than requested, and no two are
 * equal. */
TEST(test_odd_tables)
{
    static const char *const words[] = {"a",   "::", "<",        ">",        ", ",
                                        "(",   ")",  "operator", "kernel",   "float",
                                        "128", "->", "\xc3\xa9", "(Layout)0"};
    enum { NAMES = 12, BYTES = 256 };
    static char names[NAMES][BYTES];
    unsigned seed = 7;
    for (int round = 0; round < 5000; round++) {
        const char *list[NAMES];
        for (int n = 0; n < NAMES; n++) {
            snprintf(names[n], BYTES, "%s", n % 3 ? "kernel<float, 128, " : "");
            for (int w = rand_r(&seed) % 12; w > 0; w--)
                strcat(names[n], words[(size_t)rand_r(&seed) % (sizeof words / sizeof *words)]);
            list[n] = names[n];
        }
        size_t width = 16 + (size_t)(rand_r(&seed) % 30);
        struct buf b;
        buf_init(&b, 1 << 20);
        assert_int_equal(shorten_rows(&b, list, NAMES, width), 0);
        const char *shown[NAMES], *at = b.data;
        for (int n = 0; n < NAMES; n++, at += strlen(at) + 1) {
            shown[n] = at;
            assert_true(columns(at) <= width);
            for (int k = 0; k < n; k++)
                if (strcmp(names[n], names[k]) != 0)
                    assert_string_not_equal(shown[n], shown[k]);
        }
        buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short), cmocka_unit_test(test_qualified_names),
        cmocka_unit_test(test_odd_names), cmocka_unit_test(test_tables),
        cmocka_unit_test(test_odd_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
