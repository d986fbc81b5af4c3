/* activity.h - handles the life of a buffer of activity records: CUPTI asks for it, fills it and
 * returns it; the collector decodes and frees it.
 *
 * Buffers that come late, outside of sessions, go back to the pool. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_ACTIVITY_H
#define GPUFL_BACKEND_NVIDIA_RECORD_ACTIVITY_H

#include "backend/nvidia/trace.h"

/* Registers our buffer callbacks with CUPTI. Returns an enum cupti_result. [owner, or the opener of
 * a window] */
int activity_register(const struct trace *t);

/* Makes CUPTI deliver the complete records; all: incomplete ones, too, after a short wait. Takes
 * about 7 ms at full rate, on this thread only. [collector] */
int activity_flush(struct trace *t, bool all);

/* Returns true if CUPTI holds buffers with incomplete records. [collector] */
bool activity_unfinished(const struct trace *t);

/* activity_take takes the delivered buffers, the next function decodes them: see trace_ops.
 * [collector] */
void activity_take(struct trace *t);
void activity_decode(struct trace *t);

#endif
