/* counter_offers.h - says which hardware counters this host's devices offer, and in how many
 * passes, for `gpufl info --metrics`. Called by one thread only. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_COUNTER_OFFERS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_COUNTER_OFFERS_H

#include "backend/backend.h"

/* Does what backend.counters asks for, for NVIDIA. */
int nvidia_counters(const struct counter_visit *v, struct err *e);

#endif
