/* trace.h - has the tracing ops, and the end of a thread. */
#ifndef GPUFL_BACKEND_SIM_TRACE_H
#define GPUFL_BACKEND_SIM_TRACE_H

#include "backend/sim/machine.h"

extern const struct trace_ops sim_trace_ops;

/* Takes the owner from a thread's queued buffers, when the thread ends. m->lock and t->lock
 * held. */
void sim_trace_forget(struct sim_machine *m, struct sim_thread *t);

#endif
