/* stack.h - captures host stacks of the program's threads, as addresses and code ids.
 *
 * stacks_capture walks the calling thread's stack, native and Python frames joined, and returns
 * the id of the first capture that is equal to it: cost and memory grow with distinct stacks
 * only. Nothing is named here: a native frame is an address in a file of code, a Python frame a
 * code object's own name, file and line as the interpreter keeps them.
 *
 * A process has one set of stacks, in static memory, because threads of the program use it
 * at any time, also while a session ends. Ids stay valid across sessions.
 *
 * The hot side takes no lock, makes no system call after warm-up (a page that was not seen before
 * is probed with one) and reads foreign memory only with common/safe.h. If a stack cannot be
 * walked further, it ends with a mark; a stack without room is counted as lost. */
#ifndef GPUFL_STACK_STACK_H
#define GPUFL_STACK_STACK_H

#include "base/err.h"
#include "stack/common/place.h"

#include <stdbool.h>
#include <stdint.h>

struct stacks_stats {
    uint64_t captured; /* repeats included */
    uint64_t distinct;
    uint64_t lost;  /* no room, or the walk failed at its first frame */
    uint64_t cut;   /* ended early, because there was no slot for a file of code */
    uint64_t bytes; /* of memory that grows with distinct stacks */
};

/* Prepares the process for capturing stacks, before the first capture. python: Python's frames are
 * read, too, if the interpreter is of a known version; that is all that a later call changes.
 * [owner] */
int stacks_open(bool python, struct err *e);

/* Returns the id of the calling thread's stack; 0: lost. The innermost frame is the caller of
 * `from` (pass __builtin_return_address(0), or NULL for all frames). [hot] */
uint32_t stacks_capture(const void *from);

/* Enclose a walk of another thread's stack, so that nothing that the walk reads is freed meanwhile.
 * One thread at a time does that. stacks_enter is false if stacks_open was not called; then
 * stacks_leave must not be called. [sampling thread] */
bool stacks_enter(void);
void stacks_leave(void);

/* Returns the stack of an id, captured or simulated (simulated.h); NULL: no such id. The id must
 * have come from the capturing thread in a way that orders memory, such as a ring. [collector] */
const struct stack *stacks_get(uint32_t id);

/* Looks for Python if none was found yet. [collector, every flush] */
void stacks_refresh(void);

/* Returns a sentence that says how Python is read, "CPython 3.12", or why it is not. [any] */
const char *stacks_python(void);

/* Returns true if there is a Python whose frames cannot be read. [any] */
bool stacks_python_is_rejected(void);

void stacks_stats(struct stacks_stats *out); /* [any] */

/* Resets state, in a forked child, that other threads were changing. */
void stacks_forget(void);

#endif
