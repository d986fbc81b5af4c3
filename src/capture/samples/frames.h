/* frames.h - takes stacks of other threads for the samples: Python's frames, if the process has a
 * Python whose other threads can be read (stack/other/other.h), or else the native frames of a
 * thread that is blocked (stack/other/blocked.h).
 *
 * Python may be loaded late, and the interpreter made later still, so both are looked for again
 * once a second until they are found. A thread may call CUDA only before it is a thread of Python,
 * or before Python is found; such a thread is looked for in Python's list, too. All functions are
 * called by the sampling thread, which blocks all signals. */
#ifndef GPUFL_CAPTURE_SAMPLES_FRAMES_H
#define GPUFL_CAPTURE_SAMPLES_FRAMES_H

#include "stack/other/blocked.h"
#include "stack/other/other.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAMES_FOUND = 64 };

/* Describes a thread that was looked for in Python's list. */
struct frames_found {
    struct stack_other_thread thread; /* state 0: the thread is not in the list */
    int64_t due;                      /* of the next look, steady ns */
};

struct frames {
    struct stack_other *reader;     /* owned; NULL: none yet */
    struct stack_other_thread main; /* of Python; state 0: not known yet */
    int64_t due;                    /* of the next try, steady ns */
    bool never;                     /* this process's other threads cannot be read */
    struct frames_found found[FRAMES_FOUND];
    size_t turn;                   /* the place in found that is reused next */
    int64_t find_due;              /* of the next look into Python's list, for whatever thread */
    struct stack_blocked *blocked; /* owned; NULL: not needed yet, or not available */
    bool no_blocked;               /* it is not available */
};

/* Values of host_sample.quality (schema/records.def). */
enum {
    FRAMES_WHOLE = 0,
    FRAMES_NO_INNERMOST = 1,
    FRAMES_OUTER = 2,
    FRAMES_NATIVE = 3,
};

/* Holds the result of a sample. */
struct frames_look {
    uint32_t stack;   /* number of the stack (stacks_get); 0: none */
    uint32_t quality; /* of host_sample in schema/records.def */
    bool torn;        /* there is no stack, because the thread ran on at each attempt */
};

/* Initializes *f without a reader. */
void frames_open(struct frames *f);

/* Looks for Python, if a look is due. now: steady ns. */
void frames_try(struct frames *f, int64_t now);

/* Reads the frames of a thread. t->state: the state that the thread itself has noted; if it is 0 or
 * outdated, its thread_id is looked for in Python's list. now: steady ns. */
struct frames_look frames_read(struct frames *f, const struct stack_other_thread *t, int64_t now);

/* Finds the thread that holds the GIL, by the futex on which another thread waits for it. False: no
 * thread holds the GIL at this moment, or the holder is not known. */
bool frames_holder(struct frames *f, uintptr_t futex, struct stack_other_thread *out, int32_t *tid);

/* Returns the number of the native stack of a blocked thread; 0: none. */
uint32_t frames_blocked(struct frames *f, const struct stack_blocked_at *at);

void frames_close(struct frames *f); /* `never` stays */

#endif
