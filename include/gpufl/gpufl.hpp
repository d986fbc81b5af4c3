// gpufl.hpp - wraps gpufl.h for C++: header-only, C++17; every function is one of gpufl.h.
//
// Wraps scopes, sessions and options in objects. Each function calls the C function of
// like name; the comment there says what it does and costs. A scope costs one branch
// while no session runs. Nothing here throws by itself, except std::string if memory
// runs out.
#ifndef GPUFL_GPUFL_HPP
#define GPUFL_GPUFL_HPP

#include <gpufl/gpufl.h>

#include <cstdint>
#include <string>
#include <utility>

namespace gpufl
{

// This is a std::string that takes a null pointer as "", so that
// `opts.api_key = std::getenv("GPUFL_API_KEY")` works if the variable is not set.
class String : public std::string
{
  public:
    String() = default;
    String(const char *text) : std::string(text ? text : "")
    {
    }
    String(const std::string &text) : std::string(text)
    {
    }
    String(std::string &&text) noexcept : std::string(std::move(text))
    {
    }
    String &operator=(const char *text)
    {
        assign(text ? text : "");
        return *this;
    }
};

enum class BackendKind { // Auto, Nvidia, …: see gpufl.h
#define GPUFL_BACKEND_KIND(name, word) word = GPUFL_BACKEND_##name,
    GPUFL_BACKENDS(GPUFL_BACKEND_KIND)
#undef GPUFL_BACKEND_KIND
};

enum class ProfilingEngine {        // Monitor, Trace, …: see gpufl.h
    Default = GPUFL_ENGINE_DEFAULT, // not set: see gpufl.h
#define GPUFL_ENGINE_CLASS(name, word) word = GPUFL_ENGINE_##name,
    GPUFL_ENGINES(GPUFL_ENGINE_CLASS)
#undef GPUFL_ENGINE_CLASS
};

// This is a field of InitOptions: a T that knows whether it was assigned. A value that the program
// assigns beats GPUFL_* and config_file, even if it is the default.
template <typename T> class Option
{
  public:
    constexpr Option(T value) noexcept : value_(value), set_(true)
    {
    }
    constexpr operator T() const noexcept
    {
        return value_;
    }
    constexpr bool isSet() const noexcept
    {
        return set_;
    }
    static constexpr Option standard(T value) noexcept
    {
        Option option(value);
        option.set_ = false;
        return option;
    }

  private:
    T value_;
    bool set_;
};

namespace detail
{

// Returns the default of a field.
template <typename T> constexpr Option<T> standard(T value) noexcept
{
    return Option<T>::standard(value);
}

} // namespace detail

// Holds what init takes; docs/options.md describes every field. A field that is assigned beats
// GPUFL_* and config_file; a text counts as assigned if it differs from its default.
struct InitOptions {
    String app_name = "gpufl";
    String log_path = ""; // "": app_name, a directory

    String backend_url = "";
    String api_key = "";
    String api_path = "";
    Option<bool> remote_upload = detail::standard(false); // deprecated, no effect

    Option<bool> enable_stack_trace = detail::standard(false);
    Option<bool> enable_source_collection = detail::standard(true);
    Option<bool> enable_external_correlation = detail::standard(true);
    Option<bool> enable_synchronization = detail::standard(true);
    Option<bool> enable_memory_tracking = detail::standard(false);
    Option<bool> enable_cuda_graphs_tracking = detail::standard(false);

    Option<int> system_sample_rate_ms = detail::standard(0);
    Option<int> kernel_sample_rate_ms = detail::standard(0); // deprecated, no effect
    Option<bool> continuous_system_sampling = detail::standard(false);

    Option<BackendKind> backend = detail::standard(BackendKind::Auto);
    Option<ProfilingEngine> profiling_engine = detail::standard(ProfilingEngine::Monitor);

    String config_file = "";
    Option<bool> flush_logs_always = detail::standard(false);
    Option<bool> enable_debug_output = detail::standard(false);
    Option<bool> enabled = detail::standard(true);
};

// Starts the session. Returns true if capture runs. The program can go on in either case.
inline bool init(const InitOptions &opts = InitOptions())
{
    gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.app_name = opts.app_name.c_str();
    o.log_path = opts.log_path.c_str();
    o.backend_url = opts.backend_url.c_str();
    o.api_key = opts.api_key.c_str();
    o.api_path = opts.api_path.c_str();
    o.config_file = opts.config_file.c_str();
#define GPUFL_DETAIL_TAKE(type, field)                                                             \
    o.field = static_cast<type>(opts.field);                                                       \
    if (opts.field.isSet())                                                                        \
    (void)gpufl_options_set(&o, #field)
    GPUFL_DETAIL_TAKE(bool, remote_upload);
    GPUFL_DETAIL_TAKE(bool, enable_stack_trace);
    GPUFL_DETAIL_TAKE(bool, enable_source_collection);
    GPUFL_DETAIL_TAKE(bool, enable_external_correlation);
    GPUFL_DETAIL_TAKE(bool, enable_synchronization);
    GPUFL_DETAIL_TAKE(bool, enable_memory_tracking);
    GPUFL_DETAIL_TAKE(bool, enable_cuda_graphs_tracking);
    GPUFL_DETAIL_TAKE(int, system_sample_rate_ms);
    GPUFL_DETAIL_TAKE(int, kernel_sample_rate_ms);
    GPUFL_DETAIL_TAKE(bool, continuous_system_sampling);
    GPUFL_DETAIL_TAKE(bool, flush_logs_always);
    GPUFL_DETAIL_TAKE(bool, enable_debug_output);
    GPUFL_DETAIL_TAKE(bool, enabled);
#undef GPUFL_DETAIL_TAKE
    if (opts.backend.isSet()) {
        o.backend = static_cast<gpufl_backend>(static_cast<BackendKind>(opts.backend));
        (void)gpufl_options_set(&o, "backend");
    }
    if (opts.profiling_engine.isSet())
        o.profiling_engine =
            static_cast<gpufl_engine>(static_cast<ProfilingEngine>(opts.profiling_engine));
    return gpufl_init(&o) == GPUFL_OK;
}

inline void shutdown() noexcept
{
    gpufl_shutdown();
}

// Prints the report of the last session, or writes it to a file.
inline void generateReport(const String &output_path = "")
{
    (void)gpufl_generate_report(output_path.c_str());
}

inline bool active() noexcept
{
    return gpufl_active();
}

inline std::string sessionId()
{
    return gpufl_session_id();
}

inline std::string sessionDir()
{
    return gpufl_session_dir();
}

// Opens a window in which system metrics are sampled.
inline void systemStart(const String &name = "system")
{
    (void)gpufl_system_start(name.c_str());
}

// Closes that window.
inline void systemStop(const String &name = "system")
{
    (void)gpufl_system_stop(name.c_str());
}

// Opens a window of capture, in a session that has windows. Returns false if the window could not
// be opened.
inline bool windowOpen(const String &name = "window")
{
    return gpufl_window_open(name.c_str()) == GPUFL_OK;
}

// Closes a window of capture. Returns false if the window was not open.
inline bool windowClose(const String &name = "window")
{
    return gpufl_window_close(name.c_str()) == GPUFL_OK;
}

// ---- upload -------------------------------------------------------------------

struct UploadOptions {
    String log_path = ""; // "": the last session's
    String backend_url = "";
    String api_key = "";
    String api_path = "";
    int timeout_ms = 0;     // for the whole upload; 0: 5 minutes
    int unreachable_ms = 0; // how long to wait for a server that never answers; 0: 15 s
};

struct UploadResult {
    bool success = false;
    int code = GPUFL_OK;
    std::string message;               // why not all was sent; "" on success
    std::uint64_t events_uploaded = 0; // number of lines that the server took in this call

    explicit operator bool() const noexcept
    {
        return success;
    }
};

// Sends sessions to a server like gpufl_upload_logs. Never throws.
inline UploadResult uploadLogs(const UploadOptions &opts = UploadOptions()) noexcept
{
    UploadResult result;
    gpufl_upload_result said = {};
    said.size = sizeof said;
    gpufl_upload_options o = {};
    o.size = sizeof o;
    o.log_path = opts.log_path.c_str();
    o.backend_url = opts.backend_url.c_str();
    o.api_key = opts.api_key.c_str();
    o.api_path = opts.api_path.c_str();
    o.timeout_ms = opts.timeout_ms;
    o.unreachable_ms = opts.unreachable_ms;
    o.result = &said;
    result.code = gpufl_upload_logs(&o);
    result.success = result.code == GPUFL_OK;
    result.events_uploaded = said.lines;
    try {
        if (!result.success)
            result.message = *said.message ? said.message : gpufl_error_text(result.code);
    } catch (...) {
        result.message.clear(); // no memory for the sentence; result.code still says why
    }
    return result;
}

// ---- scopes -------------------------------------------------------------------

namespace detail
{

// Holds a name, which is passed to the C function without a copy.
class Text
{
  public:
    Text(const char *text) noexcept : text_(text)
    {
    }
    Text(const std::string &text) noexcept : text_(text.c_str())
    {
    }
    const char *get() const noexcept
    {
        return text_;
    }

  private:
    const char *text_;
};

} // namespace detail

// This is a scope that lasts as long as the object. The object must end on the thread that made it.
class ScopedMonitor
{
  public:
    explicit ScopedMonitor(detail::Text name, detail::Text tag = nullptr) noexcept
        : handle_(gpufl_scope_begin(name.get(), tag.get()))
    {
    }
    ScopedMonitor(detail::Text name, detail::Text tag, std::uint32_t repeat,
                  std::uint32_t warmup) noexcept
        : handle_(gpufl_scope_begin_repeated(name.get(), tag.get(), repeat, warmup))
    {
    }
    ScopedMonitor(const ScopedMonitor &) = delete;
    ScopedMonitor &operator=(const ScopedMonitor &) = delete;
    ~ScopedMonitor()
    {
        if (handle_)
            gpufl_scope_end(handle_);
    }

    // Says that the next iteration of a scope with repeat begins.
    void repetition() const noexcept
    {
        if (handle_)
            gpufl_scope_repetition(handle_);
    }

  private:
    std::uint64_t handle_;
};

// Runs fn inside a scope and returns what it returns.
template <typename Function>
decltype(auto) monitor(detail::Text name, Function &&fn, detail::Text tag = nullptr)
{
    ScopedMonitor scope(name, tag);
    return std::forward<Function>(fn)();
}

// Holds the iterations and the tag of a benchmark loop.
struct ScopeMeta {
    int repeat = 1; // measured iterations, inside the scope
    int warmup = 0; // iterations before the scope opens
    String tag;

    ScopeMeta &setRepeat(int n)
    {
        repeat = n;
        return *this;
    }
    ScopeMeta &setWarmup(int n)
    {
        warmup = n;
        return *this;
    }
    ScopeMeta &setTag(const String &text)
    {
        tag = text;
        return *this;
    }
};

namespace detail
{

// This is the left operand of the lambda that GFL_BENCH makes of the block after it.
class Bench
{
  public:
    explicit Bench(Text name, const ScopeMeta &meta = ScopeMeta()) : name_(name), meta_(meta)
    {
    }

    template <typename Body> void operator*(Body &&body) const
    {
        const int repeat = meta_.repeat > 0 ? meta_.repeat : 0;
        const int warmup = meta_.warmup > 0 ? meta_.warmup : 0;
        for (int i = 0; i < warmup; i++)
            body();
        ScopedMonitor scope(name_, meta_.tag, static_cast<std::uint32_t>(repeat),
                            static_cast<std::uint32_t>(warmup));
        for (int i = 0; i < repeat; i++) {
            scope.repetition();
            body();
        }
    }

  private:
    Text name_;
    ScopeMeta meta_;
};

} // namespace detail

} // namespace gpufl

#define GPUFL_DETAIL_JOIN2(a, b) a##b
#define GPUFL_DETAIL_JOIN(a, b)  GPUFL_DETAIL_JOIN2(a, b)

// GFL_BENCH("name", gpufl::ScopeMeta{}.setRepeat(10).setWarmup(3)) { … };
// Runs the block warmup times, then repeat times inside a scope. The block is a
// lambda, so `return` leaves one iteration, and the closing semicolon is needed.
#define GFL_BENCH(...) ::gpufl::detail::Bench(__VA_ARGS__) *[&]()

// GFL_SCOPE("name") { … } or GFL_SCOPE("name", "tag") { … }
// Runs the block inside a scope. break, continue, return and exceptions leave the block
// as they leave any other, and an else after the block belongs to the if before
// GFL_SCOPE (compilers warn if that if has no braces).
#define GFL_SCOPE(...)                                                                             \
    if (const ::gpufl::ScopedMonitor GPUFL_DETAIL_JOIN(gpufl_scope_, __COUNTER__){__VA_ARGS__};    \
        false) {                                                                                   \
    } else

#endif
