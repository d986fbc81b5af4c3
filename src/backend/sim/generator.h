/* generator.h - the workload's own thread, for programs that launch nothing. */
#ifndef GPUFL_BACKEND_SIM_GENERATOR_H
#define GPUFL_BACKEND_SIM_GENERATOR_H

#include "backend/sim/machine.h"

/* Counts references to the one thread: the first get starts it, the last put ends it. A machine
 * made by sim_open, or with rate 0, has none. [any] */
int sim_generator_get(struct sim_machine *m, struct err *e);
void sim_generator_put(void);

/* Forgets, in a forked child, the thread, which is gone, and its references. */
void sim_generator_forget(void);

#endif
