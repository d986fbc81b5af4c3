/* copies.h - lets one copy of the library make one capture.
 *
 * A program may be linked with one libgpufl.so and injected with another. The copy that a process
 * loaded first does the work. A later copy finds the first one and passes every call on to it, if
 * their versions agree. */
#ifndef GPUFL_CAPTURE_COPIES_H
#define GPUFL_CAPTURE_COPIES_H

#include <gpufl/gpufl.h>

/* Lists the calls that are passed on: result, name, parameters, arguments. */
#define COPIES_CALLS(F)                                                                            \
    F(int, init, (const struct gpufl_options *opts), (opts))                                       \
    F(void, shutdown, (void), ())                                                                  \
    F(bool, active, (void), ())                                                                    \
    F(const char *, session_id, (void), ())                                                        \
    F(const char *, session_dir, (void), ())                                                       \
    F(int, generate_report, (const char *output_path), (output_path))                              \
    F(uint64_t, scope_begin, (const char *name, const char *tag), (name, tag))                     \
    F(uint64_t, scope_begin_bench,                                                                 \
      (const char *name, const char *tag, uint32_t repeat, uint32_t warmup),                       \
      (name, tag, repeat, warmup))                                                                 \
    F(uint64_t, scope_begin_repeated,                                                              \
      (const char *name, const char *tag, uint32_t repeat, uint32_t warmup),                       \
      (name, tag, repeat, warmup))                                                                 \
    F(void, scope_repetition, (uint64_t handle), (handle))                                         \
    F(void, scope_end, (uint64_t handle), (handle))                                                \
    F(void, scope_leave, (uint64_t handle), (handle))                                              \
    F(int, system_start, (const char *name), (name))                                               \
    F(int, system_stop, (const char *name), (name))                                                \
    F(int, window_open, (const char *name), (name))                                                \
    F(int, window_close, (const char *name), (name))                                               \
    F(int, upload_logs, (const struct gpufl_upload_options *opts), (opts))                         \
    F(size_t, backend_url, (char *out, size_t size), (out, size))                                  \
    F(int, bench_floor, (bool on), (on))                                                           \
    F(int, bench_idle, (bool on), (on))

struct copies_calls {
#define F(result, name, params, args) result(*name) params;
    COPIES_CALLS(F)
#undef F
    int (*inject)(void);
    int (*inject_nvtx)(const void *(*get_export_table)(uint32_t table));
    void *(*inject_rocprofiler)(uint32_t version, const char *runtime, uint32_t priority,
                                void *client, const void *code);
};

/* Returns the copy that does the work if it is another one; NULL: this copy does. Looks once.
 * [any] */
const struct copies_calls *copies_first(void);

#endif
