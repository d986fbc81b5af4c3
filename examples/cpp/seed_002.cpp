// seed_002.cpp - scope profiling: the three forms of a scope, and benchmark loops.
// The model only counts; the code printed in the guide is unchanged.

#include <gpufl/gpufl.hpp>

#include <cstdio>
#include <vector>

namespace
{

int forwards = 0, kernels = 0;

struct Loss {
    void backward()
    {
    }
};

struct Model {
    int forward(int input)
    {
        forwards++;
        return input;
    }
} model;

struct Optimizer {
    void step()
    {
    }
} optimizer;

struct Batch {
    int input = 1, target = 1;
};

using DataLoader = std::vector<Batch>;

int output;
Loss loss;

Loss criterion(int, int)
{
    return Loss();
}

void my_kernel()
{
    kernels++;
}

void cudaDeviceSynchronize()
{
}

// as printed: C++ scopes
void train_epoch(DataLoader &loader)
{
    for (auto &batch : loader) {
        GFL_SCOPE("batch")
        {

            GFL_SCOPE("forward_pass")
            {
                output = model.forward(batch.input);
            }

            GFL_SCOPE("loss")
            {
                loss = criterion(output, batch.target);
            }

            GFL_SCOPE("backward_pass")
            {
                loss.backward();
            }

            GFL_SCOPE("optimizer_step")
            {
                optimizer.step();
            }
        }
    }
}

} // namespace

int main()
{
    gpufl::init(gpufl::InitOptions());
    DataLoader loader(3);
    train_epoch(loader);

    // as printed: object-based
    {
        gpufl::ScopedMonitor scope("data_loading");
        // ... load and preprocess data ...
    } // scope ends here, when `scope` is destroyed

    // as printed: lambda-based
    int result = 0, input = 2;
    gpufl::monitor("inference", [&]() { result = model.forward(input); });

    // as printed: runs the body 3 warmup times BEFORE the scope opens (excluded from
    // the measured window), then 10 measured times inside it.
    GFL_BENCH("matmul", gpufl::ScopeMeta{}.setRepeat(10).setWarmup(3))
    {
        my_kernel();
        cudaDeviceSynchronize();
    }; // ← the trailing ';' is required

    gpufl::shutdown();
    std::printf("forwards %d, kernels %d, result %d\n", forwards, kernels, result);
    return forwards == 4 && kernels == 13 && result == 2 ? 0 : 1;
}
