/* keeper_inside.h - has declarations that the keeper's files share. */
#ifndef GPUFL_AGENT_KEEP_KEEPER_INSIDE_H
#define GPUFL_AGENT_KEEP_KEEPER_INSIDE_H

#include "agent/archive/archive.h"
#include "agent/keep/keeper.h"
#include "agent/keep/keeper_notes.h"
#include "agent/remote.h"
#include "base/process/thread.h"
#include "net/client/backoff.h"

#include <pthread.h>

/* Describes a session that was offered. */
struct keeper_item {
    char *path; /* owned */
    int64_t stamp;
    int64_t bytes, last; /* of its files: sum; newest modification, ns since the Unix epoch */
    int64_t due;         /* CLOCK_MONOTONIC ns: time of the next look */
    bool measured;       /* bytes and last are known */
    bool archived;       /* or it need not be archived */
    bool refused;        /* it cannot be archived, and so is not removed */
};

/* Says why nothing is archived, or removed, at the moment. */
enum keeper_hold { KEEPER_FREE, KEEPER_WAITS, KEEPER_ALARM };

struct keeper_counts {
#define KEEPER_FIELD(name, help) uint64_t name;
    KEEPER_COUNTS(KEEPER_FIELD)
#undef KEEPER_FIELD
};

struct keeper {
    const struct options *options;
    struct s3 *s3;              /* owned; NULL: no archive */
    struct remote *remote;      /* owned; NULL: not connected yet */
    struct keeper_notes *notes; /* owned */
    struct manifest sent;       /* files of the present session that are in the bucket */
    struct backoff backoff;
    struct thread thread;
    struct wakeup wakeup;
    volatile sig_atomic_t ending; /* __atomic: keeper_close to the thread and its requests */
    struct keeper_item *items;    /* owned; the thread's alone, as all above */
    size_t count, cap;
    int64_t held_archive, held_removal; /* CLOCK_MONOTONIC ns: not before */

    pthread_mutex_t lock;
    struct keeper_item *offers; /* owned; guarded by lock, with all that follows */
    size_t offer_count, offer_cap;
    struct keeper_counts counts;
    uint64_t sessions, to_archive;
    int64_t bytes; /* of the sessions */
    enum keeper_hold hold;
    char why[416]; /* of hold */
};

static inline bool keeper_is_ending(const struct keeper *k)
{
    return __atomic_load_n(&k->ending, __ATOMIC_ACQUIRE);
}

/* Counts under the lock. */
#define KEEPER_COUNT(k, field, n)                                                                  \
    do {                                                                                           \
        pthread_mutex_lock(&(k)->lock);                                                            \
        (k)->counts.field += (uint64_t)(n);                                                        \
        pthread_mutex_unlock(&(k)->lock);                                                          \
    } while (0)

/* Names the result of working on an item. */
enum keeper_fate {
    KEEPER_DONE,  /* it was archived, or removed */
    KEEPER_LATER, /* at the item's due, or when a hold ends */
    KEEPER_DROP,  /* the folder changed or is gone: the loop offers it again */
};

/* The function is in keeper_remove.c. */
enum keeper_fate keeper_remove(struct keeper *k, struct keeper_item *it);
/* Ends the removals that the notes name. */
void keeper_end_removals(struct keeper *k);

#endif
