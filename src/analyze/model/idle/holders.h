/* holders.h - who had the interpreter's lock (GIL) while a thread waited for it.
 *
 * Threads are looked at in rounds. Where one thread waited for the lock in a round, and only one
 * other thread that runs Python did not wait, that other thread had the lock. A thread that does
 * not use the GPU is looked at only while it has the lock. Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_HOLDERS_H
#define GPUFL_ANALYZE_MODEL_IDLE_HOLDERS_H

#include "base/keyed.h"

#include <stdint.h>

struct model;

#define IDLE_ROUND 1000000ll /* ns: looks of one round are nearer */

struct idle_holder {
    uint32_t node; /* in model.stacks: where the thread was that had the lock */
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
/* Finds the holders by the looks of a session, which are sorted. 0 or GPUFL_E_NOMEM. */
int idle_holders_find(struct model *m);
int idle_holders_merge(struct model *into, const struct model *from);

#endif
