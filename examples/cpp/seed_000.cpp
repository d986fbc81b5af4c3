// seed_000.cpp - synchronizations: the program of the guide "Sync attribution".
// The lines between the marks are printed there; the rest is the workload that the
// guide leaves to the reader.

#include <gpufl/gpufl.hpp>

#include <cstdio>
#include <cstdlib>

int main()
{
    // as printed
    gpufl::InitOptions opts;
    opts.app_name = "my_app";
    opts.enable_synchronization = true; // capture cudaStream/Device/EventSynchronize
    opts.enable_stack_trace = true;     // capture CPU stacks at sync points
    opts.backend_url = "https://api.gpuflight.com";
    opts.api_key = std::getenv("GPUFL_API_KEY");
    gpufl::init(opts);
    // ... run your workload, exit scopes, etc. ...
    gpufl::shutdown();
    // Deferred upload — runs post-shutdown, never during the workload.
    gpufl::UploadOptions uopts;
    uopts.log_path = opts.log_path;
    uopts.backend_url = opts.backend_url;
    uopts.api_key = opts.api_key;
    gpufl::uploadLogs(uopts);
    // as printed, to here

    gpufl::UploadResult result = gpufl::uploadLogs(uopts);
    std::printf("upload: %s\n", result ? "done" : result.message.c_str());
    return 0;
}
