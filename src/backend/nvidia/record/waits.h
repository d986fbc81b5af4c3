/* waits.h - reports driver calls in which the program can wait for the GPU.
 *
 * Explicit synchronizations, copies and fills that return when done, allocations and
 * frees are always reported. Their asynchronous forms and other calls that may wait are
 * reported only if they took long: the stack at the exit is that at the entry, so it is taken
 * only then, and a short call costs two clock readings. Explicit synchronizations have no
 * other records, even in sessions with kernel records. CUPTI keeps a word for each call, in
 * which the entry passes what it found out to the exit. [hot] */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_WAITS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_WAITS_H

#include "backend/nvidia/trace.h"

/* Fills the table of calls. [owner, before the first callback] */
void waits_init(void);

void waits_enter(struct trace *t, struct sink *s, uint32_t id, const struct cupti_callback *c);
void waits_leave(struct trace *t, struct sink *s, uint32_t id, const struct cupti_callback *c);

#endif
