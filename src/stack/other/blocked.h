/* blocked.h - walks the native stack of another thread that is blocked in the kernel.
 *
 * The kernel says where such a thread entered: its stack pointer and its instruction. All memory,
 * the thread's stack and the unwind tables of its libraries, is read in copies (snapshot.h),
 * because the thread may go on at any moment, return and close a library. So a walk counts only if
 * the thread has not run meanwhile, which the caller finds out.
 *
 * The kernel does not give the frame pointer. For code that needs it, it is computed from the
 * function's first instructions (x86-64 only), and believed if a return address lies where it must;
 * if not, the stack ends with a mark. */
#ifndef GPUFL_STACK_OTHER_BLOCKED_H
#define GPUFL_STACK_OTHER_BLOCKED_H

#include <stdbool.h>
#include <stdint.h>

/* This walks blocked threads. One thread at a time uses it, with all signals blocked
 * (snapshot.h). It works in a forked child, too. */
struct stack_blocked;

/* Opens a walker, which the caller closes. GPUFL_E_UNAVAILABLE: the process may use no way of
 * copying memory; GPUFL_E_NOMEM. *out is NULL after an error. [owner] */
int stack_blocked_open(struct stack_blocked **out);
void stack_blocked_close(struct stack_blocked *b); /* NULL is fine [owner] */

/* Describes where the kernel reported a thread as blocked. */
struct stack_blocked_at {
    uintptr_t sp, pc; /* the stack pointer, the instruction after the system call */
    /* Returns true if the thread has not run since then. Called after the walk. */
    bool (*still)(void *arg);
    void *arg;
};

/* Returns the id of the thread's stack, for stacks_get. 0: the thread ran, no frame belongs to the
 * program, or the table is full. Takes some microseconds, more at the first sight of code.
 * [owner] */
uint32_t stack_blocked_walk(struct stack_blocked *b, const struct stack_blocked_at *at);

#endif
