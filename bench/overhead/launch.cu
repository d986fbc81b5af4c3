// launch.cu - what an empty kernel launch costs in each state of libgpufl.
//
// All states are compared inside one process, in interleaved rounds, because times of the same
// binary vary by 10 % between processes. Prints one JSON object: ns per launch of every round and
// state. run.py computes statistics from it.
//
//   bench_launch pairs  [--rounds N] [--launches N]   bare, disabled, Monitor
//   bench_launch trace  [--rounds N] [--launches N]   floor, Trace, Trace in a scope
//   bench_launch rate   --per-second R --seconds S [--floor]   memory at a steady rate
//   bench_launch once                                 one launch: start-up and shutdown
//
// floor: the least that a tracer can do with the same subscription, launch callback and kernel
// records: it counts records and frees them (gpufl_bench_floor).

#include <gpufl/gpufl.h>

#include "bench/overhead/cuda_check.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace
{

__global__ void empty()
{
}

// Launches n kernels and returns ns per launch, without the final wait.
double launches(int n)
{
    int64_t start = now();
    for (int i = 0; i < n; i++)
        empty<<<1, 1>>>();
    int64_t end = now();
    CHECK(cudaDeviceSynchronize());
    return double(end - start) / n;
}

struct Series {
    std::string name;
    std::vector<double> values;
};

void print(const char *mode, int n, const std::vector<Series> &all)
{
    std::printf("{\"mode\":\"%s\",\"launches\":%d", mode, n);
    for (const Series &s : all) {
        std::printf(",\"%s\":[", s.name.c_str());
        for (size_t i = 0; i < s.values.size(); i++)
            std::printf("%s%.2f", i ? "," : "", s.values[i]);
        std::printf("]");
    }
    std::printf("}\n");
}

bool start(gpufl_engine engine, bool enabled, const char *log_path)
{
    gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.app_name = "bench_launch";
    o.log_path = log_path;
    o.profiling_engine = engine;
    o.enabled = enabled;
    if (engine == GPUFL_ENGINE_MONITOR) {
        o.continuous_system_sampling = true;
        o.system_sample_rate_ms = 100;
    }
    return gpufl_init(&o) == 0;
}

void pairs(int rounds, int n, const char *log_path)
{
    std::vector<Series> s{{"bare", {}}, {"disabled", {}}, {"monitor", {}}};
    launches(n);
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < 3; k++) {
            int state = (k + r) % 3; // rotate: no state always follows the same state
            if (state == 1)
                start(GPUFL_ENGINE_MONITOR, false, log_path);
            if (state == 2 && !start(GPUFL_ENGINE_MONITOR, true, log_path))
                std::exit(1);
            launches(n / 10);
            s[state].values.push_back(launches(n));
            if (state == 2)
                gpufl_shutdown();
        }
    print("pairs", n, s);
}

void trace(int rounds, int n, const char *log_path)
{
    std::vector<Series> s{
        {"bare_before", {}}, {"floor", {}}, {"trace", {}}, {"trace_in_scope", {}}};
    launches(n);
    for (int r = 0; r < 5; r++)
        s[0].values.push_back(launches(n));
    if (!start(GPUFL_ENGINE_TRACE, true, log_path))
        std::exit(1);
    launches(n);
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < 3; k++) {
            int state = 1 + (k + r) % 3;
            gpufl_bench_floor(state == 1);
            uint64_t scope = state == 3 ? gpufl_scope_begin("launches", nullptr) : 0;
            launches(n / 10);
            s[state].values.push_back(launches(n));
            gpufl_scope_end(scope);
        }
    gpufl_bench_floor(false);
    gpufl_shutdown();
    print("trace", n, s);
}

void rate(int per_second, int seconds, bool floor, const char *log_path)
{
    if (!start(GPUFL_ENGINE_TRACE, true, log_path))
        std::exit(1);
    gpufl_bench_floor(floor);
    launches(1000);
    int64_t begin = now(), peak = 0, count = 0;
    while (now() - begin < seconds * 1000000000ll) {
        while (count < (now() - begin) * per_second / 1000000000ll) {
            empty<<<1, 1>>>();
            count++;
        }
        if (count % 4096 == 0)
            peak = std::max<int64_t>(peak, resident_kib());
    }
    CHECK(cudaDeviceSynchronize());
    peak = std::max<int64_t>(peak, resident_kib());
    double achieved = double(count) / (double(now() - begin) * 1e-9);
    gpufl_shutdown();
    std::printf(
        "{\"mode\":\"rate\",\"floor\":%s,\"kernels\":%lld,\"per_second\":%.0f,\"rss_kib\":%lld}\n",
        floor ? "true" : "false", (long long)count, achieved, (long long)peak);
}

} // namespace

int main(int argc, char **argv)
{
    int rounds = 40, n = 50000, per_second = 100000, seconds = 10;
    bool floor = false;
    const char *log_path = "bench_launch.gpufl";
    for (int i = 2; i < argc; i++) {
        auto value = [&] { return i + 1 < argc ? argv[++i] : (char *)""; };
        if (!std::strcmp(argv[i], "--rounds"))
            rounds = std::atoi(value());
        else if (!std::strcmp(argv[i], "--launches"))
            n = std::atoi(value());
        else if (!std::strcmp(argv[i], "--per-second"))
            per_second = std::atoi(value());
        else if (!std::strcmp(argv[i], "--seconds"))
            seconds = std::atoi(value());
        else if (!std::strcmp(argv[i], "--log"))
            log_path = value();
        else if (!std::strcmp(argv[i], "--floor"))
            floor = true;
    }
    std::string mode = argc > 1 ? argv[1] : "";
    if (mode != "rate")
        CHECK(cudaFree(nullptr));
    if (mode == "pairs")
        pairs(rounds, n, log_path);
    else if (mode == "trace")
        trace(rounds, n, log_path);
    else if (mode == "rate")
        rate(per_second, seconds, floor, log_path);
    else if (mode == "once")
        launches(1);
    else {
        std::fprintf(stderr,
                     "usage: bench_launch pairs|trace|rate|once [options]; see launch.cu\n");
        return 2;
    }
    return 0;
}
