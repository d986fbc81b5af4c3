/* activity.h - the way of a buffer of activity records: asked for by CUPTI, filled, handed over,
 * decoded, given back.
 *
 * Buffers that come late, outside of sessions, go back to the pool. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_ACTIVITY_H
#define GPUFL_BACKEND_NVIDIA_RECORD_ACTIVITY_H

#include "backend/nvidia/trace.h"

/* CUPTI asks us for buffers. Returns an enum cupti_result. [owner, or the opener of a window] */
int activity_register(const struct trace *t);

/* Has CUPTI hand over the records that are complete; all: incomplete ones, too, after a short wait.
 * About 7 ms at full rate, on this thread only. [collector] */
int activity_flush(struct trace *t, bool all);

/* CUPTI holds buffers with records that are not complete. [collector] */
bool activity_unfinished(const struct trace *t);

/* Takes what was handed over, then decodes it: see trace_ops. [collector] */
void activity_take(struct trace *t);
void activity_decode(struct trace *t);

#endif
