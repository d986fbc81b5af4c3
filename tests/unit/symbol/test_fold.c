/* test_fold.c - tests the owner of a frame's code, and the frame of a stack that is shown. */
#include "symbol/fold.h"
#include "tests/test.h"

#define NATIVE(function, module, file, line)                                                       \
    {                                                                                              \
        FOLD_NATIVE, function, module, file, line                                                  \
    }
#define PYTHON(function, file, line)                                                               \
    {                                                                                              \
        FOLD_PYTHON, function, "", file, line                                                      \
    }
#define MARK(text)                                                                                 \
    {                                                                                              \
        FOLD_NOTE, text, NULL, NULL, 0                                                             \
    }

#define APP   "/srv/app/train"
#define SITE  "/opt/venv/lib/python3.11/site-packages"
#define CUDA  "/usr/lib/x86_64-linux-gnu/libcuda.so.535.1"
#define LIBC  "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define TORCH SITE "/torch/lib/libtorch_cuda.so"
/* The rest, after "cab", of a name that torch.compile gives a file. */
#define INDUCTOR_49 "thbabborgcusndust3hyrtqk2fxx4kwylblge2ggkel234567"

TEST(test_kinds)
{
    static const struct {
        struct fold_frame frame;
        enum fold_kind kind;
    } cases[] = {
        {NATIVE("cuStreamSynchronize", CUDA, NULL, 0), FOLD_DRIVER},
        {NATIVE(NULL, "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12", NULL, 0), FOLD_DRIVER},
        {NATIVE("gpufl_start", "/opt/gpufl/lib/libgpufl.so.0", "/src/api.c", 3), FOLD_DRIVER},
        {NATIVE("cudaMemcpy", "/usr/local/cuda/lib64/libcudart.so.12", NULL, 0), FOLD_RUNTIME},
        {NATIVE("cudaMemcpy", SITE "/nvidia/cuda_runtime/lib/libcudart.so.12", NULL, 0),
         FOLD_RUNTIME},
        {NATIVE("cudaMemcpy", APP, NULL, 0), FOLD_RUNTIME},
        {NATIVE("cudaCheck", APP, "/src/app/check.h", 12), FOLD_USER}, /* the user's own helper */
        {NATIVE("cudaless", APP, NULL, 0), FOLD_USER},
        {NATIVE("_ZN6cudart6deviceEv", APP, NULL, 0), FOLD_RUNTIME},
        {NATIVE("__cudart612", APP, NULL, 0), FOLD_RUNTIME},
        {NATIVE("_Z32__device_stub__Z4axpyPff", APP, "/tmp/tmpxft_01.cudafe1.stub.c", 4),
         FOLD_RUNTIME},
        {NATIVE("cudaLaunchKernel", APP, "/usr/local/cuda/include/cuda_runtime.h", 211),
         FOLD_RUNTIME},
        {NATIVE("main", APP, "/src/app/main.cc", 12), FOLD_USER},
        {NATIVE("main", APP, NULL, 0), FOLD_USER},
        {NATIVE(NULL, APP, NULL, 0), FOLD_UNKNOWN},
        {NATIVE(NULL, NULL, NULL, 0), FOLD_UNKNOWN},
        {NATIVE("step", "/src/app/libops.so", "/src/app/ops.cc", 7), FOLD_USER},
        {NATIVE("step", "/src/app/libops.so", NULL, 0), FOLD_LIBRARY},
        {NATIVE("step", "/src/app/ops.cpython-311.so", NULL, 0), FOLD_LIBRARY},
        {NATIVE("step", "/tmp/_MEI1/libops.so (deleted)", NULL, 0), FOLD_LIBRARY},
        {NATIVE("step", "/tmp/_MEI1/train (deleted)", NULL, 0), FOLD_USER},
        {NATIVE(NULL, "/tmp/_MEI1/train (deleted)", NULL, 0), FOLD_UNKNOWN},
        {NATIVE("vector::at", APP, "/usr/include/c++/12/bits/stl_vector.h", 90), FOLD_LIBRARY},
        {NATIVE("at::item", TORCH, NULL, 0), FOLD_LIBRARY},
        {NATIVE("_PyEval_EvalFrameDefault", "/usr/bin/python3.11", NULL, 0), FOLD_INTERPRETER},
        {NATIVE("PyObject_Call", "/usr/lib/libpython3.12.so.1.0", NULL, 0), FOLD_INTERPRETER},
        {NATIVE("clone", LIBC, NULL, 0), FOLD_SYSTEM},
        {NATIVE("_start", APP, NULL, 0), FOLD_SYSTEM},
        {NATIVE("__vdso_gettimeofday", "linux-vdso.so.1", NULL, 0), FOLD_SYSTEM},
        {PYTHON("step", "/src/app/train.py", 90), FOLD_USER},
        {PYTHON("<module>", "<stdin>", 1), FOLD_USER},
        {PYTHON("__init__", "<string>", 3), FOLD_GENERATED},
        {PYTHON("__init__", "<attrs generated init app.Batch>", 3), FOLD_GENERATED},
        {PYTHON("f", "<decorator-gen-12>", 2), FOLD_LIBRARY},
        {PYTHON("f", "<@beartype(app.f) at 0x7f12>", 2), FOLD_LIBRARY},
        {PYTHON("f", "/tmp/torch_geometric.nn.conv.gcn_conv_GCNConv_propagate_b.py", 9),
         FOLD_LIBRARY},
        {PYTHON("f", "/src/app/torch_geometric_net.py", 9), FOLD_USER},
        {PYTHON("call", "/tmp/torchinductor_root/ab/cab.py", 9), FOLD_LIBRARY},
        {PYTHON("call", "/src/app/torchinductor.py", 9), FOLD_USER},
        {PYTHON("item", SITE "/torch/_tensor.py", 5), FOLD_LIBRARY},
        {PYTHON("f", "/usr/lib/python3/dist-packages/numpy/core.py", 5), FOLD_LIBRARY},
        {PYTHON("run", "/usr/lib/python3.11/threading.py", 5), FOLD_STDLIB},
        {PYTHON("_call", "<frozen importlib._bootstrap>", 5), FOLD_STDLIB},
        {PYTHON("f", "", 0), FOLD_UNKNOWN},
        {MARK("<driver-internal>"), FOLD_MARK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (fold_classify(&cases[i].frame) != cases[i].kind)
            fail_msg("%zu: %s is %s", i,
                     cases[i].frame.function ? cases[i].frame.function : "without a name",
                     fold_name(fold_classify(&cases[i].frame)));
}

/* A file of torch.compile is a library's, in whatever folder its cache is. */
TEST(test_inductor)
{
    static const struct {
        struct fold_frame frame;
        enum fold_kind kind;
    } cases[] = {
        {PYTHON("call", "/srv/kept/ab/cab" INDUCTOR_49 ".py", 9), FOLD_LIBRARY},
        {PYTHON("call", "ab/cab" INDUCTOR_49 ".py", 9), FOLD_USER},           /* a relative path */
        {PYTHON("call", "/srv/kept/ac/cab" INDUCTOR_49 ".py", 9), FOLD_USER}, /* another folder */
        {PYTHON("call", "/srv/kept/ab/cab" INDUCTOR_49 "a.py", 9), FOLD_USER},
        {PYTHON("call", "/srv/kept/ab/cab" INDUCTOR_49 ".pyc", 9), FOLD_USER},
        {PYTHON("call", "/srv/kept/ab/dab" INDUCTOR_49 ".py", 9), FOLD_USER},
        {PYTHON("call", "/srv/kept/ab/cab.py", 9), FOLD_USER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(fold_classify(&cases[i].frame), cases[i].kind);
}

static const struct {
    const char *what;
    struct fold_frame frames[7];
    size_t count, shown;
} stacks[] = {
    {"a program with the runtime linked in",
     {NATIVE("cuStreamSynchronize", CUDA, NULL, 0), NATIVE("cudaStreamSynchronize", APP, NULL, 0),
      NATIVE("wait", APP, "/src/app/wait.h", 8), NATIVE("main", APP, "/src/app/main.cc", 30)},
     4,
     2},
    {"a library's template inlined into the user's function",
     {NATIVE("sort", APP, "/usr/local/cuda/include/thrust/sort.h", 8),
      NATIVE("main", APP, "/src/app/main.cc", 30)},
     2,
     1},
    {"Python above a framework",
     {NATIVE("at::item", TORCH, NULL, 0), PYTHON("item", SITE "/torch/_tensor.py", 5),
      PYTHON("loss_of", "/src/app/util.py", 12), PYTHON("step", "/src/app/train.py", 90),
      NATIVE("Py_BytesMain", "/usr/bin/python3", NULL, 0)},
     5,
     2},
    {"a program and a library whose files are gone: the program's frame, not the library's",
     {NATIVE(NULL, CUDA, NULL, 0), NATIVE(NULL, "/tmp/_MEI1/libops.so", NULL, 0),
      NATIVE(NULL, "/tmp/_MEI1/train", NULL, 0), NATIVE("_start", LIBC, NULL, 0)},
     4,
     2},
    {"a program without names: what is known of a library",
     {NATIVE(NULL, CUDA, NULL, 0), NATIVE("at::item", TORCH, NULL, 0), NATIVE(NULL, APP, NULL, 0)},
     3,
     1},
    {"the user's extension of Python comes first",
     {NATIVE("step", "/src/app/libops.so", "/src/app/ops.cc", 7),
      PYTHON("step", "/src/app/train.py", 90)},
     2,
     0},
    {"only a framework's Python",
     {NATIVE("at::item", TORCH, NULL, 0), PYTHON("item", SITE "/torch/_tensor.py", 5)},
     2,
     1},
    {"the generated function of a dataclass is not the user's line",
     {PYTHON("__post_init__", SITE "/lib/base.py", 5), PYTHON("__init__", "<string>", 3),
      PYTHON("step", "/src/app/train.py", 90)},
     3,
     2},
    {"python -c",
     {PYTHON("item", SITE "/torch/_tensor.py", 5), PYTHON("<module>", "<string>", 1)},
     2,
     1},
    {"a library with lines",
     {NATIVE("cublas", "/usr/lib/libcublas.so.12", NULL, 0),
      NATIVE("f", "/usr/lib/libmath.so.1", "/build/math.c", 4)},
     2,
     1},
    {"a library with names", {NATIVE(NULL, TORCH, NULL, 0), NATIVE("f", TORCH, NULL, 0)}, 2, 1},
    {"a library without", {NATIVE(NULL, CUDA, NULL, 0), NATIVE(NULL, TORCH, NULL, 0)}, 2, 1},
    {"a thread of the driver",
     {NATIVE(NULL, CUDA, NULL, 0), NATIVE(NULL, LIBC, NULL, 0), NATIVE("clone", LIBC, NULL, 0)},
     3,
     FOLD_NONE},
    {"a stripped program with the runtime linked in",
     {NATIVE(NULL, APP, NULL, 0), NATIVE("__libc_start_main", LIBC, NULL, 0)},
     2,
     0},
    {"a mark", {MARK("<driver-internal>")}, 1, FOLD_NONE},
    {"nothing", {MARK("")}, 0, FOLD_NONE},
};

TEST(test_stacks)
{
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        if (fold_user(stacks[i].frames, stacks[i].count) != stacks[i].shown)
            fail_msg("%s: frame %zu", stacks[i].what, fold_user(stacks[i].frames, stacks[i].count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_inductor),
                                       cmocka_unit_test(test_stacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
