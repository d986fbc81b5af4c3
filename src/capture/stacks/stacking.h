/* stacking.h - says at which calls a session captures host stacks, and writes their rows to its
 * log.
 *
 * Stacks belong to the process (stack/stack.h), their rows to the session. A stack is
 * written as a path of frames in one tree; each frame and each module is written
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
                STACKING_WAITS = 1,    /* at waits; set whenever another bit is set */
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

/* Begins a session. Says once if stacks are not available. [owner] */
void stacking_begin(const struct options *o, enum gpufl_engine engine);

/* Sets or clears STACKING_SOME, in a session that captures stacks. [owner] */
void stacking_some(bool on);

/* Returns the calling thread's stack; 0: none is wanted, or the stack is lost and counted. [hot] */
uint32_t stacking_at_wait(void);
uint32_t stacking_capture(struct thread_state *t); /* captures in any case */

struct sink_frame;

/* Keeps the stack of a simulated program (sink_ops.simulated); 0: none is wanted, or there is no
 * room. [any] */
uint32_t stacking_simulated(const struct sink_frame *frames, unsigned depth);

/* Returns the row of the stack dictionary for a captured stack, defined at its first use; 0: none.
 * [collector] */
uint32_t stacking_row(struct writer *w, uint32_t stack);

void stacking_refresh(void);                       /* at every flush [collector] */
void stacking_keep(struct writer *w, bool last);   /* files of programs: see keep.h [collector] */
const char *stacking_python(void);                 /* how Python is read, or why not */
void stacking_counts(struct stacking_counts *out); /* [collector] */
void stacking_end(void);                           /* frees the rows' tables [collector] */
void stacking_forget(void);                        /* in a forked child */

#endif
