/* gpufl.h - the capture library of GPUFlight: public C11 API (libgpufl.so).
 *
 * One session per process. Every function may be called from any thread at any
 * time, also before gpufl_init and after gpufl_shutdown, where it does nothing
 * and says so by its result. No function throws, exits, prints to stdout,
 * installs a signal handler, or waits for the network. Strings are UTF-8, read
 * during the call and never kept by pointer. Times are nanoseconds.
 *
 * C++ programs include gpufl.hpp, which wraps this header.
 */
#ifndef GPUFL_GPUFL_H
#define GPUFL_GPUFL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(GPUFL_BUILDING)
#define GPUFL_API __attribute__((visibility("default")))
#else
#define GPUFL_API
#endif

#define GPUFL_VERSION "0.1.0"

/* Every error code: name, value, sentence. Functions return 0 or one of the
 * negative values. gpufl_error_text gives the sentence. */
#define GPUFL_ERRORS(E)                                                                            \
    E(NOMEM, -1, "out of memory")                                                                  \
    E(INVAL, -2, "invalid argument")                                                               \
    E(IO, -3, "input or output failed")                                                            \
    E(NOENT, -4, "no such file, session or library")                                               \
    E(PERM, -5, "permission denied")                                                               \
    E(FULL, -6, "a size limit was reached")                                                        \
    E(CORRUPT, -7, "the data is damaged or not of a known format")                                 \
    E(VENDOR, -8, "the GPU vendor's library reported an error")                                    \
    E(BUSY, -9, "another tool holds the profiling interface")                                      \
    E(UNAVAILABLE, -10, "not available on this machine")                                           \
    E(NOT_BUILT, -11, "not built yet: planned for a later release")                                \
    E(STATE, -12, "not possible in the present state (no session, or disabled)")                   \
    E(TIMEOUT, -13, "not finished in time")

enum gpufl_error {
    GPUFL_OK = 0,
#define GPUFL_ERROR_ENUM(name, value, text) GPUFL_E_##name = value,
    GPUFL_ERRORS(GPUFL_ERROR_ENUM)
#undef GPUFL_ERROR_ENUM
};

/* The sentence for a code; never NULL, static storage. */
GPUFL_API const char *gpufl_error_text(int code);

/* The library's version, "MAJOR.MINOR.PATCH"; static storage. */
GPUFL_API const char *gpufl_version(void);

/* Which vendor's libraries are asked. SIM is a simulated GPU: its sessions say so. */
enum gpufl_backend {
    GPUFL_BACKEND_AUTO,
    GPUFL_BACKEND_NVIDIA,
    GPUFL_BACKEND_AMD,
    GPUFL_BACKEND_NONE,
    GPUFL_BACKEND_SIM,
};

/* The ladder of engines: each level adds to the one before (see the engine guide). */
enum gpufl_engine {
    GPUFL_ENGINE_MONITOR,
    GPUFL_ENGINE_TRACE,
    GPUFL_ENGINE_PC_SAMPLING,
    GPUFL_ENGINE_SASS_METRICS,
    GPUFL_ENGINE_RANGE_PROFILER,
    GPUFL_ENGINE_DEEP,
    GPUFL_ENGINE_PM_SAMPLING,
    GPUFL_ENGINE_SYNC,
};

/* What gpufl_init takes. Fill it with gpufl_options_init, then change fields.
 * A field that differs from its default beats the environment and the config
 * file; one left at its default is taken from GPUFL_*, then config_file. Every
 * field is described in docs/options.md, generated from schema/options.def. */
struct gpufl_options {
    size_t size; /* sizeof of the caller's struct, set by gpufl_options_init */

    const char *app_name;
    const char *log_path; /* "" = "<app_name>", a directory */

    const char *backend_url;
    const char *api_key;
    const char *api_path;
    bool remote_upload;

    bool enable_stack_trace;
    bool enable_source_collection;
    bool enable_external_correlation;
    bool enable_synchronization;
    bool enable_memory_tracking;
    bool enable_cuda_graphs_tracking;

    int system_sample_rate_ms;
    int kernel_sample_rate_ms;
    bool continuous_system_sampling;

    enum gpufl_backend backend;
    enum gpufl_engine profiling_engine;

    const char *config_file;
    bool flush_logs_always;
    bool enable_debug_output;
    bool enabled;
};

/* Fills *opts with the defaults. size: sizeof *opts as the caller compiled it. */
GPUFL_API void gpufl_options_init(struct gpufl_options *opts, size_t size);

/* Starts the session. opts: NULL for defaults. Returns 0 when capture runs,
 * GPUFL_E_STATE when it is disabled (nothing was loaded), another code when it
 * could not start: the program goes on either way. Called again while a session
 * runs (also one that was injected): 0, nothing changes. Do not call it from
 * inside a GPU library's callback or a signal handler. */
GPUFL_API int gpufl_init(const struct gpufl_options *opts);

/* Ends the session: stops the engines, writes what is left, closes the log. A
 * session that `gpufl trace` started goes on until the program ends. Not from a
 * signal handler. */
GPUFL_API void gpufl_shutdown(void);

/* True while a session runs in this process. */
GPUFL_API bool gpufl_active(void);

/* Id of the running or last session ("" before the first); lower-case UUID, valid until the next init. */
GPUFL_API const char *gpufl_session_id(void);

/* Directory of the running or last session ("" before the first), valid until the next init. */
GPUFL_API const char *gpufl_session_dir(void);

/* Writes the text report of the running or last session to the file
 * output_path, or to stdout where it is NULL or "": the one call that prints. */
GPUFL_API int gpufl_generate_report(const char *output_path);

/* Opens a scope on this thread; nests to any depth. name, tag: copied; tag may
 * be NULL. Returns a handle for gpufl_scope_end, 0 when nothing is recorded.
 * Cost: one branch while no session runs. */
GPUFL_API uint64_t gpufl_scope_begin(const char *name, const char *tag);

/* The same for a benchmark loop: repeat and warmup are recorded with the scope,
 * so that readers can give a per-iteration average. */
GPUFL_API uint64_t gpufl_scope_begin_bench(const char *name, const char *tag, uint32_t repeat,
                                           uint32_t warmup);

/* Closes a scope, and those opened inside it and still open. Same thread as the
 * begin. 0 and a handle closed before are ignored. */
GPUFL_API void gpufl_scope_end(uint64_t handle);

/* Opens and closes a named window in which system metrics are sampled, also
 * where continuous sampling is off. Windows of different names may overlap. */
GPUFL_API int gpufl_system_start(const char *name);
GPUFL_API int gpufl_system_stop(const char *name);

/* What gpufl_upload_logs takes. */
struct gpufl_upload_options {
    size_t size;
    const char *log_path; /* "" = the last session's */
    const char *backend_url;
    const char *api_key;
    const char *api_path;
};

/* Sends finished sessions to a server. GPUFL_E_NOT_BUILT in this release. */
GPUFL_API int gpufl_upload_logs(const struct gpufl_upload_options *opts);

/* For benchmarks: while on, a running Trace session does the least that a tracer
 * can (same subscription and launch callback, kernel records counted and their
 * buffers freed, nothing decoded or written), so that what the rest costs can be
 * measured inside one process. The kernels not written are counted as
 * lost_floor in the ledger. GPUFL_E_STATE where no engine traces. */
GPUFL_API int gpufl_bench_floor(bool on);

/* Entry point for CUDA_INJECTION64_PATH, called by the driver inside cuInit.
 * Always returns 1: a failed capture never fails the program. */
GPUFL_API int InitializeInjection(void);

#ifdef __cplusplus
}
#endif
#endif
