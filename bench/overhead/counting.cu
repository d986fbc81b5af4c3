// counting.cu - what engine SassMetrics costs a heavy kernel, against CUPTI's SASS Metrics API
// used alone.
//
//   bench_counting bare|cupti|gpufl [--ms T] [--log DIR]
//
// The kernel is the tiled matrix product of examples/cuda/train_loop.cu on 512 x 512 matrices.
// Both sides count ten metrics, instrument kernels at their first launch, and collect the counts
// once a second. A process runs one side only: a device is configured once. Prints one JSON object:
// the first launch's ms, and ms per launch of every chunk of about 100 ms thereafter; what
// beginning and ending took; and how many warp instructions were counted (for gpufl, by the
// session).

#include <gpufl/gpufl.h>

#include "backend/nvidia/abi/sass.h"
#include "bench/overhead/cuda_check.hpp"

#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace
{

constexpr int TILE = 16, SIDE = 512;

__global__ void matmul(const float *a, const float *b, float *c)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < SIDE; t += TILE) {
        as[threadIdx.y][threadIdx.x] = a[row * SIDE + t + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * SIDE + col];
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    c[row * SIDE + col] = sum;
}

const char *const metrics[] = {
    "smsp__sass_inst_executed",
    "smsp__sass_thread_inst_executed",
    "smsp__sass_thread_inst_executed_pred_on",
    "smsp__sass_sectors_mem_global",
    "smsp__sass_sectors_mem_global_ideal",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal",
    "smsp__sass_branch_targets_threads_divergent",
    "smsp__sass_branch_targets_threads_uniform",
    "smsp__sass_sectors_mem_local",
};
constexpr size_t METRICS = sizeof metrics / sizeof *metrics;

// The side that uses CUPTI's API alone.
struct {
    void *library;
    cuda_context context;
    uint64_t instructions, counted; // id of the metric of instructions; warp instructions so far
} cupti;

void must(int result, const char *doing)
{
    if (!result)
        return;
    std::fprintf(stderr, "CUPTI does not %s: error %d\n", doing, result);
    std::exit(1);
}

template <class T> int call(const char *name, T p)
{
    void *symbol = dlsym(cupti.library, name);
    must(symbol ? 0 : -1, name);
    return reinterpret_cast<int (*)(T)>(symbol)(p);
}

void cupti_open()
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    cupti.library = dlopen("libcupti.so.13", RTLD_NOW);
    if (!cupti.library || !driver) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(1);
    }
    reinterpret_cast<int (*)(cuda_context *)>(dlsym(driver, "cuCtxGetCurrent"))(&cupti.context);
}

void cupti_begin()
{
    cupti_open();
    profiler_initialize_params init{sizeof init, nullptr};
    profiler_chip_params chip{sizeof chip, nullptr, 0, nullptr};
    must(call("cuptiProfilerInitialize", &init), "initialize");
    must(call("cuptiDeviceGetChipName", &chip), "name the chip");
    std::vector<sass_metric_config> configs;
    for (const char *name : metrics) {
        sass_properties_params p{sizeof p, nullptr, chip.chip, name, {}};
        must(call("cuptiSassMetricsGetProperties", &p), name);
        configs.push_back({p.metric.id, SASS_GRANULARITY_GPU});
    }
    cupti.instructions = configs[0].id;
    sass_config_params config{PROFILER_SIZE(sass_config_params, device), nullptr, configs.size(),
                              configs.data(), 0};
    must(call("cuptiSassMetricsSetConfig", &config), "configure");
    sass_enable_params on{PROFILER_SIZE(sass_enable_params, lazy), nullptr, cupti.context, 1};
    must(call("cuptiSassMetricsEnable", &on), "enable");
    call("cuptiActivityEnable", int(CUPTI_KIND_KERNEL)); // refused; without it one kernel counts
}

void cupti_take()
{
    sass_extent_params n{sizeof n, nullptr, cupti.context, 0, 0};
    must(call("cuptiSassMetricsGetDataProperties", &n), "return the extent");
    if (!n.records)
        return;
    size_t each = n.instances * METRICS;
    std::vector<sass_record> records(n.records);
    std::vector<sass_value> values(n.records * each);
    for (size_t i = 0; i < records.size(); i++)
        records[i] = {sizeof records[i], nullptr, 0, 0, nullptr, 0, &values[i * each]};
    sass_flush_params p{PROFILER_SIZE(sass_flush_params, instances),
                        nullptr,
                        cupti.context,
                        n.records,
                        n.instances,
                        records.data()};
    must(call("cuptiSassMetricsFlushData", &p), "hand over counts");
    for (const sass_value &v : values)
        cupti.counted += v.id == cupti.instructions ? v.value : 0;
}

void cupti_end()
{
    sass_disable_params p{sizeof p, nullptr, cupti.context, 0};
    cupti_take();
    must(call("cuptiSassMetricsDisable", &p), "disable");
}

float *a, *b, *c;

// Launches the kernel that many times and returns ms per launch, with the final wait.
double chunk(int launches)
{
    int64_t begin = now();
    for (int i = 0; i < launches; i++)
        matmul<<<dim3(SIDE / TILE, SIDE / TILE), dim3(TILE, TILE)>>>(a, b, c);
    CHECK(cudaDeviceSynchronize());
    return double(now() - begin) * 1e-6 / launches;
}

void begin_session(const char *log_path)
{
    gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.app_name = "bench_counting";
    o.log_path = log_path;
    o.profiling_engine = GPUFL_ENGINE_SASS_METRICS;
    if (gpufl_init(&o) != 0)
        std::exit(1);
}

} // namespace

int main(int argc, char **argv)
{
    std::string side = argc > 1 ? argv[1] : "bare";
    const char *log_path = "bench_counting.gpufl";
    double ms = 3000;
    for (int i = 2; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--ms"))
            ms = std::atof(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--log"))
            log_path = argv[i + 1];
    }
    CHECK(cudaFree(nullptr));
    CHECK(cudaMalloc(&a, SIDE * SIDE * sizeof *a));
    CHECK(cudaMalloc(&b, SIDE * SIDE * sizeof *b));
    CHECK(cudaMalloc(&c, SIDE * SIDE * sizeof *c));
    int64_t begin = now();
    if (side == "cupti")
        cupti_begin();
    else if (side == "gpufl")
        begin_session(log_path);
    double begin_ms = double(now() - begin) * 1e-6, first = chunk(1);
    int launches = 1, each = 1 + int(100 / chunk(1));
    std::vector<double> all;
    int64_t taken = now();
    for (int64_t from = taken; double(now() - from) < ms * 1e6; launches += each) {
        all.push_back(chunk(each));
        if (side == "cupti" && now() - taken > 1000000000)
            cupti_take(), taken = now();
    }
    int64_t end = now();
    if (side == "cupti")
        cupti_end();
    else if (side == "gpufl")
        gpufl_shutdown();
    std::printf("{\"side\":\"%s\",\"launches\":%d,\"begin_ms\":%.2f,\"first_ms\":%.3f,"
                "\"end_ms\":%.2f,\"counted\":%llu,\"ms\":[",
                side.c_str(), launches + 1, begin_ms, first, double(now() - end) * 1e-6,
                (unsigned long long)cupti.counted);
    for (size_t i = 0; i < all.size(); i++)
        std::printf("%s%.5f", i ? "," : "", all[i]);
    std::printf("]}\n");
    return 0;
}
