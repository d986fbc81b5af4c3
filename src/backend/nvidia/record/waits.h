/* waits.h - driver calls in which the program can wait for the GPU.
 *
 * Explicit synchronizations are reported always; so are copies and fills that
 * return when done, allocations and frees. Their asynchronous forms and other calls
 * that may wait are reported only where they took long: a stack taken at their exit
 * is the same as at their entry, so that the short ones cost two clock readings.
 * These are the only records of explicit synchronizations, in sessions with kernel records too.
 * What an entry found out travels to its exit in the word that CUPTI keeps for the
 * call. [hot] */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_WAITS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_WAITS_H

#include "backend/nvidia/trace.h"

/* Fills the table of calls. [owner, before the first callback] */
void waits_init(void);

void waits_enter(struct trace *t, struct sink *s, uint32_t id, const struct cupti_callback *c);
void waits_leave(struct trace *t, struct sink *s, uint32_t id, const struct cupti_callback *c);

#endif
