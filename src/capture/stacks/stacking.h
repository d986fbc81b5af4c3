/* stacking.h - where a session captures host stacks, and their rows in its log.
 *
 * Stacks are the process's (stack/stack.h), their rows the session's: a stack is
 * written as the path of its frames through one tree, each frame and each module
 * once. */
#ifndef GPUFL_CAPTURE_STACKS_STACKING_H
#define GPUFL_CAPTURE_STACKS_STACKING_H

#include "capture/log/writer.h"
#include "capture/options/options.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct thread_state;

struct stacking_counts { /* of the session */
    uint64_t captured, distinct, lost, cut;
};

extern _Atomic uint32_t stacking_where __attribute__((visibility("hidden")));
enum stacking { /* bits of where stacks are wanted */
                STACKING_OFF = 0,
                STACKING_WAITS = 1,    /* set where any other is, which makes the word greater */
                STACKING_LAUNCHES = 2, /* at every launch */
                STACKING_SOME = 4,     /* at launches that launch_rule.h picks */
};

static inline uint32_t stacking_wants(void)
{
    return atomic_load_explicit(&stacking_where, memory_order_relaxed);
}

static inline bool stacking_at_launches(void)
{
    return stacking_wants() & STACKING_LAUNCHES;
}

/* The session's first call. Says once what is not available. [owner] */
void stacking_begin(const struct options *o, enum gpufl_engine engine);

/* Sets STACKING_SOME, or takes it away. In a session that captures stacks. [owner] */
void stacking_some(bool on);

/* The calling thread's stack; 0: none is wanted, or it is lost and counted. [hot] */
uint32_t stacking_at_wait(void);
uint32_t stacking_capture(struct thread_state *t); /* where one is wanted for sure */

struct sink_frame;

/* The stack of a simulated program (sink_ops.simulated); 0: none is wanted, or there is no room.
 * [any] */
uint32_t stacking_simulated(const struct sink_frame *frames, unsigned depth);

/* The row of the stack dictionary for a captured stack, defined at its first use; 0: none.
 * [collector] */
uint32_t stacking_row(struct writer *w, uint32_t stack);

void stacking_refresh(void);                       /* at every flush [collector] */
void stacking_keep(struct writer *w, bool last);   /* files of programs: see keep.h [collector] */
const char *stacking_python(void);                 /* how Python is read, or why not */
void stacking_counts(struct stacking_counts *out); /* [collector] */
void stacking_end(void);                           /* frees the rows' tables [collector] */
void stacking_forget(void);                        /* in a forked child */

#endif
