/* simulated.h - keeps stacks that are not walked: a simulated program gives them frame by frame.
 *
 * stacks_get finds them like captured stacks, and each distinct stack is kept once in the
 * process. Their frames look like Python's and have a function, file and line. The table is
 * bounded. A lock is taken, so only threads of simulated programs may call these functions. */
#ifndef GPUFL_STACK_SIMULATED_H
#define GPUFL_STACK_SIMULATED_H

#include "stack/stack.h"

enum { SIMULATED_MOST = 1024, SIMULATED_DEPTH = 32 };

struct simulated_frame {
    const char *function, *file; /* copied at first sight */
    int line;
};

/* Returns the id of the stack of these frames, outermost first; it is above all ids of captured
 * stacks. 0: no room. [any] */
uint32_t simulated_stack(const struct simulated_frame *frames, unsigned depth);

const struct stack *simulated_get(uint32_t id); /* NULL: no such id [any] */

void simulated_forget(void); /* in a forked child */

#endif
