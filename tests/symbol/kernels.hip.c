/* kernels.hip.c - has device code for AMD GPUs, as the fake HIP program's kernels are called. clang
 * of Debian's compiles it without ROCm. Tests read from it which lines their instructions are
 * at. */
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL __attribute__((amdgpu_kernel))

static inline __attribute__((always_inline)) float leaky(float x)
{
    return x > 0 ? x : x * 0.125f; /* inlined here */
}

static inline unsigned here(void)
{
    return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
}

KERNEL void _Z9fake_gemmPfS_S_i(const GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c,
                                int n)
{
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[here() + (unsigned)k] * b[(unsigned)k]; /* the product */
    c[here()] = sum;
}

KERNEL void _Z9fake_reluPfi(GLOBAL float *x, int n)
{
    if (here() < (unsigned)n)
        x[here()] = leaky(x[here()]); /* calls leaky */
}
