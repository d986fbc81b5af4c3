/* arena.h - gives memory for stacks, taken piece by piece and never freed.
 *
 * Lock-free, so that a thread with a new stack waits for no other thread; bounded, so that a
 * program cannot make the arena grow without end. */
#ifndef GPUFL_STACK_ARENA_H
#define GPUFL_STACK_ARENA_H

#include <stddef.h>
#include <stdint.h>

enum {
    ARENA_CHUNK = 256 * 1024, /* bytes asked from the heap at a time, and most of one piece */
    ARENA_CHUNKS = 512,       /* 128 MB */
};

/* Returns memory that is not initialized, aligned to 8; NULL: the arena or the heap has no room.
 * [hot, first sight] */
void *arena_take(size_t bytes);

/* Makes room for the first pieces; 0 or GPUFL_E_NOMEM. [owner] */
int arena_open(void);

uint64_t arena_bytes(void); /* taken, leftovers at the ends of chunks included [any] */

#endif
