/* calls.h - what machine code alone shows of calls, where no unwind table does. */
#ifndef GPUFL_STACK_NATIVE_CALLS_H
#define GPUFL_STACK_NATIVE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* True: the instruction before ra is a call. *target: the address it calls, 0 where a register or
 * memory holds it. [hot] */
bool calls_before(uintptr_t ra, uintptr_t *target);

/* True: the code before this instruction, back to the nearest function's beginning seen, saves
 * the frame pointer and sets it. False says nothing. [hot] */
bool calls_frame(uintptr_t at);

#endif
