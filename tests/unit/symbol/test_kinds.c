/* test_kinds.c - tests the libraries of kernels and their operations: names from libraries, with
 * those of tests/data/names/kernels.txt, and similar names of programs. */
#include "symbol/names/demangle.h"
#include "symbol/names/kinds.h"
#include "tests/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 0xffff };

static uint32_t kinds_of_name(const char *name)
{
    struct buf b;
    buf_init(&b, DEMANGLE_ROOM);
    demangle_put(&b, name);
    uint32_t kinds = kinds_of(buf_cstr(&b));
    buf_fini(&b);
    return kinds;
}

#define COPY(functor, lambda)                                                                      \
    "void at::native::vectorized_elementwise_kernel<4, at::native::" functor                       \
    "(at::TensorIteratorBase&)::{lambda(" lambda ")#1}, std::array<char*, 2ul> >(int)"
#define CAST_TO(type)                                                                              \
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda"             \
    "(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(" type ")#1}, "          \
    "std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, "                        \
    "at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int)"

static const struct {
    const char *name, *library;
    uint32_t kinds;
} cases[] = {
    {"ampere_sgemm_128x64_nn", "cuBLAS", KERNEL_PRODUCT | KERNEL_FLOAT32},
    {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL", 0},
    {"void wgrad_alg0_engine_NHWC<float, 128, 5, 5, 3, 3, 3, false, 512>(int)", "cuDNN", 0},
    {"void dgrad_engine<__nv_bfloat16, 512, 6, 5, 3, 3, 3, false>(int)", "cuDNN", 0},
    {"void precomputed_convolve_sgemm<__nv_bfloat16, 1024, 5, 5, 4, 3, 3, 1, false>(int)", "cuDNN",
     0},
    {"void nhwcAddPaddingKernel<float, float, float, true, (cudnnKernelDataType_t)0>(int)", "cuDNN",
     0},
    {"void fft2d_c2r_32x32<float, false, false, 1u, false, false>(float*)", "cuDNN", 0},
    {"void pointwise_mult_and_sum_complex<float2, 8, 4>(float2*)", "cuDNN", 0},
    {"void xmma__5x_cudnn::implicit_gemm::strided_dgrad_indexed::kernel_helper_stage_0<int>(int)",
     "cuDNN", 0},
    {"void sgemm_largek_lds64<true, false, 5, 5, 4, 4, 4, 34>(float*)", "cuBLAS", 0},
    {"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>(int)",
     "cuBLAS", 0},
    {"void stream_executor::gpu::xla_fp_comparison<float>(float*, float*, float)", "XLA", 0},
    {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "NCCL", 0}, /* RCCL's */
    {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", "cuBLAS", KERNEL_PRODUCT},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x128x8_stage3_warpsize1x4x1_ffma_"
     "aligna4_alignc4_execute_kernel__5x_cublas",
     "cuBLAS", KERNEL_PRODUCT | KERNEL_FLOAT32},
    {"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_"
     "segment_k_off_kernel__5x_cublas",
     "cuBLAS", KERNEL_PRODUCT | KERNEL_TF32},
    {"sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_"
     "tilesize128x128x16_stage4_warpsize2x2x1_g1_tensor16x8x8_kernel_cudnn",
     "cuDNN", KERNEL_PRODUCT | KERNEL_TF32},
    {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>"
     "(cutlass_80_simt_sgemm_128x64_8x5_nt_align1::Params)",
     "CUTLASS", KERNEL_PRODUCT | KERNEL_FLOAT32},
    {"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4>(int)", "CUTLASS",
     KERNEL_PRODUCT | KERNEL_TF32},
    {"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", "cuBLAS", KERNEL_PRODUCT},
    {"void implicit_convolve_sgemm<float, float, 128, 6, 7, 3, 3, 5, 1, false, false, true>"
     "(int)",
     "cuDNN", KERNEL_PRODUCT | KERNEL_FLOAT32},
    {"void implicit_convolve_sgemm<__half, __half, 128, 6, 7, 3, 3, 5, 1, false, false, true>"
     "(int)",
     "cuDNN", KERNEL_PRODUCT},
    {"void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, "
     "(cudnnKernelDataType_t)0>(cudnn::ops::nchw2nhwc_params_t<float>, float const*, float*)",
     "cuDNN", KERNEL_LAYOUT},
    {"void cudnn::ops::nhwcToNchwKernel<__half, __half, float, true, false, "
     "(cudnnKernelDataType_t)2>(int)",
     "cuDNN", KERNEL_LAYOUT},
    {COPY("bfloat16_copy_kernel_cuda", "float"), "PyTorch", KERNEL_CAST | KERNEL_ELEMENTWISE},
    {COPY("float16_copy_kernel_cuda", "float"), "PyTorch", KERNEL_CAST | KERNEL_ELEMENTWISE},
    {COPY("bfloat16tofloat32_copy_kernel_cuda", "c10::BFloat16"), "PyTorch", KERNEL_ELEMENTWISE},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_25bfloat16_copy_kernel_cuda"
     "ERNS_18TensorIteratorBaseEEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
     "PyTorch", KERNEL_CAST | KERNEL_ELEMENTWISE},
    {CAST_TO("c10::BFloat16"), "PyTorch", KERNEL_CAST | KERNEL_ELEMENTWISE},
    {CAST_TO("float"), "PyTorch", KERNEL_ELEMENTWISE},
    {"void (anonymous namespace)::softmax_warp_forward<c10::Half, c10::Half, float, 8, false, "
     "false>(c10::Half*)",
     "PyTorch", KERNEL_SOFTMAX},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float, "
     "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*)",
     "PyTorch", 0},
    {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, "
     "false, cutlass::half_t, X>, false>(int)",
     "flash-attention", KERNEL_ATTENTION},
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>"
     "::Params)",
     "memory-efficient attention", KERNEL_ATTENTION},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_"
     "kernel0_0",
     "cuDNN", KERNEL_ATTENTION},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
     "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::"
     "BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>(int)",
     "PyTorch", KERNEL_FOREACH},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
     "namespace)::TensorListMetadata<4>, at::native::(anonymous namespace)::"
     "FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>(int)",
     "PyTorch", 0},
    {"triton_poi_fused_add_relu_0", "torch.compile", 0},
    {"triton_per_fused__softmax_1", "torch.compile", KERNEL_SOFTMAX},
    {"loop_multiply_subtract_fusion_17", "XLA", 0},
    {"gemm_fusion_dot_12", "XLA", KERNEL_PRODUCT},
    {"void at_cuda_detail::cub::DeviceScanKernel<int>(long const*)", "PyTorch", 0},
};

TEST(test_known)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t kinds = kinds_of_name(cases[i].name);
        const char *library = kinds_library(kinds);
        if (!library || strcmp(library, cases[i].library) != 0 || (kinds & KINDS) != cases[i].kinds)
            fail_msg("%s: %s, kinds %x", cases[i].name, library ? library : "no library",
                     kinds & KINDS);
    }
}

/* Kernels of programs are no library's, even if their names are similar. */
TEST(test_own)
{
    static const char *const names[] = {
        "",
        "saxpy",
        "_Z4gemmPf",
        "_Z5sgemmPf",
        "my_sgemm_kernel",
        "tiled_nchwToNhwc",
        "matmul_kernel",
        "_fwd_kernel",
        "flash_backward_dq_kernel",
        "fused_dropout_kernel",
        "transpose_kernel",
        "void app::elementwise_kernel<float>(float*)",
        "void app::vectorized_elementwise_kernel<4, app::cast>(int)",
        "void reduce<cutlass_like>(int)",
        "void dot_kernel<float>(float*)",
        "attention_kernel",
        "fusion",
        "cudapy::__main__::saxpy",
        "triton_kernel",
        "void mycub::scan<int>(int*)",
        "void dgrad(float*)",
        "void wgrad_engine<float>(float*)",
        "fft2d_c2r",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kinds_library(kinds_of_name(names[i])))
            fail_msg("%s is taken for %s's", names[i], kinds_library(kinds_of_name(names[i])));
    assert_null(kinds_library(UINT32_MAX));
}

/* Every kernel of the file is a library's, except those of programs' own Python and CUDA. */
TEST(test_file)
{
    static const char *const own[] = {"saxpy",  "_fwd_kernel", "matmul_kernel",
                                      "cudapy", "thrust_like", "reshape_and_cache_kernel_flash"};
    char path[512], *line = NULL;
    size_t cap = 0, count = 0;
    const char *root = getenv("GPUFL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/data/names/kernels.txt", root ? root : ".");
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (getline(&line, &cap, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        const char *name = strchr(line, '\t') + 1;
        bool mine = false;
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            mine |= !strncmp(line, own[i], strlen(own[i]));
        if (mine == (kinds_library(kinds_of_name(name)) != NULL))
            fail_msg("%s is %s", name, mine ? "taken for a library's" : "no library's");
        count++;
    }
    assert_true(count >= 120);
    free(line);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_own),
                                       cmocka_unit_test(test_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
