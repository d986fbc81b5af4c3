/* context.h - handles one context of the program that is sampled: its buffers, and the calls of
 * CUPTI's PC Sampling API that concern it. Guarded by the lock of pc/sampling.c. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PC_CONTEXT_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PC_CONTEXT_H

#include "backend/nvidia/abi/pc.h"
#include "backend/nvidia/engine/drain_window.h"
#include "backend/nvidia/engine/pc/tally.h"
#include "backend/nvidia/library/cupti.h"

enum pc_state {
    PC_FREE,    /* the entry is unused */
    PC_WAITING, /* another context of the device is sampled, and this one is not */
    PC_ON,
    PC_OFF,  /* sampling failed in it and is not tried again */
    PC_GONE, /* not sampled any more; its tally waits for the collector */
};

struct pc_library { /* functions by name; those that are not required may be NULL */
#define PC_MEMBER(required, result, name, arguments) result(*name) arguments;
    CUPTI_PC_FUNCTIONS(PC_MEMBER)
#undef PC_MEMBER
};

/* Fills *out from the copy of CUPTI in use. GPUFL_E_UNAVAILABLE with what is missing: an older copy
 * can still trace. [any] */
int pc_library_open(struct pc_library *out, const struct cupti *c, struct err *e);

struct pc_setup {
    unsigned period; /* a sample every 2^period cycles */
    size_t hardware_bytes;
    unsigned look_ms; /* how often the library's threads read the device's samples */
};

struct pc_losses { /* losses that were not reported yet */
    uint64_t dropped, overflows, other;
};

struct pc_context {
    enum pc_state state;
    cuda_context handle;     /* the program's; NULL: it is gone */
    uint32_t number, device; /* the driver's; number 0: unknown */
    struct pc_setup setup;
    struct pc_tally tally;
    struct pc_data now, last; /* what a drain fills, and what disabling leaves */
    void *memory;             /* owned: mapped, placed after both */
    size_t memory_bytes;
    uint32_t reasons[PC_REASONS]; /* ids of the sink, by place in the tally */
    bool described;               /* the reasons are defined in the session */
    struct pc_losses losses;
    struct drain_windows kept; /* when the tally's samples were taken */
    int64_t enable_ns;         /* how long enabling took */
    unsigned refused;          /* bit by enum pc_attribute: the library refused the attribute */
    unsigned failures;         /* of drains, one after the other */
};

/* Enables sampling in the context of handle and device: state PC_ON. On failure a sentence; nothing
 * is enabled. */
int pc_context_enable(struct pc_context *c, const struct pc_library *l, const struct cupti *cupti,
                      const struct pc_setup *setup, struct err *e);

/* Moves the library's samples to the tally, or (keep: false) drops them. The library has the
 * samples up to the last look of its threads. Returns an enum cupti_result; a full hardware buffer
 * is CUPTI_E_OUT_OF_MEMORY and counted. */
int pc_context_drain(struct pc_context *c, const struct pc_library *l, bool keep);

/* Does what pc_context_drain does, with all samples taken until this call; waits for some looks. */
int pc_context_drain_all(struct pc_context *c, const struct pc_library *l, bool keep);

/* Drains, and ends sampling; false: the library refused. The caller sets the state. */
bool pc_context_disable(struct pc_context *c, const struct pc_library *l, bool keep);

/* Forgets the samples and definitions of the session before, when a session begins. */
void pc_context_renew(struct pc_context *c);

/* Frees everything, also samples that were not taken: state PC_FREE. */
void pc_context_close(struct pc_context *c);

#endif
