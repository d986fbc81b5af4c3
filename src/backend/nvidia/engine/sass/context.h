/* context.h - handles one context of the program whose kernels count their instructions, its
 * device's configuration, and the calls of CUPTI's SASS Metrics API that concern them. Guarded by
 * the engines' lock. */
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

/* Fills *out from the copy of CUPTI in use. GPUFL_E_UNAVAILABLE with what is missing: an older copy
 * can still trace. [any] */
int sass_library_open(struct sass_library *out, const struct cupti *c, struct err *e);

enum { SASS_CONTEXTS = 64 };         /* at a time */
enum { SASS_DEVICES = 64 };          /* by the driver's ordinal */
enum { SASS_RECORDS_MAX = 1 << 21 }; /* most metrics of instructions that are taken at once */

/* Holds the metrics that a device is to count. A device is configured once in a process: after a
 * configuration was unset, CUPTI refuses another one (error 8, seen with CUDA 13.0). */
struct sass_device {
    bool configured;
    uint64_t ids[SASS_METRICS]; /* the library's; 0: the device does not have the metric */
    int64_t took;               /* ns */
};

enum sass_state {
    SASS_FREE, /* the entry is unused */
    SASS_IDLE, /* known, but its kernels are not counted yet */
    SASS_ON,
    SASS_GONE, /* not counted any more; its tally waits for the collector */
};

struct sass_context {
    enum sass_state state;
    cuda_context handle;     /* the program's; NULL: it is gone */
    bool unloaded;           /* code was unloaded since counting began: see sass_context_disable */
    bool late;               /* counting was due while launches of other threads did not return */
    uint32_t number, device; /* the driver's; number 0: unknown */
    struct sass_tally tally;
    struct drain_windows kept; /* when the tally's counts were taken; none: nothing was counted */
    int64_t due;               /* ns: when its counts are to be taken next */
    uint64_t dropped;          /* counted values that were lost since the last report */
};

/* Configures the library's metrics for a device (the driver's ordinal). On failure a sentence. */
int sass_device_configure(struct sass_device *d, uint32_t ordinal, const struct sass_library *l,
                          const struct cupti *cupti, struct err *e);

/* Takes the program's context, its number and the driver's ordinal of its device: SASS_IDLE. */
void sass_context_init(struct sass_context *c, cuda_context handle, uint32_t number,
                       uint32_t device);

/* Makes kernels of an idle context be counted: SASS_ON. Its device is configured. On failure a
 * sentence. No thread may launch meanwhile (sass/gate.h). */
int sass_context_enable(struct sass_context *c, const struct sass_device *d,
                        const struct sass_library *l, const struct cupti *cupti, struct err *e);

/* Moves the counts to the tally, or (keep: false) drops them; waits for running kernels. Returns an
 * enum cupti_result. */
int sass_context_drain(struct sass_context *c, const struct sass_library *l, bool keep);

/* Drains, and ends counting; counts that the library does not give are dropped. The caller sets the
 * state. No thread may launch meanwhile. If code was unloaded, call this only while the context is
 * destroyed: the library would write the original code to where unloaded kernels were, and fault at
 * exit (ADR 11). */
void sass_context_disable(struct sass_context *c, const struct sass_library *l, bool keep);

/* The first function finds the context with this handle, the second a free entry; NULL: none. */
struct sass_context *sass_contexts_find(struct sass_context *all, cuda_context handle);
struct sass_context *sass_contexts_room(struct sass_context *all);

/* Returns true if a context is counted, so that launches have to be kept out while its counts are
 * taken. */
bool sass_contexts_count(const struct sass_context *all);
/* Returns true if a context counts in which no code was unloaded. */
bool sass_contexts_whole(const struct sass_context *all);

/* Frees everything, also counts that were not taken: state SASS_FREE. */
void sass_context_close(struct sass_context *c);

#endif
