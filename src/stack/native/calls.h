/* calls.h - recognizes calls in machine code that has no unwind table. */
#ifndef GPUFL_STACK_NATIVE_CALLS_H
#define GPUFL_STACK_NATIVE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns true if the instruction before ra is a call. *target: the called address; 0 if a register
 * or memory holds it. [hot] */
bool calls_before(uintptr_t ra, uintptr_t *target);

/* Returns true if the code before this instruction, back to the nearest begin of a function, saves
 * and sets the frame pointer. False proves nothing. [hot] */
bool calls_frame(uintptr_t at);

#endif
