/* holders.h - says which thread held the interpreter's lock (GIL) while another one waited for it.
 *
 * Threads are sampled in rounds. If a thread waited for the lock in a round, and only one other
 * thread that runs Python did not wait, that other thread held the lock. A thread that does not use
 * the GPU is sampled only while it holds the lock. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_THREADS_HOLDERS_H
#define GPUFL_ANALYZE_MODEL_THREADS_HOLDERS_H

#include "base/keyed.h"

#include <stdint.h>

struct model;

#define IDLE_ROUND 1000000ll /* ns: looks of one round are nearer to each other */

struct idle_holder {
    uint32_t node; /* in model.stacks: where the thread that held the lock was */
    /* not of the key: */
    uint64_t looks;
};

struct idle_holders {
    struct keyed rows; /* struct idle_holder */
    uint64_t looks;    /* at threads that waited for the lock */
    uint64_t seen;     /* of them, those whose holder is known */
};

void idle_holders_init(struct idle_holders *h); /* allocates nothing */
void idle_holders_fini(struct idle_holders *h);
/* Finds the holders from the sorted looks of a session. 0 or GPUFL_E_NOMEM. */
int idle_holders_find(struct model *m);
int idle_holders_merge(struct model *into, const struct model *from);

#endif
