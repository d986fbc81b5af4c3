/* unwind.h - the frames of the calling thread's native stack.
 *
 * A walk remembers the one before it: where the same frames stand in the same places,
 * which is so for all the outer frames of a program's loops, they are only held
 * against the stack, not found again. */
#ifndef GPUFL_STACK_UNWIND_H
#define GPUFL_STACK_UNWIND_H

#include "stack/cpu.h"
#include "stack/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNWIND_MOST = 768 }; /* frames of a walk; more than are kept, since inner ones are cut */

struct unwind_frame {
    uintptr_t at;  /* the instruction: of a call (return address - 1), or the interrupted one */
    uintptr_t cfa; /* the stack pointer of its caller before the call; 0: unknown, outermost */
    uintptr_t fp;  /* the frame pointer's register while this frame runs */
    union row row; /* of `at`; with ROWS_NONE the caller was found by frame pointer */
    int32_t ra;    /* bytes from the CFA to the word with the return address; 0: by the row only */
    int32_t up;    /* the same of the caller's frame pointer; 0: it was not saved */
};

enum unwind_end {
    UNWIND_OUTERMOST = 0, /* where the thread began */
    UNWIND_LOST,          /* no way from here on: no table, or nothing readable */
    UNWIND_FULL,          /* UNWIND_MOST frames */
};

/* A walk, and room for the next one. All zero: none yet. Used by one thread at a time. */
struct unwind {
    const struct unwind_frame *frames; /* innermost first */
    size_t n;
    enum unwind_end end;
    bool same;        /* frame for frame the walk before this one */
    unsigned current; /* which of the rooms holds the frames */
    uint32_t age;     /* rows_age of then */
    struct unwind_frame rooms[2][UNWIND_MOST];
};

/* Frames from those registers on: at least one. The registers are those of a function of the
 * calling thread that has not returned, or any: what is read is readable. [hot] */
void unwind_walk(struct unwind *u, const struct cpu_regs *from);

#endif
