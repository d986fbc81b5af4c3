/* tally.h - keeps samples summed by instruction and stall reason until they become rows.
 *
 * The collector drains, and so does the program's thread when a context is destroyed or a
 * module unloaded, but only the collector writes rows. So all drains add to a tally, and the
 * collector empties it. The owner of the tally holds its lock.
 *
 * Some drivers count a sample under a reason and, if no instruction was issued in its cycle,
 * under the reason's _not_issued, too; others count it once. The driver's total of samples
 * shows which of the two it does. The written rows count every sample once (docs/format.md,
 * stall_reason). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PC_TALLY_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PC_TALLY_H

#include "backend/nvidia/abi/pc.h"
#include "backend/nvidia/record/functions.h"
#include "base/keyed.h"

#include <stdbool.h>

enum {
    PC_REASONS = 128,       /* reasons that are distinguished */
    PC_TALLY_MAX = 1 << 20, /* instructions and reasons between two drains */
};

struct pc_reason_name {
    uint32_t index;            /* the library's number */
    int twin;                  /* of a reason its _not_issued, and vice versa; -1: none */
    bool idle;                 /* the reason is a _not_issued */
    char name[PC_REASON_NAME]; /* the library's name */
};

struct pc_cell {
    uint64_t offset; /* these four are the key */
    uint32_t function, reason, window;
    uint64_t samples;
};

enum pc_relation {
    PC_RELATION_UNKNOWN,
    PC_RELATION_WITHIN, /* a sample of a _not_issued is also counted under its reason */
    PC_RELATION_APART,  /* a sample is counted once */
};

/* Holds the sums of a session, by the library's own counting. */
struct pc_totals {
    uint64_t total, dropped, other; /* as in struct pc_data */
    uint64_t reasons, idle;         /* of records: without and with _not_issued */
};

struct pc_tally {
    struct pc_reason_name reasons[PC_REASONS];
    size_t reason_count;
    struct functions functions;
    struct keyed cells; /* owned: struct pc_cell */
    struct pc_totals totals;
    enum pc_relation relation;
    uint32_t window; /* of the samples that are added next; set by the owner */
    bool more_idle;  /* some _not_issued had more samples than its reason */
    uint64_t lost;   /* samples without room, after the last look */
};

void pc_tally_init(struct pc_tally *t); /* for tests */
void pc_tally_fini(struct pc_tally *t);

/* Sets the library's reasons, whose names are in t->reasons already. */
void pc_tally_reasons(struct pc_tally *t, const uint32_t *indices, size_t count);

/* Adds the samples of a drain. */
void pc_tally_add(struct pc_tally *t, const struct pc_data *d);

/* Decides the relation if it is known by now. Called after the last add of a round. */
void pc_tally_settle(struct pc_tally *t);

/* Calls fn for every instruction and reason with the number of its samples, each sample counted
 * once, and empties the tally; functions and totals stay. */
void pc_tally_take(struct pc_tally *t,
                   void (*fn)(void *arg, const struct pc_cell *c, uint64_t samples), void *arg);

/* Forgets sums and functions of a session, but not the reasons. */
void pc_tally_clear(struct pc_tally *t);

#endif
