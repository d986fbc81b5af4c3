/* samples.h - sums up PC samples by function, instruction and stall reason.
 *
 * Sums by function and reason, and by scope and reason, contain all samples. Sums by instruction
 * are bounded, and a sample without room is only counted. Samples that were measured to belong to a
 * scope and estimated ones (scopes/samples.h) are kept apart. If the log distinguishes cycles in
 * which the scheduler issued an instruction from those in which it did not, their samples are kept
 * apart, too: only the latter are time that could be saved. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_SAMPLES_H
#define GPUFL_ANALYZE_MODEL_KERNELS_SAMPLES_H

#include "analyze/common/busy.h"
#include "analyze/model/kernels/stall.h"
#include "base/keyed.h"

#include <stdbool.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_SAMPLES_TAKES (MODEL_TAKES(stall_reason) | MODEL_TAKES(pc_sample))

enum { SAMPLES_PLACES = 1 << 21, SAMPLES_GROUPS = 1 << 20 };

#define SAMPLES_NO_SCOPE UINT32_MAX /* scope of a pool: unknown */

/* Describes a stall reason, shared by all sessions. */
struct sample_reason {
    uint32_t name;
    /* not of the key: */
    const struct stall *stall; /* its row of stall.def; NULL: there is none */
};

/* Counts the samples of one reason. */
struct sample_count {
    uint64_t all;
    uint64_t idle;        /* of them: in cycles in which the scheduler issued nothing */
    uint64_t issue_known; /* of all: the log says whether the scheduler issued */
};

struct sample_group {
    uint32_t owner; /* function; or name of a scope's path */
    uint32_t reason;
    /* not of the key: */
    struct sample_count count;
};

struct sample_place {
    uint32_t function, reason;
    int64_t offset;
    /* not of the key: */
    struct sample_count count;
};

/* Counts the samples of a function by their measured scope. */
struct sample_pool {
    uint32_t scope; /* handle of one; 0: outside all; SAMPLES_NO_SCOPE */
    uint32_t function, reason, spare;
    /* not of the key: */
    uint64_t samples;
};

/* Holds the estimated samples of a scope, without the scopes inside it, and a reason. A session
 * without estimates that is merged with one that has some adds its measured samples. */
struct sample_estimate {
    uint32_t scope; /* name of its path */
    uint32_t reason;
    /* not of the key: */
    double samples;
};

struct sum_samples {
    struct keyed reasons;   /* item 0: not in the log */
    struct keyed functions; /* struct sample_group */
    struct keyed scopes;    /* as functions; by handle of a scope until finish */
    struct keyed places;
    struct keyed pools;     /* struct sample_pool; until finish */
    struct keyed estimates; /* struct sample_estimate; after finish */
    bool estimated;         /* scopes and kernel records allow estimates in at least one session */
    uint64_t shared;        /* samples whose kernel has records, in sessions with estimates */
    double left_out;        /* samples that had no room in any estimate */
    struct sample_source *ids; /* owned: the log's id of a reason; until the end of finish */
    size_t id_count, id_cap;
    struct busy windows; /* windows in which samples were taken, if the log has them */
    struct sample_count total;
    uint64_t invalid; /* rows without a count */
    bool reading;     /* scopes are still handles, which finish replaces by names */
};

void sum_samples_init(struct model *m);
void sum_samples_fini(struct model *m);
int sum_samples_batch(struct model *m, const struct wire_batch *b);
int sum_samples_merge(struct model *into, const struct model *from, int64_t shift);
int sum_samples_finish(struct model *m);

/* Adds to the estimate of a scope and reason, or to left_out if there is no room. 0 or
 * GPUFL_E_NOMEM. */
int sum_samples_add_estimate(struct model *m, const struct sample_estimate *more);

static inline const struct sample_estimate *sum_samples_estimate(const struct sum_samples *s,
                                                                 size_t i)
{
    return (const struct sample_estimate *)keyed_at(&s->estimates, i);
}

static inline const struct sample_reason *sum_samples_reason(const struct sum_samples *s,
                                                             uint32_t reason)
{
    return (const struct sample_reason *)keyed_at(&s->reasons, reason);
}

static inline const struct sample_group *sum_samples_group(const struct keyed *k, size_t i)
{
    return (const struct sample_group *)keyed_at(k, i);
}

static inline const struct sample_place *sum_samples_place(const struct sum_samples *s, size_t i)
{
    return (const struct sample_place *)keyed_at(&s->places, i);
}

/* Adds b to a. */
static inline void sample_count_add(struct sample_count *a, const struct sample_count *b)
{
    a->all += b->all;
    a->idle += b->idle;
    a->issue_known += b->issue_known;
}

/* Returns half the width of the 95 % interval (Wilson's) of a share of n samples, as a share. */
double sample_margin(double share, uint64_t n);

/* Returns the margin of a kernel's share of all samples of the session, which is its share of the
 * time in which multiprocessors had work. We assume that all multiprocessors of a device are
 * sampled at the same moments. A kernel mostly runs on all of them, so all their samples of one
 * moment count as one. Call after sum_samples_finish. */
double sum_samples_margin(const struct model *m, uint64_t samples);

#endif
