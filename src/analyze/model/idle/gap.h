/* gap.h - one gap in a device's work, shared out among its causes (idle.h has the rules).
 * Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_GAP_H
#define GPUFL_ANALYZE_MODEL_IDLE_GAP_H

#include "analyze/model/idle/idle.h"

struct idle_span;
struct model;

/* ns of idle time under an id of the log. */
struct idle_blame {
    uint32_t stack, what; /* id of the log; wait.call, or enum idle_cause */
    uint64_t gaps;        /* not of the key */
    int64_t time;
};

/* Blames the gap between two spans of the device m->idle.current. arg: the model. A gap of which
 * nobody knows what the GPU did is left out. 0 or GPUFL_E_NOMEM. */
int idle_gap_blame(void *arg, const struct idle_span *before, const struct idle_span *after);

/* One gap, or a part of one, more. */
void idle_gap_add(struct idle_sum *s, int64_t ns);

/* Frees the calls by thread that idle_gap_blame has listed. */
void idle_gap_drop_threads(struct sum_idle *s);

#endif
