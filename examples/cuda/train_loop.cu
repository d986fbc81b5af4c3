// train_loop.cu - a small training loop, with one mistake in it.
//
// A two-layer perceptron learns a random function: batches are uploaded on a
// copy stream while the previous one is computed, the optimizer's kernels are
// replayed as a CUDA graph, and gpufl scopes name the phases. The mistake is the
// cudaStreamSynchronize in train_step(), whose only purpose is to print a loss that
// nobody reads: it empties the launch queue in every step. `gpufl trace` finds it;
// `train_loop --fixed` runs without it.
//
//   gpufl trace -- train_loop [--steps N] [--fixed]
//
// The program does the same work with and without the profiler: a scope costs one branch when the
// profiler is off.

#include <gpufl/gpufl.hpp>

#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                     \
                         cudaGetErrorString(error));                                               \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

namespace
{

constexpr int kBatch = 256, kInput = 512, kHidden = 1024, kOutput = 64, kTile = 16;

// C[m x n] = A[m x k] * B[k x n], B transposed when asked.
template <bool TransposeA, bool TransposeB>
__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[kTile][kTile], bs[kTile][kTile + 1];
    int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k; t += kTile) {
        int ka = t + threadIdx.x, kb = t + threadIdx.y;
        as[threadIdx.y][threadIdx.x] =
            row < m && ka < k ? (TransposeA ? a[ka * m + row] : a[row * k + ka]) : 0;
        bs[threadIdx.y][threadIdx.x] =
            kb < k && col < n ? (TransposeB ? b[col * k + kb] : b[kb * n + col]) : 0;
        __syncthreads();
        for (int i = 0; i < kTile; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}

__global__ void relu_forward(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = fmaxf(x[i], 0);
}

__global__ void relu_backward(const float *y, float *gradient, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && y[i] <= 0)
        gradient[i] = 0;
}

__global__ void squared_error(const float *y, const float *target, float *gradient, float *loss,
                              int n)
{
    __shared__ float partial[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float d = i < n ? y[i] - target[i] : 0;
    if (i < n)
        gradient[i] = 2 * d / n;
    partial[threadIdx.x] = d * d / n;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(loss, partial[0]);
}

__global__ void momentum_step(float *weight, float *velocity, const float *gradient, int n,
                              float rate)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        velocity[i] = 0.9f * velocity[i] + gradient[i];
        weight[i] -= rate * velocity[i];
    }
}

struct Array {
    float *data = nullptr;
    int n = 0;
    explicit Array(int count) : n(count)
    {
        CHECK(cudaMalloc(&data, sizeof(float) * n));
        CHECK(cudaMemset(data, 0, sizeof(float) * n));
    }
    Array(const Array &) = delete;
    ~Array()
    {
        cudaFree(data);
    }
    void fill(std::mt19937 &random, float scale)
    {
        std::normal_distribution<float> normal(0, scale);
        std::vector<float> host(n);
        for (float &v : host)
            v = normal(random);
        CHECK(cudaMemcpy(data, host.data(), sizeof(float) * n, cudaMemcpyHostToDevice));
    }
};

int blocks(int n, int size = 256)
{
    return (n + size - 1) / size;
}

template <bool TransposeA, bool TransposeB>
void launch_matmul(const Array &a, const Array &b, Array &c, int m, int n, int k,
                   cudaStream_t stream)
{
    dim3 grid(blocks(n, kTile), blocks(m, kTile)), block(kTile, kTile);
    matmul<TransposeA, TransposeB><<<grid, block, 0, stream>>>(a.data, b.data, c.data, m, n, k);
}

struct Trainer {
    Array x{kBatch * kInput}, target{kBatch * kOutput};
    Array w1{kInput * kHidden}, w2{kHidden * kOutput}, v1{kInput * kHidden}, v2{kHidden * kOutput};
    Array h{kBatch * kHidden}, y{kBatch * kOutput}, loss{1};
    Array gy{kBatch * kOutput}, gh{kBatch * kHidden}, g1{kInput * kHidden}, g2{kHidden * kOutput};
    Array staging{kBatch * kInput};
    cudaStream_t compute, copy;
    cudaEvent_t uploaded, consumed;
    cudaGraphExec_t optimizer = nullptr;
    float *host_batch = nullptr, *host_loss = nullptr;
    bool wait_for_loss;

    explicit Trainer(bool wait) : wait_for_loss(wait)
    {
        std::mt19937 random(1);
        w1.fill(random, 0.05f);
        w2.fill(random, 0.05f);
        target.fill(random, 1);
        CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&consumed, cudaEventDisableTiming));
        CHECK(cudaMallocHost(&host_batch, sizeof(float) * kBatch * kInput));
        CHECK(cudaMallocHost(&host_loss, sizeof(float)));
        std::normal_distribution<float> normal(0, 1);
        for (int i = 0; i < kBatch * kInput; i++)
            host_batch[i] = normal(random);
        capture_optimizer();
    }

    void capture_optimizer()
    {
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal));
        momentum_step<<<blocks(w1.n), 256, 0, compute>>>(w1.data, v1.data, g1.data, w1.n, 0.01f);
        momentum_step<<<blocks(w2.n), 256, 0, compute>>>(w2.data, v2.data, g2.data, w2.n, 0.01f);
        CHECK(cudaMemsetAsync(loss.data, 0, sizeof(float), compute));
        CHECK(cudaStreamEndCapture(compute, &graph));
        CHECK(cudaGraphInstantiate(&optimizer, graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }

    void load_batch()
    {
        CHECK(cudaStreamWaitEvent(copy, consumed, 0));
        CHECK(cudaMemcpyAsync(staging.data, host_batch, sizeof(float) * staging.n,
                              cudaMemcpyHostToDevice, copy));
        CHECK(cudaEventRecord(uploaded, copy));
        CHECK(cudaStreamWaitEvent(compute, uploaded, 0));
        CHECK(cudaMemcpyAsync(x.data, staging.data, sizeof(float) * x.n, cudaMemcpyDeviceToDevice,
                              compute));
        CHECK(cudaEventRecord(consumed, compute));
    }

    void forward()
    {
        launch_matmul<false, false>(x, w1, h, kBatch, kHidden, kInput, compute);
        relu_forward<<<blocks(h.n), 256, 0, compute>>>(h.data, h.n);
        launch_matmul<false, false>(h, w2, y, kBatch, kOutput, kHidden, compute);
        squared_error<<<blocks(y.n), 256, 0, compute>>>(y.data, target.data, gy.data, loss.data,
                                                        y.n);
    }

    void backward()
    {
        launch_matmul<true, false>(h, gy, g2, kHidden, kOutput, kBatch, compute);
        launch_matmul<false, true>(gy, w2, gh, kBatch, kHidden, kOutput, compute);
        relu_backward<<<blocks(h.n), 256, 0, compute>>>(h.data, gh.data, h.n);
        launch_matmul<true, false>(x, gh, g1, kInput, kHidden, kBatch, compute);
    }

    float train_step()
    {
        GFL_SCOPE("train_step")
        {
            GFL_SCOPE("load_batch")
            {
                load_batch();
            }
            GFL_SCOPE("forward")
            {
                forward();
            }
            GFL_SCOPE("backward")
            {
                backward();
            }
            CHECK(cudaMemcpyAsync(host_loss, loss.data, sizeof(float), cudaMemcpyDeviceToHost,
                                  compute));
            GFL_SCOPE("optimizer_step")
            {
                CHECK(cudaGraphLaunch(optimizer, compute));
            }
            if (wait_for_loss)
                CHECK(cudaStreamSynchronize(compute)); // the mistake: the loss is not needed here
        }
        return wait_for_loss ? *host_loss : 0;
    }
};

} // namespace

int main(int argc, char **argv)
{
    int steps = 2000;
    bool fixed = false;
    for (int i = 1; i < argc; i++) {
        if (!std::strcmp(argv[i], "--steps") && i + 1 < argc)
            steps = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "--fixed"))
            fixed = true;
        else {
            std::fprintf(stderr, "usage: train_loop [--steps N] [--fixed]\n");
            return 2;
        }
    }
    // Set the device up before the clock starts. A missing GPU is reported here.
    CHECK(cudaFree(nullptr));
    Trainer trainer(!fixed);
    auto begin = std::chrono::steady_clock::now();
    GFL_SCOPE("training")
    {
        for (int i = 0; i < steps; i++)
            trainer.train_step();
        CHECK(cudaDeviceSynchronize());
    }
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%d steps in %.3f s: %.1f us a step, loss %.5f\n", steps, seconds,
                seconds / steps * 1e6, *trainer.host_loss);
    return 0;
}
