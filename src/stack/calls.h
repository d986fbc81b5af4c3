/* calls.h - what machine code itself says of calls, where no unwind table does. */
#ifndef GPUFL_STACK_CALLS_H
#define GPUFL_STACK_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* true: the instruction before ra is a call. *target: what it calls, 0 where a register or
 * memory says so. [hot] */
bool calls_before(uintptr_t ra, uintptr_t *target);

/* true: the code before this instruction, back to the nearest function's beginning seen, saves
 * the frame pointer and sets it. false says nothing. [hot] */
bool calls_frame(uintptr_t at);

#endif
