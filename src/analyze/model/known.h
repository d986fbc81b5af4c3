/* known.h - says for each kind of activity: is a count of 0 a fact, or is it unknown?
 *
 * A session without rows of a kind may have done none of it, may not have been asked to record it,
 * or may have lost the rows. The answer comes from the log: its ledger, its capabilities, and the
 * parts of its files that could not be read. In a merged model each session keeps its answer: a sum
 * is known where any row of the kind was read, or where all sessions are known to have done none.
 * Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_KNOWN_H
#define GPUFL_ANALYZE_MODEL_KNOWN_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_KNOWN_TAKES 0

enum known_kind {
    KNOWN_KERNELS,
    KNOWN_COPIES, /* copies and fills */
    KNOWN_SYNCS,  /* synchronizations that the driver reports */
    KNOWN_WAITS,  /* calls of the program's threads that can wait */
    KNOWN_MEMORY,
    KNOWN_MANAGED,
    KNOWN_GRAPHS, /* launches */
    KNOWN_SCOPES,
    KNOWN_KINDS,
};

/* Says what the log of a session says of a kind. */
enum known {
    KNOWN_COUNTED,    /* rows were read, or the session did none */
    KNOWN_UNRECORDED, /* its engine records none, or the kind was not requested or not possible */
    KNOWN_DAMAGED,    /* rows that were or may have been written cannot be read */
    KNOWN_LOST,       /* the program did some, and no record of it reached the log */
    KNOWN_UNREPORTED, /* the log does not say */
    KNOWN_ANSWERS,
};

struct sum_known {
    unsigned sessions[KNOWN_KINDS][KNOWN_ANSWERS]; /* by answer */
    int64_t written[KNOWN_KINDS]; /* rows that damaged sessions wrote, by their ledgers */
    int64_t launched;             /* kernels of lost sessions */
    bool missing;                 /* the channel's files of a damaged session are missing */
    bool accounts; /* that channel is the system channel, which has ledger and capabilities */
    bool finished; /* the answers are final; set in merged models, too */
};

void sum_known_init(struct model *m);
void sum_known_fini(struct model *m);
int sum_known_batch(struct model *m, const struct wire_batch *b);
int sum_known_merge(struct model *into, const struct model *from, int64_t shift);
int sum_known_finish(struct model *m); /* call before parts that ask */

/* Returns how many rows of a kind were read. */
uint64_t sum_known_rows(const struct model *m, enum known_kind k);

/* Returns true if the sums of a kind are numbers, so that 0 means none. After finish. */
bool sum_known_is(const struct model *m, enum known_kind k);

/* Returns why the kind is unknown: the gravest answer of all sessions; KNOWN_COUNTED: it is
 * known. */
enum known sum_known_why(const struct model *m, enum known_kind k);

/* Returns for how many sessions the kind is unknown. */
unsigned sum_known_without(const struct model *m, enum known_kind k);

/* The functions return the kind of a capability's feature (KNOWN_KINDS: another), and the feature
 * of a kind. */
enum known_kind sum_known_kind(const char *feature);
const char *sum_known_feature(enum known_kind k);

/* Returns true if a session worked on a GPU, or may have done so. */
bool sum_known_worked(const struct model *m);

/* Returns true if windows of capture were requested and none was opened, so that nothing was
 * recorded. */
bool sum_known_no_window(const struct model *m);

/* Returns true if kernels or scopes that the log had may be missing among those that were read: a
 * part of their channel cannot be read, and the last ledger does not say that as many were written
 * as were read. Their number is then the least that there was. */
bool sum_known_is_cut(const struct model *m, enum known_kind k);

#endif
