/* program.c - is a "CUDA program" over the fake driver, linked to libcuda.so.1, that knows nothing
 * of profilers. Each process prints a line of JSON: what it did, and its libraries at the end.
 *
 *   fake_program KERNELS [option]...
 *     threads=T    T threads launch KERNELS each
 *     graphs=G     launches G graphs of 3 kernels and a child graph of 2
 *     peers=N      N copies of 4 KiB to a second device
 *     managed=N    N times 64 KiB of managed memory to the device and 4 KiB back, after a fault
 *     allocate=A   A allocations of 4 KiB, 8 KiB, ... of the device, of which every third is kept
 *     fail=F       F launches by every thread that the driver refuses
 *     resets=R     KERNELS launches, and the primary context is reset; R times
 *     contexts=C   C contexts one after the other, each with KERNELS launches, and destroyed
 *     huge=MIB     a module of that size is loaded, runs a kernel and is unloaded
 *     fault        a kernel faults at the end; "error" is the number
 *     modules=M    M modules are loaded, run a kernel and are unloaded
 *     tunes=M      M more modules after T ms, and then a graph, as a compiler that tunes makes it
 *     steps=S      S scopes with KERNELS launches each, one around each context's work
 *     benches=B    B more scopes, each repeated 5 times; early: left after the first time
 *     left         a scope is open when the session ends
 *     ms=T         goes on with its work for T ms
 *     detached=N   and until the profiling library was finalized N times, four minutes at most
 *     exit=N       ends with exit code N
 *     preload=LIB  has LIB loaded before the first CUDA call, as PyTorch has libcupti
 *     fork=before  forks before cuInit: both processes do all of this
 *     fork=after   forks when all is done, and the child launches KERNELS more
 *     distinct     every launch of a thread is of a kernel of its own name
 *     namesake     half of the kernels have a name of the profiling library's own
 *     rate=N       each thread launches at most N kernels a ms (pace.h; 20), 0: as many as it can
 *     storm=S      S threads launch on and on, also while the process ends
 *     stuck        a thread is inside of a launch that never returns while the process ends
 *     wait         when all is done, says so in a line and waits for a line on stdin
 *
 * Built with FAKE_LINKED the program also calls libgpufl itself: init, a scope around its work,
 * shutdown. More options of that program:
 *     init-late    init comes after cuInit, not before it
 *     apart        init comes on a thread that has no context
 *     sampled, counted, ranged, instrumented
 *                  engine PcSampling, PmSampling, RangeProfiler or SassMetrics instead of Trace
 *     guide        no engine; flags and directory as in the guide on synchronizations
 *     sessions=S   S sessions, one after the other
 *     alone-first  the first session has no kernel records
 *     windows-then the sessions after the first have windows of kernel records
 *     other-thread another thread launches kernels meanwhile
 *     busy         three threads launch kernels meanwhile, at the rate of pace.h */
#include "cuda_calls.h"
#include "hooks.h"
#include "life.h"
#include "maps.h"
#include "pace.h"

#ifdef FAKE_LINKED
#include <gpufl/gpufl.h>
#endif

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 5, THREADS = 64, NAMES = 100000, NO_DEVICE_EXIT = 4, BROKEN_EXIT = 99 };

static char gemm[] = "_Z9fake_gemmIfEvPKT_S2_PS0_i", relu[] = "_Z9fake_reluPfi";
static char namesake[] = "WaitNs", *even = relu;
static int kernels = 1000, thread_count = 1, graphs, failures, storm, exit_code;
static int rate = PACE_PER_MS;
static int huge, error, detached;
static int contexts, resets, modules, tunes, milliseconds, rounds, steps, benches, managed, peers,
    allocations;
static struct {
    long long count, bytes, frees, freed, peak;
} allocated;
static bool alone_first, windows_then, distinct, early, left, wait_input, init_late, sampled,
    counted, ranged, instrumented, other_thread, busy, stuck, apart, faults, guide;
static int sessions = 1;
static const char *preload, *fork_when = "";

/* ---- libgpufl ---------------------------------------------------------------------------- */

static void capture_begin(bool late)
{
#ifdef FAKE_LINKED
    struct gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.app_name = "linked";
    o.profiling_engine = sampled        ? GPUFL_ENGINE_PC_SAMPLING
                         : counted      ? GPUFL_ENGINE_PM_SAMPLING
                         : ranged       ? GPUFL_ENGINE_RANGE_PROFILER
                         : instrumented ? GPUFL_ENGINE_SASS_METRICS
                         : guide        ? GPUFL_ENGINE_DEFAULT
                                        : GPUFL_ENGINE_TRACE;
    if (guide) { /* the two flags of the guide on synchronizations, and no engine */
        GPUFL_OPTIONS_SET(&o, enable_synchronization, true);
        o.enable_stack_trace = true;
        o.log_path = "guide-logs";
    }
    if (late == init_late && gpufl_init(&o))
        fprintf(stderr, "fake_program: gpufl_init fails\n");
#else
    (void)late;
#endif
}

static uint64_t scope_begin(const char *name)
{
#ifdef FAKE_LINKED
    return gpufl_scope_begin(name, "");
#else
    (void)name;
    return 0;
#endif
}

static uint64_t bench_begin(const char *name)
{
#ifdef FAKE_LINKED
    return gpufl_scope_begin_repeated(name, "", REPEATS, 0);
#else
    (void)name;
    return 0;
#endif
}

static void bench_repeats(uint64_t scope)
{
#ifdef FAKE_LINKED
    gpufl_scope_repetition(scope);
#else
    (void)scope;
#endif
}

static void scope_end(uint64_t scope)
{
#ifdef FAKE_LINKED
    gpufl_scope_end(scope);
#else
    (void)scope;
#endif
}

static void capture_end(void)
{
#ifdef FAKE_LINKED
    gpufl_shutdown();
#endif
}

/* ---- work -------------------------------------------------------------------------------- */

static char names[NAMES][16]; /* of distinct kernels; written before there are threads */

static void name_kernels(void)
{
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof names[i], "kernel_%06d", i);
}

/* A kernel's handle, which to the fake driver is its name. */
static char *kernel_at(int i)
{
    return distinct ? names[i % NAMES] : i % 2 ? gemm : even;
}

static void launch_all(cuda_stream s)
{
    for (int i = 0; i < kernels; i++) {
        pace(rate);
        if (cuLaunchKernel(kernel_at(i), 1 + (unsigned)i % 4, 1, 1, 128, 1, 1, 0, s, NULL, NULL))
            exit(BROKEN_EXIT);
    }
    for (int i = 0; i < failures; i++)
        if (!cuLaunchKernel(gemm, 1, 1, 1, 128, 1, 1, 1 << 20, s, NULL, NULL))
            exit(BROKEN_EXIT);
}

static void *work(void *unused)
{
    (void)unused;
    cuda_stream s;
    char host[4096];
    cuStreamCreate(&s, 0);
    cuMemcpyHtoDAsync_v2(0x1000, host, 1 << 20, s);
    cuMemsetD8Async(0x1000, 0, 4096, s);
    launch_all(s);
    cuStreamSynchronize(s);
    cuMemcpyDtoHAsync_v2(host, 0x1000, 4096, s);
    cuStreamSynchronize(s);
    return NULL;
}

static void *work_on(void *unused)
{
    for (;;) {
        pace(rate);
        if (cuLaunchKernel(relu, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL))
            return unused;
    }
}

static void *work_stuck(void *unused)
{
    cuLaunchKernel("stuck", 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL);
    return unused;
}

/* Posts *begun after the first launch. */
static void *work_slowly(void *begun)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (bool reported = false; !cuLaunchKernel(relu, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL);
         reported = true) {
        if (!reported)
            sem_post(begun);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void work_graph(void)
{
    cuda_graph graph, child;
    cuda_exec exec;
    cuGraphCreate(&graph, 0);
    cuGraphCreate(&child, 0);
    fake_graph_add(child, 2, 700, NULL);
    fake_graph_add(graph, 3, 400, child);
    cuGraphInstantiateWithFlags(&exec, graph, 0);
    if (cuGraphLaunch(exec, NULL))
        exit(BROKEN_EXIT);
    cuCtxSynchronize();
    cuGraphExecDestroy(exec);
    free(child);
    free(graph);
}

/* Loads a module, runs its kernel and unloads it. */
static void load_and_run(const char *image, const char *name)
{
    void *module, *function;
    if (cuModuleLoadData(&module, image) || cuModuleGetFunction(&function, module, name) ||
        cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL))
        exit(BROKEN_EXIT);
    cuCtxSynchronize();
    cuModuleUnload(module);
}

/* Modules of even numbers are equal, and so are those of odd numbers; the two kinds differ in one
 * byte. */
static void work_module(int number)
{
    char image[128];
    snprintf(image, sizeof image, "// fake: kernel_%d registers=16 local=0 shared=0 ns=5000",
             number % 2);
    load_and_run(image, number % 2 ? "kernel_1" : "kernel_0");
}

static void work_huge(void)
{
    char image[128];
    snprintf(image, sizeof image,
             "// fake: kernel_huge registers=16 local=0 shared=0 ns=5000\n// fake-mib: %d", huge);
    load_and_run(image, "kernel_huge");
}

/* Faults as real programs do: the launch succeeds, and every call after it fails. */
static void work_fault(void)
{
    if (cuLaunchKernel("fault", 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL))
        exit(BROKEN_EXIT);
    error = cuCtxSynchronize();
    if (!error || cuLaunchKernel(relu, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL) != error)
        exit(BROKEN_EXIT);
}

static void work_context(void)
{
    cuda_context context;
    if (cuCtxCreate_v2(&context, 0, 0))
        exit(BROKEN_EXIT);
    uint64_t scope = steps ? scope_begin("context") : 0;
    launch_all(NULL);
    cuCtxSynchronize();
    scope_end(scope);
    cuCtxDestroy_v2(context);
}

static void work_allocations(void)
{
    for (int i = 0; i < allocations; i++) {
        uint64_t address;
        size_t bytes = 4096 * (size_t)(i + 1);
        if (cuMemAlloc_v2(&address, bytes))
            exit(BROKEN_EXIT);
        allocated.count++;
        allocated.bytes += (long long)bytes;
        if (allocated.bytes - allocated.freed > allocated.peak)
            allocated.peak = allocated.bytes - allocated.freed;
        if (i % 3 == 0)
            continue;
        if (cuMemFree_v2(address))
            exit(BROKEN_EXIT);
        allocated.frees++;
        allocated.freed += (long long)bytes;
    }
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static void work_bench(void)
{
    uint64_t bench = bench_begin("bench");
    for (int i = 0; i < (early ? 1 : REPEATS); i++, rounds++) {
        bench_repeats(bench);
        launch_all(NULL);
        cuCtxSynchronize();
    }
    scope_end(bench);
}

static bool goes_on(int64_t passed_ms)
{
    enum { PATIENCE_MS = 240000 };
    uint64_t now[LIVES];
    if (passed_ms < milliseconds || detached == 0)
        return passed_ms < milliseconds;
    life(now);
    return now[0] < (uint64_t)detached && passed_ms < PATIENCE_MS;
}

static void work_all(void)
{
    pthread_t threads[THREADS];
    uint64_t scope = steps ? 0 : scope_begin("work");
    for (int i = 0; i < thread_count; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < graphs; i++)
        work_graph();
    work_allocations();
    for (int i = 0; i < peers; i++)
        cuMemcpyPeerAsync(0x2000, NULL, 0x1000, NULL, 4096, NULL);
    for (int i = 0; i < managed; i++) {
        fake_managed(4, 3);
        fake_managed(1, 65536);
        fake_managed(3, 0x401000);
        fake_managed(2, 4096);
    }
    for (int i = 0; i < contexts; i++)
        work_context();
    for (int i = 0; i < resets; i++) {
        launch_all(NULL);
        cuCtxSynchronize();
        if (modules)
            work_module(i);
        if (cuDevicePrimaryCtxReset_v2(0))
            exit(BROKEN_EXIT);
    }
    for (int i = 0; i < modules; i++)
        work_module(i);
    if (huge)
        work_huge();
    for (int64_t begin = now_ms(); goes_on(now_ms() - begin); rounds++) {
        launch_all(NULL);
        cuCtxSynchronize();
    }
    for (int i = 0; i < steps; i++, rounds++) {
        uint64_t step = scope_begin("step");
        launch_all(NULL);
        cuCtxSynchronize();
        scope_end(step);
    }
    for (int i = 0; i < benches; i++)
        work_bench();
    for (int i = 0; i < tunes; i++)
        work_module(i);
    if (tunes)
        work_graph();
    launch_all(NULL);
    cuCtxSynchronize();
    if (faults)
        work_fault();
    scope_end(scope);
    if (left)
        scope_begin("left");
    capture_end();
}

/* ---- what there was ------------------------------------------------------------------------ */

static int pools, pools_more; /* large mappings after the first session, and how many came later */

static void say(void)
{
    char cupti[512], other[512];
    int cupti_count = maps_libraries("libcupti.so", cupti, sizeof cupti);
    int launches = kernels * (thread_count + 1 + contexts + resets + rounds) + modules + tunes +
                   (modules ? resets : 0) + !!huge + faults;
    printf("{\"launches\":%d,\"graph_launches\":%d,\"graph_kernels\":%d,\"htod\":%d,\"copies\":%d,"
           "\"cupti\":%d,\"cupti_path\":\"%s\",\"nvml\":%d,\"libgpufl\":%d,"
           "\"allocations\":%lld,\"allocated\":%lld,\"frees\":%lld,\"freed\":%lld,\"peak\":%lld,"
           "\"error\":%d,\"pools\":%d,\"pools_more\":%d}\n",
           launches, graphs + !!tunes, (graphs + !!tunes) * 5, thread_count << 20, thread_count * 3,
           cupti_count, cupti, maps_libraries("libnvidia-ml.so", other, sizeof other),
           maps_libraries("libgpufl.so", other, sizeof other), allocated.count, allocated.bytes,
           allocated.frees, allocated.freed, allocated.peak, error, pools, pools_more);
    fflush(stdout);
}

static void wait_for_line(void)
{
    char line[16];
    if (!fgets(line, sizeof line, stdin))
        exit(BROKEN_EXIT);
}

/* ---- main ---------------------------------------------------------------------------------- */

static const struct { /* options with a number, "name=%d" */
    const char *name;
    int *value;
} numbers[] = {
    {"peers", &peers},     {"threads", &thread_count}, {"graphs", &graphs},
    {"managed", &managed}, {"allocate", &allocations}, {"fail", &failures},
    {"steps", &steps},     {"benches", &benches},      {"contexts", &contexts},
    {"resets", &resets},   {"modules", &modules},      {"huge", &huge},
    {"ms", &milliseconds}, {"sessions", &sessions},    {"storm", &storm},
    {"rate", &rate},       {"exit", &exit_code},       {"detached", &detached},
    {"tunes", &tunes},
};

/* Options that are a word. */
static const struct {
    const char *name;
    bool *value;
} words[] = {
    {"wait", &wait_input},     {"other-thread", &other_thread},
    {"busy", &busy},           {"fault", &faults},
    {"stuck", &stuck},         {"distinct", &distinct},
    {"left", &left},           {"early", &early},
    {"sampled", &sampled},     {"counted", &counted},
    {"ranged", &ranged},       {"instrumented", &instrumented},
    {"guide", &guide},         {"windows-then", &windows_then},
    {"init-late", &init_late}, {"apart", &apart},
};

static bool is_number(const char *option)
{
    size_t len = strcspn(option, "=");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strlen(numbers[i].name) == len && !strncmp(numbers[i].name, option, len))
            return sscanf(option + len, "=%d", numbers[i].value) == 1;
    return false;
}

static bool is_word(const char *option)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i].name, option))
            return *words[i].value = true;
    return false;
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (is_number(argv[i]) || is_word(argv[i]))
            continue;
        if (!strncmp(argv[i], "preload=", 8))
            preload = argv[i] + 8;
        else if (!strncmp(argv[i], "fork=", 5))
            fork_when = argv[i] + 5;
        else if (!strcmp(argv[i], "namesake"))
            even = namesake;
        else if (!strcmp(argv[i], "alone-first"))
            alone_first = setenv("GPUFL_PC_KERNEL_COLLECT", "none", 1) == 0;
        else
            kernels = atoi(argv[i]);
    }
    if (thread_count > THREADS || storm > THREADS)
        exit(BROKEN_EXIT);
}

/* Waits in the parent for the child, which must end well. */
static void await_child(pid_t child)
{
    int status;
    if (child < 0 || (child > 0 && (waitpid(child, &status, 0) != child || status != 0)))
        exit(BROKEN_EXIT);
}

/* Starts the threads that go on launching while the program works. */
static void start_others(pthread_t *threads)
{
    static sem_t begun;
    if (other_thread) {
        sem_init(&begun, 0, 0);
        pthread_create(&threads[0], NULL, work_slowly, &begun);
        while (sem_wait(&begun)) {
        }
    }
    for (int i = 0; i < 3 && busy; i++)
        pthread_create(&threads[i], NULL, work_on, NULL);
}

/* Does the work once per session; the first one has begun. */
static void work_in_sessions(void)
{
    work_all();
    pools = maps_large();
    for (int i = 1; i < sessions; i++) {
        if (windows_then)
            setenv("GPUFL_PC_KERNEL_COLLECT", "windows", 1);
        if (alone_first)
            unsetenv("GPUFL_PC_KERNEL_COLLECT");
        capture_begin(init_late);
        work_all();
    }
    pools_more = maps_large() - pools;
}

int main(int argc, char **argv)
{
    pid_t child = 0;
    pthread_t stormers[THREADS];
    parse(argc, argv);
    name_kernels();
    if (preload && !dlopen(preload, RTLD_NOW))
        fprintf(stderr, "fake_program: %s\n", dlerror());
    bool before = !strcmp(fork_when, "before");
    child = before ? fork() : 0;
    capture_begin(false);
    int result = cuInit(0);
    if (result) {
        printf("{\"error\":%d}\n", result);
        return NO_DEVICE_EXIT;
    }
    cuda_context current = NULL;
    if (apart && (cuCtxGetCurrent(&current) || cuCtxSetCurrent(NULL)))
        return BROKEN_EXIT;
    capture_begin(true);
    if (apart && cuCtxSetCurrent(current))
        return BROKEN_EXIT;
    start_others(stormers);
    work_in_sessions();
    say();
    if (before)
        await_child(child);
    if (!strcmp(fork_when, "after")) {
        child = fork();
        if (child == 0) {
            launch_all(NULL);
            cuCtxSynchronize();
            return 0;
        }
        await_child(child);
    }
    for (int i = 0; i < storm; i++)
        pthread_create(&stormers[i], NULL, work_on, NULL);
    if (stuck) {
        pthread_create(&stormers[0], NULL, work_stuck, NULL);
        fake_cuda_await_stuck();
    }
    if (wait_input)
        wait_for_line();
    return exit_code;
}
