// modules.cu - programs that load modules through the driver alone: many, huge and damaged ones
// (run.py makes them), a session that begins late, a kernel that faults after a while. Each
// program prints one JSON object on stdout.
//
//   device_modules compile PTX CUBIN
//       writes what the driver compiles PTX to, for this device
//   device_modules run CODE KERNEL N
//       launches a kernel of a file (PTX or cubin) N times. Prints what loading the file returned
//       (0: it was loaded), and how often the kernel ran, by the kernel's own count
//   device_modules many CODE MARK MODULES KERNELS SECONDS
//       loads the file MODULES times, each time under other names: MARK, the 4 characters before
//       the 5-digit number of a kernel, becomes q000, q001, ... Launches each of KERNELS kernels of
//       each module once. Stops early after SECONDS
//   device_modules late CODE KERNEL ENGINE N
//       launches 100, begins a session of that engine, launches N in a scope
//   device_modules fault CODE KERNEL MS
//       launches and waits for MS, then launches kernel `fault`; exit 3

#include <cuda.h>
#include <gpufl/gpufl.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <vector>

namespace
{

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin)
{
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Ends the program with a message if a call of the driver failed.
void check(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    std::fprintf(stderr, "%s: error %d\n", what, (int)result);
    std::exit(1);
}
#define CHECK(call) check(call, #call)

std::string contents(const char *path)
{
    std::string text;
    std::vector<char> part(1 << 20);
    std::FILE *f = std::fopen(path, "rb");
    if (!f) {
        std::perror(path);
        std::exit(1);
    }
    while (size_t n = std::fread(part.data(), 1, part.size(), f))
        text.append(part.data(), n);
    std::fclose(f);
    return text;
}

CUdeviceptr counter; // every launch adds 1 to it

void begin()
{
    CUdevice device;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc(&counter, sizeof(unsigned)));
    CHECK(cuMemsetD8Async(counter, 0, sizeof(unsigned), nullptr));
}

CUresult load(CUmodule *module, const std::string &code)
{
    return cuModuleLoadData(module, code.c_str()); // a NUL follows
}

CUfunction function_of(CUmodule module, const char *name)
{
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module, name));
    return function;
}

void launch(CUfunction function)
{
    void *arguments[] = {&counter};
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
}

unsigned ran()
{
    unsigned n = 0;
    CHECK(cuStreamSynchronize(nullptr));
    CHECK(cuMemcpyDtoH(&n, counter, sizeof n));
    return n;
}

int compile(const char *from, const char *to)
{
    std::string text = contents(from);
    const char *what = text.data();
    size_t size = text.size();
    CUlinkState linker;
    // A driver without a compiler gets the text itself.
    if (dlsym(RTLD_DEFAULT, "cuLinkCreate_v2")) {
        void *code;
        CHECK(cuLinkCreate(0, nullptr, nullptr, &linker));
        CHECK(cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)text.c_str(), text.size() + 1,
                            "modules.ptx", 0, nullptr, nullptr));
        CHECK(cuLinkComplete(linker, &code, &size));
        what = (const char *)code;
    }
    std::FILE *f = std::fopen(to, "wb");
    if (!f || std::fwrite(what, 1, size, f) != size || std::fclose(f)) {
        std::perror(to);
        return 1;
    }
    std::printf("{\"bytes\":%zu}\n", size);
    return 0;
}

int run(const char *file, const char *kernel, int n)
{
    std::string code = contents(file);
    CUmodule module;
    CUresult loaded = load(&module, code);
    if (loaded == CUDA_SUCCESS) {
        CUfunction function = function_of(module, kernel);
        for (int i = 0; i < n; i++)
            launch(function);
        CHECK(cuCtxSynchronize());
    }
    std::printf("{\"load\":%d,\"kernels\":%d,\"ran\":%u}\n", (int)loaded,
                loaded == CUDA_SUCCESS ? n : 0, ran());
    return 0;
}

// Renames every mark; all have 4 characters.
void rename(std::string &code, const char *mark, const char *to)
{
    for (size_t at = code.find(mark); at != std::string::npos; at = code.find(mark, at + 4))
        code.replace(at, 4, to);
}

int many(const char *file, const char *mark, int modules, int kernels, double seconds)
{
    std::string code = contents(file);
    auto began = Clock::now();
    int done = 0;
    char last[5], name[16];
    std::snprintf(last, sizeof last, "%.4s", mark);
    for (; done < modules && ms_since(began) < seconds * 1000; done++) {
        CUmodule module;
        std::snprintf(name, sizeof name, "q%03d", done);
        rename(code, last, name);
        std::memcpy(last, name, sizeof last);
        CHECK(load(&module, code));
        for (int k = 0; k < kernels; k++) {
            std::snprintf(name, sizeof name, "%s%05d", last, k);
            launch(function_of(module, name));
        }
        CHECK(cuCtxSynchronize());
    }
    std::printf("{\"modules\":%d,\"kernels\":%d,\"ran\":%u,\"ms\":%.0f}\n", done, done * kernels,
                ran(), ms_since(began));
    return 0;
}

int late(const char *file, const char *kernel, const char *engine, int n)
{
    static const char *const names[] = {"Monitor",       "Trace", "PcSampling", "SassMetrics",
                                        "RangeProfiler", "Deep",  "PmSampling", "Sync"};
    CUmodule module;
    gpufl_options o;
    CHECK(load(&module, contents(file)));
    CUfunction function = function_of(module, kernel);
    for (int i = 0; i < 100; i++)
        launch(function);
    CHECK(cuCtxSynchronize());
    gpufl_options_init(&o, sizeof o);
    o.app_name = "device_modules";
    for (int i = 0; i < 8; i++)
        if (!std::strcmp(names[i], engine))
            o.profiling_engine = (gpufl_engine)i;
    auto began = Clock::now();
    int result = gpufl_init(&o);
    double init_ms = ms_since(began);
    uint64_t scope = gpufl_scope_begin("late", "");
    for (int i = 0; i < n; i++) {
        launch(function);
        CHECK(cuCtxSynchronize());
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    gpufl_scope_end(scope);
    gpufl_shutdown();
    std::printf("{\"init\":%d,\"init_ms\":%.0f,\"before\":100,\"kernels\":%d,\"ran\":%u}\n", result,
                init_ms, n, ran());
    return 0;
}

int fault(const char *file, const char *kernel, double ms)
{
    CUmodule module;
    CHECK(load(&module, contents(file)));
    CUfunction function = function_of(module, kernel);
    int launches = 0;
    for (auto began = Clock::now(); ms_since(began) < ms; launches++) {
        launch(function);
        CHECK(cuCtxSynchronize());
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    launch(function_of(module, "fault"));
    CUresult result = cuCtxSynchronize();
    std::printf("{\"error\":%d,\"kernels\":%d}\n", (int)result, launches + 1);
    std::fflush(stdout);
    return result == CUDA_SUCCESS ? 1 : 3;
}

} // namespace

int main(int argc, char **argv)
{
    std::string what = argc > 1 ? argv[1] : "";
    begin();
    if (what == "compile" && argc > 3)
        return compile(argv[2], argv[3]);
    if (what == "run" && argc > 4)
        return run(argv[2], argv[3], std::atoi(argv[4]));
    if (what == "many" && argc > 6)
        return many(argv[2], argv[3], std::atoi(argv[4]), std::atoi(argv[5]), std::atof(argv[6]));
    if (what == "late" && argc > 5)
        return late(argv[2], argv[3], argv[4], std::atoi(argv[5]));
    if (what == "fault" && argc > 4)
        return fault(argv[2], argv[3], std::atof(argv[4]));
    std::fprintf(stderr,
                 "usage: device_modules compile PTX CUBIN | run CODE KERNEL N | many CODE MARK "
                 "MODULES KERNELS SECONDS | late CODE KERNEL ENGINE N | fault CODE KERNEL MS\n");
    return 2;
}
