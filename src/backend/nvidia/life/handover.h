/* handover.h - gives CUPTI up to the program's own profiler.
 *
 * At the program's first use of CUPTI (cupti_users.h) the session gives CUPTI up, on that thread
 * and before the program's call goes on: records are switched off, those that CUPTI holds are taken
 * and written, callbacks are disabled, and settings that outlive a subscription get CUPTI's
 * defaults again. CUPTI is not finalized, because that would wait for running kernels. From then on
 * this process does not use CUPTI again: the session goes on without kernels, waits and launches,
 * and says since when.
 *
 * Measured on an H100 (CUPTI 13.0): 0.4 to 3 ms; no buffer of ours is left in CUPTI, and the next
 * owner gets every record of its own, with times by CUPTI's own clock.
 *
 * PC sampling can be ended only while no thread is inside the driver (ADR 10): yield.h waits for
 * that, 2 s at most. If sampling does not end, the session keeps CUPTI, and CUPTI refuses the
 * program's calls. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_HANDOVER_H
#define GPUFL_BACKEND_NVIDIA_LIFE_HANDOVER_H

#include "backend/nvidia/trace.h"

/* Gives CUPTI up; function: the program's call. Returns after all records were taken out of CUPTI,
 * within 5 s. [any thread of the program] */
void handover_begin(struct trace *t, const char *function);

#endif
