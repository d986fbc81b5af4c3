/* program.c - a "CUDA program" over the fake driver: linked to libcuda.so.1 like a
 * real one, it knows nothing of profilers. Says on stdout, as JSON, what it did.
 *
 *   fake_program KERNELS [threads=T] [graphs=G] [fail=F] [preload] [init-late]
 *     graphs=G   launches G graphs of 3 kernels and a child graph of 2
 *     fail=F     F launches that the driver refuses
 *     preload    has libcupti loaded already, as PyTorch does */
#include "hooks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags);
int cuStreamCreate(cuda_stream *stream, unsigned flags);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, cuda_stream stream, void **arguments,
                   void **extra);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, cuda_stream stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, cuda_stream stream);
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, cuda_stream stream);
int cuStreamSynchronize(cuda_stream stream);
int cuCtxSynchronize(void);
int cuGraphCreate(cuda_graph *graph, unsigned flags);
void fake_graph_add(cuda_graph graph, int n, int64_t duration, cuda_graph child);
int cuGraphInstantiateWithFlags(cuda_exec *exec, cuda_graph graph, unsigned long long flags);
int cuGraphLaunch(cuda_exec exec, cuda_stream stream);
int cuGraphExecDestroy(cuda_exec exec);

static char gemm[] = "_Z10fake_gemmIfEvPKT_S2_PS0_i", relu[] = "_Z9fake_reluPfi";
static int kernels = 1000, thread_count = 1, graphs, failures;

static void *work(void *unused)
{
    (void)unused;
    cuda_stream s;
    char host[4096];
    cuStreamCreate(&s, 0);
    cuMemcpyHtoDAsync_v2(0x1000, host, 1 << 20, s);
    cuMemsetD8Async(0x1000, 0, 4096, s);
    for (int i = 0; i < kernels; i++)
        if (cuLaunchKernel(i % 2 ? gemm : relu, 1 + (unsigned)i % 4, 1, 1, 128, 1, 1, 0, s, NULL,
                           NULL))
            exit(1);
    for (int i = 0; i < failures; i++)
        if (!cuLaunchKernel(gemm, 1, 1, 1, 128, 1, 1, 1 << 20, s, NULL, NULL))
            exit(1);
    cuStreamSynchronize(s);
    cuMemcpyDtoHAsync_v2(host, 0x1000, 4096, s);
    cuStreamSynchronize(s);
    return NULL;
}

int main(int argc, char **argv)
{
    bool preload = false;
    for (int i = 1; i < argc; i++) {
        if (sscanf(argv[i], "threads=%d", &thread_count) == 1 ||
            sscanf(argv[i], "graphs=%d", &graphs) == 1 ||
            sscanf(argv[i], "fail=%d", &failures) == 1)
            continue;
        if (!strcmp(argv[i], "preload"))
            preload = true;
        else
            kernels = atoi(argv[i]);
    }
    if (preload && !dlopen("libcupti.so.13", RTLD_NOW))
        fprintf(stderr, "fake_program: %s\n", dlerror());
    int result = cuInit(0);
    if (result) {
        printf("{\"error\":%d}\n", result);
        return 4;
    }
    pthread_t threads[64];
    for (int i = 0; i < thread_count && i < 64; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < thread_count && i < 64; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < graphs; i++) {
        cuda_graph graph, child;
        cuda_exec exec;
        cuGraphCreate(&graph, 0);
        cuGraphCreate(&child, 0);
        fake_graph_add(child, 2, 700, NULL);
        fake_graph_add(graph, 3, 400, child);
        cuGraphInstantiateWithFlags(&exec, graph, 0);
        cuGraphLaunch(exec, NULL);
        cuCtxSynchronize();
        cuGraphExecDestroy(exec);
        free(child);
        free(graph);
    }
    cuCtxSynchronize();
    printf("{\"launches\":%d,\"graph_launches\":%d,\"graph_kernels\":%d,\"htod\":%d}\n",
           kernels * thread_count, graphs, graphs * 5, thread_count << 20);
    return 0;
}
