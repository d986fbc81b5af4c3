// seed_003.cpp - the API reference: every field with its default, scopes, windows.

#include <gpufl/gpufl.hpp>

#include <cstdio>
#include <string>

namespace
{

int failures = 0;

void expect(bool ok, const char *what)
{
    if (!ok) {
        std::printf("not as documented: %s\n", what);
        failures++;
    }
}

// The defaults as printed.
void check_defaults()
{
    const gpufl::InitOptions o;
    expect(o.app_name == "gpufl", "app_name");
    expect(o.log_path == "", "log_path");
    expect(o.backend_url == "" && o.api_key == "" && o.api_path == "", "cloud upload");
    expect(!o.remote_upload, "remote_upload");
    expect(!o.enable_stack_trace, "enable_stack_trace");
    expect(o.enable_source_collection, "enable_source_collection");
    expect(o.enable_external_correlation, "enable_external_correlation");
    expect(o.enable_synchronization, "enable_synchronization");
    expect(!o.enable_memory_tracking, "enable_memory_tracking");
    expect(!o.enable_cuda_graphs_tracking, "enable_cuda_graphs_tracking");
    expect(o.system_sample_rate_ms == 0 && o.kernel_sample_rate_ms == 0, "rates");
    expect(!o.continuous_system_sampling, "continuous_system_sampling");
    expect(o.backend == gpufl::BackendKind::Auto, "backend");
    expect(o.profiling_engine == gpufl::ProfilingEngine::Monitor, "profiling_engine");
    expect(o.config_file == "", "config_file");
    expect(!o.flush_logs_always && !o.enable_debug_output && o.enabled, "advanced");
}

// The enumerators as printed.
void check_enums()
{
    using gpufl::BackendKind;
    using gpufl::ProfilingEngine;
    const BackendKind kinds[] = {BackendKind::Auto, BackendKind::Nvidia, BackendKind::Amd,
                                 BackendKind::None};
    const ProfilingEngine ladder[] = {ProfilingEngine::Monitor,       ProfilingEngine::Trace,
                                      ProfilingEngine::PcSampling,    ProfilingEngine::SassMetrics,
                                      ProfilingEngine::RangeProfiler, ProfilingEngine::Deep};
    for (int i = 0; i < 4; i++)
        expect(static_cast<int>(kinds[i]) == i, "BackendKind");
    for (int i = 0; i < 6; i++)
        expect(static_cast<int>(ladder[i]) == i, "ProfilingEngine");
}

} // namespace

int main()
{
    check_defaults();
    check_enums();

    gpufl::InitOptions opts;
    opts.system_sample_rate_ms = 50;
    bool started = gpufl::init(opts);
    expect(started, "init returns true");

    // as printed: scoping
    GFL_SCOPE("name"){
        // kernels launched here are attributed to "name"
    }
    {
        gpufl::ScopedMonitor scope("name");
        // ...
    }
    gpufl::monitor("name", [&]() {
        // ...
    });

    // as printed: system monitoring
    gpufl::systemStart("phase_name");
    // ... GPU work ...
    gpufl::systemStop("phase_name");

    gpufl::shutdown();
    return failures != 0;
}
