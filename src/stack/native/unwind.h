/* unwind.h - walks the frames of the calling thread's native stack.
 *
 * A walk remembers the walk before. A frame that has not moved, like the outer frames of a
 * program's loops, is only compared with the stack and not unwound again. */
#ifndef GPUFL_STACK_NATIVE_UNWIND_H
#define GPUFL_STACK_NATIVE_UNWIND_H

#include "stack/native/cpu.h"
#include "stack/native/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNWIND_MOST = 768 }; /* frames of a walk; more than STACK_DEPTH, as inner ones are cut */

struct unwind_frame {
    uintptr_t at;  /* the instruction: of a call (return address - 1), or the interrupted one */
    uintptr_t cfa; /* the stack pointer of its caller before the call; 0: unknown, outermost */
    uintptr_t fp;  /* the frame pointer's register while this frame runs */
    union row row; /* of `at`; with ROWS_NONE the caller was found by frame pointer */
    int32_t ra;    /* bytes from the CFA to the return address; 0: by the row only */
    int32_t up;    /* bytes from the CFA to the caller's frame pointer; 0: not saved */
};

enum unwind_end {
    UNWIND_OUTERMOST = 0, /* where the thread began */
    UNWIND_LOST,          /* the caller cannot be found: no table, or memory is not readable */
    UNWIND_FULL,          /* UNWIND_MOST frames */
};

/* Holds a walk, and room for the next one. All zero: no walk yet. One thread uses it at a time. */
struct unwind {
    const struct unwind_frame *frames; /* innermost first */
    size_t n;
    enum unwind_end end;
    bool same;        /* all frames are equal to those of the walk before */
    unsigned current; /* which of the two rooms holds the frames */
    uint32_t age;     /* rows_age at that time */
    struct unwind_frame rooms[2][UNWIND_MOST];
};

/* Walks from these registers on and finds at least one frame. The registers should be those of a
 * function of the calling thread that has not returned; with any others, too, only readable memory
 * is read. [hot] */
void unwind_walk(struct unwind *u, const struct cpu_regs *from);

#endif
