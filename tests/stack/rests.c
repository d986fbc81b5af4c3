/* rests.c - is a library with frame pointers, whose function blocks for 0.3 ms. */
#include "tests/stack/blocks.h"

#include <time.h>

void blocks_library_rest(void)
{
    nanosleep(&(struct timespec){0, 300000}, NULL);
    __asm__ volatile("" ::: "memory");
}
