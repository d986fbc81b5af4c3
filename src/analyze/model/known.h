/* known.h - for each kind of activity: is a count of 0 a fact, or is it unknown?
 *
 * A session without rows of a kind may have done none of it, may not have been asked to record
 * any, or may have lost them. The log decides: its ledger, the row of its capabilities, and the
 * parts of its files that could not be read. Merged, each session keeps its answer: a sum is
 * known where anything of the kind was read, or where all sessions know that they did none.
 * Owner's thread. */
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
    KNOWN_WAITS,  /* calls that can wait, as the program's threads made them */
    KNOWN_MEMORY,
    KNOWN_MANAGED,
    KNOWN_GRAPHS, /* launches */
    KNOWN_SCOPES,
    KNOWN_KINDS,
};

/* What a session knows of a kind. */
enum known {
    KNOWN_COUNTED,    /* rows were read, or the session did none */
    KNOWN_UNRECORDED, /* its engine records none, or the kind was not requested or not possible */
    KNOWN_DAMAGED,    /* rows were written, or may have been, that cannot be read */
    KNOWN_LOST,       /* some was done, and no record of it reached the log */
    KNOWN_UNTOLD,     /* the log does not say */
    KNOWN_ANSWERS,
};

struct sum_known {
    unsigned sessions[KNOWN_KINDS][KNOWN_ANSWERS]; /* by answer */
    int64_t
        written[KNOWN_KINDS]; /* rows that damaged sessions wrote, where their ledger is there */
    int64_t launched;         /* kernels of lost sessions */
    bool missing;             /* the channel's files of a damaged session are missing */
    bool accounts;            /* it is the system channel, with the ledger and the capabilities */
    bool finished;            /* the answers are final; also of merged sessions */
};

void sum_known_init(struct model *m);
void sum_known_fini(struct model *m);
int sum_known_batch(struct model *m, const struct wire_batch *b);
int sum_known_merge(struct model *into, const struct model *from, int64_t shift);
int sum_known_finish(struct model *m); /* before the parts that ask */

/* Rows of a kind that were read. */
uint64_t sum_known_rows(const struct model *m, enum known_kind k);

/* The sums of a kind are numbers: 0 is then none. After finish. */
bool sum_known_is(const struct model *m, enum known_kind k);

/* The answer of the sessions that do not know, the gravest of several; KNOWN_COUNTED: all know. */
enum known sum_known_why(const struct model *m, enum known_kind k);

/* How many sessions do not know. */
unsigned sum_known_without(const struct model *m, enum known_kind k);

/* The kind of a capability's feature; KNOWN_KINDS: another. And back. */
enum known_kind sum_known_kind(const char *feature);
const char *sum_known_feature(enum known_kind k);

/* True where one session did some work on a GPU, or nobody knows that it did none. */
bool sum_known_worked(const struct model *m);

/* True where windows of capture were asked for and none was opened: nothing was looked at. */
bool sum_known_no_window(const struct model *m);

/* True where the device channel is damaged, so that the log's rows of the GPU's work are not all
 * of them. */
bool sum_known_gpu_is_cut(const struct model *m);

#endif
