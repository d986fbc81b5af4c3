/* looks.h - keeps the looks at threads (record host_sample), in order of time.
 *
 * A look says where a thread was at one moment. The first IDLE_LOOKS are kept; the rest are
 * counted. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_THREADS_LOOKS_H
#define GPUFL_ANALYZE_MODEL_THREADS_LOOKS_H

#include "base/keyed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IDLE_LOOKS = 1 << 22 /* rows: 100 MB at most */ };

enum idle_state { /* host_sample.state */
                  IDLE_STATE_UNKNOWN,
                  IDLE_RUNNING,
                  IDLE_RUNNABLE,
                  IDLE_BLOCKED,
                  IDLE_WAITS_FOR_GIL,
                  IDLE_STATES,
};

struct wire_batch;

struct idle_look {
    int64_t time; /* ns */
    uint32_t thread;
    uint32_t stack;   /* of Python's frames, id of the log; 0: the thread ran no Python, or torn */
    uint32_t native;  /* of native frames, id of the log: the thread had none of Python, and was
                       * blocked; 0: not known */
    uint16_t syscall; /* number + 1; 0: none or unknown */
    uint8_t state;    /* enum idle_state */
    bool torn;        /* the stack could not be read */
};

struct idle_looks {
    struct idle_look *rows; /* owned */
    size_t count, cap;
    size_t sorted;        /* rows that are in order */
    struct keyed threads; /* ids of threads that have a look with a stack */
    struct keyed natives; /* ids of threads that have a look with native frames */
    uint64_t beyond;      /* rows without room */
};

void idle_looks_init(struct idle_looks *l); /* allocates nothing */
void idle_looks_fini(struct idle_looks *l);

/* Takes the rows of a batch; a row without a time or a thread is left out. 0 or GPUFL_E_NOMEM. */
int idle_looks_batch(struct idle_looks *l, const struct wire_batch *b);

/* Sorts what has come. Call before the functions below. */
void idle_looks_sort(struct idle_looks *l);

/* Returns the index of the first look at time t (ns) or later. */
size_t idle_looks_from(const struct idle_looks *l, int64_t t);

/* Returns true if a look at the thread has a stack, which means that the thread runs Python. */
bool idle_looks_at(const struct idle_looks *l, uint32_t thread);

/* Returns true if native frames of the thread count: a look has some, and no thread of the process
 * runs Python, whose lines would say more. */
bool idle_looks_native(const struct idle_looks *l, uint32_t thread);

/* Returns the stack of a look: of Python, or else of native frames if these count. 0: unknown. */
uint32_t idle_looks_stack(const struct idle_looks *l, const struct idle_look *look);

#endif
