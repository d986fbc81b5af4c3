// sync_lambda.cpp - the wait is in a lambda that is passed as an argument; clean: the lambda is called after the loop.
#include "gpu.h"

#include <functional>

namespace
{

constexpr int steps = 50, kernels = 4;

[[gnu::noinline]] void each_step(bool hoisted, const std::function<void()> &launch,
                                 const std::function<void()> &end)
{
    for (int step = 0; step < steps; step++) {
        launch();
        if (!hoisted)
            end();
    }
    end();
}

void train(bool hoisted)
{
    gpu_stream stream;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    auto launch = [&] {
        for (int i = 0; i < kernels; i++)
            LAUNCH(kernel, GPU_SMS, 256, stream, 500 * US);
    };
    each_step(hoisted, launch, [&] {
        GPU(cuStreamSynchronize(stream)); // PLANTED: sync-in-lambda
    });
}

} // namespace

int main(int argc, char **argv)
{
    train(gpu_open(argc, argv));
}
