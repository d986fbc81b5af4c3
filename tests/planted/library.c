/* library.c - runs a training step whose kernels have the names of libraries' kernels, in forms
 * that the program could avoid; clean: a step in better forms. */
#include "gpu.h"

enum { STEPS = 40, FULL = 2 * GPU_SMS };

#define GEMM_F32  "ampere_sgemm_128x64_nn"
#define GEMM_BF16 "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN"
#define TO_NHWC   "_ZN5cudnn3ops16nchwToNhwcKernelIfffLb0ELb1EEEvPf"
#define TO_BF16                                                                                    \
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_25bfloat16_copy_kernel_cudaERNS_"       \
    "18TensorIteratorBaseEEUlfE_St5arrayIPcLm2EEEEviT0_T1_"
#define ADD                                                                                        \
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"                          \
    "addIfEESt5arrayIPcLm3EEEEviT0_T1_"
#define SOFTMAX "_ZN12_GLOBAL__N_120softmax_warp_forwardIfffLi8ELb0ELb0EEEvPf"
#define FOREACH_ADD                                                                                \
    "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi2EEENS1_"   \
    "24BinaryOpListAlphaFunctorIfLi2ELi2ELi0EEESt4plusIfEfEEvT_T0_"
#define FOREACH_SQRT                                                                               \
    "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi1EEENS1_"   \
    "14UnaryOpFunctorIfLi1ELi1ELi0EEEfEEvT_T0_"
#define FUSED "triton_poi_fused_add_relu_0"

/* Products of float32 without tensor cores, a conversion of layouts, a cast, attention in pieces, a
 * chain of additions, an optimizer operation by operation, and a product with few blocks. */
__attribute__((noinline)) static void train(gpu_stream stream)
{
    void *product = gpu_kernel(GEMM_F32), *convert = gpu_kernel(TO_NHWC),
         *cast = gpu_kernel(TO_BF16), *softmax = gpu_kernel(SOFTMAX), *add = gpu_kernel(ADD),
         *step = gpu_kernel(FOREACH_ADD), *root = gpu_kernel(FOREACH_SQRT),
         *small = gpu_kernel(GEMM_BF16);
    for (int i = 0; i < STEPS; i++) {
        LAUNCH(convert, FULL, 128, stream, MS / 2); /* PLANTED: library-launch */
        LAUNCH(cast, FULL, 128, stream, MS / 2);
        LAUNCH(product, FULL, 128, stream, MS / 2);
        LAUNCH(softmax, FULL, 128, stream, MS / 2);
        LAUNCH(product, FULL, 128, stream, MS / 2);
        for (int k = 0; k < 3; k++)
            LAUNCH(add, FULL, 128, stream, MS / 2);
        LAUNCH(small, GPU_SMS / 4, 128, stream, MS / 2);
        LAUNCH(step, FULL, 128, stream, MS / 2);
        LAUNCH(root, FULL, 128, stream, MS / 2);
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: library-end */
}

/* Not inlined: the compiler would make one wait of the two functions' last lines. */
__attribute__((noinline)) static void train_well(gpu_stream stream)
{
    void *product = gpu_kernel(GEMM_BF16), *fused = gpu_kernel(FUSED);
    for (int i = 0; i < STEPS; i++) {
        LAUNCH(product, FULL, 128, stream, MS / 2);
        LAUNCH(fused, FULL, 128, stream, MS / 2);
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: library-clean-end */
}

int main(int argc, char **argv)
{
    bool clean = gpu_open(argc, argv);
    gpu_stream stream;
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    if (clean)
        train_well(stream);
    else
        train(stream);
}
