/* probe.h - see probe.c. */
#ifndef GPUFL_BACKEND_AMD_PROBE_H
#define GPUFL_BACKEND_AMD_PROBE_H

#include "backend/backend.h"

/* This is the text in documents, sessions and `gpufl info` until this backend has run on one of
 * AMD's GPUs. */
#define AMD_UNVERIFIED "not verified on hardware"

void amd_probe(struct probe *out);
bool amd_usable(void);

/* Returns true if the program has loaded HIP or the runtime below it. [any] */
bool amd_loaded(void);

extern const struct engine_texts amd_engine_texts; /* engine_texts.c */

#endif
