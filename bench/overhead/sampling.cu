// sampling.cu - what engines PcSampling and PmSampling cost a program that launches empty
// kernels without a pause.
//
//   bench_sampling [--states bare,none,...] [--rounds N] [--seconds S] [--log DIR]
//
// States: bare; none, windows and all are PcSampling with that pc_kernel_collect; counters and
// counters_all are PmSampling with none and all, every ms; trace is engine Trace; between:ENGINE
// is a session of that engine with windows (--windows), one of which is open for a moment at the
// beginning. The measurement begins 3 s later, when the engine has given its resources back
// (window_rest_ms is 1000 unless it is set) and CUPTI is detached. The states take turns inside one
// process, each for S seconds in a session of its own; the first half second (or those 3 s) is not
// counted. Prints one JSON object: for each state ns per launch of every chunk of 20 000 launches,
// and for every block how much longer its beginning took (start_ms), the resident memory (rss_kib),
// and the time of gpufl_init (init_ms).

#include <gpufl/gpufl.h>

#include "bench/overhead/cuda_check.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace
{

constexpr int CHUNK = 20000;

__global__ void empty()
{
}

// Returns the ns of CHUNK launches, without the final wait.
double chunk()
{
    int64_t begin = now();
    for (int i = 0; i < CHUNK; i++)
        empty<<<1, 1>>>();
    int64_t end = now();
    CHECK(cudaDeviceSynchronize());
    return double(end - begin);
}

struct Series {
    std::string name;
    std::vector<double> launch, start_ms, init_ms, end_ms, rss;
};

const std::string BETWEEN = "between:";

bool is_between(const std::string &state)
{
    return state.compare(0, BETWEEN.size(), BETWEEN) == 0;
}

gpufl_engine engine_named(const std::string &name)
{
    static const std::pair<const char *, gpufl_engine> engines[] = {
        {"Trace", GPUFL_ENGINE_TRACE},
        {"PcSampling", GPUFL_ENGINE_PC_SAMPLING},
        {"SassMetrics", GPUFL_ENGINE_SASS_METRICS},
        {"RangeProfiler", GPUFL_ENGINE_RANGE_PROFILER},
        {"PmSampling", GPUFL_ENGINE_PM_SAMPLING},
    };
    for (const auto &e : engines)
        if (name == e.first)
            return e.second;
    std::fprintf(stderr, "no such engine: %s\n", name.c_str());
    std::exit(2);
}

// Opens a window for a few launches.
void open_once()
{
    if (gpufl_window_open("once") != 0)
        std::exit(1);
    for (int i = 0; i < 100; i++)
        empty<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    gpufl_window_close("once");
}

double begin_session(const std::string &state, const char *log_path)
{
    if (state == "bare")
        return 0;
    gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.app_name = "bench_sampling";
    o.log_path = log_path;
    if (is_between(state)) {
        o.profiling_engine = engine_named(state.substr(BETWEEN.size()));
        setenv("GPUFL_WINDOWS", "true", 1);
        setenv("GPUFL_WINDOW_REST_MS", "1000", 0);
        setenv("GPUFL_WINDOW_DETACH", "true", 0);
        int64_t begin = now();
        if (gpufl_init(&o) != 0)
            std::exit(1);
        unsetenv("GPUFL_WINDOWS");
        open_once();
        return double(now() - begin) * 1e-6;
    }
    bool counters = state.compare(0, 8, "counters") == 0;
    o.profiling_engine = state == "trace" ? GPUFL_ENGINE_TRACE
                         : counters       ? GPUFL_ENGINE_PM_SAMPLING
                                          : GPUFL_ENGINE_PC_SAMPLING;
    const char *collect = state == "trace" || state == "counters_all" ? "all"
                          : counters                                  ? "none"
                                                                      : state.c_str();
    setenv("GPUFL_PC_KERNEL_COLLECT", collect, 1);
    int64_t begin = now();
    if (gpufl_init(&o) != 0)
        std::exit(1);
    return double(now() - begin) * 1e-6;
}

void block(Series &s, double seconds, const char *log_path)
{
    s.init_ms.push_back(begin_session(s.name, log_path));
    std::vector<double> all;
    double dropped = 0;
    int64_t begin = now(), drop = is_between(s.name) ? 3000000000 : 500000000;
    for (int64_t at = begin; at - begin < int64_t(seconds * 1e9); at = now()) {
        double ns = chunk();
        if (at - begin < drop)
            dropped += ns, all.push_back(0);
        else
            s.launch.push_back(ns / CHUNK), all.push_back(ns);
    }
    std::vector<double> steady;
    for (double ns : all)
        if (ns > 0)
            steady.push_back(ns);
    std::sort(steady.begin(), steady.end());
    double usual = steady.empty() ? 0 : steady[steady.size() / 2];
    s.start_ms.push_back((dropped - usual * double(all.size() - steady.size())) * 1e-6);
    s.rss.push_back(double(resident_kib()));
    int64_t end = now();
    if (s.name != "bare")
        gpufl_shutdown();
    s.end_ms.push_back(double(now() - end) * 1e-6);
}

void print(const char *name, const std::vector<double> &values, const char *format)
{
    std::printf(",\"%s\":[", name);
    for (size_t i = 0; i < values.size(); i++) {
        std::printf("%s", i ? "," : "");
        std::printf(format, values[i]);
    }
    std::printf("]");
}

} // namespace

int main(int argc, char **argv)
{
    int rounds = 3;
    double seconds = 5;
    const char *log_path = "bench_sampling.gpufl";
    std::string states = "bare,none";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--rounds"))
            rounds = std::atoi(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--seconds"))
            seconds = std::atof(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--log"))
            log_path = argv[i + 1];
        else if (!std::strcmp(argv[i], "--states"))
            states = argv[i + 1];
    }
    std::vector<Series> all;
    for (size_t at = 0; at <= states.size();) {
        size_t comma = std::min(states.find(',', at), states.size());
        all.push_back({states.substr(at, comma - at), {}, {}, {}, {}, {}});
        at = comma + 1;
    }
    CHECK(cudaFree(nullptr));
    chunk();
    for (int r = 0; r < rounds; r++)
        for (size_t k = 0; k < all.size(); k++)
            block(all[(k + (size_t)r) % all.size()], seconds, log_path);
    std::printf("{\"launches\":%d", CHUNK);
    for (const Series &s : all) {
        std::printf(",\"%s\":{\"rounds\":%d", s.name.c_str(), rounds);
        print("ns", s.launch, "%.1f");
        print("start_ms", s.start_ms, "%.2f");
        print("init_ms", s.init_ms, "%.2f");
        print("shutdown_ms", s.end_ms, "%.2f");
        print("rss_kib", s.rss, "%.0f");
        std::printf("}");
    }
    std::printf("}\n");
    return 0;
}
