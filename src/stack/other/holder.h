/* holder.h - finds the thread that holds the interpreter's lock (GIL) while another one waits. */
#ifndef GPUFL_STACK_OTHER_HOLDER_H
#define GPUFL_STACK_OTHER_HOLDER_H

#include "stack/other/other.h"
#include "stack/other/snapshot.h"
#include "stack/python/inside.h"

struct holder {
    struct stack_other_thread thread; /* the thread found last */
    int32_t tid;                      /* its kernel id */
    unsigned id_place; /* offset of the kernel id in the C library's thread; 0: not known */
};

/* Finds the thread that holds the lock, into *h, by the address of the futex on which a thread
 * waits for it. False: no thread holds it, or the memory there is not as expected. Takes some us;
 * if the holder has changed, 1 us more for each of Python's threads. [owner] */
bool holder_find(struct holder *h, struct snapshot *s, const struct python_layout *l,
                 uintptr_t futex);

#endif
