/* arena.h - memory that stacks keep for ever: taken piece by piece, never given back.
 *
 * Lock-free, so that a thread that meets a new stack waits for no other one, and
 * bounded: what a program can make us keep has an end. */
#ifndef GPUFL_STACK_ARENA_H
#define GPUFL_STACK_ARENA_H

#include <stddef.h>
#include <stdint.h>

enum {
    ARENA_CHUNK = 256 * 1024, /* bytes asked from the heap at a time, and most of one piece */
    ARENA_CHUNKS = 512,       /* 128 MB */
};

/* Uninitialized, aligned to 8; NULL: no room, or the heap has none. [hot, first sight] */
void *arena_take(size_t bytes);

/* Makes room for the first pieces; 0 or GPUFL_E_NOMEM. [owner] */
int arena_open(void);

uint64_t arena_bytes(void); /* taken, with what was left over at the ends of chunks [any] */

#endif
