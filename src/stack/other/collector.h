/* collector.h - finds out whether a thread is inside Python's garbage collector.
 *
 * The collector runs no Python code, so the thread's frames look as if its present line did the
 * work. CPython stores in the interpreter that a collection runs, and next to the GIL which thread
 * holds that lock. The first thread that is seen holding the lock during a collection is taken as
 * the collecting thread until the collection has ended. The collector calls finalizers, which can
 * release the lock; if the first look falls into such a moment, another thread is taken. Only the
 * main interpreter's collector is known.
 *
 * Threads: the owner of the reader. */
#ifndef GPUFL_STACK_OTHER_COLLECTOR_H
#define GPUFL_STACK_OTHER_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

struct other_reader;

struct collector {
    bool tried;          /* this interpreter was looked at */
    uintptr_t interp;    /* the main interpreter; 0: its collector is not known */
    uintptr_t state;     /* of the collecting thread; 0: none was seen */
    int main, flag, gil; /* numbers of the pieces of this look; -1: not asked for */
};

/* Asks for the memory of a look; other_run copies it. */
void collector_ask(struct collector *c, struct other_reader *r);

/* Returns true if that look found the thread with this state in the collector. Call this function
 * after every look, because a look without a collection ends the collection before. */
bool collector_runs(struct collector *c, const struct other_reader *r, uintptr_t state);

#endif
