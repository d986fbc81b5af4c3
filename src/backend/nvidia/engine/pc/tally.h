/* tally.h - samples summed by instruction and stall reason until they become rows.
 *
 * Drains come from the collector and, where a context or a module goes, from the
 * program's thread; rows are written by the collector alone. So all drains add to a
 * tally, and the collector empties it. Whoever owns the tally holds its lock.
 *
 * Some drivers count a sample under a reason and, where no instruction was issued in its cycle,
 * under the reason's _not_issued too; others count it once. The driver's own total of samples
 * says which of the two it does. What is written counts every sample once (docs/format.md,
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
    uint32_t index;            /* the library's */
    int twin;                  /* of a reason: its _not_issued, and the other way round; -1: none */
    bool idle;                 /* it is a _not_issued */
    char name[PC_REASON_NAME]; /* the library's */
};

struct pc_cell {
    uint64_t offset; /* these four are the key */
    uint32_t function, reason, window;
    uint64_t samples;
};

enum pc_relation {
    PC_RELATION_UNKNOWN,
    PC_RELATION_WITHIN, /* a sample of a _not_issued is also one of its reason */
    PC_RELATION_APART,  /* each counts for one */
};

/* Sums of a session, by the library's own counting. */
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
    uint32_t window; /* of what is added next; the owner's */
    bool more_idle;  /* somewhere a _not_issued had more samples than its reason */
    uint64_t lost;   /* samples for which there was no room, since the last look */
};

void pc_tally_init(struct pc_tally *t); /* for tests */
void pc_tally_fini(struct pc_tally *t);

/* Takes the library's reasons, whose names are in t->reasons already. */
void pc_tally_reasons(struct pc_tally *t, const uint32_t *indices, size_t count);

/* Adds what a drain brought. */
void pc_tally_add(struct pc_tally *t, const struct pc_data *d);

/* Decides the relation where that is known by now. After the last add of a round. */
void pc_tally_settle(struct pc_tally *t);

/* Calls fn for every instruction and reason with how many samples fall to it alone, and
 * empties the tally; functions and totals stay. */
void pc_tally_take(struct pc_tally *t,
                   void (*fn)(void *arg, const struct pc_cell *c, uint64_t samples), void *arg);

/* Forgets sums and functions of a session, but not the reasons. */
void pc_tally_clear(struct pc_tally *t);

#endif
