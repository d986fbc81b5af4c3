/* calls.h - recognizes calls in machine code that has no unwind table. */
#ifndef GPUFL_STACK_NATIVE_CALLS_H
#define GPUFL_STACK_NATIVE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns true if the instruction before ra is a call. *target: the called address; 0 if a register
 * or memory holds it. [hot] */
bool calls_before(uintptr_t ra, uintptr_t *target);

enum calls_of {
    CALLS_OF_OTHER = 0, /* no call, or one of another function */
    CALLS_OF_IT,
    CALLS_OF_ANY, /* a register or memory holds the address */
};

/* Compares the call before ra with the function that begins at `begin`. A call reaches the function
 * directly, by a word of a table that the linker fills, by a jump to the address in such a word
 * (PLT), or by a jump of a function that is called so. [first sight] */
enum calls_of calls_of(uintptr_t ra, uintptr_t begin);

/* Returns true if the code before this instruction, back to the nearest begin of a function, saves
 * and sets the frame pointer. False proves nothing. [hot] */
bool calls_frame(uintptr_t at);

#endif
