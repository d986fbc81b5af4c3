/* handover.h - CUPTI goes to the program's own profiler.
 *
 * At the program's first use of CUPTI (cupti_users.h) the session gives it up, on that thread and
 * before the program's call goes on: records end, what CUPTI holds is taken and written, callbacks
 * end, and settings that outlive a subscription are CUPTI's own again. CUPTI stays attached:
 * finalizing it here would wait for kernels that run. From then on this process does not come
 * back to CUPTI: the session goes on without kernels, waits and launches, and says since when.
 *
 * Measured on an H100 (CUPTI 13.0): 0.4 to 3 ms; no buffer of ours is left in CUPTI, and the next
 * owner gets every record of its own, with times by CUPTI's own clock.
 *
 * Sampled program counters cannot be ended while threads launch (ADR 10): where a context is
 * sampled, CUPTI stays with the session, and the program's calls are refused by CUPTI. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_HANDOVER_H
#define GPUFL_BACKEND_NVIDIA_LIFE_HANDOVER_H

#include "backend/nvidia/trace.h"

/* Gives CUPTI up; function: the program's call. Returns after what was recorded has been taken out
 * of CUPTI, 3 s at most. [any thread of the program] */
void handover_begin(struct trace *t, const char *function);

#endif
