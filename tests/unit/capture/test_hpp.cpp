// test_hpp.cpp - gpufl.hpp: scopes are statements like any other, their objects end in exceptions,
// too, and everything gets from C++ into the log. Without -DRUN the file is only compiled, with
// every compiler and standard of this machine.

#include <gpufl/gpufl.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace
{

int failures = 0;

void check(bool ok, int line)
{
    if (!ok) {
        std::printf("test_hpp.cpp:%d: failed\n", line);
        failures++;
    }
}

#define CHECK(what) check((what), __LINE__)

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-else" // the point of this function
#endif

// An else after an unbraced scope belongs to the if before the scope.
int branches(bool a, bool b)
{
    int result = 0;
    if (a)
        GFL_SCOPE("if") result += 1;
    else
        result += 2;
    if (a)
        GFL_SCOPE("outer") GFL_SCOPE("inner") if (b) result += 10;
    else
        result += 20;
    return result;
}

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

int loops()
{
    int n = 0;
    for (int i = 0; i < 10; i++) {
        GFL_SCOPE("step")
        {
            if (i == 2)
                continue;
            if (i == 5)
                break;
            n++;
        }
        n += 100;
    }
    return n;
}

int leaves()
{
    GFL_SCOPE("returns")
    {
        GFL_SCOPE("from inside", "tag")
        {
            return 7;
        }
    }
    return 0;
}

void throws()
{
    GFL_SCOPE("throws")
    {
        gpufl::ScopedMonitor also("with an object");
        throw std::runtime_error("out");
    }
}

struct MoveOnly {
    MoveOnly() = default;
    MoveOnly(MoveOnly &&) = default;
    MoveOnly(const MoveOnly &) = delete;
    int value = 5;
};

void functions()
{
    int local = 0;
    CHECK(gpufl::monitor("value", [&]() { return 3; }) == 3);
    CHECK(gpufl::monitor("move", []() { return MoveOnly(); }).value == 5);
    int &same = gpufl::monitor(
        "reference", [&]() -> int & { return local; }, "tag");
    CHECK(&same == &local);
    bool caught = false;
    try {
        gpufl::monitor(std::string("throws"), []() { throw 1; });
    } catch (int) {
        caught = true;
    }
    CHECK(caught);
}

void benches()
{
    int runs = 0;
    GFL_BENCH("bench", gpufl::ScopeMeta{}.setRepeat(10).setWarmup(3))
    {
        runs++;
    };
    CHECK(runs == 13);
    GFL_BENCH("once")
    {
        runs++;
        return;
    };
    CHECK(runs == 14);
    GFL_BENCH("none", gpufl::ScopeMeta{}.setRepeat(0).setTag(nullptr))
    {
        runs++;
    };
    CHECK(runs == 14);
}

void strings()
{
    gpufl::InitOptions o;
    const char *null = nullptr;
    o.api_key = null;
    CHECK(o.api_key.empty());
    o.api_key = std::getenv("NOT_SET_ANYWHERE");
    CHECK(o.api_key.empty());
    o.log_path = std::string("x");
    static_assert(std::is_invocable<decltype(gpufl::generateReport), const char *>::value,
                  "a path");
    static_assert(std::is_nothrow_destructible<gpufl::ScopedMonitor>::value &&
                      std::is_nothrow_constructible<gpufl::ScopedMonitor, const char *>::value,
                  "a scope never throws");
    gpufl::UploadOptions u;
    u.log_path = o.log_path;
    std::string plain = u.log_path;
    CHECK(plain == "x" && o.log_path == "x");
    gpufl::UploadResult r = gpufl::uploadLogs(u);
    CHECK(!r && r.code != GPUFL_OK && !r.message.empty() && r.events_uploaded == 0);
    static_assert(noexcept(gpufl::uploadLogs(u)), "never throws");
    static_assert(!std::is_copy_constructible<gpufl::ScopedMonitor>::value, "one owner");
}

// A field behaves like its value, and knows whether it was assigned.
void fields()
{
    gpufl::InitOptions o;
    CHECK(o.profiling_engine == gpufl::ProfilingEngine::Monitor && !o.profiling_engine.isSet());
    CHECK(o.enable_synchronization && !o.enable_synchronization.isSet());
    o.profiling_engine = gpufl::ProfilingEngine::Monitor;
    o.enable_external_correlation = true;
    o.system_sample_rate_ms = 0;
    CHECK(o.profiling_engine.isSet() && o.enable_external_correlation.isSet() &&
          o.system_sample_rate_ms.isSet());
    CHECK(o.system_sample_rate_ms + 1 == 1);
    bool plain = o.enable_external_correlation;
    gpufl::InitOptions copy = o;
    CHECK(plain && copy.profiling_engine.isSet() && !copy.backend.isSet());
    switch (copy.backend) {
    case gpufl::BackendKind::Auto:
        break;
    default:
        CHECK(false);
    }
    static_assert(std::is_aggregate<gpufl::InitOptions>::value, "designated initializers");
}

void everything()
{
    CHECK(branches(true, true) == 11 && branches(true, false) == 21 && branches(false, true) == 2);
    CHECK(loops() == 404);
    CHECK(leaves() == 7);
    bool caught = false;
    try {
        throws();
    } catch (const std::runtime_error &) {
        caught = true;
    }
    CHECK(caught);
    functions();
    benches();
    strings();
    fields();
}

std::string text_of(const std::filesystem::path &path)
{
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

} // namespace

int main(int argc, char **argv)
{
    everything(); // without a session the results are the same
    gpufl::generateReport(std::getenv("NOT_SET_ANYWHERE")); // no path: stdout; no session: nothing
    gpufl::systemStart(nullptr);
    gpufl::systemStop(std::getenv("NOT_SET_ANYWHERE"));
    gpufl::InitOptions o;
    o.app_name = "test_hpp";
    o.backend = gpufl::BackendKind::None;
    o.log_path = argc > 1 ? argv[1] : "test_hpp.logs";
    o.profiling_engine = gpufl::ProfilingEngine::Monitor;
    o.enable_external_correlation = true;
    CHECK(gpufl::init(o));
    CHECK(gpufl::active());
    everything();
    gpufl::shutdown();
    std::string log = text_of(std::filesystem::path(gpufl::sessionDir()) / "scope.log");
    for (const char *name : {"if", "outer", "inner", "step", "returns", "from inside", "throws",
                             "with an object", "value", "reference", "bench", "once"})
        CHECK(log.find("\"" + std::string(name) + "\"") != std::string::npos);
    CHECK(log.find("scope_open") == std::string::npos); // exceptions and returns closed all
    std::filesystem::remove_all(o.log_path.c_str());
    std::printf(failures ? "test_hpp: %d failed\n" : "test_hpp: passed\n", failures);
    return failures != 0;
}
