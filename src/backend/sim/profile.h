/* profile.h - makes samples and counted instructions of the simulated GPU.
 *
 * Samples and counts are made from the kernels of a drain: a number of samples by the kernels'
 * time, spread over instructions and stall reasons by a table, and the counts of each instruction.
 * Remainders of rounding are carried from drain to drain, so that a run's sums are exact. Each
 * planted fault changes one kernel. [collector] */
#ifndef GPUFL_BACKEND_SIM_PROFILE_H
#define GPUFL_BACKEND_SIM_PROFILE_H

#include "backend/sim/drain.h"

#include <stdint.h>

#define SIM_SAMPLE_NS 250 /* a sample for so many ns of a kernel's time */

enum { SIM_INSTRUCTIONS = 12 };

/* Holds the sums of one kernel on one device. */
struct sim_profiled {
    int64_t ns, reported;   /* of kernels so far; the part for which samples were reported */
    int64_t warps, counted; /* executed warps so far; the part for which counts were reported */
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

/* Reports samples and counts of the kernels since the last call to the sink. */
void sim_profile_drain(struct sim_profile *p, struct sim_drain *d, struct sink *s);

#endif
