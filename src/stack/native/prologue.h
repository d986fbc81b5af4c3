/* prologue.h - finds how far above the stack pointer a function's frame pointer may lie.
 *
 * Unwind tables of code with frame pointers give everything relative to that register. The kernel
 * gives only the stack pointer of a blocked thread, so the distance is needed: the room of the
 * registers that the function has saved, by its unwind row, and the room that it has taken for its
 * variables (sub rsp, N), by its code. */
#ifndef GPUFL_STACK_NATIVE_PROLOGUE_H
#define GPUFL_STACK_NATIVE_PROLOGUE_H

#include "stack/native/modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROLOGUE_MOST = 9 };

struct prologue {
    uintptr_t begin;             /* address of the function */
    size_t n;                    /* distances that are possible */
    size_t below[PROLOGUE_MOST]; /* bytes from the stack pointer to the frame pointer */
    bool exact;                  /* the first instructions were understood: below[0] it is */
};

/* Finds the distances for an instruction whose row has the frame pointer as base. n is 0 if the
 * function cannot be read. [first sight] */
void prologue_find(const struct module *m, uintptr_t at, struct prologue *out);

#endif
