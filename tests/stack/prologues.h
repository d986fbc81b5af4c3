/* prologues.h - has functions with frame pointers that begin in the ways of compilers, and block
 * themselves in the system call read. For x86-64. */
#ifndef GPUFL_TESTS_PROLOGUES_H
#define GPUFL_TESTS_PROLOGUES_H

#include <stdbool.h>
#include <stddef.h>

typedef long prologue_fn(int fd, char *byte);

struct prologue_shape {
    const char *name;
    prologue_fn *function; /* blocks */
    prologue_fn *caller;   /* calls it */
    bool unclear;          /* its stack has two places that fit: the caller cannot be found */
};

extern const struct prologue_shape prologue_shapes[];
extern const size_t prologue_shapes_count;

#endif
