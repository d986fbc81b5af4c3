/* simulated.h - stacks that nobody walks: of a program that is simulated, told frame by frame.
 *
 * They stand beside captured ones: stacks_get finds both, and each distinct one is kept once for
 * the process. Frames read as Python's do, with their own function, file and line. Bounded; what
 * has no room is no stack. A lock is taken: for threads of simulated programs only. */
#ifndef GPUFL_STACK_SIMULATED_H
#define GPUFL_STACK_SIMULATED_H

#include "stack/stack.h"

enum { TOLD_MOST = 1024, TOLD_DEPTH = 32 };

struct told_frame {
    const char *function, *file; /* copied at first sight */
    int line;
};

/* Id of the stack of these frames, outermost first, above all that are captured; 0: no room. [any] */
uint32_t told_stack(const struct told_frame *frames, unsigned depth);

const struct stack *told_get(uint32_t id); /* NULL: no such id [any] */

void told_forget(void); /* in a forked child */

#endif
