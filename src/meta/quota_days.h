/* quota_days.h - keeps what workspaces and keys sent in a day, for quotas (server/api/quota.h).
 *
 * Bytes are sums, to which each server of these tables adds. Sessions and hosts are sets of hashes,
 * so that a name which two servers add counts once. Called by any thread. */
#ifndef GPUFL_META_QUOTA_DAYS_H
#define GPUFL_META_QUOTA_DAYS_H

#include "meta/meta.h"

/* Counts the bytes to be added, and names. */
struct meta_quota_counts {
    struct meta_quota_day *days;
    size_t day_count;
    struct meta_quota_name *names;
    size_t name_count;
};

/* Adds the counts in one transaction. */
int meta_quota_add(struct meta *m, const struct meta_quota_counts *c, struct err *e);

/* Reads all counts of a day. */
int meta_quota_list(const struct meta_ask *ask, int64_t day, struct meta_quota_counts *out);

/* Forgets the days before this one. */
int meta_quota_expire(struct meta *m, int64_t day, struct err *e);

#endif
