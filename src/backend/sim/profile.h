/* profile.h - samples and counted instructions of the simulated GPU.
 *
 * What engines above Trace would bring, made from the kernels that a drain of the
 * collector found: as many samples as their time allows, spread over instructions
 * and stall reasons as a table has it, and what each instruction would have counted.
 * Rounding is carried from drain to drain, so that a run's sums are exact. Planted
 * faults change one kernel each. [collector] */
#ifndef GPUFL_BACKEND_SIM_PROFILE_H
#define GPUFL_BACKEND_SIM_PROFILE_H

#include "backend/sim/drain.h"

#include <stdint.h>

#define SIM_SAMPLE_NS 250 /* of a kernel's time a sample */

enum { SIM_INSTRUCTIONS = 12 };

/* What was profiled of one kernel on one device. */
struct sim_profiled {
    int64_t ns, told;       /* of kernels so far; and of those that samples were reported for */
    int64_t warps, counted; /* the same for executed warps */
};

struct sim_profile {
    unsigned engines; /* enum engine_bit */
    int64_t faults;   /* bit by enum sim_plant */
    int64_t from, to; /* window of the present drain; 0: nothing in it */
    uint32_t reasons[32], metrics[8], functions[SIM_KERNEL_COUNT];
    bool described;
    struct sim_profiled kernels[SIM_DEVICES_MAX][SIM_KERNEL_COUNT];
    uint64_t samples, rows; /* reported so far */
};

/* Takes a kernel's record into account. */
void sim_profile_kernel(struct sim_profile *p, const struct sim_record *r);

/* Reports to the sink what the kernels since the last call make. */
void sim_profile_drain(struct sim_profile *p, struct sim_drain *d, struct sink *s);

#endif
