// seed_001.cpp - the introduction: embedded integration, scopes, quick start.
// Kernel launches are written as calls, so that a C++ compiler accepts them.

#include <gpufl/gpufl.hpp>

namespace
{

volatile int work_done = 0;

void conv_kernel()
{
    work_done = work_done + 1;
}
void relu_kernel()
{
    work_done = work_done + 1;
}
void grad_kernel()
{
    work_done = work_done + 1;
}
void update_kernel()
{
    work_done = work_done + 1;
}

// as printed: level 3, scope annotations
void train_step()
{
    GFL_SCOPE("forward_pass")
    {
        conv_kernel();
        relu_kernel();
    }

    GFL_SCOPE("backward_pass")
    {
        grad_kernel();
        update_kernel();
    }
}

// as printed: level 2, embedded integration
void embedded()
{
    gpufl::InitOptions opts;
    opts.app_name = "my_app";
    opts.continuous_system_sampling = true;
    gpufl::init(opts);

    // ...your existing CUDA/HIP code, unchanged...
    train_step();

    gpufl::shutdown();
}

} // namespace

// as printed: quick start
int main()
{
    embedded();

    gpufl::InitOptions opts;
    opts.app_name = "my_app";
    opts.continuous_system_sampling = true;
    opts.system_sample_rate_ms = 50;
    gpufl::init(opts);

    GFL_SCOPE("training")
    {
        // GPU kernels here
        train_step();
    }

    gpufl::shutdown();
    gpufl::generateReport(); // prints performance summary to console
    return work_done == 8 ? 0 : 1;
}
