/* unwind.h - the frames of the calling thread's native stack. */
#ifndef GPUFL_STACK_UNWIND_H
#define GPUFL_STACK_UNWIND_H

#include "stack/cpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_frame {
    uintptr_t at;     /* the instruction: of a call (return address - 1), or the interrupted one */
    uintptr_t cfa;    /* the stack pointer of its caller before the call; 0: unknown, outermost */
    uintptr_t fp;     /* the frame pointer's register while this frame runs */
    uint16_t module;  /* modules_get; 0: in no file */
    bool interpreter; /* python_is_interpreter */
    bool guessed;     /* its caller was found by frame pointer */
};

enum unwind_end {
    UNWIND_OUTERMOST = 0, /* where the thread began */
    UNWIND_LOST,          /* no way from here on: no table, or nothing readable */
    UNWIND_FULL,          /* `most` frames */
};

/* Frames from those registers on, innermost first. At least one unless most is 0. The registers
 * are those of a function of the calling thread that has not returned, or any: what is read
 * is readable. [hot] */
size_t unwind_walk(const struct cpu_regs *from, struct unwind_frame *frames, size_t most,
                   enum unwind_end *end);

#endif
