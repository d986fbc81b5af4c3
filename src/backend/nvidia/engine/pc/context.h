/* context.h - one context of the program that is sampled: its buffers, and the calls of
 * CUPTI's PC Sampling API that concern it. Guarded by the lock of pc/sampling.c. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PC_CONTEXT_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PC_CONTEXT_H

#include "backend/nvidia/abi/pc.h"
#include "backend/nvidia/engine/drain_window.h"
#include "backend/nvidia/engine/pc/tally.h"
#include "backend/nvidia/library/cupti.h"

enum pc_state {
    PC_FREE,    /* nothing is here */
    PC_WAITING, /* another context of the device is sampled, and this one is not */
    PC_ON,
    PC_OFF,  /* it failed, and is left alone */
    PC_GONE, /* sampled no more; its tally waits for the collector */
};

struct pc_library { /* functions by name; those that are not required may be NULL */
#define PC_MEMBER(required, result, name, arguments) result(*name) arguments;
    CUPTI_PC_FUNCTIONS(PC_MEMBER)
#undef PC_MEMBER
};

/* Fills it from the copy of CUPTI that is in use: one that is older traces all the same.
 * GPUFL_E_UNAVAILABLE with what is missing. [any] */
int pc_library_open(struct pc_library *out, const struct cupti *c, struct err *e);

struct pc_setup {
    unsigned period; /* a sample every 2^period cycles */
    size_t hardware_bytes;
    unsigned look_ms; /* from look to look of the library's threads at what the device has */
};

struct pc_losses { /* that have not been reported */
    uint64_t dropped, overflows, other;
};

struct pc_context {
    enum pc_state state;
    cuda_context handle;     /* the program's; NULL: it is gone */
    uint32_t number, device; /* the driver's; number 0: unknown */
    struct pc_setup setup;
    struct pc_tally tally;
    struct pc_data now, last; /* what a drain fills, and what disabling leaves */
    void *memory;             /* owned: mapped, behind both */
    size_t memory_bytes;
    uint32_t reasons[PC_REASONS]; /* ids of the sink, by place in the tally */
    bool described;               /* they are defined */
    struct pc_losses losses;
    struct drain_windows kept; /* when the tally's samples were taken */
    int64_t enable_ns;         /* that enabling took */
    unsigned refused;          /* bit by enum pc_attribute: what the library did not take */
    unsigned failures;         /* of drains, one after the other */
};

/* Enables sampling in the context of handle and device: state PC_ON. On failure a sentence; nothing
 * is enabled. */
int pc_context_enable(struct pc_context *c, const struct pc_library *l, const struct cupti *cupti,
                      const struct pc_setup *setup, struct err *e);

/* Moves the samples that the library has to the tally, or (keep: false) drops them: all that was
 * sampled until its threads looked last. An enum cupti_result; a full hardware buffer is
 * CUPTI_E_OUT_OF_MEMORY and counted. */
int pc_context_drain(struct pc_context *c, const struct pc_library *l, bool keep);

/* pc_context_drain with the samples taken until this call: waits for them, for some looks. */
int pc_context_drain_all(struct pc_context *c, const struct pc_library *l, bool keep);

/* Drains, and ends sampling; false: the library refused. The state is the caller's. */
bool pc_context_disable(struct pc_context *c, const struct pc_library *l, bool keep);

/* Forgets the samples so far, and what was defined of them: a session begins. */
void pc_context_renew(struct pc_context *c);

/* Frees everything; what was not taken is forgotten: state PC_FREE. */
void pc_context_close(struct pc_context *c);

#endif
