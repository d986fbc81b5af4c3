/* match.h - finds the collectives of several ranks that belong together. Called by the owner's
 * thread only. */
#ifndef GPUFL_ANALYZE_MODEL_RANKS_MATCH_H
#define GPUFL_ANALYZE_MODEL_RANKS_MATCH_H

#include "analyze/model/ranks/ranks.h"

/* Describes a collective of one rank. */
struct rank_member {
    int64_t start, end;
    uint32_t rank, op, name, group;
    uint32_t one; /* number of the matched collective, from 1; 0: not matched */
};

/* Lists all collectives that can be matched, in order of group and end. Ranks of one run and host
 * are a group. The caller frees *members. 0 or GPUFL_E_NOMEM. */
int rank_match(const struct model *m, struct rank_member **members, size_t *count);

/* Returns the ns of [start, end) in which the rank's device did anything but collectives. */
int64_t rank_busy(const struct rank *r, int64_t start, int64_t end);
/* Returns true if the rank's device does anything but collectives at that moment. */
bool rank_is_busy(const struct rank *r, int64_t time);

#endif
