/* python.h - reads the frames of the CPython interpreter from its memory.
 *
 * Neither the GIL nor the C API is used: the calling thread's own frames do not change while it is
 * in our callback, and offsets are those of the version. A version that was not tested with a real
 * interpreter, or whose start-up check fails, is switched off with a reason. See python.c for the
 * versions. */
#ifndef GPUFL_STACK_PYTHON_PYTHON_H
#define GPUFL_STACK_PYTHON_PYTHON_H

#include "stack/common/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_frame {
    const void *code; /* address of the code object; NULL: it cannot be read in place */
    uint64_t key;     /* of its content: equal keys mean one function in one file */
    uint32_t place;   /* instruction, in bytes from the code's start; UINT32_MAX: before
                         the first instruction */
    uintptr_t native; /* address on the C stack inside the native frame of the interpreter loop
                          that runs this frame and those after it up to the next one with an
                          address; 0: the loop of the frame before runs this one, too, or unknown.
                          PYTHON_OWN_LOOP (3.9): one call of the loop runs this frame alone, and
                          its address is stored nowhere: the k-th such frame belongs to the k-th
                          call of the loop in the native stack, counted from the outermost */
};

enum { PYTHON_OWN_LOOP = 1 };

/* Looks for an interpreter in this process and checks it. True: frames can be read from now on.
 * Cheap if nothing changed. python_status says "none seen yet" until a walk has found whole
 * frames; if the first walks do not find expected frames, Python is switched off. [any] */
bool python_find(void);

/* Returns the sentence for capabilities: "CPython 3.12.3" or why not. Static. [any] */
const char *python_status(void);

/* Returns true if there is an interpreter whose frames cannot be read, such as a free-threaded
 * build. [any] */
bool python_is_rejected(void);

/* Returns the calling thread's frames, innermost first; 0: none, or it is not a Python thread.
 * [hot] */
size_t python_walk(struct python_frame *frames, size_t most);

/* Returns the code object of a frame just walked on this thread, copied at first sight; NULL: no
 * room or unreadable. [hot, first sight] */
const struct stack_code *python_code(const struct python_frame *f);

/* Returns the line of an instruction, from the line table kept with the code; 0: unknown. [hot,
 * first sight] */
int python_line(const struct stack_code *code, uint32_t place);

/* Returns true if this address is in the interpreter's loop, or in the part of the interpreter
 * between its loop and C functions; for folding. All code of an interpreter's file (python3.x,
 * libpython3.x) counts. In a program that contains an interpreter, the loop and the functions
 * between it and C functions count, if the program exports them. [hot] */
bool python_is_interpreter(uintptr_t pc);

/* Returns the memory that the copies of code objects have taken. [any] */
size_t python_bytes(void);

void python_forget(void); /* in a forked child */

#endif
