/* join.h - turns the native and Python frames of a walk into one stack.
 *
 * Driver and runtime frames at the inner end are left out, Python's frames replace
 * the interpreter's loop in the native stack, and a part that could not be walked becomes a mark.
 * The result is a list of words by which two captures can be compared. */
#ifndef GPUFL_STACK_JOIN_H
#define GPUFL_STACK_JOIN_H

#include "stack/native/unwind.h"
#include "stack/python/python.h"

enum join_mark { JOIN_TRUNCATED, JOIN_DRIVER, JOIN_UNKNOWN, JOIN_COLLECTING };

/* Describes a place. Two stacks are equal if all their items are. */
struct join_item {
    uint64_t what;  /* NATIVE: the instruction; PYTHON: key of the code; MARK: enum join_mark */
    uint32_t where; /* NATIVE: number of the module; PYTHON: place in the code; MARK: 0 */
    uint32_t kind;  /* enum stack_kind */
};

/* Holds the result of a walk. */
struct join_walk {
    const struct unwind_frame *native;
    size_t natives;
    enum unwind_end end;
    const struct python_frame *python;
    size_t pythons;
};

/* Fills items, and for each item its index in native or python; at most STACK_DEPTH + 1 items, of
 * which the last is a mark. from: see stacks_capture. [hot] */
size_t join_frames(const struct join_walk *walk, const void *from, struct join_item *items,
                   uint16_t *sources);

/* Sets the address range of the interpreter's loop, for versions in which each frame has its own
 * call of the loop (PYTHON_OWN_LOOP); 0, 0: unknown. [any] */
void join_loop_at(uintptr_t begin, uintptr_t end);

const char *join_mark_text(enum join_mark mark);

#endif
