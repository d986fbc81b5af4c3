/* gpufl.h - declares the public C11 API of GPUFlight's capture library (libgpufl.so).
 *
 * A process has one session at a time. Every function may be called from any thread
 * at any time, also before gpufl_init and after gpufl_shutdown, unless its comment
 * says otherwise; without a session a function does nothing, and its result says so.
 * No function throws, exits, prints to stdout (except gpufl_generate_report) or
 * installs a signal handler, and only gpufl_upload_logs waits for the network.
 * Strings given are UTF-8, read during the call and never kept by pointer; strings
 * returned belong to the library. Times are nanoseconds where a name does not say
 * otherwise. Functions that return int return 0 or a negative enum gpufl_error,
 * except InitializeInjection and InitializeInjectionNvtx2. After fork the child has no
 * session until it starts one.
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

/* Lists every error code: name, value, sentence. Functions return 0 or one of the negative values.
 * gpufl_error_text gives the sentence. */
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
    E(NOT_BUILT, -11, "not in this build, or a library that it needs is missing")                  \
    E(STATE, -12, "not possible in the present state (no session, or disabled)")                   \
    E(TIMEOUT, -13, "not finished in time")

enum gpufl_error {
    GPUFL_OK = 0,
#define GPUFL_ERROR_ENUM(name, value, text) GPUFL_E_##name = value,
    GPUFL_ERRORS(GPUFL_ERROR_ENUM)
#undef GPUFL_ERROR_ENUM
};

/* Returns the sentence for a code, also for an unknown number; never NULL, static storage. */
GPUFL_API const char *gpufl_error_text(int code);

/* Returns the library's version, "MAJOR.MINOR.PATCH"; static storage. */
GPUFL_API const char *gpufl_version(void);

/* Says which vendor's libraries the session uses: GPUFL_BACKEND_<name>, and its name in options.
 * SIM is a simulated GPU; sessions recorded with SIM say so. */
#define GPUFL_BACKENDS(B)                                                                          \
    B(AUTO, Auto)                                                                                  \
    B(NVIDIA, Nvidia)                                                                              \
    B(AMD, Amd)                                                                                    \
    B(NONE, None)                                                                                  \
    B(SIM, Sim)

enum gpufl_backend {
#define GPUFL_BACKEND_ENUM(name, word) GPUFL_BACKEND_##name,
    GPUFL_BACKENDS(GPUFL_BACKEND_ENUM)
#undef GPUFL_BACKEND_ENUM
};

/* The engines say what is asked of a GPU (docs/GLOSSARY.md): GPUFL_ENGINE_<name>, and the name in
 * options. DEFAULT: the code sets none, so that
 * the environment, the config file or `gpufl trace` may; if none of them does, the engine is
 * MONITOR, or SYNC if stacks are asked for. MONITOR set in code is always Monitor. */
#define GPUFL_ENGINES(E)                                                                           \
    E(MONITOR, Monitor)                                                                            \
    E(TRACE, Trace)                                                                                \
    E(PC_SAMPLING, PcSampling)                                                                     \
    E(SASS_METRICS, SassMetrics)                                                                   \
    E(RANGE_PROFILER, RangeProfiler)                                                               \
    E(DEEP, Deep)                                                                                  \
    E(PM_SAMPLING, PmSampling)                                                                     \
    E(SYNC, Sync)

enum gpufl_engine {
    GPUFL_ENGINE_DEFAULT = -1,
#define GPUFL_ENGINE_ENUM(name, word) GPUFL_ENGINE_##name,
    GPUFL_ENGINES(GPUFL_ENGINE_ENUM)
#undef GPUFL_ENGINE_ENUM
};

/* Holds what gpufl_init takes. Fill the struct with gpufl_options_init, then change fields. A field
 * that differs from its default beats the environment and the config file. A field left at its
 * default is taken from GPUFL_*, else from config_file, unless gpufl_options_set says that the
 * default is meant. docs/options.md describes every field. The strings are the caller's; NULL is
 * the default. A value that is not understood is reported on stderr, and the default is used. */
struct gpufl_options {
    size_t size; /* sizeof of the caller's struct, set by gpufl_options_init */

    const char *app_name; /* name of the program, shown wherever the session is listed */
    const char *log_path; /* a directory; "" = app_name */

    const char *backend_url; /* URL of the server; api_path at its end is cut off */
    const char *api_key;     /* never written to a log */
    const char *api_path;    /* "" = "/api/v1" */
    bool remote_upload;      /* deprecated, no effect */

    bool enable_stack_trace;          /* host stacks at launches and waits */
    bool enable_source_collection;    /* text of the files that stacks name */
    bool enable_external_correlation; /* operation ids of frameworks */
    bool enable_synchronization;      /* waits of the host for the GPU */
    bool enable_memory_tracking;      /* GPU memory allocated and freed */
    bool enable_cuda_graphs_tracking; /* each launch of a graph, with its time */

    int system_sample_rate_ms;       /* ms between samples; 0: off, or 1000 if continuous */
    int kernel_sample_rate_ms;       /* deprecated, no effect: every kernel is recorded */
    bool continuous_system_sampling; /* from start to end, not only in scopes and windows */

    enum gpufl_backend backend;
    enum gpufl_engine profiling_engine;

    const char *config_file;  /* JSON object of these options; "" = none */
    bool flush_logs_always;   /* fsync after every write: for diagnosis, slow */
    bool enable_debug_output; /* say on stderr what the library does */
    bool enabled;             /* false: init returns at once, every call is a no-op */

    uint64_t set; /* written by gpufl_options_set: fields whose default is meant */

    /* Options of docs/options.md that have no field here, as "name=value" texts with NULL after
     * the last; they count as set in code. NULL: none. */
    const char *const *others;
};

/* Fills *opts with the defaults; does nothing if opts is NULL. size: sizeof *opts as
 * the caller compiled it, so that older and newer programs can use one library. */
GPUFL_API void gpufl_options_init(struct gpufl_options *opts, size_t size);

/* Says that a field ("enable_external_correlation") is set on purpose: its value beats the
 * environment and the config file even if it is the default. GPUFL_E_INVAL: no field has this
 * name, or the program was compiled before this function existed. */
GPUFL_API int gpufl_options_set(struct gpufl_options *opts, const char *field);

/* Assigns a field and says that it is set on purpose. */
#define GPUFL_OPTIONS_SET(opts, field, value)                                                      \
    ((void)((opts)->field = (value)), (void)gpufl_options_set((opts), #field))

/* Starts the session. opts: NULL for defaults. Returns 0 when capture runs,
 * GPUFL_E_STATE when capture is disabled (nothing is loaded) or the session of
 * `gpufl trace` has ended, another code when capture could not start (IO, PERM, NOENT,
 * FULL: the log's directory; NOMEM). The program can go on in each case. A GPU that
 * cannot be traced is no failure: the session says why, and records what it can.
 * While a session runs, also an injected one, the call returns 0 and changes nothing.
 * Do not call this function from inside a GPU library's callback or a signal handler. */
GPUFL_API int gpufl_init(const struct gpufl_options *opts);

/* Ends the session: stops the engines, writes what is left, closes the log. The call
 * takes some ms if disk and driver answer, and does nothing if no session runs. A session
 * that still runs when the program ends is ended then, and one that `gpufl trace` started
 * only then. Do not call this function from a signal handler. */
GPUFL_API void gpufl_shutdown(void);

/* Returns true while a session runs in this process. */
GPUFL_API bool gpufl_active(void);

/* Returns the id of the running or last session, a lower-case UUID; "" before the first session.
 * Never NULL, valid until the next gpufl_init. */
GPUFL_API const char *gpufl_session_id(void);

/* Returns the directory of the running or last session; "" before the first session. Never NULL,
 * valid until the next gpufl_init. */
GPUFL_API const char *gpufl_session_dir(void);

/* Writes the text report of the running or last session, with all its sections, to the file
 * output_path. If output_path is NULL or "", prints the report's first screen to stdout.
 * GPUFL_E_STATE, with a sentence on stderr, before the first session; GPUFL_E_UNAVAILABLE without
 * libgpufl-analysis.so; IO, PERM, NOENT or FULL if the file cannot be written. */
GPUFL_API int gpufl_generate_report(const char *output_path);

/* Opens a scope on this thread. Scopes nest to any depth. name, tag: copied; both may
 * be NULL. Returns a handle for gpufl_scope_end, or 0 when nothing is recorded.
 * Cost: one branch while no session runs; otherwise no lock and no system call
 * once the thread and the name have been seen. */
GPUFL_API uint64_t gpufl_scope_begin(const char *name, const char *tag);

/* Opens a scope around a benchmark loop: repeat (iterations inside) and warmup
 * (iterations before it) are recorded with the scope, so that readers can give a
 * per-iteration average; repeat 0: not a loop. */
GPUFL_API uint64_t gpufl_scope_begin_bench(const char *name, const char *tag, uint32_t repeat,
                                           uint32_t warmup);

/* Opens a scope around a benchmark loop that also calls gpufl_scope_repetition at each iteration.
 * Hardware counters that need several passes are then counted, one pass in each iteration, so all
 * iterations have to do the same work. */
GPUFL_API uint64_t gpufl_scope_begin_repeated(const char *name, const char *tag, uint32_t repeat,
                                              uint32_t warmup);

/* Says that an iteration of a scope of gpufl_scope_begin_repeated begins. Call this function on the
 * thread that opened the scope; handle 0 is ignored. The call waits for the device while iterations
 * are counted, otherwise it costs a branch or two. */
GPUFL_API void gpufl_scope_repetition(uint64_t handle);

/* Closes a scope, and the scopes inside it that are still open. Call this function on
 * the thread that opened the scope. Handle 0 and a handle that is closed are ignored. */
GPUFL_API void gpufl_scope_end(uint64_t handle);

/* Closes this scope alone; scopes inside it stay open. May be called on any thread. For programs
 * whose scopes do not nest on a thread: tasks of an event loop, objects that another thread frees.
 * Handle 0 and a handle that is closed are ignored. */
GPUFL_API void gpufl_scope_leave(uint64_t handle);

/* Opens and closes a named window in which system metrics are sampled, also if
 * continuous sampling is off. Windows of different names may overlap, and one name
 * may be open several times; NULL counts as "". GPUFL_E_STATE: no session runs;
 * GPUFL_E_INVAL: a stop without its start; GPUFL_E_FULL: 64 windows are open;
 * GPUFL_E_NOMEM. */
GPUFL_API int gpufl_system_start(const char *name);
GPUFL_API int gpufl_system_stop(const char *name);

/* Opens and closes a named window of capture, in a session that has windows (options windows,
 * window_after_ms, …; gpufl trace --windows). Outside of all windows nothing is recorded except
 * scopes. With window_detach engines free what they hold window_rest_ms after a window closed, and
 * the vendor's library is detached.
 * Windows of different names may overlap, and one name may be open several times; NULL counts as
 * "". gpufl_window_open returns when the engine is on: what this thread launches after that is
 * recorded. The first window takes some ms to open. GPUFL_E_STATE: no session runs, or the session
 * has no windows; GPUFL_E_INVAL: a close without its open; GPUFL_E_FULL: 64 names are open;
 * GPUFL_E_BUSY, _PERM, _TIMEOUT, _UNAVAILABLE, _VENDOR: the engine does not start. Do not call
 * these functions from inside a GPU library's callback. */
GPUFL_API int gpufl_window_open(const char *name);
GPUFL_API int gpufl_window_close(const char *name);

/* Holds what gpufl_upload_logs takes; strings are the caller's, NULL counts as "". */
struct gpufl_upload_options {
    size_t size;             /* sizeof of the caller's struct */
    const char *log_path;    /* "" = the last session's */
    const char *backend_url; /* as in gpufl_options, as the two below; "" = gpufl_backend_url's */
    const char *api_key;
    const char *api_path;
    int timeout_ms;                     /* for the whole upload; 0: 5 minutes */
    struct gpufl_upload_result *result; /* filled; NULL: not wanted */
    int unreachable_ms; /* how long to wait for a server that never answers; 0: 15 s */
};

/* Holds the result of an upload. */
struct gpufl_upload_result {
    size_t size;       /* sizeof of the caller's struct; set by the caller */
    uint64_t lines;    /* number of lines that the server took in this call */
    char message[384]; /* why not all was sent; "" on success */
};

/* Sends all sessions below log_path to a server, by running `gpufl upload`: the command
 * that GPUFL_CLI names, else the one next to this library, else the one in PATH. Returns 0
 * once the server has all sessions. After a failure the next call, or the command, goes on
 * where this one stopped. The call waits no longer than timeout_ms and some seconds.
 * GPUFL_E_STATE without a session, _NOENT without the command, _NOT_BUILT without
 * libcurl, _TIMEOUT, _IO for the rest. If capture is disabled (GPUFL_DISABLED, or
 * enabled=false in code, environment or config file), nothing is sent and the result is 0.
 * Progress, and the reasons for waits, are reported on stderr. Call this function after
 * gpufl_shutdown: a running session cannot be sent as a whole. */
GPUFL_API int gpufl_upload_logs(const struct gpufl_upload_options *opts);

/* Finds the server that gpufl_upload_logs sends to where its caller names none, as the options of
 * the running or last session name it in code, environment or config file; before the first
 * session, as environment and config file name it. The session's api_key and api_path belong to
 * that server alone. Copies at most size - 1 bytes and a NUL to out (NULL if size is 0), and
 * returns the URL's length in bytes: 0 if no server is named, or capture is disabled. [any
 * thread] */
GPUFL_API size_t gpufl_backend_url(char *out, size_t size);

/* For benchmarks: while on, a running Trace session does the least that a tracer
 * can (same subscription and launch callback, kernel records counted and their
 * buffers freed, nothing decoded or written), so that what the rest costs can be
 * measured inside one process. The kernels not written are counted as
 * lost_floor in the ledger. GPUFL_E_STATE if no engine traces, GPUFL_E_VENDOR
 * where the vendor's library does not go back to normal. */
GPUFL_API int gpufl_bench_floor(bool on);

/* For benchmarks: in a running session without windows, false stops what names the line that
 * caused idle time (launches that are captured with their stack, samples of threads), and true
 * starts it again, so that its cost can be measured inside one session. A session that began
 * without these stays without them. GPUFL_E_STATE: no engine traces. */
GPUFL_API int gpufl_bench_idle(bool on);

/* The driver calls this entry point for CUDA_INJECTION64_PATH inside cuInit. Returns 1, or 0 if the
 * session could not begin; the program goes on in either case. */
GPUFL_API int InitializeInjection(void);

/* Each NVTX client of the process calls this entry point for NVTX_INJECTION64_PATH on its first
 * call, with the function that returns the client's tables. The client's ranges become scopes.
 * Returns 1, or 0 if capture is disabled or the client offers nothing. */
GPUFL_API int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t table));

/* libgpufl-rocprofiler.so, the library that ROCP_TOOL_LIBRARIES names, calls this function. Takes
 * the arguments of rocprofiler_configure, and an address in the rocprofiler-sdk that called it.
 * Returns what rocprofiler_configure is to return, which stays valid; NULL: capture is disabled, or
 * nothing can be recorded here. Starts a session once the tool is initialized, unless one runs. May
 * be called on any thread. */
GPUFL_API void *InitializeInjectionRocprofiler(uint32_t version, const char *runtime,
                                               uint32_t priority, void *client, const void *code);

#ifdef __cplusplus
}
#endif
#endif
