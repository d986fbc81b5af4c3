/* sass_context.h - one context of the program whose kernels count their instructions, its device's
 * configuration, and the calls of CUPTI's SASS Metrics API that concern them. Guarded by the
 * engines' lock. */
#ifndef GPUFL_BACKEND_NVIDIA_SASS_CONTEXT_H
#define GPUFL_BACKEND_NVIDIA_SASS_CONTEXT_H

#include "backend/nvidia/sass_library.h"
#include "backend/nvidia/sass_tally.h"

enum { SASS_RECORDS_MAX = 1 << 21 }; /* metrics of instructions that one call takes */

/* What a device is to count. It is told once a process: a second configuration, after the first was
 * taken back, is refused (error 8, seen with CUDA 13.0). */
struct sass_device {
    bool configured;
    uint64_t ids[SASS_METRICS]; /* the library's; 0: the device does not have the metric */
    int64_t took;               /* ns */
};

enum sass_state {
    SASS_FREE, /* nothing is here */
    SASS_ON,
    SASS_GONE, /* counted no more; its tally waits for the collector */
};

struct sass_context {
    enum sass_state state;
    cuda_context handle;     /* the program's; NULL: it is gone */
    uint32_t number, device; /* the driver's; number 0: unknown */
    struct sass_tally tally;
    int64_t from, to; /* ns: the drain before and the last one */
    uint64_t dropped; /* values that were counted and are lost, since the last look */
};

/* Tells the library what to count on a device (the driver's ordinal). On failure a sentence. */
int sass_device_configure(struct sass_device *d, uint32_t ordinal, const struct sass_library *l,
                          const struct cupti *cupti, struct err *e);

/* From here kernels of the context count: state SASS_ON. On failure a sentence. */
int sass_context_enable(struct sass_context *c, const struct sass_device *d,
                        const struct sass_library *l, const struct cupti *cupti, struct err *e);

/* Moves what was counted to the tally; waits for kernels that run. An enum cupti_result. */
int sass_context_drain(struct sass_context *c, const struct sass_library *l);

/* Drains, and kernels count no more; what cannot be had is dropped. The state is the caller's. */
void sass_context_disable(struct sass_context *c, const struct sass_library *l);

/* Frees everything; what was not taken is forgotten: state SASS_FREE. */
void sass_context_close(struct sass_context *c);

#endif
