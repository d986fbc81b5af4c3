/* counter_offers.h - lists the hardware counters of this host's AMD GPUs, for `gpufl info
 * --metrics`. */
#ifndef GPUFL_BACKEND_AMD_TRACE_COUNTER_OFFERS_H
#define GPUFL_BACKEND_AMD_TRACE_COUNTER_OFFERS_H

#include "backend/backend.h"

/* Does what backend.counters asks for, for AMD. Opens nothing if the kernel driver shows no GPU. */
int amd_counters(const struct counter_visit *v, struct err *e);

#endif
