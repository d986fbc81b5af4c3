/* counter_offers.h - which hardware counters this host's devices offer, and in how many passes, for
 * `gpufl info --metrics`. One thread. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_COUNTER_OFFERS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_COUNTER_OFFERS_H

#include "backend/backend.h"

/* backend.counters of NVIDIA's backend. */
int nvidia_counters(const struct counter_visit *v, struct err *e);

#endif
