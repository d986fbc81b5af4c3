/* sampling_choice.h - chooses how a GPU is sampled: by which of the methods that it offers, and how
 * often.
 *
 * The hardware's method (stochastic) is preferred, because it says why a wavefront waits. If
 * another process samples the GPU already, the library offers only that process's choice. */
#ifndef GPUFL_BACKEND_AMD_TRACE_SAMPLING_CHOICE_H
#define GPUFL_BACKEND_AMD_TRACE_SAMPLING_CHOICE_H

#include "backend/amd/trace/agents.h"

struct sampling_choice {
    uint32_t method, unit; /* enum rocp_sampling_method, _unit; 0: the GPU is not sampled */
    uint64_t interval;
};

/* Returns true if the library has the functions that sampling needs. e: what it lacks. */
bool sampling_choice_can(const struct rocp *sdk, struct err *e);

/* Chooses for an agent. period: of the option; 0: by the GPU. Returns the library's status;
 * out->method is 0 if no offer can be used. [owner] */
int sampling_choice_make(const struct rocp *sdk, const struct agent *a, unsigned period,
                         struct sampling_choice *out);

/* Returns the interval nearest to one sample of each compute unit every 2^period cycles, in the
 * unit of the offer and within its bounds; period 0: about 2^18 samples a second of the whole GPU.
 * Pure. */
uint64_t sampling_choice_interval(const struct rocp_sampling *offer, const struct agent *a,
                                  unsigned period);

/* Puts a refusal of the library into *e, with what to do. Returns the error's code. */
int sampling_choice_error(const struct rocp *sdk, int status, struct err *e);

#endif
