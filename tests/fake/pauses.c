/* pauses.c - is a "CUDA program" that keeps the GPU waiting in known ways: it prints one line of
 * JSON with every call that it made, [function, begin, end], CLOCK_MONOTONIC ns, in the order of
 * the calls. "wait" is a call that waits; every other function launches, and is then on the stack.
 *
 *   fake_pauses PAUSES BURST
 *     PAUSES long pauses before each kind of launch, and before a wait with a launch after it;
 *     then BURST launches with short pauses */
#include "cuda_calls.h"
#include "hooks.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* LONG_NS is above what a thread that captures too much counts as long (launch_rule.h). */
enum { LONG_NS = 8000000, SHORT_NS = 20000, CALLS = 100000, BROKEN_EXIT = 99 };

static struct call {
    const char *function;
    int64_t begin, end;
} calls[CALLS];
static int count;
static cuda_stream stream;
static cuda_exec exec;
static char kernel[] = "_Z9fake_reluPfi", host[4096];

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void think(int64_t ns)
{
    const struct timespec pause = {.tv_nsec = ns};
    nanosleep(&pause, NULL);
}

static void call_begins(const char *function)
{
    if (count == CALLS)
        exit(BROKEN_EXIT);
    calls[count] = (struct call){.function = function, .begin = now_ns()};
}

static void call_ends(int failed)
{
    calls[count++].end = now_ns();
    if (failed)
        exit(BROKEN_EXIT);
}

/* Each of these functions launches at a line of its own. */
#define PLANTED static __attribute__((noinline)) void

PLANTED first_launch(void)
{
    call_begins("first_launch");
    call_ends(cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

PLANTED launch_after_thinking(void)
{
    think(LONG_NS);
    call_begins("launch_after_thinking");
    call_ends(cuLaunchKernel(kernel, 2, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

PLANTED graph_after_thinking(void)
{
    think(LONG_NS);
    call_begins("graph_after_thinking");
    call_ends(cuGraphLaunch(exec, stream));
}

PLANTED copy_after_thinking(void)
{
    think(LONG_NS);
    call_begins("copy_after_thinking");
    call_ends(cuMemcpyHtoDAsync_v2(0x1000, host, sizeof host, stream));
}

PLANTED fill_after_thinking(void)
{
    think(LONG_NS);
    call_begins("fill_after_thinking");
    call_ends(cuMemsetD8Async(0x1000, 0, sizeof host, stream));
}

PLANTED launch_after_waiting(void)
{
    think(LONG_NS);
    call_begins("wait");
    call_ends(cuStreamSynchronize(stream));
    call_begins("launch_after_waiting");
    call_ends(cuLaunchKernel(kernel, 3, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

PLANTED launch_in_a_burst(void)
{
    int64_t until = now_ns() + SHORT_NS;
    while (now_ns() < until)
        continue;
    call_begins("launch_in_a_burst");
    call_ends(cuLaunchKernel(kernel, 4, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

int main(int argc, char **argv)
{
    cuda_graph graph;
    if (argc != 3 || cuInit(0) || cuStreamCreate(&stream, 0))
        return BROKEN_EXIT;
    cuGraphCreate(&graph, 0);
    fake_graph_add(graph, 3, 400, NULL);
    cuGraphInstantiateWithFlags(&exec, graph, 0);
    first_launch();
    for (int i = 0; i < atoi(argv[1]); i++) {
        launch_after_thinking();
        graph_after_thinking();
        copy_after_thinking();
        fill_after_thinking();
        launch_after_waiting();
    }
    for (int i = 0; i < atoi(argv[2]); i++)
        launch_in_a_burst();
    call_begins("wait");
    call_ends(cuStreamSynchronize(stream));
    printf("{\"calls\":[");
    for (int i = 0; i < count; i++)
        printf("%s[\"%s\",%lld,%lld]", i ? "," : "", calls[i].function, (long long)calls[i].begin,
               (long long)calls[i].end);
    printf("]}\n");
    free(graph);
    return 0;
}
