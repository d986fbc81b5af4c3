/* holder.h - which thread has the interpreter's lock (GIL) while another one waits for it. */
#ifndef GPUFL_STACK_OTHER_HOLDER_H
#define GPUFL_STACK_OTHER_HOLDER_H

#include "stack/other/other.h"
#include "stack/other/snapshot.h"
#include "stack/python/inside.h"

struct holder {
    struct stack_other_thread thread; /* the last one found */
    int32_t tid;                      /* the kernel's id of it */
    unsigned id_place; /* of the kernel's id in the C library's thread; 0: not known */
};

/* Finds the thread that has the lock, into *h, by the futex at that address in which a thread waits
 * for it. False: nobody has it, or the place is not as it is known. Some us; with a thread that was
 * not found the time before, 1 us more for each of Python's threads. [owner] */
bool holder_find(struct holder *h, struct snapshot *s, const struct python_layout *l,
                 uintptr_t futex);

#endif
