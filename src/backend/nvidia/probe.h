/* probe.h - says what works on this machine, for `gpufl info`; see probe.c. */
#ifndef GPUFL_BACKEND_NVIDIA_PROBE_H
#define GPUFL_BACKEND_NVIDIA_PROBE_H

#include "backend/backend.h"

/* Finds the facts about NVIDIA's GPUs and libraries. Loads no library except NVML; looks at files
 * for the rest. [any] */
void nvidia_probe(struct probe *out);

/* Returns true if there is a driver, so that a program may use a GPU. Looks at files first.
 * [any] */
bool nvidia_usable(void);

extern const struct engine_texts nvidia_engine_texts; /* engine_texts.c */

#endif
