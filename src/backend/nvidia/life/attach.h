/* attach.h - attaches to CUPTI: does everything that CUPTI forgets when it is finalized.
 *
 * Order: first the subscription, so that another tool is refused and does not get half of the
 * records (the program's own use of CUPTI comes before ours: ADR 18); then the clock, before the
 * first kind is enabled; then buffers and callbacks. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_ATTACH_H
#define GPUFL_BACKEND_NVIDIA_LIFE_ATTACH_H

#include "backend/nvidia/trace.h"

/* Attaches. GPUFL_E_BUSY and other codes with a sentence; after a failure attach_off undoes what
 * was attached. [owner, or the opener of a window] */
int attach_on(struct trace *t, struct err *e);

/* Only subscribes, so that calls that make and destroy contexts are reported (object_calls.h).
 * attach_on can do the rest later. [owner, collector, or the opener of a window] */
int attach_watch(struct trace *t, struct err *e);
void attach_off(struct trace *t);

#endif
