/* attach.h - attaching to CUPTI: everything that it forgets when it is finalized.
 *
 * Subscribing comes first, so that another tool is refused rather than getting half of the
 * records (the program's own use of CUPTI comes before ours: ADR 18); then the clock, before the
 * first kind is enabled; then buffers and callbacks. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_ATTACH_H
#define GPUFL_BACKEND_NVIDIA_LIFE_ATTACH_H

#include "backend/nvidia/trace.h"

/* GPUFL_E_BUSY and others with a sentence; what was attached then is left to attach_off.
 * [owner, or the opener of a window] */
int attach_on(struct trace *t, struct err *e);

/* Subscribed, and no more: calls that make and destroy contexts are reported (object_calls.h). What
 * else attach_on does it can do later. [owner, collector, or the opener of a window] */
int attach_watch(struct trace *t, struct err *e);
void attach_off(struct trace *t);

#endif
