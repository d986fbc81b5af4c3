// sync_template.cpp - the wait is a blocking copy in a template: the loss is read back in every
// step; clean: after the last one.
#include "gpu.h"

#include <vector>

namespace
{

constexpr int steps = 200, kernels = 4;

template <typename Number> struct Tensor {
    gpu_memory memory = 0;
    Number *host = nullptr;

    Tensor()
    {
        GPU(cuMemAlloc_v2(&memory, sizeof(Number)));
        GPU(cuMemAllocHost_v2(reinterpret_cast<void **>(&host), sizeof(Number)));
    }

    ~Tensor()
    {
        GPU(cuMemFreeHost(host));
    }

    Number item() const
    {
        GPU(cuMemcpyDtoH_v2(host, memory, sizeof(Number))); // PLANTED: sync-in-template
        return *host;
    }
};

template <typename Number> std::vector<Number> train(bool hoisted)
{
    gpu_stream stream;
    Tensor<Number> loss;
    std::vector<Number> losses;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, 0));
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < kernels; i++)
            LAUNCH(kernel, GPU_SMS, 256, stream, 500 * US);
        if (!hoisted)
            losses.push_back(loss.item());
    }
    losses.push_back(loss.item());
    return losses;
}

} // namespace

int main(int argc, char **argv)
{
    return train<float>(gpu_open(argc, argv)).empty();
}
