/* float.c - is a "CUDA program" with floating-point traps on, that rounds down and flushes to zero,
 * and that calls libgpufl itself. Its results must not change: after every call of libgpufl the
 * environment is the one from before. Exit code: 0, or the line at which it was another one.
 *
 *   fake_float ENGINE [option]...
 *     exit         the session ends in the exit handlers
 *     report=FILE  has the report written in process
 *     windows      opens and closes a window of capture by name
 *
 * The program works until its session's log has two batches of the host's metrics. */
#include <gpufl/gpufl.h>

#include "cuda_calls.h"
#include "hooks.h"

#include <fenv.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <xmmintrin.h>
enum { FLUSH = 0x8040 }; /* to zero, and denormals are zero */
#endif

static void environment_own(void)
{
#ifdef __SSE2__
    _mm_setcsr(_mm_getcsr() | FLUSH);
#endif
    fesetround(FE_DOWNWARD);
    feenableexcept(FE_ALL_EXCEPT);
}

static bool is_own(void)
{
#ifdef __SSE2__
    if ((_mm_getcsr() & FLUSH) != FLUSH)
        return false;
#endif
    /* Processors without traps (some arm64) cannot turn them on. */
    static int traps = -1;
    if (traps < 0)
        traps = fegetexcept();
    return fegetexcept() == traps && fegetround() == FE_DOWNWARD;
}

#define CHECK()                                                                                    \
    do {                                                                                           \
        if (!is_own())                                                                             \
            _Exit(__LINE__);                                                                       \
    } while (0)

/* Batches of the host's metrics in the session's log. */
static int sampled(void)
{
    char path[4096];
    int count = 0;
    size_t size = 0;
    char *line = NULL;
    snprintf(path, sizeof path, "%s/system.log", gpufl_session_dir());
    FILE *f = fopen(path, "re");
    while (f && getline(&line, &size, f) > 0)
        count += strstr(line, "\"type\":\"host_metric\"") != NULL;
    free(line);
    if (f)
        fclose(f);
    return count;
}

static void step(cuda_stream s)
{
    uint64_t scope = gpufl_scope_begin("step", "");
    CHECK();
    for (int i = 0; i < 50; i++)
        if (cuLaunchKernel("_Z4stepPf", 1, 1, 1, 64, 1, 1, 0, s, NULL, NULL))
            _Exit(__LINE__);
    CHECK();
    if (cuStreamSynchronize(s))
        _Exit(__LINE__);
    CHECK();
    gpufl_scope_end(scope);
    CHECK();
}

static enum gpufl_engine engine_of(const char *name)
{
    static const char *const names[] = {"Monitor",       "Trace", "PcSampling", "SassMetrics",
                                        "RangeProfiler", "Deep",  "PmSampling", "Sync"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return (enum gpufl_engine)i;
    _Exit(__LINE__);
}

int main(int argc, char **argv)
{
    const char *report = NULL;
    bool by_exit = false, windows = false;
    cuda_stream s;
    struct gpufl_options o;
    for (int i = 2; i < argc; i++) {
        by_exit |= !strcmp(argv[i], "exit");
        windows |= !strcmp(argv[i], "windows");
        if (!strncmp(argv[i], "report=", 7))
            report = argv[i] + 7;
    }
    environment_own();
    CHECK();
    gpufl_options_init(&o, sizeof o);
    o.app_name = "float";
    o.profiling_engine = engine_of(argv[1]);
    o.enable_stack_trace = true;
    o.continuous_system_sampling = true;
    o.system_sample_rate_ms = 1;
    if (gpufl_init(&o))
        _Exit(__LINE__);
    CHECK();
    if (cuInit(0) || cuStreamCreate(&s, 0))
        _Exit(__LINE__);
    CHECK();
    do {
        if (windows && gpufl_window_open("float"))
            _Exit(__LINE__);
        CHECK();
        step(s);
        if (windows && gpufl_window_close("float"))
            _Exit(__LINE__);
        CHECK();
    } while (sampled() < 2);
    if (report && gpufl_generate_report(report))
        _Exit(__LINE__);
    CHECK();
    if (!by_exit)
        gpufl_shutdown();
    CHECK();
    puts("{}"); /* the program ends by itself */
    return 0;
}
