/* inherit.h - handles launches on threads that have no scope open.
 *
 * A framework may launch from its own threads: autograd runs backward() in such a thread.
 * If exactly one other thread had scopes open at the launch, the launch takes that thread's
 * innermost scope and is marked as inherited. If several threads had scopes open, the
 * launch stays without a scope, and is counted.
 *
 * Only scopes that the program opened are inherited: the caller leaves out the ranges that a
 * library opened itself (wire/library_range.h), which say what the library does on its own
 * thread. Whether a scope ever ends is not known yet; the analysis takes back what was inherited
 * from a scope that never ended.
 *
 * The program's threads note the launch and its tick. Which scopes were open at that tick is
 * known once all rings are drained up to one tick; until then each thread's changes of the
 * round are kept here in order. [collector] */
#ifndef GPUFL_CAPTURE_RECORDS_INHERIT_H
#define GPUFL_CAPTURE_RECORDS_INHERIT_H

#include "capture/records/joins.h"

#include <stddef.h>
#include <stdint.h>

struct inherit_change {
    uint64_t tick;
    uint64_t instance; /* innermost scope from then on; 0: none */
};

/* Holds a thread's part of this round. */
struct inherit_history {
    int32_t thread;
    uint64_t before;     /* innermost scope when the round began */
    size_t first, count; /* of changes */
};

struct inherit_launch {
    uint64_t tick;
    struct join join; /* without its scope */
};

struct inherit {
    struct inherit_change *changes;    /* owned */
    struct inherit_history *histories; /* owned; the last is that of the thread being drained */
    struct inherit_launch *launches;   /* owned */
    size_t change_count, change_cap, history_count, history_cap, launch_count, launch_cap;
    uint64_t several; /* launches while several threads had scopes open */
    uint64_t lost;    /* launches that could not be kept: no memory */
};

/* Begins a thread: the changes that follow are of this thread. */
void inherit_thread(struct inherit *h, int32_t thread, uint64_t innermost);

/* Notes that the thread's innermost scope is another one from this tick on; 0: none. */
void inherit_change(struct inherit *h, uint64_t tick, uint64_t instance);

/* Notes a launch of this thread outside any scope of its own. */
void inherit_launch(struct inherit *h, uint64_t tick, const struct join *join);

/* Forgets the launch that was noted last: the call failed, and no record will come. */
void inherit_cancel(struct inherit *h, uint32_t correlation);

/* Ends a round, when all rings are drained: joins every launch of the round and forgets it. */
void inherit_resolve(struct inherit *h, struct joins *joins);

void inherit_fini(struct inherit *h);

#endif
