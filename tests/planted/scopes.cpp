// scopes.cpp - the training loop of the scope guide: backward() launches on a thread of its own, as
// autograd does, which has no scope open and takes backward_pass from the only thread that has.
// Fault: a loader thread has a scope open all the time, so that these launches have no known scope.
#include "gpu.h"

#include <gpufl/gpufl.hpp>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace
{

constexpr int batches = 20, backward_kernels = 2;

// Is a thread that runs one piece of work at a time; the caller waits until it is done.
class Worker
{
  public:
    Worker() : thread([this] { run(); })
    {
    }
    ~Worker()
    {
        hand_over([this] { ended = true; });
        thread.join();
    }
    void hand_over(std::function<void()> piece)
    {
        std::unique_lock<std::mutex> hold(mutex);
        work = std::move(piece);
        changed.notify_all();
        changed.wait(hold, [this] { return !work; });
    }

  private:
    void run()
    {
        std::unique_lock<std::mutex> hold(mutex);
        while (!ended) {
            changed.wait(hold, [this] { return static_cast<bool>(work); });
            work();
            work = nullptr;
            changed.notify_all();
        }
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> work; // guarded by mutex
    bool ended = false;         // guarded by mutex
    std::thread thread;         // the last member, because it uses those above
};

void train_epoch(Worker &autograd)
{
    gpu_stream stream;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int i = 0; i < batches; i++) {
        GFL_SCOPE("batch")
        {
            GFL_SCOPE("forward_pass")
            {
                for (int k = 0; k < 3; k++)
                    LAUNCH(kernel, GPU_SMS, 256, stream, 300 * US);
            }
            GFL_SCOPE("backward_pass")
            {
                autograd.hand_over([&] {
                    gpu_thread();
                    for (int k = 0; k < backward_kernels; k++)
                        LAUNCH(kernel, GPU_SMS, 256, stream, 400 * US);
                });
            }
            GFL_SCOPE("optimizer_step")
            {
                LAUNCH(kernel, GPU_SMS, 256, stream, 100 * US);
            }
        }
    }
    GPU(cuStreamSynchronize(stream)); // PLANTED: scopes-end
}

} // namespace

int main(int argc, char **argv)
{
    bool clean = gpu_open(argc, argv);
    Worker autograd, loader;
    uint64_t loading = 0;
    if (!clean)
        loader.hand_over([&] { loading = gpufl_scope_begin("loading", ""); });
    train_epoch(autograd);
    if (!clean)
        loader.hand_over([&] { gpufl_scope_end(loading); });
}
