/* test_library.c - what a program can change about libraries' kernels: each rule with
 * a program that has its fault, and with similar programs without the fault. */
#include "analyze/common/words.h"
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <stdlib.h>
#include <string.h>

#define ATEN "void at::native::"
#define ELEMENTWISE(name)                                                                          \
    ATEN "vectorized_elementwise_kernel<4, at::native::" name ", std::array<char*, 2ul> >(int)"
#define ADD     ELEMENTWISE("CUDAFunctor_add<float>")
#define MUL     ELEMENTWISE("MulFunctor<float>")
#define TO_BF16 ELEMENTWISE("bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}")
#define TO_FLOAT                                                                                   \
    ELEMENTWISE("bfloat16tofloat32_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(c10::"       \
                "BFloat16)#1}")
#define FOREACH(functor)                                                                           \
    ATEN "(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "                \
         "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::" functor          \
         "<float, 2, 2, 0>, std::plus<float>, float>(int)"
#define SGEMM "ampere_sgemm_128x64_nn"
#define BF16  "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN"
#define TF32  "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4>(int)"
#define SOFTMAX                                                                                    \
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, "             \
    "false>(float*)"
#define FLASH                                                                                      \
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>, false>(int)"
#define NHWC                                                                                       \
    "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, "                         \
    "(cudnnKernelDataType_t)0>(int)"

static struct program *const p = &finder.p;

/* A launch configuration of a kernel. */
static int64_t kernel(const char *name, int64_t blocks)
{
    return program_config(p, name, blocks);
}

/* Runs the kernels one after the other, n times; 100 us each. */
static void run(int n, const int64_t *list, size_t count, int64_t stack)
{
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < count; k++)
            program_launch(
                p, (struct program_kernel){.ns = 100000, .config = list[k], .stack = stack});
}

#define RUN(n, stack, ...)                                                                         \
    run(n, (const int64_t[]){__VA_ARGS__},                                                         \
        sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), stack)

/* Finds the insights; no rule of libraries except this one may fire. Returns its finding. */
static const struct insight *look(const char *rule)
{
    finder_look();
    for (size_t i = 0; i < finder.found.count; i++)
        if (finder.found.items[i].rule->category == INSIGHT_LIBRARY &&
            strcmp(finder.found.items[i].rule->id, rule) != 0)
            fail_msg("%s: %s", finder.found.items[i].rule->id, finder.found.items[i].text);
    return *rule ? finder_find(rule, "") : NULL;
}

TEST(test_float32)
{
    finder_begin("float32");
    int64_t stack = finder_python("/srv/app/train.py", "forward", 12);
    RUN(40, stack, kernel(SGEMM, 8), kernel(BF16, 8));
    const struct insight *i = look("float32_products");
    assert_non_null(i);
    assert_string_equal(
        i->text,
        "40 launches of products of float32 that use no tensor cores took 4.00 ms together, in "
        "sgemm 128x64 nn ampere; 100.0 % of it was launched at train.py:12 in forward(). TF32 "
        "rounds factors to 10 bits of mantissa: check that the results are still good enough.");
    assert_non_null(strstr(i->next, "set_float32_matmul_precision"));
    assert_int_equal(i->gives_back, 40 * 100000 * 7 / 8);
    finder_without_memory();
    finder_end();

    finder_begin("some with TF32");
    RUN(40, 0, kernel(SGEMM, 8), kernel(TF32, 8));
    i = look("float32_products");
    assert_non_null(strstr(i->text, "Other products of the run do use TF32"));
    finder_end();

    finder_begin("a GPU without tensor cores"); /* compute_major is that of gfx9 */
    program_arch(p, 1, "gfx942");
    RUN(40, 0, kernel(SGEMM, 8));
    assert_null(look(""));
    finder_end();

    finder_begin("tensor cores");
    RUN(40, 0, kernel(TF32, 8), kernel(BF16, 8));
    assert_null(look(""));
    finder_end();

    finder_begin("own");
    RUN(40, 0, kernel("my_sgemm_kernel", 8));
    assert_null(look(""));
    finder_end();
}

/* The GPU has no tensor cores for TF32, or its architecture is unknown. */
TEST(test_old_device)
{
    for (int64_t major = 7; major <= 8; major++) {
        finder_begin("old");
        struct device_row d;
        MAKE_UNKNOWN(d);
        d.id = 2;
        d.uuid = program_name(p, "GPU-1");
        d.sm_count = 4;
        d.compute_major = major == 7 ? 7 : CELL_NULL;
        make_log_rows(&p->log, RECORD_device, &d, 1);
        make_log_rows(&p->log, RECORD_stream, &(struct stream_row){1, 2, 1, 7}, 1);
        struct config_row c = {.id = 1,
                               .name = program_name(p, SGEMM),
                               .device = 2,
                               .grid_x = 8,
                               .grid_y = 1,
                               .grid_z = 1};
        make_log_rows(&p->log, RECORD_config, &c, 1);
        RUN(40, 0, 1);
        assert_null(look(""));
        finder_end();
    }
}

TEST(test_layout)
{
    finder_begin("layout");
    RUN(40, 0, kernel(NHWC, 8), kernel(BF16, 8));
    const struct insight *i = look("layout_conversions");
    assert_non_null(i);
    assert_int_equal(i->gives_back, 4000000);
    assert_non_null(strstr(i->next, "channels_last"));
    finder_end();

    finder_begin("few"); /* 0.5 % of the run */
    RUN(1, 0, kernel(NHWC, 8));
    RUN(200, 0, kernel(BF16, 8));
    assert_null(look(""));
    finder_end();
}

TEST(test_casts)
{
    finder_begin("casts");
    int64_t cast = kernel(TO_BF16, 8);
    RUN(40, 0, cast, kernel(BF16, 8));
    const struct insight *i = look("repeated_casts");
    assert_non_null(i);
    assert_int_equal(finder_fact(i, "launches"), 40);
    assert_int_equal(i->gives_back, 4000000);
    finder_end();

    finder_begin("once"); /* nine of each shape: a model that is converted at the start */
    for (int shape = 1; shape <= 5; shape++)
        RUN(9, 0, kernel(TO_BF16, shape), kernel(BF16, 8));
    assert_null(look(""));
    finder_end();

    finder_begin("to float32");
    RUN(40, 0, kernel(TO_FLOAT, 8), kernel(BF16, 8));
    assert_null(look(""));
    finder_end();
}

TEST(test_attention)
{
    finder_begin("pieces");
    RUN(12, 0, kernel(BF16, 8), kernel(ADD, 8), kernel(SOFTMAX, 8), kernel(BF16, 8));
    const struct insight *i = look("attention_pieces");
    assert_non_null(i);
    assert_int_equal(finder_fact(i, "launches"), 12);
    assert_int_equal(i->gives_back, 12 * 4 * 100000 * 47ll / 48); /* one is before the steps */
    assert_non_null(strstr(i->next, "scaled_dot_product_attention"));
    finder_end();

    finder_begin("whole"); /* a router's softmax is between products as well */
    RUN(12, 0, kernel(BF16, 8), kernel(SOFTMAX, 8), kernel(BF16, 8), kernel(FLASH, 8));
    assert_null(look(""));
    finder_end();

    finder_begin("loss"); /* nothing is multiplied with the probabilities */
    RUN(12, 0, kernel(BF16, 8), kernel(SOFTMAX, 8), kernel("a", 8), kernel("b", 8), kernel("c", 8),
        kernel("d", 8), kernel("e", 8), kernel("f", 8));
    assert_null(look(""));
    finder_end();
}

/* Rows out of order are no sequence. */
TEST(test_disorder)
{
    finder_begin("disorder");
    int64_t list[] = {kernel(BF16, 8), kernel(SOFTMAX, 8), kernel(BF16, 8)};
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 3; k++) {
            p->now = p->gpu = 100000000 - (i * 3 + k) * 200000;
            program_launch(p, (struct program_kernel){.ns = 100000, .config = list[k]});
        }
    p->now = p->gpu = 100000000;
    assert_null(look(""));
    finder_end();
}

TEST(test_chains)
{
    finder_begin("chains");
    int64_t stack = finder_python("/srv/app/model.py", "gelu", 7);
    RUN(40, stack, kernel(ADD, 8), kernel(MUL, 16), kernel(ADD, 8), kernel("own", 8));
    const struct insight *i = look("elementwise_chains");
    assert_non_null(i);
    assert_int_equal(finder_fact(i, "launches"), 120);
    assert_int_equal(i->gives_back, 40 * 2 * 100000 * 119ll / 120); /* one is before the steps */
    assert_non_null(strstr(i->text, "at model.py:7 in gelu()"));
    finder_end();

    finder_begin("two are no chain");
    RUN(40, 0, kernel(ADD, 8), kernel(MUL, 8), kernel("own", 8));
    assert_null(look(""));
    finder_end();

    finder_begin("of other sizes");
    RUN(40, 0, kernel(ADD, 8), kernel(MUL, 64), kernel(ADD, 512));
    assert_null(look(""));
    finder_end();

    finder_begin("fused");
    RUN(40, 0, kernel("triton_poi_fused_add_mul_0", 8), kernel("triton_poi_fused_add_1", 8),
        kernel("triton_poi_fused_add_2", 8));
    assert_null(look(""));
    finder_end();
}

TEST(test_optimizer)
{
    finder_begin("foreach");
    RUN(40, 0, kernel(FOREACH("BinaryOpListAlphaFunctor"), 8),
        kernel(FOREACH("PointwiseOpScalarListFunctor"), 8), kernel(FOREACH("UnaryOpFunctor"), 8));
    const struct insight *i = look("unfused_optimizer");
    assert_non_null(i);
    assert_int_equal(i->gives_back, 79 * 100000); /* one is before the steps */
    assert_non_null(strstr(i->next, "fused=True"));
    finder_end();

    finder_begin("fused");
    RUN(40, 0, kernel(FOREACH("FusedAdamMathFunctor"), 8), kernel(FOREACH("LpNormFunctor"), 8));
    assert_null(look(""));
    finder_end();
}

TEST(test_small)
{
    finder_begin("small"); /* 1 block on 4 SMs */
    RUN(40, 0, kernel(BF16, 1));
    const struct insight *i = look("small_products");
    assert_non_null(i);
    assert_int_equal(i->gives_back, 40 * 100000 * 3 / 4);
    assert_non_null(strstr(i->text, "with fewer blocks than the GPU has SMs"));
    assert_non_null(strstr(i->text, "may have used the other SMs."));
    finder_end();

    finder_begin("small on AMD");
    program_arch(p, 1, "gfx942");
    RUN(40, 0, kernel(BF16, 1));
    i = look("small_products");
    assert_non_null(i);
    assert_non_null(strstr(i->text, "with fewer workgroups than the GPU has CUs"));
    assert_non_null(strstr(i->text, "may have used the other CUs."));
    finder_end();

    finder_begin("filled");
    RUN(40, 0, kernel(BF16, 3), kernel("own", 1));
    assert_null(look(""));
    finder_end();
}

/* A launch of a graph with three kernels, then kernels of their own; 5 us each, 30 us apart. */
static void graph_step(int singles)
{
    int64_t graph = ++p->correlation;
    for (int k = 0; k < 3; k++) {
        struct kernel_row row = {.start = p->gpu + 30000,
                                 .duration = 5000,
                                 .stream = 1,
                                 .correlation = graph,
                                 .graph = 7,
                                 .graph_node = k + 1,
                                 .thread = CELL_NULL};
        make_log_rows(&p->log, RECORD_kernel, &row, 1);
        p->gpu = row.start + row.duration;
    }
    for (int k = 0; k < singles; k++) {
        p->now = p->gpu + 25000;
        program_launch(p, (struct program_kernel){.ns = 5000});
    }
}

TEST(test_graphs)
{
    for (int singles = ORDER_SINGLES - 1; singles <= ORDER_SINGLES; singles++) {
        finder_begin("graphs");
        for (int i = 0; i < 30; i++)
            graph_step(singles);
        look("");
        const struct insight *i = finder_find("broken_graphs", "");
        assert_int_equal(i != NULL, singles == ORDER_SINGLES);
        if (i) {
            assert_int_equal(finder_fact(i, "graph_launches"), 30);
            assert_int_equal(finder_fact(i, "single_kernels"), 30 * singles);
            assert_non_null(strstr(i->next, "TORCH_LOGS=graph_breaks"));
        }
        finder_end();
    }
    for (int singles = ORDER_SINGLES - 1; singles <= ORDER_SINGLES; singles++) {
        finder_begin("storm"); /* so many that the storm has them, and says what keeps them there */
        for (int i = 0; i < 120; i++)
            graph_step(singles);
        look("");
        const struct insight *i = finder_find("launch_storm", "");
        assert_non_null(i);
        bool reported = singles == ORDER_SINGLES;
        assert_int_equal(strstr(i->next, "TORCH_LOGS=graph_breaks") != NULL, reported);
        assert_int_equal(strstr(i->text, "between 120 launches of CUDA graphs: something in the "
                                         "program breaks the graphs.") != NULL,
                         reported);
        assert_null(finder_find("broken_graphs", ""));
        finder_end();
    }
    finder_begin("XLA"); /* XLA chooses what is in a graph: nothing in the program breaks one */
    make_log_config(&p->log, 1, program_name(p, "loop_add_fusion_3"));
    program_launch(p, (struct program_kernel){.ns = 5000, .config = 1});
    for (int i = 0; i < 30; i++)
        graph_step(ORDER_SINGLES);
    look("");
    assert_null(finder_find("broken_graphs", ""));
    finder_end();
    finder_begin("warm"); /* single launches until the graph is there */
    for (int k = 0; k < 400; k++) {
        p->now = p->gpu + 25000;
        program_launch(p, (struct program_kernel){.ns = 5000});
    }
    for (int i = 0; i < 30; i++)
        graph_step(0);
    look("");
    assert_null(finder_find("broken_graphs", ""));
    finder_end();
}

/* The kernels of graphs have no rows: the mean number of single kernels after each graph counts. */
TEST(test_whole_graphs)
{
    for (int singles = ORDER_SINGLES - 1; singles <= ORDER_SINGLES; singles++) {
        finder_begin("whole");
        for (int i = 0; i < 30; i++) {
            struct graph_run_row row = {.start = p->gpu + 30000,
                                        .duration = 15000,
                                        .graph = 7,
                                        .stream = 1,
                                        .correlation = ++p->correlation,
                                        .thread = CELL_NULL};
            make_log_rows(&p->log, RECORD_graph_run, &row, 1);
            p->gpu = row.start + row.duration;
            for (int k = 0; k < singles; k++) {
                p->now = p->gpu + 25000;
                program_launch(p, (struct program_kernel){.ns = 5000});
            }
        }
        look("");
        assert_int_equal(finder_find("broken_graphs", "") != NULL, singles == ORDER_SINGLES);
        finder_end();
    }
}

/* With devices of two vendors, texts about all devices have the words of both, and texts about a
 * kernel those of the device that ran it. */
TEST(test_words_of_two_vendors)
{
    static const char *const archs[][2] = {{"sm_90", "gfx942"}, {"gfx942", "sm_90"}};
    for (int k = 0; k < 2; k++) {
        finder_begin("two");
        program_arch(p, 1, archs[k][0]);
        program_arch(p, 2, archs[k][1]);
        int64_t of_first = kernel(BF16, 1);
        RUN(40, 0, of_first);
        const struct insight *i = look("small_products");
        assert_non_null(i);
        assert_int_equal(strstr(i->text, "has CUs") != NULL, k);
        const struct words *several = words_join(words_of("sm_"), words_of("gfx"));
        assert_ptr_equal(model_words(&finder.m), several);
        assert_ptr_equal(model_kernel_words(&finder.m, i->kernel), words_of(k ? "gfx" : "sm_"));
        assert_ptr_equal(model_kernel_words(&finder.m, 0), several);
        finder_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float32),      cmocka_unit_test(test_old_device),
        cmocka_unit_test(test_layout),       cmocka_unit_test(test_casts),
        cmocka_unit_test(test_attention),    cmocka_unit_test(test_disorder),
        cmocka_unit_test(test_chains),       cmocka_unit_test(test_optimizer),
        cmocka_unit_test(test_small),        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_whole_graphs), cmocka_unit_test(test_words_of_two_vendors)};
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
