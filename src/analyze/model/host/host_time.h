/* host_time.h - sums up what the threads that call the GPU did, if no kernels are recorded.
 *
 * Idle time of a GPU is not known then (engine Sync), but what the host did is: the calls that wait
 * are measured, and samples show the rest. The time of a thread lies between its first and its last
 * sample or call. Without its waits it is divided in the ratio of the samples between them, by line
 * and state of the thread, in whole ns by largest remainder: the rows sum up to the time exactly. A
 * thread counts if it made a call that waits, or is the process's first thread and runs Python; if
 * there is none, the one with most samples counts. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_HOST_HOST_TIME_H
#define GPUFL_ANALYZE_MODEL_HOST_HOST_TIME_H

#include "base/keyed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_HOST_TIME_TAKES 0

struct host_part {
    uint32_t node;   /* in model.stacks; 0: no line is known, for `reason` */
    uint32_t reason; /* enum idle_reason */
    uint32_t doing;  /* IDLE_DOING of the samples; 0: a call, or unknown */
    uint32_t call;   /* wait.call + 1 of calls that wait; 0: samples */
    /* not of the key: */
    int64_t exact;     /* ns of measured calls */
    int64_t estimated; /* ns divided by samples */
    uint64_t looks;
    double variance; /* ns²: squared half-widths at 95 %, summed over threads */
};

struct sum_host_time {
    struct keyed rows; /* struct host_part */
    unsigned threads;  /* summed over sessions */
    int64_t time;      /* ns, of all these threads */
    int64_t lost;      /* ns of rows without room */
    uint64_t looks;
};

void sum_host_time_init(struct model *m);
void sum_host_time_fini(struct model *m);
int sum_host_time_batch(struct model *m, const struct wire_batch *b);
int sum_host_time_merge(struct model *into, const struct model *from, int64_t shift);
/* Call this function before waits and samples are dropped. */
int sum_host_time_finish(struct model *m);

/* ---- for readers ---- */

struct host_row {
    uint32_t place;  /* in model.stacks; 0: no line, for `reason` */
    uint32_t reason; /* enum idle_reason */
    uint32_t doing;  /* IDLE_DOING of most of the samples; 0: a call, or unknown */
    uint32_t call;   /* wait.call + 1 of the call with most of the time; 0: samples */
    uint32_t node;   /* the stack with most of the time */
    int64_t ns, exact, estimated;
    int64_t half_width; /* ns of the estimate at 95 % */
    uint64_t looks;
};

struct host_table {
    struct host_row *rows; /* owned; those with a line first, then the longest time first */
    size_t count;
    size_t lines;        /* of them, rows with a line */
    uint32_t most_place; /* the place with most of the time over all states; 0: none */
    int64_t most;        /* ns of it */
    int64_t most_half;   /* ns: half the width of its 95 % interval, at most */
};

/* Makes the table of a finished or settled model: a row for each line and state, one for the calls
 * of a line. The caller calls host_table_fini in each case. 0 or GPUFL_E_NOMEM. */
int host_table_make(const struct model *m, struct host_table *t);
void host_table_fini(struct host_table *t);

#endif
