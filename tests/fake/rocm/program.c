/* program.c - is a "HIP program" over the fake runtime, which knows nothing of profilers. Prints
 * one line of JSON: what it did.
 *
 *   fake_hip KERNELS [option]...
 *     threads=T  T threads do all of this
 *     copies=C   C copies to the device and back, and as many by a kernel
 *     fills=F    F asynchronous fills
 *     allocs=A   A times 1,000,000 bytes are allocated, a kernel is launched, the bytes are freed
 *     graphs=G   G launches of a graph of 3 kernels and a fill
 *     early      the graph is one that was instantiated before anybody listened
 *     changed    a kernel of the graph is switched off before the last launch
 *     fail=F     F launches that the runtime refuses
 *     ranges=R   R pushed ranges with a launch each, and one started range around all
 *     peers=P    P copies from the first device to the second
 *     second     every other thread works on the second device
 *     collectives=C  C kernels of RCCL
 *     fork       a child runs this program once more
 *     split      a child goes on in this program: it launches 5 kernels, waits, and exits
 *     exit=N     ends with exit code N
 *
 * Built with FAKE_LINKED the program calls libgpufl itself: init, a scope, shutdown; with
 * sessions=S it does all of this S times. With FAKE_ENGINE in the environment its engine is
 * PcSampling or RangeProfiler. */
#include "hip.h"
#include "tests/fake/pace.h"

#ifdef FAKE_LINKED
#include <gpufl/gpufl.h>
#endif

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 32, BYTES = 1 << 16, BLOCK = 256, TOO_LARGE = 2048, COLLECTIVE = 8 };

static struct {
    int kernels, threads, copies, fills, graphs, fail, ranges, peers, device, second, fork, split,
        exit;
    int allocs, early, changed, collectives, sessions;
} want = {.threads = 1, .sessions = 1};

static _Atomic long launches, failed, waits;

static void launch(void *stream, int which)
{
    struct dim3 grid = {64, 1, 1}, block = {BLOCK, 1, 1};
    pace(PACE_PER_MS);
    hipLaunchKernel(fake_kernel(which), grid, block, NULL, 0, stream);
    launches++;
}

static void copy_all(void *stream, void *memory, char *host)
{
    for (int i = 0; i < want.copies; i++) {
        hipMemcpyAsync(memory, host, BYTES, HIP_H2D, stream);
        hipMemcpyAsync(memory, memory, BYTES, HIP_D2D, stream);
        hipMemcpy(host, memory, BYTES, HIP_D2H);
    }
    for (int i = 0; i < want.fills; i++)
        hipMemsetAsync(memory, 7, BYTES, stream);
    for (int i = 0; i < want.peers; i++)
        hipMemcpyPeerAsync(memory, 1, memory, 0, BYTES, stream);
}

static void allocate_all(void *stream)
{
    void *memory;
    for (int i = 0; i < want.allocs; i++) {
        hipMalloc(&memory, 1000000);
        launch(stream, 0);
        hipFree(memory);
    }
}

static void refused(void *stream)
{
    struct dim3 grid = {1, 1, 1}, block = {TOO_LARGE, 1, 1};
    for (int i = 0; i < want.fail; i++)
        failed += hipLaunchKernel(fake_kernel(0), grid, block, NULL, 0, stream) != 0;
}

/* Named, so that a test finds it on the stack of a wait. */
void fake_hip_waits(void *stream);
__attribute__((noinline)) void fake_hip_waits(void *stream)
{
    hipStreamSynchronize(stream);
    waits++;
    for (int i = 0; i < want.device; i++)
        hipDeviceSynchronize();
}

static void *work(void *arg)
{
    static char host[THREADS][BYTES];
    long number = (long)arg;
    void *memory, *stream;
    if (want.second)
        hipSetDevice((int)(number & 1));
    hipMalloc(&memory, BYTES);
    hipStreamCreate(&stream);
    void *nodes[8], *graph = fake_graph(fake_kernel(1), 3), *exec = graph;
    size_t node_count = 8;
    if (want.graphs && !want.early)
        hipGraphInstantiate(&exec, graph, NULL, NULL, 0);
    for (int i = 0; i < want.kernels; i++)
        launch(stream, i & 1);
    for (int i = 0; i < want.graphs; i++) {
        if (want.changed && i + 1 == want.graphs && !hipGraphGetNodes(graph, nodes, &node_count))
            hipGraphNodeSetEnabled(exec, nodes[0], 0);
        hipGraphLaunch(exec, stream);
    }
    if (exec != graph)
        hipGraphExecDestroy(exec); /* while its kernels run */
    copy_all(stream, memory, host[number]);
    allocate_all(stream);
    for (int i = 0; i < want.collectives; i++)
        launch(stream, COLLECTIVE);
    refused(stream);
    uint64_t all = want.ranges ? roctxRangeStartA("whole") : 0;
    for (int i = 0; i < want.ranges; i++) {
        roctxRangePushA("step");
        roctxMarkA(i ? "in a step" : NULL);
        launch(stream, 0);
        roctxRangePop();
    }
    fake_hip_waits(stream);
    if (want.ranges)
        roctxRangeStop(all);
    hipFree(memory);
    return NULL;
}

static const struct {
    const char *key;
    int *value;
} options[] = {{"threads=", &want.threads},
               {"copies=", &want.copies},
               {"fills=", &want.fills},
               {"graphs=", &want.graphs},
               {"fail=", &want.fail},
               {"ranges=", &want.ranges},
               {"peers=", &want.peers},
               {"device=", &want.device},
               {"exit=", &want.exit},
               {"allocs=", &want.allocs},
               {"collectives=", &want.collectives},
               {"sessions=", &want.sessions}};

static void read_options(int argc, char **argv)
{
    want.kernels = argc > 1 ? atoi(argv[1]) : 100;
    for (int i = 2; i < argc; i++) {
        want.early |= strcmp(argv[i], "early") == 0;
        want.changed |= strcmp(argv[i], "changed") == 0;
        want.second |= strcmp(argv[i], "second") == 0;
        want.fork |= strcmp(argv[i], "fork") == 0;
        want.split |= strcmp(argv[i], "split") == 0;
        for (size_t k = 0; k < sizeof options / sizeof *options; k++)
            if (strncmp(argv[i], options[k].key, strlen(options[k].key)) == 0)
                *options[k].value = atoi(argv[i] + strlen(options[k].key));
    }
    want.threads = want.threads > THREADS ? THREADS : want.threads;
}

/* Runs the same program once more, without its own child. */
static void run_child(char **argv)
{
    pid_t child = fork();
    if (child == 0) {
        execl(argv[0], argv[0], "5", NULL);
        _exit(99);
    }
    waitpid(child, NULL, 0);
}

/* 0: the child has ended as it should. */
static int run_half(void)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 5; i++)
            launch(NULL, i & 1);
        hipDeviceSynchronize();
        exit(0);
    }
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 97;
}

static void work_all(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < want.threads; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (long i = 0; i < want.threads; i++)
        pthread_join(threads[i], NULL);
}

#ifdef FAKE_LINKED
/* A session of its own; the second one records allocations. */
static void work_in_session(int number)
{
    struct gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.app_name = "linked";
    o.enable_memory_tracking = number == 1;
    const char *engine = getenv("FAKE_ENGINE");
    o.profiling_engine = !engine                             ? GPUFL_ENGINE_TRACE
                         : strcmp(engine, "PcSampling") == 0 ? GPUFL_ENGINE_PC_SAMPLING
                                                             : GPUFL_ENGINE_RANGE_PROFILER;
    if (gpufl_init(&o))
        fprintf(stderr, "fake_hip: gpufl_init fails\n");
    uint64_t scope = gpufl_scope_begin("work", "");
    work_all();
    gpufl_scope_end(scope);
    gpufl_shutdown();
}
#endif

int main(int argc, char **argv)
{
    read_options(argc, argv);
#ifdef FAKE_LINKED
    for (int i = 0; i < want.sessions; i++)
        work_in_session(i);
#else
    work_all();
#endif
    if (want.fork)
        run_child(argv);
    int half = want.split ? run_half() : 0;
    printf("{\"launches\": %ld, \"failed\": %ld, \"graphs\": %d, \"waits\": %ld}\n", launches,
           failed, want.graphs * want.threads, waits);
    return half ? half : want.exit;
}
