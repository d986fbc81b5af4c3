/* late.h - says which rank the others waited for in collectives, and what it did until it came.
 *
 * In each matched collective, the last rank is late by the time between it and the last but one: by
 * that time the run would be shorter if this rank alone had been on time. Only time in which the
 * device of the last but one did nothing else counts. The lateness is divided exactly into two
 * parts: the time by which the late rank's device was idle for longer since their last common
 * collective, and the rest, by which its kernels took longer. Looks at both ranks divide the idle
 * part among lines: a line gets what the late rank spent there beyond the other rank's time. Called
 * by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_RANKS_LATE_H
#define GPUFL_ANALYZE_MODEL_RANKS_LATE_H

#include "analyze/model/ranks/ranks.h"

enum { RANK_LOOKS_LEAST = 5 /* in the idle time of a late rank, for a line to be named */ };

/* Holds the lateness of one rank. */
struct rank_late {
    uint32_t rank;        /* in model.ranks */
    uint32_t waited;      /* the rank that waited longest for it */
    uint64_t collectives; /* in which it came last */
    int64_t gain;         /* ns: what the run would be shorter by, = idle + busy */
    int64_t idle;         /* ns of it: its device was idle for longer */
    int64_t busy;         /* ns of it: its device worked for longer */
};

/* Holds the part of a rank's `idle` that a line has. */
struct rank_line {
    uint32_t late;  /* in sum_late_ranks.late */
    uint32_t place; /* in model.stacks */
    int64_t ns, half_width;
    uint64_t looks;
};

struct sum_late_ranks {
    struct rank_late *late; /* owned; after finish, as all */
    struct rank_line *lines;
    size_t late_count, late_cap, line_count, line_cap;
    unsigned ranks;       /* that have a matched collective */
    uint64_t collectives; /* of all ranks */
    uint64_t matched;     /* of them, those whose other ranks are known */
    int64_t waited;       /* ns in which devices only waited in them, summed; in the share base */
};

void sum_late_ranks_init(struct model *m);
void sum_late_ranks_fini(struct model *m);
int sum_late_ranks_batch(struct model *m, const struct wire_batch *b);
int sum_late_ranks_merge(struct model *into, const struct model *from, int64_t shift);
/* Matches the ranks. After steps, stacks and idle time. */
int sum_late_ranks_finish(struct model *m);

#endif
