/* collector.h - whether a thread is inside Python's garbage collector.
 *
 * The collector runs no Python, so that the frames of a thread look as if its line did the work.
 * CPython says in the interpreter that a collection runs, and next to the GIL which thread has that
 * lock. The first thread that is seen with the lock in a collection is the one that collects, until
 * the collection has ended. Finalizers, which the collector calls, are part of it: they can give
 * the lock away, so that a collection whose first look falls into such a moment is another
 * thread's. The main interpreter's collector only.
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
    uintptr_t state;     /* of the thread that collects; 0: none was seen */
    int main, flag, gil; /* pieces of this look; -1: not asked for */
};

/* Asks for what belongs to a look; other_run copies it. */
void collector_ask(struct collector *c, struct other_reader *r);

/* True where that look found the thread with this state in the collector. Every look is to be told
 * to this function, since one that finds no collection ends the one before. */
bool collector_runs(struct collector *c, const struct other_reader *r, uintptr_t state);

#endif
