/* other.h - reads another thread's Python frames while that thread runs on.
 *
 * No thread is stopped, no signal is sent, the GIL is not taken. Frames are read twice, from copies
 * that the kernel makes; the stack is what both looks agree on (docs/adr/0028). Only Python's
 * frames are read; CPython 3.9 to 3.14. */
#ifndef GPUFL_STACK_OTHER_OTHER_H
#define GPUFL_STACK_OTHER_OTHER_H

#include <stdbool.h>
#include <stdint.h>

/* Identifies a thread of Python. If the memory of its state has become that of another thread, the
 * id differs, unless that thread also got the stack of the ended one. */
struct stack_other_thread {
    uintptr_t state;    /* its PyThreadState */
    uint64_t thread_id; /* pthread_self() of it */
};

/* Finds the calling thread as a Python thread. False: it has no Python thread state, or Python is
 * not read. Costs as little as the beginning of a capture. [hot] */
bool stack_other_self(struct stack_other_thread *out);

/* Finds the thread that the main interpreter calls its main thread, from the interpreter's list.
 * False: not found, or Python is not read. All signals are blocked meanwhile (snapshot.h). Opens
 * and closes descriptors, so it is not for a hot path. [any] */
bool stack_other_main(struct stack_other_thread *out);

/* Does what stack_other_main does, for the thread whose pthread_self() is thread_id. */
bool stack_other_find(uint64_t thread_id, struct stack_other_thread *out);

/* Returns true if the futex at that address is that of the GIL, so that a thread that blocks on it
 * waits for the GIL. Locks that programs make are elsewhere. False also if Python is not read.
 * [any] */
bool stack_other_gil(uintptr_t futex);

/* This is a reader of other threads. One thread at a time uses it, with all signals blocked. It
 * works in a forked child, too, where it opens its own descriptors. */
struct stack_other;

/* Opens a reader, which the caller closes. GPUFL_E_STATE: stacks_open has not found Python yet;
 * GPUFL_E_UNAVAILABLE: other threads of this version cannot be read, or the process may use no
 * way of copying memory; GPUFL_E_NOMEM. *out is NULL after an error. [owner] */
int stack_other_open(struct stack_other **out);
void stack_other_close(struct stack_other *o); /* NULL is fine [owner] */

/* Finds the thread that holds the GIL, and its kernel id, by the futex on which a thread waits for
 * the GIL (stack_other_gil). False: no thread holds it at this moment, or the holder is not known.
 * [owner] */
bool stack_other_holder(struct stack_other *o, uintptr_t futex, struct stack_other_thread *out,
                        int32_t *tid);

/* Returns how memory is copied: "memfd", "pipe", "process_vm_readv", "none". Static text. For
 * tests. [owner] */
const char *stack_other_how(const struct stack_other *o);

enum stack_other_result {
    STACK_OTHER_WHOLE,        /* all frames; without a stack: the thread runs no Python code */
    STACK_OTHER_NO_INNERMOST, /* all frames except the innermost, which changed between the looks */
    STACK_OTHER_OUTER,        /* the outer frames, on which the looks agree */
    STACK_OTHER_TORN,         /* the looks agree on nothing: no stack */
    STACK_OTHER_GONE,         /* the thread has ended, or memory cannot be copied: no stack */
    STACK_OTHER_NO_MEMORY,    /* the table of stacks is full: no stack */
};

/* Reads a thread's frames. Returns the stack's id, for stacks_get; 0: no stack, *result says why.
 * Takes some microseconds, more at the first sight of code. [owner] */
uint64_t stack_other_walk(struct stack_other *o, const struct stack_other_thread *t,
                          enum stack_other_result *result);

#endif
