/* calls.h - is this the place a call returns to? Asked where no unwind table vouches for it. */
#ifndef GPUFL_STACK_CALLS_H
#define GPUFL_STACK_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* true: the instruction before ra is a call. *target: what it calls, 0 where a register or
 * memory says so. [hot] */
bool calls_before(uintptr_t ra, uintptr_t *target);

#endif
