/* find.h - finds where steps begin, from scopes that repeat or from the sequence of kernels.
 *
 * Steps follow each other without a gap: time between two scopes belongs to the first one's step.
 * docs/report.md has the rule; its numbers are here. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_STEPS_FIND_H
#define GPUFL_ANALYZE_MODEL_STEPS_FIND_H

#include "analyze/model/steps/marks.h"
#include "analyze/model/steps/rows.h"

enum {
    STEP_MOST = 1 << 18,       /* what repeats more often is not a step */
    STEP_SCOPES_LEAST = 5,     /* openings of a scope */
    STEP_SEQUENCES_LEAST = 8,  /* repetitions of a sequence */
    STEP_ALIKE = 90,           /* % of its kernels that a step shares with the typical one */
    STEP_ALIKE_LEAST = 80,     /* % of the steps that are alike */
    STEP_COVER_LEAST = 50,     /* % of the kernels that lie in steps */
    STEP_SEQUENCE_KERNELS = 2, /* different kernels in a step that only a sequence shows */
};

/* Holds the kernels of one device, in order. */
struct step_sequence {
    const struct step_rows *rows;
    const uint8_t *updates; /* by name: 1: an optimizer's kernel */
    uint32_t names;         /* number of names */
    uint32_t *at;           /* owned: rows */
    size_t count;
    uint32_t *typical, *seen; /* owned: kernels by name, while steps are compared */
};

struct step_found {
    int64_t *at;    /* owned: ns; step i is from at[i] to at[i + 1] */
    uint8_t *alike; /* owned: 1: the step does what most steps do */
    size_t count;   /* 0: none were found */
    uint32_t group; /* of step_marks; 0: by sequence */
    /* By sequence: the kernel that begins each step; 0: an optimizer's kernel ends each step. */
    uint32_t name;
};

/* Holds what steps have in common. */
struct step_likeness {
    size_t alike;   /* steps that share STEP_ALIKE of their kernels */
    size_t close;   /* steps that share nearly all of them */
    size_t working; /* steps with any kernel */
    size_t kinds;   /* different kernels of the typical one */
};

/* The caller sets rows, updates and names, and calls step_sequence_fini always. 0 or
 * GPUFL_E_NOMEM. */
int step_sequence_init(struct step_sequence *q, uint32_t device);
void step_sequence_fini(struct step_sequence *q);
/* Returns the index of the first kernel that begins at that time or later. from: an index that is
 * not after that kernel, such as the place of an earlier time; the search is fast if it is near. */
size_t step_sequence_place(const struct step_sequence *q, size_t from, int64_t time);

/* Compares steps by how often each kernel runs in them. cuts: n + 1 indexes. alike: n results, or
 * NULL. 0 or GPUFL_E_NOMEM. */
int step_compare(const struct step_sequence *q, const size_t *cuts, size_t n, uint8_t *alike,
                 struct step_likeness *out);

/* Finds steps. found->count 0: there are no steps. 0 or GPUFL_E_NOMEM. */
int step_find_scopes(struct step_marks *s, const struct step_sequence *q, struct step_found *found);
int step_find_sequence(const struct step_sequence *q, struct step_found *found);
void step_found_fini(struct step_found *f);

#endif
