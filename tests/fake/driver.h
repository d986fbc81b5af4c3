/* driver.h - has what the files of the fake driver share: reports to the profiling library, streams
 * and the work queued on them, and waits for that work. */
#ifndef GPUFL_TESTS_FAKE_DRIVER_H
#define GPUFL_TESTS_FAKE_DRIVER_H

#include "hooks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    DRIVER_E_VALUE = 1,
    DRIVER_E_CONTEXT = 201,
    DRIVER_E_HANDLE = 400,
    DRIVER_E_NOT_FOUND = 500,
    DRIVER_E_FAULT = 700 /* an illegal address */
};

/* Describes a kernel of a loaded module, as the comment before its code describes it. */
struct fake_kernel {
    char name[256];
    unsigned registers, local, shared; /* per thread, bytes a thread, static bytes a block */
    int64_t ns;                        /* on the GPU; 0: the first argument says */
};

/* cuInit has returned. [any] */
bool driver_initialized(void);

/* Describes a driver call, with the callbacks around it. */
struct call {
    uint32_t cbid, correlation;
    const char *function, *symbol;
    const void *params;
    uint64_t data;
};

/* Any thread may call these functions. */

const struct fake_hooks *driver_hooks(void); /* never NULL; its functions may be NULL */
int64_t driver_now(void);                    /* ns */

void call_enter(struct call *c, uint32_t cbid, const char *function, const void *params,
                const char *symbol);
int call_exit(struct call *c, int result);

uint32_t stream_number(cuda_stream s);
int64_t stream_end(uint32_t stream); /* ns, when the work queued so far ends; CUPTI_NONE: of all */
void stream_hold(uint32_t stream, int64_t until); /* what is queued from now on begins no earlier */

/* Queues work of some duration on its stream, after the work that is there. */
void queue_op(struct fake_op *op, int64_t duration);
/* Reports work that is over to the profiling library. */
void report_op(const struct fake_op *op);
/* Reports a module that has been loaded or is about to be unloaded to the profiling library. */
void report_module(uint32_t cbid, const char *image, size_t size);
/* Returns when that time has come. */
void wait_until(int64_t ns);

/* Waits for room in the queue (depth.c) and returns a place there, which depth_ends frees at the
 * end of the queued work, in ns. */
int depth_take(void);
void depth_ends(int place, int64_t ns);

/* Returns the time at which work that could begin at ns begins, if another process takes turns on
 * the GPU (slices.c). */
int64_t slices_begin(int64_t ns);

/* Returns the kernel of a function; NULL: the function is no kernel. */
const struct fake_kernel *module_kernel(const void *function);
/* Returns the kernel of a handle that is launched: a function or a kernel of a library; NULL: the
 * handle is a mangled name. */
const struct fake_kernel *launched_kernel(const void *handle);

/* Returns true for memory that the driver gave to the host. */
bool memory_pinned(const void *host);

void memory_before_fork(void), memory_after_fork(void);

#endif
