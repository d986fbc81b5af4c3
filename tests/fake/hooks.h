/* hooks.h - says how the fake driver reports events to the fake profiling library; the real
 * libraries do so in a private way. The driver exports fake_cuda_hooks, a pointer that is NULL
 * until the profiling library sets it, when somebody subscribes or enables an activity. Threads of
 * the program read it at any time. */
#ifndef GPUFL_TESTS_FAKE_HOOKS_H
#define GPUFL_TESTS_FAKE_HOOKS_H

#include "backend/nvidia/abi/cuda.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum fake_work {
    FAKE_KERNEL,
    FAKE_COPY,
    FAKE_PEER,
    FAKE_FILL,
    FAKE_MEMORY,
    FAKE_GRAPH,
    FAKE_MANAGED
};

struct fake_op {
    enum fake_work work;
    uint32_t correlation;
    uint32_t context;   /* number */
    uint32_t stream;    /* number */
    int64_t start, end; /* CLOCK_MONOTONIC ns on the fake GPU */
    const char *name;   /* FAKE_KERNEL */
    unsigned grid[3], block[3];
    unsigned shared, shared_static; /* bytes */
    unsigned registers;             /* per thread */
    uint64_t bytes;                 /* FAKE_COPY, FAKE_PEER, FAKE_FILL, FAKE_MEMORY */
    uint64_t address;               /* FAKE_MEMORY */
    int memory;                     /* FAKE_COPY: kind of the host's memory; FAKE_MEMORY */
    bool async;                     /* FAKE_COPY */
    int kind; /* FAKE_COPY: CUPTI copy kind; FAKE_MEMORY: 1 allocate, 2 free; FAKE_MANAGED: enum
                 cupti_managed_kind */
    uint32_t graph; /* 0: not of a graph */
    uint64_t graph_node;
};

struct fake_hooks {
    /* Called at the begin (site 0) and the end (1) of a driver call, with the same correlation and
     * data. context: the number of the thread's context. */
    void (*api)(uint32_t cbid, int site, const char *function, const void *params, int *result,
                uint32_t correlation, uint64_t *data, const char *symbol, uint32_t context);
    void (*op)(const struct fake_op *op);
    void (*graph_exec)(uint32_t cbid, cuda_graph graph, cuda_exec exec);
    void (*context)(uint32_t cbid, uint32_t context);
    void (*module)(uint32_t cbid, uint32_t context, const char *image, size_t size);
};

typedef _Atomic(const struct fake_hooks *) fake_hooks_slot;

/* Limits the contexts at a time: more than the 64 that the capture library remembers. */
enum { FAKE_CONTEXTS = 72 };

/* The device's primary context, which every thread has, is number 1; programs create others. */
#define FAKE_CONTEXT_OF(number) ((cuda_context)(uintptr_t)(0xc0ffe0 + 16 * (number)))
#define FAKE_CONTEXT_AT(handle) ((uint32_t)(((uintptr_t)(handle)-0xc0ffe0) / 16))
#define FAKE_CONTEXT            FAKE_CONTEXT_OF(1)
#define FAKE_CONTEXT_NUMBER     1u

#endif
