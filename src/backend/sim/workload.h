/* workload.h - is a training loop for the simulated GPU: epochs of steps of forward, backward and
 * optimizer, with batches copied in, a loss copied out, a CUDA graph for the optimizer, and memory
 * that is allocated and freed. Called by the owner's thread only. */
#ifndef GPUFL_BACKEND_SIM_WORKLOAD_H
#define GPUFL_BACKEND_SIM_WORKLOAD_H

#include "backend/sim/sim.h"

struct sim_workload {
    int64_t kernels;  /* to launch, exactly */
    int64_t duration; /* ns after which it ends in any case; 0: no limit */
    int64_t rate;     /* kernels a second; 0: as fast as the clock goes */
    int streams;      /* of each device */
    int first_stream;
    int device_count;
    int devices[SIM_DEVICES_MAX];
    /* gpufl_scope_begin and gpufl_scope_end if scopes are wanted; else NULL. */
    uint64_t (*scope_begin)(const char *name, const char *tag);
    void (*scope_end)(uint64_t handle);
    /* Waits for ns on the system's clock instead of the simulated one; false: end. */
    bool (*pause)(int64_t ns);
};

/* Runs until the kernels are launched, the time is over, or pause says so. */
void sim_workload_run(struct sim_thread *t, const struct sim_workload *w);

#endif
