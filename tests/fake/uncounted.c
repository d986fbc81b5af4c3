/* uncounted.c - is a "CUDA program" with libgpufl and engine RangeProfiler: its scope "here" cannot
 * be counted, its scopes "counted" can.
 *
 *   fake_uncounted no-context  no context is current on the thread
 *   fake_uncounted other-thread another thread's scope is open
 *   fake_uncounted capturing   a stream is captured into a graph
 *   fake_uncounted inside      inside "counted", where it opens a window (GPUFL_WINDOW_SCOPE=here)
 *   fake_uncounted no-window   outside of windows (GPUFL_WINDOWS=1)
 *   fake_uncounted window      its window closes meanwhile (GPUFL_WINDOWS=1)
 *   fake_uncounted many        1100 scopes of as many names inside "counted", and these once more
 *   fake_uncounted alone       the program has no such reason; the library may have one */
#include "cuda_calls.h"
#include "hooks.h"

#include <gpufl/gpufl.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BROKEN_EXIT = 99, MANY_NAMES = 1100 };

static void expect(bool is, const char *what)
{
    if (is)
        return;
    fprintf(stderr, "fake_uncounted: %s\n", what);
    exit(BROKEN_EXIT);
}

static void launch(void)
{
    static char kernel[] = "_Z9fake_reluPfi";
    expect(!cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL), "a launch fails");
    cuCtxSynchronize();
}

static void counted(void)
{
    uint64_t scope = gpufl_scope_begin("counted", "");
    launch();
    gpufl_scope_end(scope);
}

static void here(void)
{
    uint64_t scope = gpufl_scope_begin("here", "");
    gpufl_scope_end(scope);
}

static void *here_of_a_thread(void *unused)
{
    here();
    return unused;
}

static void no_context(void)
{
    counted();
    cuCtxSetCurrent(NULL);
    here();
}

static void other_thread(void)
{
    pthread_t thread;
    uint64_t scope = gpufl_scope_begin("counted", "");
    launch();
    pthread_create(&thread, NULL, here_of_a_thread, NULL);
    pthread_join(thread, NULL);
    gpufl_scope_end(scope);
}

static void capturing(void)
{
    cuda_stream stream;
    cuda_graph graph;
    counted();
    cuStreamCreate(&stream, 0);
    expect(!cuStreamBeginCapture_v2(stream, 0), "a capture does not begin");
    here();
    expect(!cuStreamEndCapture(stream, &graph), "a capture does not end");
    counted();
}

static void inside(void)
{
    expect(!gpufl_window_open("w"), "a window does not open");
    uint64_t scope = gpufl_scope_begin("counted", "");
    launch();
    here();
    gpufl_scope_end(scope);
    expect(!gpufl_window_close("w"), "a window does not close");
}

static void no_window(void)
{
    expect(!gpufl_window_open("w"), "a window does not open");
    counted();
    expect(!gpufl_window_close("w"), "a window does not close");
    here();
}

static void window(void)
{
    expect(!gpufl_window_open("w"), "a window does not open");
    counted();
    uint64_t scope = gpufl_scope_begin("here", "");
    launch();
    expect(!gpufl_window_close("w"), "a window does not close");
    gpufl_scope_end(scope);
}

static void many(void)
{
    uint64_t scope = gpufl_scope_begin("counted", "");
    for (int i = 0; i < 2 * MANY_NAMES; i++) {
        char name[24];
        snprintf(name, sizeof name, "step %d", i % MANY_NAMES);
        gpufl_scope_end(gpufl_scope_begin(name, ""));
    }
    launch();
    gpufl_scope_end(scope);
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"no-context", no_context},
    {"other-thread", other_thread},
    {"capturing", capturing},
    {"inside", inside},
    {"no-window", no_window},
    {"window", window},
    {"many", many},
    {"alone", here},
};

int main(int argc, char **argv)
{
    struct gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.app_name = "uncounted";
    o.profiling_engine = GPUFL_ENGINE_RANGE_PROFILER;
    expect(!gpufl_init(&o), "gpufl_init fails");
    expect(!cuInit(0), "cuInit fails");
    launch();
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(argv[1], ways[i].name))
            ways[i].run();
    gpufl_shutdown();
    printf("{}\n");
    return 0;
}
