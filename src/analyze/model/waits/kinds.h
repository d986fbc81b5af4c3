/* kinds.h - sums up host calls by kind: synchronizations, the vendor's own overhead, and graph
 * launches. lines.h has waits by line of the program.
 *
 * A stream that waits for an event does not block the host and is kept apart. The time in which the
 * host waited is a union, since several threads may wait concurrently. Called by the owner's thread
 * only. */
#ifndef GPUFL_ANALYZE_MODEL_WAITS_KINDS_H
#define GPUFL_ANALYZE_MODEL_WAITS_KINDS_H

#include "analyze/common/busy.h"
#include "analyze/common/histogram.h"

#include <stdbool.h>

struct model;
struct wire_batch;

#define SUM_WAIT_KINDS_TAKES (MODEL_TAKES(sync) | MODEL_TAKES(overhead) | MODEL_TAKES(graph_launch))

enum { SYNC_KINDS = 5, OVERHEAD_KINDS = 32 };

struct overhead_sum {
    uint32_t kind; /* id of model.names */
    uint64_t count;
    int64_t time; /* ns */
};

struct sum_wait_kinds {
    struct histogram kinds[SYNC_KINDS];            /* ns, by sync.kind; 0: unknown */
    struct busy blocked;                           /* at least one thread of the host waited */
    struct overhead_sum overheads[OVERHEAD_KINDS]; /* the last one sums all further kinds */
    unsigned overhead_count;
    uint64_t graph_launches;
    int64_t graph_time;     /* ns in launch calls, where that is known */
    uint64_t graph_untimed; /* launches whose call has no time: the public client's */
    int64_t graph_kernels;  /* kernel nodes, where known */
    uint64_t graph_unknown; /* launches whose kernel nodes are not known */
    uint64_t invalid;       /* rows without a usable interval, in no sum */
};

void sum_wait_kinds_init(struct model *m);
void sum_wait_kinds_fini(struct model *m);
int sum_wait_kinds_batch(struct model *m, const struct wire_batch *b);
int sum_wait_kinds_merge(struct model *into, const struct model *from, int64_t shift);
int sum_wait_kinds_finish(struct model *m);

struct words;
/* Returns "event" and so on, in the vendor's words; never NULL. */
const char *sum_wait_kinds_name(int kind, const struct words *w);
const char *sum_wait_kinds_key(int kind); /* like sum_wait_kinds_name, for programs */
bool sum_wait_kinds_blocks(int kind);     /* the kind blocks the host */

/* Sums up the count and total of the kinds that block the host. */
void sum_wait_kinds_blocking(const struct model *m, uint64_t *count, int64_t *total);

#endif
