/* other.h - another thread's Python frames, read while that thread runs on.
 *
 * Nothing is stopped, no signal is sent, the GIL is not taken. Frames are read from copies that
 * the kernel makes, twice; what both looks agree on is the stack (docs/adr/0028). Python's frames
 * only; CPython 3.9 to 3.13. */
#ifndef GPUFL_STACK_OTHER_OTHER_H
#define GPUFL_STACK_OTHER_OTHER_H

#include <stdbool.h>
#include <stdint.h>

/* A thread of Python. A state whose memory has become another thread's has another id, except where
 * that thread got the stack of the one that ended, too. */
struct stack_other_thread {
    uintptr_t state;    /* its PyThreadState */
    uint64_t thread_id; /* pthread_self() of it */
};

/* The calling thread's. False: it has no Python thread state, or Python is not read. Costs as
 * little as the beginning of a capture. [hot] */
bool stack_other_self(struct stack_other_thread *out);

/* The thread that the main interpreter calls its main thread, from the interpreter's list. False:
 * not found, or Python is not read. All signals are blocked while this runs (snapshot.h). Opens
 * and closes descriptors: not for a hot path. [any] */
bool stack_other_main(struct stack_other_thread *out);

/* Finds the thread whose pthread_self() is thread_id, as stack_other_main finds the main one. */
bool stack_other_find(uint64_t thread_id, struct stack_other_thread *out);

/* True where the futex at that address is the GIL's: a thread that blocks in it waits for the GIL.
 * The locks that programs make are elsewhere. False also where Python is not read. [any] */
bool stack_other_gil(uintptr_t futex);

/* A reader of other threads. One thread at a time uses it, with all signals blocked. It works in a
 * forked child, too, where it takes descriptors of its own. */
struct stack_other;

/* Opens a reader; *out is the caller's, to be closed. GPUFL_E_STATE before stacks_open has found
 * Python; GPUFL_E_UNAVAILABLE: this version's other threads are not read, or the process may use no
 * way of copying memory; GPUFL_E_NOMEM. *out is NULL after an error. [owner] */
int stack_other_open(struct stack_other **out);
void stack_other_close(struct stack_other *o); /* NULL is fine [owner] */

/* Finds the thread that has the GIL, and its kernel id, by the futex in which a thread waits for
 * the GIL (stack_other_gil). False: nobody has it at this moment, or it is not known. [owner] */
bool stack_other_holder(struct stack_other *o, uintptr_t futex, struct stack_other_thread *out,
                        int32_t *tid);

/* How memory is copied: "memfd", "pipe", "process_vm_readv", "none". Static text. For tests.
 * [owner] */
const char *stack_other_how(const struct stack_other *o);

enum stack_other_result {
    STACK_OTHER_WHOLE,        /* all frames; with no stack: the thread runs no Python code */
    STACK_OTHER_NO_INNERMOST, /* all but the innermost one, which changed between the looks */
    STACK_OTHER_OUTER,        /* the outer frames, on which the looks agree */
    STACK_OTHER_TORN,         /* the looks agree on nothing: no stack */
    STACK_OTHER_GONE,         /* the thread has ended, or memory cannot be copied: no stack */
    STACK_OTHER_NO_MEMORY,    /* the table of stacks is full: no stack */
};

/* Reads a thread's frames now. Returns the number of the stack, as stacks_capture does (stacks_get
 * knows it); 0: none, *result says why. Some microseconds, more at the first sight of code.
 * [owner] */
uint64_t stack_other_walk(struct stack_other *o, const struct stack_other_thread *t,
                          enum stack_other_result *result);

#endif
