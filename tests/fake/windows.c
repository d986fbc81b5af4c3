/* windows.c - is a "CUDA program" that opens and closes windows of capture itself, through
 * libgpufl. At its end it prints one line of JSON: what it did in windows, and what became of the
 * library.
 *
 *   fake_windows CYCLES [option]...
 *     CYCLES times a window with 10 launches and a graph; after it launches until the profiling
 *     library has been detached.
 *     threads=T    T threads launch on and on meanwhile
 *     contexts     contexts and graphs are made and destroyed, too
 *     made         some contexts are made, and stay
 *     kept         the library is not detached
 *     back         at the end the program waits until the library is attached again
 *     scope        a scope of the name "cycle" opens each window
 *     slow=MS      so long in each window, and after it
 *   fake_windows stay
 *     one window; then it waits for a line on stdin, launching on, and opens none
 *   fake_windows scopes
 *     launches in and outside of scopes named "step"
 *   fake_windows again
 *     a window in a scope "first", and, when the library has been detached, one in no scope
 *   fake_windows elsewhere [kept]
 *     after a detach a thread launches in a context of its own in a window that another thread
 *     opened, and nobody waits for the device for a while; kept: nobody ever does, and the window
 *     stays open
 *   fake_windows crowd
 *     after a detach CROWD contexts are made, and one launch is made in each of them in a window
 *   fake_windows gone [slow=MS]
 *     after a detach a thread opens a window whose context another thread has destroyed */
#include "cuda_calls.h"
#include "hooks.h"
#include "life.h"

#include <gpufl/gpufl.h>

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { IN_WINDOW = 10, NODES = 3, THREADS = 16, PATIENCE_S = 120, BROKEN_EXIT = 99 };

static char kernel[] = "_Z9fake_reluPfi", other[] = "_Z9fake_gemmIfEvPKT_S2_PS0_i";
static _Atomic bool over;
static int in_windows, graphs, slow_ms;
static bool by_scope;

static void expect(bool is, const char *what)
{
    if (is)
        return;
    fprintf(stderr, "fake_windows: %s\n", what);
    exit(BROKEN_EXIT);
}

static void launch(void *function)
{
    expect(!cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL), "a launch fails");
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Lets time pass while kernels run. */
static void take_time(void *function, int *count)
{
    for (int i = 0; i < slow_ms; i++) {
        launch(function);
        (*count)++;
        pause_ms(1);
    }
}

/* Lists what a thread does in addition to its launches: contexts are made and destroyed, or made
 * now and then and kept. */
enum contexts { CONTEXTS_NONE, CONTEXTS_GO, CONTEXTS_MADE };
enum { MADE_MOST = 4, MADE_EVERY = 100 };

/* Launches kernels of another name than those in windows. */
static void *launch_on(void *arg)
{
    enum contexts contexts = *(const enum contexts *)arg;
    for (int i = 1, made = 0; !atomic_load(&over); i++) {
        cuda_context context = NULL;
        if (contexts == CONTEXTS_GO ||
            (contexts == CONTEXTS_MADE && made < MADE_MOST && (i == 1 || i % MADE_EVERY == 0)))
            made += !cuCtxCreate_v2(&context, 0, 0);
        launch(other);
        if (context && contexts == CONTEXTS_GO)
            cuCtxDestroy_v2(context);
        pause_ms(1);
    }
    return NULL;
}

static void window_work(cuda_exec exec)
{
    uint64_t scope = by_scope ? gpufl_scope_begin("cycle", NULL) : 0;
    expect(by_scope || !gpufl_window_open("cycle"), "a window does not open");
    for (int i = 0; i < IN_WINDOW; i++)
        launch(kernel);
    in_windows += IN_WINDOW;
    take_time(kernel, &in_windows);
    cuGraphLaunch(exec, NULL);
    graphs++;
    cuCtxSynchronize();
    expect(by_scope || !gpufl_window_close("cycle"), "a window does not close");
    gpufl_scope_end(scope);
}

/* Launches until the library has been finalized that often. */
static void await_end(uint64_t times)
{
    uint64_t now[LIVES];
    time_t until = time(NULL) + PATIENCE_S;
    for (life(now); now[0] < times; life(now)) {
        expect(time(NULL) < until, "the library is not detached");
        launch(other);
        cuCtxSynchronize(); /* where engines that stay attached free what they hold */
        pause_ms(1);
    }
}

/* Waits until the library is attached again, although no window is open. */
static void await_return(void)
{
    uint64_t now[LIVES];
    time_t until = time(NULL) + PATIENCE_S;
    for (life(now); !now[4]; life(now)) {
        expect(time(NULL) < until, "the library does not come back");
        pause_ms(1);
    }
}

static void cycles(int count, int thread_count, enum contexts contexts, bool kept)
{
    pthread_t threads[THREADS];
    cuda_graph graph;
    cuda_exec exec = NULL;
    expect(thread_count <= THREADS, "too many threads");
    cuGraphCreate(&graph, 0);
    fake_graph_add(graph, NODES, 400, NULL);
    for (int i = 0; i < thread_count; i++)
        pthread_create(&threads[i], NULL, launch_on, &contexts);
    for (int i = 0; i < count; i++) {
        if (exec && contexts == CONTEXTS_GO) {
            cuGraphExecDestroy(exec);
            exec = NULL;
        }
        if (!exec)
            cuGraphInstantiateWithFlags(&exec, graph, 0);
        window_work(exec);
        launch(other);
        take_time(other, &(int){0});
        cuCtxSynchronize();
        if (!kept)
            await_end((uint64_t)i + 1);
    }
    atomic_store(&over, true);
    for (int i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    free(graph);
}

/* Launches until a line comes and the library has been asked to finalize so often. */
static void stay(uint64_t asks)
{
    uint64_t now[LIVES] = {0};
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    gpufl_window_open(NULL);
    launch(kernel);
    in_windows++;
    cuCtxSynchronize();
    gpufl_window_close(NULL);
    printf("{\"pid\":%d}\n", (int)getpid());
    fflush(stdout);
    while (poll(&in, 1, 1) == 0 || now[6] < asks) {
        launch(other);
        life(now);
    }
}

static void scopes(void)
{
    for (int i = 0; i < 20; i++) {
        uint64_t around = gpufl_scope_begin("epoch", NULL);
        launch(other);
        uint64_t step = gpufl_scope_begin("step", NULL);
        launch(kernel);
        uint64_t inner = gpufl_scope_begin("step", NULL);
        launch(kernel);
        gpufl_scope_end(inner);
        launch(kernel);
        take_time(kernel, &in_windows);
        cuCtxSynchronize();
        gpufl_scope_end(i % 2 ? step : around);
        gpufl_scope_end(around);
        launch(other);
        take_time(other, &(int){0});
        in_windows += 3;
    }
}

static void again(void)
{
    uint64_t first = gpufl_scope_begin("first", NULL);
    expect(!gpufl_window_open("one"), "a window does not open");
    for (int i = 0; i < IN_WINDOW; i++)
        launch(kernel);
    cuCtxSynchronize();
    gpufl_window_close("one");
    gpufl_scope_end(first);
    await_end(1);
    expect(!gpufl_window_open("two"), "a window does not open");
    for (int i = 0; i < 10 * IN_WINDOW; i++)
        launch(kernel);
    cuCtxSynchronize();
    gpufl_window_close("two");
    in_windows = 11 * IN_WINDOW;
}

/* ---- a context that is worked in late -------------------------------------------------------- */

enum { ELSEWHERE_MS = 150 };
static pthread_barrier_t turn;

static void *launch_elsewhere(void *arg)
{
    cuda_context context;
    (void)arg;
    expect(!cuCtxCreate_v2(&context, 0, 0), "no context");
    launch(other);
    pthread_barrier_wait(&turn); /* made and known */
    pthread_barrier_wait(&turn); /* the second window is open */
    launch(other);
    pthread_barrier_wait(&turn);
    return NULL;
}

static void first_window(void)
{
    expect(!gpufl_window_open("one"), "a window does not open");
    launch(kernel);
    cuCtxSynchronize();
    gpufl_window_close("one");
    await_end(1);
    in_windows++;
}

static void elsewhere(bool kept)
{
    pthread_t thread;
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&thread, NULL, launch_elsewhere, NULL);
    pthread_barrier_wait(&turn);
    first_window();
    expect(!gpufl_window_open("two"), "a window does not open");
    launch(kernel);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    pause_ms(ELSEWHERE_MS);
    if (!kept) {
        cuCtxSynchronize();
        gpufl_window_close("two");
    }
    pthread_join(thread, NULL);
    in_windows++;
}

/* ---- more contexts than the library remembers ------------------------------------------------ */

static void crowd(void)
{
    enum { CROWD = 66 };
    cuda_context context[CROWD];
    first_window();
    for (int i = 0; i < CROWD; i++)
        expect(!cuCtxCreate_v2(&context[i], 0, 0), "no context");
    expect(!gpufl_window_open("two"), "a window does not open");
    for (int i = 0; i < CROWD; i++) {
        cuCtxSetCurrent(context[i]);
        launch(kernel);
    }
    cuCtxSynchronize();
    gpufl_window_close("two");
    in_windows += CROWD;
}

/* ---- a context that another thread destroys -------------------------------------------------- */

static void *destroy(void *context)
{
    cuCtxDestroy_v2(context);
    return NULL;
}

static void gone(void)
{
    cuda_context primary, own;
    pthread_t thread;
    expect(!cuDevicePrimaryCtxRetain(&primary, 0) && !cuCtxCreate_v2(&own, 0, 0), "no context");
    first_window();
    pthread_create(&thread, NULL, destroy, own);
    pthread_join(thread, NULL);
    expect(!gpufl_window_open("two"), "a window does not open");
    cuCtxSetCurrent(primary);
    launch(other);
    cuCtxSynchronize(); /* the engine begins */
    launch(kernel);
    cuCtxSynchronize();
    gpufl_window_close("two");
    in_windows += 2;
}

int main(int argc, char **argv)
{
    int thread_count = 0;
    enum contexts contexts = CONTEXTS_NONE;
    bool kept = false, back = false;
    uint64_t end[LIVES], contexts_made[3];
    if (cuInit(0))
        return BROKEN_EXIT;
    for (int i = 2; i < argc; i++) {
        sscanf(argv[i], "threads=%d", &thread_count);
        sscanf(argv[i], "slow=%d", &slow_ms);
        if (!strcmp(argv[i], "contexts"))
            contexts = CONTEXTS_GO;
        if (!strcmp(argv[i], "made"))
            contexts = CONTEXTS_MADE;
        kept |= !strcmp(argv[i], "kept");
        back |= !strcmp(argv[i], "back");
        by_scope |= !strcmp(argv[i], "scope");
    }
    if (argc > 1 && !strcmp(argv[1], "stay"))
        stay(argc > 2 ? (uint64_t)atoi(argv[2]) : 0);
    else if (argc > 1 && !strcmp(argv[1], "scopes"))
        scopes();
    else if (argc > 1 && !strcmp(argv[1], "again"))
        again();
    else if (argc > 1 && !strcmp(argv[1], "elsewhere"))
        elsewhere(kept);
    else if (argc > 1 && !strcmp(argv[1], "crowd"))
        crowd();
    else if (argc > 1 && !strcmp(argv[1], "gone"))
        gone();
    else
        cycles(argc > 1 ? atoi(argv[1]) : 1, thread_count, contexts, kept);
    if (back)
        await_return();
    life(end);
    fake_cuda_contexts(contexts_made);
    printf("{\"in_windows\":%d,\"graphs\":%d,\"nodes\":%d,\"finalized\":%d,\"outside_exit\":%d,"
           "\"touched\":%d,\"contexts\":%d,\"unheard\":%d,"
           "\"away_ms\":%d}\n",
           in_windows, graphs, graphs * NODES, (int)end[0], (int)end[1], (int)end[2],
           (int)contexts_made[1], (int)contexts_made[2], (int)(end[3] / 1000000));
    return 0;
}
