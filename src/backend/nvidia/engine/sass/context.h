/* context.h - one context of the program whose kernels count their instructions, its device's
 * configuration, and the calls of CUPTI's SASS Metrics API that concern them. Guarded by the
 * engines' lock. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_SASS_CONTEXT_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_SASS_CONTEXT_H

#include "backend/nvidia/abi/sass.h"
#include "backend/nvidia/engine/drain_window.h"
#include "backend/nvidia/engine/sass/tally.h"
#include "backend/nvidia/library/cupti.h"

struct sass_library { /* functions by name; those that are not required may be NULL */
#define SASS_MEMBER(required, result, name, arguments) result(*name) arguments;
    CUPTI_SASS_FUNCTIONS(SASS_MEMBER)
#undef SASS_MEMBER
};

/* Fills it from the copy of CUPTI that is in use: one that is older traces all the same.
 * GPUFL_E_UNAVAILABLE with what is missing. [any] */
int sass_library_open(struct sass_library *out, const struct cupti *c, struct err *e);

enum { SASS_CONTEXTS = 64 };         /* at a time */
enum { SASS_DEVICES = 64 };          /* by the driver's ordinal */
enum { SASS_RECORDS_MAX = 1 << 21 }; /* metrics of instructions that are taken at once; no more */

/* What a device is to count. A device is configured once a process: CUPTI refuses a second
 * configuration after the first was taken back (error 8, seen with CUDA 13.0). */
struct sass_device {
    bool configured;
    uint64_t ids[SASS_METRICS]; /* the library's; 0: the device does not have the metric */
    int64_t took;               /* ns */
};

enum sass_state {
    SASS_FREE, /* nothing is here */
    SASS_IDLE, /* known; its kernels do not count yet */
    SASS_ON,
    SASS_GONE, /* counted no more; its tally waits for the collector */
};

struct sass_context {
    enum sass_state state;
    cuda_context handle;     /* the program's; NULL: it is gone */
    bool unloaded;           /* code was unloaded since it counts: see sass_context_disable */
    bool late;               /* it was to count while launches of other threads did not return */
    uint32_t number, device; /* the driver's; number 0: unknown */
    struct sass_tally tally;
    struct drain_windows kept; /* when the tally's counts were taken; none: it has never counted */
    int64_t due;               /* ns: when its counts are to be taken next */
    uint64_t dropped;          /* values that were counted and are lost, since the last look */
};

/* Configures in the library what to count on a device (the driver's ordinal). On failure a
 * sentence. */
int sass_device_configure(struct sass_device *d, uint32_t ordinal, const struct sass_library *l,
                          const struct cupti *cupti, struct err *e);

/* Takes the program's context, its number and the driver's ordinal of its device: SASS_IDLE. */
void sass_context_init(struct sass_context *c, cuda_context handle, uint32_t number,
                       uint32_t device);

/* From here kernels of an idle context count: SASS_ON. Its device is configured. On failure a
 * sentence. No thread may launch meanwhile (sass/gate.h). */
int sass_context_enable(struct sass_context *c, const struct sass_device *d,
                        const struct sass_library *l, const struct cupti *cupti, struct err *e);

/* Takes what was counted, to the tally or (keep: false) to nowhere; waits for kernels that run. An
 * enum cupti_result. */
int sass_context_drain(struct sass_context *c, const struct sass_library *l, bool keep);

/* Drains, and kernels count no more; what the library does not give is dropped. The state is the
 * caller's. No thread may launch meanwhile. Where code was unloaded, call this only as the context
 * goes away: the library writes the code of kernels back to where they were, and faults at exit
 * (ADR 11). */
void sass_context_disable(struct sass_context *c, const struct sass_library *l, bool keep);

/* Find the one of SASS_CONTEXTS contexts that is known by the handle, or a free one; NULL: none. */
struct sass_context *sass_contexts_find(struct sass_context *all, cuda_context handle);
struct sass_context *sass_contexts_room(struct sass_context *all);

/* True where a context counts: launches have to be kept out where its counts are taken. */
bool sass_contexts_count(const struct sass_context *all);

/* Frees everything; what was not taken is forgotten: state SASS_FREE. */
void sass_context_close(struct sass_context *c);

#endif
