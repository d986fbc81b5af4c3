/* blocks.h - has threads that block, each in another system call. They are compiled with the usual
 * flags of a program, and once more with frame pointers. */
#ifndef GPUFL_TESTS_BLOCKS_H
#define GPUFL_TESTS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No other function is within 512 bytes of such a function's beginning. */
#define BLOCKS_FUNCTION __attribute__((noinline, aligned(512)))

struct blocks_kind {
    const char *name;       /* of the call */
    void (*function)(void); /* in which the thread calls it */
};

struct blocks {
    const struct blocks_kind *kinds;
    size_t count;
    void (*outer)(size_t i);    /* calls a kind's function */
    void (*recursion)(int);     /* which the kind "recursion" calls: it calls itself three times */
    bool (*begin)(void);        /* starts a thread for each kind; false: failed */
    int32_t (*tid)(size_t i);   /* the kernel's id of a kind's thread; 0: not known yet */
    void (*rest)(void *unused); /* blocks for 0.3 ms */
    void (*end)(void);          /* ends them, and waits for that */
};

extern const struct blocks blocks, blocks_fp;

/* Blocks for 0.3 ms, in a library of its own that has frame pointers. */
__attribute__((visibility("default"))) void blocks_library_rest(void);

#endif
