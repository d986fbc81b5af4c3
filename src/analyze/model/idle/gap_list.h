/* gap_list.h - keeps the longest gaps of a session, each a row, for the timeline.
 *
 * A gap is kept with its main cause, which has the longest part of the gap, and the stack of that
 * part. Gaps of IDLE_BACK_TO_BACK or less are not kept: there may be one for each kernel, and none
 * has a line. Memory is bounded: a full list drops its shorter half and takes only longer gaps from
 * then on; dropped gaps are counted. A model of several sessions has no list. Called by the owner's
 * thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_GAP_LIST_H
#define GPUFL_ANALYZE_MODEL_IDLE_GAP_LIST_H

#include <stddef.h>
#include <stdint.h>

enum { IDLE_GAPS = 1 << 18 /* rows: 11 MB at most */ };

struct idle_kept_gap {
    int64_t start, end; /* ns */
    uint32_t device;    /* index in model.devices */
    uint32_t cause;     /* enum idle_cause */
    uint32_t stack;     /* id of the log; 0: unknown */
    uint32_t thread;    /* launched the work that ended it; 0: unknown */
    uint32_t flags;     /* enum idle_flag */
};

struct idle_gap_list {
    struct idle_kept_gap *rows; /* owned */
    size_t count, cap, max;     /* max: IDLE_GAPS, less in tests */
    int64_t least;              /* ns: shorter gaps are dropped */
    uint64_t dropped;           /* gaps without room */
    int64_t dropped_ns;
};

void idle_gap_list_init(struct idle_gap_list *l); /* allocates nothing */
void idle_gap_list_fini(struct idle_gap_list *l);

/* Keeps a gap, or counts it as dropped. 0 or GPUFL_E_NOMEM. */
int idle_gap_list_add(struct idle_gap_list *l, const struct idle_kept_gap *gap);

/* Sorts the rows by device and start. */
void idle_gap_list_sort(struct idle_gap_list *l);

/* Finds the least length that at most `most` rows exceed; 0: there are no more rows than that. Does
 * not change the order. 0 or GPUFL_E_NOMEM. */
int idle_gap_list_length(const struct idle_gap_list *l, size_t most, int64_t *length);

#endif
